--- A policy's decision on a tool call before it runs: `denied` (no approval lifts it), `ask` (somebody decides) or `allowed`,
--- with the rule and the reason. The rules are policies/classify_rules.lua and the policy's own lists of what is hidden and
--- kept.
---
---     local classifier = procage.classify.new(policy, { protect = { "SPEC.md" } })
---     local decision = classifier:classify({ tool = "command", argv = { "git", "push" } })
---     print(decision.decision, decision.rule, decision.reason)
---
--- A session counts what is asked, and keeps what was granted:
---
---     local session = classifier:session()
---     local decision = session:classify(call)
---     if decision.decision == "ask" then
---       session:answer(decision, is_approved and "once" or "no")
---       decision = is_approved and session:classify(call) or decision     -- again, right before it runs
---     end

local allow = require("procage.allow")
local command_room = require("procage.classify.command")
local core = require("procage.core")
local disk = require("procage.disk")
local executables = require("procage.executable")
local files_room = require("procage.classify.files")
local json = require("procage.json")
local list = require("procage.list")
local nearest = require("procage.nearest")
local path = require("procage.path")
local profiles = require("procage.profile")
local shipped = require("procage.shipped")

local M = {}

---@class procage.CommandCall
---@field tool "command"
---@field argv string[]
---@field cwd? string  from the workspace; default: its top
---@field env? table<string, string>  variables that the call adds
---@field network? boolean  it asks for the network

---@class procage.FileCall
---@field tool "read"|"write"|"delete"|"rename"
---@field path string  from the workspace, or absolute
---@field to? string  rename: the new name

---@alias procage.Call procage.CommandCall|procage.FileCall

---@class procage.Decision
---@field decision "denied"|"ask"|"allowed"
---@field rule string  a row's id
---@field reason string
---@field object? string  the file, the program, the words that the rule is about
---@field also table[]  what other rules say: {decision, rule, reason, object}
---@field key string  what a grant of it is for: one resolved object

---@class procage.ClassifyOptions
---@field protect? string[]  protected inputs, as guard takes them
---@field rules? table  in the place of policies/classify_rules.lua

---@class procage.Classifier
---@field policy procage.Policy
local Classifier = {}
Classifier.__index = Classifier

-- ---- Calls ----------------------------------------------------------------------------------------------------------------

local TOOLS = { "command", "delete", "read", "rename", "write" }

local KEYS = {
  command = { tool = "string", argv = "table", cwd = "string", env = "table", network = "boolean" },
  read = { tool = "string", path = "string" },
  write = { tool = "string", path = "string" },
  delete = { tool = "string", path = "string" },
  rename = { tool = "string", path = "string", to = "string" },
}

local NEEDED = {
  command = { "argv" }, read = { "path" }, write = { "path" }, delete = { "path" }, rename = { "path", "to" },
}

local function check_text(value, where)
  if type(value) ~= "string" then
    return where .. ": a string is expected"
  elseif value:find("\0", 1, true) then
    return where .. ": a NUL byte inside"
  end
end

local function check_argv(argv)
  local count = #argv
  for key in pairs(argv) do
    if math.type(key) ~= "integer" or key < 1 or key > count then
      return "argv: a list of words is expected"
    end
  end
  for i, word in ipairs(argv) do
    local message = check_text(word, ("argv[%d]"):format(i))
    if message then
      return message
    end
  end
  return count == 0 and "argv: a command is missing" or nil
end

--- What is wrong with a call, or nil.
---@param call any
---@return string?
function M.check(call)
  if type(call) ~= "table" then
    return "a call is a table"
  end
  local known = type(call.tool) == "string" and KEYS[call.tool]
  if not known then
    local hint = type(call.tool) == "string" and nearest.hint(call.tool, TOOLS) or ""
    return ("tool: one of %s is expected%s"):format(table.concat(TOOLS, ", "), hint)
  end
  for _, key in ipairs(list.keys(call)) do
    if not known[key] then
      return ("unknown key %s%s"):format(tostring(key), nearest.hint(tostring(key), list.keys(known)))
    elseif type(call[key]) ~= known[key] then
      return ("%s: a %s is expected"):format(key, known[key])
    end
  end
  for _, key in ipairs(NEEDED[call.tool]) do
    if call[key] == nil then
      return ("%s is missing"):format(key)
    end
  end
  for _, key in ipairs({ "path", "to", "cwd" }) do
    local message = call[key] and (call[key] == "" and key .. ": it is empty" or check_text(call[key], key))
    if not message and call[key] and #call[key] > 4096 then
      message = key .. ": longer than 4096 bytes"
    end
    if message then
      return message
    end
  end
  for name, value in pairs(call.env or {}) do
    if type(name) ~= "string" or type(value) ~= "string" then
      return "env: names and values are strings"
    end
  end
  return call.argv and check_argv(call.argv) or nil
end

-- ---- Deciding -------------------------------------------------------------------------------------------------------------

local STRICTNESS = { denied = 3, ask = 2, allowed = 1 }

--- The strictest finding, the first of equals; and the others, each once.
local function decide(found)
  local best
  for _, item in ipairs(found) do
    if not best or STRICTNESS[item.decision] > STRICTNESS[best.decision] then
      best = item
    end
  end
  best = best or { decision = "allowed", rule = "listed", reason = "no rule asks for it" }
  local also, seen = {}, { [best.rule .. best.decision] = true }
  for _, item in ipairs(found) do
    local key = item.rule .. item.decision
    if not seen[key] and item.decision ~= "allowed" then
      seen[key] = true
      also[#also + 1] = item
    end
  end
  return {
    decision = best.decision, rule = best.rule, reason = best.reason, object = best.object, also = also,
  }
end

---@param policy procage.Policy
---@param options? procage.ClassifyOptions
---@return procage.Classifier
function M.new(policy, options)
  options = options or {}
  if type(policy) ~= "table" or type(policy.profile) ~= "table" then
    error("classify.new: a loaded policy is expected", 2)
  end
  for key, value in pairs(options) do
    if key ~= "protect" and key ~= "rules" then
      error(("classify.new: unknown key %s%s"):format(tostring(key), nearest.hint(tostring(key), { "protect", "rules" })), 2)
    elseif type(value) ~= "table" then
      error(("classify.new: %s: a table is expected"):format(key), 2)
    end
  end
  for i, pattern in ipairs(options.protect or {}) do
    if type(pattern) ~= "string" or pattern == "" or path.has_parent_step(pattern) then
      error(("classify.new: protect[%d]: a path or a pattern without '..' is expected"):format(i), 2)
    end
  end
  local rules = options.rules or shipped.load("classify_rules")
  return setmetatable({
    policy = policy,
    rules = rules,
    index = command_room.index(rules),
    files = files_room.new({
      policy = policy, rules = rules, handoff = shipped.load("lists").handoff, protect = options.protect or {},
    }),
    -- A grant holds under the profile that it was given for, no other.
    profile_digest = core.digest(profiles.to_json(policy.profile)),
  }, Classifier)
end

local function variables_of(policy, call)
  local variables = {}
  for _, source in ipairs({ policy.kept_env or policy.caller_env, policy.profile.env.set, call.env or {} }) do
    for name, value in pairs(source) do
      variables[name] = value
    end
  end
  return variables
end

local function key_of(self, parts)
  table.insert(parts, self.profile_digest)
  for i, part in ipairs(parts) do
    parts[i] = ("%d:%s"):format(#part, part)
  end
  return core.digest(table.concat(parts))
end

--- The file that runs, as it is now: another one in its place is another object.
local function identity_of(argv, cwd, variables)
  local found = executables.find(argv[1], cwd, variables)
  if not found then
    return "none " .. argv[1]
  end
  return ("%s %d %d %d"):format(found.path, found.dev, found.ino, found.ctime_ns)
end

local function look_network(self, call, command)
  if call.network ~= true then
    return
  end
  local config = self.policy.config
  local granted, why
  if config then
    granted, why = allow.network(config, self.policy, call.argv, { cwd = call.cwd, env = call.env })
  end
  if granted then
    command:add("allowed", "network-allow", "the configuration gives this very command the network")
  else
    command:add("ask", "network", "it asks for the network" .. (why and ": " .. why or ""), call.argv[1])
  end
end

local function classify_command(self, call)
  local policy = self.policy
  local cwd = (disk.resolve(path.join(policy.profile.workspace, path.expand_home(call.cwd or ".", policy.context.home))))
  local variables = variables_of(policy, call)
  local files = self.files
  local command = command_room.new({
    rules = self.rules, index = self.index, files = files, home = policy.context.home, variables = variables,
    workspace = policy.profile.workspace, write = files.write,
  })
  for _, name in ipairs(list.keys(call.env or {})) do
    command:look_variable(name)
  end
  command:look_call(call.argv, cwd)
  look_network(self, call, command)
  local decision = decide(command.found)
  local parts = { "command", identity_of(call.argv, cwd, variables), cwd, tostring(call.network == true) }
  for _, name in ipairs(list.keys(call.env or {})) do
    parts[#parts + 1] = name .. "=" .. call.env[name]
  end
  table.move(call.argv, 1, #call.argv, #parts + 1, parts)
  decision.key = key_of(self, parts)
  return decision
end

--- Which names a call reads, writes and takes away.
local function file_ops(call)
  if call.tool == "rename" then
    return { { "delete", call.path }, { "write", call.to } }
  end
  return { { call.tool, call.path } }
end

local function classify_file(self, call)
  local policy, files = self.policy, self.files
  local found, parts, created = {}, { call.tool }, {}
  for _, op in ipairs(file_ops(call)) do
    local name = path.expand_home(op[2], policy.context.home)
    -- Not normalised: a slash at the end, and `..` behind a link, are for the disk to judge.
    name = path.is_absolute(name) and name or policy.profile.workspace .. "/" .. name
    local more, real = files:look(op[1], name)
    table.move(more, 1, #more, #found + 1, found)
    local facts = core.lstat(real)
    local named = core.lstat(path.normalise(name))
    if op[1] == "delete" and call.tool == "delete" and named and named.kind == "directory" then
      table.insert(found, {
        decision = "ask", rule = "recursive-remove", reason = "removes a directory with all that is in it", object = real,
      })
    end
    parts[#parts + 1] = ("%s %s %s"):format(op[1], real, facts and ("%d %d"):format(facts.dev, facts.ino) or "absent")
    if op[1] == "write" and not facts then
      created[#created + 1] = real
    end
  end
  local decision = decide(found)
  if #found == 0 then
    decision.reason = call.tool == "read" and "no rule hides it" or "an ordinary file of the workspace"
    decision.rule = "ordinary"
  end
  decision.key = key_of(self, parts)
  decision.created = created
  return decision
end

---@param call procage.Call
---@param made? table<string, boolean>  what the session has made
---@return procage.Decision
local function classify(self, call, made)
  self.files.made, self.files.index = made, nil
  if call.tool == "command" then
    return classify_command(self, call)
  end
  return classify_file(self, call)
end

--- What the policy says of a call, as the disk is now. Changes nothing.
---@param call procage.Call
---@return procage.Decision
function Classifier:classify(call)
  local message = M.check(call)
  if message then
    error("classify: " .. message, 2)
  end
  return classify(self, call)
end

-- ---- Sessions -------------------------------------------------------------------------------------------------------------

---@class procage.ClassifySession
---@field prompts integer  that were made
---@field is_over boolean
local Session = {}
Session.__index = Session

--- A session asks at most so often, and is over after so many refusals in a row: who is refused again and again works on
--- something that nobody wants.
M.max_prompts, M.max_refusals = 50, 3

---@param options? { prompts?: integer, refusals?: integer }
---@return procage.ClassifySession
function Classifier:session(options)
  options = options or {}
  for key, value in pairs(options) do
    if key ~= "prompts" and key ~= "refusals" or math.type(value) ~= "integer" or value < 1 then
      error(("classify: session: %s: prompts and refusals are positive integers"):format(tostring(key)), 2)
    end
  end
  return setmetatable({
    classifier = self,
    max_prompts = options.prompts or M.max_prompts,
    max_refusals = options.refusals or M.max_refusals,
    prompts = 0,
    refusals = 0,
    is_over = false,
    grants = {},
    asked = {},
    made = {},
  }, Session)
end

local function refuse(decision, rule, reason)
  table.insert(decision.also, 1, {
    decision = decision.decision, rule = decision.rule, reason = decision.reason, object = decision.object,
  })
  decision.decision, decision.rule, decision.reason = "denied", rule, reason
  return decision
end

local function note_created(self, decision)
  for _, name in ipairs(decision.created or {}) do
    self.made[name] = true
  end
end

--- The decision with what was granted and what the session has left. One that asks is a prompt: answer it.
---@param call procage.Call
---@return procage.Decision
function Session:classify(call)
  local message = M.check(call)
  if message then
    error("classify: " .. message, 2)
  end
  local decision = classify(self.classifier, call, self.made)
  if self.is_over then
    return refuse(decision, "session-over", ("%d refusals in a row: the session is over"):format(self.max_refusals))
  elseif decision.decision == "allowed" then
    note_created(self, decision)
  elseif decision.decision == "ask" then
    local grant = self.grants[decision.key]
    if grant then
      if grant == "once" then
        self.grants[decision.key] = nil
      end
      note_created(self, decision)
      decision.also = { { decision = "ask", rule = decision.rule, reason = decision.reason, object = decision.object } }
      decision.decision, decision.rule = "allowed", "granted"
      decision.reason = grant == "once" and "granted for this once" or "granted for this run"
    elseif self.prompts >= self.max_prompts then
      return refuse(decision, "too-many-prompts", ("%d questions were asked in this session"):format(self.prompts))
    else
      self.prompts = self.prompts + 1
      self.asked[decision.key] = true
    end
  end
  return decision
end

--- The answer to a decision that asked: `once`, `run` (the rest of the session) or `no`. A grant is for that one object: this
--- executable as it is, these words, this directory, this profile; or this file.
---@param decision procage.Decision
---@param answer "once"|"run"|"no"
---@return boolean goes_on  false: the session is over
function Session:answer(decision, answer)
  if answer ~= "once" and answer ~= "run" and answer ~= "no" then
    error("classify: answer: once, run or no is expected", 2)
  elseif type(decision) ~= "table" or not self.asked[decision.key] then
    error("classify: answer: this session has asked no such question", 2)
  end
  self.asked[decision.key] = nil
  if self.is_over then
    return false
  elseif answer == "no" then
    self.refusals = self.refusals + 1
    self.is_over = self.refusals >= self.max_refusals
  else
    self.refusals = 0
    self.grants[decision.key] = answer
  end
  return not self.is_over
end

-- ---- JSON -----------------------------------------------------------------------------------------------------------------

local ROW = { order = { "decision", "rule", "reason", "object" } }

---@param decision procage.Decision
---@return string
function M.to_json(decision)
  return json.encode(decision, {
    order = { "decision", "rule", "reason", "object", "also", "key" },
    fields = { also = { list = ROW } },
  })
end

--- procage.classify(policy, call, options): one look.
return setmetatable(M, {
  __call = function(_, policy, call, options)
    return M.new(policy, options):classify(call)
  end,
})
