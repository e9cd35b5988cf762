--- Reading an index that a command may have written. Judged by git itself in spec/escape/git_reading_spec.lua.

local git_index = require("procage.git_index")

local FILE, LINK = 33188, 57344 -- 0100644, 0160000

---@param entry { name: string, mode?: integer, size?: integer, stripped?: integer }
local function bytes_of(entry, version, oid_size)
  local head = (">I4I4I4I4I4I4I4I4I4I4"):pack(0, 0, 0, 0, 0, 0, entry.mode or FILE, 0, 0, 0) .. ("\x11"):rep(oid_size)
    .. (">I2"):pack(math.min(entry.size or #entry.name, 0xfff))
  if version == 4 then
    return head .. string.char(entry.stripped or 0) .. entry.name .. "\0"
  end
  local size = #head + #entry.name
  return head .. entry.name .. ("\0"):rep(8 - size % 8)
end

local function extension(signature, data)
  return signature .. (">I4"):pack(#data) .. data
end

--- An index, and where its entries start and end, as offsets.
local function index(entries, options)
  options = options or {}
  local version, oid_size = options.version or 2, options.oid_size or 20
  local parts, starts, at = {}, {}, 12
  for i, entry in ipairs(entries) do
    parts[i], starts[i] = bytes_of(entry, version, oid_size), at
    at = at + #parts[i]
  end
  local more = options.extensions and options.extensions(starts, at) or ""
  return "DIRC" .. (">I4I4"):pack(version, options.count or #entries) .. table.concat(parts) .. more .. ("\0"):rep(oid_size)
end

local function blocks(...)
  local data = (">I4"):pack(1)
  for _, block in ipairs({ ... }) do
    data = data .. (">I4I4"):pack(block[1], block[2])
  end
  return extension("IEOT", data)
end

local entries = { { name = "a" }, { name = "lib", mode = LINK }, { name = "z" } }

describe("an index that a command may have written", function()
  it("names the repositories that it leads to, whatever else is in their modes", function()
    for _, oid_size in ipairs({ 20, 32 }) do
      for _, mode in ipairs({ LINK, LINK | 1, LINK | 493, LINK | 1 << 16 }) do
        local text = index({ { name = "a" }, { name = "lib", mode = mode } }, { oid_size = oid_size })
        assert.same({ "lib" }, (git_index.links(text, oid_size)))
      end
    end
  end)

  it("is not read when it is cut off, goes on, or has object names of another size", function()
    local text = index(entries)
    for size = 0, #text - 1 do
      assert.is_nil((git_index.links(text:sub(1, size), 20)), tostring(size))
    end
    assert.is_nil((git_index.links(text .. "\0", 20)))
    assert.is_nil((git_index.links(text, 32)))
    assert.is_nil((git_index.links(index(entries, { count = 1 << 31 }), 20)))
  end)

  it("is not read when a name is longer or shorter than it says", function()
    for _, size in ipairs({ 2, 4 }) do
      assert.is_nil((git_index.links(index({ { name = "lib", mode = LINK, size = size } }), 20)))
    end
    local long = ("x"):rep(5000)
    assert.same({ long }, (git_index.links(index({ { name = long, mode = LINK } }), 20)))
  end)

  it("is told to have names elsewhere when it is split, and gives all names when asked", function()
    local found, is_nameless = git_index.links(index({ { name = "", mode = LINK }, { name = "" } }), 20)
    assert.same({ "" }, found)
    assert.is_true(is_nameless)
    assert.is_false((select(2, git_index.links(index({ { name = "" }, entries[2] }), 20))))
    assert.same({ "a", "lib", "z" }, (git_index.links(index(entries), 20, true)))
  end)

  it("is read by differences in version 4", function()
    local text = index({ { name = "lib/a" }, { name = "b", size = 5, stripped = 1, mode = LINK } }, { version = 4 })
    assert.same({ "lib/b" }, (git_index.links(text, 20)))
    for _, second in ipairs({ { stripped = 1, size = 4 }, { stripped = 6, size = 1 } }) do
      second.name, second.mode = "b", LINK
      assert.is_nil((git_index.links(index({ { name = "lib/a" }, second }, { version = 4 }), 20)))
    end
  end)

  it("is not read when its blocks are elsewhere than its entries, which git would read instead", function()
    for _, version in ipairs({ 2, 4 }) do
      local function links(extensions)
        local list = { { name = "a" }, { name = "lib", mode = LINK, stripped = 1 } }
        return (git_index.links(index(list, { version = version, extensions = extensions }), 20))
      end
      assert.same({ "lib" }, links(function(starts)
        return blocks({ starts[1], 1 }, { starts[2], 1 })
      end))
      assert.is_nil(links(function(starts)
        return blocks({ starts[1], 1 }, { starts[2] + 8, 1 })
      end))
      assert.is_nil(links(function(starts)
        return blocks({ starts[1], 2 }, { starts[2], 1 })
      end))
      assert.same({ "lib" }, links(function(_, at)
        return extension("EOIE", (">I4"):pack(at) .. ("\0"):rep(20))
      end))
      assert.is_nil(links(function(_, at)
        return extension("EOIE", (">I4"):pack(at - 8) .. ("\0"):rep(20))
      end))
    end
    -- A block of names by difference that keeps something of the name before it is another name to who begins there.
    local list = { { name = "li" }, { name = "b", size = 3, mode = LINK } }
    assert.same({ "lib" }, (git_index.links(index(list, { version = 4 }), 20)))
    assert.is_nil((git_index.links(index(list, {
      version = 4,
      extensions = function(starts)
        return blocks({ starts[1], 1 }, { starts[2], 1 })
      end,
    }), 20)))
  end)

  it("is read without an error whatever it is", function()
    for _, version in ipairs({ 2, 3, 4 }) do
      local text = index(entries, { version = version, extensions = function(starts, at)
        return blocks({ starts[1], 3 }) .. extension("EOIE", (">I4"):pack(at) .. ("\0"):rep(20))
      end })
      for at = 1, #text do
        for _, byte in ipairs({ "\0", "\x40", "\xff" }) do
          git_index.links(text:sub(1, at - 1) .. byte .. text:sub(at + 1), 20)
          git_index.links(text:sub(1, at - 1) .. byte .. text:sub(at + 1), 32)
        end
      end
    end
  end)
end)
