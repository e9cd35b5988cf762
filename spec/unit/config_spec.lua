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
    { { policy = "./strict.lua" }, "policy: expected an absolute path, or one that starts with ~/" },
    { { policy = "strict.lua" }, "policy: expected an absolute path, or one that starts with ~/" },
    { { network_allow = { "cargo fetch" } }, 'network_allow[1]: expected a list, got "cargo fetch"' },
    { { network_allow = { {} } }, "network_allow[1]: expected 1 entries or more, got 0" },
    { { network_allow = { { "./gradlew" } } }, "network_allow[1][1]: expected the name of a program, or an absolute path" },
    { { network_allow = { { "/usr/../x" } } }, "network_allow[1][1]: expected the name of a program" },
    { { network_allow = { { "" } } }, "network_allow[1][1]: expected a text" },
    { { network_allow_prefix = { { "npm" } } }, "network_allow_prefix[1]: expected 2 entries or more, got 1" },
    { { network_allow_prefix = { { "go", "mod" }, { "npm", 3 } } }, "network_allow_prefix[2][2]: expected a text, got 3" },
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

describe("a configuration in TOML", function()
  local function problems(text)
    local parsed, message, all = config.parse(text, "speccoder.toml")
    assert.is_nil(parsed)
    assert.equal(all[1], message:sub(1, #all[1]))
    return all
  end

  it("is the [sandbox] table, and lets the others be", function()
    local parsed, why = config.parse([==[
title = "a project"
[commands]
network = "everything"
[sandbox]
mode = "required"
network = "off"
network_allow = [["cargo", "fetch"]]
network_allow_prefix = [["npm", "ci"], ["go", "mod"]]
writable = ["~/out", "/srv/x"]
caches = "fetch"
limits = { timeout_ms = 60_000 }
[sandbox.env]
keep = ["GITHUB_TOKEN"]
set.CI = "1"
[[others]]
]==])
    assert.is_table(parsed, why)
    assert.equal("required", parsed.mode)
    assert.equal("none", parsed.network)
    assert.same({ { "cargo", "fetch" } }, parsed.network_allow)
    assert.same({ { "npm", "ci" }, { "go", "mod" } }, parsed.network_allow_prefix)
    assert.same({ "~/out", "/srv/x" }, parsed.writable)
    assert.same({ timeout_ms = 60000 }, parsed.limits)
    assert.same({ drop = {}, set = { CI = "1" }, keep = { "GITHUB_TOKEN" } }, parsed.env)
    assert.equal("read", parsed.git)
  end)

  it("is the defaults when there is no such table", function()
    assert.same(config.parse({}), config.parse("[other]\nx = 1\n"))
    assert.same(config.parse({}), config.parse(""))
  end)

  it("is told all its mistakes at once, with their lines", function()
    local all = problems([==[
[sandbox]
mode = "require"
netwrok = "off"
writable = [
  "~/x",
  "build",
  3,
]
limits = { timout_ms = 1, cpu_ms = 1.5 }
hidden = 1979-05-27
tmp = "public"
]==])
    assert.same({
      'speccoder.toml:2: sandbox.mode: expected one of auto, required, off, got "require" (did you mean required?)',
      "speccoder.toml:3: sandbox.netwrok: unknown key (did you mean network?)",
      'speccoder.toml:6: sandbox.writable[2]: expected an absolute path, or one that starts with ~/, got "build"',
      "speccoder.toml:7: sandbox.writable[3]: expected a text, got 3",
      "speccoder.toml:9: sandbox.limits.timout_ms: unknown key (did you mean timeout_ms?)",
      "speccoder.toml:9: sandbox.limits.cpu_ms: expected a positive whole number, got 1.5",
      "speccoder.toml:10: sandbox.hidden: expected a list, got a date",
      'speccoder.toml:11: sandbox.tmp: expected one of private, shared, got "public"',
    }, all)
    local _, message = config.parse('[sandbox]\nx = 1\ny = 2\n', "f.toml")
    assert.equal("f.toml:2: sandbox.x: unknown key (and 1 more: procage-lua check FILE shows all)", message)
  end)

  local mistakes = {
    { "[sandbox]\nmode = \n", "speccoder.toml:2: " },
    { "[sandbox]\nmode = 'off'\nmode = 'auto'\n", "speccoder.toml:3: " },
    { "x = 1\nsandbox = 3\n", "speccoder.toml:2: sandbox: expected a table, got an integer" },
    { "[[sandbox]]\n", "speccoder.toml:1: sandbox: expected a table, got an array" },
    { "# nothing\nnetwork = 'all'\n", "speccoder.toml:2: network: expected below [sandbox], here nothing reads it" },
    { "[sandobx]\nnetwork = 'off'\n", "speccoder.toml:1: sandobx: unknown table (did you mean sandbox?)" },
    { "[sandbox]\nnetwork = 443.0\n", "speccoder.toml:2: sandbox.network: expected one of" },
    { "[sandbox]\nnetwork = [443, 8.5]\n", "speccoder.toml:2: sandbox.network[2]: expected a port, 1..65535, got 8.5" },
    { "[sandbox]\nenv.set.PATH = true\n", "speccoder.toml:2: sandbox.env.set.PATH: expected a text, got true" },
    { "[sandbox.limit]\n", "speccoder.toml:1: sandbox.limit: unknown key (did you mean limits?)" },
    { '[sandbox]\nhidden = ["/a\\u0000b"]\n', "speccoder.toml:2: sandbox.hidden[1]: holds a NUL byte" },
  }
  for _, case in ipairs(mistakes) do
    it("names the mistake: " .. case[2], function()
      assert.matches(case[2], problems(case[1])[1], 1, true)
    end)
  end

  it("is read from a file by its name's end, and no other kind of file is", function()
    for text, name in pairs({ ["[sandbox]\ngit = 'commit'\n"] = ".toml", ['{"git":"commit"}'] = ".json" }) do
      local file = os.tmpname() .. name
      local handle = assert(io.open(file, "w"))
      handle:write(text)
      handle:close()
      local source = assert(config.read_file(file))
      os.remove(file)
      os.remove((file:gsub("%.%a+$", "")))
      assert.same({}, source.problems)
      assert.same({ git = "commit" }, source.value)
    end
    local source, message = config.read_file("/etc/passwd")
    assert.is_nil(source)
    assert.equal("/etc/passwd: a configuration's name ends in .toml or .json", message)
  end)
end)
