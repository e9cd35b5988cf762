--- Answers as JSON, the same from the program and from the C interface.

local hosts = require("procage.host")
local json = require("procage.json")
local reports = require("procage.report")

local M = {}

local BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

---@param text string
---@return string
local function base64(text)
  local groups = {}
  for i = 1, #text, 3 do
    local a, b, c = text:byte(i, i + 2)
    local bits = a << 16 | (b or 0) << 8 | (c or 0)
    local group = {}
    for j = 0, 3 do
      local digit = bits >> (18 - 6 * j) & 63
      group[j + 1] = BASE64:sub(digit + 1, digit + 1)
    end
    groups[#groups + 1] = table.concat(group, "", 1, c and 4 or b and 3 or 2)
  end
  local text64 = table.concat(groups)
  return text64 .. ("="):rep(-#text64 % 4)
end

--- The members of an answer about a run, in their order, those that are there.
---@type string[]
local RUN_ORDER = {
  "exit_status",
  "status",
  "signal",
  "timed_out",
  "limit",
  "cancelled_by",
  "duration_ms",
  "stdout",
  "stdout_base64",
  "stderr",
  "stderr_base64",
  "dropped_bytes",
  "usage",
  "report",
  "denials",
  "appeared",
  "notices",
  "error",
}

--- The shapes of those that are tables, but for the report.
---@type table<string, procage.JsonShape>
local RUN_SHAPES = {
  usage = { order = { "user_us", "system_us", "max_rss_kib" } },
  denials = {
    order = { "denied", "more", "note", "source" },
    fields = { denied = { list = { order = { "text", "kind", "clause", "errno", "count", "allow", "config", "why" } } } },
  },
  limit = { order = { "limit", "text" } },
  appeared = { list = { order = { "path", "moved_to", "is_change" } } },
  notices = { list = true },
  error = { order = { "message", "code", "step", "op", "path", "errno" } },
}

--- Puts a captured stream into the answer: as text when it is UTF-8, for that is all that a JSON string can hold.
local function add_stream(answer, name, bytes)
  if utf8.len(bytes) then
    answer[name] = bytes
  else
    answer[name .. "_base64"] = base64(bytes)
  end
end

---@param answer table
---@return string
local function run_json(answer)
  local members = {}
  for _, key in ipairs(RUN_ORDER) do
    local value = answer[key]
    if value ~= nil then
      -- A report knows its own order of keys.
      local text = key == "report" and reports.to_json(value) or json.encode(value, RUN_SHAPES[key])
      members[#members + 1] = ('"%s":%s'):format(key, text)
    end
  end
  return "{" .. table.concat(members, ",") .. "}"
end

---@param outcome procage.Outcome  with its output
---@param exit_status integer  of the program
---@return string
function M.of_outcome(outcome, exit_status)
  local answer = {
    exit_status = exit_status,
    status = outcome.status,
    signal = outcome.signal,
    timed_out = outcome.timed_out or false,
    limit = outcome.limit,
    cancelled_by = outcome.cancelled_by,
    duration_ms = outcome.duration_ms,
    dropped_bytes = outcome.dropped_bytes,
    usage = outcome.usage,
    report = outcome.report,
    denials = outcome.denials,
    appeared = outcome.appeared,
    notices = outcome.notices,
  }
  add_stream(answer, "stdout", outcome.stdout)
  add_stream(answer, "stderr", outcome.stderr)
  return run_json(answer)
end

--- A command that never ran.
---@param exit_status integer
---@param message string
---@param code any
---@param detail? table
---@return string
function M.of_refusal(exit_status, message, code, detail)
  detail = detail or {}
  return run_json({
    exit_status = exit_status,
    error = {
      message = message,
      code = code,
      step = detail.step,
      op = detail.op,
      path = detail.path,
      errno = detail.errno,
    },
  })
end

--- A value of an option: one word, or a list of them.
local OPTION_VALUE = { list = true }

local OPTION_SHAPE = {
  order = { "name", "type", "choices", "default", "value", "help" },
  fields = { choices = OPTION_VALUE, default = OPTION_VALUE, value = OPTION_VALUE },
}

--- The options that a policy declares, with what it was called with.
---@param policy procage.Policy
---@return string
local function options_json(policy)
  local list, source = {}, policy.source
  for i, option in ipairs(source and source.options or {}) do
    list[i] = { value = source.values[option.name] }
    for key, value in pairs(option) do
      list[i][key] = value
    end
  end
  return json.encode(list, { list = OPTION_SHAPE })
end

--- The parts write themselves: each knows its own order of keys.
---@param policy procage.Policy
---@param host procage.Host
---@param fitted procage.Profile
---@param rows procage.Row[]
---@param refusal? string  why a run would not start
---@return string
function M.of_policy(policy, host, fitted, rows, refusal)
  return ('{"policy":%s,"options":%s,"host":%s,"runs":%s,"refusal":%s,"profile":%s,"report":%s}'):format(
    json.encode(policy.name, {}),
    options_json(policy),
    hosts.to_json(host),
    tostring(not refusal),
    refusal and json.encode(refusal, {}) or "null",
    require("procage.profile").to_json(fitted),
    reports.to_json(rows)
  )
end

local WHY_SHAPE = {
  order = { "op", "target", "path", "allowed", "clause", "item", "reason", "note", "from", "state", "mechanisms", "change",
    "no_change" },
  fields = { from = { list = true }, mechanisms = { list = true }, change = { order = { "flag", "line" } } },
}

---@param answer procage.Why
---@return string
function M.of_why(answer)
  return json.encode(answer, WHY_SHAPE)
end

return M
