local config = require("procage.config")
local layers = require("procage.layers")

--- What of `extra` holds over `base`, completed, and what is refused.
local function narrow(base, extra)
  local merged, refused = layers.narrow(base, extra)
  return assert(config.parse(merged)), refused
end

describe("a configuration that is not trusted", function()
  local less = {
    { "network", "all", "none" },
    { "network", "all", "loopback" },
    { "network", "all", { ports = { 443 } } },
    { "network", { ports = { 80, 443 } }, { ports = { 443 } } },
    { "network", { ports = { 443 } }, "none" },
    { "network", "loopback", "none" },
    { "mode", "auto", "required" },
    { "mode", "off", "auto" },
    { "git", "write", "commit" },
    { "git", "commit", "read" },
    { "caches", "write", "fetch" },
    { "caches", "fetch", "none" },
    { "tmp", "shared", "private" },
    { "handoff_absent", "move", "refuse" },
    { "loopback", "host", "run" },
    { "denials", "calls", "paths" },
    { "denials", "off", "calls" },
  }
  for _, case in ipairs(less) do
    local key, more_of, less_of = table.unpack(case)
    local title = ("%s: %s narrows %s"):format(key, layers.write(less_of), layers.write(more_of))
    it(title .. ", and not the other way round", function()
      local merged, refused = narrow({ [key] = more_of }, { [key] = less_of })
      assert.same(less_of, merged[key])
      assert.same({}, refused)
      merged, refused = narrow({ [key] = less_of }, { [key] = more_of })
      assert.same(less_of, merged[key])
      assert.equal(1, #refused)
      assert.matches("^" .. key .. " = ", refused[1])
    end)
  end

  it("has no key of which nobody thought what narrows it", function()
    for _, key in ipairs(config.keys) do
      assert.is_true(layers.knows(key), key)
    end
  end)

  it("does not choose between two networks of which neither holds the other", function()
    local pairs_of = { { "loopback", { 443 } }, { { 443 }, "loopback" }, { { 443 }, { 80 } }, { { 443 }, { 443, 80 } } }
    for _, pair in ipairs(pairs_of) do
      local merged, refused = narrow({ network = pair[1] }, { network = pair[2] })
      assert.same(config.parse({ network = pair[1] }).network, merged.network)
      assert.equal(1, #refused)
    end
  end)

  it("hides more and locks more", function()
    local merged, refused = narrow(
      { hidden = { "/a" }, env = { drop = { "A" }, keep = { "K" } } },
      { hidden = { "/b" }, read_only = { "/c" }, env = { drop = { "B" }, keep = { "K" } } }
    )
    assert.same({ "/a", "/b" }, merged.hidden)
    assert.same({ "/c" }, merged.read_only)
    assert.same({ drop = { "A", "B" }, set = {}, keep = { "K" } }, merged.env)
    assert.same({}, refused)
  end)

  it("grants nothing, and all that it would grant is told", function()
    local merged, refused = narrow({ writable = { "~/out" } }, {
      mode = "off",
      policy = "off",
      network = "all",
      network_allow = { { "npm", "ci" } },
      network_allow_prefix = { { "go", "mod" } },
      writable = { "~/out", "/srv" },
      readable = { "/opt" },
      sockets = { "/run/x" },
      accept = { "carve" },
      lift = { "~/.npmrc" },
      env = { set = { PATH = "/x" }, keep = { "TOKEN" } },
    })
    assert.same(config.parse({ writable = { "~/out" } }), merged)
    assert.same({
      'mode = "off"',
      'policy = "off"',
      'network = "all"',
      'network_allow = [["npm", "ci"]]',
      'network_allow_prefix = [["go", "mod"]]',
      'writable = ["/srv"]',
      'readable = ["/opt"]',
      'sockets = ["/run/x"]',
      'env = { keep = ["TOKEN"], set = { PATH = "/x" } }',
      'accept = ["carve"]',
      'lift = ["~/.npmrc"]',
    }, refused)
  end)

  it("lowers limits, and raises none", function()
    local merged, refused = narrow(
      { limits = { timeout_ms = 1000, cpu_ms = 500 } },
      { limits = { timeout_ms = 100, cpu_ms = 900, processes = 50, grace_ms = 9000, output_bytes = 1 << 30 } }
    )
    assert.same({ timeout_ms = 100, cpu_ms = 500, processes = 50 }, merged.limits)
    assert.same({ "limits = { cpu_ms = 900, grace_ms = 9000, output_bytes = 1073741824 }" }, refused)
  end)

  it("raises no limit that a policy sets by itself", function()
    local merged, refused = narrow({ policy = "own-command" }, { limits = { timeout_ms = 3600000 } })
    assert.is_nil(merged.limits.timeout_ms)
    assert.same({ "limits = { timeout_ms = 3600000 }" }, refused)
    assert.equal(1000, narrow({ policy = "own-command" }, { limits = { timeout_ms = 1000 } }).limits.timeout_ms)
  end)

  it("leaves both tables as they were, and says nothing that was said already", function()
    local base, extra = { hidden = { "/a" } }, { hidden = { "/b" }, mode = "auto", network = "loopback" }
    local merged = layers.narrow(base, extra)
    assert.same({ hidden = { "/a" } }, base)
    assert.same({ hidden = { "/b" }, mode = "auto", network = "loopback" }, extra)
    assert.is_nil(merged.mode)
    assert.is_nil(merged.network)
  end)

  it("never widens, whatever it says", function()
    -- Every pair of values of every key: what holds is the first's or narrower by that same order.
    local values = {
      mode = { "auto", "required", "off" },
      network = { "none", "loopback", "all", { 443 }, { 80, 443 } },
      git = { "read", "commit", "write" },
      caches = { "write", "fetch", "none" },
      tmp = { "private", "shared" },
      policy = { "speccoder", "off" },
    }
    for key, list in pairs(values) do
      for _, first in ipairs(list) do
        for _, second in ipairs(list) do
          local once = layers.narrow({ [key] = first }, { [key] = second })
          local twice, refused = layers.narrow(once, { [key] = second })
          assert.same(once, twice)
          local back = layers.narrow(once, { [key] = first })
          assert.same(once, back, ("%s: %s was given back"):format(key, layers.write(first)))
          assert.is_true(#refused <= 1)
        end
      end
    end
  end)
end)

describe("a value as a person would write it", function()
  it("is TOML that means the same", function()
    local toml = require("procage.toml")
    local value = { a = { 'quo"te', "back\\slash", "tab\t\127", "é" }, b = { { x = 1, ["a b"] = true } }, c = {} }
    assert.same(value, (toml.parse("v = " .. layers.write(value))).v)
  end)
end)
