--- The trees of a policy as sets, for who looks up tens of thousands of paths in them (path.tree_in).

local path = require("procage.path")

local M = {}

---@param list string[]
---@return table<string, boolean>
function M.set(list)
  local set = {}
  for _, item in ipairs(list) do
    set[item] = true
  end
  return set
end

---@class procage.Places
---@field hidden table<string, boolean>
---@field above_hidden table<string, boolean>  directories that hold something hidden
---@field write table<string, boolean>
---@field protected table<string, boolean>

---@param policy procage.Policy  whose plan was made
---@return procage.Places
function M.of(policy)
  local survey, above = policy.survey, {}
  for _, place in ipairs(policy.fitted.hidden) do
    for _, directory in ipairs(path.above(place)) do
      above[directory] = true
    end
  end
  return {
    hidden = M.set(policy.fitted.hidden),
    above_hidden = above,
    write = M.set(survey.write),
    protected = M.set(survey.protected),
  }
end

return M
