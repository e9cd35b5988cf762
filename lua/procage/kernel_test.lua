--- The same questions to the kernel: for `procage-lua test --real`. A helper (platform/linux/attack/tries.c) makes each call
--- once outside, where it must work, and once under the policy. What that touches is the operator's own: so nothing is written
--- or sent, no program gets to its first instruction, and nothing leaves this machine.

local core = require("procage.core")
local helpers = require("procage.doctor.helper")
local paths = require("procage.paths")
local private = require("procage.private")
local resolve = require("procage.resolve")
local runner = require("procage.runner")

local M = {}

---@class procage.KernelAsk
---@field op procage.Operation
---@field kind string  of the object
---@field path? string
---@field name? string  of an abstract socket
---@field address? string
---@field port? integer
---@field wanted boolean
---@field section table  the policy that it is about

--- What the run is started by: an entry of PATH.
local HELPER <const> = "procage-test-helper"

local NO_WAY = "it cannot be tried without doing something"

--- Below these a socket takes a capability that no run has. Source: ip(7), ip_unprivileged_port_start.
local FIRST_PORT <const> = 1024

local EOPNOTSUPP = 95

--- Signals by which an execve that was let ends: see tries.c.
local STARTED = { [-9] = true, [-11] = true, [-31] = true }

-- ---- The helper -------------------------------------------------------------------------------------------------------------

---@class procage.KernelHelper
---@field directory string
---@field program string
---@field kept table[]  servers outside
---@field lock userdata
local Helper = {}
Helper.__index = Helper

function Helper:__close()
  for _, server in ipairs(self.kept) do
    server:close()
  end
  private.remove(self.directory, self.lock)
end

--- A copy of the program, in a directory of its own that the run is then let read: where it is installed may be hidden.
---@param context table
---@return procage.KernelHelper? helper
---@return string? message
local function make_helper(context, env)
  local program, message = paths.running()
  if not program then
    return nil, message
  end
  local base = resolve.make_state_directory(context)
  local directory, lock = nil, nil
  if base then
    core.private_sweep(base)
    directory, lock = core.private_dir(base)
  end
  if not directory then
    directory, lock = private.make(env, {})
  end
  if not directory then
    return nil, lock --[[@as string]]
  end
  local helper = setmetatable({ directory = directory, program = directory .. "/" .. HELPER, lock = lock, kept = {} }, Helper)
  local copied, why = helpers.copy(program, helper.program)
  if not copied then
    helper:__close()
    return nil, why
  end
  return helper
end

---@param policy procage.Policy
---@param helper procage.KernelHelper
---@param tasks table<integer, string[]>
---@return table<integer, { result: integer, told: string }>? answers
---@return string? message
local function ask(policy, helper, tasks)
  local outcome, message = policy:run({
    HELPER,
    helpers.COMMAND,
    "test",
    env = { PATH = helper.directory .. ":" .. (policy.caller_env.PATH or "/usr/bin:/bin") },
    stdin = helpers.tasks(tasks),
    timeout_ms = 30000,
  })
  if not outcome then
    return nil, "the helper never ran: " .. message
  elseif outcome.status ~= 0 then
    return nil, ("the helper ended with status %s: %s"):format(outcome.status or outcome.signal, outcome.stderr)
  end
  return helpers.answers(outcome.stdout)
end

-- ---- Tasks ------------------------------------------------------------------------------------------------------------------

local function is_loopback(address)
  return address:find("^127%.") ~= nil or address == "::1" or address == "0.0.0.0" or address == "::"
end

--- The host of an object as an address.
local function host_of(object)
  return (object.address == "" or object.address == "localhost") and "127.0.0.1" or object.address
end

--- What the helper is to do, the control's part of it where that differs, or why it cannot be tried.
---@param asked procage.KernelAsk
---@param cookie string
---@return string[]? task
---@return string[]|string? control  or the reason
local function task_of(asked, cookie)
  local op, name = asked.op, asked.path
  if op == "read" or op == "exec" then
    return { "try-" .. op, name }
  elseif op == "write" then
    return { "try-write", name }, { "try-write", name, "check" }
  elseif asked.kind == "abstract" then
    return { op == "connect" and "try-unix" or "try-bind-unix", "@" .. asked.name }
  elseif asked.kind ~= "inet" then
    local task = op == "connect" and "try-unix" or "try-bind-unix"
    return { task, name }, { task, name, "check" }
  end
  local host, port = host_of(asked), tostring(asked.port)
  if op == "bind" and asked.port > 0 and asked.port < FIRST_PORT then
    return nil, ("ports below %d take a capability that no run has, whatever its policy"):format(FIRST_PORT)
  elseif op == "bind" then
    return { "try-bind", host, port }
  elseif asked.port == 0 then
    return nil, "nobody can be reached at port 0"
  elseif is_loopback(host) then
    return { "try-loopback", host, port }
  end
  return { "try-outside", host, port, cookie }
end

--- Somebody to be reached outside, where the target is this machine and nobody is there. Not where the loopback is the run's
--- own: its servers are, and the helper starts one.
local function serve(helper, asked, fitted)
  if asked.op ~= "connect" then
    return
  end
  local is_own = fitted.network == "loopback" and fitted.loopback ~= "host"
  local server
  if asked.kind == "inet" and is_loopback(host_of(asked)) and not is_own then
    server = core.outside("server", host_of(asked) .. " " .. asked.port, "")
  elseif asked.kind == "abstract" then
    server = core.outside("stream", "@" .. asked.name, "")
  end
  helper.kept[#helper.kept + 1] = server
end

-- ---- Verdicts ---------------------------------------------------------------------------------------------------------------

local function was_let(op, answer)
  if op == "exec" then
    return STARTED[answer.result] or false
  end
  return answer.result == 0
end

---@param result procage.TestResult
---@param control? { result: integer }
---@param confined? { result: integer }
local function judge(result, control, confined)
  local op = result.ask.op
  if not control or not confined then
    result.real, result.real_why = "failed", "the helper said nothing"
  elseif control.result == EOPNOTSUPP or confined.result == EOPNOTSUPP then
    result.real, result.real_why = "not tried", NO_WAY
  elseif not was_let(op, control) then
    result.real, result.real_why = "not tried", "unconfined neither: there is nothing to show"
  elseif not was_let(op, confined) and confined.result <= 0 then
    result.real, result.real_why = "failed", ("the attempt ended by signal %d"):format(-confined.result)
  else
    local is_let = was_let(op, confined)
    result.real = is_let == result.ask.wanted and "passed" or "failed"
    result.real_why = is_let and "the kernel let it" or "the kernel refused: " .. core.error_text(confined.result)
  end
end

--- The policy that is tried: the section's, which may read the helper besides.
local function confined_policy(section, helper)
  local policy, message = section.load()
  if not policy then
    return nil, message
  end
  local read = policy.profile.read
  if type(read) == "table" then
    read[#read + 1] = helper.directory
  end
  table.insert(policy.context.visible, helper.directory)
  return policy:fit()
end

---@param section table  {policy, load}
---@param results procage.TestResult[]
---@param env? table<string, string>
---@return string? message
local function try_section(section, results, env)
  local context = section.policy.context
  local helper <close>, message = make_helper(context, section.policy.caller_env)
  if not helper then
    return message
  end
  local control, confined
  control, message = runner.load("off", {}, { root = context.workspace, env = env })
  if control then
    confined, message = confined_policy(section, helper)
  end
  local outside
  if confined then
    outside, message = ask(control, helper, { { "netns-cookie" } })
  end
  if not outside then
    return message
  end
  local tasks, controls = {}, {}
  for i, result in ipairs(results) do
    local task, differs = task_of(result.ask, outside[1].told)
    if task then
      serve(helper, result.ask, confined.fitted)
      tasks[i], controls[i] = task, differs or task
    else
      result.real, result.real_why = "not tried", differs
    end
  end
  local could, can
  could, message = ask(control, helper, controls)
  if could then
    can, message = ask(confined, helper, tasks)
  end
  for i, result in ipairs(can and results or {}) do
    if tasks[i] then
      judge(result, could[i], can[i])
    end
  end
  return not can and message or nil
end

--- Puts each question of the results to the kernel, and notes what it said.
---@param results procage.TestResult[]
---@param env? table<string, string>
---@return string? message  it could not be asked
function M.try(results, env)
  local by_section, order = {}, {}
  for _, result in ipairs(results) do
    local section = result.ask and result.ask.section
    if section and not by_section[section] then
      by_section[section] = {}
      order[#order + 1] = section
    end
    if section then
      table.insert(by_section[section], result)
    end
  end
  for _, section in ipairs(order) do
    local message = try_section(section, by_section[section], env)
    if message then
      return "--real: " .. message
    end
  end
end

return M
