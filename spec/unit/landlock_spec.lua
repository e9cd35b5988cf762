local core = require("procage.core")
local throwaway = require("spec.support.throwaway")

local E = { EPERM = 1, ENOENT = 2, EACCES = 13, EINVAL = 22, ELOOP = 40, ENOMSG = 42, EOPNOTSUPP = 95 }

-- name -> bit of one table.
local function bits(name)
  local by_name = {}
  for _, row in ipairs(core.landlock_bits()[name]) do
    by_name[row.name] = row.bit
  end
  return by_name
end

local FS, NET = bits("fs"), bits("net")
local abi = core.landlock_abi()

-- Ends the test as pending where the kernel or the place cannot serve it: pending() does not return.
local function needs(least, who)
  if who and who.missing then
    pending(who.missing)
  elseif not abi or abi < least then
    pending("Landlock ABI " .. least .. " is missing")
  end
end

describe("the tables of Landlock", function()
  it("have each right once, with the ABI and the kernel that brought it", function()
    for name, rows in pairs(core.landlock_bits()) do
      local seen, abi_before = 0, 0
      for _, row in ipairs(rows) do
        assert.equal(0, seen & row.bit, name .. "." .. row.name)
        assert.is_true(row.abi >= abi_before, name .. "." .. row.name)
        assert.matches("^%d+%.%d+$", row.since)
        seen, abi_before = seen | row.bit, row.abi
      end
    end
  end)

  it("have the masks that the kernel's documentation gives", function()
    local fs = { 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff, 0xffff, 0xffff, 0x1ffff, 0x1ffff, 0x1ffff }
    local net = { 0, 0, 0, 3, 3, 3, 3, 3, 3, 15, 15 }
    local scope = { 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 3 }
    for n = 1, 11 do
      assert.equal(fs[n], core.landlock_mask("fs", n))
      assert.equal(net[n], core.landlock_mask("net", n))
      assert.equal(scope[n], core.landlock_mask("scope", n))
    end
    assert.equal(7, core.landlock_mask("restrict", 7))
    assert.equal(31, core.landlock_mask("restrict", 11))
    assert.equal(1, core.landlock_mask("add_rule", 10))
  end)

  it("take an ABI above the newest known for the newest known", function()
    assert.equal(core.landlock_mask("fs", 11), core.landlock_mask("fs", 99))
  end)
end)

describe("landlock_abi", function()
  after_each(function()
    core.landlock_cap_abi(-1)
  end)

  it("is an error of its own when Landlock is absent", function()
    core.landlock_cap_abi(0)
    local n, message, code = core.landlock_abi()
    assert.is_nil(n)
    assert.matches("^landlock_create_ruleset: ", message)
    assert.equal(E.EOPNOTSUPP, code)
    assert.equal(E.EOPNOTSUPP, select(3, core.landlock_ruleset({ fs = FS.READ_FILE })))
    assert.equal(E.EOPNOTSUPP, select(3, core.landlock_errata()))
  end)

  it("is at most the cap, and itself again without", function()
    needs(1)
    core.landlock_cap_abi(1)
    assert.equal(1, core.landlock_abi())
    core.landlock_cap_abi(99)
    assert.equal(abi, core.landlock_abi())
    core.landlock_cap_abi(-1)
    assert.equal(abi, core.landlock_abi())
    assert.equal("integer", math.type(core.landlock_errata()))
  end)
end)

describe("a ruleset", function()
  local dir

  setup(function()
    dir = throwaway.directory()
    throwaway.write(dir.path .. "/file", "text")
    throwaway.shell("cd " .. dir.path .. " && mkdir real && touch real/inner && ln -s file link && ln -s real dirlink")
  end)

  teardown(function()
    throwaway.shell("rm -rf -- " .. dir.path)
  end)

  after_each(function()
    core.landlock_cap_abi(-1)
  end)

  it("handles what the host can and hands the rest back", function()
    needs(1)
    core.landlock_cap_abi(1)
    local rs <close>, clipped = core.landlock_ruleset({ fs = 0x1ffff, net = 3, scoped = 2 })
    assert.same({ fs = 0x1ffff & ~0x1fff, net = 3, scoped = 2 }, clipped)
    assert.is_true(rs:add_path("/", FS.READ_FILE))
    assert.equal(E.EINVAL, select(3, rs:add_path("/", FS.TRUNCATE)))
  end)

  it("hands back bits that no kernel has", function()
    needs(1)
    local _ <close>, clipped = core.landlock_ruleset({ fs = FS.READ_FILE | 1 << 40 })
    assert.same({ fs = 1 << 40, net = 0, scoped = 0 }, clipped)
  end)

  it("is refused when nothing is left to handle", function()
    needs(1)
    core.landlock_cap_abi(3)
    local rs, message, code = core.landlock_ruleset({ net = 3 })
    assert.is_nil(rs)
    assert.matches("^landlock_create_ruleset: ", message)
    assert.equal(E.ENOMSG, code)
    assert.equal(E.ENOMSG, select(3, core.landlock_ruleset({})))
  end)

  it("raises an error that names an unknown option or a wrong type", function()
    assert.error_matches(function()
      core.landlock_ruleset({ filesystem = 1 })
    end, "unknown option 'filesystem'")
    assert.error_matches(function()
      core.landlock_ruleset({ fs = "1" })
    end, "option 'fs' is not an integer")
    assert.error_matches(function()
      core.landlock_ruleset({ [1] = 1 })
    end, "unknown option '1'")
    assert.has_error(function()
      core.landlock_ruleset()
    end)
  end)

  it("says which path could not be opened, and why", function()
    needs(1)
    local rs <close> = core.landlock_ruleset({ fs = 0x1fff })
    local ok, message, code = rs:add_path("/nonexistent/path", FS.READ_FILE)
    assert.is_nil(ok)
    assert.equal("/nonexistent/path: No such file or directory", message)
    assert.equal(E.ENOENT, code)
  end)

  it("takes absolute strings without NUL as paths, nothing else", function()
    needs(1)
    local rs <close> = core.landlock_ruleset({ fs = 0x1fff })
    assert.error_matches(function()
      rs:add_path("etc", FS.READ_FILE)
    end, "not absolute")
    assert.error_matches(function()
      rs:add_path("", FS.READ_FILE)
    end, "not absolute")
    assert.error_matches(function()
      rs:add_path("/etc\0/x", FS.READ_FILE)
    end, "NUL")
    assert.error_matches(function()
      rs:add_path(7, FS.READ_FILE)
    end, "string expected")
    assert.error_matches(function()
      rs:add_path("/etc", FS.READ_FILE, 1)
    end, "boolean expected")
  end)

  it("leaves directory rights out of a file's rule", function()
    needs(1)
    local rs <close> = core.landlock_ruleset({ fs = 0x1fff })
    assert.is_true(rs:add_path(dir.path .. "/file", FS.READ_FILE | FS.READ_DIR | FS.MAKE_REG))
    assert.equal(E.ENOMSG, select(3, rs:add_path(dir.path .. "/file", FS.READ_DIR)))
    assert.equal(E.ENOMSG, select(3, rs:add_path(dir.path, 0)))
  end)

  it("follows a symbolic link once, or refuses it anywhere in the path", function()
    needs(1)
    local rs <close> = core.landlock_ruleset({ fs = 0x1fff })
    assert.is_true(rs:add_path(dir.path .. "/link", FS.READ_FILE))
    assert.equal(E.ELOOP, select(3, rs:add_path(dir.path .. "/link", FS.READ_FILE, true)))
    assert.equal(E.ELOOP, select(3, rs:add_path(dir.path .. "/dirlink/inner", FS.READ_FILE, true)))
    assert.equal(E.ELOOP, select(3, rs:add_path("/proc/self/root", FS.READ_FILE, true)))
    assert.is_true(rs:add_path(dir.path .. "/real/inner", FS.READ_FILE, true))
  end)

  it("refuses a right that it does not handle", function()
    needs(1)
    local rs <close> = core.landlock_ruleset({ fs = FS.WRITE_FILE })
    assert.equal(E.EINVAL, select(3, rs:add_path("/etc", FS.READ_FILE)))
  end)

  it("takes ports from 0 to 65535", function()
    needs(4)
    local rs <close> = core.landlock_ruleset({ net = NET.CONNECT_TCP })
    assert.is_true(rs:add_port(0, NET.CONNECT_TCP))
    assert.is_true(rs:add_port(65535, NET.CONNECT_TCP))
    local ok, message, code = rs:add_port(80, NET.BIND_TCP)
    assert.is_nil(ok)
    assert.equal("port 80: Invalid argument", message)
    assert.equal(E.EINVAL, code)
    assert.error_matches(function()
      rs:add_port(65536, NET.CONNECT_TCP)
    end, "65536 is not from 0 to 65535")
    assert.has_error(function()
      rs:add_port(-1, NET.CONNECT_TCP)
    end)
  end)

  it("closes its descriptor once, however often it is closed", function()
    needs(1)
    local rs = core.landlock_ruleset({ fs = FS.READ_FILE })
    local link = "/proc/self/fd/" .. rs:fd()
    local function is_open()
      local fd = io.open(link:gsub("fd/", "fdinfo/"), "r")
      return fd ~= nil and fd:close()
    end
    assert.is_true(is_open())
    rs:close()
    assert.is_false(is_open())
    rs:close()
    for _, call in ipairs({ "fd", "add_path", "add_port", "restrict_self" }) do
      assert.error_matches(function()
        rs[call](rs, "/", 1)
      end, "ruleset is closed")
    end
    do
      local scoped <close> = core.landlock_ruleset({ fs = FS.READ_FILE })
      link = "/proc/self/fd/" .. scoped:fd()
    end
    assert.is_false(is_open())
  end)
end)

-- Each script prints one word before and one after: the control, then the confined answer.
local COMMON = [[
  local FS = {}
  for _, row in ipairs(core.landlock_bits().fs) do FS[row.name] = row.bit end
  local function answer(ok, _, code) return ok and "ok" or tostring(code) end
  local function try(path, mode)
    local file, message, code = io.open(path, mode)
    if file then file:close() end
    return answer(file, message, code)
  end
]]

for _, who in ipairs(throwaway.everybody()) do
  describe("a Landlock domain of " .. who.name, function()
    local function confined(script)
      return throwaway.lua(who, COMMON .. script)
    end

    it("reads and writes beneath its rules only", function()
      needs(1, who)
      local dir <close> = throwaway.directory()
      throwaway.shell(("cd %s && mkdir -m 777 in out && echo x > in/a && echo x > out/a && chmod 666 */a"):format(dir.path))
      local output = confined(([[
        local dir = %q
        print(try(dir .. "/in/a", "r"), try(dir .. "/in/a", "r+"), try(dir .. "/in/b", "w"))
        print(try(dir .. "/out/a", "r"), try(dir .. "/out/a", "r+"), try(dir .. "/out/b", "w"))
        local rs = assert(core.landlock_ruleset({ fs = core.landlock_mask("fs", 99) }))
        assert(rs:add_path(dir .. "/in", core.landlock_mask("fs", core.landlock_abi())))
        assert(core.no_new_privs())
        assert(rs:restrict_self() == true)
        print(try(dir .. "/in/a", "r"), try(dir .. "/in/a", "r+"), try(dir .. "/in/c", "w"))
        print(try(dir .. "/out/a", "r"), try(dir .. "/out/a", "r+"), try(dir .. "/out/c", "w"))
      ]]):format(dir.path))
      assert.equal("ok\tok\tok\nok\tok\tok\nok\tok\tok\n13\t13\t13", output)
    end)

    it("holds across exec, and takes a second layer", function()
      needs(1, who)
      local dir <close> = throwaway.directory()
      local output = confined(([[
        local dir = %q
        local function write(name) return os.execute("echo x 2>/dev/null > " .. dir .. "/" .. name) and "ok" or "refused" end
        print(write("a"))
        assert(core.no_new_privs())
        for _, fs in ipairs({ FS.MAKE_REG, FS.WRITE_FILE }) do
          local rs <close> = assert(core.landlock_ruleset({ fs = fs }))
          assert(rs:restrict_self(0) == true)
          print(write("a"), write("b"))
        end
      ]]):format(dir.path))
      output = output:gsub("sh: [^\n]*\n", "")
      assert.equal("ok\nok\trefused\nrefused\trefused", output)
    end)

    it("refuses TCP to a port without a rule", function()
      needs(4, who)
      local output = confined([[
        local function connect(port)
          local pipe = io.popen("bash -c 'exec 3<>/dev/tcp/127.0.0.1/" .. port .. "' 2>&1")
          local text = pipe:read("a")
          pipe:close()
          return text:match("Permission denied") or text:match("Connection refused") or text
        end
        print(connect(1), connect(2))
        local rs = assert(core.landlock_ruleset({ net = 3 }))
        assert(rs:add_port(2, 2))
        assert(core.no_new_privs())
        assert(rs:restrict_self())
        print(connect(1), connect(2))
      ]])
      assert.equal("Connection refused\tConnection refused\nPermission denied\tConnection refused", output)
    end)

    it("is refused with flags that the kernel does not know", function()
      needs(1, who)
      local output = confined([[
        local rs = assert(core.landlock_ruleset({ fs = FS.READ_FILE }))
        assert(core.no_new_privs())
        print(answer(rs:restrict_self(1 << 31)))
        print(try("/etc/passwd", "r"))
        print(pcall(rs.restrict_self, rs, -1))
      ]])
      assert.matches("^22\nok\nfalse\t.*%-1 is not from 0", output)
    end)

    it("needs no_new_privs, or the capability that root has", function()
      needs(1, who)
      local output = confined([[
        local rs = assert(core.landlock_ruleset({ fs = FS.EXECUTE }))
        print(answer(rs:restrict_self()))
      ]])
      if who.name == "root" then
        assert.is_true(output == "ok" or output == tostring(E.EPERM), output)
      else
        assert.equal(tostring(E.EPERM), output)
      end
    end)
  end)
end
