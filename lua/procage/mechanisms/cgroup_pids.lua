--- pids.max of a cgroup of the run's own. Source: cgroup-v2, PID.

---@type procage.Mechanism
return {
  name = "cgroup-pids",
  needs = { "cgroup_pids", "cgroup", "supervisor" },
  covers = {
    limits = "the number of processes and threads of the run",
  },
}
