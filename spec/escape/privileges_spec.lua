local box = require("spec.support.box")

local python = box.python

describe("a run's privileges", function()
  it("are none: no capability in any set, no_new_privs, a filter", function()
    local b <close> = box.new()
    local outcome = b:run("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
    for _, set in ipairs({ "CapInh", "CapPrm", "CapEff", "CapAmb" }) do
      assert.matches(set .. ":%s+0000000000000000\n", outcome.stdout)
    end
    assert.matches("NoNewPrivs:%s+1\n", outcome.stdout)
    assert.matches("Seccomp:%s+2\n", outcome.stdout)
    if box.is_root() then
      assert.matches("CapBnd:%s+0000000000000000\n", outcome.stdout)
    end
  end)

  it("do not grow by executing a program of root's that has the set-user-ID bit", function()
    -- As root there is nothing to gain; as a user, su and mount have the bit on every system.
    local b <close> = box.new()
    b:setup("cp /usr/bin/id suid-id && chmod 4755 suid-id")
    if box.is_root() then
      b:mode("workspace", "755")
    end
    local outcome = b:run("./suid-id -u; for f in /usr/bin/su /bin/mount /usr/bin/passwd; do test -u $f && echo there; done; "
      .. "/bin/su -c 'echo ROOT' root </dev/null 2>/dev/null; grep CapPrm /proc/self/status")
    assert.equal(tostring(box.host().uid), outcome.stdout:match("^%d+"))
    assert.is_nil(outcome.stdout:find("ROOT", 1, true))
    assert.matches("CapPrm:%s+0000000000000000", outcome.stdout)
  end)

  it("do not grow by executing anything as root (SECBIT_NOROOT)", function()
    box.skip_unless_root()
    local b <close> = box.new()
    local outcome = b:run(python([[
import ctypes, os
libc = ctypes.CDLL(None)
print(libc.prctl(27, 0, 0, 0, 0))   # PR_GET_SECUREBITS
print(libc.prctl(28, 0, 0, 0, 0), flush=True)   # PR_SET_SECUREBITS
os.execv("/bin/grep", ["grep", "CapEff", "/proc/self/status"])]]))
    local bits = math.tointeger(outcome.stdout:match("^(%d+)\n"))
    assert.equal(3, bits & 3) -- SECBIT_NOROOT and its lock
    assert.matches("\n%-1\n", outcome.stdout)
    assert.matches("CapEff:%s+0000000000000000", outcome.stdout)
  end)

  it("do not come back in a user namespace of the run's own", function()
    for _, way in ipairs({
      "unshare -Ur id -u", "unshare -U true", "unshare -m true", "unshare -n true", "unshare -p -f true", "unshare -i true",
      "unshare -u true", "unshare -C true", "unshare -T true",
    }) do
      local b <close> = box.new()
      if b:run_unconfined(way).status == 0 then
        assert.not_equal(0, b:run(way).status, way)
      end
    end
  end)
end)

describe("a program with a set-ID bit", function()
  -- Each way to make one: by creating it so, by chmod, and by an ACL that lets the group execute what was created without that.
  local make = python([[
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
os.umask(0)
def attempt(name, make):
    try:
        make(name)
        bits = os.stat(name).st_mode & 0o6000
        if bits and os.path.isfile(name):
            print("MADE", name, oct(bits))
    except OSError as e:
        print(name, e.strerror)
def opened(flags, mode):
    return lambda name: os.close(os.open(name, flags, mode))
def nameless(name):
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o6755)
    os.link("/proc/self/fd/%d" % fd, name, follow_symlinks=True)
def mode_of(how):
    def change(name):
        fd = os.open(name, os.O_CREAT | os.O_WRONLY, 0o755)
        how(name, fd)
    return change
def how2(name):
    how = struct.pack("<QQQ", os.O_CREAT | os.O_WRONLY, 0o6755, 0)
    fd = libc.syscall(437, -100, name.encode(), how, len(how))
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def by_acl(name):
    fd = os.open(name, os.O_CREAT | os.O_WRONLY, 0o2644)
    os.write(fd, b"#!")
    entries = ((1, 7), (4, 5), (0x20, 5))
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, perm, 0xffffffff) for tag, perm in entries)
    os.setxattr(name, "system.posix_acl_access", acl)
attempt("open", opened(os.O_CREAT | os.O_WRONLY, 0o6755))
attempt("group", opened(os.O_CREAT | os.O_WRONLY, 0o2755))
attempt("tmpfile", nameless)
attempt("mknod", lambda name: os.mknod(name, 0o106755))
attempt("openat2", how2)
attempt("acl", by_acl)
attempt("chmod", mode_of(lambda name, fd: os.chmod(name, 0o2755)))
attempt("user", mode_of(lambda name, fd: os.chmod(name, 0o4755)))
attempt("fchmod", mode_of(lambda name, fd: os.fchmod(fd, 0o2755)))
attempt("link", mode_of(lambda name, fd: os.chmod("/proc/self/fd/%d" % fd, 0o2755)))
print("done")]])

  it("is left by no way of making or changing a file", function()
    for _, config in ipairs({ {}, { handoff_absent = "refuse" }, { denials = "paths" } }) do
      local b <close> = box.new({ config = config })
      local control = b:run_unconfined(make)
      assert.is_true(select(2, control.stdout:gsub("MADE", "")) >= 8, control.stdout .. control.stderr)
      b:setup("rm -f open group tmpfile mknod openat2 acl chmod user fchmod link")
      local outcome = b:run(make)
      assert.matches("done\n$", outcome.stdout, 1, outcome.stderr)
      assert.is_nil(outcome.stdout:find("MADE", 1, true), outcome.stdout)
      assert.equal("", box.shell("find " .. box.quote(b:path("workspace")) .. " -type f -perm /6000"))
    end
  end)

  it("is none of a directory that hands down its group, and a sticky one is none either", function()
    local b <close> = box.new()
    local outcome = b:run("mkdir d && ln -s d l && chmod 2750 d && stat -c %a d && chmod g-s d && chmod g+s l && stat -c %a d "
      .. "&& mkdir d/e && chmod 1777 d/e && cp -a d c && "
      .. box.quote_all(python("import os, shutil; shutil.copytree('d', 'p'); "
      .. "os.fchmod(os.open('d', os.O_RDONLY), 0o2711); os.chmod('/proc/self/cwd/c', 0o2700)")) .. " && stat -c %a d c p")
    if box.host().landlock_abi >= 9 and outcome.status ~= 0 then
      box.skip("nobody here can look whether it is a directory (docs/limits.md)")
    end
    assert.equal("2750\n2750\n2711\n2700\n2750\n", outcome.stdout, outcome.stderr)
  end)
end)

local CALLS = [[
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(name, number, *args):
    ctypes.set_errno(0)
    r = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    print(name, "ok" if r >= 0 else errno.errorcode.get(ctypes.get_errno(), ctypes.get_errno()), flush=True)
]]

--- Calls by number on x86_64, each with arguments that would work for root or fail later than a filter.
local function calls(list)
  return python(CALLS .. list)
end

local function skip_unless_x86()
  if box.host().machine ~= "x86_64" then
    box.skip("numbers of x86_64")
  end
end

describe("a way out of the tree", function()
  it("by mounting, chroot or another namespace is closed", function()
    skip_unless_x86()
    local b <close> = box.new()
    local outcome = b:run(calls([[
call("mount", 165, b"none", b"/", None, 1 << 18 | 1 << 14, None)
call("umount2", 166, b"/proc", 2)
call("pivot_root", 155, b".", b".")
call("chroot", 161, b".")
call("open_tree", 428, -100, b"/", 1)
call("move_mount", 429, -100, b"/", -100, b"/", 0)
call("fsopen", 430, b"tmpfs", 0)
call("fsconfig", 431, 0, 0, None, None, 0)
call("fsmount", 432, 0, 0, 0)
call("fspick", 433, -100, b"/", 0)
attr = ctypes.create_string_buffer(32)
attr[8] = 1
call("mount_setattr", 442, -100, b"/", 0x8000, attr, 32)
call("open_tree_attr", 467, -100, b"/", 1, attr, 32)
call("setns", 308, os.open("/proc/self/ns/uts", 0), 0)
call("open_by_handle_at", 304, -100, ctypes.create_string_buffer(64), 0)
]]))
    for line in outcome.stdout:gmatch("[^\n]+") do
      assert.matches(" EPERM$", line)
    end
    assert.equal(14, select(2, outcome.stdout:gsub("\n", "")), outcome.stderr)
  end)

  it("by clearing read-only on a mount is closed (it passes every Landlock domain)", function()
    skip_unless_x86()
    box.skip_unless("mountns")
    local b <close> = box.new()
    b:run(calls([[
attr = ctypes.create_string_buffer(32)
attr[8] = 1
for at in (b"/", os.environ["OUTSIDE"].encode()):
    call("mount_setattr", 442, -100, at, 0, attr, 32)
try:
    os.chmod(os.environ["OUTSIDE"], 0o700)
except OSError as e:
    print(e)
]]))
    assert.equal("755", b:stat("outside", "%a"))
  end)

  it("by a handle that was taken before is closed", function()
    box.skip_unless_root()
    box.attack({
      setup = function(b)
        b:write("home/.netrc", "handle-secret")
      end,
      run = calls([[
import struct
handle = ctypes.create_string_buffer(struct.pack("Ii", 120, 0) + bytes(120))
mount_id = ctypes.c_int()
path = (os.environ["HOME"] + "/.netrc").encode()
call("name_to_handle_at", 303, -100, path, handle, ctypes.byref(mount_id), 0)
fd = libc.open_by_handle_at(os.open(os.environ["HOME"], 0), handle, 0)
if fd >= 0:
    print(os.read(fd, 100))
]]),
      hurt = function(_, result)
        return result.stdout:find("handle-secret", 1, true)
      end,
      clause = "hidden",
    })
  end)
end)

describe("a system call that a filter might miss", function()
  it("is refused in its 32-bit form", function()
    skip_unless_x86()
    -- getpid, and socket by socketcall: of the other architecture not even a harmless call is let through.
    local source = [[
#include <stdio.h>
static long call32(long number)
{
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(0), "c"(0), "d"(0) : "memory");
	return result;
}
int main(void) { printf("%ld %ld\n", call32(20) > 0 ? 1 : call32(20), call32(102)); return 0; }
]]
    local b <close> = box.new()
    local helper = b:compile(source)
    local control = b:run_unconfined({ helper })
    if not control.stdout:match("^1 ") then
      box.skip("this kernel has no 32-bit calls")
    end
    assert.equal("-38 -38\n", b:run({ helper }).stdout)
  end)

  it("is refused in its x32 form (FR-61)", function()
    skip_unless_x86()
    local b <close> = box.new()
    local outcome = b:run(calls([[
call("x32 socket", 0x40000000 + 41, 2, 1, 0)
call("x32 getpid", 0x40000000 + 39)
call("x32 execve", 0x40000000 + 520, 0, 0, 0)
]]))
    assert.equal("x32 socket ENOSYS\nx32 getpid ENOSYS\nx32 execve ENOSYS\n", outcome.stdout)
  end)

  it("is no call at all where it is newer than the table", function()
    skip_unless_x86()
    local b <close> = box.new()
    local outcome = b:run(calls([[
for number in (600, 1023, 4096, 0x3fffffff, 0x7fffffff):
    call("n", number)
]]))
    assert.equal(("n ENOSYS\n"):rep(5), outcome.stdout)
  end)

  it("makes no io_uring", function()
    skip_unless_x86()
    local b <close> = box.new()
    local list = 'call("setup", 425, 4, ctypes.create_string_buffer(256))\ncall("enter", 426, 0, 0, 0, 0, None, 0)\n'
      .. 'call("register", 427, -1, 0, None, 0)'
    if not b:run_unconfined(calls(list)).stdout:find("setup ok", 1, true) then
      box.skip("this kernel refuses io_uring to everybody")
    end
    assert.equal("setup ENOSYS\nenter ENOSYS\nregister ENOSYS\n", b:run(calls(list)).stdout)
  end)

  it("makes no namespace by clone, clone3 or unshare, with whatever upper bits", function()
    skip_unless_x86()
    local b <close> = box.new()
    local outcome = b:run(calls([[
for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
    call("clone", 56, flag | 17, 0, 0, 0, 0)
    call("clone high", 56, flag | 17 | 1 << 32, 0, 0, 0, 0)
    call("unshare", 272, flag)
    call("unshare high", 272, flag | 1 << 32)
call("unshare time", 272, 0x80)
call("clone3", 435, ctypes.create_string_buffer(88), 88)
]]))
    local expected = ("clone EPERM\nclone high EPERM\nunshare EPERM\nunshare high EPERM\n"):rep(7)
    assert.equal(expected .. "unshare time EPERM\nclone3 ENOSYS\n", outcome.stdout)
  end)

  it("reaches no keyring", function()
    skip_unless_x86()
    local b <close> = box.new()
    local list = [[
call("add_key", 248, b"user", b"procage-test", b"x", 1, -3)
call("request_key", 249, b"user", b"procage-test", None, 0)
call("keyctl", 250, 0, -3, 0)
]]
    if not b:run_unconfined(calls(list)).stdout:find("ok", 1, true) then
      box.skip("this kernel has no keyrings")
    end
    assert.equal("add_key EPERM\nrequest_key EPERM\nkeyctl EPERM\n", b:run(calls(list)).stdout)
  end)

  it("sets no personality that weakens what is executed later", function()
    skip_unless_x86()
    local b <close> = box.new()
    local list = "for p in (0x400000, 0x100000, 0x0400000 | 1 << 32, 0x0006, 0xffffffff, 0, 8, 0x40000):\n"
      .. "    call(hex(p), 135, p)"
    local outcome = b:run(calls(list))
    assert.equal("0x400000 EPERM\n0x100000 EPERM\n0x100400000 EPERM\n0x6 EPERM\n0xffffffff ok\n0x0 ok\n0x8 ok\n0x40000 ok\n",
      outcome.stdout)
  end)

  it("loads nothing into the kernel and steers nothing of the machine", function()
    skip_unless_x86()
    local b <close> = box.new()
    local outcome = b:run(calls([[
attr = ctypes.create_string_buffer(128)
call("bpf", 321, 0, attr, 128)
call("perf_event_open", 298, attr, 0, -1, -1, 0)
call("userfaultfd", 323, 1)
call("fanotify_init", 300, 0, 0)
call("init_module", 175, attr, 1, b"")
call("finit_module", 313, 0, b"", 0)
call("kexec_load", 246, 0, 0, None, 0)
call("reboot", 169, 0, 0, 0, None)
call("swapon", 167, b"/x", 0)
call("acct", 163, None)
call("settimeofday", 164, None, None)
call("sethostname", 170, b"x", 1)
call("iopl", 172, 3)
call("syslog", 103, 3, attr, 100)
call("quotactl", 179, 0x80000100, None, 0, None)
]]))
    assert.equal(15, select(2, outcome.stdout:gsub(" EPERM\n", "")), outcome.stdout .. outcome.stderr)
  end)

  it("leaves a program's own threads, memory and children alone", function()
    local b <close> = box.new()
    local outcome = b:run(python([[
import ctypes, multiprocessing, os, resource, subprocess, threading
t = [threading.Thread(target=lambda: None) for _ in range(8)]
[x.start() for x in t]; [x.join() for x in t]
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
fd = os.memfd_create("x"); os.write(fd, b"x")
print(subprocess.run(["/bin/echo", "child"], capture_output=True).stdout, resource.prlimit(os.getppid(), 7) != None)
os.kill(os.getpid(), 0)
]]))
    assert.equal("b'child\\n' True\n", outcome.stdout, outcome.stderr)
  end)

  it("cannot have the kernel start its handler of core dumps, which runs as root: the limit stays at one byte", function()
    local lower = [[
import ctypes, os, resource, subprocess
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
ctypes.CDLL(None).syscall(160 if os.uname().machine == "x86_64" else 164, 4, (ctypes.c_ulong * 2)(0, 0))
subprocess.run(["/bin/sh", "-c", "ulimit -c 0"], check=True)
print(resource.getrlimit(resource.RLIMIT_CORE))
]]
    local b <close> = box.new()
    assert.equal("(0, 0)\n", b:run_unconfined(python(lower)).stdout)
    local outcome = b:run(python(lower))
    assert.equal("(1, 1)\n", outcome.stdout, outcome.stderr)
  end)
end)
