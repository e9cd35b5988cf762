--- What is left to do once everything that a run started is dead: its directory removed, hand-off files moved out, masks
--- compared; and what there was before, for that.

local disk = require("procage.disk")
local handoff = require("procage.handoff")
local later = require("procage.later")
local list = require("procage.list")
local outcomes = require("procage.outcome")
local path = require("procage.path")
local printable = require("procage.printable")
local private = require("procage.private")
local report_room = require("procage.report")
local resolve = require("procage.resolve")

local inert = later("procage.inert")
local known_roots = later("procage.known_roots")

local M = {}

---@class procage.Begun  how things were before a run
---@field executable? procage.Executable
---@field survey procage.Survey  its own: another run may have the plan made anew meanwhile
---@field masked table<string, string|false>  the marks of hidden files that a mask alone keeps
---@field handoff table
---@field directory? string
---@field lock? any
---@field result? any  what core made of it
---@field pool? procage.Spares  where it counts as a run
---@field use? userdata  of namespaces that it has in common with other runs
---@field room? procage.Room  its directory, when that was made ahead
---@field since_us? integer

local function marks_of(names)
  local marks = {}
  for _, name in ipairs(names) do
    marks[name] = disk.mark(name)
  end
  return marks
end

--- How things are, for `conclude`.
---@param self procage.Policy  whose plan has just been made or found fresh
---@param cmd table
---@param directory? string
---@param lock? any
---@return procage.Begun
function M.note(self, cmd, directory, lock)
  return {
    executable = cmd.executable,
    survey = self.survey,
    masked = marks_of(self.survey.inside),
    handoff = handoff.note(self.survey.watch),
    directory = directory,
    lock = lock,
  }
end

local function hint_of(entry)
  if entry.is_change then
    return "%s was changed: look before someone runs it"
  elseif entry.moved_to then
    return "%s appeared: a file that others run. Moved to %s"
  elseif entry.is_closed then
    return "%s appeared and could not be moved: a file that others run. It was closed (mode 000)"
  end
  return "%s appeared and could not be moved: a file that others run. Remove it before anything else"
end

--- Repositories of trees that are too large to be looked through, for the next run to know.
local function keep_roots(self, watch)
  if not watch.is_over and #(watch.large or {}) == 0 then
    return
  end
  for _, tree in ipairs(self.fitted.write) do
    local roots = {}
    for _, root in ipairs(watch.roots) do
      roots[#roots + 1] = root ~= tree and path.is_beneath(root, tree) and root or nil
    end
    if #roots > 0 then
      known_roots.write(self.context, tree, roots)
    end
  end
end

--- Moves out what someone else would run, once nothing of the run is left to put it back.
local function move_out(self, outcome, begun)
  local target
  -- Most runs leave nothing to be judged, and do not load who judges.
  local function may_stay(...)
    return inert.may_stay(...)
  end
  local found = handoff.settle(begun.survey.watch, begun.handoff, may_stay, function()
    target = target or resolve.quarantine(self.context)
    return target
  end)
  for _, entry in ipairs(found) do
    outcome.notices[#outcome.notices + 1] = hint_of(entry):format(entry.path, entry.moved_to)
  end
  outcome.appeared = found
  keep_roots(self, begun.survey.watch)
end

--- A hidden path inside a writable tree is kept by a mask alone: a replacement from outside takes it away.
local function check_masks(outcome, begun)
  for _, name in ipairs(begun.survey.inside) do
    if disk.mark(name) ~= begun.masked[name] then
      outcome.notices[#outcome.notices + 1] =
        ("hidden %s was replaced from outside during the run: it may have been readable"):format(name)
    end
  end
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
    .. (list.has(self.fitted.mechanisms, "pidns") and "" or ", and a process of it may still run")
end

--- A program that was executed by descriptor bears its number as a name (execveat(2); before Linux 6.14).
local function name_processes(raw, executable)
  for _, denial in ipairs(executable and raw.denials or {}) do
    if (denial.process or ""):find("^%d$") then
      denial.process = path.basename(executable.path)
    end
  end
end

local function remove_directory(outcome, begun)
  if not begun.directory or begun.room and begun.pool:keep(begun.room, begun.since_us) then
    return
  end
  local removed, left = private.remove(begun.directory, begun.lock)
  if not removed then
    outcome.notices[#outcome.notices + 1] = "the run's private directory is left: " .. left
  end
end

--- The run's namespaces and mounts are taken down in its init's exit, which went on beside all of the above. Who has runs
--- started ahead has them kept for a while in any case, and does not wait.
local function see_off(self, begun, remains)
  if remains and begun.pool and begun.pool == self.pool then
    begun.pool:leave(remains)
  elseif remains then
    remains:wait()
  end
end

---@param self procage.Policy
---@param begun procage.Begun
---@param raw table  as core.run returns it
---@return procage.Outcome
function M.conclude(self, begun, raw)
  if begun.pool then
    begun.pool:finish()
  end
  if begun.use then
    begun.use:close()
  end
  name_processes(raw, begun.executable)
  local outcome = outcomes.new(raw, self)
  remove_directory(outcome, begun)
  note_loss(self, outcome)
  check_masks(outcome, begun)
  move_out(self, outcome, begun)
  if outcome.dropped_bytes > 0 then
    outcome.notices[#outcome.notices + 1] = ("%d bytes of output were dropped"):format(outcome.dropped_bytes)
  end
  -- They name what a command has named, and somebody prints them. The paths themselves are in `appeared`.
  for i, notice in ipairs(outcome.notices) do
    outcome.notices[i] = printable(notice)
  end
  -- Told apart from what happened: a caller may know the gaps by now, but not what a run has just done.
  outcome.events = outcome.notices
  outcome.notices = report_room.notices(self.report)
  for _, more in ipairs({ self.load_notices, begun.survey.notices, outcome.events }) do
    list.append(outcome.notices, more)
  end
  see_off(self, begun, raw.remains)
  return outcome
end

return M
