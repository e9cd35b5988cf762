--- From the options of `run` and `explain` to a policy.

local allow = require("procage.allow")
local config_files = require("procage.cli.config_files")
local config_room = require("procage.config")
local core = require("procage.core")
local declared = require("procage.declared")
local fit = require("procage.fit")
local json = require("procage.json")
local path_text = require("procage.path")
local policy_room = require("procage.policy")
local procage = require("procage")
local reports = require("procage.report")
local spettro = require("procage.cli.spettro")

local M = {}

--- Sets config[steps[1]][steps[2]]... to a value.
---@param flag string  for messages
---@param steps string[]
---@return string? message
local function set(config, flag, steps, value)
  local at = config
  for i = 1, #steps - 1 do
    if at[steps[i]] == nil then
      at[steps[i]] = {}
    elseif type(at[steps[i]]) ~= "table" then
      return ("%s: %s is no table"):format(flag, table.concat(steps, ".", 1, i))
    end
    at = at[steps[i]]
  end
  at[steps[#steps]] = value
end

--- The steps of "a.b.c", and the value: JSON where it is that, else the text itself.
---@param pair {key: string, value: string}
---@return string? message
local function set_pair(config, pair)
  local steps = {}
  for step in (pair.key .. "."):gmatch("([^.]*)%.") do
    if step == "" then
      return ("--set: '%s' has an empty step"):format(pair.key)
    end
    steps[#steps + 1] = step
  end
  local value = json.decode(pair.value)
  if value == nil then
    value = pair.value
  end
  return set(config, "--set " .. pair.key, steps, value)
end

--- Adds `items` to the list at config[key].
local function append(config, key, items)
  if #items == 0 then
    return
  end
  local list = {}
  for _, from in ipairs({ config[key] or {}, items }) do
    if type(from) ~= "table" then
      return ("%s: expected a list in the configuration, to add an option to it"):format(key)
    end
    table.move(from, 1, #from, #list + 1, list)
  end
  config[key] = list
end

--- A path of the command line, resolved from where the user is.
---@param flag string
---@param path string
---@param cwd string
---@return string? resolved
---@return string? message
local function resolve(flag, path, cwd)
  local resolved, message = core.real_path(path_text.is_absolute(path) and path or cwd .. "/" .. path)
  if not resolved then
    return nil, ("%s: %s"):format(flag, message)
  end
  return resolved
end

--- A path of the command line made absolute, its links left as they are: whether one was planted is for the policy to see
--- (procage.resolve). Leading `..` are taken off the directory that the user is in, which is resolved.
---@return string? path
---@return string? message
local function absolute(flag, text, cwd, home)
  local expanded = home and path_text.expand_home(text, home) or text
  if path_text.is_absolute(expanded) and not path_text.has_parent_step(expanded) then
    return path_text.normalise(expanded)
  end
  local at, rest = cwd, expanded
  while rest == ".." or rest:sub(1, 3) == "../" do
    at, rest = path_text.parent(at) or "/", rest:sub(4)
  end
  if path_text.has_parent_step(rest) or path_text.is_absolute(rest) then
    return nil, ("%s %s: '..' stands only at the beginning of a path"):format(flag, text)
  end
  return rest == "" and at or path_text.join(at, rest)
end

M.absolute = absolute

---@param config table
---@param key string  of a list
---@param flag string
---@param paths string[]
---@param cwd string
---@return string? message
local function append_paths(config, key, flag, paths, cwd)
  local list = {}
  for i, path in ipairs(paths) do
    local message
    list[i], message = absolute(flag, path, cwd, os.getenv("HOME"))
    if not list[i] then
      return message
    elseif not core.stat(list[i]) then
      return ("%s: %s: No such file or directory"):format(flag, list[i])
    end
  end
  return append(config, key, list)
end

--- The file that the configuration comes from.
---@return procage.cli.ConfigFile? found
---@return string? message
local function configuration_file(chosen, cwd, root)
  local given = chosen.config_file
  if spettro.is_meant(chosen) then
    return spettro.file(chosen, cwd, os.getenv("HOME") or "/", absolute)
  elseif not given then
    return config_files.default(root, os.getenv)
  end
  local file, message = resolve("--config", given, cwd)
  if not file then
    return nil, message
  end
  -- Under the name that was given too: a link in a writable tree could be turned elsewhere.
  return config_files.named(absolute("--config", given, cwd) or file, file)
end

--- The configuration: the file's, then --set, then the named options, each of which wins over what was before.
---@param chosen table  request.options
---@param cwd string
---@param root string
---@return table? config
---@return procage.cli.ConfigFile|string file  or the message
local function configuration(chosen, cwd, root)
  local file, message = configuration_file(chosen, cwd, root)
  if not file then
    return nil, message --[[@as string]]
  end
  local config = file.config
  for _, pair in ipairs(chosen.set) do
    message = message or set_pair(config, pair)
  end
  for _, pair in ipairs(chosen.env) do
    message = message or set(config, "--env", { "env", "set", pair.key }, pair.value)
  end
  message = message
    or append_paths(config, "writable", "--allow-write", chosen.allow_write, cwd)
    or append_paths(config, "readable", "--allow-read", chosen.allow_read, cwd)
    or append(config, "lift", chosen.lift)
  if message then
    return nil, message
  end
  config.network = chosen.network or config.network
  config.git = chosen.git or config.git
  config.denials = chosen.denials or config.denials
  return config, file
end

--- The policy's name, or where its script is. Absolute: only then can the runner see that a script lies where the command
--- writes. The name that was given counts too: a link in a writable tree could be turned elsewhere.
---@param name string
---@param cwd string
---@return string? name
---@return string|string[] files  of the script; or the message
local function policy_file(name, cwd)
  if not policy_room.is_file(name) then
    return name, {}
  end
  name = path_text.expand_home(name, os.getenv("HOME") or "")
  local file, message = resolve("--policy", name, cwd)
  if not file then
    return nil, message --[[@as string]]
  end
  return file, { absolute("--policy", name, cwd) or file }
end

--- A plain run where nothing can confine, if whoever is trusted has said that it will do: in so many words, for the default
--- is to refuse.
local function load_plain(name, config, options, why)
  local plain = {}
  for key, value in pairs(config) do
    plain[key] = value
  end
  plain.mode = "off"
  local policy, message, code = procage.policy.load(name, plain, options)
  if not policy then
    return nil, message, code
  end
  policy.profile.unconfined = why:gsub("^SANDBOX%-UNAVAILABLE: ", "")
  return policy:fit()
end

--- The policy of a command that the configuration gives the network, and the file that the command must be.
---@param made procage.cli.Setup
---@param argv string[]
---@param load fun(network: procage.Network): procage.Policy?, string?, any
---@return true? ok
---@return string? message
---@return any code
local function grant_network(made, argv, config, load)
  local checked = assert(config_room.parse(config))
  local executable, why = allow.network(checked, made.policy, argv, { cwd = made.cwd })
  if why then
    made.notices[#made.notices + 1] = reports.printable("procage: " .. why)
  elseif executable and checked.network ~= "all" then
    local policy, message, code = load("all")
    if not policy then
      return nil, message, code
    end
    made.policy, made.executable = policy, executable
  end
  return true
end

--- Options of the policy, by the types that it declares.
---@return string? message
local function set_options(config, name, words)
  local options, message = policy_room.declared(name)
  if not options then
    return message
  end
  local values
  values, message = declared.read_words(options, words)
  if not values then
    return ("--option, policy %s: %s"):format(name, message)
  end
  for key, value in pairs(values) do
    set(config, "--option " .. key, { "options", key }, value)
  end
end

--- A tree of the configuration that is not there: which line names it.
---@param message string
---@param config table
---@param file procage.cli.ConfigFile
---@return string
local function with_line(message, config, file)
  for i, item in ipairs(type(config.writable) == "table" and config.writable or {}) do
    local key = ("writable[%d]"):format(i)
    local at = file.where(key)
    local tree = path_text.expand_home(tostring(item), os.getenv("HOME") or "")
    if at and message == ("writable %s: no such file or directory"):format(tree) then
      return ("%s: %s: %s: no such file or directory"):format(at, key, tree)
    end
  end
  return message
end

---@class procage.cli.Setup
---@field policy procage.Policy
---@field root string
---@field cwd string  where the command starts: where the user is when that is in the root, else the root
---@field executable? procage.Executable  the file that the command must be
---@field notices string[]  of the configuration
---@field is_silent boolean  not a word of ours where the command's output goes

--- Scripts that narrow whatever policy is chosen: the system's, the user's own, and those that are named.
---@param chosen table
---@param cwd string
---@return { name: string, policy: string }[]? layers
---@return string? message
local function layers_of(chosen, cwd)
  local layers, user = {}, config_files.user_file(os.getenv)
  local known = { { name = "system", policy = "/etc/procage/narrow.lua" } }
  known[2] = user and { name = "user", policy = path_text.join(path_text.parent(user) or "/", "narrow.lua") }
  for _, layer in ipairs(known) do
    layers[#layers + 1] = core.lstat(layer.policy) and layer or nil
  end
  for _, name in ipairs(chosen.narrow) do
    local file, message = resolve("--narrow", name, cwd)
    if not file then
      return nil, message
    end
    layers[#layers + 1] = { name = "command", policy = file }
  end
  return layers
end

---@class procage.cli.Settings
---@field config table
---@field root string
---@field policy string  its name, or the file of its script
---@field file table  what configuration gave: its files and notices
---@field layers { name: string, policy: string }[]
---@field read_only string[]  files that decide, where a command could write them

--- What the options come to, before the policy is loaded.
---@param chosen table  request.options
---@param cwd string
---@return procage.cli.Settings? settings
---@return string? message
function M.settings(chosen, cwd)
  local root, message = resolve("--root", chosen.root or cwd, cwd)
  if not root then
    return nil, message
  end
  local config, file = configuration(chosen, cwd, root)
  if not config then
    return nil, file --[[@as string]]
  end
  local name, scripts = policy_file(chosen.policy or config.policy or "speccoder", cwd)
  if not name then
    return nil, scripts --[[@as string]]
  end
  if #chosen.option > 0 then
    message = set_options(config, name, chosen.option)
    if message then
      return nil, message
    end
  end
  local read_only = table.move(scripts --[[@as string[] ]], 1, #scripts, #file.files + 1, file.files)
  local layers
  layers, message = layers_of(chosen, cwd)
  if not layers then
    return nil, message
  end
  for _, layer in ipairs(layers) do
    read_only[#read_only + 1] = layer.policy
  end
  return { config = config, root = root, policy = name, file = file, read_only = read_only, layers = layers }
end

--- The policy that the options ask for.
---@param chosen table  request.options
---@param argv? string[]  the command, which the configuration may give the network
---@return procage.cli.Setup? setup
---@return string? message
---@return integer? status  the exit status that the message goes with
function M.load(chosen, argv)
  local cwd, message = core.real_path("/proc/self/cwd")
  if not cwd then
    return nil, "the current directory: " .. message, 2
  end
  local settings
  settings, message = M.settings(chosen, cwd)
  if not settings then
    return nil, message, 2
  end
  local config, root, name, file = settings.config, settings.root, settings.policy, settings.file
  local options = {
    root = root,
    explains = chosen.explains or chosen.host_file ~= nil,
    observes = chosen.observes,
    read_only = settings.read_only,
    layers = settings.layers,
  }
  local function load(network)
    config.network = network or config.network
    local loaded, why, errno = procage.policy.load(name, config, options)
    if loaded then
      -- Options win over the file, and what they say stands in no line.
      loaded.key_source = function(key)
        return not (key == "network" and chosen.network or key == "git" and chosen.git) and file.where(key) or nil
      end
    end
    return loaded, why, errno
  end
  local policy, code
  policy, message, code = load()
  if not policy and code == fit.UNAVAILABLE and config.mode == "auto" then
    policy, message, code = load_plain(name, config, options, message)
  end
  if not policy then
    return nil, with_line(message, config, file), code == fit.UNAVAILABLE and 126 or 2
  end
  local made = {
    policy = policy,
    root = root,
    cwd = path_text.is_beneath(cwd, root) and cwd or root,
    notices = file.notices,
    is_silent = file.is_silent and not policy.profile.unconfined or false,
  }
  if argv and not chosen.network and not policy.profile.unconfined then
    local ok
    ok, message, code = grant_network(made, argv, config, load)
    if not ok then
      return nil, message, code == fit.UNAVAILABLE and 126 or 2
    end
  end
  return made
end

return M
