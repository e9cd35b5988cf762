local cjson = require("cjson")
local config = require("procage.config")

local function parse(t)
  local parsed, why = config.parse(t)
  assert.is_table(parsed, why)
  return parsed
end

describe("a configuration", function()
  it("has a default for every key", function()
    local parsed = parse(nil)
    for _, key in ipairs(config.keys) do
      assert.is_not_nil(parsed[key], key)
    end
    assert.equal("auto", parsed.mode)
    assert.equal("speccoder", parsed.policy)
    assert.equal("loopback", parsed.network)
    assert.equal("read", parsed.git)
    assert.same({ drop = {}, set = {}, keep = {} }, parsed.env)
  end)

  it("has defaults of its own: one changed does not change the next", function()
    table.insert(parse({}).writable, "/x")
    parse({ env = {} }).env.drop[1] = "x"
    assert.same({}, parse({}).writable)
    assert.same({}, parse({}).env.drop)
  end)

  it("is left as it was given", function()
    local given = { network = { 443, 80, 443 }, env = {} }
    parse(given)
    assert.same({ network = { 443, 80, 443 }, env = {} }, given)
  end)

  it("takes JSON null for absent", function()
    assert.equal("auto", parse({ mode = cjson.null }).mode)
    assert.same({}, parse({ env = { drop = cjson.null } }).env.drop)
  end)

  local spellings = {
    { "off", "none" },
    { "none", "none" },
    { "localhost", "loopback" },
    { "loopback", "loopback" },
    { "all", "all" },
    { "ports:443", { ports = { 443 } } },
    { "ports:8080,443,8080", { ports = { 443, 8080 } } },
    { { 8080, 443 }, { ports = { 443, 8080 } } },
    { { ports = { 1 } }, { ports = { 1 } } },
  }
  for _, case in ipairs(spellings) do
    it("spells the network one way: " .. cjson.encode(case[1]), function()
      assert.same(case[2], parse({ network = case[1] }).network)
    end)
  end

  local mistakes = {
    { { netwrok = "off" }, "netwrok: unknown key (did you mean network?)" },
    { { write = {} }, "write: unknown key" },
    { { limits = { timout_ms = 1 } }, "limits.timout_ms: unknown key (did you mean timeout_ms?)" },
    { { env = { kep = {} } }, "env.kep: unknown key (did you mean keep?)" },
    { { mode = "require" }, 'mode: expected one of auto, required, off, got "require" (did you mean required?)' },
    { { network = "lopback" }, "(did you mean loopback?)" },
    { { network = "ports:" }, "network: expected one of" },
    { { network = "ports:80,,90" }, "network: expected one of" },
    { { network = "ports:0" }, "network[1]: expected a port, 1..65535, got 0" },
    { { network = "ports:99999999999999999999" }, "network[1]: expected a port, 1..65535" },
    { { network = { 70000 } }, "network[1]: expected a port, 1..65535, got 70000" },
    { { network = {} }, "network: expected 1 entries or more, got 0" },
    { { network = { ports = { 1 }, hosts = {} } }, "network.hosts: unknown key" },
    { { network = true }, "network: expected one of" },
    { { writable = "/x" }, 'writable: expected a list, got "/x"' },
    { { writable = { "~", "rel" } }, 'writable[2]: expected an absolute path, or one that starts with ~/, got "rel"' },
    { { writable = { "~root/x" } }, "writable[1]: expected an absolute path" },
    { { writable = { "~/../x" } }, "writable[1]: expected a path without .." },
    { { hidden = { "/a\0b" } }, "hidden[1]: holds a NUL byte" },
    { { hidden = { "**/.env" } }, "hidden[1]: expected an absolute path" },
    { { limits = { timeout_ms = "10" } }, 'limits.timeout_ms: expected a positive whole number, got "10"' },
    { { accept = { "trust_handof" } }, "(did you mean trust_handoff?)" },
    { { env = { set = { A = true } } }, "env.set.A: expected a text, got true" },
    { { policy = 3 }, "policy: expected a text, got 3" },
    { { denials = "all" }, "denials: expected one of off, calls, paths" },
    { 3, "top level: expected a table, got 3" },
  }
  for _, case in ipairs(mistakes) do
    it("names the mistake: " .. case[2], function()
      local parsed, why = config.parse(case[1], "speccoder.toml")
      assert.is_nil(parsed)
      assert.equal("speccoder.toml: ", why:sub(1, 16))
      assert.matches(case[2], why, 1, true)
    end)
  end
end)
