local box = require("spec.support.box")

local SECRET = "s3cr3tOfTheUser"

local function leaks(_, result)
  return (result.stdout .. result.stderr):find(SECRET, 1, true)
end

local function set_up(b)
  b:write("home/.ssh/id_ed25519", SECRET)
  b:write("home/.netrc", SECRET)
  b:write("home/.aws/credentials", SECRET)
end

local python = box.python

local ways = {
  { "by its name", "cat ~/.ssh/id_ed25519" },
  { "as a single file", "cat ~/.netrc" },
  { "through a symbolic link in the workspace", "ln -s ~/.ssh/id_ed25519 link; cat link" },
  { "through a linked directory", "ln -s ~/.ssh dir; cat dir/id_ed25519" },
  { "through a link to home", "ln -s ~ h; cat h/.ssh/id_ed25519 h/.netrc" },
  { "through ..", "cd ~/.ssh/.. && cat .ssh/id_ed25519 ./.netrc" },
  { "from inside its directory", "cd ~/.ssh && cat id_ed25519" },
  { "through /proc/self/root", "cat /proc/self/root$HOME/.netrc" },
  { "through /proc/self/cwd", "cd && cat /proc/self/cwd/.netrc" },
  { "through /proc/1/root and its parent's", "cat /proc/1/root$HOME/.netrc /proc/$PPID/root$HOME/.netrc" },
  { "by a hard link", "ln ~/.netrc mine; cat mine" },
  { "by moving it into the workspace", "mv ~/.ssh moved; cat moved/id_ed25519" },
  { "by a copy with cp -a", "cp -a ~ copy; cat copy/.netrc copy/.ssh/id_ed25519" },
  { "by grep -r", "grep -r . ~" },
  { "by tar", "tar cf - -C ~ . | strings 2>/dev/null || tar cf - -C ~ . | cat" },
  { "by executing it", "sh ~/.netrc; bash -c '. ~/.netrc'; python3 ~/.netrc" },
  { "with sendfile", python([[
import os, sys
i = os.open(os.environ["HOME"] + "/.netrc", os.O_RDONLY)
r, w = os.pipe()
os.sendfile(w, i, 0, 100)
sys.stdout.buffer.write(os.read(r, 100))
]]) },
  { "through an O_PATH descriptor", python([[
import os
fd = os.open(os.environ["HOME"] + "/.netrc", os.O_PATH)
print(open("/proc/self/fd/%d" % fd).read())
]]) },
  { "beneath an O_PATH descriptor of its directory", python([[
import os
fd = os.open(os.environ["HOME"] + "/.ssh", os.O_PATH)
print(os.read(os.open("id_ed25519", os.O_RDONLY, dir_fd=fd), 100))
]]) },
  { "through a descriptor passed between processes", python([[
import array, os, socket
a, b = socket.socketpair()
if os.fork() == 0:
    fd = os.open(os.environ["HOME"] + "/.netrc", os.O_RDONLY)
    socket.send_fds(a, [b"x"], [fd])
    os._exit(0)
_, fds, _, _ = socket.recv_fds(b, 1, 1)
print(os.read(fds[0], 100))
]]) },
  { "with FICLONE or copy_file_range", python([[
import os
i = os.open(os.environ["HOME"] + "/.netrc", os.O_RDONLY)
o = os.open("out", os.O_CREAT | os.O_RDWR)
os.copy_file_range(i, o, 100)
print(open("out").read())
]]) },
  { "by a map of it", python([[
import mmap, os
fd = os.open(os.environ["HOME"] + "/.netrc", os.O_RDONLY)
print(mmap.mmap(fd, 0, prot=mmap.PROT_READ)[:])
]]) },
}

describe("a hidden file", function()
  -- One tree for all of them, and a second one for the controls: they only read it.
  local free, confined
  setup(function()
    free, confined = box.new(), box.new()
    set_up(free)
    set_up(confined)
  end)
  teardown(function()
    free:__close()
    confined:__close()
  end)

  for _, way in ipairs(ways) do
    it("cannot be read " .. way[1], function()
      assert.is_truthy(leaks(free, free:run_unconfined(way[2])))
      set_up(free)
      local outcome = confined:run(way[2])
      assert.is_true(box.holds(outcome, "hidden"))
      assert.is_nil(leaks(confined, outcome))
    end)
  end

  it("of every row of the list is closed", function()
    local b <close> = box.new()
    local lists = dofile("policies/lists.lua")
    local names = {}
    for i, row in ipairs(lists.hidden) do
      if row.path:sub(1, 2) == "~/" and row.system == nil and not row.root_only and not row.in_cache then
        -- A file, or a directory with a file in it: either may stand there.
        local name = row.path:sub(3)
        local file = i % 2 == 0 and name or name .. "/inner"
        if not b:exists("home/" .. name) and pcall(b.write, b, "home/" .. file, SECRET) then
          names[#names + 1] = box.quote(b.home .. "/" .. file)
        end
      end
    end
    assert.is_true(#names > 50)
    local command = "cat " .. table.concat(names, " ")
    local control = b:run_unconfined(command)
    assert.equal(#names, select(2, control.stdout:gsub(SECRET, "")))
    local outcome = b:run(command)
    assert.is_true(box.holds(outcome, "hidden"))
    assert.is_nil(leaks(b, outcome))
  end)

  it("that appears during a run is closed too", function()
    for _, name in ipairs({ ".ssh/id", ".netrc", ".config/gh/hosts.yml", ".vault-token" }) do
      box.attack({
        setup = function(b)
          b:mkdir("home/.config")
          b:start(("while ! test -e $WS/ready; do sleep 0.02; done; mkdir -p $(dirname ~/%s); echo %s > ~/%s; echo > $WS/go")
            :format(name, SECRET, name))
        end,
        run = ("touch ready; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do test -e go && break; sleep 0.1; done; cat ~/%s")
          :format(name),
        hurt = leaks,
        clause = "hidden",
      })
    end
  end)

  it("that is replaced by a rename from outside during a run stays closed", function()
    -- What a token refresh does. A mask goes with the name that it covered; the rules stay.
    for _, name in ipairs({ ".netrc", ".aws/credentials" }) do
      local outcome = box.attack({
        setup = function(b)
          set_up(b)
          b:start(([[
while ! test -e $WS/ready; do sleep 0.02; done
echo %s-new > ~/%s.tmp; mv ~/%s.tmp ~/%s; echo > $WS/go]]):format(SECRET, name, name, name))
        end,
        run = ([[touch ready; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do test -e go && break; sleep 0.1; done
test -e go && cat ~/%s; cat ~/%s.tmp]]):format(name, name),
        hurt = leaks,
        clause = "hidden",
      })
      assert.is_true(box.holds(outcome, "hidden"))
    end
  end)

  it("whose whole directory is replaced from outside during a run stays closed", function()
    box.attack({
      setup = function(b)
        set_up(b)
        b:start(([[
while ! test -e $WS/ready; do sleep 0.02; done
mkdir ~/new; echo %s > ~/new/id_ed25519; mv ~/.ssh ~/old; mv ~/new ~/.ssh; echo > $WS/go]]):format(SECRET))
      end,
      run = [[touch ready; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do test -e go && break; sleep 0.1; done
cat ~/.ssh/id_ed25519]],
      hurt = leaks,
      clause = "hidden",
    })
  end)

  it("that one run has seen replaced is closed to the next, and its neighbour is open", function()
    local b <close> = box.new()
    set_up(b)
    b:write("home/.gitconfig", "[user]\n\tname = First\n")
    assert.matches("First", b:run("cat ~/.gitconfig").stdout)
    -- By rename, as git config does: a rule on the old inode would be lost.
    b:setup("printf '[user]\\n\\tname = Second\\n' > ~/.gitconfig.lock && mv ~/.gitconfig.lock ~/.gitconfig")
    b:setup("rm -rf ~/.ssh && mkdir ~/.ssh && echo " .. SECRET .. " > ~/.ssh/id_ed25519")
    local outcome = b:run("cat ~/.gitconfig ~/.ssh/id_ed25519")
    assert.matches("Second", outcome.stdout)
    assert.is_nil(leaks(b, outcome))
  end)

  it("is closed in the copies that editors leave beside it", function()
    box.attack({
      setup = function(b)
        set_up(b)
        b:write("home/.netrc~", SECRET)
        b:write("home/.netrc.bak", SECRET)
      end,
      run = "cat ~/.netrc~ ~/.netrc.bak",
      hurt = leaks,
      clause = "hidden",
    })
  end)

  it("is closed where the list's name is a link to somewhere else", function()
    box.attack({
      setup = function(b)
        b:write("outside/dotfiles/ssh/id", SECRET)
        b:symlink("../outside/dotfiles/ssh", "home/.ssh")
      end,
      run = "cat ~/.ssh/id $OUTSIDE/dotfiles/ssh/id",
      hurt = leaks,
      clause = "hidden",
    })
  end)

  it("that the operator names is closed, also when a workspace link leads there", function()
    box.attack({
      setup = function(b)
        b:write("outside/keys/k", SECRET)
        b:symlink("../outside/keys", "workspace/keys")
        b.options.config = { hidden = { b:path("outside/keys") } }
      end,
      run = "cat keys/k $OUTSIDE/keys/k",
      hurt = leaks,
      clause = "hidden",
    })
  end)

  it("is closed whatever name a root that is given by a link has", function()
    box.attack({
      setup = function(b)
        set_up(b)
        b:symlink("home", "linked-home")
        b.home = b:path("linked-home")
        b.env.HOME = b.home
      end,
      run = "cat ~/.ssh/id_ed25519 ~/.netrc",
      hurt = leaks,
      clause = "hidden",
    })
  end)

  it("shows neither names nor sizes below it", function()
    box.attack({
      setup = function(b)
        b:write("home/.ssh/very-telling-name", SECRET)
      end,
      run = "ls -la ~/.ssh; stat ~/.ssh/very-telling-name; find ~ -name 'very*' -printf 'found %p\\n'",
      hurt = function(_, result)
        return result.stdout:find("very-telling-name", 1, true)
      end,
      clause = { "hidden", "stat" },
    })
  end)

  it("does not take a write that would vanish (FR-81)", function()
    local b <close> = box.new()
    set_up(b)
    local outcome = b:run("echo x > ~/.ssh/known_hosts; echo rc=$?")
    assert.not_matches("rc=0", outcome.stdout, 1, true)
    assert.is_false(b:exists("home/.ssh/known_hosts"))
  end)

  it("of root's own home is closed whatever HOME says", function()
    box.skip_unless_root()
    local b <close> = box.new()
    local names = box.shell("ls -d /root/.ssh /root/.bash_history /root/.netrc /root/.gnupg 2>/dev/null")
    if names == "" then
      box.skip("root has nothing to hide here")
    end
    local outcome = b:run("for f in " .. names:gsub("\n", " ") .. "; do test -d $f && ls -A $f; cat $f 2>/dev/null; done")
    if box.holds(outcome, "stat") then
      assert.equal("", outcome.stdout)
    end
  end)
end)

describe("a hidden file inside a writable tree", function()
  local function inside(b)
    b:write("workspace/sub/.env", SECRET)
    b.options.config = { hidden = { b:path("workspace/sub/.env") } }
  end

  it("cannot be read (FR-82)", function()
    box.attack({ setup = inside, run = "cat sub/.env ./sub/../sub/.env $WS/sub/.env", hurt = leaks, clause = "read_only" })
  end)

  it("cannot be read through a new name of its directory", function()
    box.attack({ setup = inside, run = "mv sub other; cat other/.env sub/.env", hurt = leaks, clause = "read_only" })
  end)

  it("cannot be renamed, linked or replaced", function()
    box.attack({
      setup = inside,
      run = "ln sub/.env a; mv sub/.env b; cat a b",
      hurt = leaks,
      clause = "read_only",
    })
  end)

  it("stays hidden from the run after one that moved its directory", function()
    box.attack({
      setup = inside,
      run = "mv sub other",
      -- The second run reads it.
      hurt = function(b, first)
        local command = "cat other/.env sub/.env"
        return leaks(b, first.report and b:run(command) or b:run_unconfined(command))
      end,
      clause = "read_only",
    })
  end)

  it("that is replaced from outside during the run is named", function()
    local b <close> = box.new()
    inside(b)
    b:start([[
while ! test -e $WS/ready; do sleep 0.02; done
echo new > $WS/sub/tmp; mv $WS/sub/tmp $WS/sub/.env; echo > $WS/go]])
    local outcome =
      b:run("touch ready; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do test -e go && break; sleep 0.1; done")
    assert.is_true(b:exists("workspace/go"))
    assert.is_false(box.holds(outcome, "hidden"))
    assert.matches("replaced from outside", table.concat(outcome.notices, "\n"), 1, true)
  end)
end)

describe("a credential in a package cache", function()
  local TOKEN = "home/.cache/huggingface/token"
  local READ = "cat ~/.cache/huggingface/token"

  it("cannot be read, and its neighbours can be written", function()
    box.attack({
      setup = function(b)
        b:write(TOKEN, SECRET)
      end,
      run = READ .. "; echo > ~/.cache/huggingface/model && test -s ~/.cache/huggingface/model",
      hurt = leaks,
      clause = "read_only",
    })
  end)

  it("cannot be read where a variable has moved the cache", function()
    box.attack({
      setup = function(b)
        b.env.XDG_CACHE_HOME = b.home .. "/cache"
        b:write("home/cache/huggingface/token", SECRET)
      end,
      run = "cat ~/cache/huggingface/token",
      hurt = leaks,
      clause = "read_only",
    })
  end)

  it("that appears between two runs of one policy is closed to the second, and what that is worth is told", function()
    local b <close> = box.new()
    local first = b:run(READ)
    assert.is_true(box.holds(first, "hidden"))
    b:write(TOKEN, SECRET)
    assert.is_truthy(leaks(b, b:run_unconfined(READ)))
    local second = b:run(READ)
    assert.is_false(box.holds(second, "hidden"))
    assert.is_true(not box.holds(second, "read_only") or leaks(b, second) == nil)
    b:setup("rm -r ~/.cache/huggingface")
    assert.is_true(box.holds(b:run(READ), "hidden"))
  end)

  it("is not given out by the socket of git's own store of passwords", function()
    local ask = python([[
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["HOME"] + "/.cache/git/credential/socket")
print(s.recv(100).decode())
]])
    box.attack({
      setup = function(b)
        b:mkdir("home/.cache/git/credential")
        b:start(python([[
import os, socket
s = socket.socket(socket.AF_UNIX)
s.bind(os.environ["HOME"] + "/.cache/git/credential/socket")
s.listen()
open(os.environ["WS"] + "/up", "w").close()
while True:
    c, _ = s.accept()
    c.sendall(b"]] .. SECRET .. [[")
    c.close()
]]))
        b:setup("for i in $(seq 100); do test -e $WS/up && exit; sleep 0.05; done; exit 1")
      end,
      run = ask,
      hurt = leaks,
      clause = "sockets",
    })
  end)
end)

describe("a credential that lies elsewhere", function()
  it("is closed where links in a hidden directory lead to it", function()
    box.attack({
      setup = function(b)
        b:write("home/dotfiles/ssh/id", SECRET)
        b:write("home/dotfiles/aws/credentials", SECRET)
        b:mkdir("home/.ssh")
        b:mkdir("home/.aws")
        b:symlink("../dotfiles/ssh/id", "home/.ssh/id")
        b:symlink("../dotfiles/aws/credentials", "home/.aws/credentials")
      end,
      run = "cat ~/.ssh/id ~/dotfiles/ssh/id ~/.aws/credentials ~/dotfiles/aws/credentials",
      hurt = leaks,
      clause = "hidden",
    })
  end)

  it("is closed where a variable says that it is", function()
    for variable, file in pairs({
      KUBECONFIG = "k/config", GNUPGHOME = "gnupg/", DOCKER_CONFIG = "docker/", CARGO_HOME = "cargo/",
      GOOGLE_APPLICATION_CREDENTIALS = "sa.json",
      XDG_CONFIG_HOME = "config/", XDG_DATA_HOME = "share/", NPM_CONFIG_USERCONFIG = "npmrc", CLAUDE_CONFIG_DIR = "claude/",
    }) do
      local below = { CARGO_HOME = "credentials.toml", XDG_CONFIG_HOME = "gh/hosts.yml", XDG_DATA_HOME = "keyrings/login" }
      local name = file .. (file:sub(-1) == "/" and (below[variable] or "secret") or "")
      box.attack({
        setup = function(b)
          b:write("home/elsewhere/" .. name, SECRET)
          b.env[variable] = b.home .. "/elsewhere/" .. file:gsub("/$", "")
        end,
        run = "cat ~/elsewhere/" .. name,
        hurt = leaks,
        clause = "hidden",
      })
    end
  end)

  it("does not close what a careless variable names: home, the workspace, a device, the system", function()
    local b <close> = box.new()
    b:write("home/file", "plain")
    for name, value in pairs({
      HISTFILE = "/dev/null", GNUPGHOME = b.home, DOCKER_CONFIG = b.workspace, KUBECONFIG = "/usr/bin/env",
      NETRC = "relative", PULUMI_HOME = "/" }) do
      b.env[name] = value
    end
    assert.equal("plain", b:run("cat ~/file && echo x > /dev/null && /usr/bin/env true && touch here").stdout)
  end)
end)

describe("what is not hidden", function()
  it("can be read beside what is", function()
    local b <close> = box.new()
    set_up(b)
    b:write("home/.config/app/settings", "plain")
    b:write("home/.sshx/file", "plain")
    b:write("outside/file", "plain")
    local outcome = b:run("cat ~/.config/app/settings ~/.sshx/file $OUTSIDE/file; ls -A ~ >/dev/null && echo listed")
    assert.equal("plainplainplainlisted\n", outcome.stdout)
  end)
end)
