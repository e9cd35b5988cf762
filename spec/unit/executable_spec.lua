local executables = require("procage.executable")
local box = require("spec.support.box")
local procage = require("procage")

--- A tree with programs in it: bin/one (executable), bin/plain (not), bin/dir (a directory), other/one.
local function tree()
  local b = box.new()
  for _, name in ipairs({ "bin/one", "other/one" }) do
    b:write("outside/" .. name, "#!/bin/sh\necho " .. name .. "\n")
    b:mode("outside/" .. name, "755")
  end
  b:write("outside/bin/plain", "text")
  b:mode("outside/bin/plain", "644")
  b:mkdir("outside/bin/dir")
  return b
end

local function resolve(b, name, cwd, path)
  return (procage.resolve_executable(name, b:path(cwd), path and { PATH = path }))
end

describe("a program's name", function()
  it("with a slash is a path from the working directory", function()
    local b <close> = tree()
    assert.equal(b:path("outside/bin/one"), resolve(b, "./one", "outside/bin"))
    assert.equal(b:path("outside/bin/one"), resolve(b, "bin/one", "outside", b:path("outside/other")))
    assert.equal(b:path("outside/other/one"), resolve(b, "../other/one", "outside/bin"))
    assert.equal(b:path("outside/bin/one"), resolve(b, b:path("outside/bin/one"), "home"))
    assert.is_nil(resolve(b, "./one", "outside"))
  end)

  it("without one is looked for on PATH, in its order", function()
    local b <close> = tree()
    local bin, other = b:path("outside/bin"), b:path("outside/other")
    assert.equal(other .. "/one", resolve(b, "one", "outside/bin", other .. ":" .. bin))
    assert.equal(bin .. "/one", resolve(b, "one", "outside/other", "/nowhere:" .. bin .. ":" .. other))
    assert.is_nil(resolve(b, "one", "outside/bin", "/nowhere"))
    assert.is_string(resolve(b, "sh", "home"))
  end)

  it("is looked for from the working directory where PATH is relative or empty", function()
    local b <close> = tree()
    assert.equal(b:path("outside/bin/one"), resolve(b, "one", "outside", "/nowhere:bin"))
    assert.equal(b:path("outside/bin/one"), resolve(b, "one", "outside/bin", "/nowhere:"))
    assert.equal(b:path("outside/other/one"), resolve(b, "one", "outside/other", ":/nowhere"))
  end)

  it("passes by what is no executable regular file", function()
    local b <close> = tree()
    b:mkdir("outside/first/one")
    b:write("outside/second/one", "text")
    b:mode("outside/second/one", "644")
    b:setup("mkfifo $OUTSIDE/fifo && chmod 755 $OUTSIDE/fifo")
    local path = ("%s:%s:%s"):format(b:path("outside/first"), b:path("outside/second"), b:path("outside/bin"))
    assert.equal(b:path("outside/bin/one"), resolve(b, "one", "home", path))
    for _, name in ipairs({ "bin/plain", "bin/dir", "fifo" }) do
      local found, message, code = procage.resolve_executable("./" .. name, b:path("outside"))
      assert.is_nil(found)
      assert.matches("Permission denied", message, 1, true)
      assert.equal(13, code)
    end
  end)

  it("is canonical: links are followed to the file", function()
    local b <close> = tree()
    b:symlink(b:path("outside/bin"), "outside/link")
    b:symlink("../bin/one", "outside/other/two")
    assert.equal(b:path("outside/bin/one"), resolve(b, "link/one", "outside"))
    assert.equal(b:path("outside/bin/one"), resolve(b, "two", "home", b:path("outside/other")))
    b:symlink("loop", "outside/loop")
    assert.is_nil(resolve(b, "./loop", "outside"))
  end)

  it("that means nothing is nil, with what was looked for", function()
    local found, message, code = procage.resolve_executable("no-such-program", "/", { PATH = "/usr/bin:/bin" })
    assert.is_nil(found)
    assert.equal("no-such-program: No such file or directory", message)
    assert.equal(2, code)
    assert.is_nil((procage.resolve_executable("", "/")))
    assert.error(function()
      procage.resolve_executable("ls", "relative")
    end)
    assert.error(function()
      procage.resolve_executable("l\0s", "/")
    end)
  end)
end)

describe("an executable as text", function()
  it("comes back as it was", function()
    local found = assert(executables.find("sh", "/", { PATH = "/bin" }))
    local back = executables.from_text(executables.to_text(found))
    for _, key in ipairs({ "path", "dev", "ino", "ctime_ns" }) do
      assert.equal(found[key], back[key])
    end
  end)

  it("is refused where it is none", function()
    for _, text in ipairs({ "", "/bin/sh", "1:2:/bin/sh", "1:2:3:sh", "x:2:3:/bin/sh", "1:2:99999999999999999999:/bin/sh" }) do
      assert.is_nil(executables.from_text(text), text)
    end
  end)
end)
