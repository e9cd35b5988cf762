--- Attacks its own confinement on this host, under a profile as it is, and says of each class of escape whether it was refused,
--- came through, or was not tried and why.
---
--- Each attack is shown to work first, outside, on a target of its own: what fails there says nothing when it fails inside.
--- What is attacked was made by doctor: files in a throw-away tree, listeners, a process, keys, IPC objects. Whether an attack
--- came through is seen from outside, by what happened to its target.

local attacks = require("procage.doctor.attacks")
local claims_room = require("procage.doctor.claims")
local core = require("procage.core")
local helper = require("procage.doctor.helper")
local environ = require("procage.environ")
local path = require("procage.path")
local paths = require("procage.paths")
local resolve = require("procage.resolve")
local runner = require("procage.runner")
local trees = require("procage.doctor.tree")

local M = {}

--- One attack takes less than half a second, whatever it meets; all of them together much less than this.
local TIMEOUT_MS = 20000

---@class procage.doctor.Try
---@field name string
---@field state "refused"|"crossed"|"not tried"
---@field reason? string  why it was not tried
---@field by_word? boolean

---@class procage.doctor.Verdict
---@field class string
---@field about string
---@field state "refused"|"crossed"|"not tried"
---@field reason? string
---@field tries procage.doctor.Try[]

---@class procage.doctor.Result
---@field verdicts procage.doctor.Verdict[]
---@field crossed integer  attacks that came through
---@field tried integer
---@field duration_ms integer
---@field policy procage.Policy

-- ---- The helper ------------------------------------------------------------------------------------------------------------

--- The name that the helper is started by where a profile starts programs of PATH alone.
local HELPER <const> = "procage-doctor-helper"

--- A copy of the program where the run may execute it.
---@param t procage.doctor.Tree
---@param profile procage.Profile
---@return string? command  what to start
---@return string? message
local function copy_program(t, program, profile)
  local is_named = profile.programs == "path"
  local directory = is_named and t.programs or t.workspace .. "/helper"
  local copy, message = helper.copy(program, t:make_directory(directory) .. "/" .. HELPER)
  return copy and (is_named and HELPER or copy), message
end

--- The attacks as the helper reads them.
---@param list procage.doctor.Attack[]
---@return string
local function tasks_of(list)
  local tasks = {}
  for i, attack in ipairs(list) do
    tasks[i] = attack.words
  end
  return helper.tasks(tasks)
end

-- ---- The two runs ----------------------------------------------------------------------------------------------------------

---@class procage.doctor.Side
---@field tree procage.doctor.Tree
---@field list procage.doctor.Attack[]
---@field of_class table<string, integer[]>  their numbers
---@field failed table<string, string>  classes whose targets could not be made

--- Makes the targets of every class that is tried.
---@param t procage.doctor.Tree
---@param claims procage.doctor.Claims
---@param skipped table<string, string>
---@param program string
---@return procage.doctor.Side
local function prepare(t, claims, skipped, program)
  local side = { tree = t, list = {}, of_class = {}, failed = {} }
  t.victim = t:start_victim(program)
  for _, class in ipairs(attacks.classes) do
    local numbers = {}
    side.of_class[class.name] = numbers
    if not skipped[class.name] then
      local is_made, message = pcall(class.attacks, t, claims, function(name, words, crossed, by_word)
        local attack = { class = class.name, name = name, words = words, crossed = crossed, by_word = by_word }
        side.list[#side.list + 1] = attack
        numbers[#numbers + 1] = #side.list
      end)
      side.failed[class.name] = not is_made and tostring(message) or nil
    end
  end
  return side
end

--- All attacks, by a process that nothing confines.
---@param side procage.doctor.Side
---@param program string
---@return table<integer, procage.doctor.Answer>? answers
---@return string? message
local function run_control(side, program)
  local t = side.tree
  local file = t:write(t.root .. "/tasks", tasks_of(side.list))
  local pipe = io.popen(
    ("cd %s && %s=%s exec %s __attack %s <%s 2>/dev/null"):format(
      trees.quote(t.workspace),
      trees.VARIABLE,
      t.secret,
      trees.quote(program),
      t.mark,
      trees.quote(file)
    ),
    "r"
  )
  if not pipe then
    return nil, "the attacks could not be tried outside"
  end
  local text = pipe:read("a")
  pipe:close()
  return helper.answers(text)
end

---@param side procage.doctor.Side
---@param policy procage.Policy
---@param program string
---@return table<integer, procage.doctor.Answer>? answers
---@return string? message
---@return any code
local function run_confined(side, policy, program)
  local outcome, message, code = policy:run({
    program,
    "__attack",
    side.tree.mark,
    stdin = tasks_of(side.list),
    timeout_ms = TIMEOUT_MS,
  })
  if not outcome then
    return nil, message, code
  elseif outcome.status ~= 0 then
    local how = outcome.signal and "signal " .. outcome.signal or "status " .. tostring(outcome.status)
    return nil, ("the attacking process ended with %s: %s"):format(how, outcome.stderr)
  end
  -- Moved away by now: that it could be made counts.
  for _, entry in ipairs(outcome.appeared) do
    side.tree.appeared[entry.path] = true
  end
  return helper.answers(outcome.stdout)
end

--- Which of a side's attacks came through.
local function judge(side, answers)
  local crossed = {}
  for i, attack in ipairs(side.list) do
    local answer = answers[i]
    -- Also without an answer: what happened outside counts.
    crossed[i] = attack.crossed(answer or { result = -1, told = "" }) == true
  end
  return crossed
end

-- ---- The verdict -----------------------------------------------------------------------------------------------------------

---@return procage.doctor.Verdict
local function verdict_of(class, skipped, control, confined, worked, crossed)
  local verdict = { class = class.name, about = class.about, state = "not tried", tries = {} }
  verdict.reason = skipped[class.name] or control.failed[class.name] or confined.failed[class.name]
  if verdict.reason then
    return verdict
  end
  -- Both sides make the same list; which of a machine's names there are was asked twice, so they are matched by name.
  local numbers = {}
  for _, i in ipairs(control.of_class[class.name]) do
    numbers[control.list[i].name] = i
  end
  local refused = 0
  for _, i in ipairs(confined.of_class[class.name]) do
    local attack = confined.list[i]
    local try = { name = attack.name, by_word = attack.by_word, state = "refused" }
    local number = numbers[attack.name]
    if not number or not worked[number] then
      try.state, try.reason = "not tried", "it does not work outside here either"
    elseif crossed[i] then
      try.state = "crossed"
      verdict.state = "crossed"
    else
      refused = refused + 1
    end
    verdict.tries[#verdict.tries + 1] = try
  end
  if verdict.state ~= "crossed" then
    verdict.state = refused > 0 and "refused" or "not tried"
    verdict.reason = refused == 0 and "none of these works outside here either" or nil
  end
  return verdict
end

--- The directory that doctor makes its trees in: in the first of the places where one can be made.
---@param bases string[]
---@return string? directory
---@return table|string lock  or the message
local function make_place(bases)
  local message
  for _, base in ipairs(bases) do
    core.private_sweep(base)
    local directory, lock = core.private_dir(base)
    if directory then
      return directory, lock
    end
    message = message or lock
  end
  return nil, message
end

--- Where that is tried: where the caller said, or else the user's state directory, which may be read-only.
---@param options procage.doctor.Options
---@return string[]
local function bases_of(options)
  if options.base then
    return { options.base }
  end
  local home, temporary = options.caller.HOME, options.caller.TMPDIR
  local bases = {}
  if home and path.is_absolute(home) then
    bases[1] = resolve.make_state_directory({ home = home, env = options.caller, uid = options.uid })
  end
  bases[#bases + 1] = temporary and path.is_absolute(temporary) and temporary or nil
  bases[#bases + 1] = "/tmp"
  return bases
end

--- The caller's variables for a policy whose home is the made one.
local function variables_for(t, caller)
  local variables = {}
  for name, value in pairs(caller) do
    -- They would lead to the real one.
    if not name:find("^XDG_") and name ~= "HOME" then
      variables[name] = value
    end
  end
  variables.HOME, variables[trees.VARIABLE] = t.home, t.secret
  variables.PATH = t.programs .. ":" .. (caller.PATH or "/usr/bin:/bin") .. (t.below and ":" .. t.below or "")
  return variables
end

--- Where a policy is to be loaded for.
---@class procage.doctor.Place
---@field root string
---@field home string
---@field env table<string, string>
---@field tree procage.doctor.Tree

---@class procage.doctor.Options
---@field base? string  where the trees are made; default: the user's state directory
---@field caller table<string, string>  the environment
---@field uid integer
---@field load fun(place: procage.doctor.Place): procage.Policy?, string?, any

--- What the policy claims now, and by class why it does not.
---@param skipped table<string, string>  what is known of that; added to
---@return procage.doctor.Claims
---@return table<string, string> skipped
local function claims_of(policy, home, skipped)
  local claims = claims_room.new(policy.fitted, policy.report, home)
  for _, class in ipairs(attacks.classes) do
    skipped[class.name] = skipped[class.name] or class.unclaimed(claims)
  end
  return claims, skipped
end

--- Both runs, in trees that are there.
local function attack_both(control_tree, confined_tree, options, program)
  local policy, message, code = options.load({
    root = confined_tree.workspace,
    home = confined_tree.home,
    env = variables_for(confined_tree, options.caller),
    tree = confined_tree,
  })
  if not policy then
    return nil, message, code
  end
  local claims, skipped = claims_of(policy, confined_tree.home, {})
  local copy, why = copy_program(confined_tree, program, policy.fitted)
  if not copy then
    return nil, why
  end
  local control = prepare(control_tree, claims, skipped, program)
  local confined = prepare(confined_tree, claims, skipped, program)
  local answers, failed = run_control(control, program)
  if not answers then
    return nil, failed
  end
  local worked = judge(control, answers)
  answers, failed, code = run_confined(confined, policy, copy)
  if not answers then
    return nil, failed, code
  end
  local crossed = judge(confined, answers)
  -- By the report that the run went by: what doctor has made in a cache since is a gap that was none before.
  claims_of(policy, confined_tree.home, skipped)
  local result = { verdicts = {}, crossed = 0, tried = 0, policy = policy }
  for i, class in ipairs(attacks.classes) do
    local verdict = verdict_of(class, skipped, control, confined, worked, crossed)
    result.verdicts[i] = verdict
    for _, try in ipairs(verdict.tries) do
      result.tried = result.tried + (try.state == "not tried" and 0 or 1)
      result.crossed = result.crossed + (try.state == "crossed" and 1 or 0)
    end
  end
  return result
end

--- Attacks. nil: it could not, and why.
---@param options procage.doctor.Options
---@return procage.doctor.Result?
---@return string? message
---@return any code
function M.run(options)
  local began = core.now_us()
  local program, message = paths.running()
  if not program then
    return nil, message
  end
  local place, lock = make_place(bases_of(options))
  if not place then
    return nil, lock --[[@as string]]
  end
  -- The control's home is the confined one's as to where its hidden files are: both are told by where they lie in it.
  local is_done, result, why, code = pcall(function()
    local control <close> = setmetatable({}, {
      __close = function(self)
        if self.tree then
          self.tree:close()
        end
      end,
    })
    local confined <close> = setmetatable({}, getmetatable(control))
    control.tree = trees.new(place .. "/control", true)
    confined.tree = trees.new(place .. "/confined", false)
    return attack_both(control.tree, confined.tree, options, program)
  end)
  core.remove_tree(place)
  lock:close()
  if not is_done then
    error(result, 0)
  elseif not result then
    return nil, why, code
  end
  result.duration_ms = (core.now_us() - began) // 1000
  return result
end

--- Directories of the configuration that begin with `~/` are made in the made home: a policy refuses trees that are not there.
local function make_home(config, place)
  for _, key in ipairs({ "writable", "readable", "sockets" }) do
    for _, name in ipairs(type(config[key]) == "table" and config[key] or {}) do
      local expanded = type(name) == "string" and path.expand_home(name, place.home)
      if expanded and path.is_beneath(expanded, place.home) and not path.has_parent_step(expanded) then
        place.tree:make_directory(expanded)
      end
    end
  end
end

--- The same under a policy by its name, with a configuration.
---@param options? { policy?: string, config?: table, base?: string, env?: table<string, string>, read_only?: string[] }  base:
--- where the trees are made
---@return procage.doctor.Result?
---@return string? message
---@return any code
function M.of(options)
  options = options or {}
  local config, caller = options.config or {}, options.env or environ.own()
  return M.run({
    base = options.base,
    caller = caller,
    uid = core.probe().uid,
    load = function(place)
      make_home(config, place)
      return runner.load(options.policy or config.policy or "speccoder", config, {
        root = place.root,
        home = place.home,
        env = place.env,
        read_only = options.read_only,
      })
    end,
  })
end

return M
