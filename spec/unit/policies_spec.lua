local lists = require("policies.lists")
local policies = require("spec.support.policies")

local function build(name, settings, fields)
  local built, why = policies.build(name, settings, fields)
  assert.is_table(built, why)
  return built
end

--- Fields in which a policy differs from the one that it is made of.
local function differences(name, settings)
  local own, base = build(name, settings), build("speccoder", settings)
  local found = {}
  for key, value in pairs(own) do
    if not pcall(assert.same, base[key], value) then
      found[#found + 1] = key
    end
  end
  table.sort(found)
  return found
end

describe("the in-place policy", function()
  it("is speccoder's, and empties what git ignores", function()
    assert.same({ "ignored" }, differences("in-place"))
    local patterns = {}
    for i, row in ipairs(lists.ignored) do
      patterns[i] = row.pattern
    end
    assert.same(patterns, build("in-place").ignored)
  end)

  it("never lets git write, whatever the configuration says", function()
    assert.equal("read", build("in-place", { git = "write" }).git)
    assert.is_true(#build("in-place", { git = "write" }).handoff == #build("in-place").handoff)
  end)

  it("re-opens a pattern by its name, and knows no other", function()
    local p = build("in-place", { lift = { ".env*", ".npmrc" } })
    for _, pattern in ipairs(p.ignored) do
      assert.is_true(pattern ~= ".env*" and pattern ~= ".npmrc")
    end
    assert.same({ ".env*", ".npmrc" }, p.lift)
    local _, why = policies.build("in-place", { lift = { ".env" } })
    assert.matches("lift[1]: no hidden path, hand-off name or pattern of the lists is called .env", why, 1, true)
  end)
end)

describe("the own-command policy", function()
  it("is speccoder's with the network, git, ten minutes and programs of the system", function()
    local p = build("own-command", { network = "none", git = "read" })
    assert.equal("all", p.network)
    assert.equal("write", p.git)
    assert.equal("path", p.programs)
    assert.equal("private", p.tmp)
    assert.equal(600000, p.limits.timeout_ms)
    assert.same(build("speccoder").hidden, p.hidden)
    assert.same(build("speccoder").caches, p.caches)
    assert.equal(5, build("own-command", { limits = { timeout_ms = 5 } }).limits.timeout_ms)
  end)
end)

describe("the mcp-server policy", function()
  it("is speccoder's without a deadline, wrapped in the form that looks after it, and ends with its input", function()
    local settings = { limits = { timeout_ms = 5 }, network = { ports = { 443 } } }
    assert.same({ "limits", "wrap" }, differences("mcp-server", settings))
    local p = build("mcp-server", settings)
    assert.equal("tree", p.wrap)
    assert.same({ stdin_grace_ms = 1000, grace_ms = 1000 }, p.limits)
    assert.same({ ports = { 443 } }, p.network)
    assert.equal(7, build("mcp-server", { limits = { stdin_grace_ms = 7 } }).limits.stdin_grace_ms)
  end)
end)
