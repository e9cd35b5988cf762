local box = require("spec.support.box")

describe("the devices of a run", function()
  it("are the harmless few, and they work", function()
    local b <close> = box.new()
    local outcome = b:run([[
set -e
echo x > /dev/null; head -c 4 /dev/zero | od -An -tx1; head -c 4 /dev/urandom >/dev/null; head -c 4 /dev/random >/dev/null
if echo x 2>/dev/null > /dev/full; then echo full takes; fi
echo done]])
    assert.matches("done\n$", outcome.stdout)
    assert.not_matches("full takes", outcome.stdout, 1, true)
  end)

  it("are no others: no disk, memory or console can be opened", function()
    local b <close> = box.new()
    local list = "for f in /dev/* /dev/*/*; do "
      .. "case $f in /dev/null|/dev/zero|/dev/full|/dev/random|/dev/urandom|/dev/tty) ;; "
      .. "/dev/ptmx|/dev/pts/ptmx|/dev/std*|/dev/fd|/dev/fd/*) ;; *) "
      .. "{ test -b $f || test -c $f; } && timeout 1 dd if=$f of=/dev/null bs=1 count=0 2>/dev/null "
      .. "&& echo opened $f; esac; done"
    local outcome = b:run(list)
    assert.equal("", outcome.stdout)
  end)

  it("cannot be made", function()
    box.skip_unless_root()
    for _, kind in ipairs({ "c 1 5", "b 254 0" }) do
      box.attack({
        run = "mknod node " .. kind,
        hurt = function(b)
          return b:exists("workspace/node")
        end,
        clause = "write",
      })
    end
  end)

  it("cannot be reached by a node that lies elsewhere, in another system's tree", function()
    box.skip_unless_root()
    if not box.host().mountns then
      box.skip("without mounts a node elsewhere is opened like any file (docs/limits.md)")
    end
    -- c 1 5 stands for any: a disk has a node in every tree that was made to be a root.
    for _, place in ipairs({ "outside", "workspace" }) do
      box.attack({
        setup = function(b)
          b:setup(("mknod ../%s/node c 1 5 && chmod 666 ../%s/node"):format(place, place))
        end,
        run = ("head -c 3 ../%s/node | od -An -tx1"):format(place),
        hurt = function(_, result)
          return result.stdout:find("00 00 00")
        end,
        clause = "read",
      })
    end
  end)
end)

describe("an ioctl", function()
  it("on a file that can be read changes nothing of it", function()
    -- FS_IOC_SETFLAGS (no dump) stands for every request that needs a descriptor and no right to write: snapshots, locks, keys.
    box.attack({
      setup = function(b)
        b:write("outside/file", "x")
      end,
      run = box.python([[
import ctypes, fcntl, os, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]
fd = os.open(os.environ["OUTSIDE"] + "/file", os.O_RDONLY)
flags = ctypes.create_string_buffer(struct.pack("l", 0x40))
for request in (0x40086602, 0x40086602 | 1 << 32, 0x40086602 | 0xffffffff << 32):
    print(libc.ioctl(fd, request, flags), os.strerror(ctypes.get_errno()))
print("flags", struct.unpack("l", fcntl.ioctl(fd, 0x80086601, struct.pack("l", 0)))[0] & 0x40)
]]),
      hurt = function(_, result)
        return result.stdout:find("flags 64", 1, true)
      end,
      clause = "read",
    })
  end)

  it("that is not known here is none of the kernel's either, and the record names it", function()
    local b <close> = box.new()
    local outcome = b:run(box.python([[
import fcntl, os
for request in (0x50009401, 0xc0406618, 0x40086602):
    try:
        fcntl.ioctl(os.open(".", os.O_RDONLY), request, bytearray(4096))
    except OSError as e:
        print(e.errno)
]]))
    assert.equal("25\n25\n25\n", outcome.stdout, outcome.stderr)
    if outcome.denials and outcome.denials.denied[1] then
      assert.matches("^ioctl%(0x50009401%): ", outcome.denials.denied[1].text)
    end
  end)
end)

describe("the kernel's own files", function()
  local files = {
    "/proc/kcore", "/proc/kmsg", "/dev/kmsg", "/dev/mem", "/dev/port", "/sys/kernel/debug/sched/features",
    "/sys/kernel/tracing/trace", "/proc/sysrq-trigger",
  }

  it("that show its memory or log cannot be read", function()
    box.skip_unless_root()
    local b <close> = box.new()
    local opened = 0
    for _, file in ipairs(files) do
      local command = ("timeout 2 dd if=%s of=/dev/null bs=1 count=1 iflag=nonblock 2>/dev/null && echo opened"):format(file)
      if b:run_unconfined(command).stdout == "opened\n" then
        opened = opened + 1
        assert.equal("", b:run(command).stdout, file)
      end
    end
    if opened == 0 then
      box.skip("nothing of the kind can be read here, not even by root")
    end
  end)

  it("that steer it cannot be written", function()
    box.skip_unless_root()
    local b <close> = box.new()
    local names = "/proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger /proc/sys/kernel/hostname "
      .. "/proc/sys/kernel/modprobe /sys/kernel/mm/transparent_hugepage/enabled /proc/self/oom_score_adj /proc/1/oom_score_adj "
      .. "/sys/power/state /proc/irq/default_smp_affinity"
    -- Opened for writing and nothing written: what an open shows is enough.
    local command = ("for f in %s; do test -e $f && (: >> $f) 2>/dev/null && echo opened $f; done"):format(names)
    assert.matches("core_pattern", b:run_unconfined(command).stdout, 1, true)
    assert.equal("", b:run(command).stdout)
  end)

  it("of control groups cannot be written", function()
    box.skip_unless_root()
    local b <close> = box.new()
    local command = "for f in $(find /sys/fs/cgroup -maxdepth 3 -name cgroup.procs | head -20); do "
      .. "(: >> $f) 2>/dev/null && echo opened $f; done"
    if b:run_unconfined(command).stdout == "" then
      box.skip("no control group can be written here")
    end
    assert.equal("", b:run(command).stdout)
  end)
end)
