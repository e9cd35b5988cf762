--- A run that was started ahead of its command is the run that it would have been, or is not taken; and what waits for a
--- command does not wait for long.

local box = require("spec.support.box")
local core = require("procage.core")
local executables = require("procage.executable")
local host_room = require("procage.host")
local list = require("procage.list")
local procage = require("procage")
local spares = require("procage.runner.spares")

--- Runs `command` and says whether it was with a spare, none of whose steps failed.
local function run(b, command, options)
  local policy, was_taken, starts = assert(b:policy()), false, 0
  local take, start = policy.pool.take, core.start
  policy.pool.take = function(...)
    local spare = take(...)
    was_taken = spare ~= nil
    return spare
  end
  core.start = function(...) -- luacheck: ignore 122
    starts = starts + 1
    return start(...)
  end
  local outcome, message, code = b:run(command, options)
  core.start, policy.pool.take = start, nil -- luacheck: ignore 122
  return outcome, was_taken and starts == 1, message, code
end

--- The same with a spare for certain: a mount that another test makes on this host has every plan made anew.
local function run_ahead(b, command, options)
  for _ = 1, 20 do
    assert(b:policy():prepare())
    local outcome, was_taken = run(b, command, options)
    if was_taken then
      return outcome
    end
  end
  error("no run is taken of those that are started ahead", 2)
end

--- Started ahead, and there by now.
local function prepare(b)
  local policy = assert(b:policy())
  local ok, message, code = policy:prepare()
  if not ok and code == 95 then
    box.skip(message)
  end
  assert(ok, message)
  return policy
end

--- This host with Landlock and seccomp alone.
local function bare_host()
  local host = host_room.complete(box.host())
  for _, fact in ipairs({ "userns", "mountns", "netns", "ipcns", "pidns", "devpts", "mount_setattr", "nproc" }) do
    host[fact] = false
  end
  return host
end

--- Process numbers of this process's children.
local function children()
  return (assert(core.read_file("/proc/thread-self/children")):gsub("%s+$", ""))
end

--- Waited for or not.
local function is_dead(number)
  local state = core.read_file(("/proc/%s/stat"):format(number))
  return not state or state:match("%) Z ") ~= nil
end

local SCRIPT = [[
echo "$0 $1 $FOO $PWD $TMPDIR"; umask; ulimit -n; ulimit -f; cat; echo err >&2
id -u; grep -E '^(NoNewPrivs|Seccomp|CapEff|SigBlk|SigIgn|Shd)' /proc/self/status; ls -l /proc/self/fd | grep -c -- '->'
echo new >made && cat made; cat $HOME/secret; echo x >$OUTSIDE/x; (exec 3<>/dev/tcp/127.0.0.1/1) 2>&1 | head -c 60
touch $TMPDIR/t && ls $TMPDIR; kill -0 1 && echo init; exit 7]]

describe("a run that was started ahead", function()
  local function example(prepared)
    local b = box.new({ config = { hidden = { "~/secret" }, limits = { file_bytes = 1 << 20 } }, prepared = prepared })
    b:write("home/secret", "s3cret")
    return b
  end

  it("has all its words, whether they go with the order or are too many for it", function()
    local b <close> = example(true)
    prepare(b)
    for _, size in ipairs({ 10, 20000, 32000, 33000, 100000 }) do
      local outcome = run_ahead(b, { "sh", "-c", 'echo ${#1} ${#LONG}; cat', "sh", ("a"):rep(size) }, {
        env = { LONG = ("b"):rep(size) }, stdin = "input",
      })
      assert.equal(("%d %d\ninput"):format(size, size), outcome.stdout)
    end
  end)

  it("is like one that was not", function()
    local plain <close> = example()
    local ahead <close> = example(true)
    prepare(ahead)
    local cmd = { "/bin/sh", "-c", SCRIPT, "name", "one" }
    local options = { env = { FOO = "bar" }, stdin = "input\n" }
    local expected = assert(plain:run(cmd, options))
    local outcome = run_ahead(ahead, cmd, options)
    local function same(text)
      return (text:gsub("b%.%w%w%w%w%w%w/", "b/"):gsub("/tmp/procage%-......", "P"))
    end
    assert.equal(same(expected.stdout), same(outcome.stdout))
    assert.equal(same(expected.stderr), same(outcome.stderr))
    assert.not_matches("s3cret", outcome.stdout, 1, true)
    assert.equal(7, outcome.status)
    assert.equal("new\n", ahead:read("workspace/made"))
    assert.same(expected.events, outcome.events)
  end)

  it("has its successor, which is taken next", function()
    local b <close> = example(true)
    prepare(b)
    local taken = 0
    for i = 1, 9 do
      local outcome, was_taken = run(b, { "/bin/sh", "-c", "cat; echo $1", "sh", tostring(i) }, { stdin = i .. "-" })
      assert.equal(("%d-%d\n"):format(i, i), outcome.stdout)
      taken = taken + (was_taken and 1 or 0)
    end
    assert.is_true(taken > 2, taken .. " of 9")
    b:policy():close()
    assert.equal("", children())
  end)

  it("is ended by its deadline, and its signals are told", function()
    local b <close> = example(true)
    prepare(b)
    assert.is_true(run_ahead(b, "sleep 25", { timeout_ms = 300 }).timed_out)
    assert.equal(9, run_ahead(b, "kill -KILL $$").signal)
  end)

  it("says which command is not there, as ever", function()
    local plain <close> = example()
    local b <close> = example(true)
    prepare(b)
    local _, expected, code = plain:policy():run({ "no-such-program" })
    local outcome, message, got = b:policy():run({ "no-such-program" })
    assert.is_nil(outcome)
    assert.equal(expected, message)
    assert.equal(code, got)
  end)

  it("has a working directory, an executable and output as it comes", function()
    local b <close> = example(true)
    b:mkdir("workspace/sub")
    prepare(b)
    local outcome = run_ahead(b, { "/bin/pwd" }, { cwd = "sub" })
    assert.equal(b:path("workspace/sub\n"), outcome.stdout)
    local heard = {}
    outcome = assert(b:policy():run({ "/bin/echo", "heard", on_output = function(_, bytes)
      heard[#heard + 1] = bytes
    end }))
    assert.equal("heard\n", table.concat(heard))
    assert.equal(0, outcome.status)
    local started <close> = assert(b:policy():start({ "/bin/cat", stdin = { pipe = true } }))
    started:write("piped")
    started:close_stdin()
    assert.equal("piped", started:wait().stdout)
  end)

  it("records what was refused", function()
    local b <close> = example(true)
    prepare(b)
    local command = box.python("import socket\ntry: socket.socket(socket.AF_PACKET)\nexcept OSError: pass")
    local outcome = run_ahead(b, command)
    assert.is_true(#outcome.denials.denied > 0)
  end)
end)

describe("a run in a cgroup of its own that was started ahead", function()
  --- Cgroups of this process's runs, but for those that other tests have left to the collector.
  local function lister(cgroup)
    local before
    local function look()
      local found = box.shell(("ls -d %s/procage-run-%s-* 2>/dev/null || :"):format(cgroup, core.read_link("/proc/self")))
      local names = {}
      for name in found:gmatch("[^\n]+") do
        names[#names + 1] = not (before and before[name]) and name or nil
      end
      return names
    end
    before = list.set(look())
    return look
  end

  local function example(config, wait_ms)
    local host = bare_host()
    if not host.cgroup then
      box.skip("no cgroup is delegated to this user")
    end
    return box.new({ host = host, config = config, prepared = wait_ms and { wait_ms = wait_ms } or true }), lister(host.cgroup)
  end

  it("is in it from its start, and what it leaves is killed with it", function()
    local b <close>, cgroups = example()
    prepare(b)
    local waiting = cgroups()
    assert.equal(1, #waiting)
    local outcome = run_ahead(b, { "/bin/sh", "-c", "cat /proc/self/cgroup; setsid sleep 71 >/dev/null 2>&1 & echo $!" })
    assert.matches("/procage%-run%-%d+%-%d+\n", outcome.stdout)
    assert.is_true(is_dead(outcome.stdout:match("(%d+)\n$")))
    b:policy():close()
    assert.same({}, cgroups())
  end)

  it("leaves none of those that nobody took", function()
    local b <close>, cgroups = example()
    local policy = prepare(b)
    for _ = 1, 50 do
      assert.equal(1, #cgroups())
      policy:close()
      assert(policy:prepare())
    end
    policy:close()
    assert.same({}, cgroups())
  end)

  it("leaves none of those that have waited for too long", function()
    local b <close>, cgroups = example(nil, 200)
    prepare(b)
    local number = children()
    assert.is_true(box.wait_for(10, function()
      return is_dead(number)
    end))
    spares.sweep()
    assert.same({}, cgroups())
  end)

  it("is not taken when its cgroup is no more, or was made anew", function()
    local b <close>, cgroups = example()
    for _, attack in ipairs({ "true", "mkdir %s" }) do
      prepare(b)
      local name = cgroups()[1]
      box.shell(("echo 1 >%s/cgroup.kill; until rmdir %s; do sleep 0.01; done"):format(name, name))
      box.shell(attack:format(name))
      local outcome, was_taken = run(b, "cat /proc/self/cgroup")
      assert.is_false(was_taken)
      assert.matches("/procage%-run%-", outcome.stdout)
      assert.not_matches(name:match("[^/]+$") .. "\n", outcome.stdout, 1, true)
      b:policy():close()
      box.shell("rmdir " .. name)
      assert.same({}, cgroups())
    end
  end)

  it("has its limits, and tells of what the kernel killed", function()
    local b <close> = example({ limits = { memory_bytes = 64 << 20, processes = 32 } })
    if box.report_row(b:report(), "limits").state == "unenforced" then
      box.skip(box.report_row(b:report(), "limits").reason)
    end
    prepare(b)
    local outcome = run_ahead(b, "head -c 200000000 /dev/zero | tail")
    assert.equal(9, outcome.signal)
    assert.is_true(outcome.memory_kills > 0)
    outcome = run_ahead(b, "echo ok")
    assert.equal("ok\n", outcome.stdout)
    assert.equal(0, outcome.memory_kills)
  end)

  it("is not taken when its limits are no more the policy's", function()
    local b <close> = example()
    local policy = prepare(b)
    -- As after another fit, which leaves the plan as it was.
    local mechanisms = policy.fitted.mechanisms
    policy.fitted.mechanisms = {}
    for _, name in ipairs(mechanisms) do
      policy.fitted.mechanisms[#policy.fitted.mechanisms + 1] = name ~= "cgroup-kill" and name or nil
    end
    local outcome, was_taken = run(b, "cat /proc/self/cgroup")
    assert.is_false(was_taken)
    assert.not_matches("/procage%-run%-", outcome.stdout)
  end)
end)

describe("a run whose refusals are told by path", function()
  it("is the same when it was started ahead", function()
    box.skip_unless("seccomp_notify")
    for _, host in ipairs({ box.host(), bare_host() }) do
      local told = {}
      for i, prepared in ipairs({ false, true }) do
        local b <close> = box.new({ config = { denials = "paths", hidden = { "~/secret" } }, host = host, prepared = prepared })
        b:write("home/secret", "x")
        b:write("outside/file", "x")
        local attack = "true >> $OUTSIDE/file; cat ~/secret; echo new >$OUTSIDE/new; true >mine"
        if prepared then
          prepare(b)
        end
        local outcome = prepared and run_ahead(b, attack) or b:run(attack)
        local lines = { ("%s %s %d"):format(outcome.accesses.is_audited, outcome.accesses.is_observed, outcome.accesses.lost) }
        for _, access in ipairs(outcome.accesses) do
          lines[#lines + 1] = ("%s %s %d"):format(access.path:gsub("^" .. b.root:gsub("%p", "%%%0"), ""), access.is_exact,
            access.errno)
        end
        assert.is_true(#lines > 2)
        assert.is_true(outcome.denials.is_complete == nil or outcome.denials.is_complete)
        told[i] = table.concat(lines, "\n")
      end
      assert.equal(told[1], told[2])
    end
  end)
end)

describe("a program that was chosen", function()
  it("runs where every open is looked at, started ahead or not", function()
    box.skip_unless("seccomp_notify")
    for _, prepared in ipairs({ false, true }) do
      local b <close> = box.new({ config = { denials = "paths" }, prepared = prepared })
      local chosen = assert(executables.find("/bin/echo", b.workspace, { PATH = "/bin" }))
      if prepared then
        prepare(b)
      end
      -- Whose answer it waited for would never come: it is not known to anybody before it runs.
      local outcome = (prepared and run_ahead or b.run)(b, { "/bin/echo", "ran" }, { executable = chosen, timeout_ms = 20000 })
      assert.equal("ran\n", outcome.stdout)
    end
  end)
end)

describe("what changes after a run was started ahead", function()
  it("is a hidden path that appears: it cannot be read", function()
    for _, where in ipairs({ "home/later", "workspace/later" }) do
      local b <close> = box.new({ prepared = true })
      b.options.config = { hidden = { b:path(where) } }
      local policy = prepare(b)
      if where == "workspace/later" and not list.has(policy.fitted.mechanisms, "mask") then
        return -- nothing hides a file of the workspace here (gap carve)
      end
      b:write(where, "s3cret")
      assert.equal("s3cret", b:run_unconfined({ "/bin/cat", b:path(where) }).stdout)
      assert.not_matches("s3cret", run(b, { "/bin/cat", b:path(where) }).stdout, 1, true)
    end
  end)

  it("is a hidden file that is replaced: the new one cannot be read either", function()
    local b <close> = box.new({ prepared = true })
    b.options.config = { hidden = { b:path("workspace/secret") } }
    b:write("workspace/secret", "old")
    prepare(b)
    b:write("workspace/new", "s3cret")
    b:setup("mv new secret")
    local plain = assert(procage.policy.load("speccoder", b.options.config, { root = b.workspace, home = b.home, env = b.env }))
    if plain:run({ "/bin/cat", "secret" }).stdout ~= "" then
      box.skip("no run hides a file of the workspace here")
    end
    assert.equal("", run(b, "cat secret").stdout)
  end)

  it("is the workspace: the one that has its name now is written, the other is not", function()
    local b <close> = box.new({ prepared = true })
    prepare(b)
    b:setup("cd .. && mv workspace outside/old && mkdir workspace")
    local outcome, was_taken = run(b, { "/bin/sh", "-c", 'cd "$WS" && echo new >made; echo "$?"' })
    assert.equal("0\n", outcome.stdout)
    assert.is_false(was_taken)
    assert.equal("new\n", b:read("workspace/made"))
    assert.is_false(b:exists("outside/old/made"))
  end)

  it("is a protected file: its replacement is as protected", function()
    local b <close> = box.new({ prepared = true })
    b:write("workspace/.envrc", "old\n")
    local policy = prepare(b)
    if not box.holds(policy, "handoff") then
      box.skip("existing hand-off names are not kept here")
    end
    b:write("workspace/other", "new\n")
    b:setup("mv other .envrc")
    run(b, "echo attack >>.envrc; rm -f .envrc; mv .envrc away")
    assert.equal("new\n", b:read("workspace/.envrc"))
  end)

  it("is the host's mounts", function()
    box.skip_unless_root()
    local b <close> = box.new({ prepared = true })
    b:mkdir("home/m")
    local policy = prepare(b)
    local spare = policy.pool.list[1]
    if not select(2, box.shell("mount -t tmpfs -o size=64k none " .. box.quote(b:path("home/m")))) then
      box.skip("no mount can be made here")
    end
    local ok, outcome, was_taken = pcall(run, b, "echo attack >$HOME/m/made; ls $HOME/m")
    box.shell("umount " .. box.quote(b:path("home/m")))
    assert(ok, outcome)
    assert.is_false(was_taken)
    assert.is_false(spare.handle:is_alive())
    assert.equal("", outcome.stdout)
  end)

  it("is what the host may use: the run has what it has by now", function()
    box.skip_without("prlimit")
    local b <close> = box.new({ prepared = true })
    prepare(b)
    assert.is_true(b:policy().pool.list[1].handle:is_alive())
    local process = core.read_link("/proc/self")
    local was = box.shell("ulimit -Sn")
    local function limit(number)
      assert(select(2, box.shell(("prlimit --pid %s --nofile=%s:"):format(process, number))))
    end
    limit(99)
    local outcome, was_taken = run(b, "ulimit -Sn")
    limit(was)
    assert.is_false(was_taken)
    assert.equal("99\n", outcome.stdout)
  end)
end)

describe("what waits for a command", function()
  it("ends by itself, and the next call leaves nothing of it", function()
    local b <close> = box.new({ prepared = { wait_ms = 300 } })
    local policy = prepare(b)
    local number, directory = children(), policy.pool.list[1].directory
    assert.matches("^%d+$", number)
    assert.equal("directory", core.kind(directory))
    assert.is_true(box.wait_for(10, function()
      return is_dead(number)
    end))
    assert.is_false(policy.pool.list[1].handle:is_alive())
    spares.sweep()
    assert.equal("", children())
    assert.is_nil(core.kind(directory))
    local outcome, was_taken = run(b, "echo ok")
    assert.equal("ok\n", outcome.stdout)
    assert.is_false(was_taken)
  end)

  it("ends with the policy", function()
    local b <close> = box.new({ prepared = true })
    local policy = prepare(b)
    local directory = policy.pool.list[1].directory
    assert.not_equal("", children())
    policy:close()
    assert.equal("", children())
    assert.is_nil(core.kind(directory))
    assert.is_true(policy:prepare())
    directory = policy.pool.list[1].directory
    b.loaded, policy = nil, nil -- luacheck: ignore 311
    collectgarbage()
    collectgarbage()
    assert.equal("", children())
    assert.is_nil(core.kind(directory))
  end)

  it("is there for nobody who has not asked", function()
    local b <close> = box.new()
    assert.equal(0, b:run("true").status)
    assert.equal("", children())
  end)

  it("keeps no workspace that is gone for longer than that", function()
    local b <close> = box.new({ prepared = { wait_ms = 300 } })
    prepare(b)
    local number = children()
    b:setup("cd .. && rm -r workspace")
    assert.is_true(box.wait_for(10, function()
      return is_dead(number)
    end))
    spares.sweep()
    assert.equal("", children())
  end)

  it("cannot be had for longer than ten seconds", function()
    local b <close> = box.new({ prepared = { wait_ms = 10001 } })
    assert.has_error(function()
      b:policy()
    end)
  end)
end)
