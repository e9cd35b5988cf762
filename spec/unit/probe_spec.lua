local core = require("procage.core")
local host_module = require("procage.host")
local throwaway = require("spec.support.throwaway")

local quote = throwaway.quote

-- Printed by a throw-away process: one line a fact, and one a failure.
local show = [[
local function show(host)
  local lines = {}
  for name, value in pairs(host) do
    if name ~= "failures" then
      lines[#lines + 1] = name .. "=" .. tostring(value)
    end
  end
  for name, failure in pairs(host.failures) do
    lines[#lines + 1] = ("%s! %s %s"):format(name, failure.step, failure.error)
  end
  table.sort(lines)
  print(table.concat(lines, "\n"))
end
]]

---@param who Who
---@param prepare string  Lua, before the probe
---@return table<string, string> facts  "userns" -> "true", "userns!" -> "clone EPERM"
local function probe_after(who, prepare)
  local output = throwaway.lua(who, show .. prepare .. "\nshow(core.probe({ fresh = true }))")
  local facts = {}
  for line in output:gmatch("[^\n]+") do
    local name, value = line:match("^(%w[%w_]*)=(.*)$")
    if not name then
      name, value = line:match("^(%w[%w_]*!) (.*)$")
    end
    assert(name, "not a fact: " .. output)
    facts[name] = value
  end
  return facts
end

local namespaces = { "userns", "mountns", "mount_setattr", "netns", "ipcns", "pidns", "devpts" }

-- pending() does not return.
local function needs(who, facts)
  if who.missing then
    pending(who.missing)
  end
  local measured = probe_after(who, "")
  for name in facts:gmatch("%S+") do
    if measured[name] ~= "true" then
      pending("no " .. name .. " here")
    end
  end
end

local enter = "assert(core.unshare_user(core.probe().uid, core.probe().gid)); assert(core.unshare_mount());"
  .. " assert(core.mount_private())\n"

describe("the probe", function()
  it("answers with a whole and valid Host", function()
    local host = core.probe()
    assert.is_true(host_module.validate(host))
    for _, name in ipairs(host_module.facts) do
      assert.not_equal(nil, host[name], name)
    end
    assert.equal("linux", host.system)
    assert.equal(throwaway.shell("uname -m"), host.machine)
    assert.equal(throwaway.shell("uname -r"), host.kernel)
    assert.equal(throwaway.shell("id -u"), tostring(host.uid))
    assert.equal(throwaway.shell("id -g"), tostring(host.gid))
  end)

  it("names the step and the errno of each fact that is not there, and of no other", function()
    local host = core.probe()
    for name, failure in pairs(host.failures) do
      assert.is_true(not host[name] or host[name] == 0, name)
      assert.matches("^[%l_]+$", failure.step)
      assert.is_true(failure.errno > 0)
    end
    for _, name in ipairs(namespaces) do
      assert.equal(not host[name], host.failures[name] ~= nil, name)
    end
  end)

  it("is made once, and each caller gets a table of its own", function()
    local first = core.probe()
    first.userns, first.failures.extra = "changed", {}
    assert.is_boolean(core.probe().userns)
    assert.is_nil(core.probe().failures.extra)
  end)

  it("refuses an option it does not know", function()
    assert.has_error(function()
      core.probe({ fresch = true })
    end)
    assert.has_error(function()
      core.probe({ fresh = 1 })
    end)
  end)

  it("follows a cap of the Landlock ABI without being asked", function()
    finally(function()
      core.landlock_cap_abi(-1)
    end)
    local real = core.probe().landlock_abi
    if real < 2 then
      pending("no Landlock ABI to cap")
    end
    core.landlock_cap_abi(1)
    assert.equal(1, core.probe().landlock_abi)
    core.landlock_cap_abi(0)
    assert.equal(0, core.probe().landlock_abi)
    assert.equal("landlock_create_ruleset", core.probe().failures.landlock.step)
    core.landlock_cap_abi(-1)
    assert.equal(real, core.probe().landlock_abi)
  end)

  it("takes less than 30 ms", function()
    local function uptime()
      return tonumber((throwaway.shell("cut -d' ' -f1 /proc/uptime")))
    end
    local start = uptime()
    for _ = 1, 20 do
      core.probe({ fresh = true })
    end
    assert.is_true(uptime() - start < 20 * 0.030)
  end)
end)

for _, who in ipairs(throwaway.everybody()) do
  describe("the probe by " .. who.name, function()
    it("leaves the process as it was, and no child behind", function()
      needs(who, "")
      local output = throwaway.lua(who, [[
        local function descriptors()
          local list = {}
          for fd = 0, 63 do
            local file <close> = io.open("/proc/self/fdinfo/" .. fd)
            list[#list + 1] = file and fd
          end
          return table.concat(list, " ")
        end
        local function state()
          local text = {}
          for _, name in ipairs({ "status", "mountinfo", "cgroup", "limits" }) do
            local file = assert(io.open("/proc/self/" .. name))
            for line in file:lines() do
              -- Memory, and what counts all processes of a user.
              if not line:find("^Vm") and not line:find("^Rss") and not line:find("ctxt") and not line:find("^SigQ") then
                text[#text + 1] = line
              end
            end
            file:close()
          end
          local file <close> = assert(io.open("/proc/thread-self/children"))
          local children = file:read("a")
          local pipe = io.popen("readlink /proc/$PPID/ns/* /proc/$PPID/cwd /proc/$PPID/root")
          text[#text + 1] = children .. pipe:read("a")
          pipe:close()
          text[#text + 1] = descriptors()
          return table.concat(text, "\n")
        end
        local before = state()
        core.probe({ fresh = true })
        local after = state()
        print(before == after or before .. "\n---\n" .. after)
      ]])
      assert.equal("true", output)
    end)

    it("claims the namespaces that unshare(1) can make, and no others", function()
      needs(who, "")
      if not select(2, throwaway.shell("command -v unshare")) then
        pending("no unshare(1)")
      end
      local tries = {
        userns = "-Ur true",
        mountns = "-Urm mount -t tmpfs none /tmp",
        netns = "-Urn true",
        ipcns = "-Uri true",
        pidns = "-Urpfm sh -c 'mount -t proc proc /proc && test -e /proc/1/comm'",
      }
      local facts = probe_after(who, "")
      for name, try in pairs(tries) do
        local output, can = throwaway.shell(who.prefix .. "unshare " .. try)
        assert.equal(tostring(can), facts[name], name .. ": " .. output)
      end
    end)

    it("says at which step, where a filter refuses namespaces", function()
      needs(who, "seccomp_filter")
      local facts = probe_after(who, [[
        assert(core.no_new_privs())
        assert(core.seccomp_install(assert(core.seccomp_filter({}))))
      ]])
      for _, name in ipairs(namespaces) do
        assert.equal("false", facts[name], name)
        assert.equal("clone EPERM", facts[name .. "!"], name)
      end
      local free = probe_after(who, "")
      assert.equal(free.landlock_abi, facts.landlock_abi)
    end)

    it("says at which step, under a launcher that refuses namespaces", function()
      needs(who, "seccomp_filter")
      local launcher = (os.getenv("PROCAGE_BUILD") or "build/dev") .. "/no_userns"
      if not select(2, throwaway.shell("test -x " .. quote(launcher))) then
        pending("the launcher is not built")
      end
      local refused = { name = who.name, prefix = who.prefix .. "setpriv --no-new-privs " .. quote(launcher) .. " " }
      local facts = probe_after(refused, "")
      for _, name in ipairs(namespaces) do
        assert.equal("false", facts[name], name)
        assert.equal("clone EPERM", facts[name .. "!"], name)
      end
      assert.equal("true", facts.seccomp_filter)
    end)

    it("tries the namespaces one by one where they cannot be had together", function()
      needs(who, "userns netns mountns pidns")
      -- A limit of the new user namespace: what the probe makes below it counts.
      local facts = probe_after(who, enter .. [[
        local file = assert(io.open("/proc/sys/user/max_net_namespaces", "w"))
        assert(file:write("0"))
        assert(file:close())
      ]])
      assert.equal("false", facts.netns)
      assert.equal("clone ENOSPC", facts["netns!"])
      for _, name in ipairs({ "userns", "mountns", "mount_setattr", "ipcns", "pidns", "devpts" }) do
        assert.equal("true", facts[name], name .. " " .. tostring(facts[name .. "!"]))
      end
    end)

    it("gives the one reason for all where there is no user namespace", function()
      needs(who, "userns mountns")
      local facts = probe_after(who, enter .. [[
        local file = assert(io.open("/proc/sys/user/max_user_namespaces", "w"))
        assert(file:write("0"))
        assert(file:close())
      ]])
      for _, name in ipairs(namespaces) do
        assert.equal("false", facts[name], name)
        assert.equal("clone ENOSPC", facts[name .. "!"], name)
      end
    end)

    it("has no fresh /proc where the visible one is partly covered", function()
      needs(who, "userns mountns pidns")
      local facts = probe_after(who, enter .. 'assert(core.mask_directory("/proc/irq"))')
      assert.equal("true", facts.userns)
      assert.equal("true", facts.mountns)
      assert.equal("false", facts.pidns)
      assert.equal("proc EPERM", facts["pidns!"])
    end)

    it("has namespaces without mounts inside a Landlock domain", function()
      needs(who, "userns mountns")
      if core.probe().landlock_abi == 0 then
        pending("no Landlock")
      end
      local facts = probe_after(who, [[
        local all = core.landlock_mask("fs", core.landlock_abi())
        local rules = assert(core.landlock_ruleset({ fs = all }))
        assert(rules:add_path("/", all))
        assert(core.no_new_privs())
        assert(rules:restrict_self())
      ]])
      assert.equal("true", facts.userns)
      assert.equal("mount_private EPERM", facts["mountns!"])
      assert.equal("mount_private EPERM", facts["pidns!"])
    end)

    it("has no Landlock once the kernel's sixteen layers are used up", function()
      needs(who, "")
      if core.probe().landlock_abi == 0 then
        pending("no Landlock")
      end
      local layers = [[
        local all = core.landlock_mask("fs", core.landlock_abi())
        local rules = assert(core.landlock_ruleset({ fs = all }))
        assert(rules:add_path("/", all))
        assert(core.no_new_privs())
        local count = 0
        while rules:restrict_self() do
          count = count + 1
          if count == 15 then
            fifteen = core.probe({ fresh = true }).landlock_abi
          end
        end
      ]]
      local facts = probe_after(who, layers .. "if count == 16 then assert(fifteen > 0) end")
      assert.equal("0", facts.landlock_abi)
      assert.equal("landlock_restrict E2BIG", facts["landlock!"])
    end)

    it("has no notification where another listener stands above", function()
      needs(who, "seccomp_notify")
      local python = "/usr/bin/python3"
      if not select(2, throwaway.shell(who.prefix .. python .. " -c pass")) then
        pending("no python3 to hold a listener")
      end
      -- seccomp(SET_MODE_FILTER, NEW_LISTENER): a filter that allows everything.
      local holder = [[
import ctypes, os, platform, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
nr = {"x86_64": 317, "aarch64": 277}[platform.machine()]
code = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7fff0000))
class Fprog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
fprog = Fprog(1, ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0
fd = libc.syscall(nr, 1, 8, ctypes.byref(fprog))
assert fd >= 0, os.strerror(ctypes.get_errno())
os.set_inheritable(fd, True)
os.execvp(sys.argv[1], sys.argv[1:])
]]
      local dir <close> = throwaway.directory()
      throwaway.write(dir.path .. "/holder.py", holder)
      local held = { name = who.name, prefix = who.prefix .. python .. " " .. quote(dir.path .. "/holder.py") .. " " }
      local facts = probe_after(held, "")
      assert.equal("true", facts.seccomp_filter)
      assert.equal("false", facts.seccomp_notify)
      assert.equal("seccomp_listener EBUSY", facts["seccomp_notify!"])
    end)
  end)
end

describe("a delegated cgroup", function()
  it("is a directory where a child cgroup can be made, and none is left there", function()
    local cgroup = core.probe({ fresh = true }).cgroup
    if not cgroup then
      pending("no cgroup is delegated here")
    end
    local child = quote(cgroup .. "/procage-spec")
    assert.equal("", (throwaway.shell("mkdir " .. child .. " && test -w " .. child .. "/cgroup.procs; rmdir " .. child)))
    assert.equal("", (throwaway.shell("find " .. quote(cgroup) .. " -maxdepth 1 -name 'procage-probe*'")))
  end)
end)
