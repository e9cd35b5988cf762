--- handoff_absent = "refuse": hand-off names that do not exist are not made at all, and everything else is made as ever.

local box = require("spec.support.box")

local REFUSE = { handoff_absent = "refuse" }
local python = box.python

--- Each makes .envrc, .mcp.json or .vscode/tasks.json in the workspace, or in the repository sub.
local ways = {
  { "by its name", "echo evil > .envrc" },
  { "in another letter case", "echo evil > .EnvRC" },
  { "by an absolute path", "echo evil > $WS/.envrc" },
  { "with dots on the way", "mkdir -p d; echo evil > d/../.envrc" },
  { "through a link to the directory", "ln -s . here; echo evil > here/.envrc" },
  { "through a link with that target", "ln -s .envrc x; echo evil > x" },
  { "from its directory's descriptor", python([[
import os
fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
os.close(os.open(".envrc", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
]]) },
  { "through /proc/self/cwd", "echo evil > /proc/self/cwd/.envrc" },
  { "through /proc/self/fd", python([[
import os
fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
os.close(os.open("/proc/self/fd/%d/.envrc" % fd, os.O_CREAT | os.O_WRONLY))
]]) },
  { "by creat(2) without more flags", python([[
import ctypes, os
ctypes.CDLL(None).creat(b".envrc", 0o644)
]]) },
  { "by mknod", python("import os; os.mknod('.envrc')") },
  { "as a directory", "mkdir .envrc" },
  { "as a FIFO", "mkfifo .mcp.json" },
  { "as a link", "ln -s elsewhere .envrc" },
  { "as a second name", "echo evil > x; ln x .envrc" },
  { "by renaming", "echo evil > x; mv x .envrc" },
  { "by renaming a directory", "mkdir d; echo evil > d/tasks.json; mv d .vscode" },
  { "behind a link in place of its directory", "mkdir d; echo evil > d/tasks.json; ln -s d .vscode" },
  { "in its own directory", "mkdir .vscode; echo evil > .vscode/tasks.json" },
  { "by exchange", python([[
import ctypes, os
os.makedirs("d/.envrc.d"); open("x", "w").close(); open("y", "w").close()
libc = ctypes.CDLL(None)
libc.renameat2(-100, b"x", -100, b".envrc", 0)
libc.renameat2(-100, b"y", -100, b".mcp.json", 1)
]]) },
  { "from a file without a name", python([[
import os
fd = os.open(".", os.O_TMPFILE | os.O_WRONLY)
import ctypes
ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % fd, -100, b".envrc", 0x400)
]]) },
  { "in a repository of the workspace", "echo evil > sub/.envrc" },
  { "in a repository that is moved away first", "mv sub other; echo evil > other/.envrc; mv other sub" },
  { "by a name that changes while it is read", "./race" },
  { "in a repository that is exchanged for a moment", python([[
import ctypes, os
libc = ctypes.CDLL(None)
os.mkdir("a"); libc.renameat2(-100, b"a", -100, b"sub", 2)
open("a/.envrc", "w").close()
libc.renameat2(-100, b"a", -100, b"sub", 2)
]]) },
  { "behind a link in place of a repository", "cp -a sub s2; rm -rf sub; echo evil > s2/.envrc; ln -s s2 sub" },
  { "in what takes the place of a repository", "cp -a sub s2; rm -rf sub; echo evil > s2/.envrc; mv s2 sub" },
  { "behind a link that was there", "echo evil > .vscode/tasks.json", link = true },
}

--- Opens one of two names, as another thread has it, until the other name was made or a second has gone.
local RACE = [[
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static volatile char path[16] = "harmless";
static volatile int stop;
static void *swap(void *unused)
{
	while (!stop) { path[0] = '.'; path[1] = 'e'; path[2] = 'n'; path[3] = 'v'; path[4] = 'r'; path[5] = 'c'; path[6] = 0;
		memcpy((char *)path, "harmless", 9); }
	return unused;
}
int main(void)
{
	time_t end = time(0) + 2;
	pthread_t t;
	pthread_create(&t, 0, swap, 0);
	while (time(0) < end && access(".envrc", F_OK) != 0) {
		int fd = open((const char *)path, O_CREAT | O_WRONLY, 0644);
		if (fd >= 0) close(fd);
	}
	stop = 1;
	pthread_join(t, 0);
	return 0;
}
]]

local function set_up(b, way)
  b:setup("git init -q sub")
  if way.link then
    b:setup("mkdir vs; ln -s vs .vscode")
  end
  if way[2] == "./race" then
    b:compile(RACE, "workspace/race")
  end
end

local function appeared(b)
  local look = "cd %s && find -L . -iname .envrc -o -iname .mcp.json -o -ipath ./.vscode/tasks.json | grep -q ."
  return select(2, box.shell(look:format(box.quote(b.workspace))))
end

describe("a hand-off name that does not exist", function()
  for place, way in ipairs(ways) do
    it("is not made " .. way[1], function()
      do
        local control <close> = box.new()
        set_up(control, way)
        control:run_unconfined(way[2])
        assert.is_true(appeared(control), "the attack does nothing unconfined")
      end
      -- What is moved out afterwards was there: so `appeared` tells of it.
      if place <= 4 or way[2] == "./race" then
        local moved <close> = box.new()
        set_up(moved, way)
        assert.is_true(#moved:run(way[2]).appeared > 0, "not noticed")
      end
      local b <close> = box.new({ config = REFUSE })
      set_up(b, way)
      local outcome = b:run(way[2])
      if box.holds(outcome, "handoff_absent") then
        -- Links and copies may hold one under a name of their own, which nobody reads.
        for _, entry in ipairs(outcome.appeared) do
          assert.is_nil(entry.path:find("^" .. b.workspace .. "/[^/]*$"), entry.path)
        end
        assert.is_false(appeared(b) and b:exists("workspace/sub/.envrc"), outcome.stderr)
        assert.is_false(b:exists("workspace/.envrc") or b:exists("workspace/.vscode/tasks.json"))
      end
    end)
  end

  it("is told as a refusal", function()
    box.skip_unless("seccomp_notify")
    local b <close> = box.new({ config = REFUSE })
    local outcome = b:run("echo evil > .envrc")
    assert.not_equal(0, outcome.status)
    assert.equal("handoff_absent", outcome.denials.denied[1].clause)
    assert.matches("make .envrc", outcome.denials.denied[1].text, 1, true)
  end)
end)

--- Prints what became of each of many ways to make a name: confined the same as not.
local WORK = [[
import errno, fcntl, os, socket, stat, tempfile, threading, time
def say(name, f):
    try: print(name, f())
    except OSError as e: print(name, errno.errorcode[e.errno])
def opened(path, flags, mode=0o666, **more):
    fd = os.open(path, flags, mode, **more)
    try: return (oct(fcntl.fcntl(fd, fcntl.F_GETFL) & ~0o100000), fcntl.fcntl(fd, fcntl.F_GETFD), oct(os.fstat(fd).st_mode))
    finally: os.close(fd)
W, C, X = os.O_WRONLY, os.O_CREAT, os.O_EXCL
os.umask(0o027)
say("make", lambda: opened("a", W | C))
say("again", lambda: opened("a", W | C | os.O_APPEND))
say("exclusive", lambda: opened("a", W | C | X))
say("exclusive, new", lambda: opened("b", os.O_RDWR | C | X, 0o600))
say("truncate", lambda: (open("a", "w").write("xyz"), opened("a", W | C | os.O_TRUNC), os.stat("a").st_size))
say("umask", lambda: (os.umask(0o077), opened("c", W | C, 0o777), os.umask(0o027)))
say("no directory", lambda: opened("none/x", W | C))
say("file as directory", lambda: opened("a/x", W | C))
say("slash", lambda: opened("new/", W | C))
say("slash, there", lambda: opened("a/", W | C))
say("empty", lambda: opened("", W | C))
say("dot", lambda: opened(".", W | C))
say("directory", lambda: (os.mkdir("d", 0o777), oct(os.stat("d").st_mode), opened("d", W | C)))
say("mkdir again", lambda: os.mkdir("d"))
say("mkdir slash", lambda: os.mkdir("d2/"))
say("mkdir dot", lambda: os.mkdir("d/."))
say("link", lambda: (os.symlink("a", "l"), opened("l", W | C)))
say("link, exclusive", lambda: opened("l", W | C | X))
say("link, no follow", lambda: opened("l", W | C | os.O_NOFOLLOW))
say("dangling", lambda: (os.symlink("d/made", "m"), opened("m", W | C), os.path.exists("d/made")))
say("loop", lambda: (os.symlink("p", "q"), os.symlink("q", "p"), opened("p", W | C)))
say("long", lambda: opened("x" * 300, W | C))
say("longer", lambda: opened("x/" * 3000, W | C))
say("bad descriptor", lambda: opened("x", W | C, dir_fd=99))
say("descriptor", lambda: opened("e", W | C, dir_fd=os.open("d", os.O_RDONLY)))
say("rename", lambda: (os.rename("a", "d/a"), os.path.exists("d/a")))
say("rename over", lambda: (os.rename("b", "d/a"), os.stat("d/a").st_size))
say("rename nothing", lambda: os.rename("zzz", "y"))
say("rename directory", lambda: (os.rename("d", "dd"), os.rename("dd/", "d/"), os.path.isdir("d")))
say("rename file, slash", lambda: os.rename("c", "c2/"))
say("rename into itself", lambda: os.rename("d", "d/x"))
say("hard link", lambda: (os.link("c", "c3"), os.stat("c").st_nlink))
say("hard link of a link", lambda: (os.link("l", "l2", follow_symlinks=False), os.readlink("l2")))
say("hard link there", lambda: os.link("c", "c3"))
say("symlink there", lambda: os.symlink("x", "c"))
say("null", lambda: opened("/dev/null", W | C))
say("tmp", lambda: tempfile.TemporaryFile().write(b"x"))
say("named tmp", lambda: tempfile.NamedTemporaryFile().write(b"x"))
say("cwd", lambda: opened("/proc/self/cwd/f", W | C))
say("closed on exec", lambda: opened("g", W | C | os.O_CLOEXEC))
def fifo():
    os.mkfifo("ff", 0o600)
    got = []
    t = threading.Thread(target=lambda: got.append(open("ff").read())); t.start()
    time.sleep(0.2)
    fd = os.open("ff", W | C); os.write(fd, b"through"); os.close(fd); t.join()
    return got
say("fifo", fifo)
def flood():
    def make(n):
        for i in range(40): os.close(os.open("t%d-%d" % (n, i), W | C))
    ts = [threading.Thread(target=make, args=(n,)) for n in range(24)]
    [t.start() for t in ts]; [t.join() for t in ts]
    return len([f for f in os.listdir(".") if f.startswith("t")])
say("many at once", flood)
def limit():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
    fds = []
    try:
        while True: fds.append(os.open("n", W | C))
    except OSError as e: return errno.errorcode[e.errno]
    finally: [os.close(fd) for fd in fds]
say("too many", limit)
]]

describe("with absent names refused", function()
  it("every other name is made just so", function()
    box.skip_unless("seccomp_notify")
    local b <close> = box.new({ config = REFUSE })
    b:mkdir("outside/work")
    local expected = b:run_unconfined(box.python("import os; os.chdir(os.environ['OUTSIDE'] + '/work')\n" .. WORK))
    assert.equal(0, expected.status, expected.stderr)
    local outcome = b:run(box.python(WORK))
    assert.equal(0, outcome.status, outcome.stderr)
    assert.equal(expected.stdout, outcome.stdout)
  end)

  it("a shell, a compiler, an archive and git work", function()
    box.skip_unless("seccomp_notify")
    local b <close> = box.new({ config = REFUSE })
    local outcome = b:run([[
set -e
echo out > /dev/stdout; echo err > /dev/stderr; echo null > /dev/null
set -C; echo once > once; if (echo twice > once) 2>/dev/null; then exit 9; fi; set +C
printf 'int main(void) { return 0; }' > m.c; cc -o m m.c; ./m
mkdir in; cp m.c in/; tar cf a.tar in; rm -r in; tar xf a.tar; test -f in/m.c
mkdir repo; cd repo; git init -q .; git config user.email a@b; git config user.name a
echo x > x; git add x; git commit -qm x; git checkout -qb other; git log --oneline | grep -q x
cd ..; mkfifo f; (cat f > got) & echo through > f; wait; grep -q through got
]])
    assert.equal(0, outcome.status, outcome.stderr)
  end)

  it("one that waits holds up neither the others nor the deadline", function()
    box.skip_unless("seccomp_notify")
    local b <close> = box.new({ config = REFUSE })
    local outcome = b:run(
      "mkfifo f; for i in 1 2 3 4 5 6 7 8; do (echo x > f) & done; sleep 0.3; echo free > other; cat other; sleep 30",
      { timeout_ms = 1500 }
    )
    assert.is_true(outcome.timed_out)
    assert.equal("free\n", outcome.stdout)
    assert.is_true(outcome.duration_ms < 6000)
  end)

  it("no sandbox is made inside that the broker would not know of", function()
    box.skip_unless("seccomp_notify")
    local b <close> = box.new({ config = REFUSE })
    local outcome = b:run(python([[
import ctypes, os
n = ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1)
print(n, os.strerror(ctypes.get_errno()))
]]))
    assert.equal("-1 Operation not supported\n", outcome.stdout)
  end)
end)
