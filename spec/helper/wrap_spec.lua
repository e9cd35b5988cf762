--- A command that another runtime starts through the program: the process that was started becomes the command.

local box = require("spec.support.box")
local helper = require("procage.helper")
local profiles = require("procage.profile")

--- The command as policy:wrap has it started, unconfined around it.
local function run_wrapped(b, command, options, run_options)
  local argv = type(command) == "table" and command or { "/bin/sh", "-c", command }
  local wrapped <close> = assert(assert(b:policy()):wrap(argv, options))
  return b:run_unconfined(wrapped.argv, run_options), wrapped
end

--- The program with these words after __sandbox.
local function sandbox(b, words, options)
  local program = assert(require("procage.paths").program())
  return b:run_unconfined({ program, "__sandbox", table.unpack(words) }, options)
end

--- A profile that the helper takes: the fitted one of this form, with fields changed.
local function profile_of(b, fields)
  local wrapped <close> = assert(assert(b:policy()):wrap({ "true" }))
  local profile
  for i, word in ipairs(wrapped.argv) do
    if word == "--" then
      profile = assert(profiles.from_json(wrapped.argv[i - 1]))
    end
  end
  profile.tmp_path = nil
  for key, value in pairs(fields or {}) do
    profile[key] = value
  end
  return profile
end

local function json_of(b, fields)
  return profiles.to_json(profile_of(b, fields))
end

describe("a wrapped command", function()
  it("is the process that was started", function()
    local b <close> = box.new()
    local wrapped <close> = assert(assert(b:policy()):wrap({ "/bin/sh", "-c", "echo $$" }))
    local result = b:run_unconfined({ "/bin/sh", "-c", 'echo $$; exec "$@"', "sh", table.unpack(wrapped.argv) })
    local first, second = result.stdout:match("^(%d+)\n(%d+)\n$")
    assert.is_string(first, result.stderr)
    assert.equal(first, second)
  end)

  it("has the caller's streams and exits as it likes", function()
    local b <close> = box.new()
    local result = run_wrapped(b, "cat; echo err >&2; exit 7", nil, { stdin = "in\0put" })
    assert.equal("in\0put", result.stdout)
    assert.equal("err\n", result.stderr)
    assert.equal(7, result.status)
  end)

  it("dies of its signals", function()
    local b <close> = box.new()
    local control = b:run_unconfined("kill -SEGV $$")
    local result = run_wrapped(b, "kill -SEGV $$")
    assert.is_true((control.signal or control.status - 128) == 11)
    assert.same({ control.status, control.signal }, { result.status, result.signal })
  end)

  it("leads a session of its own", function()
    local b <close> = box.new()
    local code = "import os; print(os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid())"
    local control = b:run_unconfined(box.python(code))
    assert.equal("False False\n", control.stdout)
    assert.equal("True True\n", run_wrapped(b, box.python(code)).stdout)
  end)

  it("that leads a group already loses the controlling terminal", function()
    local b <close> = box.new()
    -- As a shell with job control starts a command: below the session's leader, as the leader of a group.
    local program = b:write("outside/job.py", [[
import os, pty, signal, sys
pid, master = pty.fork()
if pid == 0:
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpgid(0))
        os.execv(sys.argv[1], sys.argv[1:])
    os.waitpid(child, 0)
    os._exit(0)
out = b""
while True:
    try:
        data = os.read(master, 4096)
    except OSError:
        break
    if not data:
        break
    out += data
print(out.decode().strip())
]])
    local command = { "/bin/sh", "-c", "(exec 3</dev/tty) 2>/dev/null && echo has || echo none" }
    local control = b:run_unconfined({ "/usr/bin/python3", "-I", program, table.unpack(command) })
    assert.equal("has\n", control.stdout, control.stderr)
    local wrapped <close> = assert(assert(b:policy()):wrap(command))
    local result = b:run_unconfined({ "/usr/bin/python3", "-I", program, table.unpack(wrapped.argv) })
    assert.equal("none\n", result.stdout, result.stderr)
  end)

  it("writes its workspace and nothing outside", function()
    local b <close> = box.new()
    b:run_unconfined("echo x >$OUTSIDE/control")
    assert.equal("x\n", b:read("outside/control"))
    local result = run_wrapped(b, "echo x >in; echo x >$OUTSIDE/out; echo x >$HOME/out; echo x >>$OUTSIDE/control")
    assert.equal("x\n", b:read("workspace/in"))
    assert.is_false(b:exists("outside/out"))
    assert.is_false(b:exists("home/out"))
    assert.equal("x\n", b:read("outside/control"))
    assert.is_true(result.status ~= 0)
  end)

  it("reads no hidden file", function()
    local b <close> = box.new({ config = { hidden = { "~/secret" } } })
    b:write("home/secret", "s3cret")
    assert.equal("s3cret", b:run_unconfined("cat ~/secret").stdout)
    local result = run_wrapped(b, "cat ~/secret")
    assert.not_matches("s3cret", result.stdout .. result.stderr, 1, true)
  end)

  it("has no privilege, no descriptor and no secret variable of the caller's", function()
    local b <close> = box.new()
    b:write("outside/file", "open")
    local code = "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status; cat <&9; echo ${MY_TOKEN:-none}"
    local options = { env = { MY_TOKEN = "t" } }
    local wrapped <close> = assert(assert(b:policy()):wrap({ "/bin/sh", "-c", code }))
    local shell = { "/bin/sh", "-c", 'exec 9<$OUTSIDE/file; exec "$@"', "sh" }
    local control = b:run_unconfined(table.move({ "/bin/sh", "-c", code }, 1, 3, 5, shell), options)
    assert.matches("open", control.stdout, 1, true)
    assert.matches("t\n$", control.stdout)
    shell = { "/bin/sh", "-c", 'exec 9<$OUTSIDE/file; exec "$@"', "sh" }
    local result = b:run_unconfined(table.move(wrapped.argv, 1, #wrapped.argv, 5, shell), options)
    assert.matches("^CapEff:%s+0+\nNoNewPrivs:%s+1\nnone\n$", result.stdout)
  end)

  it("adopts its own orphans", function()
    local b <close> = box.new()
    local code = [[
import os, time
r, w = os.pipe()
if os.fork() == 0:
    parent = os.getpid()
    if os.fork() == 0:
        while os.getppid() == parent:
            time.sleep(0.01)
        os.write(w, str(os.getppid()).encode())
    os._exit(0)
os.wait()
print(int(os.read(r, 100)) == os.getpid())
]]
    assert.equal("False\n", b:run_unconfined(box.python(code)).stdout)
    assert.equal("True\n", run_wrapped(b, box.python(code)).stdout)
  end)

  it("reaches no Unix socket outside, and makes pairs", function()
    local b <close> = box.new()
    local server = b:listener("stream", b:path("outside/s"))
    local code = [[
import socket, sys
a, c = socket.socketpair()
a.send(b"pair")
print(c.recv(4).decode(), flush=True)
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.send(b"hello")
]]
    local command = { "/usr/bin/python3", "-I", "-c", code, server.address }
    assert.equal(0, b:run_unconfined(command).status)
    box.wait_for(2, function()
      return server:received():find("hello", 1, true)
    end)
    assert.equal("<connected>hello", server:received())
    local result = run_wrapped(b, command)
    assert.equal("pair\n", result.stdout)
    assert.matches("Permission denied", result.stderr, 1, true)
    assert.equal("<connected>hello", server:received())
  end)

  it("starts in the workspace, or where it is told", function()
    local b <close> = box.new()
    b:mkdir("workspace/sub")
    assert.equal(b.workspace .. "\n", run_wrapped(b, "pwd", nil, { cwd = b.root }).stdout)
    assert.equal(b.workspace .. "/sub\n", run_wrapped(b, "pwd; echo $X", { cwd = "sub", env = { X = "" } }).stdout:sub(1, -2))
    local wrapped, message, code = b:policy():wrap({ "true" }, { cwd = "no/such" })
    assert.is_nil(wrapped)
    assert.matches("no such directory", message, 1, true)
    assert.equal(2, code)
  end)

  it("gets variables that are added, but for those that look secret", function()
    local b <close> = box.new()
    local result = run_wrapped(b, "echo $A ${B_TOKEN:-none}", { env = { A = "a b", B_TOKEN = "t" } })
    assert.equal("a b none\n", result.stdout)
  end)

  it("has a directory for temporary files until it is closed", function()
    local b <close> = box.new()
    local wrapped = assert(b:policy():wrap({ "/bin/sh", "-c", "echo x >$TMPDIR/f && cat $TMPDIR/f" }))
    local profile
    for _, word in ipairs(wrapped.argv) do
      profile = profile or word:sub(1, 1) == "{" and assert(profiles.from_json(word))
    end
    assert.equal("x\n", b:run_unconfined(wrapped.argv).stdout)
    assert.is_true(select(2, box.shell("test -d " .. profile.tmp_path)))
    wrapped.close()
    wrapped.close()
    assert.is_false(select(2, box.shell("test -e " .. profile.tmp_path)))
    local result = b:run_unconfined(wrapped.argv)
    assert.equal(126, result.status)
    assert.matches("tmp_path", result.stderr, 1, true)
  end)

  it("has a profile of any length, in a file of its own when it is long", function()
    local hidden = {}
    for i = 1, 2500 do
      hidden[i] = ("~/%s/%d"):format(("x"):rep(40), i)
    end
    local b <close> = box.new({ config = { hidden = hidden } })
    local wrapped = assert(b:policy():wrap({ "/bin/sh", "-c", "echo x >in; cat in; echo x >$OUTSIDE/out" }))
    local file
    for _, word in ipairs(wrapped.argv) do
      file = file or word:match("^@(/.*)$")
    end
    assert.is_string(file)
    local result = b:run_unconfined(wrapped.argv)
    assert.equal("x\n", result.stdout, result.stderr)
    assert.is_false(b:exists("outside/out"))
    wrapped.close()
    assert.is_nil((io.open(file)))
  end)

  it("is refused where the form leaves a gap that the policy does not accept", function()
    local b <close> = box.new()
    b.options.policy = b:write("outside/strict.lua", [[
local profile = require("procage.profile")
return function(config, ctx)
  local p = profile.new()
  p:allow_read("/")
  p:workspace(ctx.workspace)
  p:git("write")
  p:accept("metadata", "stat", "truncate", "device_ioctl", "signal_scope")
  return p
end
]])
    local wrapped, message, code = assert(b:policy()):wrap({ "true" })
    assert.is_nil(wrapped)
    assert.matches("process_tree", message, 1, true)
    -- Where the host has no PID namespace, the other form has the same gap.
    if box.host().pidns then
      assert.matches("tree = true", message, 1, true)
      assert.is_table((b:policy():wrap({ "true" }, { tree = true })))
    end
    assert.equal(95, code)
  end)

  it("raises on what is no command or no option", function()
    local b <close> = box.new()
    local policy = assert(b:policy())
    for _, words in ipairs({ {}, { 1 }, { "a\0b" } }) do
      assert.has_error(function()
        policy:wrap(words)
      end)
    end
    assert.error_matches(function()
      policy:wrap({ "true" }, { three = true })
    end, "wrap: unknown key three")
  end)
end)

describe("procage-lua __sandbox", function()
  it("takes the profile as an argument, from a file and from standard input", function()
    local b <close> = box.new()
    local json = json_of(b)
    local file = b:write("outside/profile.json", json)
    for _, case in ipairs({ { json }, { "@" .. file }, { "-", json } }) do
      local command = "echo x >in; cat in; echo y >$OUTSIDE/y"
      local result = sandbox(b, { case[1], "--", "/bin/sh", "-c", command }, { stdin = case[2] })
      assert.equal("x\n", result.stdout, result.stderr)
      assert.is_false(b:exists("outside/y"))
    end
  end)

  it("without tmp_path makes a directory of its own, and says who removes it", function()
    local b <close> = box.new()
    local result = sandbox(b, { json_of(b), "--", "/bin/sh", "-c", "echo x >$TMPDIR/f && cat $TMPDIR/f" })
    assert.equal("x\n", result.stdout)
    assert.matches("procage: /[^\n]*/procage%-%w+: its temporary files, removed by a later start", result.stderr)
  end)

  local cases = {
    { "127 for a program that is not there", { "no-such-program" }, 127, "no%-such%-program: .*No such file" },
    { "126 for one that is not executable", { "/etc/passwd" }, 126, "Permission denied" },
  }
  for _, case in ipairs(cases) do
    it("exits with " .. case[1], function()
      local b <close> = box.new()
      local result = sandbox(b, { json_of(b), "--", table.unpack(case[2]) })
      assert.equal(case[3], result.status, result.stderr)
      assert.matches(case[4], result.stderr)
    end)
  end

  it("exits with 2 and the key path for what is no profile", function()
    local b <close> = box.new()
    for json, message in pairs({
      ["{"] = "profile: not JSON",
      ["null"] = "top level",
      ["{}"] = "workspace: missing",
      ['{"reed":"all"}'] = "reed: unknown field (did you mean read?)",
      ['{"workspace":"/w","write":["/w","x"]}'] = "write[2]: expected an absolute path",
      ['{"workspace":"/w","env":{"set":{"A=":"b"}}}'] = "env.set.A=",
      ['{"workspace":"/w","mechanisms":["magic"]}'] = "mechanisms[1]: unknown mechanism magic",
    }) do
      local result = sandbox(b, { json, "--", "/usr/bin/touch", b:path("workspace/ran") })
      assert.equal(2, result.status, json)
      assert.matches(message, result.stderr, 1, true)
    end
    assert.is_false(b:exists("workspace/ran"))
  end)

  it("exits with 2 for words that are none of its own", function()
    local b <close> = box.new()
    local json = json_of(b)
    for _, words in ipairs({
      {}, { json }, { json, "true" }, { json, "--" }, { "--", "true" }, { "--three", json, "--", "true" },
      { "--cwd", "here", json, "--", "true" }, { "@" .. b:path("outside/none"), "--", "true" },
    }) do
      assert.equal(2, sandbox(b, words).status, table.concat(words, " "):sub(1, 40))
    end
  end)

  it("exits with 126 where it leaves a gap that is neither in unenforced nor in accept", function()
    local b <close> = box.new()
    local marker = b:path("workspace/ran")
    local command = { "--", "/usr/bin/touch", marker }
    local result = sandbox(b, { json_of(b, { unenforced = {}, accept = {} }), table.unpack(command) })
    assert.equal(126, result.status)
    assert.matches("process_tree", result.stderr, 1, true)
    assert.is_false(b:exists("workspace/ran"))
    -- Control: with them named it runs.
    assert.equal(0, sandbox(b, { json_of(b), table.unpack(command) }).status)
    assert.is_true(b:exists("workspace/ran"))
  end)

  it("names the gaps that the fitted profile did not know", function()
    local b <close> = box.new()
    local profile = profile_of(b)
    local known = profile.unenforced
    profile.unenforced, profile.accept = {}, known
    local result = sandbox(b, { profiles.to_json(profile), "--", "true" })
    assert.equal(0, result.status)
    assert.matches("procage: gap process_tree: what the command leaves running outlives it", result.stderr, 1, true)
    profile.unenforced = known
    assert.not_matches("gap", sandbox(b, { profiles.to_json(profile), "--", "true" }).stderr, 1, true)
  end)

  it("takes no directory and no socket that leads elsewhere as a stream", function()
    local b <close> = box.new()
    local file = b:write("outside/profile.json", json_of(b))
    local code = [[
import os, socket, subprocess, sys
kind = sys.argv[1]
if kind == "directory":
    fd = os.open("/", os.O_RDONLY)
elif kind == "pair":
    a, keep = socket.socketpair()
    fd = a.fileno()
else:
    family, type = {"tcp": (socket.AF_INET, socket.SOCK_STREAM), "udp": (socket.AF_INET, socket.SOCK_DGRAM),
                    "unix": (socket.AF_UNIX, socket.SOCK_STREAM), "datagrams": (socket.AF_UNIX, socket.SOCK_DGRAM)}[kind]
    s = socket.socket(family, type)
    fd = s.fileno()
sys.exit(subprocess.call(sys.argv[2:], stdin=fd))
]]
    local program = assert(require("procage.paths").program())
    local function status(kind)
      return b:run_unconfined({
        "/usr/bin/python3", "-I", "-c", code, kind, program, "__sandbox", "@" .. file, "--", "true",
      }).status
    end
    assert.equal(0, status("pair"))
    for _, kind in ipairs({ "directory", "tcp", "udp", "unix", "datagrams" }) do
      assert.equal(126, status(kind), kind)
    end
  end)

  it("takes no tmp_path that is not this user's alone", function()
    local b <close> = box.new()
    b:setup("mkdir -p $OUTSIDE/t/tmp $OUTSIDE/t/var $OUTSIDE/t/shm; chmod 700 $OUTSIDE/t $OUTSIDE/t/*; ln -s t $OUTSIDE/link")
    b:mkdir("outside/empty")
    for _, name in ipairs({ "outside/link", "outside/empty", "outside/none" }) do
      local result = sandbox(b, { json_of(b, { tmp_path = b:path(name) }), "--", "true" })
      assert.equal(126, result.status, name)
      assert.matches("tmp_path", result.stderr, 1, true)
    end
    -- Nobody's lock is in it: it was not made as one.
    assert.equal(126, sandbox(b, { json_of(b, { tmp_path = b:path("outside/t") }), "--", "true" }).status)
    b:write("outside/t/lock", "")
    assert.equal(0, sandbox(b, { json_of(b, { tmp_path = b:path("outside/t") }), "--", "true" }).status)
    b:mode("outside/t", "755")
    assert.equal(126, sandbox(b, { json_of(b, { tmp_path = b:path("outside/t") }), "--", "true" }).status)
  end)

  it("confines nothing for a profile that says so", function()
    local b <close> = box.new({ policy = "off" })
    local result = run_wrapped(b, "echo x >$OUTSIDE/out")
    assert.equal(0, result.status, result.stderr)
    assert.equal("x\n", b:read("outside/out"))
  end)
end)

describe("the host of a fitted profile", function()
  local hosts = require("spec.support.hosts")
  local plain = require("procage.host").complete

  it("is the one it was fitted to, as far as its mechanisms tell", function()
    local fit = require("procage.fit").fit
    local want = profiles.plain({ workspace = "/w", read = "all", write = { "/w" }, hidden = { "/h" }, network = "loopback" })
    for name, host in pairs(hosts) do
      local fitted, report = fit(want, host)
      if fitted then
        local best = plain(hosts.new)
        best.cgroup, best.cgroup_memory, best.cgroup_pids = host.cgroup or "/sys/fs/cgroup/x", true, true
        local narrowed = helper.narrow(best, fitted.mechanisms)
        -- The newest of hosts gives no more clauses by other mechanisms than the first one.
        for i, row in ipairs(select(2, fit(fitted, narrowed))) do
          if report[i].state == "enforced" then
            assert.equal("enforced", row.state, name .. " " .. row.clause)
          end
          for _, used in ipairs(row.mechanisms) do
            assert.is_true(
              not used:find("ns$") or table.concat(fitted.mechanisms, " "):find(used, 1, true) ~= nil,
              name .. " " .. used
            )
          end
        end
      end
    end
  end)

  it("is this one for a profile that was never fitted", function()
    assert.same(plain(hosts.full), helper.narrow(plain(hosts.full), nil))
  end)
end)
