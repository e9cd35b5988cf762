--- A report as text to read, as notices of one line, and as JSON.

local json = require("procage.json")
local printable = require("procage.printable")

local M = {}

local row_shape = {
  order = { "clause", "state", "mechanisms", "id", "reason", "effect", "lift", "guard", "by" },
  fields = { mechanisms = { list = true } },
}

--- What a row says below its first line, in this order.
local details = { "reason", "effect", "guard", "lift", "by" }

--- Text from a profile or a host on one line of a terminal.
M.printable = printable

---@param rows procage.Row[]
---@param cell fun(row: procage.Row): string
---@return integer
local function widest(rows, cell)
  local width = 0
  for _, row in ipairs(rows) do
    width = math.max(width, #cell(row))
  end
  return width
end

---@param row procage.Row
---@return string
local function clause_cell(row)
  return M.printable(row.clause)
end

--- The state, and the gap's id where that is not the clause's own name.
---@param row procage.Row
---@return string
local function state_cell(row)
  if row.id and row.id ~= row.clause then
    return ("%s (%s)"):format(row.state, M.printable(row.id))
  end
  return row.state
end

---@param row procage.Row
---@return string
local function mechanism_cell(row)
  return #row.mechanisms > 0 and M.printable(table.concat(row.mechanisms, " + ")) or "-"
end

--- One line a clause, and below it what there is to say, indented.
---@param report procage.Row[]
---@return string[] lines
function M.lines(report)
  local lines = {}
  local layout = ("%%-%ds  %%-%ds  %%s"):format(widest(report, clause_cell), widest(report, state_cell))
  for _, row in ipairs(report) do
    lines[#lines + 1] = layout:format(clause_cell(row), state_cell(row), mechanism_cell(row))
    for _, name in ipairs(details) do
      if row[name] then
        lines[#lines + 1] = ("    %-6s  %s"):format(name, M.printable(row[name]))
      end
    end
  end
  return lines
end

---@param row procage.Row
---@return string
local function notice(row)
  local kind = row.state == "unenforced" and "gap" or row.state
  local about = row.id and row.id ~= row.clause and ("%s (%s)"):format(row.id, row.clause) or row.clause
  local told = row.effect or row.reason or "not enforced"
  if row.guard then
    told = told .. "; " .. row.guard
  end
  return M.printable(("procage: %s %s: %s; lift: %s"):format(kind, about, told, row.lift or "unknown"))
end

--- One line a gap, for standard error: what is left out, what it means, what would lift it. A report of a profile that
--- confines nothing is one line, not one for each clause.
---@param report procage.Row[]
---@param options? { tightened?: boolean }  also what is denied beyond what was asked
---@return string[] lines
function M.notices(report, options)
  local lines = {}
  for _, row in ipairs(report) do
    if row.id == "off" then
      return { M.printable(("procage: nothing is confined: %s"):format(row.reason)) }
    elseif row.state == "unenforced" or row.state == "tightened" and options and options.tightened then
      lines[#lines + 1] = notice(row)
    end
  end
  return lines
end

--- The same in one line: how many, their ids, and where the rest is told. nil: there is none.
---@param report procage.Row[]
---@return string?
function M.summary(report)
  local ids, seen, count = {}, {}, 0
  for _, row in ipairs(report) do
    if row.id == "off" then
      return M.notices(report)[1]
    elseif row.state == "unenforced" then
      count = count + 1
      ids[#ids + 1] = not seen[row.id] and row.id or nil
      seen[row.id] = true
    end
  end
  if count == 0 then
    return nil
  end
  local text = "procage: %d %s on this machine: %s; what each means: -v, or procage-lua explain"
  return M.printable(text:format(count, count == 1 and "gap" or "gaps", table.concat(ids, ", ")))
end

---@param report procage.Row[]
---@return string
function M.to_json(report)
  return json.encode(report, { list = row_shape })
end

return M
