local box = require("spec.support.box")

local IDENTITY = "-c user.name=T -c user.email=t@example.invalid"

local function repository(b)
  box.skip_without("git")
  b:setup(("git init -q . && echo a > a && git add a && git %s commit -q -m one"):format(IDENTITY))
end

--- Whether git, run outside after the run, would start a program that the run left: what an attack on git is for.
local function runs_planted(b)
  b:run_unconfined("git status >/dev/null; git " .. IDENTITY .. " commit -q --allow-empty -m two; git log -1 >/dev/null; true")
  return b:exists("outside/ran")
end

local PLANT = "printf '#!/bin/sh\\ntouch $OUTSIDE/ran\\n' > evil; chmod +x evil; "

local ways = {
  { "adding a hook", PLANT .. "mkdir -p .git/hooks; cp evil .git/hooks/pre-commit" },
  { "moving a hook into place (FR-65)", PLANT .. "mv evil .git/hooks/pre-commit" },
  { "linking a hook into place (FR-65)", PLANT .. "ln -f evil .git/hooks/post-commit; ln -sf $WS/evil .git/hooks/pre-commit" },
  { "configuring a file system monitor", PLANT .. "git config core.fsmonitor $WS/evil" },
  { "writing the configuration", PLANT .. "printf '[core]\\n\\tfsmonitor = %s/evil\\n' $WS >> .git/config" },
  { "replacing the configuration", PLANT .. "cp .git/config c; git config -f c core.fsmonitor $WS/evil; mv c .git/config" },
  { "moving the hooks directory", PLANT .. "mkdir h; cp evil h/pre-commit; mv .git/hooks .git/h2; mv h .git/hooks" },
  {
    "replacing the whole git directory",
    PLANT .. "cp -r .git g; git config -f g/config core.fsmonitor $WS/evil; mv .git old; mv g .git",
  },
  {
    "naming another git directory in a .git file",
    PLANT .. "cp -r .git g; git config -f g/config core.fsmonitor $WS/evil; mv .git old; echo gitdir: $WS/g > .git",
  },
  {
    "a worktree configuration",
    PLANT .. "git config extensions.worktreeConfig true; git config -f .git/config.worktree core.fsmonitor $WS/evil",
  },
}

describe("the git directory of the workspace", function()
  for _, mode in ipairs({ "read", "commit" }) do
    for _, way in ipairs(ways) do
      it(("with git = %s runs nothing outside after %s"):format(mode, way[1]), function()
        box.attack({
          box = { config = { git = mode } },
          setup = repository,
          run = way[2],
          hurt = runs_planted,
          clause = "git",
        })
      end)
    end
  end

  it("cannot be destroyed (FR-69)", function()
    box.attack({
      setup = repository,
      run = "rm -rf .git; ls .git",
      hurt = function(b)
        return b:run_unconfined("git log -1").status ~= 0
      end,
      clause = "git",
    })
  end)

  it("is read by everyday commands, and left without a lock file (FR-11)", function()
    local b <close> = box.new()
    repository(b)
    local outcome = b:run("echo b >> a; git status --short && git diff --stat && git log --oneline && echo ok")
    assert.matches("ok\n$", outcome.stdout)
    assert.equal("", box.shell("find " .. box.quote(b:path("workspace/.git")) .. " -name '*.lock'"))
    assert.equal(0, b:run_unconfined("git config a.b c").status)
  end)

  it("takes a commit where that is switched on", function()
    local b <close> = box.new({ config = { git = "commit" } })
    repository(b)
    local outcome = b:run("echo b > b && git add b && git " .. IDENTITY .. " commit -q -m two && git log --oneline | wc -l")
    assert.equal("2", outcome.stdout:match("%d+"), outcome.stderr)
    assert.matches("two", b:run_unconfined("git log --oneline").stdout)
  end)

  it("is not made up where there is none (FR-123, FR-138)", function()
    local b <close> = box.new()
    b:setup("git init -q one && git init -q two")
    local before = box.shell("cd " .. box.quote(b.workspace) .. " && find . | sort")
    b:run("ls -A; git status; true")
    assert.equal(before, box.shell("cd " .. box.quote(b.workspace) .. " && find . | sort"))
  end)

  it("can be a link, and is protected where that leads", function()
    for _, way in ipairs({
      PLANT .. "cp evil real/hooks/pre-commit",
      PLANT .. "cp -r real g; git config -f g/config core.fsmonitor $WS/evil; ln -sfn g .git",
    }) do
      local b <close> = box.new()
      repository(b)
      b:setup("mv .git real && ln -s real .git")
      local outcome = b:run(way)
      local is_named = table.concat(outcome.notices, "\n"):find(".git", 1, true)
      if box.holds(outcome, "git") then
        assert.is_truthy(is_named or not runs_planted(b), "git runs what was planted, and nothing was said")
        assert.is_false(runs_planted(b))
      end
    end
  end)
end)

describe("a linked worktree", function()
  local function worktree(b)
    box.skip_without("git")
    b:setup(
      ("git init -q $OUTSIDE/r && cd $OUTSIDE/r && git %s commit -q --allow-empty -m base && "
        .. "git worktree add -q -f -b w $WS"):format(
        IDENTITY
      )
    )
  end

  it("is read, and its repository outside not written", function()
    local b <close> = box.new()
    worktree(b)
    local outcome = b:run("git log --oneline && git status --short; echo x > f; git add -A; echo rc=$?")
    assert.matches("base", outcome.stdout)
    assert.not_matches("rc=0", outcome.stdout, 1, true)
  end)

  it("commits where that is switched on, without hooks and configuration (FR-09)", function()
    local b <close> = box.new({ config = { git = "commit" } })
    worktree(b)
    local outcome = b:run(
      "echo x > f && git add -A && git "
        .. IDENTITY
        .. " commit -q -m more; echo rc=$?; echo evil > $OUTSIDE/r/.git/hooks/pre-commit; git config a.b c; "
        .. "echo x > $OUTSIDE/r/.git/config"
    )
    assert.matches("rc=0", outcome.stdout, 1, true)
    assert.is_false(b:exists("outside/r/.git/hooks/pre-commit"))
    assert.not_matches("x\n", b:read("outside/r/.git/config"), 1, true)
    assert.equal(1, b:run_unconfined("git config a.b").status)
  end)

  it("cannot be planted: a .git file that names a repository outside gives no right to it", function()
    local b <close> = box.new({ config = { git = "commit" } })
    b:setup(("git init -q $OUTSIDE/r && cd $OUTSIDE/r && git %s commit -q --allow-empty -m base"):format(IDENTITY))
    b:setup("mkdir -p g && printf 'ref: refs/heads/w\\n' > g/HEAD && echo $OUTSIDE/r/.git > g/commondir")
    -- As if an earlier run had left it.
    b:setup("echo gitdir: $WS/g > .git; echo $WS/.git > g/gitdir")
    b:run("echo x > $OUTSIDE/r/.git/objects/planted; echo y > $OUTSIDE/r/.git/refs/heads/planted")
    assert.is_false(b:exists("outside/r/.git/objects/planted"))
    assert.is_false(b:exists("outside/r/.git/refs/heads/planted"))
    assert.not_matches("planted", b:setup("ls -R $OUTSIDE/r/.git"), 1, true)
  end)

  it("whose .git file is rewritten by a run gives the next no right to what that names", function()
    local b <close> = box.new({ config = { git = "commit" } })
    worktree(b)
    b:setup("git init -q $OUTSIDE/victim")
    b:run("echo gitdir: $OUTSIDE/victim/.git > .git")
    b:run("echo x > $OUTSIDE/victim/.git/planted; echo x > $OUTSIDE/victim/.git/objects/planted")
    assert.not_matches("planted", b:setup("ls -R $OUTSIDE/victim/.git"), 1, true)
  end)

  it("whose git directory has a commondir file planted in it is not led elsewhere", function()
    local b <close> = box.new({ config = { git = "commit" } })
    repository(b)
    b:setup("git init -q $OUTSIDE/victim")
    b:run("echo $OUTSIDE/victim/.git > .git/commondir")
    b:run("echo x > $OUTSIDE/victim/.git/objects/planted; echo x > $OUTSIDE/victim/.git/planted")
    assert.not_matches("planted", b:setup("ls -R $OUTSIDE/victim/.git"), 1, true)
  end)
end)

describe("a run that leaves files for the host to read", function()
  -- The host looks at git's files before and after runs; what it opens must not hold it up.
  local plants = {
    { "a FIFO for a configuration", "git init -q .; rm .git/config; mkfifo .git/config" },
    { "an endless file for a configuration", "git init -q .; rm .git/config; ln -s /dev/zero .git/config" },
    { "a huge file for a configuration", "git init -q .; truncate -s 4T .git/config || truncate -s 1T .git/config" },
    { "a FIFO for a commondir", "mkdir g; mkfifo g/commondir; echo ref: refs/heads/x > g/HEAD; echo gitdir: $WS/g > .git" },
    { "an endless commondir", "mkdir g; ln -s /dev/zero g/commondir; echo gitdir: $WS/g > .git" },
    { "a huge .git file", "echo gitdir: x > .git; truncate -s 1T .git" },
    { "a FIFO for a .git", "mkfifo .git" },
    { "a NUL in a .git file", "mkdir sub; printf 'gitdir: a\\000b\\n' > .git; cp .git sub" },
    { "a NUL in a configuration",
      "git init -q .; printf '[core]\\n\\thooksPath = a\\000b\\n\\tpager = x/\\000y\\n' >> .git/config" },
    { "a FIFO for every hand-off name", "mkfifo .envrc .npmrc .mcp.json; mkdir .vscode; mkfifo .vscode/tasks.json" },
  }
  for _, plant in ipairs(plants) do
    for _, has_git_file in ipairs({ false, true }) do
      it(("holds nobody up with %s%s"):format(plant[1], has_git_file and " over a .git file" or ""), function()
        local b <close> = box.new()
        if has_git_file then
          b:setup("echo gitdir: $OUTSIDE/none > .git")
        end
        -- In a process of its own, which can be ended.
        local line = b:cli_line({ "-q", "--git", "write" }, plant[2])
        local again = b:cli_line({ "-q" }, "echo again")
        local result = b:run_unconfined(("%s; timeout 8 %s; timeout 8 %s"):format(b.memory_limit(), line, again))
        assert.equal("again\n", result.stdout:match("again\n$"), result.stderr)
        assert.equal(0, result.status)
      end)
    end
  end
end)

describe("a workspace that is no repository", function()
  local bare = PLANT
    .. "git init -q --bare b && git config -f b/config core.bare false && git config -f b/config core.worktree $WS "
    .. "&& git config -f b/config core.fsmonitor $WS/evil && "

  it("is not made one without a .git, which git would look into as well", function()
    for _, way in ipairs({ "mv b/* .", "mv b/HEAD b/config . && ln -s b/objects b/refs ." }) do
      box.attack({
        setup = function()
          box.skip_without("git")
        end,
        run = bare .. way,
        hurt = runs_planted,
      })
    end
  end)

  it("and has files of such names may keep them", function()
    local b <close> = box.new()
    local outcome = b:run("echo notes > HEAD; mkdir refs; echo x > config")
    assert.equal("notes\n", b:read("workspace/HEAD"))
    assert.equal(0, #outcome.appeared)
  end)

  it("but a bare one keeps its configuration and hooks", function()
    box.attack({
      setup = function(b)
        box.skip_without("git")
        b:setup("git init -q --bare . && git config core.bare false && git config core.worktree $WS")
      end,
      run = PLANT
        .. "git config core.fsmonitor $WS/evil; echo '[core] fsmonitor = '$WS/evil >> config; cp evil hooks/pre-commit",
      hurt = runs_planted,
      clause = "git",
    })
  end)
end)
