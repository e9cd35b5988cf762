local box = require("spec.support.box")
local paths = require("procage.paths")

--- `procage-lua learn`, in the workspace.
local function learn(b, args, command)
  local words = { assert(paths.program()), "learn", "--root", b.workspace }
  table.move(args, 1, #args, #words + 1, words)
  table.move({ "--", "/bin/sh", "-c", command }, 1, 4, #words + 1, words)
  return b:run_unconfined(words)
end

local WORK = "cat $HOME/settings/a > got; echo x > $OUTSIDE/result; cat $HOME/.netrc; echo evil > .envrc;"
  .. " mkdir -p $HOME/app/deep; echo x > .git/index"

local function set_up(b)
  box.skip_unless("seccomp_notify")
  b:setup("git init -q .")
  b:write("home/settings/a", "a")
  b:write("home/.netrc", "s3cret")
  return b
end

describe("procage-lua learn", function()
  it("proposes what was written, at the directory that is meant, and no more", function()
    local b <close> = set_up(box.new())
    local result = learn(b, {}, WORK)
    assert.equal(0, result.status, result.stderr)
    local text = result.stdout
    assert.matches("\n[sandbox]\n", text, 1, true)
    assert.matches(b.outside, text:match("\nwritable = [^\n]*"), 1, true)
    assert.matches('"~/app"', text, 1, true)
    -- Where it failed, what comes next may use them.
    local has_failed = result.stderr:find("the command failed", 1, true)
    assert.matches(has_failed and 'caches = "write"' or 'caches = "none"', text, 1, true)
    assert.matches('caches = "none"', learn(b, {}, "true").stdout, 1, true)
    assert.not_matches("writable[^\n]*netrc", text)
    assert.not_matches("writable[^\n]*envrc", text)
    assert.matches("~/.netrc (hidden)", text, 1, true)
    assert.matches(".envrc (others run it: direnv, on entering the directory)", text, 1, true)
    assert.matches("~/settings", text, 1, true)
  end)

  it("proposes nothing that others run from the home or the system, and says so", function()
    local b <close> = set_up(box.new())
    b:write("home/dots/rc", "")
    b:setup("ln -s dots/rc ../home/.bashrc")
    local result = learn(b, {}, "for f in $HOME/.bashrc $HOME/.gitconfig $HOME/.profile $HOME/bin/x"
      .. " /etc/pc-none /usr/lib/pc-none; do echo evil >> $f; done; mkdir $HOME/bin; echo x > $HOME/data; true")
    assert.equal(0, result.status, result.stderr)
    local writable = result.stdout:match("\nwritable = [^\n]*")
    assert.equal('\nwritable = ["~/data"]', writable, result.stdout)
    for _, told in ipairs({
      "~/dots/rc (others run it: bash)", "~/.gitconfig (others run it: git", "~/.profile (others run it: ",
      "~/bin (others run it: ", "/etc/pc-none (of the system: ", "/usr/lib/pc-none (of the system: ",
    }) do
      assert.matches(told, result.stdout, 1, true)
    end
    assert.equal("", b:read("home/dots/rc"))
  end)

  it("proposes a configuration under which the command goes further", function()
    local b <close> = set_up(box.new())
    local work = "echo x > $OUTSIDE/result && echo done"
    local result = learn(b, { "-o", b.root .. "/learned.toml" }, work)
    assert.equal("", result.stdout)
    assert.is_false(b:exists("outside/result"))
    local run = { assert(paths.program()), "run", "-q", "--root", b.workspace }
    local before = b:run_unconfined(table.move({ "--", "sh", "-c", work }, 1, 4, #run + 1, table.move(run, 1, #run, 1, {})))
    assert.not_equal(0, before.status)
    local words = table.move({ "--config", b.root .. "/learned.toml", "--", "sh", "-c", work }, 1, 6, #run + 1, run)
    local after = b:run_unconfined(words)
    assert.equal("done\n", after.stdout, after.stderr)
    result = learn(b, { "-o", b.root .. "/learned.toml" }, work)
    assert.equal(2, result.status, "it is not overwritten")
  end)

  it("writes a policy that reads what was read, and nothing else", function()
    local b <close> = set_up(box.new())
    b:write("home/other/b", "b")
    local work = "cat $HOME/settings/a"
    local result = learn(b, { "--as", "policy", "-o", b.root .. "/learned.lua" }, work)
    assert.equal(0, result.status, result.stderr)
    local program = assert(paths.program())
    local function run(command)
      return b:run_unconfined({
        program, "run", "-q", "--root", b.workspace, "--policy", b.root .. "/learned.lua", "--", "sh", "-c", command,
      })
    end
    assert.equal("a", run(work).stdout, run(work).stderr)
    local other = run("cat $HOME/other/b")
    assert.not_equal(0, other.status)
    assert.equal("", other.stdout)
  end)

  it("says that a failed command was not seen to its end", function()
    local b <close> = set_up(box.new())
    local result = learn(b, {}, "echo told; exit 3")
    assert.equal(0, result.status)
    assert.matches("told", result.stderr, 1, true)
    assert.matches("failed (3)", result.stderr, 1, true)
    assert.equal(2, learn(b, { "--as", "xml" }, "true").status)
  end)

  --- Learns from a command, does what the proposal says has to be done first, and runs the command under it.
  local function follow(b, args, command)
    local file = b.root .. "/learned.toml"
    os.remove(file)
    local result = learn(b, table.move({ "-o", file }, 1, 2, #args + 1, table.move(args, 1, #args, 1, {})), command)
    assert.equal(0, result.status, result.stderr)
    local proposal = b:read("learned.toml")
    for line in proposal:gmatch("\n#%s+(mkdir %-p [^\n]+)") do
      b:setup(line)
    end
    for line in proposal:gmatch("\n#%s+(touch [^\n]+)") do
      b:setup(line)
    end
    local program = assert(paths.program())
    local check = b:run_unconfined({ program, "check", "--root", b.workspace, file })
    assert.equal(0, check.status, check.stdout)
    local words = { program, "run", "-q", "--root", b.workspace, "--config", file, "--", "/bin/sh", "-c", command }
    return b:run_unconfined(words), proposal, result
  end

  for _, case in ipairs({
    { "make and cc", "printf 'x: x.c\\n\\tcc -o x x.c\\n\\tmkdir -p $(HOME)/.local/share/app\\n'"
      .. "'\\tcp x $(HOME)/.local/share/app/\\n'"
      .. " > Makefile; echo 'int main(void) { return 0; }' > x.c", "make" },
    { "cc into the home", "echo 'int main(void) { return 0; }' > x.c", "cc -o ../home/x x.c" },
    { "git commit", "git init -q . && echo a > a && git add a", "git commit -q --allow-empty -m a" },
    { "git fetch", "git init -q . && echo a > a && git add a && git commit -q -m a", "git fetch -q ." },
    { "git add in another repository", "git init -q ../outside/r && echo a > ../outside/r/a", "git -C ../outside/r add a" },
    { "git commit in another repository", "git init -q ../outside/r && echo a > ../outside/r/a && git -C ../outside/r add a",
      "git -C ../outside/r commit -q -m a" },
    { "git clone", "git init -q ../outside/r", "git clone -q ../outside/r ../outside/to/it" },
    { "tar", "mkdir d && echo 1 > d/f", "tar cf ../outside/d.tar d" },
    { "unpacking", "mkdir d && echo 1 > d/f && tar cf d.tar d && mkdir ../home/to", "tar xf d.tar -C ../home/to" },
    { "sed -i", "echo a > ../outside/f", "sed -i s/a/b/ ../outside/f && grep -q b ../outside/f" },
    { "python3 -m venv", "true", "python3 -m venv --without-pip ../outside/venv" },
    { "a new directory of the home", "true", "mkdir -p $HOME/notes && echo a > $HOME/notes/a" },
    { "a new file of the home", "true", "echo a > $HOME/notes" },
    { "a directory of ~/.config", "mkdir -p ../home/.config", "mkdir -p $HOME/.config/app/a && echo a > $HOME/.config/app/b" },
    { "mv", "echo a > a", "mv a ../outside/b" },
  }) do
    it("proposes what makes it work the first time: " .. case[1], function()
      local b <close> = set_up(box.new())
      b:setup("git config --global user.email a@b && git config --global user.name n && rm -rf .git && { " .. case[2] .. "; }")
      local result, proposal = follow(b, {}, case[3])
      assert.equal(0, result.status, result.stderr .. proposal)
    end)
  end

  it("proposes git = commit in a linked worktree, whose git directory lies elsewhere", function()
    local b <close> = set_up(box.new())
    b:setup("git config --global user.email a@b && git config --global user.name n && rm -rf .git && git init -q ../outside/r"
      .. " && git -C ../outside/r commit -q --allow-empty -m a && cd .. && rmdir workspace"
      .. " && git -C outside/r worktree add -q ../../workspace && echo a > workspace/a && git -C workspace add a")
    local result, proposal = follow(b, {}, "git commit -q --allow-empty -m b")
    assert.equal(0, result.status, result.stderr .. proposal)
    assert.matches('\ngit = "commit"\n', proposal)
    assert.not_matches("\nwritable", proposal)
  end)

  it("says of git's configuration what would open it", function()
    local b <close> = set_up(box.new())
    local text = learn(b, {}, "git config a.b c").stdout
    if text:find("not proposed: +nothing") == nil then
      assert.matches('config.lock (git runs what it names: git = "write" opens it)', text, 1, true)
    end
  end)

  it("proposes git = commit for the workspace's repository alone", function()
    local b <close> = set_up(box.new())
    b:setup("git init -q ../outside/r && echo a > ../outside/r/a")
    local text = learn(b, {}, "git -C ../outside/r add a").stdout
    assert.matches('\ngit = "read"\n', text)
    assert.matches('writable = ["' .. b.outside .. '/r"]', text, 1, true)
  end)

  it("proposes what the policy does not give to read, and keeps the policy and what else is in force", function()
    local b <close> = set_up(box.new())
    local options = { "--policy", "workspace-write", "--set", "limits.cpu_ms=9000", "--set", 'hidden=["~/letters"]' }
    local command = "cat $HOME/settings/a > got"
    -- Where a host cannot hold that policy nothing is learnt.
    local probe = learn(b, options, "true")
    if probe.status ~= 0 then
      assert.equal(126, probe.status, probe.stderr)
      return pending("this host does not hold the policy")
    end
    local result, proposal = follow(b, options, command)
    assert.equal(0, result.status, result.stderr .. proposal)
    assert.matches('\npolicy = "workspace%-write"\n', proposal)
    assert.matches("\nlimits = { cpu_ms = 9000 }\n", proposal, 1, true)
    assert.matches('\nhidden = ["~/letters"]\n', proposal, 1, true)
    assert.equal("a", b:read("workspace/got"))
  end)

  it("proposes to put back what the command misses in its own /tmp", function()
    local b <close> = set_up(box.new())
    local directory = box.shell("mktemp -d /tmp/pc-learn-XXXXXX")
    box.shell("echo in > " .. directory .. "/in; chmod 777 " .. directory)
    local ok, failure = pcall(function()
      local result, proposal = follow(b, {}, ("cat %s/in > got"):format(directory))
      assert.equal(0, result.status, result.stderr .. proposal)
      assert.matches('\nreadable = ["' .. directory .. '"]\n', proposal, 1, true)
      result, proposal = follow(b, { "--set", "git=commit" }, ("echo out > %s/out"):format(directory))
      assert.equal(0, result.status, result.stderr .. proposal)
    end)
    box.shell("rm -r " .. directory)
    assert.is_true(ok, tostring(failure))
  end)

  it("takes nothing away from what was in force as long as the command fails", function()
    local b <close> = set_up(box.new())
    local options = { "--allow-write", b.outside, "--git", "commit" }
    local failed = learn(b, options, "false").stdout
    assert.matches('\ngit = "commit"\n', failed)
    assert.matches('writable = ["' .. b.outside .. '"]', failed, 1, true)
    local whole = learn(b, options, "true").stdout
    assert.matches('\ngit = "read"\n', whole)
    assert.not_matches("\nwritable", whole)
  end)

  it("is a function of the module too", function()
    local b <close> = set_up(box.new())
    local procage = require("procage")
    local options = { root = b.workspace, home = b.home, env = b.env }
    local policy = assert(procage.policy.load("speccoder", {}, options))
    assert.has_error(function()
      procage.learn(policy, { "true" })
    end, 'learn: the policy is to be loaded with { observes = "all" }')
    options.observes = "all"
    policy = assert(procage.policy.load("speccoder", {}, options))
    local result = assert(procage.learn(policy, { "sh", "-c", "echo a > $HOME/notes" }))
    assert.not_equal(0, result.outcome.status)
    assert.same({ b.home .. "/notes" }, result.learned.write)
    assert.same({ "touch " .. b.home .. "/notes" }, result.to_make)
    assert.matches('writable = ["~/notes"]', result.toml, 1, true)
    assert.matches("profile.new()", result.script, 1, true)
  end)
end)
