--- procage-lua classify: a policy's decision on a call, which is not run.

local classify = require("procage.classify")
local core = require("procage.core")
local json = require("procage.json")
local path = require("procage.path")
local setup = require("procage.cli.setup")
local writer = require("procage.writer")

local BAD_USAGE = 2
local STATUS = { allowed = 0, denied = 1, ask = 3 }
local STRICTNESS = { denied = 3, ask = 2, allowed = 1 }

local MAX_INPUT = 16 << 20

local function fail(message)
  writer.err("procage-lua: classify: ", message)
  return BAD_USAGE
end

--- The calls on standard input, and whether they were a list.
local function read_calls()
  local text = io.stdin:read(MAX_INPUT + 1) or ""
  if #text > MAX_INPUT then
    return nil, ("standard input: more than %d bytes"):format(MAX_INPUT)
  end
  local value, message = json.decode(text)
  if type(value) ~= "table" then
    return nil, "standard input: " .. (message or "a call is expected: an object, or a list of them")
  end
  -- An empty object and an empty list look alike; neither is a call.
  local is_list = value.tool == nil and value[1] ~= nil
  local calls = is_list and value or { value }
  for i, call in ipairs(calls) do
    local why = classify.check(call)
    if why then
      return nil, ("standard input: %s%s"):format(is_list and ("call %d: "):format(i) or "", why)
    end
  end
  return calls, nil, is_list
end

local function print_line(decision)
  local object = decision.object and (" (%s)"):format(decision.object) or ""
  writer.out(("%s %s: %s%s"):format(decision.decision, decision.rule, decision.reason, object))
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local chosen, words = request.options, request.words
  local calls, message, is_list
  if #words == 0 then
    if request.has_dashes then
      return fail("a command is missing after --")
    elseif core.is_terminal(0) then
      return fail("a command is missing, and no call comes on standard input")
    end
    calls, message, is_list = read_calls()
    if not calls then
      return fail(message)
    end
  end
  -- Nothing runs: what this machine can enforce has no say.
  chosen.explains = true
  local made, why, status = setup.load(chosen)
  if not made then
    writer.err("procage-lua: ", why)
    return status
  end
  if not calls then
    calls = { { tool = "command", argv = words, cwd = made.cwd, network = request.parsed.network or nil } }
  end
  for _, pattern in ipairs(request.parsed.protect or {}) do
    if path.has_parent_step(pattern) then
      return fail(("--protect %s: '..' in it: name the place itself"):format(pattern))
    end
  end
  local session = classify.new(made.policy, { protect = request.parsed.protect }):session({ prompts = math.maxinteger })
  local strictest = "allowed"
  local texts = {}
  for i, call in ipairs(calls) do
    local decision = session:classify(call)
    if STRICTNESS[decision.decision] > STRICTNESS[strictest] then
      strictest = decision.decision
    end
    if request.parsed.json then
      texts[i] = classify.to_json(decision)
    else
      print_line(decision)
    end
  end
  if request.parsed.json then
    io.stdout:write(is_list and "[" .. table.concat(texts, ",") .. "]" or texts[1], "\n")
  end
  return STATUS[strictest]
end
