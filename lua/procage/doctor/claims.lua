--- What a fitted profile and its report claim, as the attacks ask it.

local list = require("procage.list")
local path = require("procage.path")
local profiles = require("procage.profile")

local M = {}

--- The profile and its report, as the classes ask them.
---@class procage.doctor.Claims
---@field profile procage.Profile  fitted
---@field rows table<string, procage.Row>
---@field is_off boolean  nothing is confined, so everything is tried
---@field home string  of the confined tree
---@field hidden table<boolean, string[]>  what hidden_names has found
local Claims = {}
Claims.__index = Claims

---@param profile procage.Profile
---@param report procage.Row[]
---@param home string
---@return procage.doctor.Claims
function M.new(profile, report, home)
  local rows = {}
  for _, row in ipairs(report) do
    rows[row.clause] = row
  end
  return setmetatable({
    profile = profile,
    rows = rows,
    home = home,
    is_off = profile.unconfined ~= nil,
    hidden = {},
  }, Claims)
end

---@param clause string
---@param mechanism string
---@return boolean
function Claims:uses(clause, mechanism)
  return list.has(self.rows[clause].mechanisms, mechanism)
end

--- A gap that the report names.
---@param clause string
---@return string?
function Claims:gap(clause)
  local row = self.rows[clause]
  if self.is_off or row.state ~= "unenforced" then
    return nil
  end
  return ("the report names this gap, %s%s"):format(row.id, row.guard and "; " .. row.guard or "")
end

--- Whether the profile lets a path be written.
function Claims:may_write(name)
  return path.resolved_tree_of(name, profiles.writable_trees(self.profile)) ~= nil
end

function Claims:may_read(name)
  return self.profile.read == "all" or path.resolved_tree_of(name, self.profile.read) ~= nil or self:may_write(name)
end

return M
