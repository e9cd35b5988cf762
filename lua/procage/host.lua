--- The Host: what this machine can do, or another one written down by hand. Facts only, measured by `core.probe()`.

local check = require("procage.check")
local json = require("procage.json")

---@class procage.Failure
---@field step string  what was tried: "unshare", "mount proc"
---@field errno integer
---@field error string  the errno's name, "EPERM"

---@class procage.Host
---@field system string
---@field machine string
---@field kernel string
---@field uid? integer
---@field gid? integer
---@field landlock_abi integer  0: none
---@field landlock_errata integer
---@field seccomp_filter boolean
---@field seccomp_notify boolean
---@field tcp_diag boolean  the kernel names the socket that listens at an address
---@field landlock_audit boolean  the kernel's records of what Landlock refuses can be read
---@field userns boolean  with id maps written
---@field mountns boolean  private, tmpfs, read-only trees work in it
---@field mount_setattr boolean
---@field netns boolean  with lo up
---@field netns_join boolean  a process's network namespace can be entered by its pidfd
---@field ipcns boolean
---@field pidns boolean  with a fresh read-only /proc
---@field devpts boolean
---@field apparmor_userns boolean  AppArmor restricts user namespaces to programs with a profile
---@field container false|string
---@field cgroup false|string  a writable cgroup v2 directory
---@field failures table<string, procage.Failure>

---@alias procage.Need string|{ fact: string, floor: integer }

local M = {}

--- No fact of a machine but of how a command is started: somebody looks after the run from outside it. There is nobody where a
--- process confines itself; fit then says so, and every other host is taken to have one.
M.SUPERVISOR = "supervisor"

---@param value any
---@return boolean
local function is_boolean(value)
  return type(value) == "boolean"
end

---@param value any
---@return boolean
local function is_false(value)
  return value == false
end

local false_or_text = check.either(is_false, check.boolean, check.text)
local false_or_path = check.either(is_false, check.boolean, check.path)
local failure_fields = {
  { name = "step", check = check.text, required = true },
  { name = "errno", check = check.count, required = true },
  { name = "error", check = check.text, required = true },
}

---@class procage.HostField: procage.Field
---@field absent? any  a fact that is not stated is not there
---@field shape? procage.JsonShape

--- Every fact, in the order of the JSON form.
---@type procage.HostField[]
local schema = {
  { name = "system", check = check.text, absent = "linux" },
  { name = "machine", check = check.text, absent = "unknown" },
  { name = "kernel", check = check.text, absent = "unknown" },
  { name = "uid", check = check.count },
  { name = "gid", check = check.count },
  { name = "landlock_abi", check = check.count, absent = 0 },
  { name = "landlock_errata", check = check.count, absent = 0 },
  { name = "seccomp_filter", check = check.boolean, absent = false },
  { name = "seccomp_notify", check = check.boolean, absent = false },
  { name = "tcp_diag", check = check.boolean, absent = false },
  { name = "landlock_audit", check = check.boolean, absent = false },
  { name = "userns", check = check.boolean, absent = false },
  { name = "mountns", check = check.boolean, absent = false },
  { name = "mount_setattr", check = check.boolean, absent = false },
  { name = "netns", check = check.boolean, absent = false },
  { name = "netns_join", check = check.boolean, absent = false },
  { name = "ipcns", check = check.boolean, absent = false },
  { name = "pidns", check = check.boolean, absent = false },
  { name = "devpts", check = check.boolean, absent = false },
  { name = "apparmor_userns", check = check.boolean, absent = false },
  { name = "container", check = false_or_text, absent = false },
  { name = "nproc", check = check.boolean, absent = false },
  { name = "cgroup", check = false_or_path, absent = false },
  { name = "cgroup_memory", check = check.boolean, absent = false },
  { name = "cgroup_pids", check = check.boolean, absent = false },
  {
    name = "failures",
    check = check.map(check.text, check.record(failure_fields, "field")),
    shape = { map = { order = { "step", "errno", "error" } } },
    absent = {},
  },
}

--- The names of the facts, in the order of the JSON form.
---@type string[]
M.facts = {}
local shapes = {}
for i, field in ipairs(schema) do
  M.facts[i] = field.name
  shapes[field.name] = field.shape
end
local whole = check.record(schema, "fact")
local whole_shape = { order = M.facts, fields = shapes }

---@param host any
---@return true? ok
---@return string? message  names the fact
function M.validate(host)
  local bad = whole(host, "")
  if bad then
    return nil, bad
  end
  return true
end

--- A copy with every fact present. A host written by hand names what it has; the rest it has not.
---@param host table  valid
---@return procage.Host
function M.complete(host)
  local full = json.plain(host)
  for _, field in ipairs(schema) do
    if full[field.name] == nil then
      full[field.name] = json.plain(field.absent)
    end
  end
  return full
end

---@param host procage.Host
---@return string
function M.to_json(host)
  return json.encode(M.complete(host), whole_shape)
end

---@param text string
---@return procage.Host?
---@return string? message
function M.from_json(text)
  local value, message = json.decode(text)
  if message then
    return nil, "host: " .. message
  end
  local ok, why = M.validate(value)
  if not ok then
    return nil, "host: " .. why
  end
  return M.complete(value)
end

---@param host procage.Host
---@param need procage.Need
---@return boolean
local function meets(host, need)
  if need == M.SUPERVISOR then
    return host[need] ~= false
  elseif type(need) == "table" then
    return host[need.fact] >= need.floor
  elseif is_boolean(host[need]) then
    return host[need]
  end
  return host[need] ~= nil and host[need] ~= false
end

--- The first fact in `needs` that the host lacks; nil when it has them all.
---@param host procage.Host  complete
---@param needs procage.Need[]
---@return string? fact
---@return integer? floor
function M.lacks(host, needs)
  for _, need in ipairs(needs) do
    if not meets(host, need) then
      if type(need) == "table" then
        return need.fact, need.floor
      end
      return need
    end
  end
  return nil
end

--- The kernel that brought each Landlock ABI.
M.landlock_kernels = { "5.13", "5.19", "6.2", "6.7", "6.10", "6.12", "6.15", "7.0", "7.1", "7.2", "7.3" }

---@param floor? integer
---@param host procage.Host
---@return string reason
---@return string lift
local function explain_landlock(floor, host)
  local kernel = M.landlock_kernels[floor or 1] or "newer"
  if host.landlock_abi > 0 then
    return ("Landlock ABI %d is missing (this host has %d)"):format(floor, host.landlock_abi),
      ("Linux %s or newer"):format(kernel)
  end
  local failure = host.failures.landlock
  if failure and failure.error == "EOPNOTSUPP" then
    return "Landlock is switched off in this kernel", "add landlock to the lsm= list on the kernel's command line"
  elseif host.container then
    return ("no Landlock in this %s container"):format(host.container),
      ("a seccomp profile that lets landlock_* through, on Linux %s or newer"):format(kernel)
  end
  return "no Landlock in this kernel", ("Linux %s or newer with CONFIG_SECURITY_LANDLOCK and lsm=landlock"):format(kernel)
end

---@class procage.Cause
---@field when fun(host: procage.Host, failure: procage.Failure): boolean
---@field reason string
---@field lift string

---@param errors string  names joined by spaces
---@return fun(host: procage.Host, failure: procage.Failure): boolean
local function errno_is(errors)
  return function(_, failure)
    return (" " .. errors .. " "):find(" " .. failure.error .. " ", 1, true) ~= nil
  end
end

---@param name string
---@return fun(host: procage.Host, failure: procage.Failure): boolean
local function container_refuses(name)
  return function(host, failure)
    return host.container == name and errno_is("EPERM EACCES ENOSYS")(host, failure)
  end
end

--- Why a user namespace cannot be had, likeliest first. Source: user_namespaces(7), Documentation/admin-guide/sysctl.
---@type procage.Cause[]
local userns_causes = {
  {
    when = function(host)
      return host.apparmor_userns
    end,
    reason = "AppArmor keeps user namespaces to programs with a profile (kernel.apparmor_restrict_unprivileged_userns=1)",
    lift = "an AppArmor profile for procage-lua with `flags=(unconfined) { userns, }`,"
      .. " or sysctl kernel.apparmor_restrict_unprivileged_userns=0",
  },
  {
    when = function(host, failure)
      return host.seccomp_notify == false and host.seccomp_filter and errno_is("EPERM")(host, failure)
    end,
    reason = "another sandbox, whose filter refuses user namespaces, holds this process",
    lift = "run it outside of that sandbox",
  },
  {
    when = container_refuses("docker"),
    reason = "Docker's default seccomp profile refuses user namespaces",
    lift = "docker run --security-opt seccomp=PROFILE with unshare, clone and mount let through (or seccomp=unconfined)"
      .. " and --security-opt apparmor=unconfined",
  },
  {
    when = container_refuses("podman"),
    reason = "the container's seccomp profile refuses user namespaces",
    lift = "podman run --security-opt seccomp=unconfined",
  },
  {
    when = function(host, failure)
      return host.container ~= false and errno_is("EPERM EACCES ENOSYS")(host, failure)
    end,
    reason = "the container refuses user namespaces",
    lift = "a container that may nest: its seccomp profile must let unshare and clone make user namespaces",
  },
  {
    when = errno_is("ENOSPC"),
    reason = "the limit on user namespaces is reached or 0 (user.max_user_namespaces)",
    lift = "sysctl user.max_user_namespaces=15000",
  },
  {
    when = errno_is("EPERM EACCES"),
    reason = "this system keeps user namespaces to root (kernel.unprivileged_userns_clone=0), or the caller is in a chroot",
    lift = "sysctl kernel.unprivileged_userns_clone=1, and no chroot",
  },
  {
    when = errno_is("EINVAL ENOSYS"),
    reason = "this kernel has no user namespaces",
    lift = "a kernel with CONFIG_USER_NS",
  },
}

--- Why something inside a user namespace cannot be had.
---@type procage.Cause[]
local inner_causes = {
  {
    when = function(host, failure)
      return failure.step:find("proc", 1, true) ~= nil and host.container == "docker"
    end,
    reason = "the container masks paths in /proc, so the kernel refuses a fresh one",
    lift = "docker run --security-opt systempaths=unconfined",
  },
  {
    when = function(_, failure)
      return failure.step:find("proc", 1, true) ~= nil and failure.error == "EPERM"
    end,
    reason = "paths in /proc are covered, so the kernel refuses a fresh one",
    lift = "a /proc with nothing mounted over it",
  },
  {
    when = function(host)
      return host.apparmor_userns
    end,
    reason = userns_causes[1].reason,
    lift = userns_causes[1].lift,
  },
  {
    when = errno_is("EACCES"),
    reason = "a security module refuses mounts",
    lift = "a container with --security-opt apparmor=unconfined, or a security policy that lets this program mount",
  },
}

---@type table<string, { called: string, causes: procage.Cause[], lift: string }>
local namespaces = {
  userns = { called = "user namespaces", causes = userns_causes, lift = "a system that lets this user make them" },
  mountns = { called = "mounts in a user namespace", causes = inner_causes, lift = "user namespaces that may mount" },
  netns = { called = "network namespaces", causes = inner_causes, lift = "a kernel with CONFIG_NET_NS" },
  netns_join = {
    called = "entering of network namespaces",
    causes = inner_causes,
    lift = "Linux 5.8 or newer, with setns let through",
  },
  ipcns = { called = "IPC namespaces", causes = inner_causes, lift = "a kernel with CONFIG_IPC_NS" },
  pidns = { called = "PID namespaces with a fresh /proc", causes = inner_causes, lift = "a kernel with CONFIG_PID_NS" },
}

---@param fact string
---@param host procage.Host
---@return string reason
---@return string lift
local function explain_namespace(fact, host)
  local entry, failure = namespaces[fact], host.failures[fact]
  for _, cause in ipairs(entry.causes) do
    if cause.when(host, failure or { step = "", errno = 0, error = "" }) then
      return cause.reason, cause.lift
    end
  end
  local told = failure and (" (%s: %s)"):format(failure.step, failure.error) or ""
  return ("no %s here%s"):format(entry.called, told), entry.lift
end

---@type table<string, { reason: string, lift: string }>
local others = {
  seccomp_filter = { reason = "no seccomp filters in this kernel", lift = "a kernel with CONFIG_SECCOMP_FILTER" },
  seccomp_notify = {
    reason = "no seccomp user notification, or another supervisor has taken it",
    lift = "Linux 5.9 or newer, outside another sandbox that uses it",
  },
  tcp_diag = {
    reason = "the kernel does not tell who listens at an address (NETLINK_SOCK_DIAG)",
    lift = "a kernel with CONFIG_INET_TCP_DIAG, its module loaded, and a loopback interface that is up",
  },
  mount_setattr = { reason = "mount_setattr is missing", lift = "Linux 5.12 or newer" },
  devpts = { reason = "no private pseudo-terminals", lift = "a kernel with devpts in user namespaces" },
  supervisor = {
    reason = "a process that confines itself has nobody outside to look after it",
    lift = "the form with a waiting parent: wrap(argv, {tree = true})",
  },
  nproc = {
    reason = "the number of processes is not limited for root, nor for a user namespace by itself before Linux 5.14",
    lift = "an ordinary user, or a delegated cgroup with the pids controller",
  },
  cgroup_memory = {
    reason = "no cgroup with the memory controller is delegated to this user",
    lift = "a delegated cgroup v2 directory with memory in cgroup.subtree_control",
  },
  cgroup_pids = {
    reason = "no cgroup with the pids controller is delegated to this user",
    lift = "a delegated cgroup v2 directory with pids in cgroup.subtree_control",
  },
  cgroup = { reason = "no cgroup is delegated to this user", lift = "systemd-run --user --scope -p Delegate=yes" },
}

--- Why the host lacks a fact, and what would lift that here.
---@param fact string
---@param host procage.Host
---@param floor? integer  for landlock_abi: the ABI that was needed
---@return string reason
---@return string lift
function M.explain_missing(fact, host, floor)
  host = M.complete(host)
  if host.system ~= "linux" then
    return ("not a Linux mechanism here: this is %s"):format(host.system), "a Linux host"
  elseif fact == "landlock_abi" then
    return explain_landlock(floor or host.landlock_abi + 1, host)
  elseif namespaces[fact] then
    return explain_namespace(not host.userns and "userns" or fact, host)
  elseif others[fact] then
    return others[fact].reason, others[fact].lift
  end
  error("unknown fact: " .. tostring(fact), 2)
end

return M
