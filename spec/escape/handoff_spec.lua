local box = require("spec.support.box")

local names = {
  ".envrc", ".mcp.json", ".npmrc", ".pre-commit-config.yaml", ".vscode/tasks.json", ".husky/pre-commit",
  ".claude/settings.json",
  ".bashrc",
}

describe("a hand-off file", function()
  it("that exists keeps its content and its name", function()
    for _, name in ipairs(names) do
      box.attack({
        setup = function(b)
          b:write("workspace/" .. name, "good")
          b:write("workspace/x", "evil")
        end,
        run = ([[echo evil > %s; mv -f x %s; rm -f %s; echo evil > %s]]):format(name, name, name, name),
        hurt = function(b)
          return b:read("workspace/" .. name) ~= "good"
        end,
        clause = "handoff",
      })
    end
  end)

  it("cannot be replaced with the directory that holds it", function()
    box.attack({
      setup = function(b)
        b:write("workspace/.vscode/tasks.json", "good")
      end,
      run = "mv .vscode old; mkdir .vscode; echo evil > .vscode/tasks.json",
      hurt = function(b)
        return b:read("workspace/.vscode/tasks.json") ~= "good"
      end,
      clause = "handoff",
    })
  end)

  it("that did not exist is moved out of the tree after the run, and named", function()
    for _, name in ipairs({ ".envrc", ".ENVRC", ".mcp.json", ".vscode/tasks.json", ".git" }) do
      local b <close> = box.new()
      local outcome = b:run(("mkdir -p $(dirname %s); echo evil > %s; cat %s"):format(name, name, name))
      assert.equal("evil\n", outcome.stdout)
      assert.is_false(b:exists("workspace/" .. name), name)
      assert.equal(1, #outcome.appeared)
      assert.equal(b:path("workspace/" .. name), outcome.appeared[1].path)
      assert.equal("evil\n", assert(io.open(outcome.appeared[1].moved_to)):read("a"))
      assert.matches("appeared", table.concat(outcome.notices, "\n"), 1, true)
    end
  end)

  it("is told of in words that no terminal obeys", function()
    local control <close> = box.new()
    local b <close> = box.new()
    local made = [[d=$(printf 'a\033[2Jb\nprocage: all is well'); mkdir -p "$d/.git" && echo 'ref: x' > "$d/.git/HEAD"
printf '[core]\nfsmonitor = ./x\n' > "$d/.git/config"; mkdir "$d/.git/objects" "$d/.git/refs"]]
    assert.equal(0, control:run_unconfined(made).status)
    local outcome = b:run(made)
    assert.matches("all is well/.git", outcome.appeared[1].path, 1, true)
    for _, list in ipairs({ outcome.notices, outcome.events }) do
      assert.not_matches("[%c]", table.concat(list))
    end
    assert.matches("a\\x1b[2Jb\\nprocage: all is well/.git appeared", table.concat(outcome.events), 1, true)
  end)

  it("is noticed after runs that changed nothing, in a tree that was still for a while", function()
    local plants = {
      { "echo evil > .envrc", ".envrc" },
      { "mkdir .vscode; echo evil > .vscode/tasks.json", ".vscode/tasks.json" },
      { "mkdir sub/.vscode; echo evil > sub/.vscode/tasks.json", "sub/.vscode/tasks.json" },
      { "touch -r sub t; echo evil > sub/.envrc; touch -r t sub; rm t", "sub/.envrc" },
      { "echo evil > sub/.envrc; chmod 000 sub", "sub/.envrc" },
    }
    for _, plant in ipairs(plants) do
      local b <close> = box.new()
      b:setup("git init -q sub; sleep 0.1")
      local policy = b:policy()
      for _ = 1, 3 do
        assert.same({}, assert(policy:run({ "true" })).appeared)
      end
      assert.is_not_nil(policy.survey.watch.last.seen)
      local appeared = assert(policy:run({ "sh", "-c", plant[1] })).appeared
      assert.equal(1, #appeared, plant[1])
      assert.equal(b:path("workspace/" .. plant[2]), appeared[1].path)
      b:setup("chmod 755 sub")
      assert.is_false(b:exists("workspace/" .. plant[2]), plant[1])
    end
  end)

  it("that did not exist is moved, and told by its name where it lay", function()
    local b <close> = box.new()
    b:setup("git init -q sub/deep")
    local outcome = b:run("for d in . sub/deep; do mkdir $d/.vscode; echo x > $d/.envrc; echo x > $d/.vscode/tasks.json; done")
    local moved = {}
    for _, entry in ipairs(outcome.appeared) do
      local place = entry.moved_to:match("/moved/[^/]+/(.*)$")
      moved[#moved + 1] = place
      assert.is_true(table.concat(outcome.notices, "\n"):find("Moved to " .. entry.moved_to, 1, true) ~= nil)
    end
    table.sort(moved)
    assert.same({
      "dot-envrc.moved", "dot-vscode-tasks.json.moved", "sub-deep-dot-envrc.moved", "sub-deep-dot-vscode-tasks.json.moved",
    }, moved)
  end)

  it("is also what runs from a home, where the workspace is one", function()
    for _, name in ipairs({ ".config/git/config", ".xprofile", ".config/environment.d/x.conf", ".local/bin/ls" }) do
      box.attack({
        setup = function(b)
          b.env.HOME = b.workspace
          b.home = b.workspace
        end,
        run = ("mkdir -p $(dirname %s) && echo evil > %s"):format(name, name),
        hurt = function(b)
          return b:exists("workspace/" .. name)
        end,
      })
    end
  end)

  it("that did not exist is moved, whatever was done to keep it", function()
    local keep = {
      "echo evil > .envrc; chmod 555 .",
      "echo evil > .envrc; chmod 000 .",
      "mkdir .vscode; echo evil > .vscode/tasks.json; chmod 000 .vscode",
      "mkdir .vscode; echo evil > .vscode/tasks.json; chmod 111 .vscode; chmod 000 .",
      "mkdir -p .cargo; echo evil > .cargo/config.toml; chmod 555 .cargo",
      "git init -q .; git config core.fsmonitor evil; chmod 555 .git .",
      "git init -q .; git config core.fsmonitor evil; chmod 000 .git/objects .git/hooks .git",
      "git init -q .; git config core.fsmonitor evil; for i in '' -0 -1 -2; do mkdir .git.moved-by-procage$i; done",
      "echo evil > .vscode/tasks.json",
      "rm -rf sub; mkdir s2; echo evil > s2/.envrc; ln -s s2 sub",
    }
    local there = "chmod -R u+rwX %s; cd %s && ls .envrc sub/.envrc .vscode/tasks.json .cargo/config.toml .git/config 2>&-"
      .. " | grep -q ."
    for _, command in ipairs(keep) do
      for _, is_confined in ipairs({ false, true }) do
        local b <close> = box.new()
        if command:find("^rm %-rf sub") then
          b:setup("git init -q sub")
        elseif command:find("^echo evil > .vscode") then
          b:setup("mkdir vs; ln -s vs .vscode")
        end
        local outcome = is_confined and b:run(command) or b:run_unconfined(command)
        local place = box.quote(b.workspace)
        local found = select(2, box.shell(there:format(place, place)))
        assert.equal(not is_confined, found, command .. ": " .. outcome.stderr)
        -- With mounts some of it cannot even be made.
        if is_confined and outcome.status == 0 and not command:find("sub", 1, true) then
          assert.is_true(#outcome.appeared > 0, command)
        end
      end
    end
  end)

  it("of a directory that its user has closed is left where it is", function()
    local b <close> = box.new()
    b:write("workspace/.vscode/tasks.json", "mine")
    b:mode("workspace/.vscode", "000")
    local outcome = b:run("true")
    assert.same({}, outcome.appeared)
    assert.equal("0", b:stat("workspace/.vscode", "%a"))
    b:mode("workspace/.vscode", "755")
    assert.equal("mine", b:read("workspace/.vscode/tasks.json"))
  end)

  it("that did not exist is moved as what it is: a link is not followed", function()
    local b <close> = box.new()
    b:write("outside/file", "keep")
    b:write("outside/dir/tasks.json", "keep")
    b:run("ln -s $OUTSIDE/file .envrc; ln -s $OUTSIDE/dir .vscode; ln -s $OUTSIDE .husky")
    assert.equal("keep", b:read("outside/file"))
    assert.equal("keep", b:read("outside/dir/tasks.json"))
    assert.is_false(b:exists("workspace/.envrc"))
  end)

  it("cannot have the host move what lies outside, through a directory swapped for a link", function()
    -- A root of a repository that one run has made is, after the next, a link to somewhere else.
    for _, name in ipairs({ ".envrc", ".git/hooks/pre-commit", ".git/config", ".vscode/tasks.json" }) do
      for _, deep in ipairs({ "a/b", "b" }) do
        local b <close> = box.new()
        b:write("outside/b/" .. name, "keep")
        b:run(("mkdir -p %s/.git"):format(deep))
        local swap = deep == "a/b" and "rm -rf a; mv a a2; ln -s $OUTSIDE a" or "rm -rf b; mv b b2; ln -s $OUTSIDE/b b"
        b:run(swap)
        assert.equal("keep", b:read("outside/b/" .. name), name .. " by " .. deep)
        b:run("true")
        assert.equal("keep", b:read("outside/b/" .. name), name .. " by " .. deep)
      end
    end
  end)

  it("of a repository in the workspace is protected as well", function()
    box.attack({
      setup = function(b)
        b:setup("git init -q sub")
        b:write("workspace/sub/.envrc", "good")
      end,
      run = "echo evil > sub/.envrc; echo evil > sub/.git/hooks/pre-commit; git -C sub config core.fsmonitor evil",
      hurt = function(b)
        return b:read("workspace/sub/.envrc") ~= "good"
          or b:exists("workspace/sub/.git/hooks/pre-commit")
          or b:read("workspace/sub/.git/config"):find("evil")
      end,
      clause = "handoff",
    })
  end)

  it("that is a link is neither replaced nor written where it leads in the workspace", function()
    for _, run in ipairs({ "echo evil > AGENTS.local", "ln -sfn evil .mcp.json", "rm .mcp.json; echo evil > .mcp.json" }) do
      local b <close> = box.new()
      b:write("workspace/AGENTS.local", "good")
      b:symlink("AGENTS.local", "workspace/.mcp.json")
      local outcome = b:run(run)
      if box.holds(outcome, "handoff") then
        assert.equal("good", b:read("workspace/.mcp.json"))
      end
    end
  end)

  it("costs little to look for in a workspace of many files", function()
    local b <close> = box.new()
    b:setup("mkdir many && cd many && seq 20000 | xargs touch && cd .. && seq 5000 | xargs touch")
    b:policy()
    local began = os.clock()
    b:run("touch one-more")
    b:run("true")
    assert.is_true(os.clock() - began < 1.5, "took " .. (os.clock() - began))
  end)
end)
