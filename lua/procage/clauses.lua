--- The clauses and what can hold each: data for fit.
---
--- A clause has alternatives, best first. Which ones follows from the profile alone, never from the host: so a host with
--- more facts meets the needs of the same alternative or of an earlier one, and enforces no less.

local path = require("procage.path")
local profiles = require("procage.profile")

---@class procage.Also
---@field [1] string  mechanism
---@field without? string  what its absence means

---@class procage.Alternative
---@field all string[]  mechanisms that must all hold
---@field needs? procage.Need[]  facts beyond those of its mechanisms
---@field also? procage.Also[]
---@field gap? string  taken, the clause is unenforced under this id
---@field tightened? boolean  taken, the host denies more than was asked
---@field id? string  of what is tightened
---@field reason? string  instead of the fact that the first alternative lacks
---@field effect? string
---@field lift? string
---@field guard? string
---@field by? string  of an operator's: file:line
---@field calls? string[]  of an operator's: system calls to refuse

---@param why string
---@return procage.Alternative[]
local function nothing(why)
  return { { all = {}, reason = why } }
end

---@param profile procage.Profile
---@param list string[]
---@return boolean
local function any_writable(profile, list)
  return path.any_beneath(list, profiles.writable_trees(profile))
end

--- Hidden paths that only a mask can keep: in a writable tree, and there to be masked.
---@param profile procage.Profile
---@return boolean
local function hides_inside(profile)
  local is_missing = {}
  for _, name in ipairs(profile.missing or {}) do
    is_missing[name] = true
  end
  for _, name in ipairs(path.beneath(profile.hidden, profiles.writable_trees(profile))) do
    if not is_missing[name] then
      return true
    end
  end
  return false
end

---@param profile procage.Profile
---@return boolean
local function writes_something(profile)
  return #profiles.writable_trees(profile) > 0
end

--- The host's /dev/pts holds the user's other terminals, and no rule tells the run's own from them.
local NO_PTS = "device nodes are closed by Landlock alone, and in /dev only; no pseudo-terminals (script, tmux, expect)"

local read_all = {
  { all = { "landlock-fs" }, also = { { "mount-tree", without = NO_PTS } } },
  { all = { "mount-tree", "mask" } },
}

local read_list = {
  { all = { "landlock-fs" }, also = { { "mount-tree", without = NO_PTS } } },
  { all = {}, gap = "read", effect = "every file that the user can read can be read, but the hidden ones" },
}

local write = {
  {
    all = { "landlock-fs" },
    needs = { { fact = "landlock_abi", floor = 2 } },
    also = { { "mount-tree", without = "writes are stopped by Landlock alone" } },
  },
  {
    all = { "landlock-fs" },
    also = { { "mount-tree", without = "writes are stopped by Landlock alone" } },
    effect = "renames and hard links from one directory to another fail (EXDEV)",
  },
  {
    all = { "mount-tree" },
    effect = "FIFOs of programs outside stay writable: a read-only mount does not stop them",
  },
}

--- Landlock grants the run's own /tmp whole, what is put back in it included: a read-only mount alone is in the way there.
local PIPES = "FIFOs of programs outside stay writable in what is put back below /tmp (the home, PATH, readable trees), unless"
  .. " they were found when the run began"

---@param alternatives procage.Alternative[]
---@return procage.Alternative[]
local function with_pipes(alternatives)
  local list = {}
  for i, alternative in ipairs(alternatives) do
    local copy = {}
    for key, value in pairs(alternative) do
      copy[key] = value
    end
    copy.effect = copy.effect and copy.effect .. "; " .. PIPES or PIPES
    list[i] = copy
  end
  return list
end

local write_put_back = with_pipes(write)

local truncate = {
  { all = { "landlock-fs" }, needs = { { fact = "landlock_abi", floor = 3 } }, also = { { "mount-tree" } } },
  { all = { "mount-tree" } },
  {
    all = {},
    gap = "truncate",
    effect = "files outside the writable trees that the user owns can be cut to any length",
  },
}

local metadata = {
  { all = { "mount-tree" } },
  {
    all = {},
    gap = "metadata",
    effect = "mode, owner, times and extended attributes of the user's files outside the writable trees can be changed",
  },
}

local device_ioctl = {
  { all = { "landlock-fs" }, needs = { { fact = "landlock_abi", floor = 5 } }, also = { { "mount-tree" } } },
  { all = { "mount-tree" } },
  { all = {}, gap = "device_ioctl", effect = "a device that can be opened (the terminal) takes any ioctl" },
}

local REPLACE_EFFECT = "a hidden file that a program outside replaces during the run can be read from then on"
local REPLACE_GUARD = "checked before and after the run; a replacement is named"

local hidden_outside = {
  { all = { "landlock-fs" }, also = { { "mask", without = "hidden paths are closed, not invisible" } } },
  {
    all = { "mask" },
    gap = "replace",
    effect = REPLACE_EFFECT,
    guard = REPLACE_GUARD,
  },
}

local INSIDE_REASON = "inside a writable tree only a mask can hide, and a rename from outside takes it away"
local INSIDE_LIFT = "hidden paths outside the writable trees"

local hidden_inside = {
  {
    all = { "landlock-fs", "mask" },
    gap = "replace",
    reason = INSIDE_REASON,
    effect = REPLACE_EFFECT,
    lift = INSIDE_LIFT,
    guard = REPLACE_GUARD,
  },
  {
    all = { "mask" },
    gap = "replace",
    reason = INSIDE_REASON,
    effect = REPLACE_EFFECT,
    lift = INSIDE_LIFT,
    guard = REPLACE_GUARD,
  },
  { all = { "landlock-fs" }, gap = "carve", effect = "hidden files inside writable trees can be read and written" },
}

local WHOLE_REASON = "a tree below /tmp has hidden names among too many others: only a mask hides them, and a rename from"
  .. " outside takes it away"
local WHOLE_LIFT = "a home outside /tmp, /var/tmp and /dev/shm"

--- A tree below /tmp that is put back with the hidden names in it.
local hidden_whole = {}
for i, all in ipairs({ { "landlock-fs", "mask" }, { "mask" }, { "landlock-fs" } }) do
  hidden_whole[i] = {
    all = all, gap = "replace", reason = WHOLE_REASON, effect = REPLACE_EFFECT, lift = WHOLE_LIFT, guard = REPLACE_GUARD,
  }
end

local stat = {
  { all = { "mask" } },
  { all = {}, gap = "stat", effect = "names, sizes and times of hidden files can be seen" },
}

local read_only = {
  { all = { "bind-read-only" } },
  { all = {}, gap = "carve", effect = "read-only and hidden paths inside writable trees can be written" },
}

local ignored = {
  {
    all = { "mask" },
    gap = "replace",
    reason = INSIDE_REASON,
    effect = "an ignored file that a program outside replaces during the run can be read from then on",
    lift = "credentials outside the writable trees",
    guard = REPLACE_GUARD,
  },
  { all = {}, gap = "carve", effect = "files that git ignores and that look like credentials can be read and written" },
}

local git = {
  { all = { "bind-read-only" } },
  {
    all = {},
    gap = "carve",
    effect = "the git directory can be written: hooks and configuration in it would run at the next git command outside",
  },
}

local handoff = {
  { all = { "bind-read-only" } },
  {
    all = {},
    gap = "trust_handoff",
    effect = "files that other programs run later can be changed: look at them before you use the tree",
  },
}

--- A mount covers only a name that exists, and a placeholder would be left behind in the tree.
local handoff_moved = {
  all = {},
  gap = "trust_handoff",
  reason = "a mount can cover only a name that exists",
  effect = "hand-off files that did not exist can be made, and are there until the run is dead",
  lift = "handoff_absent=refuse refuses them; each name that is made then costs some 30 us more (docs/mechanisms.md)",
  guard = "moved out of the tree and reported once the run is dead",
}
local handoff_absent = { handoff_moved }
local handoff_refused = { { all = { "mediated-names" } }, handoff_moved }

local tmp_private = {
  {
    all = { "private-tmp" },
    also = {
      {
        "private-tmp-mount",
        without = "only TMPDIR is private: /tmp, /var/tmp and /dev/shm are the host's, not writable; no POSIX semaphores or"
          .. " shared memory (locks of Python's multiprocessing), no tmpfile(3)",
      },
    },
  },
}

local network_none = {
  { all = { "seccomp-families" }, also = { { "netns", without = "the network is closed by the filter alone" } } },
}

local NO_NETWORK = "no network at all: servers on 127.0.0.1 cannot be started or reached"

local loopback_run = {
  { all = { "netns" }, also = { { "seccomp-families" } } },
  {
    all = { "mediated-loopback" },
    also = { { "seccomp-families" } },
    tightened = true,
    id = "loopback",
    effect = "TCP to the run's own servers, but no UDP; other programs of this machine can reach those servers",
  },
  { all = { "seccomp-families" }, tightened = true, id = "loopback", effect = NO_NETWORK },
}

local loopback_policy = {
  {
    all = { "netns", "netns-join" },
    also = { { "seccomp-families" } },
    effect = "runs of this loaded policy reach each other's servers, and see which addresses are in use",
  },
  {
    all = { "netns" },
    also = { { "seccomp-families" } },
    tightened = true,
    id = "loopback",
    effect = "each run has a loopback of its own: servers of the policy's other runs cannot be reached",
  },
  table.unpack(loopback_run, 2),
}

local loopback_host = {
  {
    all = { "mediated-loopback" },
    also = { { "seccomp-families" } },
    tightened = true,
    id = "loopback",
    reason = "a datagram names its peer where nobody can look",
    effect = "TCP to and from any program of this machine, as asked, but no UDP",
    lift = 'network = "all"',
  },
  {
    all = { "seccomp-families" },
    also = { { "netns", without = "the network is closed by the filter alone" } },
    tightened = true,
    id = "loopback",
    effect = NO_NETWORK,
  },
}

local loopbacks = { run = loopback_run, policy = loopback_policy, host = loopback_host }

local ports = {
  {
    all = { "landlock-net", "seccomp-net-ports" },
    effect = "the ports can be reached at any address, loopback included; no datagrams, so no DNS of one's own",
  },
  {
    all = { "seccomp-families" },
    also = { { "netns", without = "the network is closed by the filter alone" } },
    tightened = true,
    id = "ports",
    effect = "no network at all, not even the listed ports",
  },
}

local NO_UNIX = "no Unix sockets at all, not even the run's own: only pairs (socketpair)"

local sockets = {
  { all = { "landlock-unix" }, also = { { "socket-masks" } } },
  {
    all = { "mediated-connect" },
    also = { { "socket-masks" } },
    tightened = true,
    id = "unix_datagram",
    effect = "Unix datagram sockets (syslog, sd_notify) cannot be made: they name a peer where nobody can look",
  },
  {
    all = { "seccomp-no-unix" },
    tightened = true,
    id = "unix",
    effect = NO_UNIX,
  },
}

--- A broker that connects for the run is no member of its Landlock domain.
local NOT_EVEN_OWN = "where connections are mediated or refused, abstract sockets of the run itself cannot be reached either"

local abstract_private_net = {
  -- Without the scope: a broker that connects for the run is no member of its domain, and the namespace is enough.
  { all = { "netns" } },
  { all = { "landlock-scope-abstract" }, effect = NOT_EVEN_OWN },
  { all = { "mediated-connect" }, tightened = true, id = "abstract", effect = NOT_EVEN_OWN },
  { all = { "seccomp-no-unix" }, tightened = true, id = "unix", effect = NO_UNIX },
}

local abstract_policy_net = {
  { all = { "netns", "netns-join" }, effect = "abstract sockets of the policy's other runs can be reached too" },
  table.unpack(abstract_private_net),
}

--- The host's loopback is in the host's network namespace, and each connect to it goes by the broker.
local abstract_host_loopback = table.move(abstract_private_net, 2, #abstract_private_net, 1, {})

--- A run that has the host's network is in the host's network namespace.
local abstract_host_net = {
  { all = { "landlock-scope-abstract", "landlock-unix" } },
  { all = { "landlock-scope-abstract" }, effect = NOT_EVEN_OWN },
  { all = { "mediated-connect" }, tightened = true, id = "abstract", effect = NOT_EVEN_OWN },
  { all = { "seccomp-no-unix" }, tightened = true, id = "unix", effect = NO_UNIX },
}

local env = { { all = { "environment" } } }

local signals = {
  { all = { "pidns" }, also = { { "landlock-scope-signal" } } },
  {
    all = { "landlock-scope-signal", "seccomp-peers" },
    effect = "numbers, names and command lines of the user's other processes can be seen in /proc",
  },
  {
    all = { "landlock-fs", "seccomp-kill-all", "seccomp-peers" },
    gap = "signal_scope",
    effect = "a signal sent by number reaches the user's other processes",
  },
  {
    all = { "seccomp-kill-all", "seccomp-peers" },
    gap = "signal_scope",
    effect = "a signal sent by number reaches the user's other processes, and /proc shows their environment",
  },
}

local ipc = {
  { all = { "ipcns" } },
  {
    all = { "seccomp-sysv" },
    tightened = true,
    effect = "System V shared memory, semaphores and message queues cannot be used",
  },
}

local process_tree = {
  { all = { "pidns" } },
  -- Landlock keeps the run from writing itself into another cgroup.
  { all = { "reaper", "cgroup-kill", "landlock-fs" } },
  {
    all = { "reaper" },
    gap = "process_tree",
    effect = "a process that evades or kills the reaper may outlive the run",
    guard = "the reaper sweeps what the run started until none is left",
  },
  {
    all = {},
    gap = "process_tree",
    effect = "what the command leaves running outlives it",
  },
}

---@param limits procage.Limits
---@param names string[]
---@return boolean
local function asks(limits, names)
  for _, name in ipairs(names) do
    if limits[name] then
      return true
    end
  end
  return false
end

--- The names that are asked for, as a message lists them.
---@param limits procage.Limits
---@param ... string[]
---@return string
local function asked(limits, ...)
  local found = {}
  for _, names in ipairs({ ... }) do
    for _, name in ipairs(names) do
      found[#found + 1] = limits[name] and name
    end
  end
  return table.concat(found, ", ")
end

local OF_LIBRARY = { "timeout_ms", "output_bytes", "grace_ms", "stdin_grace_ms" }
local OF_RLIMITS = { "file_bytes", "cpu_ms", "open_files" }

--- What can hold each of the others, best first.
local HOLDERS = { { "processes", { "nproc", "cgroup-pids" } }, { "memory_bytes", { "cgroup-memory" } } }

--- Every list of alternatives with one more mechanism, and without it last: then the limit is missing.
---@param lists { all: string[], missing: string[] }[]
---@param limit string
---@param holders string[]
local function spread(lists, limit, holders)
  local result = {}
  for _, list in ipairs(lists) do
    for _, holder in ipairs(holders) do
      local all = table.move(list.all, 1, #list.all, 1, {})
      all[#all + 1] = holder
      result[#result + 1] = { all = all, missing = list.missing }
    end
  end
  for _, list in ipairs(lists) do
    local missing = table.move(list.missing, 1, #list.missing, 1, {})
    missing[#missing + 1] = limit
    result[#result + 1] = { all = list.all, missing = missing }
  end
  return result
end

---@param limits procage.Limits
---@return procage.Alternative[]
local function limit_alternatives(limits)
  local lists = { { all = asks(limits, OF_RLIMITS) and { "rlimits" } or {}, missing = {} } }
  for _, row in ipairs(HOLDERS) do
    if limits[row[1]] then
      lists = spread(lists, row[1], row[2])
    end
  end
  if asks(limits, OF_LIBRARY) then
    lists = spread(lists, asked(limits, OF_LIBRARY), { "library" })
  end
  -- Fewer missing first: a host that has more must not be given less.
  local alternatives = {}
  for missing = 0, #HOLDERS + 1 do
    for _, list in ipairs(lists) do
      if #list.missing == missing then
        local effect = missing > 0 and "not enforced: " .. table.concat(list.missing, ", ") or nil
        alternatives[#alternatives + 1] = { all = list.all, gap = effect and "limits", effect = effect }
      end
    end
  end
  return #alternatives == 1 and #alternatives[1].all == 0 and nothing("no limit is asked for") or alternatives
end

---@class procage.Clause
---@field clause string
---@field alternatives fun(profile: procage.Profile): procage.Alternative[]

---@param alternatives procage.Alternative[]
---@return fun(): procage.Alternative[]
local function always(alternatives)
  return function()
    return alternatives
  end
end

--- In the order of the report.
---@type procage.Clause[]
return {
  {
    clause = "read",
    alternatives = function(profile)
      return profile.read == "all" and read_all or read_list
    end,
  },
  {
    clause = "write",
    alternatives = function(profile)
      return profile.put_back and write_put_back or write
    end,
  },
  { clause = "truncate", alternatives = always(truncate) },
  { clause = "metadata", alternatives = always(metadata) },
  { clause = "device_ioctl", alternatives = always(device_ioctl) },
  {
    clause = "hidden",
    alternatives = function(profile)
      if #profile.hidden == 0 then
        return nothing("nothing is hidden")
      end
      if hides_inside(profile) then
        return hidden_inside
      end
      return profile.put_back_whole and hidden_whole or hidden_outside
    end,
  },
  {
    clause = "stat",
    alternatives = function(profile)
      return #profile.hidden == 0 and nothing("nothing is hidden") or stat
    end,
  },
  {
    clause = "read_only",
    alternatives = function(profile)
      local carved = any_writable(profile, profile.read_only) or hides_inside(profile)
      return carved and read_only or nothing("nothing to carve")
    end,
  },
  {
    clause = "ignored",
    alternatives = function(profile)
      if #profile.ignored == 0 then
        return nothing("no ignored file is to read as empty")
      end
      return writes_something(profile) and ignored or nothing("nothing is writable")
    end,
  },
  {
    clause = "git",
    alternatives = function(profile)
      if profile.git == "write" then
        return nothing("the git directory is to be writable")
      elseif not profile.workspace or not any_writable(profile, { profile.workspace }) then
        return nothing("no writable workspace")
      end
      return git
    end,
  },
  {
    clause = "handoff",
    alternatives = function(profile)
      if #profile.handoff == 0 then
        return nothing("no hand-off file is named")
      end
      return writes_something(profile) and handoff or nothing("nothing is writable")
    end,
  },
  {
    clause = "handoff_absent",
    alternatives = function(profile)
      if #profile.handoff == 0 then
        return nothing("no hand-off file is named")
      end
      if not writes_something(profile) then
        return nothing("nothing is writable")
      end
      return profile.handoff_absent == "refuse" and handoff_refused or handoff_absent
    end,
  },
  {
    clause = "tmp",
    alternatives = function(profile)
      return profile.tmp == "shared" and nothing("shared with the host, as asked") or tmp_private
    end,
  },
  {
    clause = "network",
    alternatives = function(profile)
      if profile.network == "all" then
        return nothing("the network is open, as asked")
      elseif profile.network == "none" then
        return network_none
      elseif profile.network == "loopback" then
        return loopbacks[profile.loopback]
      end
      return ports
    end,
  },
  { clause = "sockets", alternatives = always(sockets) },
  {
    clause = "abstract",
    alternatives = function(profile)
      if profile.network == "loopback" and profile.loopback == "host" then
        return abstract_host_loopback
      elseif profile.network == "loopback" and profile.loopback == "policy" then
        return abstract_policy_net
      end
      local is_private = profile.network == "none" or profile.network == "loopback"
      -- Ports too: a host that tightens them to none would hide its abstract sockets, a better one would not.
      return is_private and abstract_private_net or abstract_host_net
    end,
  },
  { clause = "env", alternatives = always(env) },
  { clause = "signals", alternatives = always(signals) },
  { clause = "ipc", alternatives = always(ipc) },
  { clause = "process_tree", alternatives = always(process_tree) },
  {
    clause = "limits",
    alternatives = function(profile)
      return limit_alternatives(profile.limits)
    end,
  },
}
