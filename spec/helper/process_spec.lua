--- What a process does to itself: it becomes the command, gives up writing, and leaves no private directory behind for long.

local box = require("spec.support.box")
local core = require("procage.core")
local procage = require("procage")

--- A Lua program with procage and this box's policy at hand, in a process of its own.
local function lua(b, script, extra)
  local interpreter = arg[-1] or "lua5.4"
  for i = -1, -20, -1 do
    interpreter = arg[i] or interpreter
  end
  local head = ([[
package.path, package.cpath = %q, %q
local core, procage = require("procage.core"), require("procage")
local policy = assert(procage.policy.load("speccoder", {}, { root = %q, home = %q }))
]]):format(package.path, package.cpath, b.workspace, b.home)
  local file = b:write("outside/script.lua", head .. script)
  local here = box.shell("pwd -P")
  -- The modules' path may be relative to where the tests run.
  return b:run_unconfined({ interpreter, file, table.unpack(extra or {}) }, { cwd = here })
end

describe("policy:exec", function()
  it("makes the process the command, confined", function()
    local b <close> = box.new()
    local result = lua(b, [[
      local stat = assert(io.open("/proc/self/stat"))
      io.stdout:write(stat:read("n"), "\n")
      io.stdout:flush()
      policy:exec({ "/bin/sh", "-c", "echo $$; echo x >in; echo x >$OUTSIDE/out; exit 5" })
      print("back")
    ]])
    local first, second = result.stdout:match("^(%d+)\n(%d+)\n$")
    assert.is_string(first, result.stdout .. result.stderr)
    assert.equal(first, second)
    assert.equal(5, result.status)
    assert.equal("x\n", b:read("workspace/in"))
    assert.is_false(b:exists("outside/out"))
  end)

  it("comes back with the reason, and leaves the process confined", function()
    local b <close> = box.new()
    local result = lua(b, [[
      print(policy:exec({ "no-such-program" }))
      print(io.open(os.getenv("OUTSIDE") .. "/out", "w") == nil)
    ]])
    assert.matches("nil\texec: No such file or directory\t2\ttable: [^\n]*\ntrue\n", result.stdout, 1, false)
    assert.is_false(b:exists("outside/out"))
  end)
end)

describe("core.become", function()
  local function refused(b, host)
    local policy = assert(procage.policy.load("speccoder", {}, { root = b.workspace, home = b.home, host = host }))
    local plan = assert(policy:plan())
    return core.become(plan, {
      argv = { "true" },
      env = {},
      programs = { "/bin/true" },
      cwd = b.workspace,
      directory = b.workspace,
    })
  end

  it("refuses a plan with a PID namespace, and leaves the caller as it was", function()
    box.skip_unless("pidns")
    local b <close> = box.new()
    local host = box.host()
    host = setmetatable({ seccomp_notify = false }, { __index = host })
    local plain = {}
    for _, fact in ipairs(require("procage.host").facts) do
      plain[fact] = host[fact]
    end
    plain.failures = nil
    local _, message, code, detail = refused(b, plain)
    assert.equal("prepare: Invalid argument", message)
    assert.equal(22, code)
    assert.equal("prepare", detail.step)
    b:write("outside/still", "x")
  end)

  it("refuses a plan with notifications", function()
    box.skip_unless("seccomp_notify")
    local b <close> = box.new()
    local plain = {}
    for _, fact in ipairs(require("procage.host").facts) do
      plain[fact] = box.host()[fact]
    end
    plain.failures, plain.pidns = nil, false
    if plain.landlock_abi >= 9 then
      plain.landlock_abi = 8
    end
    local _, message, code = refused(b, plain)
    assert.equal("prepare: Invalid argument", message)
    assert.equal(22, code)
  end)
end)

describe("procage.confine_parent", function()
  it("leaves writes in the writable trees, reads and the network, and nothing else", function()
    box.skip_unless("landlock_abi", 3)
    local b <close> = box.new()
    b:write("outside/file", "kept")
    local result = lua(b, [[
      local outside, inside = os.getenv("OUTSIDE"), os.getenv("WS")
      local function can_write(name)
        local file = io.open(name, "w")
        return file ~= nil and file:close() == true
      end
      print("before", can_write(outside .. "/control"), os.remove(outside .. "/control") == true)
      print(procage.confine_parent(policy.profile))
      print("outside", can_write(outside .. "/new"), can_write(outside .. "/file"), os.remove(outside .. "/file") == true,
        os.rename(outside .. "/file", inside .. "/file") == true, os.rename(inside, outside .. "/w") == true)
      print("inside", can_write(inside .. "/new"), os.rename(inside .. "/new", inside .. "/newer"),
        os.remove(inside .. "/newer"))
      print("null", can_write("/dev/null"))
      print("read", io.open(outside .. "/file"):read("a"))
      print("child", os.execute("echo x >$OUTSIDE/child 2>/dev/null"))
      print("network", os.execute("python3 -Ic 'import socket; socket.socket(); socket.socket(socket.AF_UNIX)'"))
    ]])
    assert.equal(
      "before\ttrue\ttrue\ntrue\noutside\tfalse\tfalse\tfalse\tfalse\tfalse\ninside\ttrue\ttrue\ttrue\nnull\ttrue\nread\tkept\n"
        .. "child\tnil\texit\t2\nnetwork\ttrue\texit\t0\n",
      result.stdout,
      result.stderr
    )
    assert.equal("kept", b:read("outside/file"))
    assert.is_false(b:exists("outside/child"))
  end)

  it("takes mounts from what is loaded afterwards, which says so", function()
    box.skip_unless("mountns")
    local b <close> = box.new()
    local result = lua(b, [[
      assert(procage.confine_parent(policy.profile, { writable = { "/tmp" } }))
      print(procage.probe().mountns)
      local options = { root = policy.profile.workspace, home = policy.context.home }
      local after = assert(procage.policy.load("speccoder", {}, options))
      for _, row in ipairs(after.report) do
        if row.clause == "metadata" then
          print(row.state, row.id)
        end
      end
      local outcome, message = after:run({ "/bin/sh", "-c", "echo x >in; echo x >$OUTSIDE/out; cat in" })
      print(outcome and outcome.stdout or message)
    ]])
    assert.equal("false\nunenforced\tmetadata\nx\n\n", result.stdout, result.stderr)
    assert.is_false(b:exists("outside/out"))
  end)

  it("changes nothing when a tree is not there", function()
    box.skip_unless("landlock_abi", 1)
    local b <close> = box.new()
    local result = lua(b, [[
      print(procage.confine_parent(policy.profile, { writable = { "/no/such/tree" } }))
      print(io.open(os.getenv("OUTSIDE") .. "/out", "w") ~= nil)
    ]])
    assert.equal("nil\t/no/such/tree: no such file or directory\t2\ntrue\n", result.stdout, result.stderr)
  end)

  it("says so where there is no Landlock", function()
    local b <close> = box.new()
    local result = lua(b, [[
      core.landlock_cap_abi(0)
      print(procage.confine_parent(policy.profile))
    ]])
    assert.equal("nil\tconfine_parent: Landlock: Operation not supported\t95\n", result.stdout, result.stderr)
  end)
end)

describe("a private directory", function()
  local function exists(name)
    return core.lstat(name) ~= nil
  end

  it("is swept once nobody holds it, and not before", function()
    local b <close> = box.new()
    local base = b:mkdir("outside/base")
    local made, lock = assert(core.private_dir(base))
    local held, other = assert(core.private_dir(base))
    b:write(made:sub(#b.root + 2) .. "/tmp/deep/er/file", "x")
    assert.equal(0, core.private_sweep(base))
    lock:close()
    lock:close()
    assert.equal(1, core.private_sweep(base))
    assert.is_false(exists(made))
    assert.is_true(exists(held))
    other:close()
    assert.equal(1, core.private_sweep(base))
  end)

  it("of a killed process is swept by the next one that makes its own", function()
    local b <close> = box.new()
    local base = b:mkdir("outside/base")
    local script = ("local made, lock = core.private_dir(%q); print(made); io.stdout:flush()\n"):format(base)
      .. "os.execute('kill -KILL $PPID')"
    local made = lua(b, script).stdout:match("[^\n]+")
    assert.is_true(exists(made))
    assert.equal(1, core.private_sweep(base))
    assert.is_false(exists(made))
  end)

  it("that a command has is left alone for as long as the command lives", function()
    local b <close> = box.new()
    local base = b:mkdir("outside/base")
    local made, lock = assert(core.private_dir(base))
    local child = b:start({ "/bin/sh", "-c", "echo up; sleep 20" }, { until_prints = "up" })
    -- What private_claim writes, for another process.
    local stat = assert(io.open(("/proc/%d/stat"):format(child.pid))):read("a")
    local start = select(20, table.unpack((function()
      local fields = {}
      for field in stat:match("^.*%) (.*)$"):gmatch("%S+") do
        fields[#fields + 1] = field
      end
      return fields
    end)()))
    b:write(made:sub(#b.root + 2) .. "/lock", ("%d %s\n"):format(child.pid, start))
    lock:close()
    assert.equal(0, core.private_sweep(base))
    box.shell(("kill -KILL -%d"):format(child.pid))
    assert.is_truthy(box.wait_for(2, function()
      return not child:is_alive()
    end))
    box.wait_for(2, function()
      return core.private_sweep(base) == 1 or not exists(made)
    end)
    assert.is_false(exists(made))
  end)

  it("is claimed by the process that asks", function()
    local b <close> = box.new()
    local base = b:mkdir("outside/base")
    local made, lock = assert(core.private_dir(base))
    assert.is_true(core.private_claim(made))
    lock:close()
    assert.equal(0, core.private_sweep(base))
    b:write(made:sub(#b.root + 2) .. "/lock", "1 1\n")
    -- Another process has that number by now.
    assert.equal(1, core.private_sweep(base))
  end)

  it("is none when it is a link, another's name, or open to others", function()
    local b <close> = box.new()
    local base = b:mkdir("outside/base")
    b:setup([[
      cd $OUTSIDE/base
      mkdir -m 700 procage-short procage-toolong1 other-ABCDEF $OUTSIDE/target
      mkdir -m 755 procage-ABCDEF
      touch procage-ABCDEF/lock other-ABCDEF/lock procage-short/lock $OUTSIDE/target/lock
      ln -s $OUTSIDE/target procage-abcdef
    ]])
    assert.equal(0, core.private_sweep(base))
    for _, name in ipairs({ "procage-short", "procage-toolong1", "other-ABCDEF", "procage-ABCDEF", "../target" }) do
      assert.is_true(b:exists("outside/base/" .. name), name)
    end
  end)

  it("that is still being made is left alone", function()
    local b <close> = box.new()
    local base = b:mkdir("outside/base")
    b:setup("mkdir -m 700 $OUTSIDE/base/procage-ABCDEF $OUTSIDE/base/procage-ABCDEF/tmp")
    assert.equal(0, core.private_sweep(base))
    assert.is_true(b:exists("outside/base/procage-ABCDEF/tmp"))
  end)

  it("of a run that a killed harness left is gone with the next run", function()
    local b <close> = box.new()
    local result = lua(b, [[
      local made = require("procage.private").make({}, {})
      print(made)
      io.stdout:flush()
      os.execute("kill -KILL $PPID")
    ]])
    local made = result.stdout:match("[^\n]+")
    assert.is_true(exists(made))
    b:run("true")
    assert.is_false(exists(made))
  end)
end)
