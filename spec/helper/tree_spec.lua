--- wrap(argv, {tree = true}): what is started stays, as the parent that looks after a run.

local box = require("spec.support.box")

local function wrap(b, command, options)
  options = options or {}
  options.tree = true
  local argv = type(command) == "table" and command or { "/bin/sh", "-c", command }
  return assert(assert(b:policy()):wrap(argv, options)).argv
end

describe("the parent of a wrapped tree", function()
  it("passes the streams on and exits as the command did", function()
    local b <close> = box.new()
    local result = b:run_unconfined(wrap(b, "cat; echo err >&2; exit 7"), { stdin = "in\0put" })
    assert.equal("in\0put", result.stdout)
    assert.equal("err\n", result.stderr)
    assert.equal(7, result.status)
    assert.equal(139, b:run_unconfined(wrap(b, "kill -SEGV $$")).status)
    assert.equal(127, b:run_unconfined(wrap(b, { "no-such-program" })).status)
    assert.equal(126, b:run_unconfined(wrap(b, { "/etc/passwd" })).status)
  end)

  it("answers while its input is still open", function()
    local b <close> = box.new()
    local code = [[
import subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for word in (b"one\n", b"two\n"):
    p.stdin.write(word)
    p.stdin.flush()
    print(p.stdout.readline().decode().strip(), flush=True)
p.stdin.close()
print(p.wait())
]]
    local echo = { "/usr/bin/python3", "-u", "-I", "-c", "import sys\nfor line in sys.stdin: print(line.upper(), end='')" }
    local result = b:run_unconfined({ "/usr/bin/python3", "-I", "-c", code, table.unpack(wrap(b, echo)) })
    assert.equal("ONE\nTWO\n0\n", result.stdout, result.stderr)
  end)

  it("gives the command a PID namespace where there is one", function()
    box.skip_unless("pidns")
    local b <close> = box.new()
    local pid = tonumber(b:run_unconfined(wrap(b, "echo $$")).stdout)
    assert.is_true(pid < 10, "pid " .. pid)
  end)

  it("ends everything that the command left running", function()
    local b <close> = box.new()
    local command = "setsid sh -c 'sleep 1; echo late >late' >/dev/null 2>&1 </dev/null & sleep 0.2"
    b:run_unconfined(command)
    assert.is_truthy(box.wait_for(3, function()
      return b:exists("workspace/late")
    end))
    os.remove(b:path("workspace/late"))
    b:run_unconfined(wrap(b, command))
    box.sleep(1.5)
    assert.is_false(b:exists("workspace/late"))
  end)

  for name, signal in pairs({ TERM = 15, INT = 2, HUP = 1 }) do
    it("ends the run on SIG" .. name .. " and says so", function()
      local b <close> = box.new()
      local code = [[
import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, start_new_session=True)
p.stdout.readline()
p.send_signal(int(sys.argv[1]))
print(p.wait(), p.stdout.read().decode().strip())
]]
      local command = wrap(b, "trap 'echo asked; exit 0' TERM; echo up; sleep 20 & wait")
      local result = b:run_unconfined({ "/usr/bin/python3", "-I", "-c", code, tostring(signal), table.unpack(command) })
      assert.equal(("%d asked\n"):format(128 + signal), result.stdout, result.stderr)
    end)
  end

  it("takes the run with it when it is killed", function()
    local b <close> = box.new()
    local code = [[
import subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
p.stdout.readline()
p.kill()
print(p.wait())
]]
    local command = wrap(b, "echo up; sleep 1; echo late >late")
    local result = b:run_unconfined({ "/usr/bin/python3", "-I", "-c", code, table.unpack(command) })
    assert.equal("-9\n", result.stdout, result.stderr)
    box.sleep(1.5)
    assert.is_false(b:exists("workspace/late"))
  end)

  it("keeps the deadline of the profile", function()
    local b <close> = box.new({ config = { limits = { timeout_ms = 300 } } })
    assert.equal(124, b:run_unconfined(wrap(b, "sleep 20")).status)
  end)

  it("confines like any run", function()
    local b <close> = box.new()
    local result = b:run_unconfined(wrap(b, "echo x >in; echo x >$OUTSIDE/out; echo $A", { env = { A = "b" } }))
    assert.equal("b\n", result.stdout)
    assert.equal("x\n", b:read("workspace/in"))
    assert.is_false(b:exists("outside/out"))
  end)

  it("leaves no private directory", function()
    local b <close> = box.new()
    local directory = b:run_unconfined(wrap(b, "grep -o '[^ ]*/procage-[A-Za-z0-9]*' /proc/self/mountinfo | head -1")).stdout
    if directory == "" then
      directory = b:run_unconfined(wrap(b, 'dirname "$TMPDIR"')).stdout
    end
    directory = directory:match("procage%-%w+")
    assert.is_string(directory)
    assert.equal("", (box.shell("ls -d /tmp/" .. directory .. " 2>/dev/null")))
  end)
end)
