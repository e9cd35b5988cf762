--- Runs that are started ahead of their commands, for a host that asks for it: the next one of a plan is made while a command
--- runs, up to the process that will be the command, confined and waiting (platform/linux/spare.c).
---
--- What a spare was built from may change before it is taken. So the plan must hold, by the check that every run makes; what
--- that check does not see, since an ordinary run opens each name anew, is compared here: which object each name is.

local command = require("procage.runner.command")
local core = require("procage.core")
local disk = require("procage.disk")
local holders = require("procage.runner.holder")
local path = require("procage.path")
local private = require("procage.private")

local M = {}

--- How long one waits for its command at most: it keeps the workspace and the file systems of its mounts meanwhile.
M.LONGEST_MS = 10000

--- A change within one tick of the kernel's clock leaves the times of a directory as they were.
local TICK_US = 20000

local EOPNOTSUPP = 95

---@class procage.Spare
---@field handle userdata  of core.prepare
---@field directory? string
---@field lock? userdata
---@field room? procage.Room
---@field token integer  of the process that made it
---@field plan userdata
---@field holder? userdata  whose namespaces it is in
---@field names string[]
---@field identities string
---@field since_us integer

--- A private directory, and how it was when it was made.
---@class procage.Room
---@field directory string
---@field lock userdata
---@field mark string
---@field made_us integer
---@field idle_us integer  since when nobody has it
---@field token integer  of the process that made it

---@class procage.Spares
---@field list procage.Spare[]
---@field rooms procage.Room[]
---@field remains userdata[]  inits on their way out
---@field wait_ms integer
---@field in_use integer  runs that are not over
---@field most integer  as many as there were at once
local Pool = {}
Pool.__index = Pool

--- All of them, since each call looks after what has ended meanwhile, whosever it is.
local pools = setmetatable({}, { __mode = "k" })

---@param wait_ms? integer
---@return procage.Spares
function M.new(wait_ms)
  local pool = setmetatable({
    list = {},
    rooms = {},
    remains = {},
    wait_ms = wait_ms or M.LONGEST_MS,
    in_use = 0,
    most = 1,
    limit = core.processors(),
  }, Pool)
  pools[pool] = true
  return pool
end

--- In a fork of the host the directory is the other process's.
local function leave(directory, lock, token)
  if directory and token == core.process_token() then
    private.remove(directory, lock)
  elseif lock then
    lock:close()
  end
end

--- Lets go of one, with its directory.
---@param spare procage.Spare
function M.drop(spare)
  spare.handle:close()
  leave(spare.directory, spare.lock, spare.token)
end

function Pool:drop(i)
  M.drop(table.remove(self.list, i))
end

--- Lets go of inits that have gone.
function Pool:reap()
  for i = #self.remains, 1, -1 do
    if self.remains[i]:have_gone() then
      table.remove(self.remains, i)
    end
  end
end

--- Lets go of those that have ended, or are of a plan that is no more.
---@param plan? userdata
function Pool:sweep(plan)
  for i = #self.list, 1, -1 do
    local spare = self.list[i]
    if plan and spare.plan ~= plan or core.now_us() - spare.since_us > self.wait_ms * 1000 or not spare.handle:is_alive() then
      self:drop(i)
    end
  end
  self:reap()
  for i = #self.rooms, 1, -1 do
    if core.now_us() - self.rooms[i].idle_us > self.wait_ms * 1000 then
      local room = table.remove(self.rooms, i)
      leave(room.directory, room.lock, room.token)
    end
  end
end

--- Whatever has ended is let go of, in every policy of this state.
function M.sweep()
  for pool in pairs(pools) do
    pool:sweep()
  end
end

--- Ends them all.
function Pool:close()
  while self.list[1] do
    self:drop(#self.list)
  end
  for _, room in ipairs(self.rooms) do
    leave(room.directory, room.lock, room.token)
  end
  self.rooms = {}
  for _, remains in ipairs(self.remains) do
    remains:wait()
  end
  self.remains = {}
end
Pool.__gc = Pool.close

--- Operations that take a name of the host's.
local NAMED = {
  landlock_hide = true, landlock_path = true, tree_clone = true, tree_attach = true, mount_set = true,
  remount_read_only = true, tmpfs = true, pin_link = true,
}

--- The names that a spare holds objects of; in `loose` those that no directory's times tell of.
local function names_of(plan, survey)
  local seen, every, loose = {}, {}, {}
  local function add(name)
    if seen[name] then
      return
    end
    seen[name] = true
    every[#every + 1] = name
    local parent = path.parent(name)
    if not parent or not survey.stamps[parent] then
      loose[#loose + 1] = name
    end
  end
  for _, op in ipairs(plan:ops()) do
    if NAMED[op.op] and op.path then
      add(op.path)
    end
  end
  for _, entry in ipairs(survey.hidden) do
    if entry.kind then
      add(entry.path)
    end
  end
  for _, name in ipairs(survey.inside) do
    add(name)
  end
  return every, loose
end

--- Whether a run of this policy, of this command, can be started ahead. One with a terminal of its own is for a person, who
--- does not see two milliseconds, and its process would have to be made with it.
---@param policy procage.Policy
---@param cmd? table
---@return boolean
function M.suit(policy, cmd)
  return not (cmd and cmd.terminal or policy.profile.unconfined)
end

--- Starts the next run of a policy ahead. That it cannot be done is no failure: then the run starts by itself.
---@param policy procage.Policy  with a plan
---@return true? ok
---@return string? message
---@return integer? code
function M.start_next(policy)
  if not policy.pool or not policy.made or not M.suit(policy) then
    return nil, "prepare: runs of this policy are not started ahead", EOPNOTSUPP
  end
  policy.swept = policy.swept or {}
  local use, why, errno = holders.use(policy)
  if use == nil then
    return nil, why, errno
  end
  local ok, message, code = policy.pool:add(policy, use and policy.holder or nil, use or nil)
  -- It is no run yet: nobody would tell that one is over whose command never came.
  if use then
    use:close()
  end
  return ok, message, code
end

-- ---- Private directories ---------------------------------------------------------------------------------------------------

--- What tells whether anything was done in a private directory or to it: no name made or removed, no mode or attribute changed.
local function mark_of(directory)
  local marks = {}
  for i, name in ipairs({ "", "/tmp", "/var", "/shm" }) do
    marks[i] = disk.mark(directory .. name) or ""
  end
  return table.concat(marks)
end

---@return procage.Room?
---@return string? message
---@return integer? code
local function new_room(variables, swept)
  local directory, lock, code = private.make(variables, swept)
  if not directory then
    return nil, lock --[[@as string]], code
  end
  local now = core.now_us()
  return { directory = directory, lock = lock, mark = mark_of(directory), made_us = now, idle_us = now,
    token = core.process_token() }
end

--- A directory for the next run: one that is there and was never touched, else a new one. Making and removing it are half a
--- millisecond on ext4. One that is just made would not tell a change of the same moment, so another is made to grow older.
function Pool:room(variables, swept)
  for i, room in ipairs(self.rooms) do
    if core.now_us() - room.made_us >= TICK_US then
      table.remove(self.rooms, i)
      if room.token == core.process_token() and room.lock:is_own() and mark_of(room.directory) == room.mark then
        return room
      end
      leave(room.directory, room.lock, room.token)
      break
    end
  end
  if not self.rooms[1] then
    self.rooms[1] = new_room(variables, swept)
  end
  return new_room(variables, swept)
end

--- After a run: whether its directory is as it was made, and kept for another.
---@param room procage.Room
---@param begun_us integer  when the run was begun
---@return boolean
function Pool:keep(room, begun_us)
  if begun_us - room.made_us < TICK_US or #self.rooms > self.limit or mark_of(room.directory) ~= room.mark then
    return false
  end
  room.idle_us = core.now_us()
  table.insert(self.rooms, room)
  return true
end

-- ---- Spares ----------------------------------------------------------------------------------------------------------------

--- Starts one more ahead, unless there are as many as there were runs at once.
---@param policy procage.Policy  whose plan holds, or held a moment ago: it is looked at again when the spare is taken
---@param holder? userdata  whose namespaces it is to be in
---@param use? userdata  of that holder
---@return true? ok
---@return string? message
---@return integer? code
function Pool:add(policy, holder, use)
  if #self.list >= math.min(self.most, self.limit) then
    return true
  end
  local plan, survey = policy.made, policy.survey
  if not survey.loose then
    survey.every, survey.loose = names_of(plan, survey)
  end
  local room, why, code
  if policy:needs_directory() then
    room, why, code = self:room(policy.caller_env, policy.swept)
    if not room then
      return nil, why, code
    end
  end
  local directory, lock = room and room.directory, room and room.lock
  local now = core.now_us()
  local names = now - policy.made_us < TICK_US and survey.every or survey.loose
  local identities = core.identities(names)
  local handle, message, errno = core.prepare(plan, command.ahead(policy, directory, self.wait_ms, use))
  if not handle then
    leave(directory, lock, core.process_token())
    return nil, message, errno
  end
  table.insert(self.list, {
    handle = handle,
    token = core.process_token(),
    room = room,
    directory = directory,
    lock = lock,
    plan = plan,
    holder = holder,
    names = names,
    identities = identities,
    since_us = now,
  })
  return true
end

--- One for a run that begins now; the caller owns it. The oldest first: it is the likeliest to be ready. Whether it lives, and
--- the host what it was, core asks when it starts.
---@param plan userdata
---@param holder? userdata  whose namespaces the run is to be in
---@return procage.Spare?
function Pool:take(plan, holder)
  local token, oldest_us = core.process_token(), core.now_us() - self.wait_ms * 1000
  local spare = table.remove(self.list, 1)
  while spare and (spare.token ~= token or spare.plan ~= plan or spare.holder ~= holder or spare.since_us < oldest_us) do
    M.drop(spare)
    spare = table.remove(self.list, 1)
  end
  if not spare then
    return nil
  end
  if spare.lock and not spare.lock:is_own() or core.identities(spare.names) ~= spare.identities then
    M.drop(spare)
    return nil
  end
  return spare
end

--- A run has begun: it is counted until finish.
---@return procage.Spares
function Pool:begin()
  self.in_use = self.in_use + 1
  self.most = math.max(self.most, self.in_use)
  return self
end

function Pool:finish()
  self.in_use = self.in_use - 1
end

--- The init of a run that is over, on its way out: reaped when another run of this policy is over, when one of any policy
--- starts, or in the end.
---@param remains userdata
function Pool:leave(remains)
  self:reap()
  table.insert(self.remains, remains)
end

return M
