--- What the C interface (core/capi*.c) calls: plain texts and lists in, texts and objects out. A refusal is nil, message, code,
--- code being "argument", "config" or an errno.

local answers = require("procage.answers")
local core = require("procage.core")
local hosts = require("procage.host")
local json = require("procage.json")
local model = require("procage.model")
local nearest = require("procage.nearest")
local policy_room = require("procage.policy")
local procage = require("procage")
local profiles = require("procage.profile")
local reports = require("procage.report")

local M = {}

--- "NAME=VALUE" entries; an environment has the first of a name, a caller who adds to one means the last.
---@param list? string[]
---@return table<string, string>? env
---@return string? message
local function environment(list)
  if not list then
    return nil
  end
  local env = {}
  for i, entry in ipairs(list) do
    local name, value = entry:match("^([^=]+)=(.*)$")
    if not name then
      return nil, ("env[%d]: NAME=VALUE is expected, not '%s'"):format(i - 1, reports.printable(entry))
    end
    env[name] = value
  end
  return env
end

---@param text? string  JSON
---@return procage.Host?
---@return string? message
local function host_of(text)
  if not text then
    return procage.probe()
  end
  return hosts.from_json(text)
end

---@param load { policy: string, text?: string, workspace: string, config?: string, home?: string, env?: string[],
---  host?: string, prepared?: boolean }
---@return procage.Policy?
---@return string? message
---@return any code
function M.load(load)
  local config, why = json.decode(load.config or "{}")
  if type(config) ~= "table" then
    return nil, "config: " .. (why or "an object is expected"), "config"
  end
  local env, message = environment(load.env)
  if message then
    return nil, message, "argument"
  end
  local host
  if load.host then
    host, message = hosts.from_json(load.host)
    if not host then
      return nil, message, "config"
    end
  end
  return procage.policy.load(load.policy, config, {
    root = load.workspace,
    home = load.home,
    env = env,
    text = load.text,
    host = host,
    prepared = load.prepared,
  })
end

---@param fresh? "fresh"  tried again
---@return string
function M.probe(fresh)
  return hosts.to_json(hosts.complete(core.probe({ fresh = fresh ~= nil })))
end

---@param profile_text string
---@param host_text? string
---@return string? json
---@return string? message
---@return any code
function M.fit(profile_text, host_text)
  local profile, message = profiles.from_json(profile_text)
  if not profile then
    return nil, message, "config"
  end
  local host
  host, message = host_of(host_text)
  if not host then
    return nil, message, "config"
  end
  local fitted, report, code = procage.fit(profile, hosts.complete(host))
  if not fitted then
    return nil, report, code
  end
  return ('{"profile":%s,"report":%s}'):format(profiles.to_json(fitted), reports.to_json(report))
end

---@param policy procage.Policy
---@param host_text? string
---@return string? json
---@return string? message
---@return any code
function M.explain(policy, host_text)
  local host, message = host_of(host_text)
  if not host then
    return nil, message, "config"
  end
  local rows, fitted = policy:explain(host)
  if not rows then
    return nil, fitted, 95 -- EOPNOTSUPP, as fit has it
  end
  local _, refusal = policy_room.admit(rows, fitted.accept, policy.mode)
  return answers.of_policy(policy, host, fitted, rows, refusal)
end

---@param policy procage.Policy
---@param op string
---@param target string
---@return string? json
---@return string? message
---@return any code
function M.why(policy, op, target)
  local is_known = false
  for _, known in ipairs(model.operations) do
    is_known = is_known or op == known
  end
  if not is_known then
    local text = "why: '%s' is none of %s%s"
    return nil, text:format(op, table.concat(model.operations, ", "), nearest.hint(op, model.operations)), "argument"
  end
  local answer, message = policy:why(op, target)
  if not answer then
    return nil, "why: " .. message, "argument"
  end
  return answers.of_why(answer)
end

--- Bytes for standard input that Policy:start would take for one of its words go by a pipe.
local WORDS = { closed = true, inherit = true }

---@param policy procage.Policy
---@param command { argv: string[], env?: string[], cwd?: string, input?: string, input_file?: string, timeout_ms?: integer }
---@return procage.Run?
---@return userdata|string handle  of core.start; or the message
---@return any code
function M.start(policy, command)
  local env, message = environment(command.env)
  if message then
    return nil, message, "argument"
  end
  local cmd = table.move(command.argv, 1, #command.argv, 1, {})
  local is_word = WORDS[command.input]
  cmd.env, cmd.cwd, cmd.timeout_ms = env, command.cwd, command.timeout_ms
  cmd.stdin = command.input_file and { file = command.input_file } or is_word and { pipe = true } or command.input
  local run, why, code = policy:start(cmd)
  if not run then
    return nil, why --[[@as string]], code
  end
  if is_word then
    -- A few bytes into an empty pipe: all of them are taken. A command that is gone already has not missed them.
    run:write(command.input)
    run:close_stdin()
  end
  return run, run.handle
end

---@param denials procage.Denials
---@return string lines
local function denial_lines(denials)
  local lines = {}
  for i, denial in ipairs(denials.denied) do
    lines[i] = reports.printable(denial.text .. (denial.allow and "; to allow it: " .. denial.allow or "")) .. "\n"
  end
  if denials.more > 0 then
    lines[#lines + 1] = ("%d more\n"):format(denials.more)
  end
  return table.concat(lines)
end

---@param run procage.Run  that is over
---@return { outcome: procage.Outcome, denials: string, events: string }
function M.conclude(run)
  local outcome, events = run:finish(), {}
  for i, event in ipairs(outcome.events) do
    events[i] = reports.printable(event) .. "\n"
  end
  return { outcome = outcome, denials = denial_lines(outcome.denials), events = table.concat(events) }
end

---@param outcome procage.Outcome
---@return string json
function M.outcome_json(outcome)
  return answers.of_outcome(outcome, require("procage.cli.status").of(outcome))
end

--- What wrapped starts need lives as long as the policy.
local wrapped = setmetatable({}, { __mode = "k" })

---@param policy procage.Policy
---@param command { argv: string[], env?: string[], cwd?: string }
---@param is_tree? boolean
---@return string? json
---@return string? message
---@return any code
function M.wrap(policy, command, is_tree)
  local env, message = environment(command.env)
  if message then
    return nil, message, "argument"
  end
  local start, why, code = policy:wrap(command.argv, { env = env, cwd = command.cwd, tree = is_tree })
  if not start then
    return nil, why, code
  end
  wrapped[policy] = wrapped[policy] or {}
  table.insert(wrapped[policy], start)
  return ('{"argv":%s,"report":%s}'):format(json.encode_exact(start.argv, { list = true }), reports.to_json(start.report))
end

---@param policy procage.Policy
---@return true? ok
---@return string? message
---@return any code
function M.prepare(policy)
  return policy:prepare()
end

---@param policy procage.Policy
function M.free(policy)
  policy:close()
  for _, start in ipairs(wrapped[policy] or {}) do
    start.close()
  end
  wrapped[policy] = nil
end

---@param policy procage.Policy
---@param command { argv: string[], env?: string[], cwd?: string }
---@return nil
---@return string? message
---@return any code
function M.exec(policy, command)
  local env, message = environment(command.env)
  if message then
    return nil, message, "argument"
  end
  local _, why, code = policy:exec(command.argv, { env = env, cwd = command.cwd })
  return nil, why, code
end

---@param policy procage.Policy
---@param writable string[]
---@return true? ok
---@return string? message
---@return any code
function M.confine_parent(policy, writable)
  return procage.confine_parent(policy.profile, { writable = writable })
end

return M
