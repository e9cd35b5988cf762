--- What a prompt and a script find ready: `host`, `hosts`, `load`, `fit`, `run`, `diff`, `why`, `help`, `pp`, `procage`.
---
--- They are an environment of their own before Lua's globals: a module that a script requires finds Lua's own `load`.

local core = require("procage.core")
local diffs = require("procage.diff")
local help_room = require("procage.repl.help")
local list = require("procage.list")
local nearest = require("procage.nearest")
local path = require("procage.path")
local policy_room = require("procage.policy")
local pretty = require("procage.pretty")
local procage = require("procage")
local reports = require("procage.report")
local writer = require("procage.writer")

local M = {}

-- ---- What values are called ------------------------------------------------------------------------------------------------

---@return boolean
local function is_policy(value)
  return type(value) == "table" and type(rawget(value, "fitted")) == "table" and type(rawget(value, "report")) == "table"
    and getmetatable(value) ~= nil
end

local function is_report(value)
  local row = type(value) == "table" and rawget(value, 1)
  return type(row) == "table" and rawget(row, "clause") ~= nil and rawget(row, "state") ~= nil
    and rawget(row, "mechanisms") ~= nil
end

--- Hundreds of hidden paths and names of files would push everything else off the screen.
local function is_profile(value)
  return type(value) == "table" and rawget(value, "hidden") ~= nil and rawget(value, "write") ~= nil
    and rawget(value, "network") ~= nil
end

local function is_outcome(value)
  return type(value) == "table" and rawget(value, "duration_ms") ~= nil and rawget(value, "denials") ~= nil
    and rawget(value, "report") ~= nil
end

local function ending(outcome)
  if outcome.timed_out then
    return "ended by the time limit"
  elseif outcome.signal then
    return "ended by signal " .. outcome.signal
  end
  return "status " .. tostring(outcome.status)
end

--- What is worth a look after a run; the rest is in its fields.
local function outcome_lines(outcome)
  local lines = { ("<outcome: %s, %d ms>"):format(ending(outcome), outcome.duration_ms) }
  for _, name in ipairs({ "stdout", "stderr" }) do
    local text = outcome[name]
    if text ~= "" then
      lines[#lines + 1] = ("  %s  %s"):format(name, pretty.brief(text, 90))
    end
  end
  for _, denial in ipairs(outcome.denials.denied) do
    lines[#lines + 1] = "  refused " .. denial.text .. (denial.allow and "; to allow it: " .. denial.allow or "")
  end
  for _, event in ipairs(outcome.events or {}) do
    lines[#lines + 1] = "  " .. event
  end
  lines[#lines + 1] = "  fields: stdout, stderr, usage, denials, notices, report, ..."
  return lines
end

--- A policy is large, and holds the caller's environment: what is printed of it is a line.
---@param value any
---@return string?
function M.describe(value)
  if is_policy(value) then
    return ("policy %s on %s"):format(value.name, tostring(value.profile.workspace))
  end
end

local function policy_lines(policy)
  local lines = { ("<policy %s on %s>"):format(policy.name, tostring(policy.profile.workspace)) }
  local by_state = { enforced = 0, tightened = 0, unenforced = 0 }
  local gaps, seen = {}, {}
  for _, row in ipairs(policy.report) do
    by_state[row.state] = by_state[row.state] + 1
    if row.state == "unenforced" and row.id and not seen[row.id] then
      seen[row.id] = true
      gaps[#gaps + 1] = row.id
    end
  end
  lines[2] = ("  %d clauses enforced, %d tightened, %d left out%s"):format(
    by_state.enforced,
    by_state.tightened,
    by_state.unenforced,
    #gaps > 0 and ": " .. table.concat(gaps, ", ") or ""
  )
  lines[3] = "  fields: profile, fitted, report, host; methods: run, start, explain, why, wrap; help(p)"
  return lines
end

--- The text that the prompt prints for a value.
---@param value any
---@param width integer
---@return string
function M.text(value, width)
  local lines
  if is_policy(value) then
    lines = policy_lines(value)
  elseif is_outcome(value) then
    lines = outcome_lines(value)
  elseif type(value) == "table" and rawget(value, "op") ~= nil and rawget(value, "allowed") ~= nil then
    lines = require("procage.why").lines(value)
  elseif is_report(value) then
    lines = reports.lines(value)
  elseif type(value) == "table" and rawget(value, "is_difference") then
    lines = #value > 0 and diffs.lines(value) or { "no difference" }
  else
    local listed = is_profile(value) and 4 or nil
    return pretty.format(value, { width = width, listed = listed, describe = M.describe })
  end
  for i, line in ipairs(lines) do
    lines[i] = pretty.printable(line)
  end
  return table.concat(lines, "\n")
end

-- ---- Policies --------------------------------------------------------------------------------------------------------------

--- The shipped policies' names, in their order.
---@return string[]
function M.policies()
  local names = list.append({}, policy_room.shipped)
  table.sort(names)
  return names
end

local function load_policy(name, config, options)
  options = options or {}
  local given = { root = options.root, home = options.home, env = options.env, host = options.host }
  for key in pairs(options) do
    if given[key] == nil then
      local hint = nearest.hint(tostring(key), { "root", "home", "env", "host" })
      error(("load: unknown option %s%s"):format(tostring(key), hint), 3)
    end
  end
  if policy_room.is_file(name) then
    local file, message = core.real_path(name)
    if not file then
      error("load: " .. message, 3)
    end
    name = file
  end
  local message
  given.root, message = core.real_path(given.root or ".")
  local policy
  if given.root then
    policy, message = procage.policy.load(name, config, given)
  end
  if not policy then
    error("load: " .. message, 3)
  end
  return policy
end

--- Lua's load and ours are told apart by the text: the name of a policy is no program.
---@param state table  current: the policy that run and why take
local function loader(state)
  return function(text, ...)
    local second = ...
    local is_name = type(text) == "string" and (second == nil or type(second) == "table")
      and #text < 4096 and not text:find("[\n;=(){}]")
    if not is_name or load(text) then
      return load(text, ...)
    end
    local policy = load_policy(text, ...)
    state.current = policy
    return policy
  end
end

---@param state table
---@return procage.Policy
local function current(state)
  state.current = state.current or load_policy("speccoder")
  return state.current
end

-- ---- Runs ------------------------------------------------------------------------------------------------------------------

--- Steps a run to its end. Ctrl-C ends the run, not the prompt: as a timeout does, a second time at once.
local function step_through(run, echo, interrupted)
  local count = 0
  local function steps()
    while true do
      local chunks = run:step(100)
      if not chunks then
        return
      end
      for _, chunk in ipairs(chunks) do
        echo(chunk.stream, chunk.bytes)
      end
    end
  end
  while true do
    local is_over, message = pcall(steps)
    if is_over then
      return count
    elseif message ~= interrupted then
      error(message, 0)
    end
    count = count + 1
    run:cancel(count > 1)
  end
end

---@param state table
local function runner(state)
  return function(command)
    if type(command) == "string" then
      command = { "/bin/sh", "-c", command }
    elseif type(command) ~= "table" then
      error("run: a table of words is expected, run{\"make\", \"test\"}, or a line of shell, not " .. pretty.brief(command), 2)
    end
    local copy, policy = {}, command.policy
    for key, value in pairs(command) do
      copy[key] = value
    end
    copy.policy = nil
    if type(policy) == "string" then
      policy = load_policy(policy)
    elseif policy ~= nil and not is_policy(policy) then
      error("run: policy: a policy or its name is expected, not " .. pretty.brief(policy), 2)
    end
    policy = policy or current(state)
    -- Where the user is, as with `procage-lua run`.
    local cwd = core.real_path(".")
    if not copy.cwd and cwd and policy.profile.workspace and path.is_beneath(cwd, policy.profile.workspace) then
      copy.cwd = cwd
    end
    if not state.echo or copy.stream or copy.terminal then
      return policy:run(copy)
    end
    local run, message, code, detail = policy:start(copy)
    if not run then
      return nil, message, code, detail
    end
    local owned <close> = run
    local count = step_through(owned, state.echo, state.interrupted)
    local outcome = owned:finish()
    if count > 0 then
      state.tell("the run was ended by Ctrl-C")
    end
    return outcome
  end
end

-- ---- The environment -------------------------------------------------------------------------------------------------------

---@class procage.NamesOptions
---@field width? fun(): integer
---@field echo? fun(stream: string, bytes: string)  a run's output as it comes; nil: it is only captured
---@field tell? fun(text: string)
---@field interrupted? any  what Ctrl-C raises

---@param options? procage.NamesOptions
---@return table env
function M.environment(options)
  options = options or {}
  local width = options.width or function()
    return 100
  end
  local state = { echo = options.echo, interrupted = options.interrupted, tell = options.tell or function() end }
  local env = { procage = procage, hosts = procage.hosts }
  env._G = env
  env.load = loader(state)
  env.run = runner(state)

  function env.fit(profile, host)
    profile = is_policy(profile) and profile.profile or profile
    if type(profile) ~= "table" then
      error("fit: a profile (p.profile) or a policy is expected, not " .. pretty.brief(profile), 2)
    elseif host ~= nil and type(host) ~= "table" then
      error("fit: a host (hosts.docker) is expected, not " .. pretty.brief(host), 2)
    end
    local fitted, report, code = procage.fit(profile, host or env.host)
    if not fitted then
      return nil, report, code
    end
    return report, fitted
  end

  function env.diff(a, b)
    if is_policy(a) and is_policy(b) then
      a, b = { profile = a.profile, report = a.report }, { profile = b.profile, report = b.report }
    end
    local found = diffs.diff(a, b)
    found.is_difference = true
    return found
  end

  function env.why(op, target)
    return current(state):why(op, target)
  end

  function env.pp(...)
    for i = 1, select("#", ...) do
      writer.each(writer.out, M.text((select(i, ...)), width()))
    end
  end

  function env.help(...)
    local text = help_room.text(select("#", ...) > 0, (...), env)
    writer.each(writer.out, text)
  end

  return setmetatable(env, {
    -- For completion, which calls nothing.
    __fallback = _G,
    -- Probing starts a dozen children: when it is asked for.
    __index = function(_, key)
      if key == "host" then
        env.host = procage.probe()
        return env.host
      end
      return _G[key]
    end,
  })
end

return M
