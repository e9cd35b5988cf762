--- Data files that ship with the policies, for modules outside them: loaded as a policy script is, so that one set of files
--- serves both.

local path = require("procage.path")
local paths = require("procage.paths")

local M = {}

---@param name string  "lists"
---@return any data
---@return string file
function M.load(name)
  local directory, message = paths.policies()
  if not directory then
    error(message, 0)
  end
  local file = directory .. "/" .. name .. ".lua"
  local handle = assert(io.open(file, "rb"))
  local text = handle:read("a")
  handle:close()
  local data, why = require("procage.policy").load_script(text or "", file, { is_ours = true })
  if data == nil then
    error(why, 0)
  end
  return data, file
end

--- The lists, for the reasons in them; none for a tree without.
---@return table lists
---@return string? file
function M.lists()
  if not paths.policies() then
    return {}
  end
  return M.load("lists")
end

--- Whether a row names a path: one in a cache wherever the cache has been moved to.
local function is_named(row, name, home)
  if path.expand_home(row.path, home) == name then
    return true
  elseif row.in_cache then
    local below = row.path:sub(#"~/.cache" + 1)
    return name:sub(-#below) == below
  end
  return false
end

--- The row of the hidden list that a path is named by.
---@param lists table
---@param name string  absolute
---@param home string
---@return table? row
function M.hidden_row(lists, name, home)
  for _, row in ipairs(lists.hidden or {}) do
    if is_named(row, name, home) then
      return row
    end
  end
  return nil
end

---@param lists table
---@param name string
---@return table? row
function M.handoff_row(lists, name)
  for _, row in ipairs(lists.handoff or {}) do
    if row.name == name then
      return row
    end
  end
  return nil
end

---@param lists table
---@param pattern string
---@return table? row
function M.ignored_row(lists, pattern)
  for _, row in ipairs(lists.ignored or {}) do
    if row.pattern == pattern then
      return row
    end
  end
  return nil
end

return M
