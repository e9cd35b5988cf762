--- `--tty`: a terminal of the command's own, never the user's.

local box = require("spec.support.box")

--- Starts argv on a pseudo-terminal of 33 lines and 101 columns, types the lines given as {text, seconds to wait}, and prints
--- what came back and the exit status.
local DRIVER = [[
import fcntl, json, os, pty, select, struct, sys, termios, time
script, argv = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(argv[0], argv)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
seen = b""
def read(seconds, until=None):
    global seen
    end = time.time() + seconds
    while time.time() < end and not (until and until in seen):
        if select.select([fd], [], [], 0.1)[0]:
            try:
                data = os.read(fd, 4096)
            except OSError:
                return
            if not data:
                return
            seen += data
read(20, b"ready")
for text, until in script:
    if text == "RESIZE":
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 90, 0, 0))
        time.sleep(0.3)
    else:
        os.write(fd, text.encode())
    read(20 if until else 0.5, until.encode() if until else None)
read(20)
sys.stdout.write(seen.decode(errors="replace"))
print("\nstatus", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
]]

local SHELL = "stty -echo; echo ready; exec sh"

local function session(b, script, confined)
  b:write("outside/driver.py", DRIVER)
  local line = confined and b:cli_line({ "-q", "--tty" }, SHELL) or ("/bin/sh -c '%s'"):format(SHELL)
  return b:run_unconfined({ "python3", b:path("outside/driver.py"), script, "/bin/sh", "-c", "exec " .. line })
end

local SCRIPT = [=[
[["tty; stty size; echo first-$((6*7))\n", "first-42"],
 ["cat >/dev/null; echo second-$((6*7))\n", null],
 ["\u0003", null],
 ["echo third-$((6*7))\n", "third-42"],
 ["RESIZE", null],
 ["stty size; exit 5\n", null]]
]=]

describe("procage-lua run --tty", function()
  before_each(function()
    box.skip_without("python3")
    box.skip_without("stty")
  end)

  for _, confined in ipairs({ false, true }) do
    it((confined and "gives" or "is compared with") .. " a terminal whose keys, size and status work", function()
      local b <close> = box.new()
      local seen = session(b, SCRIPT, confined)
      assert.matches("/dev/pts/%d+", seen.stdout)
      assert.matches("33 101", seen.stdout, 1, true)
      assert.matches("first-42", seen.stdout, 1, true)
      -- Ctrl-C ends cat and, at a prompt, the rest of the line.
      assert.matches("third-42", seen.stdout, 1, true)
      assert.matches("40 90", seen.stdout, 1, true)
      assert.matches("status 5", seen.stdout, 1, true)
    end)
  end

  it("shows no terminal but the run's own", function()
    box.skip_unless("devpts")
    local b <close> = box.new()
    local seen = session(b, [=[[["ls /dev/pts; exit 0\n", null]]]=], true)
    assert.matches("0%s+ptmx", seen.stdout)
    assert.is_nil(seen.stdout:match("%f[%d][1-9]%d*%s"))
  end)

  it("is refused without a terminal to copy", function()
    local b <close> = box.new()
    local result = b:cli({ "--tty" }, { "/bin/true" })
    assert.equal(2, result.status)
    assert.matches("no terminal", result.stderr, 1, true)
  end)
end)
