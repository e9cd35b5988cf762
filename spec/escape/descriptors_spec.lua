local box = require("spec.support.box")

local python = box.python

describe("a descriptor of the caller's", function()
  it("is not open in the run, low or high (FR-70)", function()
    local b <close> = box.new()
    b:write("outside/s", "SECRET")
    local command = "cat <&3 2>/dev/null; for n in 3 4 5 200 1023 2048 4000; do cat /proc/self/fd/$n 2>/dev/null; done; "
      .. "exec ls /proc/self/fd"
    -- Numbers above 9 take a program to open them: the shell's redirections end there.
    local opener = [[
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
fd = os.open(os.environ["OUTSIDE"] + "/s", os.O_RDWR)
for n in (3, 4, 5, 200, 1023, 2048, 4000):
    if n != fd:
        os.dup2(fd, n)
    os.set_inheritable(n, True)
os.execv("/bin/sh", ["sh", "-c"] + sys.argv[1:])
]]
    local control = b:run_unconfined({ "/usr/bin/python3", "-I", "-c", opener, "cat /proc/self/fd/2048; cat <&3" })
    assert.matches("SECRET", control.stdout, 1, true)
    local result = b:run_unconfined({ "/usr/bin/python3", "-I", "-c", opener, b:cli_line({ "-q" }, command) })
    assert.is_nil(result.stdout:find("SECRET", 1, true))
    assert.matches("0\n1\n2\n%d+\n$", result.stdout)
  end)

  it("that is its standard input can be read, and its file neither written nor changed", function()
    local b <close> = box.new()
    b:write("outside/input", "input")
    b:mode("outside/input", "600")
    local attack = python([[
import os, sys
print(sys.stdin.read())
for act in (lambda: os.fchmod(0, 0o666), lambda: os.ftruncate(0, 0), lambda: os.write(0, b"PWN"),
            lambda: open("/proc/self/fd/0", "w").write("PWN"), lambda: os.chmod("/proc/self/fd/0", 0o666),
            lambda: os.utime(0, (0, 0)), lambda: os.lseek(0, 0, 0)):
    try:
        act()
    except OSError:
        pass
]])
    b:run_unconfined(b:prefix() .. box.quote_all(attack) .. " < $OUTSIDE/input")
    assert.equal("666", b:stat("outside/input", "%a"))
    b:write("outside/input", "input")
    b:mode("outside/input", "600")
    local before = b:stat("outside/input", "%a %Y %s")
    local result = b:cli({ "-q" }, attack, { redirect = "<" .. box.quote(b:path("outside/input")) })
    assert.matches("input", result.stdout, 1, true)
    assert.equal(before, b:stat("outside/input", "%a %Y %s"))
  end)

  it("that is its standard output is a file that cannot be read back, cut or changed", function()
    local b <close> = box.new()
    b:write("outside/log", "SECRET of before\n")
    b:mode("outside/log", "600")
    -- Not read back: what a run writes to is a pipe of ours, and reading that would wait.
    local attack = python([[
import os
for act in (lambda: os.ftruncate(1, 0), lambda: os.fchmod(1, 0o666), lambda: os.pwrite(1, b"PWN", 0)):
    try:
        act()
    except OSError:
        pass
]])
    b:run_unconfined(b:prefix() .. box.quote_all(attack) .. " >> $OUTSIDE/log")
    assert.equal("666", b:stat("outside/log", "%a"))
    b:write("outside/log", "SECRET of before\n")
    b:mode("outside/log", "600")
    os.execute(b:cli_line({ "-q" }, attack) .. " >>" .. box.quote(b:path("outside/log")))
    assert.equal("SECRET of before\n", b:read("outside/log"))
    assert.equal("600", b:stat("outside/log", "%a"))
  end)
end)

describe("the caller's terminal", function()
  local inject = python([[
import fcntl, os
for name in ("/dev/tty", "/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2"):
    for request in (0x5412, (1 << 32) | 0x5412, 0xffffffff00005412):
        try:
            fd = os.open(name, os.O_RDWR | os.O_NOCTTY)
            import ctypes
            libc = ctypes.CDLL(None)
            libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p]
            if libc.ioctl(fd, request, b"#") == 0:
                print("INJECTED")
        except OSError:
            pass
]])

  it("cannot be typed into (FR-54)", function()
    box.skip_without("script")
    local b <close> = box.new()
    local function in_terminal(line)
      return b:run_unconfined({ "/usr/bin/script", "-qec", line, "/dev/null" }).stdout
    end
    local control = in_terminal(b:prefix() .. box.quote_all(inject))
    if not control:find("INJECTED", 1, true) then
      box.skip("this kernel refuses TIOCSTI to everybody (dev.tty.legacy_tiocsti)")
    end
    assert.is_nil(in_terminal(b:cli_line({ "-q" }, inject)):find("INJECTED", 1, true))
  end)

  it("keeps its foreground group, and the job is not stopped (FR-109)", function()
    box.skip_without("script")
    local b <close> = box.new()
    local line = b:cli_line({ "-q" }, "tty; stty -a >/dev/null 2>&1; echo rc=$?")
    local job = "sh -mc " .. box.quote(line .. " & wait; echo waited")
    local result = b:run_unconfined({ "/usr/bin/script", "-qec", job, "/dev/null" })
    assert.matches("not a tty", result.stdout, 1, true)
    assert.matches("waited", result.stdout, 1, true)
  end)

  it("is not its controlling terminal", function()
    box.skip_without("script")
    local b <close> = box.new()
    local line = b:cli_line({ "-q" }, "(: < /dev/tty) 2>/dev/null && echo opened; ps -o tty= -p $$ | head -1")
    local result = b:run_unconfined({ "/usr/bin/script", "-qec", line, "/dev/null" })
    assert.is_nil(result.stdout:find("opened", 1, true))
  end)
end)
