--- Shipped policies run in our own state: what they give is what the closed state gives, and nobody else's text gets there.

local config_room = require("procage.config")
local own_script = require("procage.own_script")
local policy = require("procage.policy")
local profile = require("procage.profile")
local script = require("procage.script")
local throwaway = require("spec.support.throwaway")

local CONTEXT = {
  home = "/home/u", workspace = "/home/u/project", system = "linux", uid = 1000, account_home = "/srv/u",
  top = { "/bin", "/home", "/usr" }, git_files = {},
  env = { XDG_CONFIG_HOME = "/srv/config", KUBECONFIG = "/srv/a:/srv/b", CARGO_HOME = "/srv/cargo", HOME = "/home/u" },
}

local CONFIGS = {
  {},
  { git = "commit", network = { ports = { 443 } }, caches = "fetch", tmp = "shared", handoff_absent = "refuse" },
  {
    hidden = { "~/x", "/srv/./y" }, readable = { "/opt" }, writable = { "~/w", "~/w" }, read_only = { "/home/u/project/a" },
    lift = { "~/.netrc", ".envrc" }, accept = { "carve" }, limits = { cpu_ms = 5, processes = 7 },
    env = { keep = { "FOO" }, set = { A = "b" }, drop = { "X*" } },
  },
}

local SPETTRO = { { mode = "off" }, { mode = "read-only" }, { mode = "workspace-write" }, {} }

--- What a policy gives, here or in the closed state.
local function built(name, config, is_closed)
  local run = own_script.run
  if is_closed then
    own_script.run = function() end
  end
  local file = assert(script.resolve(name))
  local result, message = script.run("policy", assert(script.read_file(file)), file, { is_ours = true },
    { config = assert(config_room.parse(config)), ctx = CONTEXT })
  own_script.run = run
  if result then
    assert.equal(not is_closed, result.is_checked == true, name)
    result.profile, result.is_checked = profile.plain(result.profile), nil
  end
  return result, message
end

local function same(name, config)
  local there, here = assert(built(name, config, true)), assert(built(name, config, false))
  assert.same(there, here)
  assert.is_true(profile.validate(here.profile))
  return here
end

describe("a shipped policy", function()
  for _, name in ipairs(policy.shipped) do
    it(name .. " gives what it gives in a closed state, each time", function()
      for _, config in ipairs(CONFIGS) do
        for _, options in ipairs(name == "spettro" and SPETTRO or { {} }) do
          local with = { options = options }
          for key, value in pairs(config) do
            with[key] = value
          end
          if pcall(same, name, with) then
            assert.same(same(name, with), (built(name, with, false)))
          else
            -- A mistake is told in the same words.
            local _, there = built(name, with, true)
            local _, here = built(name, with, false)
            assert.truthy(there)
            assert.equal(there, here)
          end
        end
      end
    end)
  end

  it("notes the lines that asked", function()
    local file = script.resolve("speccoder")
    for _, note in ipairs(built("speccoder", {}, false).notes) do
      assert.equal(file, note.at:match("^(.*):%d+$"))
    end
  end)

  it("changes neither its configuration nor its context, nor itself", function()
    local config = assert(config_room.parse(CONFIGS[3]))
    local context = require("procage.json").plain(CONTEXT)
    local first = assert(policy.build_profile("speccoder", config, CONTEXT))
    first.hidden[1], first.env.drop[1] = "/changed", "CHANGED"
    assert.same(assert(config_room.parse(CONFIGS[3])), config)
    assert.same(context, CONTEXT)
    assert.not_equal("/changed", policy.build_profile("speccoder", config, CONTEXT).hidden[1])
  end)

  it("tells a mistake in the configuration as the closed state does", function()
    for _, config in ipairs({ { lift = { "no such row" } }, { env = { keep = { "SPECCODER_KEY" } } } }) do
      local _, there = built("speccoder", config, true)
      local result, here = built("speccoder", config, false)
      assert.is_nil(result)
      assert.equal(there, here)
    end
  end)

  it("is left to the closed state with a configuration that is large", function()
    local hidden = {}
    for i = 1, 6000 do
      hidden[i] = "/srv/" .. i
    end
    local file = script.resolve("off")
    local entry, context = { file = file, text = script.read_file(file) }, CONTEXT
    assert.truthy(own_script.run(entry, {}, assert(config_room.parse({})), context))
    assert.is_nil(own_script.run(entry, {}, assert(config_room.parse({ hidden = hidden })), context))
  end)
end)

describe("a text that is not the shipped one", function()
  local function run_here(entry, shipped)
    return own_script.run(entry, shipped, assert(config_room.parse({})), CONTEXT)
  end

  it("is not run here, nor what requires it", function()
    local file, other = script.resolve("own-command"), script.resolve("speccoder")
    local text = script.read_file(file)
    local shipped = {}
    for _, name in ipairs({ "speccoder", "rows", "lists" }) do
      shipped[name] = { file = script.resolve(name), text = script.read_file(script.resolve(name)) }
    end
    assert.truthy(run_here({ file = other, text = shipped.speccoder.text }, shipped))
    assert.is_nil(run_here({ file = file, text = text .. "\n" }, shipped))
    shipped.lists.text = shipped.lists.text .. "\n"
    assert.is_nil(run_here({ file = other, text = shipped.speccoder.text }, shipped))
    shipped.lists = { file = "gone" }
    assert.is_nil(run_here({ file = other, text = shipped.speccoder.text }, shipped))
  end)

  it("is not even asked about where it is a script of somebody's own", function()
    local dir <close>, run = throwaway.directory(), own_script.run
    local file = dir.path .. "/speccoder.lua"
    throwaway.write(file, assert(script.read_file(script.resolve("speccoder"))))
    own_script.run = function()
      error("asked")
    end
    local ok, made = pcall(policy.build_profile, file, assert(config_room.parse({})), CONTEXT)
    own_script.run = run
    assert.is_true(ok, made)
    assert.truthy(made)
  end)
end)
