--- The namespaces that the runs of one loaded policy have in common (loopback = "policy"): a process keeps them, which is made
--- for the first run that needs it, and made anew when it has gone or this one is not what it was (platform/linux/holder.c).

local core = require("procage.core")
local list = require("procage.list")

local M = {}

--- How long it stays at most when no run is in them.
M.LONGEST_MS = 10000

--- For one run: it is closed when that is over.
---@param policy procage.Policy
---@return userdata|false|nil use  false: the runs of this policy have no namespace in common
---@return string? message
---@return integer? code
function M.use(policy)
  if not list.has(policy.fitted.mechanisms, "netns-join") then
    return false
  end
  local use = policy.holder and policy.holder:use()
  if use then
    return use
  end
  M.close(policy)
  local holder, message, code = core.holder(policy.loopback_wait_ms or M.LONGEST_MS)
  if not holder then
    return nil, message, code
  end
  policy.holder = holder
  return holder:use()
end

--- Whether a run failed since it could not enter: then others are to be made, and the run may be tried again.
---@param policy procage.Policy
---@param detail? table  of the failure
---@return boolean
function M.is_lost(policy, detail)
  if not detail or detail.op ~= "join" then
    return false
  end
  M.close(policy)
  return true
end

--- Runs that go on keep the namespaces; the next one gets others.
---@param policy procage.Policy
function M.close(policy)
  if policy.holder then
    policy.holder:close()
    policy.holder = nil
  end
end

return M
