--- The operator's configuration, the [sandbox] table: checked, spelt one way, completed. The only place with defaults, and the
--- only one that knows the spellings of the programs that came before.

local check = require("procage.check")
local config_source = require("procage.config_source")
local json = require("procage.json")
local path = require("procage.path")
local profile = require("procage.profile")
local text_file = require("procage.text_file")

---@class procage.Config
---@field mode "auto"|"required"|"off"
---@field policy string  the name of a shipped policy, or a file
---@field options table<string, any>  those that the policy declares
---@field network procage.Network
---@field network_allow string[][]  commands that get the network, word by word
---@field network_allow_prefix string[][]  beginnings of such commands
---@field loopback "run"|"policy"|"host"
---@field git "read"|"commit"|"write"
---@field handoff_absent "move"|"refuse"
---@field writable string[]  paths; `~` is home
---@field readable string[]
---@field hidden string[]
---@field read_only string[]
---@field sockets string[]
---@field caches "write"|"fetch"|"none"
---@field tmp "private"|"shared"
---@field env procage.Env
---@field limits procage.Limits
---@field accept string[]
---@field lift string[]
---@field denials "off"|"calls"|"paths"

local M = {}

--- Other spellings of a network, from the originals and from the command line.
---@type table<string, procage.Network>
local network_spellings = { off = "none", localhost = "loopback" }

---@param text string
---@return integer[]? ports  nil: not of the form "ports:443,8080"
local function ports_in(text)
  local list = text:match("^ports:([%d,]+)$")
  if not list or list:find("^,") or list:find(",,", 1, true) or list:find(",$") then
    return nil
  end
  local ports = {}
  for digits in list:gmatch("%d+") do
    ports[#ports + 1] = math.tointeger(tonumber(digits)) or 0
  end
  return ports
end

--- Sorted, each once: the order in which an operator wrote them means nothing.
---@param ports integer[]
---@return integer[]
local function tidy(ports)
  local list, seen = {}, {}
  for _, port in ipairs(ports) do
    if not seen[port] then
      list[#list + 1], seen[port] = port, true
    end
  end
  table.sort(list)
  return list
end

--- A network as the profile spells it; what it does not know it leaves for the check to name.
---@param value any
---@return any
local function read_network(value)
  if type(value) == "string" then
    local ports = ports_in(value)
    return network_spellings[value] or ports and { ports = ports } or value
  elseif type(value) == "table" and value.ports == nil then
    return { ports = value }
  end
  return value
end

---@param value any
---@return boolean
local function is_string(value)
  return type(value) == "string"
end

local ports_record = check.record({ { name = "ports", check = check.list(check.port, 1), required = true } }, "key")
local network_names = check.one_of({ "none", "off", "loopback", "localhost", "all", "ports:443,8080" })

---@type procage.Check
local function network(value, key, all)
  local read = read_network(value)
  if type(read) ~= "table" then
    return not (read == "none" or read == "loopback" or read == "all") and network_names(value, key) or nil
  elseif is_string(value) or value.ports == nil then
    -- A list, or a text with one: its entries are the operator's keys, `ports` is not.
    return check.list(check.port, 1)(read.ports, key, all)
  end
  return ports_record(read, key, all)
end

--- Absolute or beneath home. `~user` is refused: it would need the password file.
---@type procage.Check
local function home_path(value, key)
  local bad = check.text(value, key)
  if bad then
    return bad
  end
  local is_home = value == "~" or value:sub(1, 2) == "~/"
  if not is_home and not path.is_absolute(value) then
    return check.mismatch(key, "an absolute path, or one that starts with ~/", value)
  elseif path.has_parent_step(value) then
    return check.mismatch(key, "a path without ..", value)
  end
end

local paths = check.list(home_path)

--- A name is looked for on PATH. A path from here would be a file that commands write.
---@type procage.Check
local function program(value, key)
  local bad = check.text(value, key)
  if bad then
    return bad
  elseif value:find("/", 1, true) and not path.is_absolute(value) or path.has_parent_step(value) then
    return check.mismatch(key, "the name of a program, or an absolute path", value)
  end
end

--- A policy's name, or where its script is.
---@type procage.Check
local function policy_name(value, key)
  local bad = check.text(value, key)
  if bad then
    return bad
  elseif value:find("/", 1, true) or value:find("%.lua$") then
    return home_path(value, key)
  end
end

local limit_fields = {}
for i, name in ipairs(profile.limits) do
  limit_fields[i] = { name = name, check = check.positive }
end

---@type procage.Check
local function value_text(value, key)
  if value ~= "" then
    return check.text(value, key)
  end
end

--- The words of commands, or the first of them; `least` of each.
---@param least integer
---@return procage.Check
local function commands(least)
  local words = check.list(value_text, least)
  return check.list(function(value, key, all)
    return words(value, key, all) or program(value[1], key .. "[1]")
  end)
end

local env_fields = {
  { name = "drop", check = check.list(check.text) },
  { name = "set", check = check.map(check.variable, value_text) },
  { name = "keep", check = check.list(check.variable) },
}

--- What the policy makes of them is for the policy to check.
local option_values = check.map(check.text, function(value, key)
  if type(value) == "function" or type(value) == "userdata" then
    return check.mismatch(key, "a text, a number, true, false or a list", value)
  end
end)

---@class procage.ConfigKey: procage.Field
---@field default any

---@type procage.ConfigKey[]
local schema = {
  { name = "mode", check = check.one_of({ "auto", "required", "off" }), default = "auto" },
  { name = "policy", check = policy_name, default = "speccoder" },
  { name = "options", check = option_values, default = {} },
  { name = "network", check = network, default = "loopback" },
  { name = "network_allow", check = commands(1), default = {} },
  { name = "network_allow_prefix", check = commands(2), default = {} },
  { name = "loopback", check = check.one_of({ "run", "policy", "host" }), default = "run" },
  { name = "git", check = check.one_of({ "read", "commit", "write" }), default = "read" },
  { name = "handoff_absent", check = check.one_of({ "move", "refuse" }), default = "move" },
  { name = "writable", check = paths, default = {} },
  { name = "readable", check = paths, default = {} },
  { name = "hidden", check = paths, default = {} },
  { name = "read_only", check = paths, default = {} },
  { name = "sockets", check = paths, default = {} },
  { name = "caches", check = check.one_of({ "write", "fetch", "none" }), default = "write" },
  { name = "tmp", check = check.one_of({ "private", "shared" }), default = "private" },
  { name = "env", check = check.record(env_fields, "key"), default = { drop = {}, set = {}, keep = {} } },
  { name = "limits", check = check.record(limit_fields, "key"), default = {} },
  { name = "accept", check = check.list(check.one_of(profile.gap_ids)), default = {} },
  { name = "lift", check = check.list(check.text), default = {} },
  { name = "denials", check = check.one_of({ "off", "calls", "paths" }), default = "calls" },
}

--- The keys, in the order of the documentation.
---@type string[]
M.keys = {}
for i, entry in ipairs(schema) do
  M.keys[i] = entry.name
end

local whole = check.record(schema, "key")

---@param config table  checked
---@return procage.Config
local function complete(config)
  for _, entry in ipairs(schema) do
    if config[entry.name] == nil then
      config[entry.name] = json.plain(entry.default)
    end
  end
  for name, default in pairs({ drop = {}, set = {}, keep = {} }) do
    config.env[name] = config.env[name] or default
  end
  config.network = read_network(config.network)
  if type(config.network) == "table" then
    config.network.ports = tidy(config.network.ports)
  end
  return config
end

--- Everything that is wrong with a source, file and line before each, in their order.
---@param source procage.ConfigSource
---@return string[]
local function problems_of(source)
  local list = {}
  for i, message in ipairs(source.problems) do
    list[i] = { text = message, line = 0, i = i }
  end
  for _, message in ipairs(source.value and check.problems(whole, source.value, "") or {}) do
    local text, line = source.locate(message)
    list[#list + 1] = { text = text, line = line or 0, i = #list }
  end
  table.sort(list, function(a, b)
    return a.line < b.line or a.line == b.line and a.i < b.i
  end)
  local texts = {}
  for i, entry in ipairs(list) do
    texts[i] = entry.text
  end
  return texts
end

--- What a text says of [sandbox]: checked, not completed.
---@param text string
---@param format "toml"|"json"
---@param file string  what messages start with
---@return procage.ConfigSource source  `value` is good when there are no `problems`
function M.read(text, format, file)
  local source = format == "json" and config_source.json(text, file) or config_source.toml(text, file, M.keys)
  source.problems = problems_of(source)
  return source
end

--- Of many mistakes the first, and that there are more.
---@param problems string[]
---@return string
function M.summary(problems)
  if #problems == 1 then
    return problems[1]
  end
  return ("%s (and %d more: procage-lua check FILE shows all)"):format(problems[1], #problems - 1)
end

--- The same of a file, TOML or JSON as its name ends.
---@param file string
---@return procage.ConfigSource? source
---@return string? message  it cannot be read
function M.read_file(file)
  local format = file:match("%.(toml)$") or file:match("%.(json)$")
  if not format then
    return nil, file .. ": a configuration's name ends in .toml or .json"
  end
  local text, message = text_file.read(file)
  if not text then
    return nil, message
  end
  return M.read(text, format, file)
end

--- Checks a configuration and completes it; a table that is given is left as it is.
---@param given? table|string  what a caller says, JSON null being absent; or a TOML text, of which [sandbox] is read
---@param source? string  what messages start with: the file
---@return procage.Config? config
---@return string? message  names the key, what was expected, and the nearest known name; of a text also the line
---@return string[]? problems  all of them
function M.parse(given, source)
  if type(given) == "string" then
    local read = M.read(given, "toml", source or "speccoder.toml")
    if #read.problems > 0 then
      return nil, M.summary(read.problems), read.problems
    end
    return complete(read.value)
  end
  local config = json.plain(given == nil and {} or given)
  local problems = check.problems(whole, config, "")
  if #problems > 0 then
    for i, problem in ipairs(problems) do
      problems[i] = (source and source .. ": " or "") .. problem
    end
    return nil, problems[1], problems
  end
  return complete(config)
end

return M
