--- Times and how they are shown: interleaved rounds, medians, one Markdown table.

local core = require("procage.core")
local json = require("procage.json")

local M = {}

---@class bench.Case
---@field name string
---@field run? fun()  once; raises when it did not do what is measured
---@field time? fun(): number  in its place: measures itself, in microseconds
---@field missing? string  why it cannot be measured here; then `run` is not called

---@class bench.Row
---@field name string
---@field rounds integer
---@field p10_us? number  what it takes when the machine has nothing else to do
---@field median_us? number
---@field missing? string

---@param sorted number[]
---@param share number  0 to 1
local function quantile(sorted, share)
  return sorted[math.max(1, math.ceil(#sorted * share))]
end

---@param case bench.Case
---@return number microseconds
local function time_of(case)
  if case.time then
    return case.time()
  end
  local start = core.now_us()
  case.run()
  return core.now_us() - start
end

--- Each round runs every case once, so that a slow minute of the machine is shared by all of them.
---@param cases bench.Case[]
---@param options { rounds: integer, warm: integer, budget_us: integer }
---@return bench.Row[]
function M.interleave(cases, options)
  local times, began = {}, core.now_us()
  for i in ipairs(cases) do
    times[i] = {}
  end
  for round = 1 - options.warm, options.rounds do
    for i, case in ipairs(cases) do
      if not case.missing then
        local took = time_of(case)
        if round > 0 then
          table.insert(times[i], took)
        end
      end
    end
    if round > 0 and core.now_us() - began > options.budget_us then
      break
    end
  end
  local rows = {}
  for i, case in ipairs(cases) do
    table.sort(times[i])
    rows[i] = {
      name = case.name,
      rounds = #times[i],
      p10_us = quantile(times[i], 0.1),
      median_us = quantile(times[i], 0.5),
      missing = case.missing,
    }
  end
  return rows
end

---@param rows bench.Row[]
---@param bases { label: string, row: bench.Row? }[]  a column of ratios each
---@return string
function M.markdown(rows, bases)
  local head, rule = { "case", "p10 µs", "median µs" }, { "---", "---:", "---:" }
  for _, base in ipairs(bases) do
    head[#head + 1], rule[#rule + 1] = "× " .. base.label, "---:"
  end
  local lines = { "| " .. table.concat(head, " | ") .. " |", "| " .. table.concat(rule, " | ") .. " |" }
  for _, row in ipairs(rows) do
    local cells = { row.missing and ("%s (%s)"):format(row.name, row.missing) or row.name }
    cells[2] = row.p10_us and ("%.0f"):format(row.p10_us) or "-"
    cells[3] = row.median_us and ("%.0f"):format(row.median_us) or "-"
    for _, base in ipairs(bases) do
      local known = row.median_us and base.row and base.row.median_us
      cells[#cells + 1] = known and ("%.2f"):format(row.median_us / base.row.median_us) or "-"
    end
    lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  return table.concat(lines, "\n")
end

local FACTS = { "kernel", "landlock_abi", "uid", "operations" }

--- What the times depend on.
---@param policy procage.Policy  with a plan
function M.facts(policy)
  local host = policy.host
  return {
    kernel = host.kernel,
    landlock_abi = host.landlock_abi,
    uid = host.uid,
    operations = #policy:plan():ops(),
  }
end

---@param rows? bench.Row[]
---@return string
function M.head(facts, rows)
  local text = ("Linux %s, Landlock ABI %d, uid %d; the default policy's plan has %d operations"):format(
    facts.kernel,
    facts.landlock_abi,
    facts.uid,
    facts.operations
  )
  return rows and ("%s; %d rounds"):format(text, rows[1].rounds) or text
end

M.ROW = { order = { "name", "rounds", "p10_us", "median_us", "missing" } }

---@param facts table
---@param rows table[]
---@param shape? procage.JsonShape  of a row
---@param more? { [1]: string, [2]: any, [3]: procage.JsonShape }[]  name, value, shape
---@return string
function M.json(facts, rows, shape, more)
  local members = {}
  for _, key in ipairs(FACTS) do
    members[#members + 1] = ('"%s":%s'):format(key, json.encode(facts[key], {}))
  end
  members[#members + 1] = ('"rows":%s'):format(json.encode(rows, { list = shape or M.ROW }))
  for _, item in ipairs(more or {}) do
    members[#members + 1] = ('"%s":%s'):format(item[1], json.encode(item[2], item[3]))
  end
  return "{" .. table.concat(members, ",") .. "}"
end

--- Writes a text where it was asked for.
---@param chosen bench.Options
---@param file string
---@param text string
function M.write(chosen, file, text)
  os.execute(("mkdir -p -- '%s'"):format((chosen.out:gsub("'", "'\\''"))))
  local handle = assert(io.open(chosen.out .. "/" .. file, "w"))
  assert(handle:write(text, "\n"))
  assert(handle:close())
end

--- Shows a result, and writes it down both ways.
---@param chosen bench.Options
---@param name string  of the benchmark
---@param markdown string
---@param text string  JSON
function M.publish(chosen, name, markdown, text)
  M.write(chosen, name .. ".md", markdown)
  M.write(chosen, name .. ".json", text)
  print(chosen.json and text or markdown)
end

return M
