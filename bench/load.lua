--- What it costs before the first command: modules, probe, policy, fit, plan; what every later run pays to see that the plan
--- still holds; and what the program takes from end to end.
---
---     ./dev bench load [--json] [--rounds N] [--seconds N]

local config = require("procage.config")
local home = require("bench.home")
local options = require("bench.options")
local policies = require("procage.policy")
local procage = require("procage")
local stats = require("bench.stats")

--- A fresh interpreter that times one thing itself.
---@param name string
---@param code string  prints microseconds
---@return bench.Case
local function fresh_case(name, code)
  local command = ("lua5.4 -e %s"):format("'" .. code:gsub("'", "'\\''") .. "'")
  return {
    name = name,
    time = function()
      local pipe = assert(io.popen(command))
      local took = tonumber(pipe:read("a"))
      assert(pipe:close() and took, name)
      return took
    end,
  }
end

--- The program, or another one, from end to end.
---@param name string
---@param argv string[]
---@param env string[]
---@return bench.Case
local function program_case(name, plain, argv, env)
  return {
    name = name,
    run = function()
      local status, message = plain.spawn(argv, env)
      if status ~= 0 then
        error(("%s: %s"):format(name, message or ("exit status %d"):format(status or -1)), 0)
      end
    end,
  }
end

local M = {}

--- What is timed, and the policy that it is timed with.
---@param build string
---@param place { path: string, project: string }
---@return bench.Case[]
---@return procage.Policy
function M.cases(build, place)
  local variables, env = options.environment(place.path)
  local plain = assert(package.loadlib(build .. "/bench/plain.so", "luaopen_plain"))()
  local program = build .. "/bin/procage-lua"

  local function load()
    return assert(procage.policy.load("speccoder", {}, { root = place.project, home = place.path, env = variables }))
  end
  local policy = load()
  return {
    fresh_case("require procage", [[
      local core = require("procage.core")
      local start = core.now_us()
      require("procage")
      print(core.now_us() - start)]]),
    fresh_case("probe, the first in a process", [[
      local core = require("procage.core")
      local start = core.now_us()
      core.probe()
      print(core.now_us() - start)]]),
    { name = "policy.load: script, profile, fit", run = load },
    {
      name = "of that, the script",
      run = function()
        assert(policies.build_profile("speccoder", assert(config.parse({})), policy.context))
      end,
    },
    {
      name = "fit alone",
      run = function()
        procage.fit(policy.profile, policy.host)
      end,
    },
    {
      name = "plan: survey, rules, filter",
      run = function()
        policy.made = nil
        assert(policy:plan())
      end,
    },
    {
      name = "plan that still holds, looked at the first time",
      run = function()
        assert(policy:plan())
      end,
    },
    {
      name = "plan that still holds",
      run = function()
        assert(policy:plan())
      end,
    },
    program_case("plain posix_spawn of /bin/true", plain, { "/bin/true" }, env),
    program_case("procage-lua version", plain, { program, "version" }, env),
    program_case("procage-lua run -q, policy off", plain, {
      program, "run", "-q", "--policy", "off", "--root", place.project, "--", "/bin/true",
    }, env),
    program_case("procage-lua run -q", plain, { program, "run", "-q", "--root", place.project, "--", "/bin/true" }, env),
  }, policy
end

---@param words string[]
function M.main(words)
  local chosen = options.parse(words, { rounds = 40, seconds = 15 })
  local place <close> = home.new(chosen.build .. "/bench")
  local cases, policy = M.cases(chosen.build, place)
  local rows = stats.interleave(cases, { rounds = chosen.rounds, warm = 2, budget_us = chosen.seconds * 1000000 })
  local facts = stats.facts(policy)
  stats.publish(chosen, "load", stats.head(facts, rows) .. "\n\n" .. stats.markdown(rows, {}), stats.json(facts, rows))
end

return M
