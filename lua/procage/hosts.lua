--- Known hosts, as `core.probe()` describes them, to fit a profile to a machine that is not here. Written by hand.

local host = require("procage.host")

---@param step string
---@param errno integer
---@param name string
---@return table<string, procage.Failure>
local function userns_refused(step, errno, name)
  return { userns = { step = step, errno = errno, error = name } }
end

local with_namespaces = { "userns", "mountns", "netns", "netns_join", "ipcns", "pidns", "devpts" }

---@param facts table
---@param names? string[]  facts that are simply true
---@return procage.Host
local function make(facts, names)
  facts.system = facts.system or "linux"
  facts.machine = facts.machine or "x86_64"
  facts.uid, facts.gid = facts.uid or 1000, facts.gid or 1000
  for _, name in ipairs(names or {}) do
    facts[name] = true
  end
  return host.complete(facts)
end

---@param facts table
---@return procage.Host
local function open(facts)
  facts.seccomp_filter, facts.seccomp_notify, facts.tcp_diag = true, true, facts.tcp_diag ~= false
  facts.mount_setattr = facts.mount_setattr ~= false
  return make(facts, with_namespaces)
end

---@param facts table
---@return procage.Host
local function closed(facts)
  facts.seccomp_filter, facts.seccomp_notify, facts.tcp_diag = true, true, facts.tcp_diag ~= false
  return make(facts)
end

return {
  --- Everything but the newest Landlock.
  full = open({ kernel = "6.18.44", nproc = true, landlock_abi = 7, landlock_errata = 7 }),
  --- Landlock holds sockets too (ABI 9) and datagrams (ABI 10).
  new = open({ kernel = "7.3.0", nproc = true, landlock_abi = 11, landlock_errata = 15 }),
  --- Ubuntu 24.04: a user namespace can be made, and every capability in it is denied.
  ubuntu_apparmor = closed({
    kernel = "6.8.0",
    landlock_abi = 4,
    apparmor_userns = true,
    failures = userns_refused("uid_map", 1, "EPERM"),
  }),
  --- Docker's default seccomp profile: Landlock is let through, unshare is not.
  docker = closed({
    kernel = "6.12.0",
    landlock_abi = 6,
    container = "docker",
    uid = 0,
    gid = 0,
    failures = userns_refused("unshare", 1, "EPERM"),
  }),
  --- Docker with unshare and mount let through, but paths of /proc masked: no fresh /proc.
  docker_masked_proc = make({
    kernel = "6.12.0",
    landlock_abi = 6,
    container = "docker",
    seccomp_filter = true,
    seccomp_notify = true,
    tcp_diag = true,
    mount_setattr = true,
    failures = { pidns = { step = "mount proc", errno = 1, error = "EPERM" } },
  }, { "userns", "mountns", "netns", "netns_join", "ipcns", "devpts" }),
  --- A container without namespaces of its own, to which a cgroup is delegated with all that can be limited.
  delegated = closed({
    kernel = "6.12.0",
    landlock_abi = 6,
    cgroup = "/sys/fs/cgroup/run.scope",
    cgroup_memory = true,
    cgroup_pids = true,
    failures = userns_refused("unshare", 1, "EPERM"),
  }),
  debian12 = open({ kernel = "6.1.0", landlock_abi = 2 }),
  --- Linux 5.10: mounts but no Landlock, no mount_setattr.
  kernel_5_10 = open({ kernel = "5.10.0", landlock_abi = 0, mount_setattr = false }),
  --- RHEL hardening.
  rhel_no_userns = closed({ kernel = "5.14.0", landlock_abi = 1, failures = userns_refused("unshare", 28, "ENOSPC") }),
  --- kernel.unprivileged_userns_clone=0
  debian_no_userns = closed({ kernel = "6.1.0", landlock_abi = 2, failures = userns_refused("unshare", 1, "EPERM") }),
  --- Landlock compiled in, not in the lsm= list, and no user namespaces.
  no_landlock_no_userns = closed({
    kernel = "5.15.0",
    landlock_abi = 0,
    failures = {
      landlock = { step = "create_ruleset", errno = 95, error = "EOPNOTSUPP" },
      userns = { step = "unshare", errno = 1, error = "EPERM" },
    },
  }),
  --- Inside another sandbox: no namespaces, and the one listener that a process can have is taken.
  nested = make({
    kernel = "6.12.0",
    landlock_abi = 6,
    seccomp_filter = true,
    failures = {
      userns = { step = "unshare", errno = 1, error = "EPERM" },
      seccomp_notify = { step = "listener", errno = 16, error = "EBUSY" },
    },
  }),
  nested_old = make({ kernel = "5.15.0", landlock_abi = 1, seccomp_filter = true }),
  --- gVisor: its own kernel, Landlock ABI 1 alone.
  gvisor = closed({ kernel = "4.4.0", landlock_abi = 1, container = "gvisor", tcp_diag = false }),
  --- A kernel without seccomp filters confines nothing, whatever else it has.
  no_seccomp = make({ kernel = "6.12.0", landlock_abi = 6 }, with_namespaces),
  macos = make({ system = "macos", machine = "arm64", kernel = "24.0.0" }),
}
