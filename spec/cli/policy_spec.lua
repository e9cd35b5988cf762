--- The program about policies: their options, why, test and narrow.

local box = require("spec.support.box")
local paths = require("procage.paths")

local POLICY = [[
local profile = require("procage.profile")
return {
  help = "writes the workspace",
  options = {
    { name = "minutes", type = "integer", default = 10, help = "how long a build may take" },
    { name = "trees", type = "paths", default = {}, help = "what else it writes" },
  },
  profile = function(config, ctx)
    local p = profile.new()
    p:allow_read("/")
    p:workspace(ctx.workspace)
    p:allow_write(config.options.trees)
    p:hidden(ctx.home .. "/.ssh")
    p:limits({ timeout_ms = config.options.minutes * 60000 })
    p:accept("trust_handoff", "carve", "stat", "replace", "metadata", "truncate", "signal_scope", "process_tree")
    p:accept("device_ioctl", "limits")
    return p
  end,
}]]

--- Output and exit status of the program, in the workspace of a box.
local function program(b, words)
  local file = assert(paths.program())
  return b:run_unconfined(table.move(words, 1, #words, 2, { file }))
end

local function made()
  local b = box.new()
  b:write("outside/p.lua", POLICY)
  b:write("home/.ssh/id", "key")
  b:write("workspace/a", "a")
  return b, b.outside .. "/p.lua"
end

describe("a policy that does not read the configuration", function()
  it("does not run where protection was asked for", function()
    local b, file = made()
    local _ <close> = b
    b:write("home/notes/n", "secret")
    local words = { "run", "-q", "--policy", file, "--", "cat", b.home .. "/notes/n" }
    assert.equal("secret", program(b, words).stdout)
    table.move({ "--set", 'hidden=["~/notes"]', "--", "cat", b.home .. "/notes/n" }, 1, 5, 5, words)
    local result = program(b, words)
    assert.same({ 2, "" }, { result.status, result.stdout })
    local told = "p.lua: this policy does not use what would protect more: hidden; take it in (p:hidden("
    assert.matches(told, result.stderr, 1, true)
    b:write("workspace/a.toml", ("[sandbox]\npolicy = '%s'\nhidden = ['~/notes']\nlimits = { cpu_ms = 9 }\n"):format(file))
    local checked = program(b, { "check", "a.toml" })
    assert.equal(1, checked.status)
    told = ("a.toml:2: sandbox.policy: %s: this policy does not use what would protect more: hidden, limits."):format(file)
    assert.matches(told, checked.stdout, 1, true)
  end)

  it("says so where more was given", function()
    local b, file = made()
    local _ <close> = b
    local words = { "run", "--policy", file, "--net", "all", "--git", "commit", "--allow-write", b.outside, "--", "true" }
    local result = program(b, words)
    assert.equal(0, result.status, result.stderr)
    assert.matches(("procage: this policy does not use: git, network, writable (%s)\n"):format(file), result.stderr, 1, true)
    b:write("workspace/a.toml", ("[sandbox]\npolicy = '%s'\ngit = 'commit'\n"):format(file))
    local checked = program(b, { "check", "a.toml" })
    assert.equal(0, checked.status)
    assert.matches("a.toml: note: this policy does not use: git", checked.stdout, 1, true)
  end)
end)

describe("a mistake that is easily made", function()
  it("is told", function()
    local b, file = made()
    local _ <close> = b
    local told = program(b, { "run", "--lift", ".ssh", "--", "true" }).stderr
    assert.matches("~/.ssh stays hidden (did you mean ~/.ssh?)", told, 1, true)
    assert.matches("'network' is not KEY=VALUE", program(b, { "run", "--set", "network", "--", "true" }).stderr, 1, true)
    assert.matches("^exec /[^\n]*/cat: allowed\n", program(b, { "why", "exec", "cat" }).stdout)
    local own = program(b, { "why", "--set", 'hidden=["~/notes"]', "read", "~/notes/n" }).stdout
    assert.matches("hidden[1] of the configuration", own, 1, true)
    assert.not_matches("credentials", own, 1, true)
    b:write("outside/n.lua", [[
      local profile = require("procage.profile")
      return function() local p = profile.new() p:network("ports:443") return p end]])
    assert.matches("{ ports = { 443 } }", program(b, { "check", b.outside .. "/n.lua" }).stdout, 1, true)
    local missing = program(b, { "-e", 'require("foo")' }).stderr
    assert.matches("\n  no field package.preload", missing, 1, true)
    assert.is_truthy(file)
  end)
end)

describe("a layer that narrows", function()
  it("lets nobody run what confines nothing", function()
    local b <close> = box.new()
    b:write("home/.config/procage/narrow.lua", 'return function(config, ctx) return { network = "none" } end')
    assert.equal(0, program(b, { "run", "-q", "--", "true" }).status)
    for _, words in ipairs({ { "--policy", "off" }, { "--sandbox", "off" }, { "--set", "mode=off" } }) do
      local result = program(b, { "run", words[1], words[2], "--", "true" })
      assert.equal(2, result.status, result.stderr)
      assert.matches(": would widen: off, and there are layers that narrow", result.stderr, 1, true)
    end
  end)
end)

describe("the options of a policy", function()
  it("are listed by --help and by explain, with what they are", function()
    local b, file = made()
    local _ <close> = b
    local help = program(b, { "run", "--policy", file, "--help" })
    assert.equal(0, help.status)
    assert.matches("writes the workspace\n", help.stdout, 1, true)
    assert.matches("minutes=<integer>%s+how long a build may take %(default: 10%)", help.stdout)
    local told = program(b, { "explain", "--policy", file, "--option", "minutes=3", "--option", "trees=" .. b.outside })
    assert.matches("how long a build may take (is 3)", told.stdout, 1, true)
    assert.matches("write      " .. b.workspace .. " " .. b.outside, told.stdout, 1, true)
  end)

  it("are in the JSON of explain, with their types, defaults and values", function()
    local b, file = made()
    local _ <close> = b
    local told = program(b, { "explain", "--json", "--policy", file, "--option", "minutes=3" })
    local answer = require("cjson").decode(told.stdout)
    assert.same({ name = "minutes", type = "integer", default = 10, value = 3, help = "how long a build may take" },
      answer.options[1])
    assert.same({ name = "trees", type = "paths", default = {}, value = {}, help = "what else it writes" }, answer.options[2])
    assert.same({}, require("cjson").decode(program(b, { "explain", "--json" }).stdout).options)
  end)

  it("reach the command that is run", function()
    local b, file = made()
    local _ <close> = b
    local command = { "/bin/sh", "-c", "echo x >$OUTSIDE/new" }
    local words = { "run", "--policy", file, "--" }
    assert.not_equal(0, program(b, table.move(command, 1, #command, 5, table.move(words, 1, 4, 1, {}))).status)
    words = { "run", "--policy", file, "--option", "trees=" .. b.outside, "--" }
    local result = program(b, table.move(command, 1, #command, 7, words))
    assert.equal(0, result.status, result.stderr)
    assert.equal("x\n", b:read("outside/new"))
  end)

  for _, case in ipairs({
    { "minutse=3", "options.minutse: unknown option (did you mean minutes?)" },
    { "minutes=soon", 'options.minutes: expected a whole number, got "soon"' },
    { "trees=x", "options.trees[1]: expected an absolute path" },
    { "minutes", "'minutes' is not NAME=VALUE" },
  }) do
    it("are refused when they are wrong: " .. case[1], function()
      local b, file = made()
      local _ <close> = b
      local result = program(b, { "explain", "--policy", file, "--option", case[1] })
      assert.equal(2, result.status)
      assert.matches(case[2], result.stderr, 1, true)
    end)
  end
end)

describe("procage-lua why", function()
  it("answers, with an exit status to go by", function()
    local b, file = made()
    local _ <close> = b
    local denied = program(b, { "why", "--policy", file, "read", "~/.ssh/id" })
    assert.equal(1, denied.status, denied.stderr)
    assert.matches(("not allowed\n  clause    hidden: %s/.ssh (private keys"):format(b.home), denied.stdout, 1, true)
    assert.matches(("\n  from      %s:13\n"):format(file), denied.stdout, 1, true)
    local allowed = program(b, { "why", "--policy", file, "--json", "write", "a" })
    assert.equal(0, allowed.status, allowed.stderr)
    assert.matches('"op":"write","target":"' .. b.workspace .. '/a","allowed":true', allowed.stdout, 1, true)
  end)

  for _, words in ipairs({ { "raed", "a" }, { "read" }, { "read", "a", "b" }, { "connect", "nowhere" }, {} }) do
    it("refuses bad usage: why " .. table.concat(words, " "), function()
      local b <close> = box.new()
      local result = program(b, table.move(words, 1, #words, 2, { "why" }))
      assert.equal(2, result.status)
      assert.matches("^procage%-lua: why", result.stderr)
    end)
  end
end)

describe("procage-lua test", function()
  it("lists each test and counts them", function()
    local b, file = made()
    local _ <close> = b
    b:write("outside/p_test.lua", [[
policy("./p.lua")
file("~/.ssh/id", "key")
denies.read("~/.ssh/id")
allows.write("./x")
allows.write("/etc/passwd")
]])
    local result = program(b, { "test", b.outside .. "/p_test.lua" })
    assert.equal(1, result.status, result.stderr)
    assert.matches("ok    " .. b.outside .. "/p_test.lua:3: denies read ~/.ssh/id (hidden)", result.stdout, 1, true)
    assert.matches("FAIL  " .. b.outside .. "/p_test.lua:5: allows write /etc/passwd (write)", result.stdout, 1, true)
    assert.matches("\n2 passed, 1 failed\n$", result.stdout)
    b:write("outside/good_test.lua", 'file("~/.ssh/id", "key")\ndenies.read("~/.ssh/id")\nallows.write("new")')
    local real = program(b, { "test", "--real", "--policy", file, b.outside .. "/good_test.lua" })
    assert.equal(0, real.status, real.stdout .. real.stderr)
    assert.matches("kernel: passed, the kernel refused", real.stdout, 1, true)
    assert.matches("\n2 passed, 0 failed\n$", real.stdout)
  end)

  it("refuses a file with a mistake in it", function()
    local b <close> = box.new()
    local file = b:write("outside/x_test.lua", "allows.raed('x')")
    local result = program(b, { "test", file })
    assert.equal(2, result.status)
    assert.matches(file .. ":1: attempt to call a nil value (field 'raed')", result.stderr, 1, true)
  end)
end)
