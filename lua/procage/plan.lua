--- From a fitted profile, a host and what was found on the disk to the flat Plan: which operations, in which order.
--- Which mechanisms is fit's choice; this file only carries it out.

local core = require("procage.core")
local flat = require("procage.flat")
local grants = require("procage.grants")
local handoff = require("procage.handoff")
local lists = require("procage.list")
local path = require("procage.path")
local tree = require("procage.tree")

local M = {}

-- Source: clone(2).
local CLONE = { user = 0x10000000, mount = 0x00020000, pid = 0x20000000, net = 0x40000000, ipc = 0x08000000 }

-- Source: getrlimit(2), the numbers of every architecture procage knows.
local RLIMIT = { cpu = 0, file_size = 1, core = 4, processes = 6, open_files = 7 }

local FILTER_GROUPS = { ["seccomp-sysv"] = "sysv", ["seccomp-kill-all"] = "kill_all", ["seccomp-peers"] = "peers",
  ["seccomp-net-ports"] = "listen" }

--- The values of core/plan.h.
local LOOPBACK = { run = 1, host = 2 }

local MOUNTING = { "mount-tree", "mask", "socket-masks", "bind-read-only", "private-tmp-mount", "pidns" }

local function needs_mounts(uses)
  for _, name in ipairs(MOUNTING) do
    if uses[name] then
      return true
    end
  end
  return false
end

--- A run that has its processes counted makes a user namespace of its own, inside of the one that it joins.
---@param uses table<string, boolean>
---@return integer made
---@return integer joined
local function namespaces(uses)
  local flags = 0
  if needs_mounts(uses) then
    flags = flags | CLONE.mount
  end
  if uses["nproc"] then
    flags = flags | CLONE.user
  end
  for mechanism, bit in pairs({ netns = CLONE.net, ipcns = CLONE.ipc, pidns = CLONE.pid }) do
    if uses[mechanism] then
      flags = flags | bit
    end
  end
  -- A user namespace gives the rights for the others and, being the run's own, makes them mean nothing outside.
  flags = flags ~= 0 and flags | CLONE.user or 0
  if uses["netns-join"] then
    return flags & ~CLONE.net & (uses["nproc"] and -1 or ~CLONE.user), CLONE.user | CLONE.net
  end
  return flags, 0
end

--- Landlock's part before the clone: what is handled, and every rule that the host can make.
local function write_landlock(out, profile, survey, host, uses, bits)
  local rights = grants.rights(bits.fs, host.landlock_abi)
  local net, scoped = 0, 0
  local by_name = {}
  for _, kind in ipairs({ "net", "scope" }) do
    for _, row in ipairs(bits[kind]) do
      by_name[row.name] = row.abi <= host.landlock_abi and row.bit or 0
    end
  end
  if uses["landlock-net"] then
    net = by_name.BIND_TCP | by_name.CONNECT_TCP | (by_name.BIND_UDP or 0) | (by_name.CONNECT_SEND_UDP or 0)
  end
  if uses["landlock-scope-signal"] then
    scoped = scoped | by_name.SIGNAL
  end
  if uses["landlock-scope-abstract"] then
    scoped = scoped | by_name.ABSTRACT_UNIX_SOCKET
  end
  local fs = uses["landlock-fs"] and rights.all or uses["landlock-unix"] and rights.unix or 0
  if fs | net | scoped == 0 then
    return nil
  end
  out:add("landlock_handle", { value = fs, a = net, b = scoped })
  if uses["landlock-fs"] then
    for _, entry in ipairs(survey.hidden) do
      -- One that appears later has a name that nothing grants; this is about second names of what is there.
      if entry.kind then
        out:add("landlock_hide", { a = entry.path })
      end
    end
    out:rules(grants.rules(profile, survey, rights, needs_mounts(uses) and uses["pidns"]))
    -- Without mounts of its own the run writes its directory at the host's path.
    if profile.tmp == "private" and not uses["private-tmp-mount"] then
      out:add("landlock_path", { a = flat.run_text.tmp, value = rights.write | rights.unix })
    end
  end
  if uses["landlock-net"] then
    for _, port in ipairs(profile.network.ports) do
      out:add("landlock_port", { a = port, value = by_name.CONNECT_TCP | (by_name.CONNECT_SEND_UDP or 0) })
    end
  end
  return uses["landlock-fs"] and rights or false
end

--- Whether the supervisor hears of connects; where it does, also of those to Unix sockets.
---@param uses table<string, boolean>
---@return boolean
local function is_mediated(uses)
  return uses["mediated-connect"] or uses["mediated-loopback"] or false
end

--- The filter follows from the network that fit could give, not from the one that was asked for.
---@param is_observed? boolean  the path observer sees the calls that name files
---@return table
function M.filter(profile, host, uses, is_observed)
  local groups = {}
  for mechanism, group in pairs(FILTER_GROUPS) do
    if uses[mechanism] then
      groups[#groups + 1] = group
    end
  end
  table.sort(groups)
  local is_loopback, is_ports = uses["mediated-loopback"] or false, uses["seccomp-net-ports"] or false
  local is_open = profile.network == "all" or uses["netns"] and profile.network == "loopback"
  return {
    groups = groups,
    inet = is_open or is_ports or is_loopback,
    datagram = is_open or is_ports and host.landlock_abi >= 10,
    tcp_only = is_ports or is_loopback,
    mediated = uses["mediated-connect"] or false,
    loopback = is_loopback,
    no_unix = uses["seccomp-no-unix"] or false,
    observed = is_observed or false,
    names = uses["mediated-names"] or false,
    -- Who made a user namespace may look at what is in it, root at everything.
    dumpable = is_mediated(uses) and namespaces(uses) == 0 and host.uid ~= 0,
    refused = profile.refuse_calls,
  }
end

--- What is told of refusals, where the host and the form of the run have notifications at all; "audit": paths, by the kernel's
--- own records. Those are of refusals alone, so whoever wants every access has the observer.
---@param denials "off"|"calls"|"paths"
---@param observes? "all"
---@return "off"|"calls"|"paths"|"audit"
function M.recorded(denials, host, supervisor, observes)
  local recorded = host.seccomp_notify and supervisor ~= false and denials or "off"
  return recorded == "paths" and host.landlock_audit and not observes and "audit" or recorded
end

--- Who tells of files. Landlock's records miss what a read-only mount or a mask answers before Landlock is asked: where the run
--- has mounts of its own the observer looks for those beside them.
---@param profile procage.Profile  fitted
---@param recorded "off"|"calls"|"paths"|"audit"
---@return { audit: boolean, observer: boolean }
function M.file_watch(profile, recorded)
  local uses = lists.set(profile.mechanisms)
  local audit = recorded == "audit" and uses["landlock-fs"] or false
  return { audit = audit, observer = recorded == "paths" or recorded == "audit" and (not audit or needs_mounts(uses)) }
end

--- The filter as it is installed. A refusal that is recorded is a notification; allowed calls pay nothing for it.
local function write_filter(out, profile, host, uses, denials)
  local is_observed = M.file_watch(profile, denials).observer
  local bpf, message, code = core.seccomp_filter(M.filter(profile, host, uses, is_observed))
  if not bpf then
    return nil, message, code
  end
  local filter = { a = out:bytes(bpf), value = #bpf // 8 }
  if is_mediated(uses) or uses["mediated-names"] or denials ~= "off" then
    filter.b, filter.notify = denials == "off" and filter.a or out:bytes(core.seccomp_notified(bpf)), true
  end
  out:add("seccomp", filter)
  return true
end

--- Where the broker may connect: as the run sees the paths.
local function write_socket_trees(out, profile, survey, uses)
  -- In a shared temporary directory a path does not tell the run's own sockets from those of others: masks over the others do.
  local writable = uses["socket-masks"] and survey.write or survey.reach
  local all = {}
  for i, entry in ipairs(survey.hidden) do
    all[i] = entry.path
  end
  local hidden = path.beneath(all, lists.joined(survey.write, profile.sockets))
  for _, name in ipairs(hidden) do
    out:add("socket_hidden", { a = name })
  end
  for _, trees in ipairs({ writable, profile.sockets }) do
    for _, at in ipairs(trees) do
      -- The innermost tree decides, but what is hidden wins over whatever is granted in it.
      if not path.resolved_tree_of(at, hidden) then
        out:add("socket_tree", { a = at })
      end
    end
  end
  if profile.tmp ~= "private" then
    return
  elseif not uses["private-tmp-mount"] then
    out:add("socket_tree", { a = flat.run_text.tmp })
    return
  end
  for _, name in ipairs(survey.covered) do
    out:add("socket_tree", { a = name })
  end
  -- What is the host's in there is not the run's own.
  for _, name in ipairs(survey.put_back) do
    out:add("socket_hidden", { a = name })
  end
end

--- Names that stay absent, where making names is mediated: as the run sees the roots.
local function write_absent_names(out, survey)
  for _, root in ipairs(survey.watch.roots) do
    out:add("name_root", { a = root })
  end
  for _, name in ipairs(survey.watch.names) do
    out:add("name_absent", { a = "/" .. name:lower() })
  end
  for _, name in ipairs(survey.watch.guarded) do
    out:add("path_absent", { a = name })
  end
  for _, name in ipairs(handoff.behind_links(survey.watch)) do
    out:add("path_absent", { a = name })
  end
end

--- The run's init and broker are of its user namespace too.
local OWN_PROCESSES = 2

local function write_limits(out, profile, uses)
  local limits = profile.limits
  if uses["nproc"] then
    out:add("rlimit", { a = RLIMIT.processes, value = limits.processes + OWN_PROCESSES })
  end
  if limits.open_files then
    out:add("rlimit", { a = RLIMIT.open_files, value = limits.open_files })
  end
  if limits.file_bytes then
    out:add("rlimit", { a = RLIMIT.file_size, value = limits.file_bytes })
  end
  if limits.cpu_ms then
    out:add("rlimit", { a = RLIMIT.cpu, value = math.max(1, (limits.cpu_ms + 999) // 1000) })
  end
  -- A core dump would give the command's memory to the host's handler, which runs as root. 0 stops a file alone; at 1 the
  -- kernel starts no handler either. Source: core(5), fs/coredump.c.
  out:add("rlimit", { a = RLIMIT.core, value = 1 })
end

--- Denials are logged of what execs after it took on the domain: the command, and what it starts.
local function log_flags(bits)
  for _, row in ipairs(bits.restrict) do
    if row.name == "LOG_NEW_EXEC_ON" then
      return row.bit
    end
  end
end

--- The off policy: the command's own session, its directory and its limits, and nothing else.
local function make_unconfined(profile)
  local out = flat.new()
  out:add("new_session")
  write_limits(out, profile, {})
  out:add("chdir", { a = flat.run_text.cwd })
  return core.plan(out:encode(true))
end

---@param profile procage.Profile  fitted
---@param host procage.Host
---@param survey procage.Survey
---@param denials? "off"|"calls"|"paths"|"audit"  what is recorded, as M.recorded gives it; default: calls
---@return userdata? plan
---@return string? message
---@return integer? code
function M.make(profile, host, survey, denials)
  if profile.unconfined then
    return make_unconfined(profile)
  end
  local uses = lists.set(profile.mechanisms)
  local bits = core.landlock_bits()
  local out = flat.new()
  local rights = write_landlock(out, profile, survey, host, uses, bits)
  if is_mediated(uses) then
    write_socket_trees(out, profile, survey, uses)
  end
  if uses["mediated-loopback"] then
    out:add("loopback", { value = LOOPBACK[profile.loopback] })
  end
  if uses["mediated-names"] then
    write_absent_names(out, survey)
  end
  local made, joined = namespaces(uses)
  if made ~= 0 then
    out:add("namespaces", { value = made })
  end
  if joined ~= 0 then
    out:add("join", { value = joined })
  end
  if made & CLONE.user ~= 0 then
    out:add("map_ids")
  end
  if made & CLONE.net ~= 0 then
    out:add("lo_up")
  end
  if needs_mounts(uses) then
    local ok, problem = pcall(tree.write, out, profile, survey, host, uses, flat.run_text, rights or nil)
    if not ok then
      if type(problem) == "table" then
        return nil, problem.message, 7 -- E2BIG
      end
      error(problem, 0)
    end
  end
  out:add("drop_capabilities")
  out:add("no_new_privs")
  out:add("new_session")
  write_limits(out, profile, uses)
  out:add("chdir", { a = flat.run_text.cwd })
  denials = denials or M.recorded("calls", host)
  if rights ~= nil then
    out:add("landlock_restrict", { value = M.file_watch(profile, denials).audit and log_flags(bits) or 0 })
  end
  local ok, message, code = write_filter(out, profile, host, uses, denials)
  if not ok then
    return nil, message, code
  end
  return core.plan(out:encode())
end

return M
