--- Runners: what a harness makes once of a root and a configuration, and runs its commands with. A runner is one policy, or
--- two of them where some commands get the network, and the rules by which a command gets more than the others.

local allow = require("procage.allow")
local config_room = require("procage.config")
local core = require("procage.core")
local disk = require("procage.disk")
local executables = require("procage.executable")
local fit = require("procage.fit")
local hosts = require("procage.host")
local path = require("procage.path")
local policies = require("procage.runner")
local policy_room = require("procage.policy")
local private = require("procage.private")
local profiles = require("procage.profile")
local reports = require("procage.report")
local writer = require("procage.writer")

local M = {}

local EACCES, ENOENT = 13, 2

--- The file that governs a root.
M.FILE = "speccoder.toml"

---@class procage.RunnerOptions
---@field home? string
---@field env? table<string, string>  the caller's environment; default: this process's
---@field host? procage.Host  a poorer one than this machine is
---@field on_notice? fun(text: string)  what is to be shown before a command runs; default: standard error
---@field source? string  the configuration's file: messages name it, and no command can write it
---@field prepared? boolean|{ wait_ms?: integer }  each run has its successor started ahead, as for policy.load

---@class procage.Runner
---@field root string
---@field config procage.Config
---@field notice? string  what the operator should know of every run: that nothing is confined, or which gaps there are
local Runner = {}
Runner.__index = Runner

local option_types = {
  home = "string", env = "table", host = "table", on_notice = "function", source = "string", prepared = "boolean or table",
}

local function is_of(value, types)
  return types:find(type(value), 1, true) ~= nil
end

---@param options table
---@param known table<string, string>
---@param what string
---@param level integer
local function check_options(options, known, what, level)
  for key, value in pairs(options) do
    if not known[key] then
      error(("%s: unknown option %s"):format(what, tostring(key)), level + 1)
    elseif not is_of(value, known[key]) then
      error(("%s: %s: a %s is expected"):format(what, key, known[key]), level + 1)
    end
  end
end

-- ---- Policies -----------------------------------------------------------------------------------------------------------

---@param table_ table
---@param changes table
---@return table
local function with(table_, changes)
  local copy = {}
  for _, from in ipairs({ table_, changes }) do
    for key, value in pairs(from) do
      copy[key] = value
    end
  end
  return copy
end

--- A policy of this runner's configuration with some keys changed, or why it cannot be had.
---@param self procage.Runner
---@param changes table
---@return procage.Policy?
---@return string? message
---@return any code
local function load(self, changes)
  local config = with(self.config, changes)
  local options = self.options
  local policy, message, code = policies.load(config.policy, config, {
    root = self.root,
    home = options.home,
    env = options.env,
    host = options.host,
    prepared = config.mode ~= "off" and options.prepared or nil,
    given = self.given,
    read_only = self.read_only,
    hidden = self.hidden,
    write = self.scratch_paths,
  })
  if not policy then
    return nil, message, code
  end
  local ok
  ok, message, code = policy_room.admit(policy.report, policy.profile.accept, config.mode)
  if not ok then
    return nil, message, code
  end
  return policy
end

--- A policy under which nothing is confined, with the reason on every run.
---@param self procage.Runner
---@param why string
---@return procage.Policy?
---@return string? message
---@return any code
local function load_plain(self, why)
  local policy, message, code = load(self, { mode = "off" })
  if not policy then
    return nil, message, code
  end
  policy.profile.unconfined = why
  return policy:fit()
end

--- The policy of most commands. Where the machine has nothing to confine with and the mode lets it, a plain one.
---@param self procage.Runner
---@return procage.Policy?
---@return string? message
---@return any code
local function base(self)
  if self.policy then
    return self.policy
  end
  local policy, message, code = load(self, {})
  if not policy and code == fit.UNAVAILABLE and self.config.mode == "auto" and not M.available(self.options.host) then
    policy, message, code = load_plain(self, (message:gsub("^SANDBOX%-UNAVAILABLE: ", "")))
  end
  self.policy = policy
  return policy, message, code
end

--- The policy of commands that get the network.
---@param self procage.Runner
local function wide(self)
  if not self:is_sandboxed() or self.config.network == "all" then
    return base(self)
  end
  local message, code
  if not self.wide_policy then
    self.wide_policy, message, code = load(self, { network = "all" })
  end
  return self.wide_policy, message, code
end

---@param policy procage.Policy
---@return string?
local function notice_of(policy)
  local gaps = {}
  for _, row in ipairs(policy.report) do
    if row.id == "off" then
      return reports.notices(policy.report)[1]
    elseif row.state == "unenforced" then
      gaps[#gaps + 1] = row.id
    end
  end
  return #gaps > 0 and "procage: not enforced on this machine: " .. table.concat(gaps, ", ") or nil
end

---@param self procage.Runner
---@return procage.Runner?
---@return string? message
---@return any code
local function ready(self)
  local policy, message, code = base(self)
  if not policy then
    return nil, message, code
  end
  self.notice = notice_of(policy)
  return self
end

-- ---- Choosing for a command ---------------------------------------------------------------------------------------------

local function show(self, text)
  if self.options.on_notice then
    self.options.on_notice(text)
  else
    writer.err(text)
  end
end

---@param argv string[]
---@return string
local function words_of(argv)
  return reports.printable(table.concat(argv, " ", 1, #argv))
end

--- A command that cannot be confined by its nature: shown, with the reason, before it runs.
---@param self procage.Runner
---@param cmd table
local function choose_plain(self, cmd)
  if type(cmd.unsandboxed) ~= "string" or not cmd.unsandboxed:find("%S") then
    error("run: unsandboxed: the reason is expected, as a text", 4)
  elseif self.is_narrowed then
    return nil, ("%s: a narrowed runner runs nothing unsandboxed"):format(words_of(cmd)), EACCES
  end
  local policy, message, code = load_plain(self, "unsandboxed: " .. reports.printable(cmd.unsandboxed))
  if not policy then
    return nil, message, code
  end
  show(self, ("procage: unsandboxed: %s: %s"):format(words_of(cmd), reports.printable(cmd.unsandboxed)))
  return policy, cmd
end

--- The policy that a command runs under, and the command with the file that it must be.
---@param self procage.Runner
---@param cmd table
---@param is_approved boolean
---@return procage.Policy?
---@return table|string cmd  or the message
---@return any code
---@return string? note
local function choose(self, cmd, is_approved)
  if cmd.unsandboxed ~= nil then
    return choose_plain(self, cmd)
  end
  local policy, message, code = base(self)
  if not policy then
    return nil, message --[[@as string]], code
  elseif not self:is_sandboxed() or type(cmd[1]) ~= "string" then
    return policy, cmd
  end
  local granted, note
  if is_approved then
    -- What was approved is what was looked at: that file, whatever has its name when the command starts.
    local cwd = disk.resolve(path.join(policy.profile.workspace, cmd.cwd or "."))
    local _, variables = policy:environment(cmd.env, cwd)
    granted = cmd.executable or executables.find(cmd[1], cwd, variables)
  else
    granted, note = allow.network(self.config, policy, cmd, cmd)
  end
  if not granted then
    return policy, cmd, nil, note and "procage: " .. note
  end
  policy, message, code = wide(self)
  if not policy then
    return nil, message --[[@as string]], code
  end
  return policy, with(cmd, { executable = granted })
end

---@param cmd table
---@param options? table
---@param what string
local function check_call(cmd, options, what)
  if type(cmd) ~= "table" then
    error(what .. ": a command, {argv..., cwd=, env=, ...}, is expected", 3)
  end
  check_options(options or {}, { network = "boolean" }, what, 3)
end

---@param cmd table
---@return table
local function plain_keys(cmd)
  local copy = with(cmd, {})
  copy.unsandboxed = nil
  return copy
end

--- Runs one command, as Policy:run does. It has the network of the configuration, and the whole of it when the configuration
--- names it (network_allow) or this one call was approved.
---@param cmd table  as for Policy:run; also unsandboxed = reason
---@param options? { network?: boolean }  approved
---@return procage.Outcome?
---@return string? message
---@return any code
---@return table? detail
function Runner:run(cmd, options)
  check_call(cmd, options, "run")
  local policy, chosen, code, note = choose(self, cmd, options ~= nil and options.network == true)
  if not policy then
    return nil, chosen --[[@as string]], code
  end
  local outcome, message, errno, detail = policy:run(plain_keys(chosen --[[@as table]]))
  if outcome and note then
    table.insert(outcome.notices, 1, note)
  end
  return outcome, message, errno, detail
end

--- Starts one command, for a caller who steps it, by the same rules.
---@param cmd table  as for Policy:start; also unsandboxed = reason
---@param options? { network?: boolean }
---@return procage.Run?
---@return string? message
---@return any code
---@return table? detail
function Runner:start(cmd, options)
  check_call(cmd, options, "start")
  local policy, chosen, code, note = choose(self, cmd, options ~= nil and options.network == true)
  if not policy then
    return nil, chosen --[[@as string]], code
  elseif note then
    show(self, note)
  end
  return policy:start(plain_keys(chosen --[[@as table]]))
end

--- What to start, in whatever runtime, for a command to run by the same rules; as Policy:wrap.
---@param argv string[]
---@param options? { network?: boolean, tree?: boolean, cwd?: string, env?: table<string, string>, unsandboxed?: string }
---@return procage.Wrapped?
---@return string? message
---@return any code
function Runner:wrap(argv, options)
  options = options or {}
  local known = { network = "boolean", tree = "boolean", cwd = "string", env = "table", unsandboxed = "string" }
  check_options(options, known, "wrap", 2)
  if type(argv) ~= "table" or type(argv[1]) ~= "string" then
    error("wrap: a list of words is expected, the first the program", 2)
  end
  local cmd = with(argv, { cwd = options.cwd, env = options.env, unsandboxed = options.unsandboxed })
  local policy, chosen, code, note = choose(self, cmd, options.network == true)
  if not policy then
    return nil, chosen --[[@as string]], code
  elseif note then
    show(self, note)
  end
  return policy:wrap(argv, {
    tree = options.tree,
    cwd = options.cwd,
    env = options.env,
    executable = chosen.executable,
  })
end

--- What was started ahead for policies that are used no more. Runs go on.
local function end_prepared(...)
  for i = 1, select("#", ...) do
    local policy = select(i, ...)
    if policy then
      policy:close()
    end
  end
end

-- ---- The runner itself --------------------------------------------------------------------------------------------------

---@return boolean
function Runner:is_sandboxed()
  return self.policy.profile.unconfined == nil
end

---@return procage.Row[] report
---@return procage.Profile fitted
function Runner:explain()
  return self.policy:explain()
end

---@param self procage.Runner
---@param list? string[]
---@param what string
---@return string[]? paths
---@return string? message
local function carved_paths(self, list, what)
  if list ~= nil and type(list) ~= "table" then
    error(("carve: %s: a list of paths is expected"):format(what), 3)
  end
  -- Checked as the configuration's own.
  local checked, message = config_room.parse({ [what] = list })
  if not checked then
    return nil, "carve: " .. message
  end
  local paths = {}
  for i, name in ipairs(checked[what]) do
    paths[i] = path.normalise(path.expand_home(name, self.policy.context.home))
  end
  return paths
end

---@param first string[]
---@param second string[]
---@return string[]
local function joined(first, second)
  local list = table.move(first, 1, #first, 1, {})
  return table.move(second, 1, #second, #list + 1, list)
end

--- A runner that may do less: these paths too are read-only, these hidden. It never runs anything unsandboxed.
---@param read_only? string[]  absolute, or `~/`
---@param hidden? string[]
---@return procage.Runner?
---@return string? message
---@return any code
function Runner:carve(read_only, hidden)
  local locked, message = carved_paths(self, read_only, "read_only")
  if not locked then
    return nil, message, "config"
  end
  local gone
  gone, message = carved_paths(self, hidden, "hidden")
  if not gone then
    return nil, message, "config"
  end
  return ready(setmetatable({
    root = self.root,
    config = self.config,
    given = self.given,
    options = self.options,
    read_only = joined(self.read_only, locked),
    hidden = joined(self.hidden, gone),
    scratch_paths = {},
    scratches = {},
    is_narrowed = true,
  }, Runner))
end

--- A directory that this runner's commands write besides the workspace: private, empty, and gone with the runner. The policies
--- are made anew.
---@return string? directory
---@return string? message
---@return any code
function Runner:scratch()
  local made, lock, code = private.make(self.policy.caller_env, {})
  if not made then
    return nil, lock --[[@as string]], code
  end
  local directory = made .. "/tmp"
  self.scratches[#self.scratches + 1] = { path = made, lock = lock }
  self.scratch_paths[#self.scratch_paths + 1] = directory
  local before, wide_before = self.policy, self.wide_policy
  self.policy, self.wide_policy = nil, nil
  local ok, message
  ok, message, code = ready(self)
  if ok then
    end_prepared(before, wide_before)
  else
    self.policy, self.wide_policy = before, wide_before
    table.remove(self.scratch_paths)
    table.remove(self.scratches)
    private.remove(made, lock --[[@as userdata]])
    return nil, message, code
  end
  return directory
end

--- Starts the first run ahead of its command, as Policy:prepare; later ones are started so from here on.
---@return true? ok
---@return string? message  it cannot be done; runs start as ever
---@return any code
function Runner:prepare()
  return self.policy:prepare()
end

--- Removes what scratch() made, and ends what was started ahead. May be called twice.
function Runner:close()
  end_prepared(self.policy, self.wide_policy)
  for i = #self.scratches, 1, -1 do
    local entry = table.remove(self.scratches, i)
    private.remove(entry.path, entry.lock)
  end
end
Runner.__close = Runner.close
Runner.__gc = Runner.close

--- A runner for commands in `root`. Sandboxed; or plain, with a notice, where nothing can confine and the mode is `auto`, or
--- where it is `off`; or nil and SANDBOX-UNAVAILABLE.
---@param root string
---@param config? table|string  as for config.parse
---@param options? procage.RunnerOptions
---@return procage.Runner?
---@return string? message
---@return any code  "config", or fit.UNAVAILABLE
function M.new(root, config, options)
  options = options or {}
  if type(root) ~= "string" then
    error("runner: the root, a directory, is expected", 2)
  end
  check_options(options, option_types, "runner", 2)
  local checked, message = config_room.parse(config, options.source)
  if not checked then
    return nil, message, "config"
  end
  local given = config or {}
  if type(given) == "string" then
    given = config_room.read(given, "toml", options.source or "speccoder.toml").value or {}
  end
  local source = options.source and core.real_path(options.source)
  return ready(setmetatable({
    root = root,
    config = checked,
    given = given,
    options = options,
    read_only = { source },
    hidden = {},
    scratch_paths = {},
    scratches = {},
    is_narrowed = false,
  }, Runner))
end

--- The speccoder.toml that governs a root: its own or the nearest ancestor's.
---@param root string  absolute
---@return string? file
local function governing(root)
  local at = root
  while at do
    local file = path.join(at, M.FILE)
    if disk.kind(file) then
      return file
    end
    at = path.parent(at)
  end
  return nil
end

--- Whoever else may write it would decide what the user's commands may do.
---@param file string
---@return true? ok
---@return string? message
local function check_owner(file)
  local facts, message = core.stat(file)
  local named, uid = core.lstat(file), core.probe().uid
  if not facts or not named then
    return nil, message or file .. ": it is gone"
  elseif facts.kind ~= "file" then
    return nil, ("%s: a file is expected, not a %s"):format(file, facts.kind)
  elseif facts.uid ~= uid and facts.uid ~= 0 or named.uid ~= uid and named.uid ~= 0 then
    -- A link chooses among the files of its reader: whose it is counts too.
    return nil, file .. ": belongs to another user: it governs nothing of yours"
  elseif facts.mode & 2 ~= 0 then
    return nil, file .. ": everybody may write it: it governs nothing"
  end
  return true
end

--- A runner for commands in `root` by the speccoder.toml that governs it, which the caller trusts with that; with the defaults
--- when there is none.
---@param root string
---@param options? procage.RunnerOptions
---@return procage.Runner?
---@return string? message
---@return any code
function M.at(root, options)
  if type(root) ~= "string" then
    error("runner_at: the root, a directory, is expected", 2)
  end
  options = options or {}
  check_options(options, option_types, "runner_at", 2)
  local resolved, message = core.real_path(root)
  if not resolved then
    return nil, "runner_at: " .. message, ENOENT
  end
  local file = governing(resolved)
  if not file then
    return M.new(resolved, {}, options)
  end
  local ok
  ok, message = check_owner(file)
  if not ok then
    return nil, message, "config"
  end
  local source
  source, message = config_room.read_file(file)
  if not source then
    return nil, message, "config"
  elseif #source.problems > 0 then
    return nil, config_room.summary(source.problems), "config"
  end
  return M.new(resolved, source.value, with(options, { source = file }))
end

-- ---- The machine --------------------------------------------------------------------------------------------------------

---@param host? procage.Host
---@return procage.Host
local function host_of(host)
  return hosts.complete(host or core.probe())
end

--- Whether anything can be confined on this machine.
---@param host? procage.Host
---@return boolean
---@return string? why  not, and what would lift it
function M.available(host)
  local fitted, message = fit.fit(profiles.plain(profiles.new()), host_of(host))
  if not fitted then
    return false, message --[[@as string]]
  end
  return true
end

--- What confines here.
---@param host? procage.Host
---@return "landlock+namespaces"|"landlock"|"namespaces"|"none"
function M.backend(host)
  local facts = host_of(host)
  if not M.available(host) then
    return "none"
  elseif facts.landlock_abi == 0 then
    return "namespaces"
  end
  return facts.userns and facts.mountns and "landlock+namespaces" or "landlock"
end

return M
