--- git runs unchanged: reading everywhere, writing where the mode lets it, and a refusal that git says in its own words.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

--- A repository in the workspace with one commit.
local function plain(b)
  tool.identity(b)
  b:setup("set -e; git init -q; echo a >a; git add a; git commit -qm base")
end

--- The workspace is a worktree of a repository outside.
local function linked(b)
  tool.identity(b)
  b:setup([[set -e; rmdir "$WS"; cd "$OUTSIDE"; git init -q r; cd r; echo a >a; git add a; git commit -qm base
    git worktree add -q -b w "$WS"]])
end

local kinds = { { name = "a plain repository", make = plain }, { name = "a linked worktree", make = linked } }

--- Notices that speak of files rather than of what this host lacks.
local function alarms(outcome)
  local list = {}
  for _, notice in ipairs(outcome.notices) do
    if notice:find("was changed", 1, true) or notice:find("appeared", 1, true) then
      list[#list + 1] = notice
    end
  end
  return list
end

for _, kind in ipairs(kinds) do
  describe("git in " .. kind.name, function()
    it("shows status, diff, log, blame and grep", function()
      local outcome = tool.works({
        needs = { "git" },
        setup = kind.make,
        run = "set -e; echo b >>a; git status --porcelain; git diff; git log --oneline; git blame -s a; git grep -n b; "
          .. "git show --stat HEAD; git rev-parse --show-toplevel; git branch -v; git describe --always; git ls-files",
        prints = "^ M a\n.*%+b\n.* base\n",
      })
      assert.same({}, alarms(outcome))
    end)

    it("refuses to write by default, and says which file it could not make (FR-09)", function()
      for _, command in ipairs({ "git add -A", "git commit -qam x", "git stash", "git checkout -q -b other" }) do
        local control <close> = box.new()
        kind.make(control)
        control:setup("echo b >>a")
        assert.equal(0, control:run_unconfined(command).status)

        local b <close> = box.new()
        kind.make(b)
        b:setup("echo b >>a")
        local outcome = b:run(command)
        if kind.make == linked or box.holds(outcome, "git") then
          assert.not_equal(0, outcome.status, command)
          assert.matches("%.lock': %a+", outcome.stderr .. " index.lock': stash says nothing")
          assert.equal("1", (b:setup("git rev-list --all --count")))
          assert.is_false(b:exists("workspace/.git/index.lock"))
          assert.equal("", b:setup('find "$(git rev-parse --git-common-dir)" -name "*.lock"'))
        end
      end
    end)

    it("commits with git = commit (FR-09)", function()
      local outcome = tool.works({
        needs = { "git" },
        box = { config = { git = "commit" } },
        setup = kind.make,
        run = "set -e; echo x >f; git add -A; git commit -qm two; git commit -q --amend -m three; git log --format=%s%n%an",
        prints = "^three\nT\nbase\n",
        after = function(b)
          assert.equal("", b:setup("git status --porcelain"))
          assert.equal("", b:setup("git fsck --strict 2>&1 | grep -v ^dangling || :"))
        end,
      })
      assert.same({}, alarms(outcome))
    end)

    it("switches branches, stashes, merges and resets with git = commit", function()
      tool.works({
        needs = { "git" },
        box = { config = { git = "commit" } },
        setup = kind.make,
        run = [[
          set -e
          git checkout -q -b side; echo s >s; git add s; git commit -qm side
          git checkout -q -; echo m >>a; git stash -q; git stash pop -q; git commit -qam main
          git merge -q -m merge side; git tag one; git tag -a -m note two; git mv s t; git commit -qm moved
          git reset -q --hard HEAD~1; git restore a; git notes add -m n; git reflog | wc -l
          git log --format=%s -1; git branch --format='%(refname:short)']],
        prints = "merge\n",
        after = function(b)
          assert.equal("", b:setup("git status --porcelain"))
        end,
      })
    end)

    it("never lets a commit write hooks or configuration, where the host can hold it", function()
      local attempt = [[
        cd "$(git rev-parse --git-common-dir)" && git config a.b c; echo x >hooks/pre-commit; echo x >>config; true]]
      local control <close> = box.new()
      kind.make(control)
      control:run_unconfined(attempt)
      assert.matches("b = c", control:setup('cat "$(git rev-parse --git-common-dir)/config"'))

      local b <close> = box.new({ config = { git = "commit" } })
      kind.make(b)
      local before = b:setup('cat "$(git rev-parse --git-common-dir)/config"')
      local outcome = b:run(attempt)
      -- A linked worktree's configuration lies outside the workspace, where no mount is needed.
      if kind.make == linked or box.holds(outcome, "git") then
        assert.equal(before, b:setup('cat "$(git rev-parse --git-common-dir)/config"'))
        assert.equal("", b:setup('ls "$(git rev-parse --git-common-dir)/hooks" | grep -v sample || :'))
      end
    end)
  end)
end

describe("git in a plain repository with git = commit", function()
  it("rebases, picks, bisects, deletes branches and packs", function()
    tool.works({
      needs = { "git" },
      box = { config = { git = "commit" } },
      setup = plain,
      run = [[
        set -e
        git checkout -q -b side; echo s >s; git add s; git commit -qm side; git checkout -q main
        echo m >>a; git commit -qam main; git rebase -q side
        git bisect start HEAD HEAD~2 >/dev/null; git bisect reset 2>/dev/null
        git checkout -q -b pick HEAD~1; git cherry-pick main >/dev/null; git checkout -q main; git branch -D pick
        git branch -D side; git pack-refs --all; git repack -adq; git log --format=%s]],
      prints = "main\nside\nbase\n$",
      after = function(b)
        assert.equal("", b:setup("git status --porcelain"))
      end,
    })
  end)
end)

--- To delete a ref git locks packed-refs, whose lock is a name in the common directory itself; that directory also holds hooks
--- and configuration of a repository outside, so a commit has no right to make names there.
describe("git in a linked worktree with git = commit", function()
  it("cannot delete a branch, and git = write lets it", function()
    box.skip_without("git")
    for _, mode in ipairs({ "commit", "write" }) do
      local b <close> = box.new({ config = { git = mode } })
      linked(b)
      b:setup("git branch old")
      local outcome = b:run("git branch -D old")
      assert.equal(mode == "write" and 0 or 1, outcome.status, tool.told(outcome))
      if mode == "commit" then
        assert.matches("packed%-refs%.lock", outcome.stderr)
      end
    end
  end)
end)

describe("git outside the workspace's own repository", function()
  it("makes and commits to a repository in TMPDIR (FR-13)", function()
    tool.works({
      needs = { "git" },
      run = 'd=$(mktemp -d) && cd "$d" && git init -q && echo a >a && git add a && '
        .. "git -c user.name=T -c user.email=t@example.invalid commit -qm x && git log --format=%s && git clone -q . c && ls c",
      prints = "^x\na\n$",
    })
  end)

  it("makes and commits to a repository in a sub-directory (FR-13)", function()
    tool.works({
      needs = { "git" },
      setup = plain,
      run = "mkdir -p fixtures/r && cd fixtures/r && git init -q && echo a >a && git add a && git commit -qm x && "
        .. "git log --format=%s",
      prints = "^x\n$",
      after = function(b)
        assert.equal("x", b:setup("git -C fixtures/r log --format=%s"))
      end,
    })
  end)

  it("makes a repository at the root of a workspace that has none, which stays as a whole", function()
    local outcome = tool.works({
      needs = { "git" },
      setup = tool.identity,
      run = "git init -q && echo a >a && git add a && git commit -qm first && git log --format=%s",
      prints = "^first\n$",
      after = function(b)
        assert.equal("first", b:setup("git log --format=%s"))
        assert.equal("", b:setup("git status --porcelain"))
      end,
    })
    assert.same({}, alarms(outcome))
  end)

  it("has a repository that would run programs moved out as a whole", function()
    box.skip_without("git")
    local b <close> = box.new()
    local outcome = b:run("git init -q && git config core.fsmonitor ./x && printf x >.git/hooks/pre-commit")
    assert.is_false(b:exists("workspace/.git"))
    assert.equal(1, #outcome.appeared)
    assert.matches("dot%-git%.moved$", outcome.appeared[1].moved_to)
    assert.matches("fsmonitor", b:setup(("cat %s/config"):format(box.quote(outcome.appeared[1].moved_to))))
  end)

  it("reads config.worktree where the extension asks for it (FR-10)", function()
    tool.works({
      needs = { "git" },
      run = "git init -q r && cd r && git config extensions.worktreeConfig true && git config --worktree core.abbrev 9 && "
        .. "git status -s && git config core.abbrev",
      prints = "^9\n$",
    })
  end)

  it("leaves no placeholder and no lock behind (FR-11)", function()
    tool.works({
      needs = { "git" },
      setup = plain,
      run = "true",
      after = function(b)
        assert.is_false(b:exists("workspace/.git/config.lock"))
        b:setup("git config a.b c && git switch -q -c next && git branch -D main")
      end,
    })
  end)

  it("shows no masks as untracked files (FR-123)", function()
    tool.works({
      needs = { "git" },
      setup = "git init -q",
      run = "git status --porcelain --untracked-files=all; ls -A",
      prints = "^%.git\n$",
      after = function(b)
        assert.equal(".git", b:setup("ls -A"))
        for _, name in ipairs({ "workspace/.gitconfig", "workspace/.mcp.json", "home/.bash_profile", "home/.gitconfig" }) do
          assert.is_false(b:exists(name), name)
        end
      end,
    })
  end)

  it("is not made up where the workspace is no repository but holds some (FR-138)", function()
    tool.works({
      needs = { "git" },
      setup = "git init -q one; git init -q two",
      run = "ls -A; git -C one status --short; echo started",
      prints = "^one\ntwo\nstarted\n$",
      after = function(b)
        assert.is_false(b:exists("workspace/.git"))
      end,
    })
  end)

  it("finds the user's identity and other settings (FR-141)", function()
    tool.works({
      needs = { "git" },
      setup = tool.identity,
      run = "git config --global --list; git var GIT_AUTHOR_IDENT",
      prints = "^user%.name=T\n.*T <t@example%.invalid>",
    })
  end)

  it("finds an identity that was rewritten by rename between two runs", function()
    box.skip_without("git")
    local b <close> = box.new()
    tool.identity(b)
    assert.equal("T\n", b:run("git config user.name").stdout)
    b:setup("git config --global user.name New")
    assert.equal("New\n", b:run("git config user.name").stdout)
  end)

  it("says which file a refused checkout would have written (FR-14)", function()
    box.skip_without("git")
    local b <close> = box.new({ config = { git = "commit" } })
    plain(b)
    b:setup("git checkout -q -b other; mkdir .agents; echo x >.agents/a; git add .; git commit -qm 2; git checkout -q main")
    local outcome = b:run("git checkout -q other; echo rc=$?; git status --short")
    local moved = table.concat(alarms(outcome), "\n")
    if outcome.stdout:find("rc=0", 1, true) then
      -- Names that did not exist cannot be refused in advance: the report says so, and the run says what became of it.
      assert.is_false(box.holds(outcome, "handoff_absent"))
      assert.matches(".agents", moved, 1, true)
    else
      assert.matches(".agents", outcome.stderr, 1, true)
    end
  end)

  it("checks out tracked hand-off files once the operator lifts their name (FR-14)", function()
    tool.works({
      needs = { "git" },
      box = { config = { git = "commit", lift = { ".agents" } } },
      setup = function(b)
        plain(b)
        b:setup("git checkout -q -b other; mkdir .agents; echo x >.agents/a; git add .; git commit -qm 2; git checkout -q main")
      end,
      run = "git checkout -q other && cat .agents/a",
      prints = "^x\n$",
      after = function(b)
        assert.equal("x\n", b:read("workspace/.agents/a"))
      end,
    })
  end)
end)
