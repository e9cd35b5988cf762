local box = require("spec.support.box")

local python = box.python

--- A run that says first where its directory is on the host: TMPDIR, or what is mounted there.
local WHERE = [[echo "at $TMPDIR $(sed -n 's/.*\(procage-[A-Za-z0-9]\{6\}\).*/\1/p' /proc/self/mountinfo | head -n 1)"
]]

--- Whether the directory of that run is still there; and what it printed besides.
---@param outcome procage.Outcome
local function is_left(outcome)
  local name = outcome.stdout:match("^at [^\n]*(procage%-%w%w%w%w%w%w)")
  assert(name, "the run did not say where its directory is: " .. outcome.stdout .. outcome.stderr)
  return select(2, box.shell("test -e /tmp/" .. name)), (outcome.stdout:gsub("^[^\n]*\n", ""))
end

describe("the temporary directory of a run", function()
  it("is its own, empty, closed to others, and gone afterwards (FR-137)", function()
    local b <close> = box.new()
    local outcome = b:run(WHERE .. [[
ls -A $TMPDIR; stat -c '%a %u' $TMPDIR; echo x > $TMPDIR/f; mkdir $TMPDIR/d; cat $TMPDIR/f
test "$TMP$TEMP" = "$TMPDIR$TMPDIR" && echo same]])
    local left, rest = is_left(outcome)
    assert.equal(("700 %d\nx\nsame\n"):format(box.host().uid), rest)
    assert.is_false(left)
  end)

  it("is the same for /tmp, /var/tmp and /dev/shm, and shows nothing of the host's", function()
    box.skip_unless("mountns")
    local b <close> = box.new()
    local name = "procage-host-" .. math.random(1 << 30)
    for _, place in ipairs({ "/tmp", "/var/tmp", "/dev/shm" }) do
      b:setup(("echo host-secret > %s/%s"):format(place, name))
    end
    local outcome = b:run(([[
n=%s; for d in /tmp /var/tmp /dev/shm; do cat $d/$n; ls -A $d; echo mine > $d/$n-mine; cat $d/$n-mine; done]]):format(name))
    for _, place in ipairs({ "/tmp", "/var/tmp", "/dev/shm" }) do
      assert.is_nil(io.open(place .. "/" .. name .. "-mine"))
      os.remove(place .. "/" .. name)
    end
    assert.is_nil(outcome.stdout:find("host-secret", 1, true))
    assert.equal(("mine\n"):rep(3), outcome.stdout)
  end)

  it("is not reached by its old path once it lies over /tmp", function()
    box.skip_unless("mountns")
    local b <close> = box.new()
    assert.equal("", b:run("ls -d /tmp/procage-*").stdout)
  end)

  it("is removed with everything in it, and nothing behind a link is", function()
    local b <close> = box.new()
    b:write("outside/keep", "keep")
    b:write("outside/dir/keep", "keep")
    b:mode("outside/dir", "755")
    local outcome = b:run(WHERE .. [[
cd $TMPDIR
ln -s $OUTSIDE out; ln -s $OUTSIDE/dir dir; ln -s $OUTSIDE/keep file; ln -s /nowhere dangling; ln -s . self
mkdir -p locked/in/deeper; touch locked/in/f; chmod 000 locked/in/deeper locked/in locked
mkdir ro; touch ro/f; chmod 555 ro; mkfifo p; touch -- '-rf' "a b" '*'; mkdir $(printf 'new\nline')
python3 -I -c 'import socket; socket.socket(1).bind("sock")'
mkdir swap; ln -s $OUTSIDE swap/out; chmod 000 swap]])
    assert.is_false((is_left(outcome)))
    assert.equal("keep", b:read("outside/keep"))
    assert.equal("keep", b:read("outside/dir/keep"))
    assert.equal("755", b:stat("outside/dir", "%a"))
  end)

  it("is removed when it is 10,000 levels deep", function()
    local b <close> = box.new()
    local outcome = b:run(WHERE .. "exec " .. box.quote_all(python([[
import os
os.chdir(os.environ["TMPDIR"])
for i in range(10000):
    os.mkdir("d")
    os.chdir("d")
open("f", "w").close()
print("made")
]])))
    local left, rest = is_left(outcome)
    assert.equal("made\n", rest, outcome.stderr)
    assert.is_false(left)
  end)

  it("is removed when it is deep and wide and locked", function()
    local b <close> = box.new()
    local outcome = b:run(WHERE .. "exec " .. box.quote_all(python([[
import os
os.chdir(os.environ["TMPDIR"])
for i in range(40):
    for j in range(300):
        open("f%d" % j, "w").close()
    os.mkdir("d"); os.mkdir("e"); open("e/x", "w").close(); os.chmod("e", 0)
    os.chdir("d")
    os.chmod("..", 0o300)
print("made")
]])))
    local left, rest = is_left(outcome)
    assert.equal("made\n", rest, outcome.stderr)
    assert.is_false(left)
  end)

  it("is removed after a run that was ended at its deadline", function()
    local b <close> = box.new()
    local busy = "trap '' TERM; (while :; do echo x >> $TMPDIR/f; mkdir -p $TMPDIR/d/$$; done) & wait"
    local outcome = b:run(WHERE .. busy, { timeout_ms = 300 })
    assert.is_true(outcome.timed_out)
    if box.holds(outcome, "process_tree") then
      assert.is_false((is_left(outcome)))
    end
  end)

  it("is not shared by two runs", function()
    local b <close> = box.new()
    assert.equal("", b:run("echo x > $TMPDIR/f").stdout)
    assert.equal("", b:run("ls -A $TMPDIR /tmp 2>/dev/null | grep -v : | grep -x f").stdout)
  end)
end)

describe("a workspace in a temporary directory", function()
  for _, place in ipairs({ "/tmp", "/var/tmp", "/dev/shm" }) do
    it("in " .. place .. " is there, writable, and alone (FR-130)", function()
      local b <close> = box.new({ under = place })
      b:write("workspace/marker", "here")
      b:write("outside/secret", "neighbour")
      b:write("home/.gitconfig", "[user]\n")
      local outcome = b:run([[
cat marker; pwd -P; echo x > made; cat ~/.gitconfig; cat $OUTSIDE/secret; echo PWN > $OUTSIDE/secret]])
      assert.matches("^here" .. b.workspace:gsub("%p", "%%%0"), outcome.stdout)
      assert.matches("[user]", outcome.stdout, 1, true)
      assert.equal("x\n", b:read("workspace/made"))
      assert.equal("neighbour", b:read("outside/secret"))
      assert.is_nil(outcome.stdout:find("neighbour", 1, true))
    end)
  end

  it("keeps a hidden home beneath it hidden", function()
    local b <close> = box.new({ under = "/tmp" })
    b:write("home/.ssh/id", "SECRET")
    b:write("home/.config/app", "plain")
    local outcome = b:run("cat ~/.ssh/id ~/.config/app")
    assert.equal("plain", outcome.stdout)
  end)

  it("shows nothing of /tmp through a directory of PATH that a run made a link", function()
    local b <close> = box.new()
    local secret = box.shell("d=$(mktemp -d /tmp/procage-other.XXXXXX) && echo tmp-secret > $d/f && echo $d")
    b:mkdir("workspace/bin")
    b.env.PATH = b:path("workspace/bin") .. ":" .. b.env.PATH
    b:run("rmdir bin; ln -s " .. secret .. " bin")
    b.loaded = nil -- the next program start
    local outcome = b:run("cat bin/f " .. secret .. "/f")
    box.shell("rm -rf " .. secret)
    assert.is_nil(outcome.stdout:find("tmp-secret", 1, true))
  end)

  it("shows nothing of /tmp through a .git file that a run wrote", function()
    local b <close> = box.new()
    local secret = box.shell("d=$(mktemp -d /tmp/procage-other.XXXXXX) && echo tmp-secret > $d/f && echo $d")
    b:write("workspace/.git", "gitdir: " .. secret .. "\n")
    local outcome = b:run("cat " .. secret .. "/f")
    box.shell("rm -rf " .. secret)
    assert.is_nil(outcome.stdout:find("tmp-secret", 1, true))
  end)
end)
