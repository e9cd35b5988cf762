--- What is granted of a tree when some of it is denied: the walk in C, on a tree of its own.

local core = require("procage.core")
local disk = require("procage.disk")
local fold = require("procage.fold")
local grants = require("procage.grants")
local throwaway = require("spec.support.throwaway")

local function tree()
  local dir = throwaway.directory()
  local made = "mkdir -p a/b/c d .ssh && touch a/x a/b/y a/b/c/z .netrc .netrc~ .netrc.old .netrcs é && ln -s a l && mkfifo p"
  throwaway.shell(("cd %s && %s"):format(throwaway.quote(dir.path), made))
  return dir
end

--- Paths below the directory, and the directories that were looked into.
local function granted(dir, denied, hidden, visible)
  local names = {}
  for i, name in ipairs(denied) do
    names[i] = dir.path .. "/" .. name
  end
  for _, entry in ipairs(hidden or {}) do
    entry.path = dir.path .. "/" .. entry.path
  end
  local paths, stamps = {}, {}
  core.granted(dir.path, grants.index(names, hidden or {}, visible or {}), paths, stamps)
  for i, name in ipairs(paths) do
    paths[i] = name == dir.path and "." or name:sub(#dir.path + 2)
  end
  return table.concat(paths, " "), stamps
end

describe("what is granted of a tree", function()
  it("is all of it when nothing in it is denied, and nothing when it is denied itself", function()
    local dir <close> = tree()
    assert.equal(".", (granted(dir, {})))
    local paths = {}
    core.granted(dir.path, grants.index({ dir.path }, {}, {}), paths, {})
    assert.same({}, paths)
  end)

  it("is the siblings of what is denied, at each level, sorted; no link, no FIFO", function()
    local dir <close> = tree()
    local paths, stamps = granted(dir, { "a/b/c", ".ssh", "gone/too" })
    assert.equal(".netrc .netrc.old .netrcs .netrc~ a/b/y a/x d é", paths)
    for _, name in ipairs({ "", "/a", "/a/b" }) do
      assert.equal(disk.mark(dir.path .. name), stamps[dir.path .. name])
      stamps[dir.path .. name] = nil
    end
    assert.same({}, stamps)
  end)

  it("is no copy of a hidden file", function()
    local dir <close> = tree()
    assert.equal(".netrcs .ssh a d é", (granted(dir, { ".netrc" }, { { path = ".netrc", kind = "file" } })))
  end)

  it("knows a name in every letter case", function()
    local dir <close> = tree()
    assert.equal(".netrc .netrc.old .netrcs .netrc~ .ssh a/x d é", (granted(dir, { "A/B" })))
    local index = grants.index({ "/X/Straße", "/x/\u{212a}" }, {}, {})
    assert.same({ ["/x/strasse"] = true, ["/x/k"] = true }, index.exact)
    assert.same({ ["/"] = true, ["/x"] = true }, index.above)
    assert.equal("/x/k", fold("/X/\u{212a}"))
  end)

  it("is what is known by name in a directory that cannot be listed", function()
    local index = grants.index({ "/proc/self/mem" }, {}, { "/proc/self/mem/no", "/proc/self/status" })
    local paths = {}
    local denied = setmetatable({ above = { ["/proc/self/mem"] = true }, exact = {} }, { __index = index })
    function denied.known(directory)
      assert.equal("/proc/self/mem", directory)
      return { "a", "b", "c" }, { a = "file", b = "link", c = "directory" }
    end
    core.granted("/proc/self/mem", denied, paths, {})
    assert.same({ "/proc/self/mem/a", "/proc/self/mem/c" }, paths)
  end)

  it("takes sound arguments alone", function()
    local index = grants.index({}, {}, {})
    assert.has_error(function() core.granted("relative", index, {}, {}) end)
    assert.has_error(function() core.granted("/", {}, {}, {}) end)
    assert.has_error(function() core.granted("/", index, {}) end)
    assert.has_error(function() core.denied_index({ 5 }, fold) end)
    assert.has_error(function() core.denied_index({ "é" }, function() end) end)
    assert.has_error(function() core.is_copy("a") end)
  end)
end)
