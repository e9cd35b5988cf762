--- Limits hold against the real kernel, or the report says that they do not.

local box = require("spec.support.box")

--- Starts as many processes as it can, says how many it could, and ends them.
local BOMB = [[
import os, signal, sys, time
pids = []
for i in range(400):
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        time.sleep(20)
        os._exit(0)
    pids.append(pid)
print(len(pids), flush=True)
for pid in pids:
    os.kill(pid, signal.SIGKILL)
]]

local HOG = [[
blocks = []
for i in range(300):
    blocks.append(b"x" * (1 << 20))
print("had it")
]]

--- Whether the report says that the limits hold; else why not, and the test is pending.
local function need_limits(b)
  local row = box.report_row(b:report(), "limits")
  if row.state == "unenforced" then
    assert(row.id == "limits" and row.reason and row.lift and row.effect:find("not enforced", 1, true))
    box.skip(row.reason)
  end
  return row
end

describe("limits.processes", function()
  it("bounds a fork bomb", function()
    local b <close> = box.new({ config = { limits = { processes = 64 } } })
    local control = b:run_unconfined(box.python(BOMB))
    assert.equal("400\n", control.stdout)
    need_limits(b)
    local outcome = b:run(box.python(BOMB))
    local count = tonumber(outcome.stdout)
    -- One is python's own; a broker's helpers may take a few for a moment.
    assert.is_true(count >= 55 and count <= 64, outcome.stdout .. outcome.stderr)
  end)

  it("counts each run by itself", function()
    local b <close> = box.new({ config = { limits = { processes = 40 } } })
    need_limits(b)
    local policy, runs = assert(b:policy()), {}
    for i = 1, 4 do
      runs[i] = assert(policy:start({ "/bin/sh", "-c", "for i in $(seq 25); do sleep 0.5 & done; wait; echo $?" }))
    end
    for i = 1, 4 do
      local outcome = runs[i]:wait()
      assert.equal("0\n", outcome.stdout)
      assert.equal("", outcome.stderr)
    end
  end)

  it("counts threads too", function()
    local b <close> = box.new({ config = { limits = { processes = 20 } } })
    need_limits(b)
    local outcome = b:run(box.python([[
import threading, time
n = 0
try:
    for i in range(100):
        threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
        n += 1
except RuntimeError:
    pass
print(n, flush=True)
import os
os._exit(0)
]]))
    local count = tonumber(outcome.stdout)
    assert.is_true(count >= 12 and count <= 20, outcome.stdout .. outcome.stderr)
  end)
end)

describe("limits.memory_bytes", function()
  it("kills a run that takes too much, whole, and says so", function()
    local b <close> = box.new({ config = { limits = { memory_bytes = 128 << 20 } } })
    assert.equal("had it\n", b:run_unconfined(box.python(HOG)).stdout)
    need_limits(b)
    local outcome = b:run(box.python(HOG))
    assert.equal(9, outcome.signal)
    assert.is_true(outcome.memory_kills > 0)
    assert.equal("", outcome.stdout)
  end)

  it("that no cgroup can hold is named, with what would lift it", function()
    local host = {}
    for name, value in pairs(box.host()) do
      host[name] = value
    end
    host.cgroup_memory = false
    local b <close> = box.new({ host = host, config = { limits = { memory_bytes = 128 << 20 } } })
    local row = box.report_row(b:report(), "limits")
    assert.equal("unenforced", row.state)
    assert.equal("not enforced: memory_bytes", row.effect)
    assert.matches("memory", row.reason .. row.lift, 1, true)
    assert.equal("had it\n", b:run(box.python(HOG)).stdout)
  end)
end)

describe("limits.file_bytes", function()
  it("ends who writes a larger file", function()
    local b <close> = box.new({ config = { limits = { file_bytes = 100000 } } })
    local write = { "/bin/dd", "if=/dev/zero", "of=big", "bs=1000", "count=200", "status=none" }
    assert.equal(0, b:run_unconfined(write).status)
    local outcome = b:run(write)
    assert.equal(25, outcome.signal) -- SIGXFSZ
    assert.equal("100000", b:stat("workspace/big", "%s"))
    assert.is_false(outcome.core_dumped)
  end)
end)

describe("limits.cpu_ms", function()
  it("ends who computes on", function()
    local b <close> = box.new({ config = { limits = { cpu_ms = 1000 } } })
    local outcome = b:run("while :; do :; done", { timeout_ms = 60000 })
    assert.is_false(outcome.timed_out)
    assert.equal(24, outcome.signal) -- SIGXCPU
    assert.equal("cpu_ms", outcome.limit.limit)
    assert.is_true(outcome.usage.user_us + outcome.usage.system_us < 3000000)
  end)

  it("leaves a sleeper alone", function()
    local b <close> = box.new({ config = { limits = { cpu_ms = 1000 } } })
    assert.equal(0, b:run("sleep 1.5").status)
  end)
end)

describe("limits.cpu_ms, outlived", function()
  it("kills who does not mind the signal, a second later", function()
    local b <close> = box.new({ config = { limits = { cpu_ms = 1000 } } })
    local outcome = b:run("trap '' XCPU; while :; do :; done", { timeout_ms = 60000 })
    assert.equal(9, outcome.signal)
    assert.equal("cpu_ms", outcome.limit.limit)
    assert.is_true(outcome.usage.user_us + outcome.usage.system_us < 4000000)
  end)
end)

describe("limits.open_files", function()
  it("bounds the descriptors of a process, not the library's", function()
    local b <close> = box.new({ config = { limits = { open_files = 20 } } })
    local open = box.python([[
import os
n = 0
try:
    while n < 1000:
        os.open("/dev/null", os.O_RDONLY)
        n += 1
except OSError as e:
    pass
print(n)
]])
    assert.is_true(tonumber(b:run_unconfined(open).stdout) > 100)
    local outcome = b:run(open)
    assert.equal(0, outcome.status)
    assert.is_true(tonumber(outcome.stdout) <= 17, outcome.stdout)
    assert.equal("20\n20\n", b:run("ulimit -Sn; ulimit -Hn; ulimit -n 21 2>/dev/null").stdout)
  end)
end)

describe("a cgroup of the run's own", function()
  it("is removed with the run, and by the next host when this one was killed", function()
    local cgroup = box.host().cgroup
    if not cgroup then
      box.skip("no cgroup is delegated here")
    elseif box.host().pidns then
      box.skip("a PID namespace: the run needs no cgroup")
    end
    local function left()
      return box.shell("ls " .. box.quote(cgroup) .. " | grep '^procage-run-' || :")
    end
    local b <close> = box.new()
    local run = assert(assert(b:policy()):start({ "/bin/sleep", "25" }))
    local mine = left():match("procage%-run%-%d+%-%d+")
    assert.is_string(mine)
    run:cancel(true)
    run:wait()
    assert.is_nil(left():find(mine, 1, true))

    local child = b:start(b:cli_line({}, "echo up; sleep 25"), { is_line = true, until_prints = "up" })
    local its = ("procage-run-%d-"):format(child.pid)
    assert.matches(its, left(), 1, true)
    box.shell("kill -KILL " .. child.pid)
    box.wait_for(5, function()
      return not child:is_alive()
    end)
    -- A process sweeps at its first run alone.
    box.wait_for(5, function()
      b:cli({}, "true")
      return not left():find(its, 1, true)
    end)
    assert.not_matches(its, left(), 1, true)
  end)

  it("cannot be left by the command", function()
    if box.host().pidns or not box.host().cgroup then
      box.skip("no cgroup is used here")
    end
    local b <close> = box.new()
    local cgroup = box.host().cgroup
    local outcome = b:run(("echo $$ >%s/cgroup.procs; cat /proc/self/cgroup"):format(cgroup))
    assert.matches("denied", outcome.stderr, 1, true)
    assert.matches("0::.*/procage%-run%-", outcome.stdout)
  end)
end)
