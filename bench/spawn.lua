--- What it costs to start a command: /bin/true plainly, under our policies on each tier, by our program, by bubblewrap; from a
--- small host program and from one of 1 GiB, from one thread and from eight. Then what a run takes of memory, and what comes
--- before the first one.
---
---     ./dev bench [--json] [--rounds N] [--seconds N] [--out DIR]

local bubblewrap = require("bench.bubblewrap")
local home = require("bench.home")
local hosts = require("procage.host")
local json = require("procage.json")
local load_bench = require("bench.load")
local memory = require("bench.memory")
local options = require("bench.options")
local plot = require("bench.plot")
local procage = require("procage")
local program_host = require("bench.host")
local stats = require("bench.stats")

local TRUE = "/bin/true"

---@class bench.At  where it is measured
---@field build string
---@field place { path: string, project: string }
---@field policy procage.Policy  the default one, with a plan

---@class bench.Start  one row of the table
---@field name string
---@field argv? fun(at: bench.At, command: string[]): string[]?, string?  a program; nil and why there is none
---@field by? "vfork"|"spawn"  how the program is started
---@field policy? string  in place of a program: of a run by the library
---@field config? string  its configuration, JSON
---@field without? string[]  facts of this machine that are taken away
---@field is_prepared? boolean  runs are started ahead of their commands
---@field budget? number  × plain
---@field budget_bwrap? number  × bubblewrap
---@field weighs? boolean  its memory is measured as well

local NAMESPACES = { "userns", "mountns", "mount_setattr", "netns", "ipcns", "pidns", "devpts" }

local function plain(_, command)
  return command
end

--- Ratios are to the first row.
---@type bench.Start[]
local STARTS = {
  { name = "plain vfork and exec", by = "vfork", argv = plain },
  { name = "plain posix_spawn", by = "spawn", argv = plain, weighs = true },
  { name = "run, policy off", policy = "off" },
  { name = "run, Landlock and seccomp alone", policy = "speccoder", without = NAMESPACES, budget = 1.15, weighs = true },
  {
    name = "run, user and mount namespaces, network all",
    policy = "speccoder",
    config = '{"network":"all"}',
    without = { "netns", "ipcns", "pidns" },
    budget = 1.15,
  },
  { name = "run, a PID namespace too, network all", policy = "speccoder", config = '{"network":"all"}', budget = 1.6 },
  { name = "run, default policy", policy = "speccoder", budget = 1.6, budget_bwrap = 0.25, weighs = true },
  {
    name = "run, default policy, loopback of the policy",
    policy = "speccoder",
    config = '{"loopback":"policy"}',
    budget = 1.6,
    budget_bwrap = 0.25,
  },
  {
    name = "run, Landlock and seccomp alone, prepared",
    policy = "speccoder",
    without = NAMESPACES,
    is_prepared = true,
    budget = 1.15,
    weighs = true,
  },
  {
    name = "run, default policy, prepared",
    policy = "speccoder",
    is_prepared = true,
    budget = 1.6,
    budget_bwrap = 0.25,
    weighs = true,
  },
  {
    name = "run, default policy, loopback of the policy, prepared",
    policy = "speccoder",
    config = '{"loopback":"policy"}',
    is_prepared = true,
    budget = 1.6,
    budget_bwrap = 0.25,
  },
  {
    name = "procage-lua run",
    by = "spawn",
    argv = function(at, command)
      local argv = { at.build .. "/bin/procage-lua", "run", "-q", "--root", at.place.project, "--" }
      return table.move(command, 1, #command, #argv + 1, argv)
    end,
    budget = 2.5,
    budget_bwrap = 0.6,
    weighs = true,
  },
  {
    name = "bubblewrap, same policy",
    by = "spawn",
    argv = function(at, command)
      local found = bubblewrap.find()
      if not found then
        return nil, "bwrap is not installed"
      end
      return bubblewrap.argv(found, at.policy, at.place.project, command)
    end,
    weighs = true,
  },
}

---@class bench.Series  from where and how many at once: a group of columns
---@field name string
---@field mib integer  what the host program has of memory
---@field threads integer
---@field count integer  starts of each thread a round
local SERIES = {
  { name = "1 thread", mib = 0, threads = 1, count = 1 },
  { name = "1 thread, 1 GiB", mib = 1024, threads = 1, count = 1 },
  { name = "8 threads", mib = 0, threads = 8, count = 2 },
  { name = "8 threads, 1 GiB", mib = 1024, threads = 8, count = 2 },
}

local function host_without(facts)
  local host = procage.probe()
  for _, fact in ipairs(facts) do
    host[fact] = false
  end
  return host
end

--- Teaches a host program one way.
---@param host bench.Host
---@param start bench.Start
---@param at bench.At
---@return number? way
---@return string? message
local function teach(host, start, at)
  if start.policy then
    local poorer = start.without and hosts.to_json(host_without(start.without)) or ""
    return host:ask("policy", start.policy, start.config or "", poorer, start.is_prepared and "prepared" or "")
  end
  local argv, message = start.argv(at, { TRUE })
  if not argv then
    return nil, message
  end
  return host:ask(start.by, table.unpack(argv))
end

--- Each row in each series: as many cases, one row's after another.
local function spawn_cases(at, programs)
  local cases = {}
  for _, start in ipairs(STARTS) do
    for _, series in ipairs(SERIES) do
      local host = programs[series.mib]
      local ways = host.ways
      ways[start] = ways[start] or { teach(host.program, start, at) }
      cases[#cases + 1] = {
        name = start.name,
        missing = not ways[start][1] and ways[start][2] or nil,
        time = function()
          return host.program:time(ways[start][1], series.threads, series.count)
        end,
      }
    end
  end
  return cases
end

--- The rows of the table, of what was measured in one go.
local function in_rows(measured)
  local rows = {}
  for i, start in ipairs(STARTS) do
    local row = { name = start.name, budget = start.budget, budget_bwrap = start.budget_bwrap, series = {} }
    for j, series in ipairs(SERIES) do
      local found = measured[(i - 1) * #SERIES + j]
      local function ratio(base, of)
        local other = measured[(base - 1) * #SERIES + j]
        return found[of] and other[of] and found[of] / other[of]
      end
      row.missing = found.missing
      row.series[j] = {
        name = series.name,
        rounds = found.rounds,
        p10_us = found.p10_us,
        median_us = found.median_us,
        plain_ratio = ratio(1, "p10_us"),
        bwrap_ratio = ratio(#STARTS, "p10_us"),
        plain_median_ratio = ratio(1, "median_us"),
        bwrap_median_ratio = ratio(#STARTS, "median_us"),
      }
    end
    rows[i] = row
  end
  return rows
end

local function cell(pattern, value)
  return value and pattern:format(value) or ""
end

--- Of the first series all there is, of the others times and the ratio to plain.
local function markdown(rows)
  local head, rule = { "start of /bin/true", "budget", "µs", "median", "× plain", "× bubblewrap" }, { "---" }
  for j = 2, #SERIES do
    table.move({ SERIES[j].name .. ": µs", "× plain" }, 1, 2, #head + 1, head)
  end
  for i = 2, #head do
    rule[i] = "---:"
  end
  local lines = { "| " .. table.concat(head, " | ") .. " |", "| " .. table.concat(rule, " | ") .. " |" }
  for _, row in ipairs(rows) do
    local first = row.series[1]
    local cells = {
      row.missing and ("%s (%s)"):format(row.name, row.missing) or row.name,
      cell("%.2f", row.budget),
      cell("%.0f", first.p10_us),
      cell("%.0f", first.median_us),
      cell("%.2f", first.plain_ratio),
      cell("%.2f", first.bwrap_ratio) .. cell(" (%.2f)", row.budget_bwrap),
    }
    for j = 2, #SERIES do
      cells[#cells + 1] = cell("%.0f", row.series[j].p10_us)
      cells[#cells + 1] = cell("%.2f", row.series[j].plain_ratio)
    end
    lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  return table.concat(lines, "\n")
end

local function weigh(at, variables)
  local ways = {}
  for _, start in ipairs(STARTS) do
    local is_there = start.weighs and (start.policy or start.argv(at, { TRUE }))
    if is_there then
      ways[#ways + 1] = {
        name = start.name,
        argv = start.argv and function(command)
          return assert(start.argv(at, command))
        end,
        policy = start.policy and assert(procage.policy.load(start.policy, json.decode(start.config or "{}"), {
          root = at.place.project,
          home = at.place.path,
          env = variables,
          host = start.without and host_without(start.without),
          prepared = start.is_prepared,
        })),
      }
    end
  end
  return memory.rows(ways)
end

local SERIES_SHAPE = {
  order = {
    "name", "rounds", "p10_us", "median_us", "plain_ratio", "bwrap_ratio", "plain_median_ratio", "bwrap_median_ratio",
  },
}
local ROW_SHAPE = {
  order = { "name", "missing", "budget", "budget_bwrap", "series" },
  fields = { series = { list = SERIES_SHAPE } },
}
local MEMORY_SHAPE = { list = { order = { "name", "processes", "pss_kib", "host_kib" } } }

local TEXT = [[
%s; %d rounds of each. The times are 10th percentiles, what a start takes when the machine has nothing else to do, but for
the median of the first series; so are the ratios, whose budgets in bubblewrap's are in brackets. With 8 threads a time is what
passes divided by the number of starts.

%s

%s

%s]]

local M = {}

---@param words string[]
function M.main(words)
  local chosen = options.parse(words, { rounds = 100, seconds = 60 })
  local place <close> = home.new(chosen.build .. "/bench")
  local variables, env = options.environment(place.path)
  local policy = assert(procage.policy.load("speccoder", {}, { root = place.project, home = place.path, env = variables }))
  assert(policy:plan())
  local at = { build = chosen.build, place = place, policy = policy }

  local small <close> = program_host.new(chosen.build, place, env, 0)
  local large <close> = program_host.new(chosen.build, place, env, 1024)
  local programs = { [0] = { program = small, ways = {} }, [1024] = { program = large, ways = {} } }
  local limits = { rounds = chosen.rounds, warm = 3, budget_us = chosen.seconds * 1000000 }
  local rows = in_rows(stats.interleave(spawn_cases(at, programs), limits))
  local weights = weigh(at, variables)
  local load_cases = load_bench.cases(chosen.build, place)
  local loads = stats.interleave(load_cases, { rounds = 20, warm = 2, budget_us = 10000000 })

  local facts = stats.facts(policy)
  local shown = TEXT:format(stats.head(facts), rows[1].series[1].rounds, markdown(rows), memory.markdown(weights),
    stats.markdown(loads, {}))
  stats.write(chosen, "spawn.svg", plot.bars(rows))
  stats.publish(chosen, "spawn", shown, stats.json(facts, rows, ROW_SHAPE, {
    { "memory", weights, MEMORY_SHAPE }, { "load", loads, { list = stats.ROW } },
  }))
end

return M
