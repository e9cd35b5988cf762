--- The attacks: what is tried, on what of doctor's own, and how it shows outside that it came through.
---
--- Each is made twice, once for the control and once for the confined run, on targets of their own. A class says when a profile
--- or a report does not claim it.

local M = {}

---@class procage.doctor.Attack
---@field class string
---@field name string
---@field words string[]  for the helper: what to do, and six words at most
---@field crossed fun(answer: procage.doctor.Answer): boolean
---@field by_word? boolean  nothing happens outside: the helper's own word decides

---@class procage.doctor.Answer
---@field result integer  0, an errno, minus a signal
---@field told string  what was read

---@class procage.doctor.Class
---@field name? string  its key in the room
---@field about string
---@field unclaimed fun(c: procage.doctor.Claims): string?  why it is not tried
---@field attacks fun(t: procage.doctor.Tree, c: procage.doctor.Claims, add: function)

--- In the order in which they are made and shown.
local ORDER = {
  "hidden", "hidden_inside", "ignored", "stat", "read", "write", "truncate", "metadata", "git", "handoff",
  "handoff_absent", "tmp", "put_back",
  "network", "families", "sockets", "abstract", "env", "signals", "processes", "descriptors",
  "namespaces", "setuid", "keys", "terminals", "left_behind", "ipc", "kernel", "devices",
}

local ROOMS = { "files", "hidden", "inherited", "network", "processes", "project", "system" }

--- The classes of all rooms, in the order; one that is in no order would not be tried, in silence.
---@return procage.doctor.Class[]
local function in_order()
  local found, classes = {}, {}
  for _, room in ipairs(ROOMS) do
    for name, class in pairs(require("procage.doctor.attacks." .. room)) do
      class.name = name
      found[name] = class
    end
  end
  for i, name in ipairs(ORDER) do
    classes[i] = assert(found[name], name)
    found[name] = nil
  end
  assert(next(found) == nil, next(found))
  return classes
end

---@type procage.doctor.Class[]
M.classes = in_order()

return M
