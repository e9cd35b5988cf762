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

--- Younger times do not tell of a change: the clock that they come from goes in steps of some milliseconds, and this one counts
--- seconds.
local SETTLED_S = 2

--- Whether the times of a directory, or of the nearest above it that is there, tell of whatever appears in it from `since` on.
---@param survey procage.Survey
---@param since integer  seconds, as os.time() tells them
---@return fun(directory: string): boolean
local function telling(survey, since)
  local known = {}
  local function tells(directory)
    local stamp = survey.stamps[directory]
    if stamp then
      local _, _, mtime_ns = ("<I8I8i8"):unpack(stamp)
      return mtime_ns // 1000000000 < since - SETTLED_S
    end
    local parent = path.parent(directory)
    return parent ~= nil and not disk.kind(directory) and known(parent)
  end
  return setmetatable(known, {
    __call = function(_, directory)
      if known[directory] == nil then
        known[directory] = tells(directory)
      end
      return known[directory]
    end,
  })
end

--- Hidden names of which no directory that the plan rests on tells: each is looked at before a run. Found out when the second
--- one begins: what has appeared by then is looked at as well.
local function untold(survey, since)
  local tells, names = telling(survey, since), {}
  for _, entry in ipairs(survey.hidden) do
    local parent = path.parent(entry.path)
    if not parent or not tells(parent) then
      names[#names + 1] = entry
    end
  end
  return names
end

--- Directories that had just changed when the plan was made, by our own caches for one, tell of what comes later once they have
--- been still for a while. `since`: when everything was last seen to be as it was.
local function settle_names(survey, since)
  if survey.told_since and since > survey.told_since + 2 * SETTLED_S then
    survey.untold, survey.told_since, survey.packed = untold(survey, since), nil, nil
  end
end

-- ---- Whether it still holds -------------------------------------------------------------------------------------------------

local LETTERS = { file = "f", directory = "d", link = "l", socket = "s", fifo = "p", device = "v", other = "o" }
local ABSENT = ("\0"):rep(40)

---@class procage.Packed  what a plan rests on, to be asked for in two calls
---@field names string[]
---@field marks string  of all of them, as core.marks gives them
---@field asked string[]
---@field kinds string  of all of them, as core.kinds gives them

---@param survey procage.Survey
---@return procage.Packed
local function pack(survey)
  local names, marks, asked, kinds = {}, {}, {}, {}
  local ignored = survey.ignored_found
  for _, stamps in ipairs({ survey.stamps, survey.listed, ignored and ignored.marks }) do
    for name, mark in pairs(stamps) do
      names[#names + 1], marks[#marks + 1] = name, mark == "absent" and ABSENT or mark
    end
  end
  survey.untold = survey.untold or untold(survey, survey.told_since)
  for _, entry in ipairs(survey.untold) do
    asked[#asked + 1], kinds[#kinds + 1] = entry.path, entry.kind and LETTERS[entry.kind] or "-"
  end
  for _, name in ipairs(survey.guarded) do
    asked[#asked + 1], kinds[#kinds + 1] = name, "-"
  end
  return { names = names, marks = table.concat(marks), asked = asked, kinds = table.concat(kinds) }
end

--- The quick answer: nothing at all has changed.
local function is_as_it_was(survey)
  survey.packed = survey.packed or pack(survey)
  local packed = survey.packed
  return core.marks(packed.names) == packed.marks
    and core.kinds(packed.asked) == packed.kinds
    and survey.mount_text == disk.read(survey_room.MOUNTS)
end

--- Whether everything that the plan rests on is as it was: directories whose entries were granted one by one, the host's
--- mounts, the hidden names. A directory that was only looked through may have changed.
local function is_fresh(survey, profile)
  if is_as_it_was(survey) then
    return true
  end
  survey.packed = nil
  for name, mark in pairs(survey.stamps) do
    if disk.mark(name) ~= mark then
      return false
    end
  end
  survey.untold = survey.untold or untold(survey, survey.told_since)
  for _, entry in ipairs(survey.untold) do
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
  local since = os.time()
  if self.made and is_fresh(self.survey, self.fitted) then
    settle_names(self.survey, since)
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
  survey.inside, survey.told_since = hidden_inside(survey), since
  self.made, self.survey, self.made_us = made, survey, core.now_us()
  return made
end

return M
