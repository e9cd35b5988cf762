--- procage-lua check and init: what is wrong, all of it, and files to begin with.

local box = require("spec.support.box")
local config = require("procage.config")
local fit = require("procage.fit")
local hosts = require("procage.hosts")
local policies = require("procage.policy")
local templates = require("procage.templates")

local function program(b, words)
  local path = (os.getenv("PROCAGE_BUILD") or "build/dev") .. "/bin/procage-lua"
  if path:sub(1, 1) ~= "/" then
    path = box.shell("pwd -P") .. "/" .. path
  end
  return b:run_unconfined({ path, table.unpack(words) })
end

--- The lines that `check` prints of one file, and its status.
local function check(b, name, text)
  b:write("workspace/" .. name, text)
  local result = program(b, { "check", name })
  local lines = {}
  for line in result.stdout:gmatch("[^\n]+") do
    lines[#lines + 1] = line
  end
  return lines, result.status, result.stderr
end

--- A policy whose fourth line is this.
local function script_of(line)
  return ([[
local profile = require("procage.profile")
local rows = require("policies.rows")
return function(config, ctx)
  %s
  return profile.new()
end]]):format(line)
end

describe("a script that calls policies.rows amiss", function()
  for _, case in ipairs({
    { "rows.lift(nil, ctx)", ":4: rows.lift: expected a list of words, config.lift, got nothing" },
    { "rows.lift(config.lift)", ":4: rows.lift: expected ctx, the second argument of the policy, got nothing" },
    { "rows.hidden(ctx)", ":4: rows.hidden: expected what rows.lift(config.lift, ctx) gives, got nothing" },
    { "rows.hidden(rows.lift({}, ctx))", ":4: rows.hidden: expected ctx, the second argument of the policy, got a table" },
    { "rows.caches(ctx)", ":4: rows.caches: expected a list of paths, what rows.hidden gives, got nothing" },
    { "rows.handoff(rows.lift({}, ctx), 'red')", ':4: rows.handoff: expected read, commit or write, got "red"' },
    { "rows.ignored({})", ":4: rows.ignored: expected what rows.lift(config.lift, ctx) gives, got a table" },
    { "rows.env_drop(rows.lift({}, ctx))", ":4: rows.env_drop: expected a list of names, config.env.keep, got nothing" },
  }) do
    it("is told the line: " .. case[1], function()
      local b <close> = box.new()
      local lines, status = check(b, "p.lua", script_of(case[1]))
      assert.same({ "p.lua" .. case[2] }, lines)
      assert.equal(1, status)
    end)
  end

  it("is told the nearest name, and of what Lua has and a script has not", function()
    local b <close> = box.new()
    assert.same({ "p.lua:4: attempt to call a nil value (field 'hiden') (did you mean hidden?)" },
      check(b, "p.lua", script_of("rows.hiden(ctx)")))
    local text = script_of('require("procage.path").expand_hom("~", ctx.home)')
    assert.same({ "p.lua:4: attempt to call a nil value (field 'expand_hom') (did you mean expand_home?)" },
      check(b, "p.lua", text))
    assert.same({ "p.lua:4: attempt to call a nil value (global 'print'): a script has no print (docs/policies.md)" },
      check(b, "p.lua", script_of("print(config)")))
    assert.same({ "p.lua:4: attempt to index a nil value (global 'os'): a script has no os (docs/policies.md)" },
      check(b, "p.lua", script_of("os.exit()")))
  end)

  it("is told the key that is wrong, and its own line last", function()
    local b <close> = box.new()
    local lines = check(b, "p.lua", script_of('rows.check_lifted(rows.lift({}, ctx), { "x" }, ctx)'))
    assert.matches("^lift%[1%]: no hidden path.* is called x %(p%.lua:4%)$", lines[1])
    lines = check(b, "p.lua", script_of('rows.hidden(ctx, rows.lift({ "~/.config/procage" }, ctx))'))
    assert.matches("is never lifted %(p%.lua:4%)$", lines[1])
  end)
end)

describe("check", function()
  it("says of a policy with caches what run says, and of the builder's word for none", function()
    local b <close> = box.new()
    local text = templates.policy:gsub("\n  %-%- p:caches", "\n  p:caches")
    assert.matches("\n  p:caches", text, 1, true)
    for _, line in ipairs(check(b, "p.lua", text)) do
      assert.not_matches("replace", line, 1, true)
    end
    b.options.policy = b:write("outside/p.lua", text)
    b.options.config = { caches = "none" }
    assert.same({}, assert(b:policy()).profile.caches.trees)
  end)

  it("asks of a layer no more than a layer has", function()
    local b <close> = box.new()
    local text = "return function(config, ctx)\n  return { network = 'none', limits = { processes = 9 } }\nend\n"
    assert.same({ "narrow.lua: ok" }, check(b, "narrow.lua", text))
  end)

  it("asks the policy about the keys that are well, where others are not", function()
    local b <close> = box.new()
    local lines = check(b, "a.toml", "[sandbox]\nlift = ['~/.nope']\nmode = 'x'\nhidden = ['rel']\ncaches = 'none'\n")
    assert.equal(3, #lines)
    assert.matches("^a%.toml:2: sandbox%.lift%[1%]: no hidden path", lines[1])
    assert.matches("^a%.toml:3: sandbox%.mode: expected one of", lines[2])
    assert.matches("^a%.toml:4: sandbox%.hidden%[1%]: expected an absolute path", lines[3])
    lines = check(b, "b.toml", "[sandbox]\nmode = 'x'\npolicy = 'specoder'\n")
    assert.matches("^b%.toml:2: sandbox%.mode: ", lines[1])
    assert.matches("^b%.toml:3: sandbox%.policy: no shipped policy specoder %(did you mean speccoder%?%)", lines[2])
    lines = check(b, "c.json", '{"mode":"x","lift":["~/.nope"]}')
    assert.matches("^c%.json: mode: ", lines[1])
    assert.matches("^c%.json: lift%[1%]: no hidden path", lines[2])
  end)

  it("is a function of the module too", function()
    local b <close> = box.new()
    local file = b:write("workspace/a.toml", "[sandbox]\nmode = 'x'\n")
    local options = { root = b.workspace, home = b.home, env = b.env }
    local checked = assert(require("procage").check(file, options))
    assert.equal(1, #checked.problems)
    assert.matches("a%.toml:2: sandbox%.mode: ", checked.problems[1])
    b:write("workspace/a.toml", "[sandbox]\nmode = 'auto'\n")
    assert.same({ problems = {} }, require("procage").check(file, options))
    local message = select(2, require("procage").check(file, { root = b.root .. "/none", home = b.home, env = b.env }))
    assert.matches("No such file", message)
  end)
end)

describe("procage-lua check", function()
  it("finds nothing wrong with what is well", function()
    local b <close> = box.new()
    b:write("workspace/a.toml", "[sandbox]\nnetwork = 'off'\nlift = ['~/.npmrc']\n")
    b:write("workspace/b.json", '{"network":"off"}')
    b:write("workspace/c.lua", templates.policy)
    local result = program(b, { "check", "a.toml", "b.json", b:path("workspace/c.lua") })
    assert.equal(("a.toml: ok\nb.json: ok\n%s: ok\n"):format(b:path("workspace/c.lua")), result.stdout)
    assert.equal("", result.stderr)
    assert.equal(0, result.status)
  end)

  it("says when a run would be refused on this machine, and how to live with it", function()
    local b <close> = box.new()
    local lines, status = check(b, "strict.lua", (templates.policy:gsub('p:accept%("trust_handoff"%)', "")))
    assert.equal(0, status)
    assert.matches("strict.lua: ok; on this machine `run` refuses it: SANDBOX-UNAVAILABLE: not accepted: ", lines[1], 1, true)
    assert.matches('trust_handoff (handoff_absent): ', table.concat(lines, "\n"), 1, true)
    assert.matches('p:accept("trust_handoff"', lines[#lines], 1, true)
  end)

  it("tells a tree to write that is not there, as run does, with its line", function()
    local b <close> = box.new()
    b:mkdir("home/in")
    local lines, status = check(b, "a.toml", "[sandbox]\nwritable = ['~/in', '~/in/new',\n  '~/out']\n")
    local text = ("writable[3]: %s/out: no such file or directory"):format(b.home)
    assert.equal(1, status)
    assert.same({ "a.toml:3: sandbox." .. text }, lines)
    local result = program(b, { "run", "--config", "a.toml", "--", "true" })
    assert.equal(2, result.status)
    assert.matches("a.toml:3: " .. text, result.stderr, 1, true)
  end)

  it("tells what run would find when it loads the policy, with the line", function()
    local b <close> = box.new()
    for _, case in ipairs({
      { "a.lua", script_of("do local p = profile.new() p:refuse_calls('ptrase') return p end"),
        "no such system call (a.lua:4)" },
      { "b.lua", script_of("do local p = profile.new() p:allow_write('/nonexist/x') return p end"),
        "writable /nonexist/x: no such file or directory (b.lua:4)" },
      { "c.toml", "[sandbox]\ngit = 'read'\nhidden = ['/']\n", "c.toml:3: sandbox.hidden[1]: workspace " },
      { "d.toml", "[sandbox]\nwritable = ['/dev']\n", "no write grant on /dev: " },
      { "e.toml", "[sandbox]\nmode = 'required'\npolicy = 'off'\n",
        "e.toml:2: sandbox.mode: required, and the policy confines" },
      { "fit.lua", "require('procage.fit').register({ clause = 'signal' })", "fit.lua:1: register: clause: " },
    }) do
      local lines, status = check(b, case[1], case[2])
      assert.equal(1, status, case[1])
      assert.matches(case[3], lines[1], 1, true)
    end
    local lines, status = check(b, "fit.lua", "-- nothing yet")
    assert.same({ "fit.lua: ok" }, lines)
    assert.equal(0, status)
  end)

  it("takes options of a policy", function()
    local b <close> = box.new()
    b:write("workspace/o.lua", [[
      return { options = { { name = "n", type = "integer", help = "n" } }, profile = function(config, ctx)
        return { limits = { timeout_ms = config.options.n }, workspace = ctx.workspace, env = { drop = { "X" } } }
      end }]])
    local result = program(b, { "check", "o.lua" })
    assert.equal(1, result.status, result.stdout)
    result = program(b, { "check", "--option", "n=5", "o.lua" })
    assert.equal(0, result.status, result.stdout)
    result = program(b, { "check", "--option", "m=5", "o.lua" })
    assert.equal(1, result.status)
    assert.matches("m: ", result.stdout, 1, true)
  end)

  it("says of a policy what it leaves open", function()
    local b <close> = box.new()
    local lines, status = check(b, "a.lua", script_of("do local p = profile.new() p:allow_read('/') return p end"))
    assert.equal(0, status)
    assert.matches("a.lua: note: it reads the home directory and hides nothing: ", lines[1], 1, true)
    assert.matches("a.lua: note: it drops no variables: ", lines[2], 1, true)
  end)

  it("looks at [runtime] of Spettro's manifest", function()
    local b <close> = box.new()
    local lines, status = check(b, "spettro.agents.toml", "[runtime]\nsandbox_mode = 'read-onyl'\n")
    assert.equal(1, status)
    assert.matches("sandbox_mode", lines[1], 1, true)
    lines, status = check(b, "spettro.agents.toml", "[runtime]\nsandbox_mode = 'workspace-write'\n")
    assert.equal(0, status)
    assert.matches("spettro.agents.toml: ok", lines[1], 1, true)
  end)

  it("tells every mistake of a configuration, with its line", function()
    local b <close> = box.new()
    local lines, status = check(b, "a.toml", "[sandbox]\nnetwrok = 'off'\n\nwritable = ['x', 3]\ngit = 'all'\n")
    assert.same({
      "a.toml:2: sandbox.netwrok: unknown key (did you mean network?)",
      'a.toml:4: sandbox.writable[1]: expected an absolute path, or one that starts with ~/, got "x"',
      "a.toml:4: sandbox.writable[2]: expected a text, got 3",
      'a.toml:5: sandbox.git: expected one of read, commit, write, got "all"',
    }, lines)
    assert.equal(1, status)
    lines = check(b, "b.json", '{"netwrok": "off", "writable": ["x"]}')
    assert.equal(2, #lines)
    assert.equal("b.json: netwrok: unknown key (did you mean network?)", lines[1])
  end)

  it("tells all that the policy has against it too", function()
    local b <close> = box.new()
    local lines, status = check(b, "a.toml", [==[
[sandbox]
lift = [
  "~/.npmrc",
  "~/.no-such-row",
  "~/.ssh",
  "nor this",
]
[sandbox.env]
keep = ["GITHUB_TOKEN", "ANTHROPIC_API_KEY"]
]==])
    assert.equal(3, #lines)
    assert.equal("a.toml:9: sandbox.env.keep[2]: ANTHROPIC_API_KEY is the harness's own and is never kept", lines[1])
    assert.matches("^a.toml:4: sandbox.lift%[2%]: no hidden path.* is called ~/.no%-such%-row$", lines[2])
    assert.matches("^a.toml:6: sandbox.lift%[4%]: no hidden path.* is called nor this$", lines[3])
    assert.equal(1, status)
    lines = check(b, "b.toml", "[sandbox]\npolicy = 'spekcoder'\n")
    assert.equal(1, #lines)
    assert.matches("b.toml:2: sandbox.policy: ", lines[1], 1, true)
  end)

  it("tells what is wrong with a policy, and where", function()
    local b <close> = box.new()
    for text, expected in pairs({
      ["local x = = 1\n"] = "p.lua:1: ",
      ["\nerror('no')\n"] = "p.lua:2: no",
      ["local p = require('procage.profile')\nreturn function()\n  local x = p.new()\n  x:git(1)\nend"] = "p.lua:4: git: ",
      ["local new = require('procage.profile').new\nreturn function()\n  new():nettwork('all')\nend"] = "p.lua:3: "
        .. 'a profile\'s builder has no method "nettwork" (did you mean network?)',
      ["return 3"] = "p.lua: returns 3, expected a function",
      ["return function() return io.open('/etc/passwd') end"] = "p.lua:1: ",
      ["return function()\n  while true do end\nend"] = "p.lua:2: ",
    }) do
      local lines, status = check(b, "p.lua", text)
      assert.equal(1, #lines, text)
      assert.equal(expected, lines[1]:sub(1, #expected))
      assert.equal(1, status)
    end
    local lines = check(b, "p.lua", "return function() return { write = { 'x', 'y' }, hidden = 3, foo = 1 } end")
    assert.equal(4, #lines)
    assert.equal("p.lua: the profile it returned: foo: unknown field", lines[1])
  end)

  it("says so of a file that it cannot read, and goes on", function()
    local b <close> = box.new()
    b:write("workspace/good.toml", "")
    local result = program(b, { "check", "no.toml", "no.lua", "/etc/passwd", "good.toml" })
    assert.equal(1, result.status)
    assert.equal(4, select(2, result.stdout:gsub("\n", "")))
    assert.matches("no.toml: No such file or directory\n", result.stdout, 1, true)
    assert.matches("/etc/passwd: a configuration's name ends in .toml or .json\n", result.stdout, 1, true)
    assert.matches("good.toml: ok\n", result.stdout, 1, true)
    assert.equal(2, program(b, { "check" }).status)
    assert.equal(2, program(b, { "check", "--root", "/no/such/place", "good.toml" }).status)
  end)

  it("shows no control character of a file", function()
    local b <close> = box.new()
    local result = program(b, { "check", b:write("workspace/a.toml", '[sandbox]\n"a\\u001b[2J" = 1\n') })
    assert.not_matches("\27", result.stdout, 1, true)
    assert.matches("\\x1b[2J", result.stdout, 1, true)
  end)
end)

describe("procage-lua init", function()
  it("writes a configuration that means the defaults, and every line of it is right", function()
    assert.same(config.parse({}), config.parse(templates.config))
    local whole = templates.config:gsub("\n#(%l)", "\n%1")
    local parsed, message = config.parse(whole)
    assert.is_table(parsed, message)
    local given = config.read(whole, "toml", "template").value
    for _, key in ipairs(config.keys) do
      assert.is_not_nil(given[key], key .. " is not in the template")
    end
  end)

  it("prints it, or writes a file that is not there yet", function()
    local b <close> = box.new()
    assert.equal(templates.config, program(b, { "init" }).stdout)
    assert.equal(templates.policy, program(b, { "init", "--policy" }).stdout)
    for name, words in pairs({ ["a.toml"] = { "init", "a.toml" }, ["p.lua"] = { "init", "--policy", "p.lua" } }) do
      local result = program(b, words)
      assert.equal(0, result.status, result.stderr)
      assert.equal("", result.stdout)
      assert.equal(name == "a.toml" and templates.config or templates.policy, b:read("workspace/" .. name))
      b:write("workspace/" .. name, "mine")
      result = program(b, words)
      assert.equal(2, result.status)
      assert.matches("File exists", result.stderr, 1, true)
      assert.equal("mine", b:read("workspace/" .. name))
    end
    b:symlink(b:path("outside/elsewhere.toml"), "workspace/link.toml")
    assert.equal(2, program(b, { "init", "link.toml" }).status)
    assert.is_false(b:exists("outside/elsewhere.toml"))
    assert.equal(2, program(b, { "init", "a.txt" }).status)
    assert.equal(2, program(b, { "init", "--policy", "b.toml" }).status)
    assert.equal(2, program(b, { "init", "a.toml", "b.toml" }).status)
  end)

  it("makes the missing directory of the user's own configuration, and says how to make another", function()
    local b <close> = box.new()
    local own = b.home .. "/.config/procage"
    local result = program(b, { "init", own .. "/config.toml" })
    assert.equal(0, result.status, result.stderr)
    assert.equal(templates.config, b:read("home/.config/procage/config.toml"))
    assert.equal("700", b:stat("home/.config/procage", "%a"))
    result = program(b, { "init", "a b/c.toml" })
    assert.equal(2, result.status)
    assert.matches("a b/c.toml: its directory is missing: mkdir -p 'a b'", result.stderr, 1, true)
    assert.is_false(b:exists("workspace/a b"))
  end)

  it("writes a policy that can be run as it stands", function()
    local b <close> = box.new({ policy = "skeleton.lua" })
    b.options.policy = b:write("outside/skeleton.lua", templates.policy)
    b.options.config = { hidden = { "~/notes" } }
    local policy = assert(b:policy())
    local fitted, report = assert(fit.fit(policy.profile, hosts.full))
    assert.is_true((policies.admit(report, fitted.accept, "auto")))
    b.options.config.handoff_absent, b.loaded = "refuse", nil
    assert.equal("refuse", assert(b:policy()).profile.handoff_absent)
    assert.equal(b.home .. "/notes", policy.profile.hidden[#policy.profile.hidden])
  end)
end)
