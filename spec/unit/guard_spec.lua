local core = require("procage.core")
local git_index = require("procage.git_index")
local guard = require("procage.guard")
local throwaway = require("spec.support.throwaway")

local quote = throwaway.quote

--- A directory with a shell in it: `tree:sh("...")` must succeed. Git there reads nothing of the user's.
local function new_tree()
  local directory = throwaway.directory()
  local tree = { path = assert(core.real_path(directory.path)) }
  function tree:sh(script)
    local output, ok = throwaway.shell(
      ("cd %s && export HOME=%s GIT_CONFIG_NOSYSTEM=1 && set -e; g() { git -c user.name=n -c user.email=e@x "
        .. "-c init.defaultBranch=main -c protocol.file.allow=always \"$@\"; }\n%s"):format(
        quote(self.path), quote(self.path), script
      )
    )
    assert.is_true(ok, output)
    return output
  end
  return setmetatable(tree, { __close = function()
    throwaway.shell("chmod -R u+rwx " .. quote(tree.path))
    getmetatable(directory).__close(directory)
  end })
end

local function repository()
  local tree = new_tree()
  tree:sh("mkdir ws && cd ws && g init -q && echo a > a.txt && mkdir sub && echo b > sub/b.txt && g add . && g commit -qm one "
    .. "&& g tag v1 && g branch other")
  tree.root = tree.path .. "/ws"
  return tree
end

--- What changed, as "ID name what".
local function changes(before)
  local found = {}
  for i, finding in ipairs((guard.compare(before))) do
    local name = finding.name:gsub("^/.*/%.git/", ".git/"):gsub("^/.*/(%.git)$", "%1")
    found[i] = ("%s %s %s"):format(finding.id, name, finding.what)
    assert.is_true(#finding.text > 0)
  end
  return found
end

local function snapshot(options)
  return assert(guard.snapshot(options))
end

describe("protected inputs", function()
  local function inputs(tree, protect, more)
    local options = { root = tree.path, protect = protect, home = tree.path .. "/home" }
    for key, value in pairs(more or {}) do
      options[key] = value
    end
    return snapshot(options)
  end

  it("that stay give no finding, though they were touched and written with the same content", function()
    local tree <close> = new_tree()
    tree:sh("mkdir -p spec && echo x > spec/a.md && ln -s a.md spec/l && mkfifo spec/f")
    local before = inputs(tree, { "spec/**" })
    assert.same({}, changes(before))
    tree:sh("touch spec/a.md; echo x > spec/b && mv spec/b spec/a.md")
    assert.same({}, changes(before))
  end)

  it("are found changed in content, length, mode, kind and link target", function()
    local tree <close> = new_tree()
    tree:sh("mkdir -p spec && cd spec && for i in content length mode kind gone; do echo x > $i; done && ln -s content link "
      .. "&& mkdir d")
    local before = inputs(tree, { "spec" })
    tree:sh("cd spec && stat -c %Y content > ../time && echo y > content && touch -d @$(cat ../time) content "
      .. "&& echo xx > length && chmod 755 mode && rm kind && mkdir kind && rm gone "
      .. "&& ln -sfn length link && chmod 700 d && echo > new")
    assert.same({
      "INTEGRITY spec/content changed", "INTEGRITY spec/d changed", "INTEGRITY spec/gone gone", "INTEGRITY spec/kind changed",
      "INTEGRITY spec/length changed", "INTEGRITY spec/link changed", "INTEGRITY spec/mode changed",
      "INTEGRITY spec/new appeared",
    }, changes(before))
    local texts = {}
    for _, finding in ipairs((guard.compare(before))) do
      texts[finding.name] = finding.text
    end
    assert.equal("protected spec/content: content changed", texts["spec/content"])
    assert.equal("protected spec/length: content changed, 2 bytes became 3", texts["spec/length"])
    assert.equal("protected spec/mode: mode 644 became 755", texts["spec/mode"])
  end)

  it("are found although git ignores them, in any letter case, and before they exist", function()
    local tree <close> = new_tree()
    tree:sh("g init -q && echo secret.txt > .gitignore && echo 1 > secret.txt")
    local before = inputs(tree, { "secret.txt", "SPEC.md" })
    tree:sh("echo 2 > secret.txt && echo x > Spec.MD")
    assert.same({ "INTEGRITY Spec.MD appeared", "INTEGRITY secret.txt changed" }, changes(before))
  end)

  it("are found by patterns at any depth, but not in git's directory", function()
    local tree <close> = new_tree()
    tree:sh("g init -q && mkdir -p a/b && echo 1 > a/b/x.spec.md && echo 1 > y.spec.md && echo 1 > z.md")
    local before = inputs(tree, { "**/*.spec.md", "a/[!x]/q?" }, { git = false })
    tree:sh("echo 2 > a/b/x.spec.md && echo 2 > y.spec.md && echo 2 > z.md && echo 1 > a/b/q1 && echo 1 > .git/z.spec.md")
    assert.same({
      "INTEGRITY a/b/q1 appeared", "INTEGRITY a/b/x.spec.md changed", "INTEGRITY y.spec.md changed",
    }, changes(before))
  end)

  it("are found behind links: the content that is read through one, and the directory that one leads to", function()
    local tree <close> = new_tree()
    tree:sh("mkdir real out && echo 1 > real/a && echo 1 > out/file && ln -s real spec && ln -s ../out/file real/link")
    local before = inputs(tree, { "spec/**" })
    tree:sh("echo 2 > real/a && echo 22 > out/file")
    assert.same({ "INTEGRITY spec/a changed", "INTEGRITY spec/link changed" }, changes(before))
    local other = inputs(tree, { "spec" })
    tree:sh("cp -r real other && ln -sfn other spec")
    assert.same({ "INTEGRITY spec changed" }, changes(other))
  end)

  it("below home and at absolute paths are found too", function()
    local tree <close> = new_tree()
    tree:sh("mkdir -p home/.config ws && echo 1 > home/.config/x && echo 1 > abs")
    local before = snapshot({
      root = tree.path .. "/ws", home = tree.path .. "/home", protect = { "~/.config/*", tree.path .. "/abs" },
    })
    tree:sh("echo 2 > home/.config/x && echo 2 > abs")
    assert.equal(2, #changes(before))
  end)

  it("that became a FIFO, a device, a loop of links or a sparse file of a terabyte neither hang nor exhaust it", function()
    local tree <close> = new_tree()
    tree:sh("mkdir spec && cd spec && for i in fifo loop big dir; do echo x > $i; done")
    local before = inputs(tree, { "spec/**" })
    tree:sh("cd spec && rm fifo loop dir && mkfifo fifo && ln -s loop loop && truncate -s 1T big && ln -s .. dir "
      .. "&& mkfifo fifo2 && truncate -s 1T big2 && ln -s /dev/zero zero")
    local start = core.now_us()
    assert.same({
      "INTEGRITY spec/big changed", "INTEGRITY spec/big2 appeared", "INTEGRITY spec/dir changed",
      "INTEGRITY spec/fifo changed",
      "INTEGRITY spec/fifo2 appeared", "INTEGRITY spec/loop changed", "INTEGRITY spec/zero appeared",
    }, changes(before))
    assert.is_true(core.now_us() - start < 5000000)
  end)

  it("of a size or number above a bound are refused before the command, and a finding after it", function()
    local tree <close> = new_tree()
    tree:sh("mkdir spec && echo 12345678 > spec/a")
    local made, message = guard.snapshot({ root = tree.path, protect = { "spec/**" }, limits = { file_bytes = 5 } })
    assert.is_nil(made)
    assert.matches("spec/a: 9 bytes are more than limits.file_bytes, 5", message, 1, true)
    local before = inputs(tree, { "spec/**" }, { limits = { entries = 20 } })
    tree:sh("cd spec && touch $(seq 30)")
    assert.same({ "INTEGRITY guard unknown" }, changes(before))
  end)

  it("that cannot be read are compared by identity and times, and a note says so", function()
    if throwaway.shell("id -u") == "0" then
      pending("root reads everything")
      return
    end
    local tree <close> = new_tree()
    tree:sh("echo 1 > a && chmod 000 a")
    local before = inputs(tree, { "a" })
    assert.matches("a: cannot be read", before.notes[1], 1, true)
    assert.same({}, changes(before))
    tree:sh("chmod 600 a && echo 2 > a && chmod 000 a")
    assert.same({ "INTEGRITY a changed" }, changes(before))
  end)

  it("are listed to a bound, the rest counted", function()
    local tree <close> = new_tree()
    tree:sh("mkdir spec")
    local before = inputs(tree, { "spec/**" })
    tree:sh("cd spec && touch $(seq 250)")
    local findings, more = guard.compare(before)
    assert.equal(guard.max_findings, #findings)
    assert.equal(50, more)
  end)
end)

describe("git's directory", function()
  local function git_changes(script, options)
    local tree <close> = repository()
    tree:sh((options and options.prepare) or "true")
    local before = snapshot({
      root = tree.root, home = tree.path, own_refs = options and options.own_refs, in_place = options and options.in_place,
      tree = options and options.tree,
    })
    assert.same({}, changes(before))
    tree:sh("cd ws\n" .. script)
    return changes(before)
  end

  it("gives no finding for what every command of git does", function()
    assert.same({}, git_changes("g status; g diff; g log -1; g gc -q; g pack-refs --all; echo x > u; g add u; g stash list"))
    assert.same({}, git_changes("g pack-refs --all && g status && touch a.txt && g status", { in_place = true, tree = true }))
  end)

  it("is found changed in configuration, hooks, info and what makes git look elsewhere", function()
    assert.same({ "GIT-CHANGED .git/config changed" }, git_changes("g config core.fsmonitor /bin/false"))
    assert.same({ "GIT-CHANGED .git/hooks/post-checkout appeared" }, git_changes("echo > .git/hooks/post-checkout"))
    assert.same({ "GIT-CHANGED .git/hooks/pre-push.sample changed" }, git_changes("chmod 777 .git/hooks/pre-push.sample"))
    assert.same({ "GIT-CHANGED .git/info/attributes appeared" }, git_changes("echo '* filter=x' > .git/info/attributes"))
    assert.same({ "GIT-CHANGED .git/commondir appeared" }, git_changes("echo ../x > .git/commondir"))
    assert.same({ "GIT-CHANGED .git/objects/info/alternates appeared" },
      git_changes("echo /tmp > .git/objects/info/alternates"))
    assert.same({ "GIT-CHANGED .git/config.worktree appeared" }, git_changes("echo > .git/config.worktree"))
    assert.same({ "GIT-CHANGED .git/hooks changed", }, (function(found)
      return { found[1] }
    end)(git_changes("mv .git/hooks .git/h && ln -s h .git/hooks")))
  end)

  it("is found changed in files that its configuration leads to", function()
    local prepare = "cd ws && mkdir .husky && echo 1 > .husky/pre-commit && g config core.hooksPath .husky "
      .. "&& g config include.path ../inc && printf '[include]\\n\\tpath = inc2\\n' > inc && echo > inc2"
    assert.same({ "GIT-CHANGED " }, (function(found)
      return { (found[1]:gsub("/.*", "")) }
    end)(git_changes("echo 2 > .husky/pre-commit", { prepare = prepare })))
    assert.equal(1, #git_changes("echo '[core]' > inc2", { prepare = prepare }))
    assert.equal(1, #git_changes("echo > .husky/pre-push", { prepare = prepare }))
  end)

  it("is found changed in every branch and tag, loose and packed, but the harness's own", function()
    local script = "c=$(g commit-tree HEAD^{tree} -m two); g update-ref refs/heads/other $c; g branch new; g tag -f v1 $c; "
      .. "g branch agent/one; g update-ref refs/notes/commits $c; g update-ref refs/replace/$c HEAD"
    for _, prepare in ipairs({ "true", "cd ws && g pack-refs --all" }) do
      local found = git_changes(script, { own_refs = { "refs/heads/agent/*" }, prepare = prepare })
      assert.equal(5, #found)
      assert.equal("GIT-CHANGED refs/heads/new appeared", found[1])
      assert.equal("GIT-CHANGED refs/heads/other changed", found[2])
      assert.equal("GIT-CHANGED refs/notes/commits appeared", found[3])
      assert.matches("^GIT%-CHANGED refs/replace/%x+ appeared$", found[4])
      assert.equal("GIT-CHANGED refs/tags/v1 changed", found[5])
      assert.same({ "GIT-CHANGED refs/tags/v1 gone" }, git_changes("g tag -d v1", { prepare = prepare }))
    end
  end)

  it("takes no branch for the harness's own whose name differs in letter case", function()
    assert.same({ "GIT-CHANGED refs/heads/Agent/x appeared" },
      git_changes("g branch Agent/x", { own_refs = { "refs/heads/agent/*" } }))
  end)

  it("is found changed although a ref became a FIFO, a link or a file of a terabyte", function()
    assert.same({
      "GIT-CHANGED refs/heads/big appeared", "GIT-CHANGED refs/heads/fifo appeared", "GIT-CHANGED refs/heads/link appeared",
    }, git_changes("mkfifo .git/refs/heads/fifo; ln -s /dev/zero .git/refs/heads/link; truncate -s 1T .git/refs/heads/big"))
  end)

  it("is found moved elsewhere", function()
    assert.same({ "GIT-CHANGED .git changed" }, (function(found)
      return { found[1] }
    end)(git_changes("mv .git ../evil && echo 'gitdir: ../evil' > .git")))
    local tree <close> = new_tree()
    tree:sh("mkdir ws")
    local before = snapshot({ root = tree.path .. "/ws" })
    tree:sh("cd ws && g init -q")
    assert.same({ "GIT-CHANGED .git appeared" }, changes(before))
  end)

  it("of a linked worktree is that worktree's and the common one", function()
    local tree <close> = repository()
    tree:sh("cd ws && g worktree add -q ../linked -b linked")
    local before = snapshot({ root = tree.path .. "/linked", in_place = true })
    assert.equal(tree.root .. "/.git", before.repository.common)
    assert.equal("refs/heads/linked", before.head.branch)
    assert.same({}, changes(before))
    tree:sh("cd ws && g config a.b c && g tag t2 && echo x > .git/hooks/h && cd ../linked && g checkout -q --detach "
      .. "&& echo /x > $(g rev-parse --git-dir)/commondir")
    local found = {}
    for _, finding in ipairs((guard.compare(before))) do
      found[#found + 1] = finding.id .. " " .. finding.name:match("[^/]+$") .. " " .. finding.what
    end
    assert.same({
      "INTEGRITY HEAD changed", "GIT-CHANGED .git changed", "GIT-CHANGED config changed", "GIT-CHANGED h appeared",
      "GIT-CHANGED HEAD changed", "GIT-CHANGED commondir changed", "GIT-CHANGED t2 appeared",
    }, found)
  end)

  it("of submodules is found changed where it makes git run something", function()
    local tree <close> = repository()
    tree:sh("mkdir m && cd m && g init -q && g commit -q --allow-empty -m x && cd ../ws && g submodule add -q ../m deep/m "
      .. "&& g commit -qm s")
    local before = snapshot({ root = tree.root })
    tree:sh("cd ws/deep/m && g config core.sshCommand x && echo > $(g rev-parse --git-dir)/hooks/post-commit")
    local found = changes(before)
    assert.equal(2, #found)
    assert.matches("modules/deep/m/config changed", found[1], 1, true)
  end)

  it("in place: HEAD, its branch and the index must stay", function()
    local in_place = { in_place = true }
    assert.same({ "INTEGRITY HEAD changed" }, git_changes("g checkout -q --detach", in_place))
    assert.same({ "INTEGRITY branch changed", "GIT-CHANGED refs/heads/main changed" },
      git_changes("g commit -q --allow-empty -m two", in_place))
    assert.same({ "INTEGRITY sub/b.txt gone", "INTEGRITY u appeared" },
      git_changes("echo > u && g add u && g rm -q --cached sub/b.txt", in_place))
    assert.same({ "INTEGRITY a.txt changed" }, git_changes("g update-index --assume-unchanged a.txt", in_place))
    assert.same({ "INTEGRITY a.txt changed" }, git_changes("g update-index --skip-worktree a.txt", in_place))
    assert.same({ "INTEGRITY a.txt changed" }, git_changes("g update-index --chmod=+x a.txt", in_place))
    assert.same({}, git_changes("echo changed > a.txt", in_place))
  end)

  it("is found changed in what makes the next command of git go on with something", function()
    local names = {
      "AUTO_MERGE", "BISECT_EXPECTED_REV", "BISECT_LOG", "BISECT_START", "CHERRY_PICK_HEAD", "GITGUI_MSG", "MERGE_AUTOSTASH",
      "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_RR", "REBASE_HEAD", "REVERT_HEAD", "SOME_NEW_HEAD", "SQUASH_MSG",
      "rebase-apply", "rebase-apply/next", "rebase-merge", "rebase-merge/git-rebase-todo", "rr-cache", "rr-cache/x",
      "sequencer", "sequencer/todo", "shallow",
    }
    local expected = {}
    for i, name in ipairs(names) do
      expected[i] = ("GIT-CHANGED .git/%s appeared"):format(name)
    end
    local script = "cd .git && mkdir rebase-apply rebase-merge rr-cache sequencer && for f in " .. table.concat(names, " ")
      .. "; do test -d $f || echo x > $f; done"
    for _, options in ipairs({ {}, { in_place = true, tree = true } }) do
      assert.same(expected, git_changes(script, options))
    end
    assert.same({ "GIT-CHANGED .git/MERGE_HEAD changed" }, git_changes("git rev-parse v1 > .git/MERGE_HEAD", {
      prepare = "cd ws && echo x > .git/MERGE_HEAD",
    }))
    assert.same({ "GIT-CHANGED .git/ORIG_HEAD appeared" }, git_changes("g reset -q --soft", { in_place = true }))
    assert.same({}, git_changes("g reset -q --soft; g fetch -q . main"))
  end)

  it("of another worktree is found changed so too", function()
    local tree <close> = repository()
    tree:sh("cd ws && g worktree add -q ../linked -b linked")
    local before = snapshot({ root = tree.root })
    tree:sh("echo x > ws/.git/worktrees/linked/MERGE_HEAD")
    assert.same({ "GIT-CHANGED .git/worktrees/linked/MERGE_HEAD appeared" }, changes(before))
  end)

  it("with tree: every tracked file must stay as it is on disk", function()
    local found = git_changes("echo changed > a.txt; rm sub/b.txt; echo x > untracked", { tree = true })
    assert.same({ "INTEGRITY a.txt changed", "INTEGRITY sub/b.txt gone" }, found)
  end)

  it("is read for index versions 3 and 4, SHA-256, a split index and conflicts", function()
    for _, change in ipairs({ "--index-version 4", "--skip-worktree sub/b.txt" }) do
      local prepare = "cd ws && g update-index " .. change
      assert.same({ "INTEGRITY u appeared" },
        git_changes("echo > u && g add u", { in_place = true, prepare = prepare }))
    end
    local tree <close> = new_tree()
    tree:sh("mkdir ws && cd ws && g init -q --object-format=sha256 && echo a > a.txt && g add . && g commit -qm one")
    local before = snapshot({ root = tree.path .. "/ws", in_place = true })
    assert.equal(64 + 7, #before.index["a.txt"])
    tree:sh("cd ws && echo b > a.txt && g add a.txt")
    assert.same({ "INTEGRITY a.txt changed" }, changes(before))
    assert.same({ "INTEGRITY the index changed" }, (function(found)
      return { found[#found] }
    end)(git_changes("echo > u && g add u", { in_place = true, prepare = "cd ws && g update-index --split-index" })))
  end)

  it("with an index that is cut off or garbled is compared as a whole, without an error", function()
    local tree <close> = repository()
    tree:sh("cd ws && g update-index --skip-worktree a.txt")
    local file = tree.root .. "/.git/index"
    local text = assert(core.read_file(file))
    for size = 0, #text - 1 do
      git_index.parse(text:sub(1, size))
    end
    for size = 0, 150 do
      assert.is_nil((git_index.parse(text:sub(1, size))), tostring(size))
    end
    for at = 1, #text - 20 do
      git_index.parse(text:sub(1, at - 1) .. "\xff" .. text:sub(at + 1))
    end
    local before = snapshot({ root = tree.root, in_place = true })
    throwaway.write(file, text:sub(1, 50))
    assert.is_true(#changes(before) > 0)
  end)

  it("kept in a reftable is found changed, without the names", function()
    local tree <close> = repository()
    tree:sh("mkdir ws/.git/reftable && echo t1 > ws/.git/reftable/tables.list")
    local before = snapshot({ root = tree.root, own_refs = { "refs/heads/*" } })
    assert.matches("reftable", before.notes[1], 1, true)
    tree:sh("echo t2 > ws/.git/reftable/tables.list")
    assert.same({ "GIT-CHANGED reftable changed" }, changes(before))
  end)

  it("is never read by git: what it would run is not run", function()
    local tree <close> = repository()
    tree:sh("cd ws && printf '#!/bin/sh\\ntouch %s/ran\\n' \"$HOME\" > ../evil && chmod +x ../evil "
      .. "&& g config core.fsmonitor \"$HOME/evil\" && g config filter.x.clean \"$HOME/evil\" "
      .. "&& echo '* filter=x' > .gitattributes && g config alias.status \"!$HOME/evil\" "
      .. "&& g config core.hooksPath ../hooks && g config include.path ../evil "
      .. "&& g config diff.external \"$HOME/evil\" && g config diff.x.textconv \"$HOME/evil\"")
    -- It bites: an ordinary git does run it.
    tree:sh("cd ws && git status >/dev/null 2>&1; test -e \"$HOME/ran\" && rm \"$HOME/ran\"")
    local before = snapshot({ root = tree.root, in_place = true, tree = true, protect = { "**" }, home = tree.path })
    assert.same({}, changes(before))
    assert.is_nil(core.lstat(tree.path .. "/ran"))
  end)
end)

describe("a snapshot", function()
  it("is the same after it was written down", function()
    local tree <close> = repository()
    local before = snapshot({ root = tree.root, protect = { "**" }, in_place = true, tree = true, home = tree.path })
    local text = guard.to_json(before)
    local read = assert(guard.from_json(text))
    assert.equal(text, guard.to_json(read))
    assert.same({}, changes(read))
    tree:sh("cd ws && echo 2 > a.txt && printf x > $(printf 'odd\\nname \\377')")
    assert.equal(3, #changes(read))
  end)

  it("that is none is refused with what is wrong", function()
    for text, message in pairs({
      ["{"] = "not JSON", ["[]"] = "no snapshot", ['{"version":1}'] = "no options",
      ['{"version":1,"options":{"root":"x"},"inputs":{}}'] = "options.root",
      ['{"version":1,"options":{"root":"/","protct":[]},"inputs":{}}'] = "did you mean protect",
      ['{"version":1,"options":{"root":"/"},"inputs":{},"refs":3}'] = "refs",
    }) do
      local made, why = guard.from_json(text)
      assert.is_nil(made)
      assert.matches(message, why, 1, true)
    end
  end)

  it("tells a caller's mistakes by key and nearest name", function()
    local function message_of(options)
      return select(2, pcall(guard.snapshot, options))
    end
    assert.matches("guard: options.root: an absolute path", message_of({}), 1, true)
    assert.matches("unknown key protected (did you mean protect?)", message_of({ root = "/tmp", protected = {} }), 1, true)
    assert.matches("protect[1]: '..' in ../x", message_of({ root = "/tmp", protect = { "../x" } }), 1, true)
    local misspelt = message_of({ root = "/tmp", limits = { entrys = 1 } })
    assert.matches("limits: unknown key entrys (did you mean entries?)", misspelt, 1, true)
    assert.matches("limits.entries: a positive integer", message_of({ root = "/tmp", limits = { entries = 0 } }), 1, true)
    assert.matches("in_place: true or false", message_of({ root = "/tmp", in_place = 1 }), 1, true)
  end)
end)

describe("a guarded run", function()
  it("has what changed among its findings and notices", function()
    local tree <close> = new_tree()
    tree:sh("echo 1 > SPEC.md")
    local policy = {
      run = function(_, cmd)
        tree:sh(cmd[3])
        return { status = 0, notices = {}, events = {} }
      end,
    }
    local outcome = assert(guard.run(policy, { "sh", "-c",
      "echo 2 > SPEC.md" }, { root = tree.path, protect = { "SPEC.md" } }))
    assert.equal(1, #outcome.findings)
    assert.same({ "INTEGRITY: protected SPEC.md: content changed" }, outcome.notices)
    assert.same(outcome.notices, outcome.events)
  end)
end)
