--- A policy that is loaded: its profile fitted to this host, what that report and model say of it, and its commands.

local command = require("procage.runner.command")
local core = require("procage.core")
local disk = require("procage.disk")
local env = require("procage.env")
local extensions = require("procage.extensions")
local fit = require("procage.fit")
local hosts = require("procage.host")
local later = require("procage.later")
local launch = require("procage.runner.launch")
local path = require("procage.path")
local planning = require("procage.runner.planning")
local policy = require("procage.policy")
local resolve = require("procage.resolve")
local survey_room = require("procage.survey")

local model = later("procage.model")

---@class procage.Policy
---@field profile procage.Profile  resolved
---@field report procage.Row[]
---@field fitted procage.Profile
local Policy = {}
Policy.__index = Policy

-- What it does, each in its room.
Policy.recorded, Policy.plan = planning.recorded, planning.plan
Policy.needs_directory, Policy.environment = command.needs_directory, command.environment
Policy.programs_of = command.programs_of
Policy.attempt, Policy.launch, Policy.begin = launch.attempt, launch.launch, launch.begin
Policy.run, Policy.start = launch.run, launch.start
Policy.prepare, Policy.close, Policy.__close = launch.prepare, launch.close, launch.close

--- A hand-written host may claim less than this machine has, never more.
local function check_host(given, real)
  for _, fact in ipairs({
    "seccomp_filter", "seccomp_notify", "tcp_diag", "landlock_audit", "userns", "mountns", "netns", "netns_join", "ipcns",
    "pidns", "mount_setattr", "devpts",
  }) do
    if given[fact] and not real[fact] then
      return nil, ("host: %s is claimed and this machine has it not"):format(fact)
    end
  end
  if given.cgroup and given.cgroup ~= real.cgroup then
    return nil, ("host: cgroup %s is claimed and this machine has %s"):format(given.cgroup, tostring(real.cgroup))
  end
  if given.landlock_abi > real.landlock_abi then
    return nil, ("host: landlock_abi %d is claimed and this machine has %d"):format(given.landlock_abi, real.landlock_abi)
  end
  return true
end

--- The host that the policy is fitted to.
---@return procage.Host?
---@return string? message
local function host_of(self)
  local real = hosts.complete(core.probe())
  if not self.given_host then
    return real
  end
  local given = hosts.complete(self.given_host)
  local ok, why = check_host(given, real)
  if not ok then
    return nil, why
  end
  return given
end

--- What the system and the user have registered for fit, from files that no run of this policy can write.
---@param self procage.Policy
---@return procage.Extension[]? list
---@return string? message
local function operators(self)
  local found, message, files = extensions.load(self.context.home, self.caller_env, self.context.uid, fit.clauses)
  if not found then
    return nil, message
  end
  for _, file in ipairs(files) do
    local tree = path.resolved_tree_of(disk.resolve(file), self.profile.write)
    if tree then
      return nil, ("%s: lies in %s, which commands write: not believed"):format(file, tree)
    end
  end
  return found
end

---@return procage.Policy?
---@return string? message
---@return any code
function Policy:fit()
  local message
  self.host, message = host_of(self)
  if not self.host then
    return nil, message, "config"
  end
  self.extensions, message = operators(self)
  if not self.extensions then
    return nil, message, "config"
  end
  local fitted, report, code = fit.fit(self.profile, self.host, {
    is_checked = true,
    supervisor = self.supervisor,
    extensions = self.extensions,
  })
  if not fitted then
    return nil, report, code
  end
  self.fitted, self.report = fitted, report
  -- Each name passes a hundred patterns: once for the caller's environment, not once a run.
  self.kept_env = env.apply(self.caller_env, { drop = fitted.env.drop, keep = fitted.env.keep })
  return self
end

--- Fits anew when what the report says may no longer hold.
---@return any ok
---@return string? message
---@return any code
function Policy:review()
  return not resolve.has_other_missing(self.profile) or self:fit()
end

--- Whether a run may start with what this host leaves out, as far as can be told now.
---@return true? ok
---@return string? message
---@return any code
function Policy:admit()
  local ok, message, code = self:review()
  if not ok then
    return nil, message, code
  end
  return policy.admit(self.report, self.profile.accept, self.mode)
end

--- What this host, or another one, enforces of the policy.
---@param host? procage.Host
---@return procage.Row[]? report
---@return procage.Profile|string fitted  or the message
function Policy:explain(host)
  if not host then
    return self.report, self.fitted
  end
  local fitted, report = fit.fit(self.profile, hosts.complete(host), { extensions = self.extensions })
  if not fitted then
    return nil, report
  end
  return report, fitted
end

--- What a run may do, as `procage.model` judges it. Looks at the disk as it is now; makes nothing.
---@param host? procage.Host  another one
---@return procage.View? view
---@return string? message
function Policy:view(host)
  local report, fitted = self:explain(host)
  if not report then
    return nil, fitted --[[@as string]]
  end
  local survey, message = survey_room.look(fitted, self.context.visible, self.context)
  if not survey then
    return nil, message
  end
  return model.view(fitted, host and hosts.complete(host) or self.host, survey, report)
end

--- Whether a run could do it, what decides, and what would alter that: `why.lua`.
---@param op procage.Operation
---@param target string
---@return procage.Why? answer
---@return string? message
function Policy:why(op, target)
  -- As people write them: home is the policy's.
  local expanded = type(target) == "string" and path.expand_home(target, self.context.home) or target
  return require("procage.why").ask(self, op, expanded)
end

--- What to start, in whatever runtime, for the command to run under this policy; helper.lua says how.
---@param argv string[]
---@param options? { tree?: boolean, cwd?: string, env?: table<string, string> }
---@return procage.Wrapped?
---@return string? message
---@return any code
function Policy:wrap(argv, options)
  return require("procage.helper").wrap(self, argv, options)
end

--- Confines this process for good and becomes the command. Returns only on failure: the process is to exit then.
---@param argv string[]
---@param options? { cwd?: string, env?: table<string, string> }
---@return nil
---@return string message
---@return any code
---@return table? detail
function Policy:exec(argv, options)
  return require("procage.helper").exec(self, argv, options)
end

return Policy
