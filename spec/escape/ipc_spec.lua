local box = require("spec.support.box")

local python = box.python

local LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.shmat.restype = ctypes.c_void_p\n"

describe("System V", function()
  it("shared memory of a program outside is neither read nor removed", function()
    box.attack({
      setup = function(b)
        b.key = 0x70630000 | math.random(0xffff)
        b.owner = b:start(python(LIBC .. ([[
import time
i = libc.shmget(%d, 4096, 0o1600)
p = libc.shmat(i, None, 0)
ctypes.memmove(p, b"shm-secret", 10)
print("up", i, flush=True)
try:
    time.sleep(8)
finally:
    libc.shmctl(i, 0, None)
]]):format(b.key)), { until_prints = "up" })
        b.id = b.owner:output():match("up (%d+)")
      end,
      run = function(b)
        return python(LIBC .. ([[
for i in (libc.shmget(%d, 0, 0), %s):
    p = libc.shmat(i, None, 0)
    if p and p != 2**64 - 1:
        print(ctypes.string_at(p, 10))
    libc.shmctl(i, 0, None)
]]):format(b.key, b.id))
      end,
      hurt = function(b, result)
        local is_read = result.stdout:find("shm-secret", 1, true)
        box.shell("ipcrm -m " .. b.id)
        return is_read
      end,
      clause = "ipc",
    })
  end)

  it("message queues of a program outside are not written", function()
    box.attack({
      setup = function(b)
        b.key = 0x70640000 | math.random(0xffff)
        b.id = b:run_unconfined(python(LIBC .. ("print(libc.msgget(%d, 0o1600))"):format(b.key))).stdout:match("%d+")
      end,
      run = function(b)
        return python(LIBC .. ([[
for i in (libc.msgget(%d, 0), %s):
    libc.msgsnd(i, ctypes.create_string_buffer(b"\1\0\0\0\0\0\0\0PWN"), 3, 0o4000)
]]):format(b.key, b.id))
      end,
      hurt = function(b)
        local got = b:run_unconfined(python(LIBC .. ([[
buffer = ctypes.create_string_buffer(64)
print(libc.msgrcv(%s, buffer, 32, 0, 0o4000), buffer.raw)
libc.msgctl(%s, 0, None)
]]):format(b.id, b.id)))
        return got.stdout:find("PWN", 1, true)
      end,
      clause = "ipc",
    })
  end)

  it("is the run's own, or refused", function()
    local b <close> = box.new()
    local outcome = b:run(python(LIBC .. "print(libc.shmget(0, 4096, 0o1600) >= 0, ctypes.get_errno())"))
    if box.report_row(outcome, "ipc").state == "enforced" then
      assert.equal("True 0\n", outcome.stdout)
    else
      assert.equal("False 38\n", outcome.stdout)
    end
  end)
end)

describe("a POSIX message queue of a program outside", function()
  it("is not written", function()
    local name = "/procage-test-" .. math.random(1 << 30)
    local open = [[
import ctypes, os
rt = ctypes.CDLL("librt.so.1", use_errno=True)
q = rt.mq_open(%q, %d, 0o600, None)
]]
    box.attack({
      setup = function(b)
        local made = b:run_unconfined(python(open:format(name, 66) .. "print(q)")) -- O_RDWR | O_CREAT
        if not made.stdout:match("^%d+") then
          box.skip("no POSIX message queues here")
        end
      end,
      run = python(open:format(name, 1) .. "rt.mq_send(q, b'PWN', 3, 0)"),
      hurt = function(b)
        local got = b:run_unconfined(python(open:format(name, 2048) .. [[
buffer = ctypes.create_string_buffer(65536)
print(rt.mq_receive(q, buffer, 65536, None), buffer.raw[:3])
rt.mq_unlink(]] .. ("%q"):format(name) .. ")"))
        return got.stdout:find("PWN", 1, true)
      end,
      clause = "write",
    })
  end)

  it("is neither removed nor joined by one of the run's", function()
    local name = "/procage-test-" .. math.random(1 << 30)
    local rt = 'import ctypes\nrt = ctypes.CDLL("librt.so.1", use_errno=True)\n'
    box.attack({
      setup = function(b)
        local made = b:run_unconfined(python(rt .. ("print(rt.mq_open(%q, 66, 0o600, None))"):format(name)))
        if not made.stdout:match("^%d+") then
          box.skip("no POSIX message queues here")
        end
      end,
      run = python(rt .. ("rt.mq_unlink(%q); rt.mq_open(%q, 66, 0o600, None)"):format(name, name .. "b")),
      hurt = function(b)
        local got = b:run_unconfined(python(rt .. ("print(rt.mq_unlink(%q), rt.mq_unlink(%q))"):format(name, name .. "b")))
        return got.stdout ~= "0 -1\n"
      end,
      clause = "ipc",
    })
  end)
end)

describe("POSIX shared memory", function()
  it("of a program outside is neither read nor written", function()
    local name = "procage-test-" .. math.random(1 << 30)
    box.attack({
      setup = function(b)
        b:setup("echo shm-secret > /dev/shm/" .. name .. " && chmod 600 /dev/shm/" .. name)
      end,
      run = ("cat /dev/shm/%s; echo PWN >> /dev/shm/%s"):format(name, name),
      hurt = function(_, result)
        local text = box.shell("cat /dev/shm/" .. name)
        os.remove("/dev/shm/" .. name)
        return result.stdout:find("shm-secret", 1, true) or text:find("PWN", 1, true)
      end,
      clause = "write",
    })
  end)

  it("of a run works and is gone after it (FR-02)", function()
    local b <close> = box.new()
    if not b:report() or not box.host().mountns then
      box.skip("without mounts a run has no /dev/shm of its own")
    end
    local outcome = b:run(python([[
from multiprocessing import shared_memory as s
m = s.SharedMemory("fcdemo", True, 64); print(m.size, flush=True); m.close(); m.unlink()
s.SharedMemory("fckept", True, 64).close()
import os; os._exit(0)
]]))
    assert.matches("64", outcome.stdout, 1, true)
    assert.equal("", box.shell("ls /dev/shm | grep -e fcdemo -e fckept; true"))
  end)
end)
