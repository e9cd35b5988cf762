--- Which limit of the profile ended a run, or a process of it.

local M = {}

--- Signals of the kernel's at a limit. Source: setrlimit(2).
local SIGKILL, SIGXCPU, SIGXFSZ = 9, 24, 25

local US_IN_MS = 1000

---@class procage.Ending
---@field limit "timeout_ms"|"cpu_ms"|"file_bytes"|"memory_bytes"
---@field text string

--- A shell tells of its command's signal by this status.
local function signal_of(outcome)
  local status = outcome.status
  return outcome.signal or status and status > 128 and status - 128 or nil
end

--- A command that outlived SIGXCPU is killed a second later.
local function has_used_its_time(outcome, limits)
  return outcome.usage.user_us + outcome.usage.system_us >= limits.cpu_ms * US_IN_MS
end

---@param outcome procage.Outcome
---@param limits procage.Limits  of the profile
---@return procage.Ending?
function M.of(outcome, limits)
  local signal = signal_of(outcome)
  local whose = outcome.signal and "" or "a process of it was "
  if outcome.timed_out then
    return { limit = "timeout_ms", text = ("ended by the time limit after %.1f s"):format(outcome.duration_ms / 1000) }
  elseif (outcome.memory_kills or 0) > 0 and limits.memory_bytes then
    local text = "%d %s killed at the limit of memory: limits.memory_bytes = %d"
    local kills = outcome.memory_kills
    return {
      limit = "memory_bytes",
      text = text:format(kills, kills == 1 and "process was" or "processes were", limits.memory_bytes),
    }
  elseif limits.cpu_ms and (signal == SIGXCPU or signal == SIGKILL and has_used_its_time(outcome, limits)) then
    local text = "%sended by the limit of processor time: limits.cpu_ms = %d"
    return { limit = "cpu_ms", text = text:format(whose, limits.cpu_ms) }
  elseif limits.file_bytes and signal == SIGXFSZ then
    local text = "%sended by the limit of a file's size: limits.file_bytes = %d"
    return { limit = "file_bytes", text = text:format(whose, limits.file_bytes) }
  end
  return nil
end

return M
