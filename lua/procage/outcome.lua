--- What happened in a run, complete enough to be shown and stored.

local denials = require("procage.denials")
local ending = require("procage.ending")

local M = {}

---@class procage.Outcome
---@field status? integer  exit status; nil when a signal ended the command
---@field signal? integer
---@field core_dumped? boolean
---@field timed_out boolean
---@field limit? procage.Ending  the limit of the profile that ended it, or a process of it
---@field output_error? string  why output that was to be streamed is lost
---@field cancelled_by? integer  the signal that the caller was sent
---@field is_lost? boolean  init died without a word: how the command ended is unknown
---@field is_broker_lost? boolean  the run's broker was killed, which ended the run
---@field stdout? string  nil when it was streamed
---@field stderr? string
---@field dropped_bytes integer  captured output that is missing between head and tail
---@field stdout_cut_at? integer  how many bytes of stdout come before what is missing
---@field stderr_cut_at? integer
---@field duration_ms integer
---@field usage { user_us: integer, system_us: integer, max_rss_kib: integer }
---@field memory_kills integer  processes that the kernel killed at limits.memory_bytes
---@field report procage.Row[]
---@field denials procage.Denials
---@field accesses? table[]  {path, wanted, refused, call, process, count}: what the path observer kept
---@field appeared procage.Appeared[]
---@field notices string[]  gaps, what was found while planning, and the events
---@field events string[]  what this run did that someone should look at

local SIGKILL = 9

--- Head and tail are as long as each other where something between them is missing.
local function cut_at(text, dropped_bytes)
  return text and (dropped_bytes or 0) > 0 and #text // 2 or nil
end

---@param raw table  as core.run returns it
---@param policy procage.Policy
---@return procage.Outcome
function M.new(raw, policy)
  local outcome = {
    status = raw.status,
    -- Nobody but the kernel or another process of the user kills init.
    signal = raw.signal or raw.is_lost and SIGKILL or nil,
    core_dumped = raw.core_dumped,
    timed_out = raw.timed_out,
    output_error = raw.output_error,
    cancelled_by = raw.cancelled_by,
    is_lost = raw.is_lost or nil,
    is_broker_lost = raw.is_broker_lost or nil,
    stdout = raw.stdout,
    stderr = raw.stderr,
    dropped_bytes = (raw.stdout_dropped_bytes or 0) + (raw.stderr_dropped_bytes or 0),
    stdout_cut_at = cut_at(raw.stdout, raw.stdout_dropped_bytes),
    stderr_cut_at = cut_at(raw.stderr, raw.stderr_dropped_bytes),
    duration_ms = raw.duration_us // 1000,
    usage = { user_us = raw.user_us, system_us = raw.system_us, max_rss_kib = raw.max_rss_kib },
    memory_kills = raw.memory_kills,
    report = policy.report,
    denials = denials.of(raw.denials, policy.fitted, raw.accesses, policy),
    accesses = raw.accesses.is_recorded and raw.accesses or nil,
    appeared = {},
    notices = {},
    events = {},
  }
  outcome.limit = ending.of(outcome, policy.fitted.limits)
  return outcome
end

return M
