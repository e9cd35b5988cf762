--- Exit statuses of a command that was run, and of one that was not (DESIGN section 5).

local M = {}

local ENOENT = 2

M.BAD_USAGE, M.TIMED_OUT, M.OUR_FAILURE, M.CANNOT_RUN, M.NOT_FOUND, M.SIGNALLED = 2, 124, 125, 126, 127, 128

---@param outcome procage.Outcome
---@return integer
function M.of(outcome)
  if outcome.cancelled_by then
    return M.SIGNALLED + outcome.cancelled_by
  elseif outcome.timed_out then
    return M.TIMED_OUT
  elseif outcome.signal then
    return M.SIGNALLED + outcome.signal
  end
  return outcome.status
end

--- The status of a command that never ran.
---@param code any
---@param detail? { step: string?, op: string?, errno: integer? }
---@return integer
function M.of_refusal(code, detail)
  local step = detail and detail.step
  if code == "config" then
    return M.BAD_USAGE
  elseif code == ENOENT and (step == nil or step == "exec") then
    return M.NOT_FOUND
  end
  return M.CANNOT_RUN
end

return M
