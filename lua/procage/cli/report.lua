--- Reports for people and as JSON.

local M = {}

---@type procage.JsonShape
M.SHAPE = {
  list = {
    order = { "clause", "state", "mechanisms", "id", "reason", "effect", "lift", "guard" },
    fields = { mechanisms = { list = true } },
  },
}

--- Breaks a text at spaces into lines of at most `width` columns; later lines are indented.
---@param text string
---@param width integer
---@param indent string
---@return string
function M.wrap(text, width, indent)
  local lines, line = {}, nil
  for word in text:gmatch("%S+") do
    if line and #line + 1 + #word > width - #indent then
      lines[#lines + 1] = line
      line = nil
    end
    line = line and line .. " " .. word or word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. indent)
end

--- Columns of everything that is printed for people.
M.WIDTH = 100

--- One clause: a line of what and by what, then why and what of it where something is left out or tightened.
---@param row procage.Row
---@return string
local function clause(row)
  local by = table.concat(row.mechanisms, ", ")
  local head = ("  %-15s %-10s  "):format(row.clause, row.state)
  local mark = row.id and row.state ~= "enforced" and ("[" .. row.id .. "] ") or ""
  local lines = { head .. M.wrap(mark .. by, M.WIDTH, (" "):rep(#head)) }
  local indent = (" "):rep(#head)
  for _, key in ipairs({ "reason", "effect", "guard", "lift" }) do
    if row[key] then
      lines[#lines + 1] = ("%s%s: %s"):format(indent, key, M.wrap(row[key], M.WIDTH, indent .. "  "))
    end
  end
  return table.concat(lines, "\n")
end

---@param rows procage.Row[]
---@return string
function M.text(rows)
  local lines = {}
  for i, row in ipairs(rows) do
    lines[i] = clause(row):gsub("%s+$", "")
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
