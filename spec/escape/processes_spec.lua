local box = require("spec.support.box")

local python = box.python

--- A program outside that would rather live, and that has a secret in its environment and its memory.
local VICTIM = [[
import ctypes, os, signal, sys, time
secret = ctypes.create_string_buffer(("%s%s" % ("in-memory", "-secret")).encode())
print("at", ctypes.addressof(secret), flush=True)
while True:
    time.sleep(0.05)
]]

local function set_up(b)
  b.victim = b:start({ "/usr/bin/env", "TOKEN_OF_VICTIM=environ-secret", "/usr/bin/python3", "-I", "-c", VICTIM }, {
    until_prints = "at ",
  })
end

local function is_hurt(b)
  box.sleep(0.1)
  return not b.victim:is_alive() or b.victim:state() == "T" or b.victim:state() == "t"
end

local function on(victim_command)
  return function(b)
    local command = victim_command
    if type(command) == "table" then
      local words = {}
      for i, word in ipairs(command) do
        words[i] = word:gsub("@PID@", tostring(b.victim.pid)):gsub("@AT@", b.victim:output():match("at (%d+)"))
      end
      return words
    end
    return (command:gsub("@PID@", tostring(b.victim.pid)))
  end
end

local ways = {
  { "a signal", "kill -KILL @PID@" },
  { "a stop signal", "kill -STOP @PID@" },
  { "a signal to its group", "kill -KILL -@PID@" },
  { "a queued signal", python([[
import ctypes, os
info = ctypes.create_string_buffer(128)
ctypes.memmove(info, (ctypes.c_int * 6)(9, 0, -1, 0, os.getpid(), os.getuid()), 24)
ctypes.CDLL(None).syscall(129, @PID@, 9, info)]]) },
  { "a signal to its thread", python("import ctypes; ctypes.CDLL(None).syscall(200, @PID@, 9)") },
  { "a signal through a pidfd", python("import os, signal; signal.pidfd_send_signal(os.pidfd_open(@PID@), 9)") },
  { "a signal through a directory of /proc", python([[
import os, signal
signal.pidfd_send_signal(os.open("/proc/@PID@", os.O_DIRECTORY), 9)]]) },
  { "a signal that a pipe's owner is sent", python([[
import fcntl, os, time
r, w = os.pipe()
fcntl.fcntl(r, fcntl.F_SETOWN, @PID@)
fcntl.fcntl(r, 10, 9)  # F_SETSIG
fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
os.write(w, b"x"); time.sleep(0.2)]]) },
  { "a limit of its processor time", python("import resource; resource.prlimit(@PID@, resource.RLIMIT_CPU, (0, 0))"), true },
}

describe("a process outside", function()
  for _, way in ipairs(ways) do
    it("does not get " .. way[1], function()
      if way[3] then
        -- It takes a while until a sleeper has used its time.
        local busy = VICTIM:gsub("time%.sleep%(0%.05%)", "pass")
        box.attack({
          setup = function(b)
            b.victim = b:start({ "/usr/bin/nice", "/usr/bin/python3", "-I", "-c", busy }, { until_prints = "at " })
          end,
          run = on(way[2]),
          hurt = function(b)
            return box.wait_for(2.5, function()
              return not b.victim:is_alive()
            end)
          end,
          clause = "signals",
        })
        return
      end
      box.attack({ setup = set_up, run = on(way[2]), hurt = is_hurt, clause = "signals" })
    end)
  end

  it("does not get a signal to everybody", function()
    -- The control would end the session of whoever runs this: the victims are all that a user of its own has.
    box.skip_unless_root()
    box.skip_without("setpriv")
    local b <close> = box.new()
    local as = "setpriv --reuid 61235 --regid 61235 --clear-groups "
    local function victim()
      return b:start("exec " .. as .. "sleep 30")
    end
    local first = victim()
    box.sleep(0.2)
    os.execute(as .. "/bin/sh -c 'kill -KILL -1' 2>/dev/null")
    assert.is_falsy(box.wait_for(1, function()
      return not first:is_alive()
    end) == false)
    local second = b:start("exec sleep 30")
    local outcome = b:run("trap '' TERM; kill -TERM -1; sleep 0.1; echo still")
    box.sleep(0.1)
    assert.is_true(second:is_alive())
    assert.is_true(box.holds(outcome, "signals") or second:is_alive())
  end)

  local reads = {
    { "environment", "cat /proc/@PID@/environ", "environ-secret" },
    { "memory, by process_vm_readv", python([[
import ctypes
class iovec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(64)
libc = ctypes.CDLL(None)
n = libc.process_vm_readv(@PID@, ctypes.byref(iovec(ctypes.addressof(buffer), 32)), 1, ctypes.byref(iovec(@AT@, 32)), 1, 0)
print(buffer.raw)]]), "in-memory-secret" },
    { "memory, by /proc", python([[
f = open("/proc/@PID@/mem", "rb", 0); f.seek(@AT@); print(f.read(32))]]), "in-memory-secret" },
    { "memory, by ptrace", python([[
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long] * 4
if libc.ptrace(16, @PID@, 0, 0) == 0:  # PTRACE_ATTACH
    os.waitpid(@PID@, 0)
    words = b"".join((libc.ptrace(1, @PID@, @AT@ + 8 * i, 0) & (2**64 - 1)).to_bytes(8, "little") for i in range(3))
    print(words); libc.ptrace(17, @PID@, 0, 0)]]), "in-memory-secret" },
    { "open files", python([[
import os
for n in os.listdir("/proc/@PID@/fd"):
    print(os.readlink("/proc/@PID@/fd/" + n))]]), ".child-" },
    { "root, as a way to a hidden file", "cat /proc/@PID@/root$HOME/.netrc", "hidden-secret" },
    { "working directory, as a way to a hidden file", "cat /proc/@PID@/cwd/../home/.netrc", "hidden-secret" },
    { "descriptors, by pidfd_getfd", python([[
import ctypes, os
fd = ctypes.CDLL(None).syscall(438, os.pidfd_open(@PID@), 1, 0)
print(os.readlink("/proc/self/fd/%d" % fd))]]), ".child-" },
  }
  for _, read in ipairs(reads) do
    it("does not show its " .. read[1], function()
      box.attack({
        setup = function(b)
          set_up(b)
          b:write("home/.netrc", "hidden-secret")
        end,
        run = on(read[2]),
        hurt = function(_, result)
          return result.stdout:find(read[3], 1, true)
        end,
        clause = "signals",
      })
    end)
  end

  it("of the host that runs the command does not show its environment, wherever it stands", function()
    local b <close> = box.new({ host_env = { DEPLOY_TOKEN = "parent-secret" } })
    local command = [[for p in /proc/[0-9]*; do tr '\0' '\n' < $p/environ; done 2>/dev/null; env]]
    local child = b:start(b:cli_line({ "-q" }, command), { is_line = true })
    box.wait_for(5, function()
      return not child:is_alive()
    end)
    assert.matches("OUTSIDE=", child:output(), 1, true)
    assert.is_nil(child:output():find("parent-secret", 1, true))
  end)

  it("is not seen in /proc, where the run has its own", function()
    local b <close> = box.new()
    set_up(b)
    box.skip_unless("pidns")
    local outcome = b:run(("test -e /proc/%d/status && grep -c victim /proc/%d/cmdline; ls -d /proc/[0-9]* | wc -l"):format(
      b.victim.pid,
      b.victim.pid
    ))
    assert.is_true((tonumber(outcome.stdout:match("(%d+)\n$")) or 99) < 10, outcome.stdout)
  end)
end)

describe("the init of a run", function()
  it("is neither killed, stopped, traced nor read by the command", function()
    local b <close> = box.new()
    local outcome = b:run([[
init=1
test "$(cat /proc/1/comm)" = procage-init || init=$PPID
kill -KILL $init; kill -STOP $init; kill -TERM $init
cat /proc/$init/environ /proc/$init/maps; ls -l /proc/$init/fd /proc/$init/exe; echo x > /proc/$init/mem
sleep 0.1; echo alive; exit 7]])
    if not box.holds(outcome, "process_tree") and not box.holds(outcome, "signals") then
      return
    end
    assert.matches("alive\n$", outcome.stdout)
    -- Numbers of its descriptors may show, and nothing of what they or its program are.
    assert.is_nil(outcome.stdout:find("->", 1, true))
    assert.equal(7, outcome.status)
  end)

  it("reaps what is orphaned (FR-103)", function()
    local b <close> = box.new()
    local outcome = b:run(
      "cp /bin/sleep ./fczz; for i in 1 2 3 4 5; do sh -c './fczz 0.1 & exit 0'; done; sleep 0.5; "
        .. "grep -lE 'Name:.fczz' /proc/[0-9]*/status && echo ZOMBIE || echo reaped"
    )
    assert.equal("reaped\n", outcome.stdout)
  end)
end)

describe("a concurrent run", function()
  it("of the same policy sees neither the processes nor the temporary files of the other", function()
    local b <close> = box.new()
    local child = b:start(
      b:cli_line({ "-q" }, "echo other > $TMPDIR/mark; echo $$ > pid; echo $TMPDIR > tmp; exec sleep 5"),
      { is_line = true }
    )
    assert.is_truthy(box.wait_for(5, function()
      return b:read("workspace/tmp")
    end))
    local host_pid = box.shell("pgrep -P $(pgrep -P " .. child.pid .. " | tail -1) | tail -1")
    local outcome = b:run(
      ("cat $(cat tmp)/mark; ls $(cat tmp); ls /tmp/procage-*/tmp; kill -KILL %s; cat /proc/%s/environ"):format(
        host_pid ~= "" and host_pid or "999999",
        host_pid ~= "" and host_pid or "999999"
      )
    )
    assert.is_nil(outcome.stdout:find("other", 1, true))
    assert.is_nil(outcome.stdout:find("OUTSIDE", 1, true))
    if box.holds(outcome, "signals") then
      assert.is_true(child:is_alive())
    end
  end)
end)

describe("a command that asks its parent to trace it", function()
  local asks = "import ctypes, os, signal\nassert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0\n"
  local ends = {
    {
      "takes a signal as ever",
      "signal.signal(10, lambda *_: print('taken', flush=True))\nos.kill(os.getpid(), 10)\nos._exit(7)",
      stdout = "taken\n",
      status = 7,
    },
    { "dies of one as ever", "os.kill(os.getpid(), 10)\nos._exit(7)", stdout = "", signal = 10 },
    { "executes another program", "os.execv('/bin/sh', ['sh', '-c', 'echo on; exit 3'])", stdout = "on\n", status = 3 },
    {
      "stops, and goes on",
      "if os.fork() == 0:\n    os.kill(os.getppid(), 19)\n    os.kill(os.getppid(), 18)\n    os._exit(0)\n"
        .. "os.wait()\nprint('on', flush=True)\nos._exit(5)",
      stdout = "on\n",
      status = 5,
    },
  }
  for _, row in ipairs(ends) do
    it(row[1], function()
      local b <close> = box.new()
      local control = b:run_unconfined(python(row[2]:gsub("^", "import os, signal\n", 1)))
      assert.same({ row.stdout, row.status }, { control.stdout, control.status })
      local outcome = b:run(python(asks .. row[2]), { timeout_ms = 8000 })
      assert.same({ row.stdout, row.status, row.signal }, { outcome.stdout, outcome.status, outcome.signal }, outcome.stderr)
      assert.falsy(outcome.timed_out)
    end)
  end
end)
