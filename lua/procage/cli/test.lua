--- procage-lua test: an operator's own tests of a policy.

local core = require("procage.core")
local json = require("procage.json")
local path = require("procage.path")
local policy_test = require("procage.policy_test")
local setup = require("procage.cli.setup")
local writer = require("procage.writer")

local FAILED, BAD_USAGE = 1, 2

local SHAPE = {
  order = { "results", "passed", "failed" },
  fields = { results = { list = { order = { "at", "text", "passed", "why", "real", "real_why" } } } },
}

--- "ok    strict_test.lua:3: denies read ~/.ssh/id (hidden)"
local function line_of(result, directory)
  local at = result.at
  if at:sub(1, #directory + 1) == directory .. "/" then
    at = at:sub(#directory + 2)
  end
  local line = ("%-4s  %s: %s (%s)"):format(policy_test.passed(result) and "ok" or "FAIL", at, result.text, result.why)
  if result.real then
    line = line .. ("; kernel: %s, %s"):format(result.real, result.real_why)
  end
  return line
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local chosen = request.options
  local function fail(status, message)
    writer.err("procage-lua: ", message)
    return status
  end
  if not request.words[1] or request.words[2] then
    return fail(BAD_USAGE, "test: expected one file")
  end
  local cwd, message = core.real_path("/proc/self/cwd")
  if not cwd then
    return fail(BAD_USAGE, "the current directory: " .. message)
  end
  local file = path.join(cwd, request.words[1])
  local settings
  settings, message = setup.settings(chosen, cwd)
  if not settings then
    return fail(BAD_USAGE, message)
  end
  local results
  results, message = policy_test.run(file, {
    root = settings.root,
    policy = (chosen.policy or settings.config.policy) and settings.policy or nil,
    config = settings.config,
    real = chosen.real,
  })
  if not results then
    return fail(BAD_USAGE, message)
  end
  local passed = 0
  for _, result in ipairs(results) do
    passed = passed + (policy_test.passed(result) and 1 or 0)
  end
  if chosen.json then
    io.stdout:write(json.encode({ results = results, passed = passed, failed = #results - passed }, SHAPE), "\n")
  else
    for _, result in ipairs(results) do
      writer.out(line_of(result, cwd))
    end
    writer.out(("%d passed, %d failed"):format(passed, #results - passed))
  end
  return passed == #results and 0 or FAILED
end
