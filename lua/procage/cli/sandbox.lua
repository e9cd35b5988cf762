--- procage-lua __sandbox [--tree] [--cwd DIR] [--home DIR] [--executable FILE] PROFILE -- COMMAND [ARGUMENT ...]
---
--- For other programs to start (policy:wrap makes the words), not for people. PROFILE is a fitted profile: JSON, @FILE, or -
--- for standard input. The process confines itself and becomes the command; with --tree it stays and looks after it.

local core = require("procage.core")
local executables = require("procage.executable")
local helper = require("procage.helper")
local profiles = require("procage.profile")
local reports = require("procage.report")
local statuses = require("procage.cli.status")
local writer = require("procage.writer")

--- Longer than any profile.
local MAX_BYTES = 8 << 20

local function say(message)
  writer.refusal(writer.err, "procage-lua: ", message)
end

local function fail(status, message)
  say("__sandbox: " .. message)
  return status
end

---@class procage.cli.Sandbox
---@field tree boolean
---@field cwd? string
---@field home? string
---@field executable? procage.Executable
---@field profile string  as it was given
---@field argv string[]

---@param words string[]  "__sandbox" is the first
---@return procage.cli.Sandbox?
---@return string? message
local function parse(words)
  local request, i = { tree = false }, 2
  while words[i] and words[i]:sub(1, 2) == "--" and words[i] ~= "--" do
    local name = words[i]
    if name == "--help" then
      return nil, "for policy:wrap, not for people: procage-lua __sandbox [--tree] [--cwd DIR] [--home DIR] \z
        [--executable FILE] PROFILE -- COMMAND [ARGUMENT ...]"
    elseif name == "--tree" then
      request.tree = true
    elseif name == "--cwd" or name == "--home" then
      i = i + 1
      if not words[i] or words[i]:sub(1, 1) ~= "/" then
        return nil, name .. ": an absolute path is expected"
      end
      request[name:sub(3)] = words[i]
    elseif name == "--executable" then
      i = i + 1
      request.executable = executables.from_text(words[i] or "")
      if not request.executable then
        return nil, name .. ": a file as policy:wrap writes it is expected"
      end
    else
      return nil, "unknown option " .. name
    end
    i = i + 1
  end
  request.profile = words[i]
  if not request.profile or request.profile == "--" then
    return nil, "a profile is missing: JSON, @FILE or -"
  elseif words[i + 1] ~= "--" then
    return nil, "-- is expected after the profile"
  elseif not words[i + 2] then
    return nil, "a command is missing after --"
  end
  request.argv = table.move(words, i + 2, #words, 1, {})
  return request
end

---@param from string
---@return string? text
---@return string? message
local function read_profile(from)
  local file, message
  if from == "-" then
    file = io.stdin
  elseif from:sub(1, 1) == "@" then
    file, message = io.open(from:sub(2), "rb")
    if not file then
      return nil, message
    end
  else
    return from
  end
  local text, why = file:read(MAX_BYTES + 1)
  if file ~= io.stdin then
    file:close()
  end
  if why then
    return nil, why
  elseif not text or #text > MAX_BYTES then
    return nil, ("%s: %s"):format(from, text and "too long" or "empty")
  end
  return text
end

--- The gaps that this form has and the one that the profile was fitted for had not.
---@param policy procage.Policy
local function tell_gaps(policy)
  local known, rows = {}, {}
  for _, id in ipairs(policy.profile.unenforced) do
    known[id] = true
  end
  for _, row in ipairs(policy.report) do
    if row.state == "unenforced" and not known[row.id] then
      rows[#rows + 1] = row
    end
  end
  for _, line in ipairs(reports.notices(rows)) do
    writer.err(line)
  end
end

local function refuse(request, message, code, detail)
  if detail and detail.step == "exec" then
    message = request.argv[1] .. ": " .. message
  end
  return fail(statuses.of_refusal(code, detail), message)
end

--- The parent that looks after the run.
local function look_after(policy, request)
  local command = table.move(request.argv, 1, #request.argv, 1, {
    cwd = request.cwd,
    executable = request.executable,
    stdin = "inherit",
    stream = true,
    cancel_signals = true,
  })
  local outcome, message, code, detail = policy:run(command)
  if not outcome then
    return refuse(request, message, code, detail)
  end
  for _, line in ipairs(outcome.events) do
    writer.err(line)
  end
  return statuses.of(outcome)
end

---@param words string[]
---@return integer status
return function(words)
  local request, message = parse(words)
  if not request then
    return fail(statuses.BAD_USAGE, message)
  end
  local text
  text, message = read_profile(request.profile)
  if not text then
    return fail(statuses.BAD_USAGE, message)
  end
  local profile
  profile, message = profiles.from_json(text)
  if not profile then
    return fail(statuses.BAD_USAGE, message)
  end
  local policy, code
  policy, message, code = helper.restore(profile, { home = request.home, supervisor = request.tree })
  if not policy then
    return refuse(request, message, code)
  end
  if request.tree then
    return look_after(policy, request)
  end
  tell_gaps(policy)
  -- Written out: what is buffered would be lost, or come after what the command prints.
  io.stdout:flush()
  return refuse(
    request,
    select(
      2,
      helper.become(policy, request.argv, {
        cwd = request.cwd or core.real_path("/proc/self/cwd"),
        executable = request.executable,
        on_notice = function(notice)
          writer.err("procage: ", notice)
        end,
      })
    )
  )
end
