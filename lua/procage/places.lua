--- The trees of a policy as sets, for who looks up tens of thousands of paths in them (path.tree_in).

local list = require("procage.list")
local path = require("procage.path")

local M = {}

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
    hidden = list.set(policy.fitted.hidden),
    above_hidden = above,
    write = list.set(survey.write),
    protected = list.set(survey.protected),
  }
end

return M
