--- A profile that reads a list of trees: nothing else is read, whatever leads there.

local box = require("spec.support.box")

--- Gaps of a host without mounts, which a policy that accepts nothing does not live with.
local GAPS = '"metadata", "stat", "carve", "process_tree", "signal_scope", "truncate", "device_ioctl", "replace"'

--- A policy of the box's own: programs and libraries, the workspace, and `more`, Lua that goes on with `p`, `ctx` and `at`.
local function new(more, options)
  options = options or {}
  local b = box.new(options)
  b.options.policy = b:write("outside/list.lua", ([[
local profile = require("procage.profile")
return function(config, ctx)
  local p = profile.new()
  local at = %q
  p:allow_read("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/passwd")
  p:workspace(ctx.workspace)
  p:git("write")
  p:accept(%s)
  %s
  return p
end
]]):format(b.root, GAPS, more or ""))
  return b
end

describe("a list of readable trees", function()
  it("is all that is read, and lists nothing beside it", function()
    local b <close> = new()
    b:write("outside/secret", "S3CRET")
    b:write("home/secret", "S3CRET")
    b:write("workspace/own", "own")
    local reads = {
      "cat $OUTSIDE/secret", "cat ~/secret", "cat ../home/secret", "ls ~ | grep secret", "ls /srv && echo S3CRET",
      "ls / && echo S3CRET", "cat /etc/hostname >/dev/null && echo S3CRET", "cat /proc/version && echo S3CRET",
      "ls /sys >/dev/null && echo S3CRET", "cat <$OUTSIDE/secret", "cp $OUTSIDE/secret x; cat x",
      "ln -s $OUTSIDE/secret link; cat link", "ln $OUTSIDE/secret hard && cat hard", "cd $OUTSIDE && cat secret",
      "dd if=$OUTSIDE/secret", "grep -r S3CRET ..", "tar cf - -C .. outside | cat", "cat $OUTSIDE/sec*",
    }
    for _, command in ipairs(reads) do
      local control = b:run_unconfined(command)
      assert.matches("[Ss3][3e][Cc][Rr][Ee][Tt]", control.stdout .. control.stderr, command)
      b:setup("rm -f x link hard")
      local outcome = b:run(command)
      assert.not_matches("S3CRET", outcome.stdout, 1, true, command)
      b:setup("rm -f x link hard")
    end
    assert.equal("own", b:run("cat own").stdout)
    assert.matches("root:", b:run("cat /etc/passwd").stdout, 1, true)
    assert.equal("S3CRET", b:read("outside/secret"))
  end)

  it("runs programs and writes the workspace", function()
    local b <close> = new()
    local command = "echo a >x && mkdir d && mv x d/y && sed s/a/b/ d/y && rm -r d && echo z >/dev/null && uname -s && pwd -P"
    local outcome = b:run(command)
    assert.equal("b\nLinux\n" .. b.workspace .. "\n", outcome.stdout, outcome.stderr)
    assert.is_true(b:run("echo x >$OUTSIDE/x").status ~= 0)
  end)

  it("takes single files, links to them, and trees that are not there", function()
    local b <close> = new([[p:allow_read(at .. "/outside/one", at .. "/home/linked", at .. "/outside/nowhere")]])
    b:write("outside/one", "one")
    b:write("outside/two", "two")
    b:write("outside/dotfiles/rc", "three")
    b:symlink("../outside/dotfiles/rc", "home/linked")
    assert.equal("one", b:run("cat $OUTSIDE/one").stdout)
    assert.equal("three", b:run("cat ~/linked").stdout)
    assert.equal("", b:run("cat $OUTSIDE/two; ls $OUTSIDE; ls $OUTSIDE/dotfiles").stdout)
  end)

  it("keeps what is hidden in a listed tree hidden", function()
    local b <close> = new([[p:allow_read(at .. "/outside") p:hidden(at .. "/outside/deep/key", at .. "/outside/later")]])
    b:write("outside/deep/key", "S3CRET")
    b:write("outside/deep/other", "other")
    assert.equal("other", b:run("cat $OUTSIDE/deep/other").stdout)
    assert.not_matches("S3CRET", b:run("cat $OUTSIDE/deep/key").stdout, 1, true)
    b:write("outside/later", "S3CRET")
    assert.not_matches("S3CRET", b:run("cat $OUTSIDE/later").stdout, 1, true)
  end)

  it("does not follow a link that a command may have made", function()
    local b <close> = new([[p:allow_read(ctx.workspace .. "/cache")]])
    b:write("outside/secret", "S3CRET")
    b:symlink(b:path("outside"), "workspace/cache")
    assert.equal("S3CRET", b:run_unconfined("cat cache/secret").stdout)
    assert.not_matches("S3CRET", b:run("cat cache/secret").stdout, 1, true)
  end)

  it("does not put back home and PATH below a private /tmp that it does not list", function()
    local b <close> = new(nil, { under = "/tmp" })
    b:write("home/secret", "S3CRET")
    b:write("outside/bin/tool", "#!/bin/sh\necho S3CRET\n")
    b:mode("outside/bin/tool", "755")
    b.env.PATH = b:path("outside/bin") .. ":" .. b.env.PATH
    local command = "cat ~/secret; tool"
    assert.matches("S3CRET.*S3CRET", b:run_unconfined(command).stdout)
    assert.not_matches("S3CRET", b:run(command).stdout, 1, true)
    assert.equal("x\n", b:run("echo x >f; cat f").stdout)
  end)

  it("lets git find its user, through every file that his configuration includes", function()
    local b <close> = new([[p:allow_read(ctx.git_files, "/dev")]])
    b:write("home/.gitconfig", "[include]\n\tpath = more\n[includeIf \"gitdir:/\"]\n\tpath = ~/dir/third\n")
    b:write("home/more", "[user]\n\tname = Included Name\n")
    b:write("home/dir/third", "[user]\n\temail = third@example.org\n")
    b:write("home/.config/git/ignore", "*.ignored\n")
    b:write("home/.git-credentials", "S3CRET")
    b:setup("git init -q . && touch a b.ignored")
    local command = "git add -A && git commit -qm one && git log --format='%an %ae' --name-only; cat ~/.git-credentials"
    local outcome = b:run(command)
    assert.equal("Included Name third@example.org\n\na\n", outcome.stdout, outcome.stderr)
  end)

  it("holds the git directory of a linked worktree, and no other repository's", function()
    local b <close> = new([[p:git("read") p:allow_read(ctx.git_files, "/dev")]])
    b:write("home/.gitconfig", "[user]\n\tname = t\n\temail = t@example.org\n")
    b:setup("git init -q ../outside/main && cd ../outside/main && echo S3CRET >file && git add . && git commit -qm one"
      .. " && git worktree add -q $WS -b w")
    local outcome = b:run("git log --format=%s; cat $OUTSIDE/main/file")
    assert.equal("one\n", outcome.stdout, outcome.stderr)
  end)

  it("is a gap where nothing can hold it, and refused unless that is accepted", function()
    local b <close> = new(nil, { host = require("spec.support.hosts").kernel_5_10 })
    box.skip_unless("mountns")
    local outcome, message = b:try_run("true")
    assert.is_nil(outcome)
    assert.matches("SANDBOX-UNAVAILABLE: not accepted: read (read): every file that the user can read", message, 1, true)
  end)
end)
