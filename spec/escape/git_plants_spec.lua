--- What a run plants where the user's own git goes by itself: repositories inside others, links that git writes through, files
--- that the configuration names. Judged by what the user's next git command does.

local box = require("spec.support.box")
local plants = require("procage.git_plants")

local GIT = "git -c user.name=T -c user.email=t@example.invalid "
local EVIL = "git config core.fsmonitor 'touch $OUTSIDE/ran; false'"

local function git_runs_it(b)
  b:run_unconfined("git status >/dev/null 2>&1; git commit -qam next --allow-empty >/dev/null 2>&1; git status >/dev/null 2>&1")
  return b:exists("outside/ran")
end

--- A repository of the user's with a file in it.
local function repository(b)
  b.env.GIT_CONFIG_NOSYSTEM = "1"
  b:setup("git config --global user.name T; git config --global user.email t@example.invalid; "
    .. "git config --global protocol.file.allow always; git init -q . && echo a > a && git add a && git commit -qm one")
end

--- The same with a submodule at `place`.
local function with_submodule(place, is_fetched)
  return function(b)
    repository(b)
    b:setup("git init -q $OUTSIDE/lib && cd $OUTSIDE/lib && echo l > l && git add l && git commit -qm lib")
    b:setup(("git submodule --quiet add $OUTSIDE/lib %s && git commit -qm sub"):format(place))
    if not is_fetched then
      b:setup(("git submodule --quiet deinit -f %s && rm -rf .git/modules"):format(place))
    end
  end
end

local deep = "third_party/a/b/c/d/e/f"

local ways = {
  { "in a submodule that is not there yet", with_submodule("sub", false), "cd sub && git init -q . && " .. EVIL },
  { "in place of a submodule among dependencies", with_submodule("vendor/lib", true),
    "cd vendor/lib && rm -rf .git && git init -q . && " .. EVIL },
  { "in place of a submodule that lies deep", with_submodule(deep, true),
    ("cd %s && rm -rf .git && git init -q . && %s"):format(deep, EVIL) },
  { "in a directory, entered by an index of its own", function() end,
    "git init -q . && git init -q sub && (cd sub && " .. EVIL .. " && " .. GIT .. "commit -q --allow-empty -m x); "
      .. GIT .. "add sub; " .. GIT .. "commit -qm x" },
  { "among dependencies, entered by an index of its own", function() end,
    "git init -q . && git init -q node_modules/x && (cd node_modules/x && " .. EVIL .. " && " .. GIT
      .. "commit -q --allow-empty -m x); " .. GIT .. "add -f node_modules/x; " .. GIT .. "commit -qm x" },
  { "in a repository inside the user's, by its index",
    function(b)
      repository(b)
      b:setup("git init -q sub && cd sub && git commit -q --allow-empty -m s && cd .. && git add sub 2>/dev/null && "
        .. "git commit -qm sub")
    end,
    "cd sub && git init -q x && (cd x && " .. EVIL .. " && " .. GIT .. "commit -q --allow-empty -m x); git add x 2>/dev/null" },
}

describe("a repository that a run plants", function()
  setup(function()
    box.skip_without("git")
  end)

  for _, way in ipairs(ways) do
    it("is not run by git at the top: " .. way[1], function()
      box.attack({ setup = way[2], run = way[3], hurt = git_runs_it })
    end)
  end

  it("is not run by way of the user's own index, which a commit may write", function()
    local function set_up(b)
      repository(b)
      b.options.config = { git = "commit" }
    end
    for _, version in ipairs({ "", "git update-index --index-version 4; ", "git update-index --split-index; " }) do
      box.attack({
        setup = set_up,
        run = version .. "git init -q .venv/x && (cd .venv/x && " .. EVIL .. " && git commit -q --allow-empty -m x); "
          .. "git add -f .venv/x 2>/dev/null",
        hurt = git_runs_it,
      })
    end
  end)

  it("is moved out of a directory that was closed to listing", function()
    local b <close> = box.new()
    repository(b)
    assert.equal(0, b:run("mkdir d && cd d && git init -q . && " .. EVIL .. " && cd .. && chmod 0311 d").status)
    b:setup("chmod 755 d")
    assert.is_false(b:exists("workspace/d/.git"))
  end)

  it("cannot be meant by an index that nobody can read: it is moved, and an unchanged one is not", function()
    local b <close> = box.new()
    repository(b)
    b.options.config = { git = "commit" }
    assert.same({}, b:run("true").appeared)
    local outcome = b:run("printf 'DIRC\\0\\0\\0\\11' > .git/index")
    assert.equal(b:path("workspace/.git/index"), outcome.appeared[1].path)
    assert.is_false(b:exists("workspace/.git/index"))
  end)

  it("is moved out when it is a bare one with a hook", function()
    box.attack({
      run = "git init -q --bare b.git && printf '#!/bin/sh\ntouch $OUTSIDE/ran\n' > b.git/hooks/pre-receive && "
        .. "chmod +x b.git/hooks/pre-receive",
      hurt = function(b)
        b:run_unconfined("git init -q $OUTSIDE/c && cd $OUTSIDE/c && " .. GIT .. "commit -q --allow-empty -m x && "
          .. "git push -q $WS/b.git HEAD:refs/heads/x")
        return b:exists("outside/ran")
      end,
    })
  end)

  it("stays where nothing in it runs anything: made, cloned from another machine, with submodules", function()
    local b <close> = box.new()
    local outcome = b:run("git init -q sub && cd sub && echo a > a && git add a && " .. GIT .. "commit -qm x && "
      .. "git remote add origin https://example.org/x.git && git config branch.main.remote origin && "
      .. "git config branch.main.merge refs/heads/main && cd .. && git init -q --bare mirror.git && "
      .. "git init -q whole && cd whole && git -c protocol.file.allow=always submodule --quiet add $WS/sub lib 2>/dev/null && "
      .. "git config submodule.lib.url https://example.org/x.git && "
      .. "git -C lib config remote.origin.url https://example.org/x.git && git status --short")
    assert.equal(0, outcome.status, outcome.stderr)
    assert.same({}, outcome.appeared)
    for _, name in ipairs({ "sub/.git", "mirror.git/HEAD", "whole/.git", "whole/lib/.git" }) do
      assert.is_true(b:exists("workspace/" .. name), name)
    end
  end)

  it("of the user's own is left alone: bare, with hooks and a remote that is a path", function()
    local b <close> = box.new()
    repository(b)
    b:setup("git init -q --bare b.git && printf '#!/bin/sh\n' > b.git/hooks/pre-receive && "
      .. "git -C b.git config remote.x.url ../y && git init -q node && cd node && git config core.pager ./x")
    local outcome = b:run("touch b.git/new node/new; mkdir more; touch more/x")
    assert.same({}, outcome.appeared)
    assert.is_true(b:exists("workspace/b.git/HEAD") and b:exists("workspace/node/.git/config"))
  end)
end)

describe("a link in a git directory", function()
  setup(function()
    box.skip_without("git")
  end)

  local function commits(b)
    b:run_unconfined("echo more > more; git add more; " .. GIT .. "commit -qm mine; git checkout -qb other; git checkout -q -")
  end

  it("is not written through by the user's git: in a repository of the run's", function()
    for _, link in ipairs({ "rm .git/logs/HEAD; ln -s ~/precious .git/logs/HEAD", "ln -sf ~/precious .git/COMMIT_EDITMSG" }) do
      box.attack({
        setup = function(b)
          b:write("home/precious", "precious\n")
        end,
        run = "git init -q . && echo a > a && git add a && " .. GIT .. "commit -qm x && " .. link,
        hurt = function(b)
          commits(b)
          return b:read("home/precious") ~= "precious\n"
        end,
      })
    end
  end)

  it("is not written through by the user's git: in his own repository", function()
    for _, link in ipairs({
      "ln -sf ~/precious .git/COMMIT_EDITMSG",
      "rm .git/logs/HEAD; ln -s ~/precious .git/logs/HEAD",
      "mkdir d; ln -s ~/precious d/HEAD; mv .git/logs .git/l; mv d .git/logs",
    }) do
      box.attack({
        setup = function(b)
          repository(b)
          b:write("home/precious", "precious\n")
          b.options.config = { git = "commit" }
        end,
        run = link,
        hurt = function(b)
          commits(b)
          return b:read("home/precious") ~= "precious\n"
        end,
      })
    end
  end)

  it("that is the user's own stays", function()
    local b <close> = box.new()
    repository(b)
    b:mkdir("outside/logs")
    b:setup("rm -r .git/logs && ln -s $OUTSIDE/logs .git/logs")
    b.options.config = { git = "commit" }
    assert.same({}, b:run("echo b > b && git add b").appeared)
    assert.is_true(b:exists("workspace/.git/logs"))
  end)
end)

describe("what the user's git configuration names", function()
  setup(function()
    box.skip_without("git")
  end)

  local function configured(key, value, files)
    return function(b)
      repository(b)
      b:setup(files or "true")
      b:setup(("git add -A; git commit -qm files; git config %s \"%s\""):format(key, value))
    end
  end

  local function git_runs(b)
    b:run_unconfined("git status >/dev/null 2>&1; echo x >> a; git add a; git diff HEAD >/dev/null 2>&1; "
      .. "git commit -qm x >/dev/null 2>&1; git tool >/dev/null 2>&1")
    return b:exists("outside/ran")
  end

  local script = "mkdir -p tools && printf '#!/bin/sh\ncat\n' > tools/x && chmod +x tools/x"
  local evil = "printf '#!/bin/sh\ntouch $OUTSIDE/ran; cat\n' > tools/x; chmod +x tools/x"

  for _, case in ipairs({
    { "hooks in a directory", "core.hooksPath", "tools", "mkdir tools; touch tools/keep",
      "printf '#!/bin/sh\ntouch $OUTSIDE/ran\n' > tools/pre-commit; chmod +x tools/pre-commit" },
    { "hooks in a directory that is not there", "core.hooksPath", "tools", "true",
      "mkdir tools; printf '#!/bin/sh\ntouch $OUTSIDE/ran\n' > tools/pre-commit; chmod +x tools/pre-commit" },
    { "hooks at the top", "core.hooksPath", "$WS", "true",
      "printf '#!/bin/sh\ntouch $OUTSIDE/ran\n' > pre-commit; chmod +x pre-commit" },
    { "a file system monitor", "core.fsmonitor", "tools/x", script, evil },
    { "an included file", "include.path", "../gitcfg", "printf '[alias]\n\tst = status\n' > gitcfg",
      "printf '[core]\n\tfsmonitor = \"touch $OUTSIDE/ran; false\"\n' >> gitcfg" },
    { "an alias", "alias.tool", "!sh tools/x", script, evil },
    { "a program of an interpreter", "core.fsmonitor", "env A=1 sh ./tools/x", script, evil },
  }) do
    it("cannot be changed: " .. case[1], function()
      box.attack({
        setup = configured(case[2], case[3], case[4]),
        run = case[5],
        hurt = git_runs,
        clause = "handoff",
      })
    end)
  end

  it("by the user's own file is kept too, and what no key names is written as ever", function()
    box.attack({
      setup = function(b)
        repository(b)
        b:setup(script .. "; git config --global core.fsmonitor tools/x")
      end,
      run = evil,
      hurt = git_runs,
      clause = "handoff",
    })
    local b <close> = box.new()
    configured("alias.tool", "!grep -rn a README.md", "echo readme > README.md")(b)
    assert.equal(0, b:run("echo more >> README.md && echo x > other").status)
  end)

  it("is told when it is changed where nothing can keep it", function()
    local b <close> = box.new()
    configured("core.fsmonitor", "tools/x", script)(b)
    local outcome = b:run(evil)
    assert.is_true(b:read("workspace/tools/x"):find("ran", 1, true) == nil
      or table.concat(outcome.notices, "\n"):find("tools/x was changed", 1, true) ~= nil)
  end)
end)

describe("a link in a directory that is kept", function()
  it("keeps what it leads to: a hook beside the sources, an agent's settings", function()
    box.skip_without("git")
    for _, case in ipairs({ { ".git/hooks", "pre-commit", "../../scripts/x" }, { ".husky", "pre-commit", "../scripts/x" },
      { ".claude", "settings.json", "../scripts/x" } }) do
      box.attack({
        setup = function(b)
          repository(b)
          b:write("workspace/scripts/x", "mine")
          b:setup(("mkdir -p %s && ln -s %s %s/%s"):format(case[1], case[3], case[1], case[2]))
        end,
        run = "echo evil > scripts/x; echo fine > scripts/y",
        hurt = function(b)
          return b:read("workspace/scripts/x") ~= "mine" and b:exists("workspace/scripts/y")
        end,
        clause = "handoff",
      })
    end
  end)

  it("that leads to the workspace itself keeps nothing else from being written", function()
    local b <close> = box.new()
    b:setup("mkdir .claude && ln -s .. .claude/root")
    assert.equal(0, b:run("echo x > new").status)
  end)
end)

describe("what is moved out", function()
  setup(function()
    box.skip_without("git")
  end)

  it("has no name that somebody would run it by, and git takes it for no repository", function()
    local b <close> = box.new()
    local outcome = b:run("git init -q . && " .. EVIL .. "; git init -q --bare .git/modules/x; mkdir .claude; echo > .envrc")
    assert.equal(3, #outcome.appeared)
    for _, entry in ipairs(outcome.appeared) do
      assert.matches("/dot%-[^/]+%.moved$", entry.moved_to)
    end
    assert.is_false(b:exists("outside/ran"))
    local moved = outcome.appeared[1].moved_to:match("^(.*)/")
    local found = b:run_unconfined(("cd %s && find . -type d | while read -r d; do (cd \"$d\" && git status) ; done"):format(
      box.quote(moved)))
    assert.is_false(b:exists("outside/ran"))
    assert.not_matches("On branch", found.stdout, 1, true)
  end)

  it("is no work without end: other spellings of a name, of which a command can make a million", function()
    local b <close> = box.new()
    local outcome = b:run(box.python([[
import itertools
name = ".pre-commit-config.yaml"
letters = [i for i, c in enumerate(name) if c.isalpha()][:11]
for bits in itertools.product((0, 1), repeat=len(letters)):
    open("".join(c.upper() if i in letters and bits[letters.index(i)] else c for i, c in enumerate(name)), "w")
]]))
    assert.equal(0, outcome.status, outcome.stderr)
    assert.is_true(#outcome.appeared <= 65, #outcome.appeared)
    assert.is_false(b:exists("workspace/.pre-commit-config.yaml"))
  end)
end)

describe("a repository that was known", function()
  it("is still kept when a run has filled the tree with directories that come before it", function()
    box.skip_without("git")
    local b <close> = box.new()
    repository(b)
    b:setup("git init -q sub")
    b:run("for i in $(seq 1100); do mkdir '!'$i; done")
    local plant = "cd $WS; printf '[core]\n\tfsmonitor = x\n' >> sub/.git/config; mkdir -p sub/.git/hooks; "
      .. "echo > sub/.git/hooks/x"
    b:cli({ "-q" }, (plant:gsub("^cd %$WS; ", "")))
    if box.holds(b:report(), "handoff") then
      assert.not_matches("fsmonitor", b:read("workspace/sub/.git/config"), 1, true)
      assert.is_false(b:exists("workspace/sub/.git/hooks/x"))
    end
    b:setup(plant)
    assert.matches("fsmonitor", b:read("workspace/sub/.git/config"), 1, true)
    assert.is_true(b:exists("workspace/sub/.git/hooks/x"))
  end)

  it("is told from the directories that a run has made before it, and known to later runs", function()
    box.skip_without("git")
    local before = "i=0; while [ $i -lt 1100 ]; do mkdir '!'$i; i=$((i+1)); done; "
    local function git_runs_below(b)
      b:run_unconfined("cd zz && git status")
      return b:exists("outside/ran")
    end
    box.attack({ run = before .. "git init -q zz && cd zz && " .. EVIL, hurt = git_runs_below })
    -- In two runs: nothing runs anything in what the first one has made.
    local b <close> = box.new()
    assert.same({}, b:run(before .. "git init -q zz").appeared)
    b:cli({ "-q" }, "cd zz && " .. EVIL)
    if box.holds(b:report(), "handoff") then
      assert.is_false(git_runs_below(b) or false)
    end
  end)
end)

describe("indexes that are read at once", function()
  it("are passed over when the bound is reached, and others are not", function()
    local b <close> = box.new()
    b:write("workspace/.git/index", ("x"):rep(2000))
    local left = { bytes = 1999 }
    assert.is_nil(plants.entered(b.workspace, b.workspace .. "/.git", nil, left))
    assert.equal(1999, left.bytes)
    left.bytes = 5000
    plants.entered(b.workspace, b.workspace .. "/.git", nil, left)
    assert.equal(3000, left.bytes)
  end)
end)
