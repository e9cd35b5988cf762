local box = require("spec.support.box")
local policy_test = require("procage.policy_test")

local STRICT = [[
local profile = require("procage.profile")
local rows = require("policies.rows")
return function(config, ctx)
  local p = profile.new()
  p:allow_read("/")
  p:workspace(ctx.workspace)
  p:hidden(rows.hidden(ctx, rows.lift(config.lift, ctx)))
  p:network(config.network)
  p:accept("trust_handoff", "carve", "replace", "stat", "metadata", "truncate", "signal_scope", "process_tree", "device_ioctl")
  return p
end]]

--- Runs a file of tests in a box.
local function run(b, body, options)
  b:write("outside/strict.lua", STRICT)
  local file = b:write("outside/strict_test.lua", body)
  local given = { root = b.workspace, home = b.home, env = b.env }
  for key, value in pairs(options or {}) do
    given[key] = value
  end
  return policy_test.run(file, given)
end

local function passed(results)
  local list = {}
  for i, result in ipairs(results) do
    list[i] = policy_test.passed(result)
  end
  return list
end

describe("tests of a policy", function()
  it("are about a throw-away home and workspace, where they make files, and leave nothing", function()
    local b <close> = box.new()
    local results = assert(run(b, [[
policy("./strict.lua")
file("~/.ssh/id", "key")
file("a/b.txt", "b")
directory("~/notes")
denies.read("~/.ssh/id", "~/.ssh")
allows.read("a/b.txt")
allows.write("./new", "a/b.txt")
denies.write("~/notes", "/etc/passwd")
denies.connect("198.51.100.7:443")
]]))
    assert.same({ true, true, true, true, true, true, true, true }, passed(results))
    assert.equal("denies read ~/.ssh/id", results[1].text)
    assert.matches("outside/strict_test.lua:5$", results[1].at)
    assert.is_false(b:exists("workspace/a"))
    assert.equal("", box.shell("ls " .. b.home))
  end)

  it("are about the real workspace where they make none", function()
    local b <close> = box.new()
    b:write("workspace/x", "x")
    local results = assert(run(b, 'policy("./strict.lua")\nallows.write("x")\nallows.write("/etc/passwd")'))
    assert.same({ true, false }, passed(results))
  end)

  it("fail where nothing is learnt: what is not there, or closed by its own mode", function()
    local b <close> = box.new()
    b:write("workspace/closed", "x")
    b:mode("workspace/closed", "000")
    local results = assert(run(b, 'denies.read("none", "closed")'))
    assert.same({ false, false }, passed(results))
  end)

  it("know gaps of hosts that are not here, with a configuration of their own", function()
    local b <close> = box.new()
    local results = assert(run(b, [[
gap("carve", hosts.docker)
no_gap("carve", hosts.full)
config({ git = "write" })
no_gap("process_tree", hosts.full)
gap("process_tree", hosts.full)
]]))
    assert.same({ true, true, true, false }, passed(results))
  end)

  it("take the configuration that they are given, and the policy of the caller before theirs", function()
    local b <close> = box.new()
    local body = 'policy("./none.lua")\nallows.connect("198.51.100.7:443")\nconfig({ network = "none" })\ndenies.connect("443")'
    local results = assert(run(b, body, { policy = b.outside .. "/strict.lua", config = { network = "all" } }))
    assert.same({ true, true }, passed(results))
  end)

  local mistakes = {
    { 'gap("crave")', 'strict_test.lua:1: gap: expected one of .*did you mean carve' },
    { '\ngap("carve", hosts.dokcer)', "strict_test.lua:2: hosts.dokcer: no such host .did you mean docker" },
    { 'allows.raed("x")', "strict_test.lua:1: attempt to call a nil value .field 'raed'. .did you mean read" },
    { 'allow.read("x")', "strict_test.lua:1: attempt to index a nil value .global 'allow'. .did you mean allows" },
    { "", "strict_test.lua: asks nothing" },
    { 'policy("./strict.lua")', "strict_test.lua: asks nothing" },
    { "allows.read()", "strict_test.lua:1: allows.read: a target is missing" },
    { "allows.read(1)", "strict_test.lua:1: allows.read: expected a text" },
    { 'allows.read("a/../b")', "strict_test.lua:1: a/../b: a path without" },
    { 'file("/etc/x", "y")', "strict_test.lua:1: /etc/x: files are made in the throw%-away home" },
    { 'policy("./none.lua")\nallows.read("/etc")', "none.lua: No such file" },
    { "while true do end", "strict_test.lua:1: took more than" },
    { 'config("x")', "strict_test.lua:1: config: expected a table" },
    { 'config({ netwrok = "none" })\nallows.read("/etc")', "netwrok: unknown key .did you mean network" },
    { 'allows.connect("example.com:443")', "strict_test.lua:1: connect example.com:443: a name stands for addresses" },
    { 'allows.connect("nowhere")', "strict_test.lua:1: connect nowhere: expected a path" },
    { 'socket("/etc/x")', "strict_test.lua:1: /etc/x: files are made in the throw%-away home" },
    { 'sokcet("x")', "strict_test.lua:1: attempt to call a nil value .global 'sokcet'. .did you mean socket" },
    { "os.exit()", "strict_test.lua:1: attempt to index a nil value" },
  }
  for _, case in ipairs(mistakes) do
    it("are told what is wrong: " .. case[1]:gsub("\n", " "), function()
      local b <close> = box.new()
      local results, message = run(b, case[1])
      assert.is_nil(results)
      assert.matches(case[2], message)
    end)
  end

  it("are a function of the module, and their results plain data", function()
    local b <close> = box.new()
    local file = b:write("outside/x_test.lua", 'allows.read("/etc/passwd")')
    local results = assert(require("procage").test(file, { root = b.workspace, home = b.home, env = b.env }))
    assert.same({ at = file .. ":1", text = "allows read /etc/passwd", passed = true, why = "read" }, results[1])
  end)
end)
