--- Where workspace, home and programs lie, and by which names they are reached.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

--- What most commands do: write, build something small, use the private tmp and git.
local WORK = [[
set -e
test "$(pwd -P)" = "$(cd "$WS" && pwd -P)"
echo x >f; mkdir -p d; mv f d/; t=$(mktemp); echo y >"$t"; cat d/f "$t"; rm "$t"
printf 'all:\n\t@echo made\n' >Makefile; make -s
git init -q r; cd r; echo a >a; git add a; git -c user.name=T -c user.email=t@example.invalid commit -qm one
git log --format=%s]]

local DONE = "^x\ny\nmade\none\n$"

describe("a workspace", function()
  for _, place in ipairs({ "/tmp", "/var/tmp", "/dev/shm", "/root", "/home" }) do
    it("below " .. place .. " is worked in (FR-130)", function()
      if not select(2, box.shell("test -w " .. place)) then
        return pending(place .. " is not writable for this user")
      end
      tool.works({ needs = { "make", "git" }, box = { under = place }, run = WORK, prints = DONE })
    end)
  end

  it("of its own, made by mktemp -d, with the user's real home, is worked in by the program", function()
    local b <close> = box.new({ under = "/tmp" })
    local real = os.getenv("HOME")
    b.env.HOME = real
    local result = b:cli({ "-q" }, WORK)
    assert.equal("x\ny\nmade\none\n", result.stdout, tool.told(result))
    assert.equal(0, result.status)
  end)

  it("reached by a link keeps its spelling and is the resolved tree (FR-127)", function()
    tool.works({
      setup = "mkdir real && ln -s real link",
      run = 'cd "$WS/link" && pwd && touch t && ls ../real/t',
      prints = "/link\n%.%./real/t\n$",
    })
  end)

  it("whose path goes through a link is worked in (FR-127)", function()
    local b <close> = box.new()
    b:symlink("workspace", "alias")
    local command = "touch made && pwd -P && cd " .. b:path("alias") .. " && touch two"
    local result = b:cli({ "-q", "--root", b:path("alias") }, command, { cwd = b:path("alias") })
    assert.equal(b.workspace .. "\n", result.stdout, tool.told(result))
    assert.is_true(b:exists("workspace/made") and b:exists("workspace/two"))
  end)

  it("is entered at the directory where the caller is (FR-53)", function()
    local b <close> = box.new()
    b:mkdir("workspace/sub/dir")
    assert.equal(b.workspace .. "/sub/dir\n", b:cli({ "-q" }, "/bin/pwd", { cwd = b:path("workspace/sub/dir") }).stdout)
    assert.equal(b.workspace .. "/sub\n", b:run("pwd", { cwd = "sub" }).stdout)
    local missing, message = b:try_run("pwd", { cwd = "gone" })
    assert.is_nil(missing)
    assert.matches("gone: no such directory", message, 1, true)
  end)

  it("may hold what a link in home leads to, which is then not hidden (FR-129)", function()
    local b <close> = box.new()
    b:symlink(b.root, "home/.docker")
    local outcome = b:run('echo started && touch "$WS/x"')
    assert.equal("started\n", outcome.stdout)
    assert.is_true(b:exists("workspace/x"))
    assert.matches(".docker", table.concat(outcome.notices, "\n"), 1, true)
  end)
end)

describe("home", function()
  it("is listed, and below a directory that cannot be", function()
    tool.works({
      setup = 'touch "$HOME/seen"; mkdir -p "$HOME/.ssh"; chmod 711 "$HOME/.."',
      run = "ls ~ | grep seen; cat ~/seen; ls -A ~ | grep -c seen",
      prints = "^seen\n1\n$",
    })
  end)

  it("reached by a link is home (FR-127)", function()
    local b <close> = box.new()
    b:symlink("home", "alias")
    b:write("home/.gitconfig", "[user]\n\tname = Linked\n")
    b:write("home/.ssh/id", "s3cret")
    b.home = b:path("alias")
    b.env.HOME = b.home
    local outcome = b:run("cat ~/.gitconfig; cat ~/.ssh/id")
    assert.matches("Linked", outcome.stdout, 1, true)
    assert.not_matches("s3cret", outcome.stdout, 1, true)
  end)

  it("of another user, closed to root without capabilities, stops nothing (FR-134)", function()
    box.skip_unless_root()
    tool.works({
      setup = 'mkdir "$HOME/.ssh"; touch "$HOME/.netrc"; chmod 700 "$HOME"; chown -R 61235:61235 "$HOME"',
      run = "echo started",
      prints = "^started\n$",
    })
  end)

  it("keeps no litter but the caches (FR-123)", function()
    local b <close> = box.new()
    local caches = { [".cache"] = true, [".cargo"] = true, [".gradle"] = true, [".local"] = true, [".m2"] = true,
      [".npm"] = true, [".yarn"] = true, go = true }
    local function litter()
      local found, left = {}, b:setup([[cd "$HOME"; find . -not -type d; ls -A]])
      for name in left:gmatch("[^\n]+") do
        found[#found + 1] = not caches[name] and name or nil
      end
      return found, left
    end
    assert.equal(0, b:run("true").status)
    local found, left = litter()
    assert.same({}, found)
    assert.matches(".cache", left, 1, true)
    b:write("home/.cache/litter", "x")
    assert.same({ "./.cache/litter" }, (litter()))
  end)

  it("says what it may write and what not, as XDG_CONFIG_HOME is asked (FR-42, FR-43)", function()
    local b <close> = box.new()
    b:mkdir("home/.config")
    local outcome = b:run([[
      d=${XDG_CONFIG_HOME:-$HOME/.config}; { echo x >"$d/f"; } 2>/dev/null && echo writable || echo not
      XDG_CONFIG_HOME=$(mktemp -d) && mkdir -p "$XDG_CONFIG_HOME/google-chrome/Crash Reports" && echo ok]])
    assert.equal("not\nok\n", outcome.stdout)
  end)
end)

describe("a socket of another user in a directory closed to others", function()
  it("stops nothing (FR-134)", function()
    box.skip_unless_root()
    box.skip_without("setpriv")
    -- Where everybody may search, and no directory of the run's own lies over it.
    local b <close> = box.new({ under = "/run" })
    b:setup('mkdir "$OUTSIDE/closed" && chown 61235:61235 "$OUTSIDE/closed" && chmod 700 "$OUTSIDE/closed"')
    local server <close> = b:start({
      "setpriv", "--reuid", "61235", "--regid", "61235", "--clear-groups", "/usr/bin/python3", "-c",
      "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); "
        .. "print('bound', flush=True); time.sleep(60)",
      b:path("outside/closed/socket"),
    }, { until_prints = "bound" })
    assert.is_true(server:is_alive())
    assert.equal("started\n", b:run("echo started").stdout)
  end)
end)

describe("programs", function()
  it("are found through a shim that links outside (FR-31)", function()
    tool.works({
      setup = [[
        mkdir -p bin "$OUTSIDE/node/bin" && printf '#!/bin/sh\necho tool\n' >"$OUTSIDE/node/bin/tool"
        chmod +x "$OUTSIDE/node/bin/tool" && ln -s "$OUTSIDE/node/bin/tool" bin/tool]],
      run = "./bin/tool; PATH=$PWD/bin:$PATH tool",
      prints = "^tool\ntool\n$",
    })
  end)

  it("are found in a directory of PATH that lies below /tmp", function()
    local b <close> = box.new({ under = "/tmp" })
    b:write("outside/bin/mytool", "#!/bin/sh\necho mine\n")
    b:mode("outside/bin/mytool", "755")
    b.env.PATH = b:path("outside/bin") .. ":" .. b.env.PATH
    assert.equal("mine\n", b:run_unconfined("mytool").stdout)
    assert.equal("mine\n", b:run("mytool").stdout)
    assert.equal("mine\n", b:run({ "mytool" }).stdout)
  end)

  it("are searched past a hidden directory of PATH (FR-33)", function()
    local b <close> = box.new()
    b:mkdir("home/.ssh/bin")
    b.env.PATH = b:path("home/.ssh/bin") .. ":" .. b.env.PATH
    assert.equal(0, b:run({ "true" }).status)
    assert.equal(0, b:run("true && env true && /usr/bin/python3 -c 'import os; os.execvp(\"true\", [\"true\"])'").status)
  end)

  it("that bring a sandbox of their own are refused the same way each time (FR-45)", function()
    local b <close> = box.new()
    local first, second = b:run("unshare -Ur true"), b:run("unshare -Ur true")
    assert.not_equal(0, first.status)
    assert.equal(first.status, second.status)
    assert.equal(first.stderr, second.stderr)
    assert.matches("unshare", first.stderr, 1, true)
  end)

  it("that have capabilities of their own start, without them", function()
    -- Only root gives a file capabilities; without mounts nothing makes them count for nothing.
    box.skip_unless_root()
    box.skip_unless("mountns")
    tool.works({
      needs = { "setcap" },
      setup = "cp /usr/bin/true able && setcap cap_net_bind_service=ep able",
      run = "./able",
    })
  end)

  it("that would keep their capabilities, having none, start (PR_SET_KEEPCAPS)", function()
    tool.works({ needs = { "setpriv" }, run = "setpriv --no-new-privs --pdeathsig clear true" })
  end)

  it("that ask for more rights are refused cleanly", function()
    local b <close> = box.new()
    for _, command in ipairs({ "su -c true nobody", "mount -t tmpfs none /mnt", "chroot / true", "dmesg" }) do
      local outcome = b:run(command)
      assert.is_true((outcome.status or 0) > 0 and outcome.status < 127, command .. ": " .. tool.told(outcome))
    end
  end)

  it("need no helper program of ours (FR-119)", function()
    local b <close> = box.new()
    b.env.PATH = "/nowhere"
    assert.equal("x\n", b:run({ "/bin/echo", "x" }).stdout)
  end)
end)
