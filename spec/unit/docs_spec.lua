--- The examples of docs/policies.md work as they stand.

local box = require("spec.support.box")
local extensions = require("procage.extensions")
local fit = require("procage.fit")
local policy_test = require("procage.policy_test")
local procage = require("procage")

local function examples()
  local handle = assert(io.open("docs/policies.md"))
  local text = handle:read("a")
  handle:close()
  local list = {}
  for code in text:gmatch("\n```lua\n(.-)```") do
    list[#list + 1] = code
  end
  return list
end

--- The example with a text in it.
local function example(part)
  for _, code in ipairs(examples()) do
    if code:find(part, 1, true) then
      return code
    end
  end
  error("no example with " .. part)
end

local function load(b, file, options)
  local given = { root = b.workspace, home = b.home, env = b.env, explains = true }
  for key, value in pairs(options or {}) do
    given[key] = value
  end
  return procage.policy.load(file, given.config or {}, given)
end

describe("the documentation of policies", function()
  it("has a policy that loads", function()
    local b <close> = box.new()
    local policy, message = load(b, b:write("outside/strict.lua", example("a minute at most")))
    assert(policy, message)
    assert.equal(60000, policy.profile.limits.timeout_ms)
    assert.is_false(policy:why("read", "~/.ssh/id").allowed)
  end)

  it("has a policy with options that loads", function()
    local b <close> = box.new()
    local file = b:write("outside/minutes.lua", example('name = "minutes"'))
    local policy = assert(procage.policy.load(file, { options = { minutes = 2, trees = { b.outside } } }, {
      root = b.workspace, home = b.home, env = b.env, explains = true,
    }))
    assert.equal(120000, policy.profile.limits.timeout_ms)
    assert.same({ b.workspace, b.outside }, policy.profile.write)
  end)

  it("has a layer that narrows the default", function()
    local b <close> = box.new()
    b:write("outside/narrow.lua", example("narrow.lua"))
    local policy = assert(load(b, "speccoder", { layers = { { name = "user", policy = b.outside .. "/narrow.lua" } } }))
    assert.equal("none", policy.profile.network)
    assert.equal(600000, policy.profile.limits.cpu_ms)
  end)

  it("has registrations that are accepted", function()
    local list, message = extensions.read(example("fit.register({"), "fit.lua", fit.clauses)
    assert(list, message)
    assert.equal(2, #list)
  end)

  it("has tests that pass", function()
    local b <close> = box.new()
    b:write("outside/strict.lua", example("a minute at most"))
    local file = b:write("outside/strict_test.lua", example('policy("./strict.lua")'))
    local results, message = policy_test.run(file, { root = b.workspace, home = b.home, env = b.env })
    assert(results, message)
    for _, result in ipairs(results) do
      -- What this machine lacks is not the documentation's mistake.
      if not result.text:find("gap", 1, true) then
        assert(policy_test.passed(result), result.text .. ": " .. tostring(result.why))
      end
    end
  end)
end)
