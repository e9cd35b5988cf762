local core = require("procage.core")
local disk = require("procage.disk")
local flat = require("procage.flat")
local path = require("procage.path")
local throwaway = require("spec.support.throwaway")

--- Directories, files, links of all sorts, and names that are not there.
local TREE = [[
mkdir -p dir/sub other && echo x >dir/file && echo x >other/.hidden
ln -s dir link && ln -s dir/file to-file && ln -s nowhere broken && ln -s /etc/passwd dir/passwd && ln -s loop loop
mkfifo fifo
]]

local NAMES = {
  "", "/dir", "/dir/sub", "/dir/file", "/dir/missing", "/dir/file/below", "/dir/passwd", "/link", "/link/file",
  "/link/missing", "/link/sub/x", "/to-file", "/to-file/x", "/broken", "/broken/x", "/loop", "/loop/x", "/fifo",
  "/other/.hidden", "/missing/a/b",
}

describe("many paths looked up at once", function()
  it("lead where each of them leads alone, and are of its kind", function()
    local dir <close> = throwaway.directory()
    throwaway.shell(("cd %s && %s"):format(throwaway.quote(dir.path), TREE))
    local names = { "/", "/etc", "/nowhere/at/all" }
    for _, name in ipairs(NAMES) do
      names[#names + 1] = dir.path .. name
    end
    local places, kinds = disk.resolve_all(names)
    for i, name in ipairs(names) do
      local resolved = disk.resolve(name)
      assert.equal(resolved, places[i], name)
      assert.equal(disk.kind(resolved) or false, kinds[i], name)
    end
    assert.equal(#names, #places)
  end)

  it("are none", function()
    assert.same({ {}, {} }, { disk.resolve_all({}) })
  end)

  it("are absolute and whole, or refused", function()
    for _, bad in ipairs({ "relative", "/a\0b" }) do
      assert.has_error(function()
        disk.resolve_all({ bad })
      end)
    end
    assert.has_error(function()
      core.resolve_all({ "/proc/self/cwd/x" }, function()
        return "relative", true
      end)
    end)
    assert.has_error(function()
      core.resolve_all({ "/a" }, {})
    end)
  end)
end)

describe("a listing", function()
  it("is in the order of bytes, with kinds, or says why there is none", function()
    local dir <close> = throwaway.directory()
    throwaway.shell(("cd %s && %s"):format(throwaway.quote(dir.path), TREE))
    local names, kinds, message = disk.names(dir.path)
    assert.same({ "broken", "dir", "fifo", "link", "loop", "other", "to-file" }, names)
    assert.equal("directory", kinds.dir)
    assert.equal("link", kinds.broken)
    assert.is_nil(message)
    local directories = { { name = "dir", kind = "directory" }, { name = "other", kind = "directory" } }
    assert.same(directories, (disk.list(dir.path, nil, true)))
    names, kinds, message = disk.names(dir.path .. "/nowhere")
    assert.same({ {}, {} }, { names, kinds })
    assert.matches("No such file", message)
    assert.same({}, (disk.names(dir.path .. "/dir/sub")))
  end)
end)

describe("directories above paths", function()
  it("are all of them, once, and the root", function()
    local above = { ["/"] = true, ["/a"] = true, ["/a/b"] = true, ["/c"] = true }
    assert.same(above, path.holding({ "/a/b/x", "/a/y", "/c/d", "/" }))
    assert.same({}, path.holding({}))
    assert.has_error(function()
      path.holding({ "/a", 1 })
    end)
  end)
end)

describe("rules in a flat plan", function()
  it("are what each is by itself", function()
    local rules = {
      { paths = { "/a", "/a/b" }, access = 3, optional = true },
      { paths = { flat.run_text.tmp }, access = 1 << 13 },
      { paths = {}, access = 7 },
      { paths = { "/bc" }, access = 0 },
    }
    local one, many = flat.new(), flat.new()
    for _, out in ipairs({ one, many }) do
      out:add("proc", { a = "/proc" })
    end
    for _, rule in ipairs(rules) do
      for _, name in ipairs(rule.paths) do
        one:add("landlock_path", { a = name, value = rule.access, optional = rule.optional })
      end
    end
    many:rules(rules)
    assert.equal(one:encode(), many:encode())
  end)

  it("have no NUL byte in a path", function()
    for _, bad in ipairs({ "/a\0b", "\0", 5 }) do
      assert.has_error(function()
        flat.new():rules({ { paths = { "/good" }, access = 1 }, { paths = { "/good", bad }, access = 1 } })
      end)
    end
  end)
end)

describe("a file read up to a limit", function()
  it("is whole when it is not longer, and cut when it is, whatever the sizes", function()
    local dir <close> = throwaway.directory()
    local name = dir.path .. "/file"
    for _, size in ipairs({ 0, 1, 65535, 65536, 65537, 131072, 200000 }) do
      local text = ("0123456789"):rep(size // 10 + 1):sub(1, size)
      local file <close> = assert(io.open(name, "wb"))
      file:write(text)
      file:flush()
      for _, limit in ipairs({ 1, 65535, 65536, 65537, 131071, 131072, 199999, 200000, 1 << 24 }) do
        local read, is_cut = core.read_file(name, limit)
        assert.is_true(read == text:sub(1, limit), ("%d bytes, at most %d"):format(size, limit))
        assert.equal(size > limit, is_cut)
      end
    end
  end)
end)
