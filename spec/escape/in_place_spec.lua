--- In the user's own tree: the repository stays as it is, credentials that git ignores read as empty, and nothing that a
--- repository names is run to find that out.

local box = require("spec.support.box")

local function new(options)
  options = options or {}
  options.policy = "in-place"
  return box.new(options)
end

--- A repository with credentials in it; the test's git knows no configuration but the box's.
local function make_repository(b)
  b:write("home/.gitconfig", "[user]\n\tname = t\n\temail = t@example.org\n[core]\n\texcludesFile = ~/mine\n")
  b:write("home/mine", "*.pem\n")
  b:setup([[
git init -q . && mkdir -p deep/er dist
printf '.env\n*.key\n!public.key\ndist/\n' >.gitignore
echo S3CRET1 >.env; echo S3CRET2 >deep/er/.env; echo S3CRET3 >my.pem; echo S3CRET4 >dist/id_rsa; echo S3CRET5 >a.key
echo fine >public.key; echo committed >shared.key; echo plain >plain; git add . && git add -f shared.key && git commit -qm one
]])
end

local CREDENTIALS = { ".env", "deep/er/.env", "my.pem", "dist/id_rsa", "a.key" }
local OTHERS = { ["public.key"] = "fine\n", ["shared.key"] = "committed\n", plain = "plain\n" }

describe("credentials that git ignores", function()
  it("read as empty, and everything else as it is", function()
    local b <close> = new()
    make_repository(b)
    local command = "for f in " .. table.concat(CREDENTIALS, " ") .. "; do cat $f || exit 9; done"
    assert.matches("S3CRET1\nS3CRET2\nS3CRET3\nS3CRET4\nS3CRET5\n", b:run_unconfined(command).stdout, 1, true)
    local outcome = b:run(command)
    if box.report_row(outcome, "ignored").id == "carve" then
      assert.equal("unenforced", box.report_row(outcome, "ignored").state)
      return
    end
    assert.equal("", outcome.stdout)
    assert.equal(0, outcome.status, outcome.stderr)
    for name, text in pairs(OTHERS) do
      assert.equal(text, b:run("cat " .. name).stdout, name)
    end
  end)

  it("cannot be written, removed, renamed or uncovered, and are there afterwards", function()
    local attacks = {
      "echo x >.env", "rm .env", "mv .env other", "mv deep shallow", "echo x >new && mv new .env", "ln -f public.key .env",
      "umount .env", "mv deep/er deep/erer; cat deep/er/.env deep/erer/.env", "rm -rf deep",
    }
    local b <close> = new()
    make_repository(b)
    if box.report_row(b:report(), "ignored").id == "carve" then
      return
    end
    for _, attack in ipairs(attacks) do
      local outcome = b:run(attack)
      assert.is_true(outcome.status ~= 0, attack)
      assert.not_matches("S3CRET", outcome.stdout .. outcome.stderr, 1, true)
    end
    assert.equal("S3CRET1\n", b:read("workspace/.env"))
    assert.equal("S3CRET2\n", b:read("workspace/deep/er/.env"))
  end)

  it("stay empty when a command changes the rules, makes a repository around them or closes their directory", function()
    local attacks = {
      { "echo '!.env' >>.gitignore; echo '!*' >deep/er/.gitignore", "cat .env deep/er/.env" },
      { "git init -q deep/er; git -C deep/er add -f .env", "cat deep/er/.env" },
      { "chmod 0 deep/er", "chmod 700 deep/er; cat deep/er/.env" },
      { "git add -f .env; git -c core.hooksPath=/ commit -qm x", "cat .env" },
      { "rm .gitignore", "cat .env" },
    }
    for _, attack in ipairs(attacks) do
      local b <close> = new()
      make_repository(b)
      if box.report_row(b:report(), "ignored").id == "carve" then
        return
      end
      b:run(attack[1])
      local outcome = b:run(attack[2])
      assert.not_matches("S3CRET", outcome.stdout, 1, true, attack[1])
    end
  end)

  it("that are made later read as empty in the next run", function()
    local b <close> = new()
    make_repository(b)
    if box.report_row(b:report(), "ignored").id == "carve" then
      return
    end
    assert.equal("plain\n", b:run("cat plain").stdout)
    b:setup("mkdir -p dist/later && echo S3CRET6 >dist/later/server.key")
    assert.equal("", b:run("cat dist/later/server.key").stdout)
    b:setup("rm dist/later/server.key")
    assert.equal("own\n", b:run("echo own >dist/later/server.key; cat dist/later/server.key").stdout)
  end)

  it("that a program outside replaces are named afterwards", function()
    local b <close> = new()
    make_repository(b)
    if box.report_row(b:report(), "ignored").id == "carve" then
      return
    end
    local child = b:start("sleep 0.5; echo new >$WS/n && mv $WS/n $WS/.env")
    local outcome = b:run("sleep 1.2")
    child:stop()
    assert.matches("/.env was replaced from outside", table.concat(outcome.notices, "\n"), 1, true)
  end)

  it("are named as a gap where there are no mounts, and re-opened by the operator", function()
    local b <close> = new({ config = { lift = { ".env*" } } })
    make_repository(b)
    local outcome = b:run("cat .env")
    assert.equal("S3CRET1\n", outcome.stdout)
    local row = box.report_row(outcome, "ignored")
    assert.matches("lifted by the operator: .env*", row.effect, 1, true)
    assert.is_true(row.id == "replace" or row.id == "carve")
  end)
end)

describe("the repository", function()
  local attacks = {
    "git commit -q --allow-empty -m x", "git tag x", "echo x >.git/description", "mv .git other", "rm -rf .git",
    "git config a.b c", "git stash", "git update-ref refs/heads/x HEAD", "mv ../tree/main ../tree/other",
    "echo x >../tree/main/.git/refs/heads/x",
  }

  it("is not written, a linked worktree's own and common directory neither, wherever they lie", function()
    for _, where in ipairs({ "workspace", "linked" }) do
      local b <close> = new()
      if where == "linked" then
        -- The main repository lies in another writable tree.
        b:write("home/.gitconfig", "[user]\n\tname = t\n\temail = t@example.org\n")
        b:setup("git init -q ../tree/main && cd ../tree/main && git commit -q --allow-empty -m one && git worktree add -q $WS")
        b.options.config = { writable = { b:path("tree") } }
      else
        make_repository(b)
      end
      assert.equal(0, b:run_unconfined("git -C . tag control && git commit -q --allow-empty -m control").status)
      local refs = b:setup("git for-each-ref; git rev-parse HEAD; git config -l --local")
      local holds = box.holds(b:report(), "git")
      for _, attack in ipairs(attacks) do
        if holds then
          b:run(attack)
          assert.equal(refs, b:setup("git for-each-ref; git rev-parse HEAD; git config -l --local"), where .. ": " .. attack)
        end
      end
      assert.equal(0, b:run("git status --short").status)
    end
  end)
end)

describe("what a repository names", function()
  --- Everything that git would run on `git status`, `git add` or `git diff`, or read a name of a program from.
  local PLANTED = [[
mkdir -p ../marks
cat >../evil <<'END'
#!/bin/sh
touch "$(dirname "$0")/marks/$1"
END
chmod +x ../evil
evil="$(cd .. && pwd -P)/evil"
git config core.fsmonitor "$evil fsmonitor"
git config filter.x.clean "$evil filter"
git config filter.x.smudge "$evil filter"
git config diff.x.textconv "$evil textconv"
git config alias.status "!$evil alias"
git config core.pager "$evil pager"
git config core.hooksPath "$(pwd -P)/.git/hooks"
printf '#!/bin/sh\n%s hook\n' "$evil" >.git/hooks/post-index-change
chmod +x .git/hooks/post-index-change
printf '[core]\n\tfsmonitor = %s included\n\texcludesFile = %s\n' "$evil" "$(pwd -P)/none" >.git/more
git config include.path more
echo '* filter=x diff=x' >.gitattributes
]]

  it("is never run by procage, though git runs it", function()
    local b <close> = new()
    make_repository(b)
    b:setup(PLANTED)
    assert.equal("", b:setup("ls ../marks"))
    -- The positive control, in a tree of its own.
    do
      local control <close> = new()
      make_repository(control)
      control:setup(PLANTED)
      control:run_unconfined("echo more >>plain; git status; git add plain; git diff HEAD~0 | cat; git diff --cached | cat")
      local marks = control:setup("ls ../marks")
      for _, name in ipairs({ "included", "filter", "textconv", "hook" }) do
        assert.matches(name, marks, 1, true)
      end
    end
    local policy = assert(b:policy())
    assert.is_table(policy:view())
    b:run("true")
    b:setup("touch dist/x .gitignore")
    b:run("true")
    assert.equal("", b:setup("ls ../marks"))
  end)
end)
