--- Starting from other runtimes: a command that is started through the program `procage-lua`, and a process that confines
--- itself and becomes the command.
---
--- A fitted profile goes from one process to the other; the second one fits it again, to what its own form has of the host, and
--- starts only when that leaves no gap that the first one did not know of.

local core = require("procage.core")
local disk = require("procage.disk")
local env = require("procage.env")
local executables = require("procage.executable")
local fit = require("procage.fit")
local list = require("procage.list")
local mechanisms = require("procage.mechanisms")
local path = require("procage.path")
local paths = require("procage.paths")
local policy_room = require("procage.policy")
local private = require("procage.private")
local profiles = require("procage.profile")
local resolve = require("procage.resolve")
local runner = require("procage.runner")

local M = {}

local ENOENT = 2

--- The kernel takes 128 KiB an argument (MAX_ARG_STRLEN, execve(2)).
local MAX_ARGUMENT = 100000

--- Facts that a mechanism needs by name.
local NAMED_FACTS = { "userns", "mountns", "netns", "netns_join", "ipcns", "pidns", "cgroup", "cgroup_memory", "cgroup_pids" }

---@param names string[]
---@param fact string
---@return boolean
local function any_needs(names, fact)
  for _, name in ipairs(names) do
    for _, need in ipairs(mechanisms.by_name[name].needs) do
      if need == fact or type(need) == "table" and need.fact == fact then
        return true
      end
    end
  end
  return false
end

--- The facts of this host that a fitted profile was fitted to, as far as its mechanisms tell: what it does not use may have
--- been left aside on purpose, and is left aside again.
---@param host procage.Host  complete; changed
---@param names? string[]  nil: a profile that was never fitted
---@return procage.Host
function M.narrow(host, names)
  if not names then
    return host
  end
  for _, fact in ipairs(NAMED_FACTS) do
    if not any_needs(names, fact) then
      host[fact] = false
    end
  end
  -- Every host that has them uses these two.
  local most = not any_needs(names, "landlock_abi") and 0
    or not list.has(names, "landlock-scope-signal") and 5
    or not list.has(names, "landlock-unix") and 8
    or host.landlock_abi
  host.landlock_abi = math.min(host.landlock_abi, most)
  return host
end

---@param names string[]
---@return string? message
local function unknown_mechanism(names)
  for i, name in ipairs(names) do
    if not mechanisms.by_name[name] then
      return ("profile: mechanisms[%d]: unknown mechanism %s"):format(i, name)
    end
  end
end

--- A policy made of a fitted profile that another process wrote.
---@param profile procage.Profile  valid; taken
---@param options? { home?: string, env?: table<string, string>, supervisor?: boolean }
---@return procage.Policy?
---@return string? message
---@return any code
function M.restore(profile, options)
  options = options or {}
  local message = not profile.workspace and "profile: workspace: missing" or unknown_mechanism(profile.mechanisms or {})
  if message then
    return nil, message, "config"
  end
  -- What has gone since is not granted.
  local write = {}
  for _, tree in ipairs(profile.write) do
    if disk.kind(tree) then
      write[#write + 1] = tree
    end
  end
  profile.write = write
  return runner.adopt(profile, {
    home = options.home,
    env = options.env,
    supervisor = options.supervisor,
    tolerates = profile.unenforced,
    narrow = function(host)
      return M.narrow(host, profile.mechanisms)
    end,
  })
end

-- ---- Becoming the command -------------------------------------------------------------------------------------------------

local function check_words(argv, what, level)
  if type(argv) ~= "table" or argv[1] == nil then
    error(what .. ": a list of words is expected, the first the program", level)
  end
  for i = 1, #argv do
    if type(argv[i]) ~= "string" or argv[i]:find("\0", 1, true) then
      error(("%s: argument %d: a string without NUL is expected"):format(what, i), level)
    end
  end
end

local function check_options(options, known, what, level)
  for key, value in pairs(options) do
    if not known[key] then
      error(("%s: unknown key %s"):format(what, tostring(key)), level)
    elseif type(value) ~= known[key] then
      error(("%s: %s: a %s is expected"):format(what, key, known[key]), level)
    end
  end
end

---@return string? cwd
---@return string? message
local function working_directory(policy, wanted)
  local cwd, exists = disk.resolve(path.join(policy.profile.workspace, wanted or "."))
  if not exists or disk.kind(cwd) ~= "directory" then
    return nil, cwd .. ": no such directory"
  end
  return cwd
end

--- The directory for temporary files: the caller's, who removes it, or one of our own, which a later start sweeps away.
---@return string|false|nil directory  false: none is needed; nil: refused
---@return string? message
---@return userdata? lock  of one of our own
local function temporary_directory(policy)
  local given = policy.profile.tmp_path
  if not policy:needs_directory() then
    return false
  elseif given then
    local ok, message = private.check(given, policy.context.uid)
    if not ok then
      return nil, "tmp_path: " .. message
    end
    return given
  end
  local made, lock = private.make(policy.caller_env, {})
  if not made then
    return nil, lock --[[@as string]]
  end
  return made, nil, lock --[[@as userdata]]
end

--- Confines this process and becomes the command. Returns only on failure, after which the process may be half confined: it
--- should say why, and exit.
---@param policy procage.Policy  fitted without a supervisor
---@param argv string[]
---@param options { cwd?: string, env?: table<string, string>, executable?: procage.Executable, on_notice?: fun(text: string) }
---@return nil
---@return string message
---@return any code
---@return table? detail  {step, op, path, errno}
function M.become(policy, argv, options)
  local ok, message, code = policy:admit()
  if not ok then
    return nil, message, code
  end
  local cwd
  cwd, message = working_directory(policy, options.cwd)
  if not cwd then
    return nil, message, ENOENT, { step = "directory", errno = ENOENT }
  end
  local plan
  plan, message, code = policy:plan()
  if not plan then
    return nil, message, code
  end
  local found, detail
  found, message, code, detail = policy:programs_of({ argv[1], executable = options.executable, env = options.env }, cwd)
  if not found then
    return nil, message, code, detail
  end
  local directory, why, lock = temporary_directory(policy)
  if directory == nil then
    return nil, why, ENOENT, { step = "prepare", errno = ENOENT }
  end
  if directory then
    ok, message, code = core.private_claim(directory)
    if not ok then
      return nil, "tmp_path: " .. message, code, { step = "prepare", errno = code }
    end
  end
  if lock and options.on_notice then
    options.on_notice(directory .. ": its temporary files, removed by a later start")
  end
  local words = policy:environment(options.env, cwd, directory or nil)
  local _, problem, errno
  _, problem, errno, detail = core.become(plan, {
    argv = table.move(argv, 1, #argv, 1, {}),
    env = words,
    programs = found.programs,
    chosen = found.chosen,
    cwd = cwd,
    directory = directory or nil,
  })
  if lock then
    private.remove(directory --[[@as string]], lock)
  end
  return nil, executables.explain(options.executable, problem, errno), errno, detail
end

--- policy:exec: confines the calling process itself.
---@param policy procage.Policy
---@param argv string[]
---@param options? { cwd?: string, env?: table<string, string> }
function M.exec(policy, argv, options)
  options = options or {}
  check_words(argv, "exec", 3)
  check_options(options, { cwd = "string", env = "table" }, "exec", 3)
  resolve.make_caches(policy.fitted, policy.context)
  local profile = profiles.plain(policy.profile)
  profile.write = policy.fitted.write
  local own, message, code = runner.adopt(profile, {
    context = policy.context,
    env = policy.caller_env,
    mode = policy.mode,
    supervisor = false,
    tolerates = {},
    narrow = function(host)
      return policy.given_host or host
    end,
  })
  if not own then
    return nil, message, code
  end
  return M.become(own, argv, options)
end

-- ---- Starting through the program -----------------------------------------------------------------------------------------

---@class procage.Wrapped
---@field argv string[]
---@field report procage.Row[]  what the command is started under
---@field close fun()  removes what belongs to the start; once the command has ended

--- The profile, as one argument: a file where it is too long for that.
---@return string? argument
---@return string? message
local function profile_argument(json, directory)
  if #json <= MAX_ARGUMENT then
    return json
  end
  local name = directory .. "/profile"
  local file, message = io.open(name, "wb")
  if not file then
    return nil, message
  end
  local ok, why = file:write(json)
  ok = file:close() and ok
  if not ok then
    return nil, why or name .. ": not written"
  end
  return "@" .. name
end

--- The fitted profile of the form, and its report.
local function fit_form(policy, is_tree)
  local ok, message, code = policy:review()
  if not ok then
    return nil, message, code
  end
  resolve.make_caches(policy.fitted, policy.context)
  if is_tree then
    return profiles.plain(policy.fitted), policy.report
  end
  local profile = profiles.plain(policy.profile)
  profile.write = policy.fitted.write
  return fit.fit(profile, policy.host, { is_checked = true, supervisor = false, extensions = policy.extensions })
end

--- What to start, in whatever runtime, for the command to run under the policy.
---
--- Without `tree` the process that is started becomes the command: same pid and streams, nobody outside to look after it. With
--- `tree` it stays, as the parent that looks after a run: PID namespace, deadline, private directory; it passes streams and
--- signals on and exits as the command did. Which of the two it is when nobody says is for the policy to say.
---
--- The arguments can be read by every user of the machine until the command runs: a secret goes into the environment of the
--- process that is started, under a name that the policy keeps, not into `env`.
---@param policy procage.Policy
---@param argv string[]
---@param options? { tree?: boolean, cwd?: string, env?: table<string, string>, executable?: procage.Executable }
---@return procage.Wrapped?
---@return string? message
---@return any code
function M.wrap(policy, argv, options)
  options = options or {}
  check_words(argv, "wrap", 3)
  check_options(options, { tree = "boolean", cwd = "string", env = "table", executable = "table" }, "wrap", 3)
  local program, message = paths.program()
  if not program then
    return nil, message, ENOENT
  end
  local is_tree = options.tree
  if is_tree == nil then
    is_tree = policy.profile.wrap == "tree"
  end
  local fitted, report, code = fit_form(policy, is_tree)
  if not fitted then
    return nil, report, code
  end
  local ok, why
  ok, why, code = policy_room.admit(report, policy.profile.accept, policy.mode)
  if not ok then
    return nil, why, code
  end
  local cwd
  cwd, message = working_directory(policy, options.cwd)
  if not cwd then
    return nil, message, ENOENT
  end
  for name, value in pairs(env.apply(options.env or {}, { drop = fitted.env.drop, keep = fitted.env.keep })) do
    fitted.env.set[name] = value
  end
  ok, why = profiles.validate(fitted)
  if not ok then
    error("wrap: env: " .. why, 3)
  end

  local directory, lock
  local function close()
    if directory then
      private.remove(directory, lock)
      directory = nil
    end
  end
  local needs_directory = not is_tree and (fitted.tmp == "private" or list.has(fitted.mechanisms, "mount-tree"))
  local json = profiles.to_json(fitted)
  if needs_directory or #json > MAX_ARGUMENT then
    directory, lock, code = private.make(policy.caller_env, {})
    if not directory then
      return nil, lock --[[@as string]], code
    end
    fitted.tmp_path = needs_directory and directory or nil
    json = profiles.to_json(fitted)
  end
  local argument
  argument, message = profile_argument(json, directory)
  if not argument then
    close()
    return nil, message, ENOENT
  end
  local words = { program, "__sandbox" }
  if is_tree then
    words[#words + 1] = "--tree"
  end
  if options.executable then
    words[#words + 1] = "--executable"
    words[#words + 1] = executables.to_text(options.executable)
  end
  for _, word in ipairs({ "--home", policy.context.home, "--cwd", cwd, argument, "--" }) do
    words[#words + 1] = word
  end
  table.move(argv, 1, #argv, #words + 1, words)
  return setmetatable({ argv = words, report = report, close = close }, { __close = close })
end

return M
