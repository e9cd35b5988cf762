--- One command under a policy: what a caller may say of it, its environment, its program, and what core is told to start.

local core = require("procage.core")
local env = require("procage.env")
local executables = require("procage.executable")
local list = require("procage.list")
local path = require("procage.path")
local plans = require("procage.plan")

local M = {}

local ENOENT, EACCES = 2, 13

-- ---- What a caller says -----------------------------------------------------------------------------------------------------

--- What a command may say besides its words; `run` and `start` add their own.
local KEYS = { cwd = "string", env = "table", timeout_ms = "number", executable = "table" }
M.RUN_KEYS = { stream = "boolean", cancel_signals = "boolean", terminal = "boolean", on_output = "function" }

--- "closed", "inherit", bytes, {file = path} or, for a run that is stepped, {pipe = true}.
local function is_stdin(stdin, may_be_pipe)
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

--- People pass a line of shell, or the words one by one. Raises for the caller's caller, as check does.
---@param cmd any
---@param what "run"|"start"
function M.check_is_table(cmd, what)
  if type(cmd) ~= "table" then
    error(('%s: a table of words is expected, %s({ "ls", "-l" }), not a %s'):format(what, what, type(cmd)), 3)
  end
end

---@param cmd table
---@param what "run"|"start"
---@param own_keys table<string, string>  the type of each
function M.check(cmd, what, own_keys)
  for key, value in pairs(cmd) do
    local expected = KEYS[key] or own_keys[key]
    if math.type(key) == "integer" then
      if type(value) ~= "string" or value:find("\0", 1, true) then
        error(("%s: argument %d: a string without NUL is expected"):format(what, key), 3)
      end
    elseif key == "stdin" then
      if not is_stdin(value, what == "start") then
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

-- ---- Its environment and its program ----------------------------------------------------------------------------------------

--- Whether a run has a directory of its own for temporary files.
---@param self procage.Policy
---@return boolean
function M.needs_directory(self)
  return self.fitted.tmp == "private" or list.has(self.fitted.mechanisms, "mount-tree")
end

--- Where the run's temporary files go: in its own tree that is /tmp, elsewhere a directory below the host's.
local function temporary(self, directory)
  local is_covered = list.has(self.fitted.mechanisms, "private-tmp-mount") and self.survey.covered[1] == "/tmp"
  return is_covered and "/tmp" or directory .. "/tmp"
end

--- The words of the environment: the caller's, less what looks secret, with what the run sets.
---@param self procage.Policy
---@param extra? table<string, string>  the command's own
---@param cwd string
---@param directory? string  the run's
---@return string[] words  NAME=value, sorted
---@return table<string, string> variables
function M.environment(self, extra, cwd, directory)
  local rules, result = self.fitted.env, {}
  local added = extra and env.apply(extra, { drop = rules.drop, keep = rules.keep }) or {}
  for _, variables in ipairs({ self.kept_env, added, rules.set }) do
    for name, value in pairs(variables) do
      result[name] = value
    end
  end
  if directory and self.fitted.tmp == "private" then
    local tmp = temporary(self, directory)
    for _, name in ipairs({ "TMPDIR", "TMP", "TEMP", "TEMPDIR" }) do
      result[name] = tmp
    end
    -- These two programs look elsewhere than TMPDIR says.
    result.TMUX_TMPDIR, result.TMPPREFIX = tmp, tmp .. "/zsh"
  end
  result.PWD = cwd
  local words = {}
  for name, value in pairs(result) do
    words[#words + 1] = name .. "=" .. value
  end
  table.sort(words)
  return words, result
end

--- PATH, where nothing of the command's own is in it: nobody wants the other hundred for it.
local function path_of(self, extra, cwd)
  if not extra then
    return self.fitted.env.set.PATH or self.kept_env.PATH
  end
  local _, variables = self:environment(extra, cwd)
  return variables.PATH
end

--- Where the program of a command is looked for, and where the policy lets it come from.
---@param self procage.Policy
---@param cmd { [1]: string, executable?: procage.Executable, env?: table<string, string> }
---@param cwd string
---@return { programs: string[], chosen?: table }? found
---@return string? message
---@return integer? code
---@return table? detail
function M.programs_of(self, cmd, cwd)
  local search, found = path_of(self, cmd.env, cwd), {}
  if cmd.executable then
    found.programs, found.chosen = executables.chosen(cmd.executable)
  else
    found.programs = executables.candidates(cmd[1], cwd, search)
  end
  if self.profile.programs == "path" then
    local trusted = executables.trusted(cmd[1], search, self.fitted.write, cmd.executable)
    local exists, _, code = executables.find(cmd[1], cwd, { PATH = search })
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

-- ---- What core is told ------------------------------------------------------------------------------------------------------

--- Standard output and error that lead to one place are one pipe, or their order would be lost.
local function is_one_place()
  local out, err = core.stat("/proc/self/fd/1"), core.stat("/proc/self/fd/2")
  return out ~= nil and err ~= nil and out.dev == err.dev and out.ino == err.ino
end

local function add_cgroup(spec, fitted, host)
  local limits, mechanisms = fitted.limits, list.set(fitted.mechanisms)
  spec.memory_bytes = mechanisms["cgroup-memory"] and limits.memory_bytes or nil
  spec.processes = mechanisms["cgroup-pids"] and limits.processes or nil
  if spec.memory_bytes or spec.processes or mechanisms["cgroup-kill"] then
    spec.cgroup = host.cgroup
  end
end

local function add_streams(spec, cmd)
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
end

--- What core.prepare takes beside the plan: as much of a run as its command does not say.
---@param self procage.Policy
---@param directory? string  the run's
---@param wait_ms integer
---@param use? userdata  of the holder whose namespaces it is in
---@return table
function M.ahead(self, directory, wait_ms, use)
  local watch = plans.file_watch(self.fitted, self:recorded())
  local spec = { directory = directory, wait_ms = wait_ms, is_audited = watch.audit, joins = use }
  add_cgroup(spec, self.fitted, self.host)
  return spec
end

--- What core.run and core.start take beside the plan.
---@param self procage.Policy
---@param cmd table
---@param cwd string  resolved
---@param directory? string  the run's
---@param found { programs: string[], chosen?: table }
---@return table
function M.specification(self, cmd, cwd, directory, found)
  local watch, limits = plans.file_watch(self.fitted, self:recorded()), self.fitted.limits
  local spec = {
    argv = list.append({}, cmd),
    env = (self:environment(cmd.env, cmd.cwd or cwd, directory)),
    programs = found.programs,
    chosen = found.chosen,
    cwd = cwd,
    directory = directory,
    takes_signals = cmd.cancel_signals,
    timeout_ms = cmd.timeout_ms or limits.timeout_ms,
    grace_ms = limits.grace_ms,
    stdin_grace_ms = limits.stdin_grace_ms,
    capture_bytes = limits.output_bytes,
    observes = watch.observer and (watch.audit and "mounts" or self.observes or "refused") or nil,
    is_audited = watch.audit,
    may_leave_init = true,
  }
  add_cgroup(spec, self.fitted, self.host)
  add_streams(spec, cmd)
  return spec
end

return M
