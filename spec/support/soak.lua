--- Many runs in one process, of children that fork, flood and refuse to die; and what is left of them.

local core = require("procage.core")

local M = {}

--- Every private directory that this process has made: others may make theirs at the time.
local directories = {}
local make_directory = core.private_dir
core.private_dir = function(base) -- luacheck: ignore
  local path, lock, code = make_directory(base)
  directories[#directories + 1] = path
  return path, lock, code
end

local function directories_left()
  local count = 0
  for at = #directories, 1, -1 do
    if core.lstat(directories[at]) then
      count = count + 1
    else
      table.remove(directories, at)
    end
  end
  return count
end

--- Whether a heap that was looked at in even steps has a trend: its least in the last quarter against that in the second.
--- The first quarter fills tables and caches; garbage that waits for the collector comes and goes on top of what is held.
---@param samples integer[]  bytes
---@param slack_bytes integer
---@return string?  what has grown
function M.growth(samples, slack_bytes)
  local quarter = #samples // 4
  if quarter < 1 then
    return nil
  end
  local early = math.min(table.unpack(samples, quarter + 1, 2 * quarter))
  local late = math.min(table.unpack(samples, #samples - quarter + 1, #samples))
  if late > early + slack_bytes then
    return ("the heap has grown: at least %d bytes in the second quarter, at least %d in the last"):format(early, late)
  end
  return nil
end

---@class procage.Remains
---@field descriptors integer
---@field zombies integer
---@field children integer  the zombies among them
---@field mounts integer
---@field directories integer  private ones that this process has made
---@field cgroups integer
---@field resident_kib integer

local function read(file)
  local handle = io.open(file, "rb")
  local text = handle and handle:read("a")
  if handle then
    handle:close()
  end
  return text or ""
end

local function count_names(directory, pattern)
  local count = 0
  for name in pairs(core.read_dir(directory) or {}) do
    count = count + (name:find(pattern) and 1 or 0)
  end
  return count
end

--- Children of this process: all, and those that are dead and not reaped.
local function children()
  local own, all, zombies = read("/proc/self/stat"):match("^%d+"), 0, 0
  for name in pairs(assert(core.read_dir("/proc"))) do
    local state, parent = read("/proc/" .. name .. "/stat"):match("^%d+ %(.*%) (%a) (%d+)")
    if parent == own then
      all = all + 1
      zombies = zombies + (state == "Z" and 1 or 0)
    end
  end
  return all, zombies
end

---@param cgroup string|false
---@return procage.Remains
function M.remains(cgroup)
  collectgarbage()
  collectgarbage()
  local all, zombies = children()
  return {
    descriptors = count_names("/proc/self/fd", "%d"),
    children = all,
    zombies = zombies,
    mounts = select(2, read("/proc/self/mountinfo"):gsub("\n", "")),
    directories = directories_left(),
    cgroups = cgroup and count_names(cgroup, ("^procage%%-run%%-%s%%-"):format(read("/proc/self/stat"):match("^%d+"))) or 0,
    resident_kib = tonumber(read("/proc/self/status"):match("VmRSS:%s*(%d+)")),
  }
end

--- Each command, and how it must end; `stray` is the program of stray.c.
local function commands(stray, mark)
  local function left(mode)
    return {
      cmd = { "/bin/sh", "-c", ("%s %s %s 20 && echo done"):format(stray, mode, mark) },
      ends = function(outcome)
        return outcome.status == 0 and outcome.stdout:find("done\n", 1, true)
      end,
    }
  end
  return {
    { cmd = { "/bin/true" }, ends = function(outcome)
      return outcome.status == 0
    end },
    { cmd = { "/bin/cat", stdin = ("x"):rep(100000) }, ends = function(outcome)
      return outcome.status == 0 and #outcome.stdout == 100000
    end },
    { cmd = { "/bin/sh", "-c", "head -c 3000000 /dev/zero; exit 3" }, ends = function(outcome)
      return outcome.status == 3 and #outcome.stdout + outcome.dropped_bytes == 3000000
    end },
    { cmd = { "/bin/sh", "-c", "trap '' TERM; sleep 20 & while :; do sleep 1; done", timeout_ms = 30 }, ends = function(outcome)
      return outcome.timed_out and (outcome.signal == 9 or outcome.signal == 15)
    end },
    { cmd = { "/bin/sh", "-c", "kill -SEGV $$" }, ends = function(outcome)
      return outcome.signal == 11
    end },
    { cmd = { "/no/such/program" }, fails = 2 },
    left("daemon"),
    left("stopped"),
    left("traced"),
    left("writer"),
    left("subreaper"),
    left("leaderless"),
    left("vforks"),
  }
end

---@param policy procage.Policy  with limits.grace_ms of a few milliseconds
---@param stray string  path of the program, as a run sees it
---@param mark string  in the command lines of what it leaves
---@param runs integer
---@param at_a_time integer
---@param tell? fun(done: integer)
---@return string[] problems  runs that did not end as they should, at most twenty
function M.run(policy, stray, mark, runs, at_a_time, tell)
  local list, open, problems, started, done = commands(stray, mark), {}, {}, 0, 0
  local function note(number, what)
    if #problems < 20 then
      problems[#problems + 1] = ("run %d (%s): %s"):format(number, table.concat(list[number % #list + 1].cmd, " "), what)
    end
  end
  local function start()
    local number = started
    local entry = list[number % #list + 1]
    local run, message, code = policy:start(entry.cmd)
    started = started + 1
    if run then
      open[#open + 1] = { run = run, entry = entry, number = number }
      return
    end
    done = done + 1
    if code ~= entry.fails then
      note(number, message)
    end
  end
  local function conclude(at)
    local one = table.remove(open, at)
    local outcome = one.run:wait()
    done = done + 1
    if not one.entry.ends or not one.entry.ends(outcome) or outcome.is_lost then
      note(one.number, ("status %s, signal %s, %d bytes, %s"):format(
        tostring(outcome.status), tostring(outcome.signal), #outcome.stdout, table.concat(outcome.events, "; ")
      ))
    end
  end
  while done < runs do
    while #open < at_a_time and started < runs do
      start()
    end
    -- Each is asked without waiting, but the first of a round: so a round with nothing to do sleeps.
    for at = #open, 1, -1 do
      if not open[at].run:step(at == 1 and 5 or 0) then
        conclude(at)
      end
    end
    if tell then
      tell(done)
    end
  end
  return problems
end

--- What has grown, as lines; nothing when nothing was left.
---@param before procage.Remains
---@param after procage.Remains
---@param slack_kib? integer  nil: memory is not compared
---@return string[]
function M.leaks(before, after, slack_kib)
  local lines = {}
  for _, name in ipairs({ "descriptors", "children", "zombies", "mounts", "directories", "cgroups" }) do
    if after[name] > before[name] then
      lines[#lines + 1] = ("%s: %d became %d"):format(name, before[name], after[name])
    end
  end
  if slack_kib and after.resident_kib > before.resident_kib + slack_kib then
    lines[#lines + 1] = ("resident memory: %d KiB became %d"):format(before.resident_kib, after.resident_kib)
  end
  return lines
end

return M
