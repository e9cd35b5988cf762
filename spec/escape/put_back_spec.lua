--- A home, a workspace and readable trees below /tmp and /var/tmp, where the run has directories of its own: what is put back
--- there is kept as it is elsewhere, although Landlock grants the run's own /tmp whole.

local box = require("spec.support.box")

local SECRET = "s3cret-below"
local PLACES = { "/tmp", "/var/tmp" }

--- Says that the run is there, and waits for what a program outside does then.
local WAIT = "touch ready; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do test -e go && break; sleep 0.1; done; "
local WHEN_READY = "while ! test -e $WS/ready; do sleep 0.02; done; "

local function leaks(_, result)
  return (result.stdout .. result.stderr):find(SECRET, 1, true)
end

--- One attack, in the places by turns: they are alike to all but the mounts.
local turn = 0
local function attack(given)
  turn = turn + 1
  given.box = { under = PLACES[turn % #PLACES + 1] }
  box.attack(given)
end

local function share(b)
  b:mkdir("outside/shared")
  b.options.config = { readable = { b:path("outside/shared") } }
end

describe("a hidden file below /tmp", function()
  for _, name in ipairs({ ".npmrc", ".config/gh/hosts.yml" }) do
    it(name .. " that appears during a run is closed", function()
      attack({
        setup = function(b)
          b:mkdir("home/.config")
          b:start((WHEN_READY .. "mkdir -p $(dirname ~/%s); echo %s > ~/%s; echo > $WS/go"):format(name, SECRET, name))
        end,
        run = WAIT .. "cat ~/" .. name,
        hurt = leaks,
        clause = "hidden",
      })
    end)
  end

  it("that is replaced by a rename from outside stays closed", function()
    attack({
      setup = function(b)
        b:write("home/.netrc", SECRET .. "-old")
        b:start((WHEN_READY .. "echo %s > ~/.netrc.tmp; mv ~/.netrc.tmp ~/.netrc; echo > $WS/go"):format(SECRET))
      end,
      run = WAIT .. "cat ~/.netrc ~/.netrc.tmp",
      hurt = leaks,
      clause = "hidden",
    })
  end)

  it("whose directory is replaced stays closed", function()
    attack({
      setup = function(b)
        b:write("home/.ssh/id", SECRET .. "-old")
        local swap = "mkdir ~/new; echo %s > ~/new/id; mv ~/.ssh ~/old; mv ~/new ~/.ssh; echo > $WS/go"
        b:start((WHEN_READY .. swap):format(SECRET))
      end,
      run = WAIT .. "cat ~/.ssh/id",
      hurt = leaks,
      clause = "hidden",
    })
  end)

  it("in a readable tree that is replaced stays closed", function()
    attack({
      setup = function(b)
        share(b)
        b.options.config.hidden = { b:path("outside/shared/deep/key") }
        b:write("outside/shared/deep/key", SECRET .. "-old")
        b:write("outside/shared/deep/open", "open")
        b:start((WHEN_READY .. "cd $OUTSIDE/shared/deep; echo %s > k; mv k key; echo > $WS/go"):format(SECRET))
      end,
      run = WAIT .. "cat $OUTSIDE/shared/deep/key; cat $OUTSIDE/shared/deep/open",
      hurt = leaks,
      clause = "hidden",
    })
  end)

  it("has no second name beside it, nor a copy", function()
    attack({
      setup = function(b)
        b:write("home/.netrc", SECRET)
        b:setup("ln ~/.netrc ~/other; cp ~/.netrc ~/.netrc.bak")
      end,
      run = "cat ~/other ~/.netrc.bak",
      hurt = leaks,
      clause = "hidden",
    })
  end)
end)

--- Binds when the run is there, and notes a connection.
local LATE = [[
import os, socket, sys, time
ws, place, name = sys.argv[1:4]
while not os.path.exists(ws + "/ready"): time.sleep(0.02)
os.makedirs(place, exist_ok=True)
os.chdir(place)
s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(4); s.settimeout(5)
open(ws + "/go", "w").close()
c, _ = s.accept()
open(ws + "/come", "w").close()
]]

local CONNECT = [[
import os, socket, sys
os.chdir(os.path.dirname(sys.argv[1]))
s = socket.socket(socket.AF_UNIX); s.connect(os.path.basename(sys.argv[1])); s.send(b"PWN")
]]

describe("a socket below /tmp", function()
  for _, relative in ipairs({ "home/.gnupg", "home/run", "outside/shared" }) do
    it("in " .. relative .. " that is bound during a run is not reached", function()
      attack({
        setup = function(b)
          share(b)
          b:mkdir("home/run")
          b:start({ "python3", "-c", LATE, b.workspace, b:path(relative), "agent" })
        end,
        run = function(b)
          local words = box.quote_all({ "python3", "-c", CONNECT, b:path(relative) .. "/agent" })
          return WAIT .. words .. "; sleep 0.2"
        end,
        hurt = function(b)
          return b:exists("workspace/come")
        end,
        clause = "sockets",
      })
    end)

    it("in " .. relative .. " that was bound before by a relative name is not reached", function()
      attack({
        setup = function(b)
          share(b)
          b.server = b:listener("stream", b:mkdir(relative) .. "/agent")
        end,
        run = function(b)
          return { "python3", "-c", CONNECT, b:path(relative) .. "/agent" }
        end,
        hurt = function(b)
          box.sleep(0.2)
          return b.server:received() ~= ""
        end,
        clause = "sockets",
      })
    end)
  end

  it("of the run's own is reached, and one that is granted", function()
    local b <close> = box.new({ under = "/tmp" })
    b:mkdir("home/run")
    b.options.config = { sockets = { b:path("home/run") } }
    b.server = b:listener("stream", b:path("home/run/agent"))
    local outcome = b:run({ "python3", "-c", [[
import os, socket, sys
def meet(name):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(1)
    socket.socket(socket.AF_UNIX).connect(name)
meet(os.environ["TMPDIR"] + "/own"); meet("own")
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(b"PWN")
print("met")
]], b:path("home/run/agent") })
    if box.holds(outcome, "sockets") and box.report_row(outcome, "sockets").id ~= "unix" then
      assert.equal("met\n", outcome.stdout, outcome.stderr)
      box.sleep(0.2)
      assert.not_equal("", b.server:received())
    end
  end)

  it("is not reached by moving what holds it", function()
    local b <close> = box.new({ under = "/tmp" })
    b:mkdir("home/run")
    b.server = b:listener("stream", b:path("home/run/agent"))
    -- Nor can the directories on the way be opened to writing: they are the run's own.
    local outcome = b:run((([[
chmod 777 ROOT; mv ROOT /tmp/other && echo moved; mv ROOT/home ROOT/other && echo moved; echo > ROOT/beside && echo wrote]])
      :gsub("ROOT", b.root)))
    assert.is_true(b:exists("home/run/agent"))
    assert.is_nil(outcome.stdout:find("moved", 1, true), outcome.stdout)
    if box.holds(outcome, "metadata") then
      assert.is_nil(outcome.stdout:find("wrote", 1, true))
    end
    assert.equal("", b.server:received())
  end)
end)

describe("what is put back below /tmp", function()
  local function mark(b)
    share(b)
    for _, relative in ipairs({ "home/.config/app", "home/file", "outside/shared/file" }) do
      b:write(relative, "mine")
    end
    b:mode("home/file", "644")
  end

  for what, command in pairs({
    ["written"] = "for f in ~/.config/app ~/file $OUTSIDE/shared/file; do echo PWN > $f; done",
    ["replaced"] = "for f in ~/.config/app ~/file $OUTSIDE/shared/file; do echo PWN > p; mv p $f; done",
    ["removed and made"] = "for f in ~/.config/app ~/file $OUTSIDE/shared/file; do rm $f; echo PWN > $f; done",
  }) do
    it("is not " .. what, function()
      attack({
        setup = mark,
        run = command,
        hurt = function(b)
          local texts = {}
          for i, relative in ipairs({ "home/.config/app", "home/file", "outside/shared/file" }) do
            texts[i] = b:read(relative) or "gone"
          end
          return table.concat(texts) ~= "mineminemine"
        end,
        clause = "write",
      })
    end)
  end

  it("gets no new file", function()
    attack({
      setup = mark,
      run = "for d in ~ ~/.config $OUTSIDE/shared; do chmod 777 $d; echo PWN > $d/new; done",
      hurt = function(b)
        return b:exists("home/new") or b:exists("home/.config/new") or b:exists("outside/shared/new")
      end,
      clause = "write",
    })
  end)

  it("keeps its mode and times", function()
    attack({
      setup = mark,
      run = "chmod 600 ~/file; touch -d @1 $OUTSIDE/shared/file",
      hurt = function(b)
        return b:stat("home/file", "%a") ~= "644" or b:stat("outside/shared/file", "%Y") == "1"
      end,
      clause = "metadata",
    })
  end)

  it("has no FIFO that the run could write to", function()
    for _, relative in ipairs({ "home/pipe", "home/some/deep/pipe", "outside/shared/pipe" }) do
      attack({
        setup = function(b)
          share(b)
          b:setup(("mkdir -p %s; mkfifo %s"):format(b:path(relative):match("^(.*)/"), b:path(relative)))
          b:start(("timeout 8 cat %s > $WS/got"):format(b:path(relative)))
        end,
        run = function(b)
          return ("timeout 2 sh -c 'echo PWN > %s'; sleep 0.2"):format(b:path(relative))
        end,
        hurt = function(b)
          return (b:read("workspace/got") or ""):find("PWN", 1, true)
        end,
        clause = "write",
      })
    end
  end)

  it("is named in the report as far as a FIFO that comes later goes", function()
    box.skip_unless("mountns")
    for _, place in ipairs({ "/tmp", "/var/tmp" }) do
      local b <close> = box.new({ under = place })
      local effect = box.report_row(b:report(), "write").effect
      assert.matches("FIFOs of programs outside stay writable in what is put back", effect, 1, true)
    end
  end)
end)

describe("a home below /tmp", function()
  it("is there with all that is not hidden, and the next run sees what has changed", function()
    local b <close> = box.new({ under = "/tmp" })
    b:write("home/.gitconfig", "[user]\n\tname = First\n\temail = f@example.invalid\n")
    b:write("home/.config/app/settings", "settings")
    b:write("home/.netrc", SECRET)
    b:write("home/project/file", "x")
    b:symlink(".gitconfig", "home/link")
    b:mode("home", "700")
    b:setup("git init -q . && git add -A && git commit -q --allow-empty -m one")
    local outcome = b:run([[
cat ~/link ~/.config/app/settings; cd ~/project && realpath . file && pwd -P; cd $WS; stat -c %a ~; test -d ~ && test ! -w ~/new
git status --short; git commit -q --allow-empty -m two && git log --format=%an -1; mkdir -p ~/.config
mkdir ~/new 2>/dev/null || echo no]])
    local out = outcome.stdout
    assert.matches("name = First", out, 1, true)
    local project = b.home .. "/project"
    assert.matches(("settings%s\n%s/file\n%s\n700\n"):format(project, project, project), out, 1, true)
    assert.matches("no\n$", out)
    b:write("home/.gitconfig.new", "[user]\n\tname = Second\n")
    b:setup("mv ~/.gitconfig.new ~/.gitconfig; rm -r ~/project")
    out = b:run("git config user.name; ls -d ~/project").stdout
    assert.equal("Second\n", out)
  end)

  it("may hold the workspace, and caches that are made", function()
    local b <close> = box.new({ under = "/var/tmp" })
    b:write("home/.netrc", SECRET)
    b:mkdir("home/src/ws")
    b.workspace = b:path("home/src/ws")
    b.env.WS = b.workspace
    local outcome = b:run([[
echo x > made; mkdir -p ~/.cache/pip && echo y > ~/.cache/pip/y && cat made
python3 -m venv --without-pip v && v/bin/python -c 'print(3)'; cat ~/.netrc; echo > ../beside]])
    assert.equal("x\n3\n", outcome.stdout, outcome.stderr)
    assert.equal("x\n", b:read("home/src/ws/made"))
    assert.is_false(b:exists("home/src/beside"))
  end)

  it("is named where a hidden file in it was refused (denials = paths)", function()
    box.skip_unless("seccomp_notify")
    for _, place in ipairs(PLACES) do
      local b <close> = box.new({ under = place, config = { denials = "paths" } })
      b:write("home/.netrc", SECRET)
      b:write("home/.ssh/id", SECRET)
      local outcome = b:run("cat ~/.netrc ~/.ssh/id")
      local told = {}
      for _, line in ipairs(outcome.denials.denied) do
        told[#told + 1] = line.clause .. " " .. line.text
      end
      local text = table.concat(told, "\n")
      assert.matches("hidden read " .. b.home .. "/.netrc: ", text, 1, true)
      assert.matches("hidden read " .. b.home .. "/.ssh/id: ", text, 1, true)
    end
  end)

  it("of many entries is put back as it is, and the report names the gap", function()
    local b <close> = box.new({ under = "/tmp" })
    b:write("home/.netrc", SECRET)
    b:setup("cd ~ && seq -f e%g 1 400 | xargs touch")
    assert.equal("enforced", box.report_row(b:report(), "hidden").state)
    assert.equal("400\n", b:run("ls ~ | grep -c e").stdout)
    b:setup("cd ~ && seq -f e%g 401 1100 | xargs touch")
    b.loaded = nil
    local row = box.report_row(b:report(), "hidden")
    assert.equal("replace", row.id)
    assert.matches("outside /tmp", row.lift, 1, true)
    local outcome = b:run("ls ~ | grep -c e; cat ~/.netrc")
    assert.equal("1100\n", outcome.stdout)
  end)

  it("is attacked by doctor, and nothing comes through", function()
    local b <close> = box.new({ under = "/tmp" })
    local program = (os.getenv("PROCAGE_BUILD") or "build/dev") .. "/bin/procage-lua"
    program = program:sub(1, 1) == "/" and program or box.shell("pwd -P") .. "/" .. program
    local result = b:run_unconfined({ program, "doctor", "--root", b.workspace, "--json" }, { timeout_ms = 60000 })
    assert.equal(0, result.status, result.stdout:sub(1, 2000) .. result.stderr)
    assert.matches('"crossed":0,', result.stdout, 1, true)
  end)
end)
