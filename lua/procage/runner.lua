--- Loading a policy: its profile made and resolved on this disk, and fitted to this host. What a loaded one does is in
--- `runner/policy.lua`.

local Policy = require("procage.runner.policy")
local config_room = require("procage.config")
local core = require("procage.core")
local environ = require("procage.environ")
local fit = require("procage.fit")
local holders = require("procage.runner.holder")
local hosts = require("procage.host")
local list = require("procage.list")
local nearest = require("procage.nearest")
local profiles = require("procage.runner.profile")
local resolve = require("procage.resolve")
local spares = require("procage.runner.spares")

local M = {}

---@class procage.LoadOptions
---@field root string  the workspace
---@field home? string
---@field env? table<string, string>  the caller's environment; default: this process's
---@field host? procage.Host  a poorer one than this machine is
---@field observes? "all"  every access to a file is kept (outcome.accesses), not only those that were refused
---@field read_only? string[]  more than the policy says, absolute: whatever its script makes of the configuration
---@field hidden? string[]
---@field write? string[]
---@field layers? { name: string, policy: string }[]  scripts that narrow what the policy gives, widest first
---@field given? table  what somebody wrote of a configuration that is completed
---@field text? string  the policy's script itself: then its name is one for messages
---@field prepared? boolean|{ wait_ms?: integer }  each run has its successor started ahead, which waits for its command
---@field loopback_wait_ms? integer  how long what `loopback = "policy"` keeps stays without a run
---@field explains? boolean  for another machine: what this one cannot enforce is then no error

local LOAD_OPTIONS = {
  "root", "home", "env", "host", "observes", "read_only", "hidden", "write", "layers", "text", "explains", "prepared",
  "given", "loopback_wait_ms",
}

---@param options table
local function check_load_options(options)
  local known = list.set(LOAD_OPTIONS)
  for key in pairs(options) do
    if not known[key] then
      local name = tostring(key)
      error(("policy.load: options.%s: unknown option%s"):format(name, nearest.hint(name, LOAD_OPTIONS)), 3)
    end
  end
end

local function check_prepared(prepared)
  if prepared == nil or type(prepared) == "boolean" then
    return
  end
  local wait_ms = type(prepared) == "table" and prepared.wait_ms
  if math.type(wait_ms) ~= "integer" or wait_ms < 1 or wait_ms > spares.LONGEST_MS then
    error(("policy.load: options.prepared: true or { wait_ms = 1..%d } is expected"):format(spares.LONGEST_MS), 3)
  end
end

local function check_loopback_wait(ms)
  if ms ~= nil and (math.type(ms) ~= "integer" or ms < 1 or ms > holders.LONGEST_MS) then
    error(("policy.load: options.loopback_wait_ms: 1..%d is expected"):format(holders.LONGEST_MS), 3)
  end
end

---@param name string  a shipped policy or a file
---@param config? table
---@param options procage.LoadOptions
---@return procage.Policy?
---@return string? message
---@return any code  "config", or fit.UNAVAILABLE
function M.load(name, config, options)
  if type(options) ~= "table" or type(options.root) ~= "string" then
    error("policy.load: options.root, the workspace, is missing: load(name, config, { root = ... })", 2)
  end
  check_load_options(options)
  check_prepared(options.prepared)
  check_loopback_wait(options.loopback_wait_ms)
  local caller = options.env or environ.own()
  local checked, message = config_room.parse(config or {})
  if not checked then
    return nil, message, "config"
  end
  local profile, context, notices, source = profiles.make(name, checked, options, caller, options.given or config or {})
  if not profile then
    return nil, context, "config"
  end
  local self = setmetatable({
    name = name,
    mode = checked.mode,
    profile = profile,
    context = context,
    caller_env = caller,
    load_notices = notices,
    given_host = options.host,
    denials = options.observes and "paths" or checked.denials,
    observes = options.observes,
    loopback_wait_ms = options.loopback_wait_ms,
    config = checked,
    source = source,
    again = profiles.remaker(name, options, caller),
  }, Policy)
  if options.prepared then
    self.pool = spares.new(type(options.prepared) == "table" and options.prepared.wait_ms or nil)
  end
  local fitted, why, code = self:fit()
  if not fitted and not (options.explains and code == fit.UNAVAILABLE) then
    return nil, why, code
  end
  return self
end

--- A policy made of a profile that is resolved already. Its own gaps are tolerated: whoever fitted it knew them.
---@param profile procage.Profile  valid; taken
---@param options { context?: table, home?: string, env?: table<string, string>, mode?: string, supervisor?: boolean,
---  tolerates: string[], narrow: fun(host: procage.Host): procage.Host }
---@return procage.Policy?
---@return string? message
---@return any code
function M.adopt(profile, options)
  local caller, message = options.env or environ.own(), nil
  local context = options.context
  if not context then
    context, message = resolve.context({ root = profile.workspace, home = options.home }, caller)
  end
  if not context then
    return nil, message, "config"
  end
  list.append(profile.accept, options.tolerates)
  local self = setmetatable({
    name = "profile",
    mode = options.mode or "auto",
    profile = profile,
    context = context,
    caller_env = caller,
    load_notices = {},
    supervisor = options.supervisor,
    denials = "calls",
    given_host = options.narrow(hosts.complete(core.probe())),
  }, Policy)
  return self:fit()
end

return M
