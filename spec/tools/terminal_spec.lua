--- Programs that make a terminal of their own, and programs that look for one.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

describe("a pseudo-terminal", function()
  it("is made by script(1)", function()
    tool.works({
      needs = { "script" },
      run = { "script", "-qec", "test -t 0 && tty && stty size >/dev/null && echo in-script", "/dev/null" },
      prints = "/dev/pts/%d+.*in%-script",
      unless = tool.no_terminal,
    })
  end)

  it("is made by python's pty, with job control and a window size", function()
    tool.works({
      run = {
        "/usr/bin/python3",
        "-c",
        [[
import fcntl, os, pty, struct, termios, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "-ic", "stty size; sleep 5 & kill %1; test -t 1 && echo terminal"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
out = b""
try:
    while data := os.read(fd, 4096): out += data
except OSError: pass
print(out.decode()); sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
]],
      },
      prints = "terminal",
      unless = tool.no_terminal,
    })
  end)

  it("takes what expect-like programs type", function()
    tool.works({
      run = {
        "/usr/bin/python3",
        "-c",
        [[
import os, pty
pid, fd = pty.fork()
if pid == 0:
    os.execvp("sh", ["sh", "-c", "printf 'name? '; read n; echo hello $n"])
out = b""
while b"name? " not in out: out += os.read(fd, 100)
os.write(fd, b"world\n")
try:
    while data := os.read(fd, 4096): out += data
except OSError: pass
print(b"hello world" in out)
]],
      },
      prints = "^True\n$",
      unless = tool.no_terminal,
    })
  end)

  it("is made by a tmux server of the run's own", function()
    -- 17 characters are left of sun_path's 108 where TMPDIR is the box's own: the control has a short one.
    tool.works({
      needs = { "tmux" },
      run = [[
        case ${TMUX_TMPDIR-} in "") TMUX_TMPDIR=$(mktemp -d /tmp/t.XXXXXX); export TMUX_TMPDIR; made=$TMUX_TMPDIR;; esac
        tmux -L own -f /dev/null new-session -d 'tty >out; echo from tmux >>out; sleep 5' &&
        for i in $(seq 60); do grep -q from out 2>/dev/null && break; sleep 0.05; done
        cat out; tmux -L own kill-server; rc=$?; rm -rf -- ${made-}; exit $rc]],
      prints = "^/dev/pts/%d+\nfrom tmux\n",
      unless = {
        clause = "read",
        lacks = "mount-tree",
        effect = "no pseudo-terminals",
        fails = "create window failed",
      },
    })
  end)
end)

describe("the standard streams", function()
  it("are reopened by their names in /dev (FR-29)", function()
    tool.works({
      -- Into a pipe: a file that is opened anew would be written from its start.
      run = { "bash", "-c", [[
        { echo a >>/dev/stdout; echo b >>/dev/stderr; cat <(echo c); cat /dev/stdin; echo d >/dev/fd/1; } 2>/dev/null | cat]] },
      options = { stdin = "in\n" },
      prints = "^a\nc\nin\nd\n$",
    })
  end)

  it("are no terminal, and /dev/tty is not there to type at", function()
    local b <close> = box.new()
    local outcome = b:run("test -t 0 || test -t 1 || echo none; (: </dev/tty) 2>/dev/null || echo no tty")
    assert.equal("none\nno tty\n", outcome.stdout)
  end)
end)
