--- The mechanisms, one file each: what it needs of a host, and what it does for each clause that it can cover.

---@class procage.Mechanism
---@field name string  as in a report and in `fitted.mechanisms`
---@field needs procage.Need[]  facts of the Host; empty: any host
---@field covers table<string, string>  clause -> what it does for it

local M = {}

local files = {
  "landlock_fs",
  "landlock_net",
  "landlock_unix",
  "landlock_scope_signal",
  "landlock_scope_abstract",
  "mount_tree",
  "mask",
  "mediated_connect",
  "mediated_loopback",
  "mediated_names",
  "socket_masks",
  "bind_read_only",
  "private_tmp",
  "private_tmp_mount",
  "netns",
  "netns_join",
  "ipcns",
  "pidns",
  "reaper",
  "seccomp_calls",
  "seccomp_families",
  "seccomp_net_ports",
  "seccomp_no_unix",
  "seccomp_sysv",
  "seccomp_kill_all",
  "seccomp_peers",
  "environment",
  "rlimits",
  "nproc",
  "cgroup_kill",
  "cgroup_memory",
  "cgroup_pids",
  "library",
}

---@type procage.Mechanism[]
M.list = {}
---@type table<string, procage.Mechanism>
M.by_name = {}
for i, file in ipairs(files) do
  local mechanism = require("procage.mechanisms." .. file)
  M.list[i], M.by_name[mechanism.name] = mechanism, mechanism
end

return M
