--- From the options of `run` and `explain` to a policy.

local core = require("procage.core")
local fit = require("procage.fit")
local json = require("procage.json")
local path_text = require("procage.path")
local procage = require("procage")

local M = {}

--- Sets config.a.b.c for the key "a.b.c". A value that is JSON is that; anything else is the text itself.
---@return string? message
local function set(config, pair)
  local at, steps = config, {}
  for step in (pair.key .. "."):gmatch("([^.]*)%.") do
    if step == "" then
      return ("--set: '%s' has an empty step"):format(pair.key)
    end
    steps[#steps + 1] = step
  end
  for i = 1, #steps - 1 do
    if at[steps[i]] == nil then
      at[steps[i]] = {}
    elseif type(at[steps[i]]) ~= "table" then
      return ("--set %s: %s is no table"):format(pair.key, table.concat(steps, ".", 1, i))
    end
    at = at[steps[i]]
  end
  local value = json.decode(pair.value)
  if value == nil then
    value = pair.value
  end
  at[steps[#steps]] = value
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
---@return string? resolved
---@return string? message
local function resolve(flag, path)
  local resolved, message = core.real_path(path)
  if not resolved then
    return nil, ("%s: %s"):format(flag, message)
  end
  return resolved
end

---@param flag string
---@param paths string[]
local function resolve_all(flag, paths)
  local resolved = {}
  for i, path in ipairs(paths) do
    local message
    resolved[i], message = resolve(flag, path)
    if not resolved[i] then
      return nil, message
    end
  end
  return resolved
end

--- The configuration: the file's, then --set, then the named options, each of which wins over what was before.
---@param chosen table  request.options
---@return table? config
---@return string? message
local function configuration(chosen)
  local config = {}
  if chosen.config_file then
    if not chosen.config_file:match("%.json$") then
      return nil, ("--config %s: only JSON is read here, and its name ends in .json"):format(chosen.config_file)
    end
    local file, why = M.read_json(chosen.config_file)
    if not file then
      return nil, "--config " .. why
    end
    config = file
  end
  for _, pair in ipairs(chosen.set) do
    local message = set(config, pair)
    if message then
      return nil, message
    end
  end
  config.network = chosen.network or config.network
  config.git = chosen.git or config.git

  local write, message = resolve_all("--allow-write", chosen.allow_write)
  if not write then
    return nil, message
  end
  local read
  read, message = resolve_all("--allow-read", chosen.allow_read)
  if not read then
    return nil, message
  end
  message = append(config, "writable", write) or append(config, "readable", read) or append(config, "lift", chosen.lift)
  if message then
    return nil, message
  end
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
  local config, message = configuration(chosen)
  if not config then
    return nil, message, 2
  end
  local cwd, root
  cwd, message = core.real_path(".")
  if not cwd then
    return nil, "the current directory: " .. message, 2
  end
  root, message = resolve("--root", chosen.root or cwd)
  if not root then
    return nil, message, 2
  end

  local policy, code
  policy, message, code = procage.policy.load(chosen.policy or config.policy or "speccoder", config, { root = root })
  if not policy then
    return nil, message, code == fit.UNAVAILABLE and 126 or 2
  end
  return { policy = policy, root = root, cwd = path_text.is_beneath(cwd, root) and cwd or root }
end

return M
