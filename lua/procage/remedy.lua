--- The smallest change of a configuration that would allow what was refused, and whether it would: the policy is built again
--- with it, and the profile that comes out is asked.

local json = require("procage.json")
local later = require("procage.later")
local lists = require("procage.list")
local path = require("procage.path")
local quote = require("procage.quote")

local fit, model, survey_room = later("procage.fit"), later("procage.model"), later("procage.survey")

local M = {}

--- A run's refusals ask the same few questions; what is beyond them is not looked into.
local MOST = 64

--- A list's first entry as an option of its own.
local function option(flag, key)
  return function(value)
    return ("%s %s"):format(flag, quote.shell(value[1])), ("%s = [%s]"):format(key, quote.toml(value[1]) or "?")
  end
end

--- The same where no option is: --set takes JSON.
local function set(key)
  return function(value)
    local text = ("%s=[%s]"):format(key, json.encode(value[1], {}))
    return "--set " .. quote.shell(text), ("%s = [%s]"):format(key, quote.toml(value[1]) or "?")
  end
end

local function word(flag, key)
  return function(value)
    return flag .. value, ("%s = %s"):format(key, quote.toml(value))
  end
end

--- How each key is given on the command line, and in the configuration file.
local FLAGS = {
  writable = option("--allow-write", "writable"),
  readable = option("--allow-read", "readable"),
  lift = option("--lift", "lift"),
  sockets = set("sockets"),
  hidden = set("hidden"),
  read_only = set("read_only"),
  git = word("--git ", "git"),
  loopback = word("--set loopback=", "loopback"),
  network = function(value)
    return word("--net ", "network")(type(value) == "table" and "ports:" .. table.concat(value.ports, ",") or value)
  end,
}

--- What a person types to make the change, and what a file says.
---@param change table  one key of the configuration and its value
---@return string flag
---@return string line  of the [sandbox] table
function M.spell(change)
  local key, value = next(change)
  return FLAGS[key](value)
end

--- A configuration with the change: a list grows, anything else is replaced.
---@param config procage.Config
---@param change table
---@return table config  a copy
function M.merged(config, change)
  local result = json.plain(config)
  local key, value = next(change)
  if type(value) == "table" and key ~= "network" then
    result[key] = lists.append(result[key] or {}, value)
  else
    result[key] = value
  end
  return result
end

--- What might open a connection, smallest first. A name is resolved with UDP, which ports do not give: for port 53, and for
--- what is no connection, it is the whole network.
---@param network procage.Network  in force
---@param port? integer  that a TCP connection was to lead to
---@return table[] changes
function M.network(network, port)
  local changes = {}
  if port and port ~= 53 and port > 0 then
    local ports = lists.joined(type(network) == "table" and network.ports or {}, { port })
    table.sort(ports)
    changes[1] = { network = { ports = ports } }
  end
  changes[#changes + 1] = { network = "all" }
  return changes
end

--- What might open a git directory, smallest first.
function M.git()
  return { { git = "commit" }, { git = "write" } }
end

--- What the model says of a profile on this host; nil when it cannot be asked.
---@param policy procage.Policy
---@param profile? procage.Profile
---@param context? table
---@return boolean?
function M.judged(policy, profile, context, op, target)
  if not profile or not context then
    return nil
  end
  local fitted, report = fit.fit(profile, policy.host, {
    is_checked = true,
    supervisor = policy.supervisor,
    extensions = policy.extensions,
  })
  local survey = fitted and survey_room.look(fitted, context.visible)
  if not survey then
    return nil
  end
  return (model.allows(model.view(fitted, policy.host, survey, report), op, target))
end

--- Whether a profile allows it: resolved paths against resolved trees.
---@param profile procage.Profile
---@param asks { op: "read"|"write"|"connect"|"unix", target?: string }
---@return boolean
function M.allows(profile, asks)
  local target = asks.target
  if asks.is_foreign then
    return profile.network == "loopback" and profile.loopback == "host"
  elseif asks.op == "connect" then
    local ports = type(profile.network) == "table" and profile.network.ports
    return profile.network == "all" or (asks.is_loopback and profile.network == "loopback")
      or ports and asks.port ~= nil and lists.has(ports, asks.port) or false
  elseif path.tree_of(target, profile.hidden) then
    return false
  elseif asks.op == "unix" then
    return path.tree_of(target, profile.sockets) ~= nil or path.tree_of(target, profile.write) ~= nil
  elseif asks.op == "read" then
    return profile.read == "all" or path.tree_of(target, profile.read) ~= nil or path.tree_of(target, profile.write) ~= nil
  end
  if ("/" .. target .. "/"):find("/.git/", 1, true) and profile.git ~= "write" then
    return false
  end
  return path.tree_of(target, profile.write) ~= nil and not path.tree_of(target, profile.read_only)
end

---@param policy procage.Policy
---@param change table
---@param asks table
---@return boolean
local function would_allow(policy, change, asks)
  if not policy.again then
    return false
  end
  local profile, context = policy.again(M.merged(policy.config, change))
  -- Of a git directory's parts the model knows which a commit writes.
  if profile and change.git == "commit" then
    return M.judged(policy, profile, context, asks.op, asks.inner or asks.target) == true
  end
  return profile ~= nil and M.allows(profile, asks)
end

--- The same of one change.
local function checked(policy, change, asks)
  policy.remedies = policy.remedies or { count = 0 }
  local memory = policy.remedies
  local flag, line = M.spell(change)
  local key = flag .. "\0" .. asks.op .. "\0" .. tostring(asks.target)
  if memory[key] == nil then
    if memory.count == MOST then
      return nil
    end
    memory[key], memory.count = would_allow(policy, change, asks), memory.count + 1
  end
  if memory[key] then
    return flag, line
  end
end

--- The first change that works.
---@param policy procage.Policy
---@param changes? table|table[]  one, or several, smallest first
---@param asks? table
---@return string? flag
---@return string? line
function M.checked(policy, changes, asks)
  if not changes or not asks then
    return nil
  end
  for _, change in ipairs(changes[1] and changes or { changes }) do
    local flag, line = checked(policy, change, asks)
    if flag then
      return flag, line
    end
  end
end

return M
