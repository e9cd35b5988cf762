--- What is wrong with configurations and policies: everything, a line each, with where it stands.

local config_room = require("procage.config")
local core = require("procage.core")
local declared = require("procage.declared")
local environ = require("procage.environ")
local extensions = require("procage.extensions")
local fit = require("procage.fit")
local hosts = require("procage.host")
local json = require("procage.json")
local lists = require("procage.list")
local path_text = require("procage.path")
local policy_room = require("procage.policy")
local profiles = require("procage.runner.profile")
local resolve = require("procage.resolve")
local script = require("procage.script")
local spettro = require("procage.spettro")

local M = {}

--- The command line's, for a manifest alone.
local function spettro_files()
  return require("procage.cli.spettro")
end

local function setup()
  return require("procage.cli.setup")
end

--- Whether a policy makes a profile of a configuration, and what is wrong when it does not.
---@param name string  a shipped policy or a file
---@param config procage.Config
---@param context procage.Context
---@param given? table  what of the configuration somebody wrote
---@return string[] problems
local function policy_problems(name, config, context, given)
  local profile, message, _, problems = policy_room.build_profile(name, config, context, {
    real_path = core.real_path,
    given = given,
  })
  if profile then
    return {}
  end
  return problems or { message }
end

local PATH_KEYS = { "writable", "hidden", "read_only", "readable", "sockets" }

--- A message about a path, with the key that names it before it.
---@param message string
---@param config procage.Config
---@param home string
---@return string
local function keyed(message, config, home)
  for _, key in ipairs(PATH_KEYS) do
    for i, item in ipairs(config[key]) do
      local place = path_text.expand_home(item, home)
      if message:find(" " .. place .. ":", 1, true) or message:find(" in " .. place .. ",", 1, true) then
        return ("%s[%d]: %s"):format(key, i, message)
      end
    end
  end
  return message
end

--- What narrows every policy: for one user, and for all.
local LAYER = "narrow.lua"

--- What is worth saying of a policy that is well.
---@param profile procage.Profile
---@param context procage.Context
---@return string[]
local function notes_on(profile, context)
  local notes = {}
  local reads_home = profile.read == "all" or path_text.tree_of(context.home, profile.read)
  if profile.unconfined then
    return notes
  elseif reads_home and #profile.hidden == 0 then
    notes[1] = "it reads the home directory and hides nothing: p:hidden(rows.hidden(ctx, lift)) hides credentials"
  end
  if #profile.env.drop == 0 then
    notes[#notes + 1] = "it drops no variables: p:env({ drop = rows.env_drop(lift, config.env.keep) }) drops what looks like \z
      secrets"
  end
  return notes
end

--- What `run` meets on this disk when it loads the policy, and what it says besides.
---@param name string
---@param config procage.Config
---@param context procage.Context
---@param given? table
---@return string? problem
---@return string[] notes
local function load_problem(name, config, context, given)
  local options = { root = context.workspace, home = context.home }
  local profile, message, _, source = profiles.make(name, config, options, context.env, given)
  if not profile then
    return keyed(message --[[@as string]], config, context.home), {}
  elseif profile.unconfined and config.mode == "required" then
    return "mode: required, and the policy confines nothing: no command ever runs", {}
  end
  ---@cast source procage.PolicySource
  return nil, lists.append({ source.notice and source.notice:gsub("^procage: ", "") or nil }, notes_on(profile, context))
end

--- Takes an entry out of a list of a configuration, and says which one it was before others were taken out.
---@param config procage.Config  changed
---@param taken table<string, integer[]>  by key, the numbers that are left
---@param key string  with dots
---@param index integer
---@return integer? number
local function take_out(config, taken, key, index)
  local list = config --[[@as any]]
  for step in key:gmatch("[^.]+") do
    list = type(list) == "table" and list[step]
  end
  if type(list) ~= "table" or list[index] == nil then
    return nil
  end
  if not taken[key] then
    taken[key] = {}
    for i = 1, #list do
      taken[key][i] = i
    end
  end
  table.remove(list, index)
  return table.remove(taken[key], index)
end

--- What a policy has against a configuration. It stops at its first objection; without the entry that it objects to it says
--- the next.
---@param config procage.Config  changed
---@param context procage.Context
---@param given table
---@return string[] problems
local function objections(config, context, given)
  local name = path_text.expand_home(config.policy, context.home)
  local taken, found = {}, {}
  while true do
    local problems = policy_problems(name, config, context, given)
    local key, index, rest = (problems[1] or ""):match("^([%l_.]+)%[(%d+)%](: .*)$")
    local number = #problems == 1 and key and take_out(config, taken, key, math.tointeger(tonumber(index)))
    if not number then
      return table.move(problems, 1, #problems, #found + 1, found)
    end
    found[#found + 1] = ("%s[%d]%s"):format(key, number, rest)
  end
end

--- Why `run` would not start on this machine what is well by itself; nil: it would.
---@param name string
---@param config procage.Config
---@param context procage.Context
---@return string? refusal
local function refusal(name, config, context)
  -- As it is on this disk: a hidden path in a cache that is not there opens no gap.
  local options = { root = context.workspace, home = context.home }
  local profile = profiles.make(path_text.expand_home(name, context.home), config, options, context.env)
  if not profile or config.mode == "off" then
    return nil
  end
  local fitted, report = fit.fit(profile, hosts.complete(core.probe()))
  if not fitted then
    return report --[[@as string]]
  end
  local _, message = policy_room.admit(report, fitted.accept, config.mode)
  return message
end

--- Trees that the policy lets be written, and that are not there: `run` stops at the first.
---@param config procage.Config
---@param source procage.ConfigSource
---@param context procage.Context
---@return string[] problems
local function missing_trees(config, source, context)
  local profile = policy_room.build_profile(path_text.expand_home(config.policy, context.home), config, context)
  local write, there, problems = {}, {}, {}
  for _, tree in ipairs(profile and profile.write or {}) do
    write[tree] = true
    there[#there + 1] = core.stat(tree) and tree or nil
  end
  for i, item in ipairs(config.writable) do
    local tree = path_text.expand_home(item, context.home)
    -- What lies in a writable tree can be made by the command.
    if write[tree] and not core.stat(tree) and not path_text.tree_of(tree, there) then
      problems[#problems + 1] = source.locate(("writable[%d]: %s: no such file or directory"):format(i, tree))
    end
  end
  return problems
end

--- A problem with the line of its key; of none that the configuration says, with the policy's or the file.
local function located(problem, said, source, file)
  local key = problem:match("^([%l_]+)[%[%.:]")
  local at = said.policy ~= nil and source.locate("policy: " .. problem)
  return said[key] ~= nil and source.locate(problem) or at or ("%s: policy: %s"):format(file, problem)
end

--- What the policy has against the keys of a configuration, told with their lines; against others with the file.
---@param config table  changed
---@param said table  what it says
---@return string[] problems
local function located_objections(config, said, source, file, context)
  local problems = objections(config, context, said)
  for i, problem in ipairs(problems) do
    problems[i] = located(problem, said, source, file)
  end
  return problems
end

local function line_of(problem, file)
  return math.tointeger(tonumber(problem:sub(#file + 1):match("^:(%d+):"))) or 0
end

--- Where keys are wrong by themselves the policy is asked about the others.
---@return string[] problems  in the order of their lines
local function with_objections(source, file, context)
  local problems, rest = table.move(source.problems, 1, #source.problems, 1, {}), json.plain(source.value or {})
  for _, problem in ipairs(problems) do
    local key = problem:sub(#file + 1):gsub("^:%d+", ""):match("^: ([%w_%-.]+)")
    rest[key and key:gsub("^sandbox%.", ""):match("^[^.]+") or ""] = nil
  end
  local config = source.value and config_room.parse(json.plain(rest))
  if config then
    lists.append(problems, located_objections(config, rest, source, file, context))
  end
  local order = {}
  for i, problem in ipairs(problems) do
    order[i] = { text = problem, line = line_of(problem, file), place = i }
  end
  table.sort(order, function(a, b)
    return a.line < b.line or a.line == b.line and a.place < b.place
  end)
  for i, entry in ipairs(order) do
    problems[i] = entry.text
  end
  return problems
end

---@param file string
---@param context procage.Context
---@return string[] problems
---@return string? refused
---@return string[]? notes
local function config_problems(file, context)
  local source, message = config_room.read_file(file)
  if not source then
    return { message }
  elseif #source.problems > 0 then
    return with_objections(source, file, context)
  end
  -- A copy: it is completed, and entries are taken out of it.
  local taken = assert(config_room.parse(json.plain(source.value)))
  local problems = located_objections(taken, source.value, source, file, context)
  local config = assert(config_room.parse(json.plain(source.value)))
  if #problems == 0 then
    problems = missing_trees(config, source, context)
  end
  if #problems > 0 then
    return problems
  end
  local problem, notes = load_problem(config.policy, config, context, source.value)
  if problem then
    return { located(problem, source.value, source, file) }
  end
  return problems, refusal(config.policy, config, context), notes
end

--- The operator's own mechanisms.
---@return string[] problems
local function extension_problems(file)
  local text, message = script.read_file(file)
  local made
  if text then
    made, message = extensions.read(text, file, fit.clauses)
  end
  return made and {} or { message }
end

--- A policy's script, with values for its options.
---@param words { key: string, value: string }[]
---@return string[] problems
---@return string? refused
---@return string[]? notes
local function script_problems(file, context, words)
  local config = assert(config_room.parse({}))
  if #words > 0 then
    local options, message = policy_room.declared(file)
    local values
    if options then
      values, message = declared.read_words(options, words)
    end
    if not values then
      return { message }
    end
    config.options = values
  end
  local problems = policy_problems(file, config, context)
  if #problems > 0 then
    return problems
  end
  if path_text.basename(file) == LAYER then
    -- What a layer does not say the policy below it does.
    return problems
  end
  local problem, notes = load_problem(file, config, context)
  if problem then
    return { problem }
  end
  return problems, refusal(file, config, context), notes
end

--- Of Spettro's manifest the table [runtime] counts.
---@return string[] problems
---@return string? refused
local function manifest_problems(file, context)
  local config
  local given, message = spettro_files().file({ config_file = file }, assert(core.real_path("/proc/self/cwd")), context.home,
    setup().absolute)
  if given then
    config, message = config_room.parse(given.config)
  end
  if not config then
    return { message }
  end
  return {}, refusal(config.policy, config, context)
end

---@param file string
---@param context procage.Context
---@param words? { key: string, value: string }[]  options of a policy
---@return string[] problems
---@return string? refused  why `run` does not start it on this machine
---@return string[]? notes
function M.problems(file, context, words)
  if path_text.basename(file) == spettro.FILE then
    return manifest_problems(file, context)
  elseif not file:find("%.lua$") then
    return config_problems(file, context)
  elseif path_text.basename(file) == path_text.basename(extensions.USER_FILE) then
    return extension_problems(file)
  end
  return script_problems(file, context, words or {})
end

---@class procage.Checked
---@field problems string[]
---@field refusal? string  it is well, and `run` would not start on this machine
---@field notes? string[]  it is well, and this is worth knowing

--- One file: a policy (`.lua`), mechanisms of the operator's (`fit.lua`), a configuration (`.toml`, `.json`) or Spettro's
--- manifest.
---@param file string
---@param options? { root?: string, home?: string, env?: table<string, string>, option?: { key: string, value: string }[] }
---  root: the workspace, for which it is made; option: values for a policy's own
---@return procage.Checked? checked
---@return string? message
function M.file(file, options)
  options = options or {}
  local root, message = core.real_path(options.root or "/proc/self/cwd")
  local variables, context = options.env or environ.own(), nil
  if root then
    context, message = resolve.context({ root = root, home = options.home }, variables)
  end
  if not context then
    return nil, message
  end
  local problems, refused, notes = M.problems(file, context, options.option)
  return { problems = problems, refusal = refused, notes = notes and notes[1] and notes or nil }
end

return M
