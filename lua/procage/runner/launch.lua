--- Starting commands under a policy: admitted, planned, begun, concluded.

local core = require("procage.core")
local command = require("procage.runner.command")
local disk = require("procage.disk")
local executables = require("procage.executable")
local holders = require("procage.runner.holder")
local later = require("procage.later")
local path = require("procage.path")
local private = require("procage.private")
local quote = require("procage.quote")
local running = require("procage.running")
local settle = require("procage.runner.settle")
local spares = require("procage.runner.spares")

local masks = later("procage.mask")

local M = {}

local ENOENT = 2

--- The plan was made a moment ago and a path in it is gone since: made again, once.
local function is_stale(detail)
  return detail and detail.errno == ENOENT and (detail.op == "tree_clone" or detail.op == "landlock_path" or
    detail.op == "tree_attach")
end

local function close(use)
  if use then
    use:close()
  end
end

--- One try to start a command: what `go` (core.run or core.start) made of it, and what there was before.
---@param spare? procage.Spare  taken
---@param use? userdata  of the policy's namespaces
local function try(self, plan, cmd, cwd, found, go, spare, use)
  local directory, lock, code
  if spare then
    directory, lock = spare.directory, spare.lock
  elseif self:needs_directory() then
    self.swept = self.swept or {}
    directory, lock, code = private.make(self.caller_env, self.swept)
    if not directory then
      close(use)
      return nil, lock, code
    end
  end
  local begun = settle.note(self, cmd, directory, lock)
  begun.since_us = core.now_us()
  local specification = command.specification(self, cmd, cwd, directory, found)
  specification.spare, specification.joins = spare and spare.handle, use
  local result, why, errno, detail = go(plan, specification)
  if not result then
    close(use)
    if spare then
      spares.drop(spare)
    elseif directory then
      private.remove(directory, lock)
    end
    return nil, why, errno, detail
  end
  begun.result, begun.use = result, use
  begun.pool = self.pool and self.pool:begin()
  begun.room = spare and spare.room
  return begun
end

--- A plan that holds, and a run of it: one that was started ahead, where there is one.
---@param self procage.Policy
---@return procage.Begun?
---@return string? message
---@return any code
---@return table? detail
function M.attempt(self, cmd, cwd, found, go)
  local plan, message, code = self:plan()
  if not plan then
    return nil, message, code
  end
  local use, why, errno = holders.use(self)
  local spare = use ~= nil and self.pool and spares.suit(self, cmd) and self.pool:take(plan, use and self.holder or nil)
  local begun, detail
  if spare then
    begun = try(self, plan, cmd, cwd, found, go, spare, use or nil)
    if not begun then
      use, why, errno = holders.use(self)
    end
  end
  -- When the spare was none after all nothing has run; and a command that cannot be run is told of by a run of its own.
  if not begun and use ~= nil then
    begun, why, errno, detail = try(self, plan, cmd, cwd, found, go, nil, use or nil)
  end
  spares.sweep()
  return begun, why, errno, detail
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
  return ("%s: command not found: %s%s; what decides: procage-lua why exec %s"):format(
    cmd[1],
    answer.note or "not to be seen by the run",
    change,
    quote.shell(named)
  )
end

--- Starts it with `go`, when what the report says is tolerated.
---@param self procage.Policy
---@param cmd table
---@param go function
---@return procage.Begun?
---@return string? message
---@return any code
---@return table? detail
function M.launch(self, cmd, go)
  local ok, message, code = self:admit()
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
  if not begun and (is_stale(detail) or holders.is_lost(self, detail)) then
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
  local plain = {}
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
---@param self procage.Policy
---@param cmd table  {argv..., cwd=, env=, timeout_ms=, executable=, stdin="closed"|"inherit"|bytes|{file=}, on_output=,
---  stream=, terminal=, cancel_signals=, mask=true|procage.Masker}
---@return procage.Outcome?
---@return string? message
---@return any code
---@return table? detail  {step, op, path, errno}
function M.run(self, cmd)
  command.check_is_table(cmd, "run")
  if cmd.mask then
    return run_masked(self, cmd)
  end
  command.check(cmd, "run", command.RUN_KEYS)
  if cmd.on_output then
    if cmd.stream or cmd.terminal or cmd.cancel_signals then
      error("run: on_output goes without stream, terminal and cancel_signals", 2)
    end
  end
  -- Stepped, since between the start and the first step there is time for the next one.
  if cmd.on_output or self.pool and not (cmd.stream or cmd.terminal or cmd.cancel_signals) then
    local run, message, code, detail = self:begin(cmd)
    if not run then
      return nil, message, code, detail
    end
    spares.start_next(self)
    return run:wait(cmd.on_output)
  end
  local begun, why, errno, detail = self:launch(cmd, core.run)
  if not begun then
    return nil, why, errno, detail
  end
  return settle.conclude(self, begun, begun.result)
end

--- Starts a command that is checked already.
---@param self procage.Policy
---@param cmd table
---@return procage.Run?
---@return string? message
---@return any code
---@return table? detail
function M.begin(self, cmd)
  local begun, why, errno, detail = self:launch(cmd, core.start)
  if not begun then
    return nil, why, errno, detail
  end
  return running.new(begun.result, function(raw)
    return settle.conclude(self, begun, raw)
  end)
end

--- Starts one command, for a caller who steps it; a run that he lets go of is killed.
---@param self procage.Policy
---@param cmd table  {argv..., cwd=, env=, timeout_ms=, executable=, stdin="closed"|"inherit"|bytes|{file=}|{pipe=true}}
---@return procage.Run?
---@return string? message
---@return any code
---@return table? detail
function M.start(self, cmd)
  command.check_is_table(cmd, "start")
  command.check(cmd, "start", {})
  local run, message, code, detail = self:begin(cmd)
  spares.start_next(self)
  return run, message, code, detail
end

--- Starts the next run ahead of its command: what does not depend on it is done by then, and a process waits for it, ten
--- seconds at most. From here on each run has its successor started so, until policy:close(); as with load's `prepared`.
---@param self procage.Policy
---@return true? ok
---@return string? message  it cannot be done; runs start as ever
---@return any code
function M.prepare(self)
  local plan, message, code = self:plan()
  if not plan then
    return nil, message, code
  end
  self.pool = self.pool or spares.new()
  spares.sweep()
  self.pool:sweep(plan)
  return spares.start_next(self)
end

--- Ends what was started ahead, and lets go of what the runs have in common. Runs go on, and later ones start by themselves.
---@param self procage.Policy
function M.close(self)
  if self.pool then
    self.pool:close()
    self.pool = nil
  end
  holders.close(self)
end

return M
