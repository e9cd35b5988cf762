--- Names that something was worked out from, as they were: while they are so, it need not be worked out again.
---
--- A directory that has the same times has the same names in it, and a file the same content, as far as the file system tells:
--- ctime moves with every change and cannot be set. But it moves in steps, of the clock that changes are dated by, so what was
--- changed within a step of the look is no witness.

local core = require("procage.core")

local M = {}

--- More than a step of the kernel's clock, which is 10 ms at most.
local STEP_NS = 20000000

--- Beyond this, to look at the names costs what it saves.
local MOST = 4096

---@class procage.Seen
---@field names string[]
---@field marks string
local Seen = {}
Seen.__index = Seen

---@param names string[]  every directory that was listed, every name that was asked for; some twice
---@param since_ns integer  core.clock_ns() before the first of them was looked at
---@return procage.Seen?  nil: these tell of no change
function M.new(names, since_ns)
  local once, known = {}, {}
  for _, name in ipairs(names) do
    if not known[name] then
      known[name] = true
      once[#once + 1] = name
    end
  end
  if #once > MOST then
    return nil
  end
  local marks, latest_ns = core.marks(once)
  if latest_ns > since_ns - STEP_NS then
    return nil
  end
  return setmetatable({ names = once, marks = marks }, Seen)
end

--- Whether all of them are as they were.
---@return boolean
function Seen:holds()
  return core.marks(self.names) == self.marks
end

return M
