--- The plan of a policy. It is kept: what it rests on is compared before each run, and it is made again when anything differs.

local core = require("procage.core")
local disk = require("procage.disk")
local list = require("procage.list")
local path = require("procage.path")
local plans = require("procage.plan")
local resolve = require("procage.resolve")
local survey_room = require("procage.survey")

local M = {}

local E2BIG = 7

--- Whether everything that the plan rests on is as it was: directories whose entries were granted one by one, the host's
--- mounts, the hidden names.
local function is_fresh(survey, profile)
  for name, mark in pairs(survey.stamps) do
    if disk.mark(name) ~= mark then
      return false
    end
  end
  for _, entry in ipairs(survey.hidden) do
    if disk.kind(entry.path) ~= entry.kind then
      return false
    end
  end
  return survey.mount_text == disk.read(survey_room.MOUNTS)
    and survey_room.has_same_roots(survey, profile)
    and survey_room.has_same_ignored(survey)
end

--- Hidden paths that exist inside writable trees: those that a mask alone keeps.
local function hidden_inside(survey)
  local names = list.append({}, survey.ignored)
  for _, entry in ipairs(survey.hidden) do
    if entry.kind and path.resolved_tree_of(entry.path, survey.write) then
      names[#names + 1] = entry.path
    end
  end
  return names
end

--- What this host lets us tell of refusals.
---@param self procage.Policy
function M.recorded(self)
  return plans.recorded(self.denials, self.host, self.supervisor, self.observes)
end

--- The plan, made when first needed and again when what it rests on has changed.
---@param self procage.Policy
---@return userdata? plan
---@return string? message
---@return any code
function M.plan(self)
  if self.made and is_fresh(self.survey, self.fitted) then
    return self.made
  end
  self.made = nil
  resolve.make_caches(self.fitted, self.context)
  local survey, unknown = survey_room.look(self.fitted, self.context.visible, self.context)
  if not survey then
    return nil, unknown, E2BIG
  end
  local made, message, code = plans.make(self.fitted, self.host, survey, self:recorded())
  if not made then
    return nil, message, code
  end
  survey.inside = hidden_inside(survey)
  self.made, self.survey, self.made_us = made, survey, core.now_us()
  return made
end

return M
