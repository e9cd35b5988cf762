--- What it costs to start a command: /bin/true plainly, under our policies on each tier, by our program, by bubblewrap.
---
---     ./dev bench [--json] [--rounds N] [--seconds N]
---     ./dev bench load ...     what comes before the first run: bench/load.lua
---     ./dev bench mediated ... what a mediated call costs: bench/mediated.lua
---     ./dev bench around ...   what is done around a run: bench/around.lua
---     ./dev bench supervision ... refusals, the path observer, mediated names, memory, many runs at once

local core = require("procage.core")
local home = require("bench.home")
local options = require("bench.options")
local procage = require("procage")
local stats = require("bench.stats")

local TRUE = "/bin/true"

local function must_be_zero(what, status, message)
  if status ~= 0 then
    error(("%s: %s"):format(what, message or ("exit status %d"):format(status or -1)), 0)
  end
end

--- One run under a policy loaded beforehand.
---@param name string
---@param place { path: string, project: string }
---@param variables table<string, string>
---@param config? table
---@param host? procage.Host
---@param script? string
---@return bench.Case
local function policy_case(name, place, variables, config, host, script)
  local policy, message = procage.policy.load(script or "speccoder", config or {}, {
    root = place.project,
    home = place.path,
    env = variables,
    host = host,
  })
  if not policy then
    return { name = name, missing = message }
  end
  return {
    name = name,
    policy = policy,
    run = function()
      local outcome, why = policy:run({ TRUE })
      must_be_zero(name, outcome and outcome.status, why)
    end,
  }
end

--- A host with less than this one: its namespaces taken away.
local function without_namespaces()
  local host = procage.probe()
  for _, fact in ipairs({ "userns", "mountns", "mount_setattr", "netns", "ipcns", "pidns", "devpts" }) do
    host[fact] = false
  end
  return host
end

---@param name string
---@param plain table
---@param argv string[]
---@param env string[]
---@return bench.Case
local function program_case(name, plain, argv, env)
  return {
    name = name,
    run = function()
      must_be_zero(name, plain.spawn(argv, env))
    end,
  }
end

local function which(program)
  for directory in (os.getenv("PATH") or ""):gmatch("[^:]+") do
    local found = core.stat(directory .. "/" .. program)
    if found and found.kind == "file" then
      return directory .. "/" .. program
    end
  end
end

--- The same policy in bubblewrap's words: what is writable, protected, hidden and masked is what our own plan found. It has
--- neither Landlock nor a filter of system calls.
---@return string[] argv
local function bubblewrap(program, policy, place)
  local survey = policy.survey
  local argv = { program, "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev" }
  local function add(...)
    table.move({ ... }, 1, select("#", ...), #argv + 1, argv)
  end
  add("--proc", "/proc")
  for _, tree in ipairs(survey.covered) do
    add("--tmpfs", tree)
  end
  for _, tree in ipairs(survey.put_back) do
    add("--ro-bind", tree, tree)
  end
  for _, tree in ipairs(survey.write) do
    add("--bind", tree, tree)
  end
  for _, name in ipairs(survey.protected) do
    add("--ro-bind", name, name)
  end
  for _, entry in ipairs(survey.hidden) do
    if entry.kind == "directory" then
      add("--tmpfs", entry.path)
    elseif entry.kind then
      add("--ro-bind", "/dev/null", entry.path)
    end
  end
  for _, name in ipairs(survey.sockets) do
    add("--ro-bind", "/dev/null", name)
  end
  add("--chdir", place.project, "--", TRUE)
  return argv
end

local function main(words)
  local others = { load = true, mediated = true, around = true, supervision = true }
  if others[words[1]] then
    return assert(loadfile(("bench/%s.lua"):format(words[1])))(table.unpack(words, 2))
  end
  local chosen = options.parse(words, { rounds = 300, seconds = 30 })
  local build = assert(os.getenv("PROCAGE_BUILD"), "PROCAGE_BUILD: the build directory; use ./dev bench")
  local plain = assert(package.loadlib(build .. "/bench/plain.so", "luaopen_plain"))()
  local place <close> = home.new(build .. "/bench")
  local variables, env = options.environment(place.path)

  local default = policy_case("run, default policy", place, variables)
  if default.missing then
    error(default.missing, 0)
  end
  assert(default.policy:plan())
  local bwrap = which("bwrap")
  local cases = {
    program_case("plain posix_spawn", plain, { TRUE }, env),
    policy_case("run, policy off", place, variables, nil, nil, "off"),
    policy_case("run, Landlock and filter alone", place, variables, nil, without_namespaces()),
    policy_case("run, network all", place, variables, { network = "all" }),
    default,
    program_case("procage-lua run", plain, {
      build .. "/bin/procage-lua", "run", "-q", "--root", place.project, "--", TRUE,
    }, env),
    bwrap and program_case("bubblewrap, same policy", plain, bubblewrap(bwrap, default.policy, place), env)
      or { name = "bubblewrap, same policy", missing = "bwrap is not installed" },
  }
  local rows = stats.interleave(cases, { rounds = chosen.rounds, warm = 5, budget_us = chosen.seconds * 1000000 })
  local facts = stats.facts(default.policy)
  local bases = { { label = "plain", row = rows[1] }, { label = "bubblewrap", row = rows[#rows] } }
  print(chosen.json and stats.json(facts, rows) or stats.head(facts, rows) .. "\n\n" .. stats.markdown(rows, bases))
end

main(arg)
