local allow = require("procage.allow")
local box = require("spec.support.box")
local config = require("procage.config")
local fit = require("procage.fit")
local procage = require("procage")

local NOTHING = {
  landlock_abi = 0,
  seccomp_filter = false,
  seccomp_notify = false,
  userns = false,
  mountns = false,
  netns = false,
  ipcns = false,
  pidns = false,
  mount_setattr = false,
  devpts = false,
}

local function runner(b, given, options)
  options = options or {}
  options.home, options.env = b.home, b.env
  return procage.runner(b.workspace, given, options)
end

describe("a command of network_allow", function()
  local parsed = assert(config.parse({
    network_allow = { { "make" }, { "cargo", "fetch" } },
    network_allow_prefix = { { "npm", "ci" } },
  }))
  local cases = {
    { { "make" }, true },
    { { "make", "all" }, false },
    { { "cargo", "fetch" }, true },
    { { "cargo", "fetch", "--locked" }, false },
    { { "cargo" }, false },
    { { "/usr/bin/cargo", "fetch" }, false },
    { { "npm", "ci" }, true },
    { { "npm", "ci", "--ignore-scripts" }, true },
    { { "npm", "cix" }, false },
    { { "npm" }, false },
    { { "npm ci" }, false },
    { { "sh", "-c", "npm ci" }, false },
  }
  for _, case in ipairs(cases) do
    it(("is%s: %s"):format(case[2] and "" or " not", table.concat(case[1], " ")), function()
      assert.equal(case[2], allow.entry(parsed, case[1]) ~= nil)
    end)
  end
end)

describe("a runner", function()
  it("is sandboxed where the machine can", function()
    local b <close> = box.new()
    local r <close> = assert(runner(b, {}))
    assert.is_true(r:is_sandboxed())
    assert.is_true((procage.available()))
    assert.not_equal("none", procage.backend())
  end)

  it("is plain with a notice where nothing can confine and the mode is auto", function()
    local b <close> = box.new()
    local r <close> = assert(runner(b, {}, { host = NOTHING }))
    assert.is_false(r:is_sandboxed())
    assert.matches("procage: nothing is confined: no seccomp filters", r.notice, 1, true)
    local outcome = assert(r:run({ "/bin/sh", "-c", 'echo x > "$OUTSIDE/file"' }))
    assert.equal(0, outcome.status)
    assert.equal("x\n", b:read("outside/file"))
    assert.equal(r.notice, outcome.notices[1])
    -- Approval and network_allow change nothing of that.
    assert.equal(0, assert(r:run({ "true" }, { network = true })).status)
    assert.equal(r.notice, assert(r:carve({}, {})).notice)
    assert.is_false((procage.available(NOTHING)))
    assert.equal("none", procage.backend(NOTHING))
  end)

  it("is refused there when the mode is required", function()
    local b <close> = box.new()
    local r, message, code = runner(b, { mode = "required" }, { host = NOTHING })
    assert.is_nil(r)
    assert.matches("^SANDBOX%-UNAVAILABLE: ", message)
    assert.equal(fit.UNAVAILABLE, code)
  end)

  it("is refused in every mode but off where a gap is not accepted", function()
    local b <close> = box.new()
    b:write("outside/strict.lua", [[
local profile = require("procage.profile")
return function(_, ctx)
  local p = profile.new()
  p:allow_read("/")
  p:workspace(ctx.workspace)
  p:handoff(".envrc")
  return p
end
]])
    local host = { landlock_abi = 1, seccomp_filter = true }
    for key, value in pairs(NOTHING) do
      host[key] = host[key] == nil and value or host[key]
    end
    for _, mode in ipairs({ "auto", "required" }) do
      local r, message, code = runner(b, { mode = mode, policy = b:path("outside/strict.lua") }, { host = host })
      assert.is_nil(r)
      assert.matches("^SANDBOX%-UNAVAILABLE: not accepted: ", message)
      assert.equal(fit.UNAVAILABLE, code)
    end
    local r = assert(runner(b, { mode = "off", policy = b:path("outside/strict.lua") }, { host = host }))
    assert.is_false(r:is_sandboxed())
    assert.matches("mode = off", r.notice, 1, true)
  end)

  it("is refused with the policy off when the mode is required", function()
    local b <close> = box.new()
    local r, message = runner(b, { mode = "required", policy = "off" })
    assert.is_nil(r)
    assert.matches("^SANDBOX%-UNAVAILABLE: ", message)
    assert.is_false(assert(runner(b, { policy = "off" })):is_sandboxed())
  end)

  it("takes a TOML text, and names its mistakes", function()
    local b <close> = box.new()
    assert.is_table((runner(b, "[sandbox]\nnetwork = 'off'\n")))
    local r, message, code = runner(b, "[sandbox]\nnetwrok = 'off'\n", { source = "/etc/speccoder.toml" })
    assert.is_nil(r)
    assert.equal("/etc/speccoder.toml:2: sandbox.netwrok: unknown key (did you mean network?)", message)
    assert.equal("config", code)
    assert.is_nil((procage.runner(b:path("nowhere"), {}, { home = b.home, env = b.env })))
  end)

  it("raises for a caller's mistake", function()
    local b <close> = box.new()
    local r <close> = assert(runner(b, {}))
    for what, mistake in pairs({
      ["unknown option netwrok"] = function()
        r:run({ "true" }, { netwrok = true })
      end,
      ["network: a boolean is expected"] = function()
        r:run({ "true" }, { network = "all" })
      end,
      ["unsandboxed: the reason is expected"] = function()
        r:run({ "true", unsandboxed = true })
      end,
      ["unknown option hots"] = function()
        procage.runner(b.workspace, {}, { hots = {} })
      end,
      ["unknown key cwdd"] = function()
        r:run({ "true", cwdd = "." })
      end,
      ["carve: hidden: a list"] = function()
        r:carve({}, "/x")
      end,
    }) do
      local ok, message = pcall(mistake)
      assert.is_false(ok)
      assert.matches(what, message, 1, true)
    end
    local narrow, message, code = r:carve({ "relative" })
    assert.is_nil(narrow)
    assert.matches("carve: read_only[1]: expected an absolute path", message, 1, true)
    assert.equal("config", code)
  end)
end)

describe("runner_at", function()
  local function at(b, root, options)
    options = options or {}
    options.home, options.env = b.home, b.env
    return procage.runner_at(b:path(root), options)
  end

  it("takes the speccoder.toml of the root, else of the nearest ancestor", function()
    local b <close> = box.new()
    b:mkdir("workspace/a/b")
    b:write("workspace/speccoder.toml", "[sandbox]\nnetwork = 'all'\n")
    assert.equal("all", assert(at(b, "workspace/a/b")).config.network)
    b:write("workspace/a/speccoder.toml", "[sandbox]\nnetwork = 'off'\n")
    assert.equal("none", assert(at(b, "workspace/a/b")).config.network)
    assert.equal("none", assert(at(b, "workspace/a")).config.network)
    assert.equal("all", assert(at(b, "workspace")).config.network)
    b:symlink(b:path("workspace/a/b"), "outside/link")
    assert.equal("none", assert(at(b, "outside/link")).config.network)
  end)

  it("keeps that file from its own commands, whatever the policy", function()
    local b <close> = box.new()
    b:write("workspace/speccoder.toml", "[sandbox]\n")
    local r = assert(at(b, "workspace"))
    assert.same({ b:path("workspace/speccoder.toml") }, r.policy.profile.read_only)
  end)

  it("names the file and line of a mistake", function()
    local b <close> = box.new()
    b:write("workspace/speccoder.toml", "[sandbox]\n\nwritable = 'x'\n")
    local r, message, code = at(b, "workspace")
    assert.is_nil(r)
    assert.equal(b:path("workspace/speccoder.toml") .. ':3: sandbox.writable: expected a list, got "x"', message)
    assert.equal("config", code)
  end)

  it("is governed by nothing that others write", function()
    local b <close> = box.new()
    b:write("speccoder.toml", "[sandbox]\n")
    b:mode("speccoder.toml", "666")
    local r, message = at(b, "workspace")
    assert.is_nil(r)
    assert.matches("everybody may write it", message, 1, true)
    b:setup("rm speccoder.toml $WS/../speccoder.toml 2>/dev/null; mkdir $WS/../speccoder.toml")
    r, message = at(b, "workspace")
    assert.is_nil(r)
    assert.matches("a file is expected, not a directory", message, 1, true)
    if box.is_root() then
      b:setup("rmdir $WS/../speccoder.toml; : > $WS/../speccoder.toml; chown 61234 $WS/../speccoder.toml")
      r, message = at(b, "workspace")
      assert.is_nil(r)
      assert.matches("belongs to another user", message, 1, true)
      b:setup("cd $WS/..; rm speccoder.toml; : > wide.toml; ln -s wide.toml speccoder.toml")
      assert.is_truthy(at(b, "workspace"))
      b:setup("chown -h 61234 $WS/../speccoder.toml")
      r, message = at(b, "workspace")
      assert.is_nil(r)
      assert.matches("belongs to another user", message, 1, true)
    end
  end)
end)
