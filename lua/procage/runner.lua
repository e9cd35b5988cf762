--- A loaded policy: its profile resolved on this disk and fitted to this host, and the commands that are run under it.

local config_room = require("procage.config")
local core = require("procage.core")
local disk = require("procage.disk")
local env = require("procage.env")
local executables = require("procage.executable")
local extensions = require("procage.extensions")
local fit = require("procage.fit")
local handoff = require("procage.handoff")
local hosts = require("procage.host")
local json = require("procage.json")
local later = require("procage.later")
local nearest = require("procage.nearest")
local outcomes = require("procage.outcome")
local path = require("procage.path")
local plans = require("procage.plan")
local policy = require("procage.policy")
local private = require("procage.private")
local report_room = require("procage.report")
local resolve = require("procage.resolve")
local running = require("procage.running")
local survey_room = require("procage.survey")

local inert, model = later("procage.inert"), later("procage.model")

local M = {}

---@class procage.Policy
---@field profile procage.Profile  resolved
---@field report procage.Row[]
---@field fitted procage.Profile
local Policy = {}
Policy.__index = Policy

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
---@field text? string  the policy's script itself: then its name is one for messages
---@field explains? boolean  for another machine: what this one cannot enforce is then no error

--- The environment of this process. Source: environ(7), as /proc/self/environ had it at the start.
local function own_environment()
  local found = {}
  for entry in (disk.read("/proc/self/environ") or ""):gmatch("[^%z]+") do
    local name, value = entry:match("^([^=]+)=(.*)$")
    if name and found[name] == nil then
      found[name] = value
    end
  end
  return found
end

--- A hand-written host may claim less than this machine has, never more.
local function check_host(given, real)
  for _, fact in ipairs({
    "seccomp_filter", "seccomp_notify", "tcp_diag", "landlock_audit", "userns", "mountns", "netns", "ipcns", "pidns",
    "mount_setattr", "devpts",
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

--- One more layer over a profile.
---@param layer { name: string, policy: string }
---@return procage.Profile?
---@return string? message
---@return { at: string, fields: table }? said
local function add_layer(profile, layer, checked, context)
  local fields, message, file = policy.build_layer(path.expand_home(layer.policy, context.home), checked, context)
  if not fields then
    return nil, message
  end
  local narrowed
  narrowed, message = policy.narrow(profile, fields)
  if not narrowed then
    return nil, ("%s (%s layer): %s"):format(file, layer.name, message)
  end
  return narrowed, nil, { at = ("%s (%s layer)"):format(file, layer.name), fields = fields }
end

--- The layers were compared as they are spelt. A link in a tree of the base may lead out of it: compared again where everything
--- really is.
---@param wide procage.Profile  the base alone, not resolved yet
---@param profile procage.Profile  resolved
---@return string? message
local function widened(wide, profile, options, caller)
  local resolved, message = resolve.profile(wide, assert(resolve.context(options, caller)))
  if not resolved then
    return message --[[@as string]]
  end
  local trees = {}
  for _, field in ipairs({ "read", "write", "sockets" }) do
    trees[field] = profile[field]
  end
  local _, why = policy.narrow(resolved, trees)
  return why and "layers, where their paths really lead: " .. why
end

--- The profile that a policy makes of a configuration, resolved on this disk.
---@return procage.Profile?
---@return table|string context  or the message
---@return string[]? notices
---@return procage.PolicySource? source
local function make_profile(name, checked, options, caller)
  local context, message = resolve.context(options, caller)
  if not context then
    return nil, message
  end
  name = path.expand_home(name, context.home)
  local profile, source
  profile, message, source = policy.build_profile(name, checked, context, {
    text = options.text,
    real_path = not options.text and core.real_path or nil,
  })
  if not profile then
    return nil, message
  end
  local wide = #(options.layers or {}) > 0 and json.plain(profile) or nil
  for _, layer in ipairs(options.layers or {}) do
    local said
    profile, message, said = add_layer(profile, layer, checked, context)
    if not profile then
      return nil, message
    end
    source.layers = source.layers or {}
    table.insert(source.layers, said)
  end
  for i, call in ipairs(profile.refuse_calls or {}) do
    if select(3, core.seccomp_call(call)) == 2 then -- ENOENT
      return nil, ("%s: the profile it returned: refuse_calls[%d]: %s: no such system call"):format(source.file, i, call)
    end
  end
  for _, key in ipairs({ "read_only", "hidden", "write" }) do
    table.move(options[key] or {}, 1, #(options[key] or {}), #profile[key] + 1, profile[key])
  end
  -- A readable tree beneath a directory that the private tmp covers is put back.
  for _, tree in ipairs(checked.readable) do
    table.insert(context.visible, path.expand_home(tree, context.home))
  end
  if checked.mode == "off" and wide then
    return nil, "mode: would widen: off, and there are layers that narrow"
  elseif checked.mode == "off" and not profile.unconfined then
    profile.unconfined = "mode = off"
  end
  local notices
  profile, notices = resolve.profile(profile, context)
  if not profile then
    return nil, notices
  end
  message = wide and widened(wide, profile, options, caller)
  if message then
    return nil, message
  end
  return profile, context, notices, source
end

--- For remedies: the profile as it would be under another configuration, nil when there would be none.
local function remaker(name, options, caller)
  return function(config)
    local checked = config_room.parse(config)
    if not checked then
      return nil
    end
    return make_profile(name, checked, options, caller)
  end
end

local LOAD_OPTIONS = { "root", "home", "env", "host", "observes", "read_only", "hidden", "write", "layers", "text", "explains" }

---@param options table
local function check_load_options(options)
  local known = {}
  for _, name in ipairs(LOAD_OPTIONS) do
    known[name] = true
  end
  for key in pairs(options) do
    if not known[key] then
      local name = tostring(key)
      error(("policy.load: options.%s: unknown option%s"):format(name, nearest.hint(name, LOAD_OPTIONS)), 3)
    end
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
  local caller = options.env or own_environment()
  local checked, message = config_room.parse(config or {})
  if not checked then
    return nil, message, "config"
  end
  local profile, context, notices, source = make_profile(name, checked, options, caller)
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
    config = checked,
    source = source,
    again = remaker(name, options, caller),
  }, Policy)
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
  local caller = options.env or own_environment()
  local context = options.context
  if not context then
    local message
    context, message = resolve.context({ root = profile.workspace, home = options.home }, caller)
    if not context then
      return nil, message, "config"
    end
  end
  table.move(options.tolerates, 1, #options.tolerates, #profile.accept + 1, profile.accept)
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

--- What the system and the user have registered for fit, from files that no run of this policy can write.
---@param self procage.Policy
---@return procage.Extension[]? list
---@return string? message
local function operators(self)
  local list, message, files = extensions.load(self.context.home, self.caller_env, self.context.uid, fit.clauses)
  if not list then
    return nil, message
  end
  for _, file in ipairs(files) do
    local tree = path.resolved_tree_of(disk.resolve(file), self.profile.write)
    if tree then
      return nil, ("%s: lies in %s, which commands write: not believed"):format(file, tree)
    end
  end
  return list
end

function Policy:fit()
  local real = hosts.complete(core.probe())
  self.host = self.given_host and hosts.complete(self.given_host) or real
  if self.given_host then
    local ok, why = check_host(self.host, real)
    if not ok then
      return nil, why, "config"
    end
  end
  local refusal
  self.extensions, refusal = operators(self)
  if not self.extensions then
    return nil, refusal, "config"
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
  local survey = survey_room.look(fitted, self.context.visible, self.context)
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

-- ---- Plans ----------------------------------------------------------------------------------------------------------------

--- Whether everything that the plan rests on is as it was: directories whose entries were granted one by one, the host's
--- mounts, the hidden names.
local function is_fresh(survey, profile)
  for name, mark in pairs(survey.stamps) do
    if disk.mark(name) ~= mark then
      return false
    end
  end
  for _, entry in ipairs(survey.hidden) do
    if disk.kind(entry.path) ~= entry.kind then
      return false
    end
  end
  return survey.mount_text == disk.read("/proc/self/mountinfo")
    and survey_room.has_same_roots(survey, profile)
    and survey_room.has_same_ignored(survey)
end

--- Hidden paths that exist inside writable trees: those that a mask alone keeps.
local function hidden_inside(survey)
  local names = table.move(survey.ignored, 1, #survey.ignored, 1, {})
  for _, entry in ipairs(survey.hidden) do
    if entry.kind and path.resolved_tree_of(entry.path, survey.write) then
      names[#names + 1] = entry.path
    end
  end
  return names
end

--- What this host lets us tell of refusals.
function Policy:recorded()
  return plans.recorded(self.denials, self.host, self.supervisor, self.observes)
end

--- The plan, made when first needed and again when what it rests on has changed.
function Policy:plan()
  if self.made and is_fresh(self.survey, self.fitted) then
    return self.made
  end
  self.made = nil
  resolve.make_caches(self.fitted, self.context)
  local is_found, survey = pcall(survey_room.look, self.fitted, self.context.visible, self.context)
  if not is_found then
    if type(survey) == "table" then
      return nil, survey.message, 7 -- E2BIG
    end
    error(survey, 0)
  end
  survey.mount_text = disk.read("/proc/self/mountinfo")
  local made, message, code = plans.make(self.fitted, self.host, survey, self:recorded())
  if not made then
    return nil, message, code
  end
  survey.inside = hidden_inside(survey)
  self.made, self.survey = made, survey
  return made
end

-- ---- Running --------------------------------------------------------------------------------------------------------------

local function uses(fitted, mechanism)
  for _, name in ipairs(fitted.mechanisms) do
    if name == mechanism then
      return true
    end
  end
  return false
end

--- Whether a run has a directory of its own for temporary files.
function Policy:needs_directory()
  return self.fitted.tmp == "private" or uses(self.fitted, "mount-tree")
end

--- The words of the environment: the caller's, less what looks secret, with what the run sets.
function Policy:environment(extra, cwd, directory)
  local rules, result = self.fitted.env, {}
  local added = extra and env.apply(extra, { drop = rules.drop, keep = rules.keep }) or {}
  for _, variables in ipairs({ self.kept_env, added, rules.set }) do
    for name, value in pairs(variables) do
      result[name] = value
    end
  end
  if directory and self.fitted.tmp == "private" then
    local tmp = uses(self.fitted, "private-tmp-mount") and self.survey.covered[1] == "/tmp" and "/tmp" or directory .. "/tmp"
    for _, name in ipairs({ "TMPDIR", "TMP", "TEMP", "TEMPDIR" }) do
      result[name] = tmp
    end
    -- These two programs look elsewhere than TMPDIR says.
    result.TMUX_TMPDIR, result.TMPPREFIX = tmp, tmp .. "/zsh"
  end
  result.PWD = cwd
  local list = {}
  for name, value in pairs(result) do
    list[#list + 1] = name .. "=" .. value
  end
  table.sort(list)
  return list, result
end

--- What a command may say besides its words; `run` and `start` add their own.
local command_keys = { cwd = "string", env = "table", timeout_ms = "number", executable = "table" }
local run_keys = { stream = "boolean", cancel_signals = "boolean", terminal = "boolean", on_output = "function" }

--- "closed", "inherit", bytes, {file = path} or, for a run that is stepped, {pipe = true}.
local function check_stdin(stdin, may_be_pipe)
  if type(stdin) == "table" then
    local key, value = next(stdin)
    local is_only = next(stdin, key) == nil
    if is_only and key == "file" and type(value) == "string" and path.is_absolute(value) then
      return true
    end
    return is_only and may_be_pipe and key == "pipe" and value == true
  end
  return type(stdin) == "string"
end

--- People pass a line of shell, or the words one by one.
local function check_is_table(cmd, what)
  if type(cmd) ~= "table" then
    error(('%s: a table of words is expected, %s({ "ls", "-l" }), not a %s'):format(what, what, type(cmd)), 3)
  end
end

local function check_command(cmd, what, own_keys)
  for key, value in pairs(cmd) do
    local expected = command_keys[key] or own_keys[key]
    if math.type(key) == "integer" then
      if type(value) ~= "string" or value:find("\0", 1, true) then
        error(("%s: argument %d: a string without NUL is expected"):format(what, key), 3)
      end
    elseif key == "stdin" then
      if not check_stdin(value, what == "start") then
        error(("%s: stdin: a string or {file = absolute path} is expected"):format(what), 3)
      end
    elseif not expected then
      error(("%s: unknown key %s"):format(what, tostring(key)), 3)
    elseif type(value) ~= expected then
      error(("%s: %s: a %s is expected"):format(what, key, expected), 3)
    end
  end
  if cmd[1] == nil then
    error(what .. ": no command", 3)
  end
end

--- Standard output and error that lead to one place are one pipe, or their order would be lost.
local function is_one_place()
  local out, err = core.stat("/proc/self/fd/1"), core.stat("/proc/self/fd/2")
  return out ~= nil and err ~= nil and out.dev == err.dev and out.ino == err.ino
end

local ENOENT, EACCES = 2, 13

--- Where the program of a command is looked for, and where the policy lets it come from.
---@param cmd { [1]: string, executable?: procage.Executable, env?: table<string, string> }
---@param cwd string
---@return { programs: string[], chosen?: table }? found
---@return string? message
---@return integer? code
---@return table? detail
function Policy:programs_of(cmd, cwd)
  local _, variables = self:environment(cmd.env, cwd)
  local found = {}
  if cmd.executable then
    found.programs, found.chosen = executables.chosen(cmd.executable)
  else
    found.programs = executables.candidates(cmd[1], cwd, variables.PATH)
  end
  if self.profile.programs == "path" then
    local trusted = executables.trusted(cmd[1], variables.PATH, self.fitted.write, cmd.executable)
    local exists, _, code = executables.find(cmd[1], cwd, variables)
    if #trusted == 0 and not exists and code == ENOENT then
      return nil, cmd[1] .. ": command not found", ENOENT, { step = "exec", errno = ENOENT }
    elseif #trusted == 0 then
      local message = "in no absolute entry of PATH outside what commands can write: policy %s starts nothing else"
      return nil, message:format(self.name), EACCES, { step = "exec", errno = EACCES }
    end
    found.programs = cmd.executable and found.programs or trusted
  end
  return found
end

local function specification(self, cmd, cwd, directory, found)
  local watch = plans.file_watch(self.fitted, self:recorded())
  local words = self:environment(cmd.env, cmd.cwd or cwd, directory)
  local spec = {
    argv = table.move(cmd, 1, #cmd, 1, {}),
    env = words,
    programs = found.programs,
    chosen = found.chosen,
    cwd = cwd,
    directory = directory,
    takes_signals = cmd.cancel_signals,
    timeout_ms = cmd.timeout_ms or self.fitted.limits.timeout_ms,
    grace_ms = self.fitted.limits.grace_ms,
    stdin_grace_ms = self.fitted.limits.stdin_grace_ms,
    capture_bytes = self.fitted.limits.output_bytes,
    observes = watch.observer and (watch.audit and "mounts" or self.observes or "refused") or nil,
    is_audited = watch.audit,
  }
  local limits = self.fitted.limits
  for mechanism, name in pairs({ ["cgroup-memory"] = "memory_bytes", ["cgroup-pids"] = "processes" }) do
    spec[name] = uses(self.fitted, mechanism) and limits[name] or nil
  end
  if spec.memory_bytes or spec.processes or uses(self.fitted, "cgroup-kill") then
    spec.cgroup = self.host.cgroup
  end
  if type(cmd.stdin) == "table" then
    spec.stdin_path, spec.is_input_open = cmd.stdin.file, cmd.stdin.pipe
  elseif cmd.stdin == "inherit" then
    spec.stdin_fd = 0
  elseif cmd.stdin and cmd.stdin ~= "closed" then
    spec.stdin = cmd.stdin
  end
  if cmd.terminal then
    spec.has_terminal, spec.stdin_fd, spec.stdout_fd = true, 0, 1
  elseif cmd.stream then
    spec.stdout_fd, spec.stderr_fd = 1, 2
    spec.is_merged = is_one_place()
  end
  return spec
end

--- Moves out what someone else would run, once nothing of the run is left to put it back.
local function settle(self, outcome, survey, noted)
  local target
  local found = handoff.settle(survey.watch, noted, inert.is_repository, function()
    target = target or resolve.quarantine(self.context)
    return target
  end)
  for _, entry in ipairs(found) do
    local text
    if entry.is_change then
      text = "%s was changed: look before someone runs it"
    elseif entry.moved_to then
      text = "%s appeared: a file that others run. Moved to %s"
    else
      text = entry.is_closed and "%s appeared and could not be moved: a file that others run. It was closed (mode 000)"
        or "%s appeared and could not be moved: a file that others run. Remove it before anything else"
    end
    outcome.notices[#outcome.notices + 1] = text:format(entry.path, entry.moved_to)
  end
  outcome.appeared = found
end

--- A hidden path inside a writable tree is kept by a mask alone: a replacement from outside takes it away.
local function check_masks(self, outcome, before)
  for name, mark in pairs(before) do
    if disk.mark(name) ~= mark then
      outcome.notices[#outcome.notices + 1] =
        ("hidden %s was replaced from outside during the run: it may have been readable"):format(name)
    end
  end
end

local function marks_of(names)
  local marks = {}
  for _, name in ipairs(names) do
    marks[name] = disk.mark(name)
  end
  return marks
end

local function add(list, more)
  table.move(more, 1, #more, #list + 1, list)
end

--- Nobody but the kernel and who may signal it kills an init: the run itself cannot where it has a PID namespace.
local function note_loss(self, outcome)
  if outcome.is_broker_lost then
    outcome.notices[#outcome.notices + 1] = "the run's broker was killed: the run was ended"
  end
  if not outcome.is_lost then
    return
  end
  outcome.notices[#outcome.notices + 1] = "the run's init was killed: how the command ended is unknown"
    .. (uses(self.fitted, "pidns") and "" or ", and a process of it may still run")
end

--- A program that was executed by descriptor bears its number as a name (execveat(2); before Linux 6.14).
local function name_processes(raw, executable)
  for _, denial in ipairs(executable and raw.denials or {}) do
    if (denial.process or ""):find("^%d$") then
      denial.process = path.basename(executable.path)
    end
  end
end

--- What is left to do once everything that a run started is dead.
---@param begun table  of Policy:attempt
---@param raw table  as core.run returns it
local function conclude(self, begun, raw)
  name_processes(raw, begun.executable)
  local outcome = outcomes.new(raw, self)
  local removed, left
  if begun.directory then
    removed, left = private.remove(begun.directory, begun.lock)
  end
  if begun.directory and not removed then
    outcome.notices[#outcome.notices + 1] = "the run's private directory is left: " .. left
  end
  note_loss(self, outcome)
  check_masks(self, outcome, begun.masked)
  settle(self, outcome, begun.survey, begun.handoff)
  if outcome.dropped_bytes > 0 then
    outcome.notices[#outcome.notices + 1] = ("%d bytes of output were dropped"):format(outcome.dropped_bytes)
  end
  -- Told apart from what happened: a caller may know the gaps by now, but not what a run has just done.
  outcome.events = outcome.notices
  local notices = report_room.notices(self.report)
  add(notices, self.load_notices)
  add(notices, begun.survey.notices)
  add(notices, outcome.events)
  outcome.notices = notices
  return outcome
end

--- The plan was made a moment ago and a path in it is gone since: made again, once.
local function is_stale(detail)
  return detail and detail.errno == ENOENT and (detail.op == "tree_clone" or detail.op == "landlock_path" or
    detail.op == "tree_attach")
end

--- One try to start a command: what `go` (core.run or core.start) made of it, and what there was before.
function Policy:attempt(cmd, cwd, found, go)
  local plan, message, code = self:plan()
  if not plan then
    return nil, message, code
  end
  local directory, lock
  if self:needs_directory() then
    self.swept = self.swept or {}
    directory, lock, code = private.make(self.caller_env, self.swept)
    if not directory then
      return nil, lock, code
    end
  end
  -- Another run may have the plan made anew meanwhile: this one is judged by its own survey.
  local begun = {
    executable = cmd.executable,
    survey = self.survey,
    masked = marks_of(self.survey.inside),
    handoff = handoff.note(self.survey.watch),
    directory = directory,
    lock = lock,
  }
  local result, why, errno, detail = go(plan, specification(self, cmd, cwd, directory, found))
  if not result then
    if directory then
      private.remove(directory, lock)
    end
    return nil, why, errno, detail
  end
  begun.result = result
  return begun
end

--- "exec: No such file or directory" is true and tells nobody what to do.
---@param self procage.Policy
---@param cmd table
---@param cwd string
---@param message string
---@param code any
---@return string
local function explain_exec(self, cmd, cwd, message, code)
  if cmd.executable or code ~= ENOENT then
    return executables.explain(cmd.executable, message, code)
  end
  local named = cmd[1]:find("/", 1, true) and executables.candidates(cmd[1], cwd)[1]
  if not named or not core.stat(named) then
    return cmd[1] .. ": command not found"
  end
  -- It is there outside.
  local answer = self:why("exec", named)
  if not answer or answer.allowed then
    return cmd[1] .. ": the program that it names on its first line, or its loader, is not there"
  end
  local change = answer.change and "; to allow it: " .. answer.change.flag or ""
  return ("%s: command not found: %s%s"):format(cmd[1], answer.note or "not to be seen by the run", change)
end

function Policy:launch(cmd, go)
  local ok, message, code = policy.admit(self.report, self.profile.accept, self.mode)
  if not ok then
    return nil, message, code
  end
  local cwd, exists = disk.resolve(path.join(self.profile.workspace, cmd.cwd or "."))
  if not exists then
    return nil, cwd .. ": no such directory", ENOENT, { step = "directory", errno = ENOENT }
  end
  local found, begun, why, errno, detail
  found, why, errno, detail = self:programs_of(cmd, cwd)
  if not found then
    return nil, why, errno, detail
  end
  begun, why, errno, detail = self:attempt(cmd, cwd, found, go)
  if not begun and is_stale(detail) then
    self.made = nil
    begun, why, errno, detail = self:attempt(cmd, cwd, found, go)
  end
  if not begun and detail and detail.step == "exec" then
    why = explain_exec(self, cmd, cwd, why, errno)
  elseif not begun and detail and detail.step == "input" then
    why = ("%s: %s"):format(cmd.stdin.file, why)
  end
  return begun, why, errno, detail
end

--- The same with secrets taken out of what is told and of the outcome (mask.lua).
local function run_masked(self, cmd)
  if cmd.stream or cmd.terminal then
    error("run: mask goes without stream and terminal: their bytes do not pass through here", 3)
  end
  local masks, plain = require("procage.mask"), {}
  for key, value in pairs(cmd) do
    plain[key] = value
  end
  plain.mask = nil
  local masker, message = cmd.mask, nil
  if masker == true then
    masker, message = masks.of_policy(self, cmd.env)
  end
  if not masker then
    return nil, message, "config"
  end
  local finish
  if cmd.on_output then
    plain.on_output, finish = masker:wrap_output(cmd.on_output)
  end
  local outcome, why, code, detail = self:run(plain)
  if not outcome then
    return nil, why, code, detail
  end
  if finish then
    finish()
  end
  return masker:outcome(outcome)
end

--- Runs one command. The outcome says how it ended; nil says that it never ran. With `executable`, of resolve_executable, it is
--- exactly that file that runs, whatever has its name by now, or nothing. With `on_output` its output is told as it
--- comes, in pieces, and captured as well; an error of that function kills the run and is raised.
---@param cmd table  {argv..., cwd=, env=, timeout_ms=, executable=, stdin="closed"|"inherit"|bytes|{file=}, on_output=,
---  stream=, terminal=, cancel_signals=, mask=true|procage.Masker}
---@return procage.Outcome?
---@return string? message
---@return any code
---@return table? detail  {step, op, path, errno}
function Policy:run(cmd)
  check_is_table(cmd, "run")
  if cmd.mask then
    return run_masked(self, cmd)
  end
  check_command(cmd, "run", run_keys)
  if cmd.on_output then
    if cmd.stream or cmd.terminal or cmd.cancel_signals then
      error("run: on_output goes without stream, terminal and cancel_signals", 2)
    end
    local run, message, code, detail = self:begin(cmd)
    if not run then
      return nil, message, code, detail
    end
    return run:wait(cmd.on_output)
  end
  local begun, why, errno, detail = self:launch(cmd, core.run)
  if not begun then
    return nil, why, errno, detail
  end
  return conclude(self, begun, begun.result)
end

function Policy:begin(cmd)
  local begun, why, errno, detail = self:launch(cmd, core.start)
  if not begun then
    return nil, why, errno, detail
  end
  return running.new(begun.result, function(raw)
    return conclude(self, begun, raw)
  end)
end

--- Starts one command, for a caller who steps it; a run that he lets go of is killed.
---@param cmd table  {argv..., cwd=, env=, timeout_ms=, executable=, stdin="closed"|"inherit"|bytes|{file=}|{pipe=true}}
---@return procage.Run?
---@return string? message
---@return any code
---@return table? detail
function Policy:start(cmd)
  check_is_table(cmd, "start")
  check_command(cmd, "start", {})
  return self:begin(cmd)
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

M.own_environment = own_environment

return M
