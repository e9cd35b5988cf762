--- The subcommands guard, mask and classify, as a user calls them.

local core = require("procage.core")
local json = require("procage.json")
local paths = require("procage.paths")
local throwaway = require("spec.support.throwaway")

local quote = throwaway.quote
local program = paths.program()

if not program then
  describe("guard, mask and classify", function()
    it("are subcommands of the program", function()
      pending("no program is built beside the module")
    end)
  end)
  return
end

local function new_place()
  local directory = throwaway.directory()
  local place = { path = assert(core.real_path(directory.path)) }
  --- Runs a line of shell in the workspace, `procage` being the program: what it printed, standard error too, and its status.
  function place:sh(script)
    local output = throwaway.shell(
      ("cd %s/ws && export HOME=%s/home && procage() { %s \"$@\"; }; { %s\n}; echo \"status=$?\""):format(
        quote(self.path), quote(self.path), quote(program), script
      )
    )
    local text, status = output:match("^(.*)status=(%d+)$")
    return text, math.tointeger(tonumber(status))
  end
  throwaway.shell(("cd %s && mkdir home ws && cd ws && git init -q && echo 1 > SPEC.md"):format(quote(place.path)))
  return setmetatable(place, { __close = function()
    getmetatable(directory).__close(directory)
  end })
end

--- Each script is bad usage, told with the text.
local function check_refused(place, scripts)
  for script, message in pairs(scripts) do
    local text, status = place:sh(script)
    assert.equal(2, status, script .. ": " .. text)
    assert.matches(message, text, 1, true)
  end
end

describe("guard", function()
  it("finds nothing, then what changed, by exit status and line", function()
    local place <close> = new_place()
    assert.same({ "", 0 }, { place:sh("procage guard snapshot --protect SPEC.md --in-place --output ../before.json") })
    assert.same({ "", 0 }, { place:sh("procage guard compare ../before.json") })
    -- A link that leads nowhere is there too.
    for _, name in ipairs({ "before.json", "link.json" }) do
      local refused, code = place:sh("ln -sf nowhere.json ../link.json; procage guard snapshot --no-git --output ../" .. name)
      assert.equal(125, code)
      assert.matches("File exists", refused, 1, true)
    end
    assert.same({ "", 0 }, { place:sh("procage guard compare ../before.json && test ! -e ../nowhere.json") })
    place:sh("echo 2 > SPEC.md; git config a.b c")
    local text, status = place:sh("procage guard compare ../before.json")
    assert.equal(1, status)
    assert.matches("INTEGRITY protected SPEC.md: content changed\n", text, 1, true)
    assert.matches("GIT%-CHANGED .*/%.git/config: content changed, %d+ bytes became %d+\n", text)
    local answer = json.decode((place:sh("procage guard compare --json ../before.json")))
    assert.equal(2, #answer.findings)
    assert.equal("INTEGRITY", answer.findings[1].id)
    assert.equal(0, answer.more)
  end)

  it("works through pipes", function()
    local place <close> = new_place()
    assert.same({ "", 0 }, { place:sh("procage guard snapshot --protect '*.md' | procage guard compare -") })
    assert.same({ "", 0 }, { place:sh("procage guard snapshot --no-git --root . | procage guard compare") })
  end)

  it("takes no snapshot that a command could have written, and no other file", function()
    local place <close> = new_place()
    check_refused(place, {
      ["procage guard snapshot --output x.json"] = "lies in the workspace",
      ["procage guard snapshot > x.json; procage guard compare x.json"] = "lies in the workspace",
      ["echo {} > ../x; procage guard compare ../x"] = "no snapshot of guard",
      ["procage guard compare ../missing"] = "No such file",
      ["procage guard compare --root . ../x"] = "--root is the snapshot's affair",
      ["procage guard compare a b"] = "one file",
      ["procage guard snapshot SPEC.md"] = "a pattern goes behind --protect",
      ["procage guard snapshot --protect ../x"] = "'..' in ../x",
      ["procage guard snapshot --root missing"] = "--root",
      ["procage guard snapshto"] = "did you mean snapshot?",
      ["procage guard"] = "snapshot or compare is expected",
      ["procage guard snapshot --protct x"] = "did you mean --protect?",
    })
  end)

  it("has help with its exit statuses", function()
    local place <close> = new_place()
    for _, script in ipairs({ "procage guard --help", "procage help guard", "procage guard snapshot --help" }) do
      local text, status = place:sh(script)
      assert.equal(0, status)
      assert.matches("Exit status of compare", text, 1, true)
    end
  end)
end)

describe("mask", function()
  it("copies its input without secrets, as it comes", function()
    local place <close> = new_place()
    local text, status = place:sh("export MY_TOKEN=hunter2hunter2; "
      .. "{ echo a; printf %s $MY_TOKEN | base64; echo \"x$MY_TOKEN\"; } | procage mask")
    assert.equal(0, status)
    assert.equal("a\n[redacted:MY_TOKEN]=\nx[redacted:MY_TOKEN]\n", text)
    -- The first line is there before the second comes.
    assert.same({ "first\nsecond\n", 0 }, { place:sh("rm -f f g; mkfifo f; procage mask < f > g & exec 3>f; echo first >&3; "
      .. "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do test -s g || sleep 0.1; done; "
      .. "cat g; echo second >&3; exec 3>&-; wait; tail -n 1 g") })
  end)

  it("takes key files, further names and names to keep, and lists what it masks", function()
    local place <close> = new_place()
    place:sh("echo 'API_KEY=abcdefgh-1' > .env; echo line-of-a-file > ../key")
    local set = "export DEPLOY=value-of-deploy AWS_REGION=eu-central-1; "
    assert.same({ "[redacted:.env] [redacted:key] value-of-deploy [redacted:AWS_REGION]\n", 0 },
      { place:sh(set .. "echo abcdefgh-1 line-of-a-file value-of-deploy eu-central-1 | procage mask --file ../key") })
    assert.same({ "abcdefgh-1 [redacted:DEPLOY] eu-central-1\n", 0 },
      { place:sh(set .. "echo abcdefgh-1 value-of-deploy eu-central-1 | "
        .. "procage mask --no-files --name 'DEP*' --keep AWS_REGION") })
    local text = place:sh("procage mask --no-env --list --file ../key")
    assert.equal(".env\nkey\n", text)
  end)

  it("refuses a key file that it cannot read, and says when output is lost", function()
    local place <close> = new_place()
    local text, status = place:sh("procage mask --file missing < SPEC.md")
    assert.equal(2, status)
    assert.matches("missing: No such file", text, 1, true)
    if core.lstat("/dev/full") then
      text, status = place:sh("procage mask --no-env --no-files < SPEC.md > /dev/full")
      assert.equal(125, status)
      assert.matches("output is lost", text, 1, true)
    end
  end)
end)

describe("classify", function()
  it("answers for a command by line and exit status, and runs nothing", function()
    local place <close> = new_place()
    for script, expected in pairs({
      ["procage classify -- ls -la"] = { 0, "allowed listed: " },
      ["procage classify git -C x push"] = { 1, "denied git-remote: " },
      ["procage classify -- touch src/made"] = { 0, "allowed" },
      ["procage classify --network -- make"] = { 3, "ask network: " },
      ["procage classify --protect 'golden/**' -- touch golden/x"] = { 1, "denied protected: " },
      ["procage classify -- sh -c 'echo x > SPEC.md'"] = { 1, "denied spec: " },
      ["procage classify --net all -- rm -rf x"] = { 3, "ask recursive-remove: " },
    }) do
      local text, status = place:sh(script)
      assert.equal(expected[1], status, script .. ": " .. text)
      assert.equal(expected[2], text:sub(1, #expected[2]), text)
    end
    assert.is_nil(core.lstat(place.path .. "/ws/src"))
  end)

  it("answers for a call, or a list of them, on standard input", function()
    local place <close> = new_place()
    local text, status = place:sh([[echo '{"tool": "write", "path": "AGENTS.md"}' | procage classify --json]])
    local decision = json.decode(text)
    assert.equal(3, status)
    assert.equal("ask agent-context", decision.decision .. " " .. decision.rule)
    text, status = place:sh([[echo '[{"tool": "read", "path": "SPEC.md"}, {"tool": "command", "argv": ["git", "push"]}]' |
      procage classify --json]])
    decision = json.decode(text)
    assert.equal(1, status)
    assert.equal("allowed denied", decision[1].decision .. " " .. decision[2].decision)
  end)

  it("tells what is wrong with a call", function()
    local place <close> = new_place()
    check_refused(place, {
      ["echo x | procage classify"] = "not JSON",
      ["echo '{}' | procage classify"] = "tool: one of command, delete, read, rename, write",
      ["echo '{\"tool\": \"wrte\", \"path\": \"x\"}' | procage classify"] = "did you mean write?",
      ["echo '[{\"tool\": \"read\", \"path\": \"x\"}, {\"tool\": \"read\"}]' | procage classify"] = "call 2: path is missing",
      ["procage classify --"] = "a command is missing after --",
      ["procage classify --protect ../x ls"] = "'..' in it",
      ["procage classify --protct x ls"] = "did you mean --protect?",
    })
  end)
end)
