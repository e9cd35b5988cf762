local box = require("spec.support.box")

--- Names, kinds, link targets and contents of what lies outside: any change is a write that came through.
local function outside(b)
  return box.shell(
    ("cd %s && find . -printf '%%P %%y %%l %%n\\n' | sort; find . -type f -exec cat {} + 2>/dev/null | cksum"):format(
      box.quote(b.outside)
    )
  )
end

local function set_up(b)
  b:write("outside/file", "keep")
  b:write("outside/sub/inner", "keep")
  b:mkdir("outside/empty")
  b:write("workspace/mine", "evil")
  b.before = outside(b)
end

local function is_changed(b)
  return outside(b) ~= b.before
end

local python = box.python

--- Each is a way to change something outside; all of them work when nothing stops them.
local ways = {
  { "created by a shell", "echo PWN > $OUTSIDE/new" },
  { "created where FR-142 saw a probe succeed", "touch $OUTSIDE/probe" },
  { "appended to", "echo PWN >> $OUTSIDE/file" },
  { "overwritten in place", "printf PWN | dd of=$OUTSIDE/file conv=notrunc 2>/dev/null" },
  { "deleted", "rm -f $OUTSIDE/file" },
  { "deleted with its directory", "rm -rf $OUTSIDE/sub" },
  { "made as a directory", "mkdir $OUTSIDE/dir" },
  { "removed as a directory", "rmdir $OUTSIDE/empty" },
  { "renamed", "mv $OUTSIDE/file $OUTSIDE/other" },
  { "moved into the workspace", "mv $OUTSIDE/file moved" },
  { "replaced by a rename from the workspace (FR-65)", "mv -f mine $OUTSIDE/file" },
  { "made as a symbolic link", "ln -s /etc/passwd $OUTSIDE/link" },
  { "made as a hard link", "ln $OUTSIDE/file $OUTSIDE/second" },
  { "given a second name in the workspace (FR-75)", "ln $OUTSIDE/file ./new && echo PWN >> ./new" },
  { "made as a FIFO", "mkfifo $OUTSIDE/fifo" },
  { "reached through ..", "echo PWN > ../outside/file" },
  { "reached through /proc/self/cwd", "cd $OUTSIDE && echo PWN > /proc/self/cwd/file" },
  { "reached through /proc/self/root", "echo PWN > /proc/self/root$OUTSIDE/file" },
  { "reached through a link of the workspace", "ln -s $OUTSIDE/file link && echo PWN > link" },
  { "reached through a linked directory", "ln -s $OUTSIDE/sub dir && echo PWN > dir/inner" },
  {
    "opened with O_TMPFILE and linked",
    python([[
import os
d = os.environ["OUTSIDE"]
fd = os.open(d, os.O_TMPFILE | os.O_WRONLY)
os.write(fd, b"PWN")
import ctypes
AT_SYMLINK_FOLLOW = 0x400
ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % fd, -100, (d + "/tmpfile").encode(), AT_SYMLINK_FOLLOW)
]]),
  },
  {
    "bound as a socket",
    python([[
import os, socket
os.chdir(os.environ["OUTSIDE"])
socket.socket(socket.AF_UNIX).bind("sock")
]]),
  },
  {
    "mapped shared and written",
    python([[
import mmap, os
fd = os.open(os.environ["OUTSIDE"] + "/file", os.O_RDWR)
m = mmap.mmap(fd, 4)
m[:] = b"PWN!"
m.flush()
]]),
  },
  {
    "reached by a descriptor of its directory",
    python([[
import os
fd = os.open(os.environ["OUTSIDE"], os.O_RDONLY | os.O_DIRECTORY)
os.unlink("file", dir_fd=fd)
]]),
  },
  {
    "opened for writing through a read-only descriptor",
    python([[
import os
fd = os.open(os.environ["OUTSIDE"] + "/file", os.O_RDONLY)
w = os.open("/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_APPEND)
os.write(w, b"PWN")
]]),
  },
  {
    "opened for writing through an O_PATH descriptor",
    python([[
import os
fd = os.open(os.environ["OUTSIDE"] + "/file", os.O_PATH)
w = os.open("/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_APPEND)
os.write(w, b"PWN")
]]),
  },
  {
    "swapped with one of the workspace",
    python([[
import ctypes, os
libc = ctypes.CDLL(None)
libc.renameat2(-100, b"mine", -100, (os.environ["OUTSIDE"] + "/file").encode(), 2)
]]),
  },
  {
    "written by a child that outlives its parent",
    "(setsid sh -c 'echo PWN > $OUTSIDE/new' &) ; sleep 0.3",
  },
  {
    "created when descriptors run out (FR-77)",
    python([[
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
n = 0
while True:
    try:
        os.open(os.environ["OUTSIDE"] + "/w%d" % n, os.O_CREAT | os.O_WRONLY)
        n += 1
    except OSError:
        break
]]),
  },
}

describe("what lies outside the writable trees", function()
  for _, way in ipairs(ways) do
    it("cannot be " .. way[1], function()
      box.attack({ setup = set_up, run = way[2], hurt = is_changed, clause = "write" })
    end)
  end

  it("cannot be emptied by truncate", function()
    box.attack({
      setup = set_up,
      run = python("import os; os.truncate(os.environ['OUTSIDE'] + '/file', 0)"),
      hurt = is_changed,
      clause = "truncate",
    })
  end)

  it("cannot be emptied by opening it", function()
    box.attack({ setup = set_up, run = ": > $OUTSIDE/file", hurt = is_changed, clause = { "write", "truncate" } })
  end)

  it("stays as it is in home, start-up files above all", function()
    for _, name in ipairs({ ".bashrc", ".profile", ".gitconfig", ".config/new", "new" }) do
      box.attack({
        setup = function(b)
          b:mkdir("home/.config")
          b:write("home/.bashrc", "mine\n")
        end,
        run = "echo PWN >> $HOME/" .. name,
        hurt = function(b)
          return (b:read("home/" .. name) or ""):find("PWN")
        end,
        clause = "write",
      })
    end
  end)

  it("cannot be written by any of many threads and processes that try at once", function()
    box.attack({
      setup = set_up,
      run = python([[
import os, threading
d = os.environ["OUTSIDE"]
def go(n):
    for i in range(50):
        try:
            open(d + "/t%d.%d" % (n, i), "w").close()
        except OSError:
            pass
for _ in range(4):
    if os.fork() == 0:
        ts = [threading.Thread(target=go, args=(os.getpid() * 10 + k,)) for k in range(4)]
        [t.start() for t in ts]
        [t.join() for t in ts]
        os._exit(0)
for _ in range(4):
    os.wait()
]]),
      hurt = is_changed,
      clause = "write",
    })
  end)

  it("cannot be written through a FIFO that a program outside reads", function()
    box.attack({
      setup = function(b)
        b:setup("mkfifo $OUTSIDE/fifo")
        b.reader = b:start("exec timeout 5 cat $OUTSIDE/fifo")
      end,
      run = "timeout 1 sh -c 'echo PWN > $OUTSIDE/fifo'",
      hurt = function(b)
        box.sleep(0.2)
        return b.reader:output():find("PWN")
      end,
      clause = "write",
    })
  end)

  it("is not made writable by naming a workspace in it", function()
    local b <close> = box.new()
    b:mkdir("workspace/sub")
    local outcome = b:run("echo mine > inside && echo PWN > ../outside/new; echo PWN > ../new; ls", { cwd = b.workspace })
    assert.equal("mine\n", b:read("workspace/inside"))
    assert.is_false(b:exists("outside/new"))
    assert.is_false(b:exists("new"))
    assert.matches("inside", outcome.stdout)
  end)
end)

describe("a writable tree", function()
  it("takes everything that a build does to files", function()
    local b <close> = box.new()
    local outcome = b:run([[
set -e
mkdir -p a/b && echo x > a/b/f && mv a/b/f a/f && ln a/f a/g && ln -s f a/h && cp -a a c && mv c a/b/
chmod 600 a/f && touch -d 2001-01-01 a/f && : > a/g && mkfifo p && rm p && rm -rf a/b && echo done
]])
    assert.equal("done\n", outcome.stdout)
    assert.equal(0, outcome.status)
  end)

  it("of the operator's is written as well, and its neighbour is not", function()
    local b <close> = box.new()
    b:mkdir("outside/open")
    b:mkdir("outside/closed")
    b.options.config = { writable = { b:path("outside/open") } }
    b:run("echo x > $OUTSIDE/open/f; echo x > $OUTSIDE/closed/f; echo x > $OUTSIDE/f")
    assert.equal("x\n", b:read("outside/open/f"))
    assert.is_false(b:exists("outside/closed/f"))
    assert.is_false(b:exists("outside/f"))
  end)
end)

describe("a link that an earlier run has made", function()
  it("in a package cache leads no grant of the operator's elsewhere", function()
    local b <close> = box.new()
    b:mkdir("home/.cache/x")
    b:write("home/.profile", "good")
    b:run("rm -rf ~/.cache/x; ln -s ~ ~/.cache/x")
    b.loaded = nil -- the next program start
    b.options.config = { writable = { "~/.cache/x" } }
    local outcome, message = b:try_run("echo PWN >> ~/.profile")
    assert.is_nil(outcome)
    assert.matches("~/.cache/x", message:gsub(b.home:gsub("%p", "%%%0"), "~"), 1, true)
    assert.equal("good", b:read("home/.profile"))
  end)

  it("on the way that the user's own link takes through the workspace gives no cache elsewhere", function()
    local b <close> = box.new()
    b:mkdir("workspace/cargo/registry")
    b:mkdir("outside/registry")
    b:symlink(b:path("workspace/cargo"), "home/.cargo")
    b:run("mv cargo other; ln -s $OUTSIDE cargo")
    b.loaded = nil
    b:run("echo PWN > $OUTSIDE/registry/f")
    assert.is_false(b:exists("outside/registry/f"))
  end)

  it("does not take away a grant that needs no link", function()
    local b <close> = box.new()
    b:mkdir("home/.cache/x")
    b:mkdir("outside/real")
    b:symlink(b:path("outside/real"), "home/mine")
    b.options.config = { writable = { "~/.cache/x", "~/mine" }, caches = "none" }
    b:run("echo x > ~/.cache/x/f; echo x > ~/mine/f; echo x > $OUTSIDE/real/g")
    assert.equal("x\n", b:read("home/.cache/x/f"))
    assert.equal("x\n", b:read("outside/real/f"))
    assert.equal("x\n", b:read("outside/real/g"))
  end)
end)
