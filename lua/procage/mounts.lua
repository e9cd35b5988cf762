--- The host's mounts, as /proc/self/mountinfo lists them, and the other names that they give to a path.
--- Source: proc(5), /proc/pid/mountinfo.

local path = require("procage.path")

local M = {}

---@class procage.Mount
---@field device string  "MAJOR:MINOR"
---@field root string  what of the file system is mounted
---@field point string  where

--- The kernel writes space, tab, newline and backslash as \ and three octal digits.
local function unescape(text)
  return (text:gsub("\\(%d%d%d)", function(digits)
    return string.char(tonumber(digits, 8))
  end))
end

--- In the order of the list: a later mount at the same point lies over an earlier one.
---@param text string
---@return procage.Mount[] list  also `repeated`: whether some file system is mounted more than once
function M.parse(text)
  local list, seen = { repeated = false }, {}
  for line in text:gmatch("[^\n]+") do
    local device, root, point = line:match("^%d+ %d+ (%d+:%d+) (%S+) (%S+) ")
    if device then
      list[#list + 1] = { device = device, root = unescape(root), point = unescape(point) }
      list.repeated = list.repeated or seen[device] or false
      seen[device] = true
    end
  end
  return list
end

--- The mount that `target` lies in.
---@param mounts procage.Mount[]
---@param target string  absolute, resolved
---@return procage.Mount?
function M.holding(mounts, target)
  local best
  for _, mount in ipairs(mounts) do
    if path.lies_in(target, mount.point) and (not best or #mount.point >= #best.point) then
      best = mount
    end
  end
  return best
end

local NONE = {}

local function below(outer, inner)
  return outer == "/" and inner or inner:sub(#outer + 1)
end

--- The other paths at which the same object, or a part of it, can be reached: through a second mount of its file system.
--- A Landlock grant beneath such a mount would open what a grant at the first path does not.
---@param mounts procage.Mount[]
---@param target string  absolute, resolved; need not exist
---@return string[]
function M.aliases(mounts, target)
  if not mounts.repeated then
    return NONE
  end
  local own = M.holding(mounts, target)
  local found = {}
  if not own then
    return found
  end
  local inside = path.normalise(own.root .. "/" .. below(own.point, target))
  for _, mount in ipairs(mounts) do
    if mount ~= own and mount.device == own.device then
      local alias
      if path.lies_in(inside, mount.root) then
        alias = path.normalise(mount.point .. "/" .. below(mount.root, inside))
      elseif path.lies_in(mount.root, inside) then
        alias = mount.point
      end
      if alias and alias ~= target then
        found[#found + 1] = alias
      end
    end
  end
  return found
end

return M
