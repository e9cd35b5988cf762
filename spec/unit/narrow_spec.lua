local box = require("spec.support.box")
local narrow = require("procage.narrow")
local profile = require("procage.profile")

local BASE = {
  workspace = "/w", read = "all", write = { "/w", "/out" }, hidden = { "/h" }, read_only = { "/w/golden" }, git = "commit",
  handoff = { ".envrc" }, caches = { trees = { "/c" }, when = "write" }, tmp = "shared", network = { ports = { 80, 443 } },
  loopback = "run", sockets = { "/run/x" }, env = { drop = { "*_TOKEN" }, set = { LANG = "C" }, keep = { "A_TOKEN" } },
  limits = { cpu_ms = 100 }, accept = { "carve", "stat" }, lift = { "/l" },
}

describe("narrow", function()
  it("leaves what the layer does not speak of", function()
    assert.same(profile.plain(BASE), narrow.narrow(BASE, {}))
  end)

  local narrower = {
    { { write = { "/w/src" } }, "write", { "/w/src" } },
    { { write = { "/c/x" } }, "write", { "/c/x" } },
    { { read = { "/usr" } }, "read", { "/usr" } },
    { { hidden = { "/k" } }, "hidden", { "/h", "/k" } },
    { { read_only = { "/w/a" } }, "read_only", { "/w/golden", "/w/a" } },
    { { handoff = { "Makefile" } }, "handoff", { ".envrc", "Makefile" } },
    { { git = "read" }, "git", "read" },
    { { caches = { trees = {}, when = "write" } }, "caches", { trees = {}, when = "write" } },
    { { caches = { when = "fetch" } }, "caches", { trees = { "/c" }, when = "fetch" } },
    { { tmp = "private" }, "tmp", "private" },
    { { network = { ports = { 443 } } }, "network", { ports = { 443 } } },
    { { network = "none" }, "network", "none" },
    { { sockets = {} }, "sockets", {} },
    { { limits = { cpu_ms = 50, open_files = 9 } }, "limits", { cpu_ms = 50, open_files = 9 } },
    { { accept = { "stat" } }, "accept", { "stat" } },
    { { lift = {} }, "lift", {} },
    { { env = { drop = { "X" }, set = { CI = "1", LANG = "C" }, keep = {} } }, "env",
      { drop = { "*_TOKEN", "X" }, set = { LANG = "C", CI = "1" }, keep = {} } },
  }
  for i, case in ipairs(narrower) do
    it("takes away, case " .. i .. ": " .. case[2], function()
      local result = assert(narrow.narrow(BASE, case[1]))
      assert.same(case[3], result[case[2]])
    end)
  end

  local wider = {
    { { write = { "/w", "/etc" } }, "write: would widen: /etc is not writable in the base" },
    { { write = { "/work" } }, "write: would widen: /work" },
    { { workspace = "/home" }, "workspace: would widen: /home" },
    { { git = "write" }, "git: would widen: write, the base gives commit" },
    { { caches = { trees = { "/d" }, when = "fetch" } }, "caches: would widen: /d is no cache" },
    { { network = "all" }, "network: would widen: all, the base gives ports 80, 443" },
    { { network = "loopback" }, "network: would widen: loopback" },
    { { network = { ports = { 22, 443 } } }, "network: would widen: port 22" },
    { { loopback = "host" }, "loopback: would widen" },
    { { sockets = { "/run" } }, "sockets: would widen: /run is not reachable" },
    { { limits = { cpu_ms = 101 } }, "limits: would widen: cpu_ms = 101, the base gives 100" },
    { { accept = { "write" } }, "accept[1]: expected one of" },
    { { accept = { "ports" } }, 'accept: would widen: "ports", which the base does not have' },
    { { lift = { "/h" } }, 'lift: would widen: "/h"' },
    { { env = { keep = { "B_TOKEN" } } }, "env: would widen: keeps B_TOKEN" },
    { { env = { set = { B_TOKEN = "x" } } }, "env: would widen: sets B_TOKEN, which the base drops" },
    { { env = { set = { LANG = "de" } } }, "env: would widen: sets LANG, which the base has set" },
    { { unconfined = "please" }, "unconfined: would widen: nothing would be confined" },
    { { mechanisms = { "mask" } }, "mechanisms: would widen: is filled in by fit" },
    { { wirte = {} }, "wirte: unknown field (did you mean write?)" },
  }
  for _, case in ipairs(wider) do
    it("names what would widen: " .. case[2], function()
      local result, message = narrow.narrow(BASE, case[1])
      assert.is_nil(result)
      assert.matches(case[2], message, 1, true)
    end)
  end

  it("has a rule for every field of the profile", function()
    for _, field in ipairs(profile.fields) do
      assert.is_function(narrow.rules[field], field)
    end
  end)

  it("knows of reading everything and of reading a list", function()
    local closed = { read = { "/usr" }, write = { "/w" } }
    assert.same({ "/usr/bin", "/w" }, narrow.narrow(closed, { read = { "/usr/bin", "/w" } }).read)
    assert.matches("read: would widen: everything", select(2, narrow.narrow(closed, { read = "all" })), 1, true)
    assert.matches("read: would widen: /etc", select(2, narrow.narrow(closed, { read = { "/etc" } })), 1, true)
  end)

  it("takes a builder as a layer that says everything", function()
    local p = profile.new()
    p:allow_write("/w")
    local result = assert(narrow.narrow(BASE, p))
    assert.equal("none", result.network)
    assert.same({}, result.read)
    assert.same({}, result.accept)
  end)

  it("confines what was not confined", function()
    local result = assert(narrow.narrow({ unconfined = "off", read = "all", accept = { "off" } }, { read = { "/usr" } }))
    assert.is_nil(result.unconfined)
    assert.same({}, result.accept)
  end)

  it("composes system, user, project and command, and names the layer that would widen", function()
    local layers = {
      { name = "system", profile = BASE },
      { name = "user", profile = { network = { ports = { 443 } } } },
      { name = "project", profile = { limits = { cpu_ms = 10 } } },
    }
    local result = assert(narrow.compose(layers))
    assert.same({ ports = { 443 } }, result.network)
    assert.equal(10, result.limits.cpu_ms)
    layers[4] = { name = "command", profile = { network = { ports = { 80 } } } }
    assert.equal("command: network: would widen: port 80, the base gives ports 443", select(2, narrow.compose(layers)))
  end)

  -- Pairs of profiles made at random: what is composed never gives more than either of the two.
  it("never gives more than the base or than the layer", function()
    local state = 7
    local function pick(list)
      state = (state * 1103515245 + 12345) & 0x7fffffff
      return list[(state >> 8) % #list + 1]
    end
    local function made()
      return {
        read = pick({ "all", { "/usr" }, { "/usr/lib" }, {} }), write = pick({ { "/w" }, { "/w/a" }, {}, { "/x" } }),
        git = pick({ "read", "commit", "write" }), tmp = pick({ "private", "shared" }),
        network = pick({ "none", "loopback", "all", { ports = { 1 } }, { ports = { 1, 2 } } }),
        hidden = pick({ {}, { "/h" } }), accept = pick({ {}, { "stat" } }),
        limits = pick({ {}, { cpu_ms = 1 }, { cpu_ms = 2 } }),
      }
    end
    local composed = 0
    for _ = 1, 3000 do
      local base, layer = made(), made()
      local result = narrow.narrow(base, layer)
      if result then
        composed = composed + 1
        for _, bound in ipairs({ base, layer }) do
          assert(narrow.narrow(bound, { write = result.write, network = result.network, git = result.git, tmp = result.tmp,
            accept = result.accept }))
          assert(not bound.limits.cpu_ms or result.limits.cpu_ms <= bound.limits.cpu_ms)
          assert(not bound.hidden[1] or #result.hidden > 0)
        end
      end
    end
    assert(composed > 50, composed)
  end)
end)

describe("layers of a policy", function()
  local function load(b, layers)
    return require("procage").policy.load("speccoder", {}, { root = b.workspace, home = b.home, env = b.env, layers = layers })
  end

  it("narrow it before anything is resolved", function()
    local b <close> = box.new()
    local file = b:write("outside/less.lua", [[
      return function(config, ctx)
        return { network = "none", write = { ctx.workspace .. "/src" }, hidden = { ctx.home .. "/notes" } }
      end]])
    b:mkdir("workspace/src")
    local policy, message = load(b, { { name = "user", policy = file } })
    assert(policy, message)
    assert.equal("none", policy.profile.network)
    assert.same({ b.workspace .. "/src" }, { policy.profile.write[1] })
    local answer = policy:why("write", b.workspace .. "/new")
    assert.is_false(answer.allowed)
    assert.equal(file .. " (user layer)", answer.from[1])
    assert.is_true(policy:why("write", b.workspace .. "/src/new").allowed)
  end)

  it("that would widen are an error with file, layer and clause", function()
    local b <close> = box.new()
    local file = b:write("outside/more.lua", 'return function(_, ctx) return { write = { ctx.workspace, "/etc" } } end')
    local policy, message, code = load(b, { { name = "project", policy = file } })
    assert.is_nil(policy)
    assert.equal(file .. " (project layer): write: would widen: /etc is not writable in the base", message)
    assert.equal("config", code)
  end)

  it("cannot be passed by with mode = off", function()
    local b <close> = box.new()
    local file = b:write("outside/less.lua", "return function() return {} end")
    local policy, message = require("procage").policy.load("speccoder", { mode = "off" }, {
      root = b.workspace, home = b.home, env = b.env, layers = { { name = "system", policy = file } },
    })
    assert.is_nil(policy)
    assert.matches("mode: would widen", message, 1, true)
  end)

  it("are files that the command line names, and the system's and the user's own", function()
    local b <close> = box.new()
    local less = b:write("outside/less.lua", 'return function() return { network = "none" } end')
    local more = b:write("outside/more.lua", 'return function() return { network = "all" } end')
    local program = require("procage.paths").program()
    if not program then
      return pending("no program beside this module")
    end
    local function explain(options)
      local line = ("cd %s && %s %s explain %s"):format(b.workspace, b:prefix(), program, options)
      return (box.shell(line))
    end
    assert.matches("network    loopback", explain(""), 1, true)
    assert.matches("network    none", explain("--narrow " .. less), 1, true)
    assert.matches("more.lua (command layer): network: would widen: all", explain("--narrow " .. more), 1, true)
    b:write("home/.config/procage/narrow.lua", 'return function() return { network = "none" } end')
    assert.matches("network    none", explain(""), 1, true)
  end)

  it("cannot widen by a link in a tree of the base", function()
    local b <close> = box.new()
    b:symlink(b.outside, "workspace/link")
    local file = b:write("outside/link.lua", 'return function(_, ctx) return { write = { ctx.workspace .. "/link" } } end')
    local policy, message = load(b, { { name = "project", policy = file } })
    assert(not policy or not policy:why("write", b.outside .. "/x").allowed)
    assert(policy or message:find("would widen", 1, true), message)
  end)
end)
