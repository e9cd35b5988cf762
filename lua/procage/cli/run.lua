--- procage-lua run: one command, confined; its output as it comes, or one JSON object.

local answers = require("procage.later")("procage.answers")
local core = require("procage.core")
local git_hint = require("procage.later")("procage.cli.git_hint")
local quote = require("procage.later")("procage.quote")
local reports = require("procage.report")
local setup = require("procage.cli.setup")
local statuses = require("procage.cli.status")
local writer = require("procage.writer")

-- ---- Refusals -------------------------------------------------------------------------------------------------------------

---@return integer status
local function refuse(chosen, status, message, code, detail)
  writer.refusal(writer.err, "procage-lua: ", message)
  if chosen.json then
    io.stdout:write(answers.of_refusal(status, message, code, detail), "\n")
  end
  return status
end

-- ---- The run --------------------------------------------------------------------------------------------------------------

--- A pipe or a file is the command's input too. A terminal is not: what types into it (TIOCSTI) acts with the user's rights.
---@return "inherit"|"closed"
local function standard_input()
  local file = core.stat("/proc/self/fd/0")
  if file and (file.kind == "fifo" or file.kind == "file" or file.kind == "socket") then
    return "inherit"
  end
  return "closed"
end

--- Whether a person sits there: both ends are character devices of the terminals' kind.
local function is_terminal()
  return core.is_terminal(0) and core.is_terminal(1)
end

--- Which program could not be executed; a line of shell is no program.
local function explain_exec(argv, status, message)
  if status ~= statuses.NOT_FOUND then
    return argv[1] .. ": " .. message
  elseif argv[1]:find("%s") and #argv == 1 then
    return ("%s: command not found; for a line of shell: sh -c '%s'"):format(argv[1], argv[1])
  elseif argv[1]:find("^[%a_][%w_]*=") then
    return ("%s: command not found; a variable is set by an option: --env %s"):format(argv[1], quote.shell(argv[1]))
  end
  return message
end

--- How it ended, where the status alone leaves one guessing.
local function tell_ending(outcome)
  if outcome.limit then
    writer.err("procage-lua: ", outcome.limit.text)
  elseif outcome.signal and not outcome.cancelled_by then
    writer.err(("procage-lua: ended by signal %d"):format(outcome.signal))
  end
end

--- Colours for a person at a terminal who has not asked for none. Source: no-color.org.
local function painter()
  local no_color = os.getenv("NO_COLOR")
  if not core.is_terminal(2) or (no_color and no_color ~= "") or os.getenv("TERM") == "dumb" then
    return function(_, text)
      return text
    end
  end
  return function(colour, text)
    return { colour = colour, text = text }
  end
end

local RED, GREEN = "31", "32"

--- What was refused, when the command failed: a program that went on regardless did not need it.
local function tell_denials(denials)
  local paint = painter()
  for _, line in ipairs(denials.denied) do
    writer.err(
      "procage-lua: ",
      paint(RED, "refused"),
      ": " .. line.text .. (line.allow and "; to allow it: " or ""),
      line.allow and paint(GREEN, line.allow) or ""
    )
  end
  if denials.more > 0 then
    writer.err("procage-lua: ", paint(RED, "refused"), (": %d more"):format(denials.more))
  end
end

--- Whom to ask what decides: of the refusals and the files that were moved the first of each.
local function tell_why(outcome)
  local questions = {}
  for _, line in ipairs(outcome.denials.denied) do
    questions[1] = questions[1] or line.why
  end
  for _, entry in ipairs(outcome.appeared) do
    local is_plain = not entry.path:find("[%c\127]")
    if is_plain then
      questions[#questions + 1] = "write " .. quote.shell(entry.path)
      break
    end
  end
  for _, question in ipairs(questions) do
    writer.err("procage-lua: what decides, and why (with this run's options): procage-lua why ", question)
  end
end

--- What there is to be told after a run: gaps are the same each time, and one line unless more is asked for.
---@return string[]
local function notices_of(outcome, chosen)
  if chosen.quiet then
    -- What this command did is told all the same.
    return outcome.events
  elseif chosen.verbose then
    return outcome.notices
  end
  local is_gap, told = {}, { reports.summary(outcome.report) }
  for _, line in ipairs(reports.notices(outcome.report)) do
    is_gap[line] = true
  end
  for _, line in ipairs(outcome.notices) do
    told[#told + 1] = not is_gap[line] and line or nil
  end
  return told
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local chosen = request.options
  if chosen.tty and (chosen.json or not is_terminal()) then
    return refuse(chosen, 2, "--tty: standard input and output are no terminal, or --json takes the output")
  end
  local made, message, status = setup.load(chosen, request.argv)
  if not made then
    return refuse(chosen, status, message)
  end

  chosen.quiet = chosen.quiet or made.is_silent
  for _, notice in ipairs(chosen.quiet and {} or made.notices) do
    writer.err(notice)
  end
  local command = table.move(request.argv, 1, #request.argv, 1, {
    cwd = made.cwd,
    executable = made.executable,
    timeout_ms = chosen.timeout_ms,
    stdin = standard_input(),
    terminal = chosen.tty,
    stream = not chosen.json,
    cancel_signals = true,
  })
  local outcome, code, detail
  outcome, message, code, detail = made.policy:run(command)
  if not outcome then
    status = statuses.of_refusal(code, detail)
    if detail and detail.step == "exec" then
      message = explain_exec(request.argv, status, message)
    end
    return refuse(chosen, status, message, code, detail)
  end

  status = statuses.of(outcome)
  writer.clear()
  for _, notice in ipairs(made.is_silent and {} or notices_of(outcome, chosen)) do
    writer.err(notice)
  end
  if (status ~= 0 or outcome.limit) and not chosen.quiet then
    tell_ending(outcome)
  end
  if status ~= 0 and not chosen.quiet then
    tell_denials(outcome.denials)
    local line = git_hint.line(made.policy, request.argv, outcome.denials)
    if line then
      writer.err("procage-lua: ", line)
    end
  end
  if not chosen.quiet and (status ~= 0 or #outcome.appeared > 0) then
    tell_why(outcome)
  end
  if outcome.output_error then
    writer.err("procage-lua: output is lost: ", outcome.output_error)
    status = status == 0 and statuses.OUR_FAILURE or status
  end
  if chosen.json then
    io.stdout:write(answers.of_outcome(outcome, status), "\n")
  end
  return status
end
