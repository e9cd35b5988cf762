--- Keys that somebody gave and a policy's script did not read: an error where they would protect more, told where they give.

local config = require("procage.config")
local policies = require("spec.support.policies")
local policy = require("procage.policy")

--- What comes of a script whose policy has these lines, given these keys.
local function built(lines, given)
  return policy.build_profile("p.lua", assert(config.parse(given)), policies.context(), {
    read_file = function()
      return ([[
        local profile = require("procage.profile")
        local path = require("procage.path")
        return function(config, ctx)
          local p = profile.new()
          %s
          return p
        end]]):format(lines)
    end,
    given = given,
  })
end

local OPEN = 'p:allow_read("/") p:allow_write(ctx.workspace) p:network("all") p:tmp("shared") p:git("write") \z
  p:loopback("host") '

describe("a key that would protect more, and that no script reads", function()
  for key, value in pairs({
    hidden = { "~/notes" },
    read_only = { "~/src/app/lib" },
    network = "none",
    loopback = "run",
    git = "read",
    tmp = "private",
  }) do
    it("is an error: " .. key, function()
      local given = { [key] = value }
      local p, why = built(OPEN, given)
      assert.is_nil(p)
      assert.matches("p.lua: this policy does not use what would protect more: " .. key .. "; take it in (", why, 1, true)
      -- The control: nobody gave it, and it is read.
      assert.is_table(built(OPEN, {}))
      assert.is_table(built(OPEN .. ("local _ = config.%s"):format(key), given))
    end)
  end

  it("is an error of each part of limits and env", function()
    local given = { limits = { cpu_ms = 10, open_files = 9 }, env = { drop = { "X*" } } }
    local _, why = built(OPEN .. "p:limits({ cpu_ms = config.limits.cpu_ms })", given)
    assert.matches("protect more: env.drop, limits.open_files; ", why, 1, true)
    assert.is_table(built(OPEN .. "p:limits(config.limits) p:env(config.env)", given))
    assert.is_table(built(OPEN .. "for _ in pairs(config.limits) do end p:env({ drop = config.env.drop })", given))
  end)

  it("is none where the profile takes that away all the same", function()
    local given = { hidden = { "~/notes/a" }, network = "loopback", limits = { cpu_ms = 10 }, caches = "none", git = "read" }
    local p, why, source = built('p:hidden("/home/u/notes") p:limits({ cpu_ms = 9 })', given)
    assert.is_table(p, why)
    assert.equal("procage: this policy does not use: limits.cpu_ms, network (p.lua)", source.notice)
    assert.is_table(built("p:allow_read('/usr')", { hidden = { "~/notes" }, read_only = { "~/notes" } }))
  end)

  it("is read by whatever walks the configuration", function()
    local ways = { "for _ in pairs(config) do end", "local _ = rawget(config, 'hidden')", "local _ = next(config)" }
    for _, lines in ipairs(ways) do
      assert.is_table(built(OPEN .. lines, { hidden = { "~/notes" } }))
    end
  end)

  it("is one too where the script writes over it", function()
    local p, why = built(OPEN .. "config.network = 'all' p:network(config.network)", { network = "none" })
    assert.is_nil(p)
    assert.matches("protect more: network", why, 1, true)
  end)
end)

describe("a key that gives, and that no script reads", function()
  it("is told", function()
    local given = { writable = { "~/out" }, lift = { ".envrc" }, network = "all", env = { set = { A = "b" } } }
    local _, _, source = built("", given)
    assert.equal("procage: this policy does not use: env.set, lift, network, writable (p.lua)", source.notice)
    _, _, source = built('p:allow_write("/home/u/out")', { writable = { "~/out" }, mode = "required", denials = "paths" })
    assert.is_nil(source.notice)
  end)

  it("is no matter of a policy that ships", function()
    local p, why = policy.build_profile("own-command", assert(config.parse({ network = "none" })), policies.context(), {
      given = { network = "none" },
    })
    assert.equal("all", p and p.network, why)
  end)
end)

describe("the configuration that a script sees", function()
  it("is a table like any other", function()
    local p, why = built([[
      assert(type(config) == "table" and type(config.limits) == "table" and config.none == nil and config.limits.none == nil)
      config.git = "write"
      config.limits.cpu_ms = 5
      config.limits.cpu_ms = nil
      config.limits.open_files = 7
      config.hidden[#config.hidden + 1] = "~/more"
      assert(config.limits == config.limits and config.git == "write" and config.limits.cpu_ms == nil)
      local names = {}
      for name in pairs(config.limits) do names[#names + 1] = name end
      assert(table.concat(names, " ") == "file_bytes open_files", table.concat(names, " "))
      p:limits(config.limits)
      p:hidden(path.expand_homes(config.hidden, ctx.home))
    ]], { limits = { file_bytes = 6 }, hidden = { "~/notes" } })
    assert.is_table(p, why)
    assert.same({ file_bytes = 6, open_files = 7 }, p.limits)
    assert.same({ "/home/u/notes", "/home/u/more" }, p.hidden)
  end)

  it("gives its tables as plain data", function()
    local p, why = policy.build_profile("p.lua", assert(config.parse({ limits = { cpu_ms = 5 } })), policies.context(), {
      read_file = function()
        return "return function(config) return { limits = config.limits, env = config.env } end"
      end,
    })
    assert.is_table(p, why)
    assert.same({ cpu_ms = 5 }, p.limits)
  end)
end)
