--- denials = "paths": the observer names the files that were refused, and its word is the kernel's.

local box = require("spec.support.box")
local host_room = require("procage.host")

--- Does each of many things and says of each whether it was refused: what the observer is compared with.
local MANY = [[
import os, sys
O, W, H = os.environ["OUTSIDE"], os.environ["WS"], os.environ["HOME"]
os.chdir(W)
outside = os.open(O, os.O_RDONLY | os.O_DIRECTORY) if os.access(O, os.R_OK) else -1
os.symlink(O, "way")
os.mkdir("deep")
def fd(path, flags=os.O_RDONLY, dir_fd=None): os.close(os.open(path, flags, 0o644, dir_fd=dir_fd))
ways = [
  ("read inside", W + "/mine", lambda: fd("mine")),
  ("write inside", W + "/mine", lambda: fd("mine", os.O_WRONLY)),
  ("make inside", W + "/new", lambda: fd("deep/../new", os.O_CREAT | os.O_WRONLY)),
  ("read outside", O + "/file", lambda: fd(O + "/file")),
  ("write outside", O + "/written", lambda: fd(O + "/written", os.O_WRONLY)),
  ("write, dots", O + "/dots", lambda: fd(W + "/../outside/./dots", os.O_RDWR)),
  ("write, link", O + "/link", lambda: fd("way/link", os.O_WRONLY)),
  ("write, relative", O + "/rel", lambda: (os.chdir(O), fd("rel", os.O_WRONLY))),
  ("truncate", O + "/cut", lambda: os.truncate(O + "/cut", 0)),
  ("make outside", O + "/made", lambda: fd(O + "/made", os.O_CREAT | os.O_WRONLY)),
  ("mkdir", O + "/made.d", lambda: os.mkdir(O + "/made.d")),
  ("mkdir, dirfd", O + "/made.fd", lambda: os.mkdir("made.fd", dir_fd=outside)),
  ("make, /proc/self/fd", O + "/made.proc", lambda: fd("/proc/self/fd/%d/made.proc" % outside, os.O_CREAT | os.O_WRONLY)),
  ("make, /proc/self/cwd", O + "/made.cwd", lambda: (os.chdir(O), fd("/proc/self/cwd/made.cwd", os.O_CREAT | os.O_WRONLY))),
  ("mkfifo", O + "/made.fifo", lambda: os.mkfifo(O + "/made.fifo")),
  ("symlink", O + "/made.link", lambda: os.symlink("x", O + "/made.link")),
  ("unlink", O + "/gone", lambda: os.unlink(O + "/gone")),
  ("rmdir", O + "/gone.d", lambda: os.rmdir(O + "/gone.d")),
  ("rename out", O + "/renamed", lambda: os.rename(W + "/mine", O + "/renamed")),
  ("rename from", O + "/taken", lambda: os.rename(O + "/taken", W + "/taken")),
  ("hard link", O + "/linked", lambda: os.link(W + "/mine", O + "/linked")),
  ("hidden", H + "/secret", lambda: fd(H + "/secret")),
  ("absent, read", O + "/nothing", lambda: fd(O + "/nothing")),
  ("devices", "/dev/null", lambda: fd("/dev/null", os.O_RDWR)),
  ("standard output", "/dev/stdout", lambda: fd("/dev/stdout", os.O_CREAT | os.O_WRONLY)),
]
for name, path, way in ways:
    try:
        way()
        print("went", path)
    except OSError as e:
        print("absent" if e.errno == 2 and path != H + "/secret" else "refused", path)
]]

local CONFIG = { denials = "paths", hidden = { "~/secret" } }

--- The observer alone, on a host too whose audit records can be read.
local function new_box()
  local host = host_room.complete(box.host())
  host.landlock_audit = false
  return box.new({ config = CONFIG, host = host })
end

local function set_up(b)
  for _, name in ipairs({ "file", "written", "dots", "link", "rel", "cut", "gone", "taken" }) do
    b:write("outside/" .. name, "x")
  end
  b:mkdir("outside/gone.d")
  b:write("workspace/mine", "x")
  b:write("home/secret", "s3cret")
end

--- "went PATH", "refused PATH": a table of words by path.
local function words_by_path(text)
  local found = {}
  for word, path in text:gmatch("(%w+) (/[^\n]*)") do
    found[path] = word
  end
  return found
end

describe("the path observer", function()
  it("names exactly what was refused, however it was spelled", function()
    box.skip_unless("seccomp_notify")
    local b <close> = new_box()
    set_up(b)
    local outcome = b:run(box.python(MANY))
    assert.equal(0, outcome.status, outcome.stderr)
    local expected, seen = words_by_path(outcome.stdout), {}
    for _, access in ipairs(outcome.accesses) do
      if access.refused ~= 0 then
        seen[access.path] = true
      end
    end
    local refused, wrong = 0, {}
    for path, word in pairs(expected) do
      refused = refused + (word == "refused" and 1 or 0)
      if (word == "refused") ~= (seen[path] or false) then
        wrong[#wrong + 1] = ("%s %s, and the observer says %s"):format(word, path, tostring(seen[path]))
      end
    end
    assert.same({}, wrong)
    assert.is_true(refused >= 15, "too little was refused: " .. outcome.stdout)
  end)

  it("tells it with what would allow it, but for what is hidden", function()
    box.skip_unless("seccomp_notify")
    local b <close> = new_box()
    set_up(b)
    local outcome = b:run("cat ~/secret; echo > $OUTSIDE/written; false")
    local by_clause = {}
    for _, line in ipairs(outcome.denials.denied) do
      by_clause[line.clause] = line
    end
    assert.matches("write .*/outside/written", by_clause.write.text)
    assert.equal("--allow-write " .. b.outside, by_clause.write.allow)
    assert.equal(("writable = [%q]"):format(b.outside), by_clause.write.config)
    assert.matches("read .*/secret", by_clause.hidden.text)
    assert.is_nil(by_clause.hidden.allow)

    local opened <close> = box.new({ config = { writable = { b.outside } } })
    assert.equal(0, opened:run({ "sh", "-c", 'echo > "$1"', "sh", b.outside .. "/written" }).status, "the change allows it")
  end)

  it("changes nothing of what a run can do, and sees nothing unless it is asked", function()
    box.skip_unless("seccomp_notify")
    local b <close> = new_box()
    set_up(b)
    local work = "mkdir d && echo x > d/f && ln -s d/f l && cat l && mv d/f d/g && chmod 600 d/g && rm -r d l; "
      .. "true > /dev/stderr"
    assert.equal(0, b:run(work).status)
    local quiet <close> = box.new({ config = { hidden = { "~/secret" } } })
    set_up(quiet)
    local outcome = quiet:run("echo > $OUTSIDE/written")
    assert.is_nil(outcome.accesses)
    assert.not_equal(0, outcome.status)
  end)

  it("stays bounded whatever a command touches", function()
    box.skip_unless("seccomp_notify")
    local b <close> = new_box()
    local outcome = b:run(box.python([[
import os
for i in range(2000):
    try: os.mkdir(os.environ["OUTSIDE"] + "/%d" % i)
    except OSError: pass
]]))
    assert.equal(256, #outcome.accesses)
    assert.equal(2000 - 256, outcome.accesses.more)
    assert.is_true(#outcome.denials.denied <= 10)
  end)

  it("tells nothing at all with denials = off", function()
    local b <close> = box.new({ config = { denials = "off" } })
    local outcome = b:run(box.python("import socket; socket.socket(socket.AF_VSOCK)"))
    assert.not_equal(0, outcome.status)
    assert.equal(0, #outcome.denials.denied)
    assert.matches("not recorded", outcome.denials.note)
  end)
end)
