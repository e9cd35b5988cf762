local config = require("procage.config")
local fit = require("procage.fit")
local hosts = require("spec.support.hosts")
local policies = require("spec.support.policies")
local policy = require("procage.policy")

--- Builds from files that exist only here.
local function build(files, name, fields)
  return policy.build_profile(name or "p", assert(config.parse()), policies.context(fields), {
    resolve = function(shipped)
      return "/policies/" .. shipped .. ".lua"
    end,
    read_file = function(file)
      if not files[file] then
        return nil, file .. ": No such file or directory"
      end
      return files[file]
    end,
  })
end

local function script(body)
  return build({ ["/policies/p.lua"] = body })
end

describe("a policy script", function()
  it("is a function from a configuration and a context to a profile", function()
    local p = assert(script([[
      local profile = require("procage.profile")
      return function(config, ctx)
        local p = profile.new()
        p:allow_write(ctx.workspace)
        p:network(config.network)
        return p
      end
    ]]))
    assert.same({ "/home/u/src/app" }, p.write)
    assert.equal("loopback", p.network)
    assert.equal("private", p.tmp)
  end)

  it("may return plain data", function()
    assert.same({ "/w" }, assert(script('return function() return { write = { "/w" } } end')).write)
  end)

  local closed = {
    "io", "os", "debug", "load", "loadstring", "loadfile", "dofile", "package", "coroutine", "collectgarbage", "print",
    "getmetatable", "setmetatable", "pcall", "xpcall", "string.dump", "math.random", "math.randomseed",
  }
  for _, name in ipairs(closed) do
    it("has no " .. name, function()
      local p, why = script(("return function() return { unconfined = type(%s) } end"):format(name))
      assert.equal("nil", p and p.unconfined, why)
    end)
  end

  for _, name in ipairs({ "procage.core", "os", "procage.policy", "policies/../x", "policies." }) do
    it("cannot require " .. name, function()
      local p, why = script(("\nlocal x = require(%q)"):format(name))
      assert.is_nil(p)
      assert.matches("/policies/p.lua:2: require reaches procage.profile", why, 1, true)
    end)
  end

  it("requires what is shipped beside it, in the same closed state", function()
    local p = assert(build({
      ["/policies/p.lua"] = 'local q = require("policies.q")\nreturn function() return { unconfined = q.os } end',
      ["/policies/q.lua"] = "return { os = type(os) }",
    }))
    assert.equal("nil", p.unconfined)
  end)

  it("that requires itself ends", function()
    local p, why = build({
      ["/policies/p.lua"] = 'return require("policies.q")',
      ["/policies/q.lua"] = 'return require("policies.q")',
    })
    assert.is_nil(p)
    assert.matches("policies.q requires itself", why, 1, true)
  end)

  it("is not bytecode", function()
    local p, why = script(string.dump(function() end))
    assert.is_nil(p)
    assert.matches("attempt to load a binary chunk", why, 1, true)
  end)

  it("changes nothing that another script sees", function()
    assert(script([[
      string.rep = nil
      local profile, path = require("procage.profile"), require("procage.path")
      profile.new, path.join, profile.gap_ids[1] = nil, nil, "evil"
      return function(config, ctx)
        config.network, ctx.home = "all", "/"
        return { accept = {} }
      end
    ]]))
    assert.is_function(string.rep)
    assert.is_function(require("procage.path").join)
    assert.equal("carve", require("procage.profile").gap_ids[1])
    assert.is_not_nil(script('local p = require("procage.profile")\nreturn function() return p.new() end'))
  end)

  it("cannot change the configuration of its caller", function()
    local parsed, ctx = assert(config.parse()), policies.context()
    assert(policy.build_profile("p", parsed, ctx, {
      resolve = tostring,
      read_file = function()
        return 'return function(c, x) c.network = "all"; x.env.A = "b"; return {} end'
      end,
    }))
    assert.equal("loopback", parsed.network)
    assert.same({}, ctx.env)
  end)

  local mistakes = {
    { "return function(", "/policies/p.lua:1: " },
    { "\n\nerror('no')", "/policies/p.lua:3: no" },
    { "error({})", "/policies/p.lua:1: raised a table" },
    { "", "/policies/p.lua: returns nothing" },
    { "return {}", "/policies/p.lua: returns a table, expected a function" },
    { "return function() end", "the profile it returned: top level: expected a table, got nothing" },
    { "return function()\nreturn nil + 1 end", "/policies/p.lua:2: attempt to perform arithmetic" },
    { "return function() return { wirte = {} } end", "/policies/p.lua: the profile it returned: wirte: unknown field" },
    {
      'return function()\nlocal p = require("procage.profile").new()\np:allow_write("x") end',
      '/policies/p.lua:3: write[1]: expected an absolute path, got "x"',
    },
    { 'return function() require("procage.profile").new({ a = 1 }) end', "profile: a: unknown field" },
  }
  for _, case in ipairs(mistakes) do
    it("is told where it is wrong: " .. case[2], function()
      local p, why = script(case[1])
      assert.is_nil(p)
      assert.matches(case[2], why, 1, true)
    end)
  end

  it("that is not there is named", function()
    local p, why = build({}, "nowhere")
    assert.is_nil(p)
    assert.matches("policy nowhere: /policies/nowhere.lua: No such file", why, 1, true)
    p, why = build({}, "bad name")
    assert.is_nil(p)
    assert.matches('policy "bad name": neither the name', why, 1, true)
  end)

  it("may be a file, with a first line for the shell", function()
    local p = assert(build({ ["./mine.lua"] = "#!/usr/bin/lua\nreturn function() return {} end" }, "./mine.lua"))
    assert.equal("none", p.network)
    local missing, why = policy.build_profile("/nonexistent/p.lua", assert(config.parse()), policies.context())
    assert.is_nil(missing)
    assert.matches("/nonexistent/p.lua: No such file or directory", why, 1, true)
  end)

  it("that lies where its run may write is protected from it", function()
    local body = 'return function(_, ctx) return { write = { ctx.workspace } } end'
    local inside = "/home/u/src/app/p.lua"
    assert.same({ inside }, assert(build({ [inside] = body }, inside)).read_only)
    assert.same({}, assert(build({ ["/elsewhere/p.lua"] = body }, "/elsewhere/p.lua")).read_only)
  end)

  it("is protected where it really lies", function()
    local p = assert(policy.build_profile("./p.lua", assert(config.parse()), policies.context(), {
      read_file = function()
        return 'return function(_, ctx) return { write = { ctx.workspace } } end'
      end,
      real_path = function()
        return "/home/u/src/app/p.lua"
      end,
    }))
    assert.same({ "/home/u/src/app/p.lua" }, p.read_only)
  end)

  it("shipped is found beside the modules", function()
    if not pcall(require, "procage.core") then
      return pending("where the modules are is known to procage.core, which is not built")
    end
    local p, why = policy.build_profile("speccoder", assert(config.parse()), policies.context())
    assert.is_table(p, why)
  end)
end)

describe("admit", function()
  local function report(...)
    local rows = { { clause = "write", state = "enforced", mechanisms = {} } }
    for _, id in ipairs({ ... }) do
      rows[#rows + 1] = { clause = id, state = "unenforced", mechanisms = {}, id = id, effect = "e " .. id, lift = "l " .. id }
    end
    return rows
  end

  it("has a message for a shipped policy that is none", function()
    local _, message = policy.build_profile("speccodr", {}, {})
    assert.equal("no shipped policy speccodr (did you mean speccoder?); a script: ./speccodr.lua", message)
  end)

  it("ships those that it names", function()
    for _, name in ipairs(policy.shipped) do
      assert.is_not_nil(io.open("policies/" .. name .. ".lua"), name)
    end
  end)

  for _, mode in ipairs({ "auto", "required" }) do
    it("lets a run start whose gaps are accepted, mode " .. mode, function()
      assert.is_true(policy.admit(report(), {}, mode))
      assert.is_true(policy.admit(report("stat"), { "stat", "carve" }, mode))
    end)

    it("refuses a gap that is not, with its effect and lift, mode " .. mode, function()
      local ok, message, code = policy.admit(report("stat", "carve"), { "stat" }, mode)
      assert.is_nil(ok)
      assert.equal("SANDBOX-UNAVAILABLE: not accepted: carve (carve): e carve; lift: l carve\n  to live with that: "
        .. 'accept = ["carve"] in the configuration, or p:accept("carve") in the policy\'s script', message)
      assert.equal(fit.UNAVAILABLE, code)
    end)
  end

  it("needs no acceptance for what is tightened", function()
    assert.is_true(policy.admit({ { clause = "network", state = "tightened", mechanisms = {}, id = "loopback" } }, {}, "auto"))
  end)

  it("asks for nothing when the mode is off", function()
    assert.is_true(policy.admit(report("write"), {}, "off"))
  end)

  it("leaves the list of accepted gaps as it was", function()
    local accept = { "stat" }
    policy.admit(report("carve"), accept, "auto")
    assert.same({ "stat" }, accept)
  end)

  it("refuses a policy that accepts nothing, wherever something is left out", function()
    local _, rows = fit.fit({ read = "all", write = { "/w" }, handoff = { ".envrc" } }, hosts.full)
    assert.is_nil((policy.admit(rows, {}, "auto")))
  end)
end)
