--- From the options of `run` and `explain` to a policy.

local config_room = require("procage.config")
local core = require("procage.core")
local fit = require("procage.fit")
local json = require("procage.json")
local path_text = require("procage.path")
local policy_room = require("procage.policy")
local procage = require("procage")

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

--- Reads a configuration file: JSON, one object.
---@param file string
---@return table? config
---@return string? message
function M.read_json(file)
  local handle, message = io.open(file, "r")
  if not handle then
    return nil, message
  end
  local text, why = handle:read("a")
  handle:close()
  if not text then
    return nil, ("%s: %s"):format(file, why)
  end
  local value
  value, message = json.decode(text)
  if type(value) ~= "table" then
    return nil, ("%s: %s"):format(file, message or "expected a JSON object")
  end
  return value
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

--- The configuration file's table. Where the command could write the file, it would decide the next run: it is read-only then.
---@return table? config
---@return string? message
local function configuration_file(path, cwd)
  if not path:match("%.json$") then
    return nil, ("--config %s: only JSON is read, from a file whose name ends in .json"):format(path)
  end
  local file, message = resolve("--config", path, cwd)
  if not file then
    return nil, message
  end
  local config
  config, message = M.read_json(file)
  if not config then
    return nil, "--config " .. message
  end
  -- Checked by itself first, so that the message names the file.
  local checked
  checked, message = config_room.parse(config, file)
  if not checked then
    return nil, message
  end
  -- Under the name that was given too: a link in a writable tree could be turned elsewhere.
  local named = absolute("--config", path, cwd) or file
  message = append(config, "read_only", { file, named })
  if message then
    return nil, message
  end
  return config
end

--- The configuration: the file's, then --set, then the named options, each of which wins over what was before.
---@param chosen table  request.options
---@param cwd string
---@param root string
---@return table? config
---@return string? message
local function configuration(chosen, cwd, root)
  local config, message = {}, nil
  if chosen.config_file then
    config, message = configuration_file(chosen.config_file, cwd)
  end
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
  return config
end

---@class procage.cli.Setup
---@field policy procage.Policy
---@field root string
---@field cwd string  where the command starts: where the user is when that is in the root, else the root

--- The policy that the options ask for.
---@param chosen table  request.options
---@return procage.cli.Setup? setup
---@return string? message
---@return integer? status  the exit status that the message goes with
function M.load(chosen)
  local cwd, message = core.real_path("/proc/self/cwd")
  if not cwd then
    return nil, "the current directory: " .. message, 2
  end
  local root
  root, message = resolve("--root", chosen.root or cwd, cwd)
  if not root then
    return nil, message, 2
  end
  local config
  config, message = configuration(chosen, cwd, root)
  if not config then
    return nil, message, 2
  end

  local name = chosen.policy or config.policy or "speccoder"
  if policy_room.is_file(name) then
    -- Absolute: only then can the runner see that a script lies where the command writes. The name that was given is kept
    -- too: a link in a writable tree could be turned elsewhere.
    local named = absolute("--policy", name, cwd)
    name, message = resolve("--policy", name, cwd)
    message = message or append(config, "read_only", { named or name })
    if message then
      return nil, message, 2
    end
  end
  local policy, code
  policy, message, code = procage.policy.load(name, config, { root = root, explains = chosen.host_file ~= nil })
  if not policy then
    return nil, message, code == fit.UNAVAILABLE and 126 or 2
  end
  return { policy = policy, root = root, cwd = path_text.is_beneath(cwd, root) and cwd or root }
end

return M
