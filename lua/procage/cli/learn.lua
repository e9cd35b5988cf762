--- procage-lua learn: one command, confined and watched; then the smallest configuration or policy that would let it.
---
--- Standard output is the proposal's alone; what the command prints goes to standard error.

local core = require("procage.core")
local learn = require("procage.learn")
local path_text = require("procage.path")
local setup = require("procage.cli.setup")
local statuses = require("procage.cli.status")
local writer = require("procage.writer")

local function fail(message, status)
  writer.refusal(writer.err, "procage-lua: ", message)
  return status
end

--- Told on standard error, so that the proposal is a file that can be used.
---@param result procage.LearnResult
local function tell(result)
  local outcome, learned = result.outcome, result.learned
  for _, notice in ipairs(outcome.events) do
    writer.err(notice)
  end
  local status = statuses.of(outcome)
  if status ~= 0 then
    writer.err(
      ("procage-lua: the command failed (%d): what it would have done next was not seen. "):format(status),
      "Learn again with the proposal as --config."
    )
  end
  if outcome.accesses and outcome.accesses.more > 0 then
    writer.err(("procage-lua: %d accesses to further paths were not kept"):format(outcome.accesses.more))
  end
  if #learned.left_out > 0 then
    writer.err(("procage-lua: %d of what was wanted is not proposed: the comments say why"):format(#learned.left_out))
  end
  for _, line in ipairs(result.to_make) do
    writer.err("procage-lua: not there yet, and to be made first: ", line)
  end
end

---@param text string
---@param named? string
---@return integer status
local function write(text, named)
  if not named then
    io.stdout:write(text)
    return 0
  end
  local cwd = assert(core.real_path("/proc/self/cwd"))
  local ok, message = core.create_file(path_text.is_absolute(named) and named or cwd .. "/" .. named, text)
  if not ok then
    return fail("learn: " .. message, 2)
  end
  writer.err(("procage-lua: %s: written; look at it, then: procage-lua check %s"):format(named, named))
  return 0
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local chosen = request.options
  chosen.observes = "all"
  local made, message, status = setup.load(chosen)
  if not made then
    return fail(message, status)
  end
  local command = table.move(request.argv, 1, #request.argv, 1, {
    cwd = made.cwd,
    timeout_ms = chosen.timeout_ms,
    on_output = function(_, bytes)
      io.stderr:write(bytes)
    end,
  })
  local result, why, code, detail = learn.run(made.policy, command)
  if not result then
    return fail(why, statuses.of_refusal(code, detail))
  end
  tell(result)
  return write(chosen.as == "policy" and result.script or result.toml, chosen.output)
end
