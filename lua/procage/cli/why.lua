--- procage-lua why: whether a command could do something, what decides, and what would alter it.

local answers = require("procage.answers")
local core = require("procage.core")
local model = require("procage.model")
local nearest = require("procage.nearest")
local path = require("procage.path")
local setup = require("procage.cli.setup")
local why = require("procage.why")
local writer = require("procage.writer")

local DENIED, BAD_USAGE = 1, 2

---@param op string
---@return boolean
local function is_operation(op)
  for _, known in ipairs(model.operations) do
    if op == known then
      return true
    end
  end
  return false
end

--- Where PATH leads a bare name of a program.
---@return string?
local function on_path(name)
  for directory in (os.getenv("PATH") or ""):gmatch("[^:]+") do
    local file = path.is_absolute(directory) and path.join(directory, name)
    local found = file and core.stat(file)
    if found and found.kind == "file" and found.mode & 73 ~= 0 then -- 0111
      return file
    end
  end
end

--- A target that is a path is one from where the user is.
local function target_of(op, text)
  local is_path = op == "read" or op == "write" or op == "exec" or text:find("^[~./]") ~= nil
  if not is_path then
    return text
  end
  text = op == "exec" and not text:find("/", 1, true) and on_path(text) or text
  return setup.absolute("why", text, assert(core.real_path("/proc/self/cwd")), os.getenv("HOME"))
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local function fail(status, message)
    writer.err("procage-lua: ", message)
    return status
  end
  local op, text = request.words[1], request.words[2]
  if not op or not text or request.words[3] then
    return fail(BAD_USAGE, "why: expected an operation and a target: why read ~/.ssh/id")
  elseif not is_operation(op) then
    return fail(BAD_USAGE, ("why: '%s' is none of %s%s"):format(
      op, table.concat(model.operations, ", "), nearest.hint(op, model.operations)))
  end
  local target, message = target_of(op, text)
  if not target then
    return fail(BAD_USAGE, message)
  end
  local made, status
  made, message, status = setup.load(request.options)
  if not made then
    return fail(status, message)
  end
  local answer
  answer, message = made.policy:why(op, target)
  if not answer then
    return fail(BAD_USAGE, "why: " .. message)
  end
  if request.options.json then
    io.stdout:write(answers.of_why(answer), "\n")
  else
    for _, line in ipairs(why.lines(answer)) do
      writer.out(line)
    end
  end
  return answer.allowed and 0 or DENIED
end
