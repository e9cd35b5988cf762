--- procage-lua doctor: attacks its own confinement on this host, and says what is missing and how to lift it.

local core = require("procage.core")
local doctor = require("procage.doctor")
local json = require("procage.json")
local lifts = require("procage.doctor.lift")
local setup = require("procage.cli.setup")
local statuses = require("procage.cli.status")
local writer = require("procage.writer")

local CROSSED = 1

local try_shape = { order = { "name", "state", "reason", "by_word" } }
local verdict_shape = {
  order = { "class", "about", "state", "reason", "tries" },
  fields = { tries = { list = try_shape } },
}
local missing_shape = {
  order = { "lift", "clauses", "effects" },
  fields = { clauses = { list = true }, effects = { list = true } },
}

---@param tries procage.doctor.Try[]
---@param state string
---@return string[] names
local function names_of(tries, state)
  local names = {}
  for _, try in ipairs(tries) do
    names[#names + 1] = try.state == state and try.name or nil
  end
  return names
end

--- One line a class.
---@param verdict procage.doctor.Verdict
---@param width integer
---@return string
local function line_of(verdict, width)
  local text = ("%-9s  %-" .. width .. "s  "):format(verdict.state, verdict.class)
  if verdict.reason then
    return text .. verdict.about .. ": " .. verdict.reason
  elseif verdict.state == "crossed" then
    local names = names_of(verdict.tries, "crossed")
    local more = #names > 6 and (" and %d more"):format(#names - 6) or ""
    return text .. verdict.about .. ": " .. table.concat(names, "; ", 1, math.min(#names, 6)) .. more
  end
  local refused, without = #names_of(verdict.tries, "refused"), names_of(verdict.tries, "not tried")
  text = ("%s%s: %d attack%s"):format(text, verdict.about, refused, refused == 1 and "" or "s")
  if #without > 0 then
    local more = #without > 4 and (" and %d more"):format(#without - 4) or ""
    text = text .. (" (not tried, for want of a control: %s%s)"):format(
      table.concat(without, "; ", 1, math.min(#without, 4)),
      more
    )
  end
  return text
end

---@param result procage.doctor.Result
---@return string[]
local function lines_of(result)
  local host = result.policy.host
  local tier = host.userns and host.mountns and "namespaces" or "no namespaces"
  local lines = {
    ("Policy %s on %s %s, Landlock ABI %d, %s"):format(result.policy.name, host.system, host.kernel, host.landlock_abi, tier),
    "Each attack was first shown to work outside, on things that doctor made.",
    "",
  }
  local width, counts = 0, { refused = 0, crossed = 0, ["not tried"] = 0 }
  for _, verdict in ipairs(result.verdicts) do
    width = math.max(width, #verdict.class)
    counts[verdict.state] = counts[verdict.state] + 1
  end
  for _, verdict in ipairs(result.verdicts) do
    lines[#lines + 1] = line_of(verdict, width)
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = ("%d classes refused, %d crossed, %d not tried; %d attacks, %.1f s"):format(
    counts.refused,
    counts.crossed,
    counts["not tried"],
    result.tried,
    result.duration_ms / 1000
  )
  return lines
end

local function print_json(result, missing, steps)
  local verdicts, lacks, told = {}, {}, {}
  for i, verdict in ipairs(result.verdicts) do
    verdicts[i] = json.encode(verdict, verdict_shape)
  end
  for i, row in ipairs(missing) do
    lacks[i] = json.encode(row, missing_shape)
  end
  for i, step in ipairs(steps) do
    told[i] = json.encode(step, { order = { "what", "text" } })
  end
  return ('{"policy":%s,"crossed":%d,"attacks":%d,"duration_ms":%d,"classes":[%s],"missing":[%s],"steps":[%s]}\n'):format(
    json.encode(result.policy.name, {}),
    result.crossed,
    result.tried,
    result.duration_ms,
    table.concat(verdicts, ","),
    table.concat(lacks, ","),
    table.concat(told, ",")
  )
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local chosen = request.options
  local function fail(status, message)
    writer.err("procage-lua: doctor: ", message)
    return status
  end

  local cwd, message = core.real_path("/proc/self/cwd")
  if not cwd then
    return fail(2, "the current directory: " .. message)
  end
  local settings
  settings, message = setup.settings(chosen, cwd)
  if not settings then
    return fail(2, message)
  end
  local function run()
    return doctor.of({
      base = chosen.root and settings.root,
      policy = settings.policy,
      config = settings.config,
      read_only = settings.read_only,
    })
  end
  -- Ctrl-C ends it as an error does: what was made is removed.
  local is_done, result, code
  is_done, result, message, code = core.interruptible(run, function(raised)
    return raised == "interrupted" and raised or debug.traceback(tostring(raised), 2)
  end)
  if not is_done then
    return fail(result == "interrupted" and statuses.SIGNALLED + 2 or statuses.OUR_FAILURE, result)
  end
  if not result then
    return fail(statuses.of_refusal(code), message)
  end

  local missing = lifts.missing(result.policy.report)
  local steps = lifts.steps(result.policy.host, result.policy.report)
  local text
  if chosen.json then
    text = print_json(result, missing, steps)
  else
    local lines = lines_of(result)
    for _, line in ipairs(lifts.lines(missing, steps)) do
      lines[#lines + 1] = line
    end
    text = writer.text(lines)
  end
  local written, why = io.stdout:write(text)
  if not written or not io.stdout:flush() then
    return fail(statuses.OUR_FAILURE, "output is lost: " .. (why or "cannot be written"))
  end
  return result.crossed > 0 and CROSSED or 0
end
