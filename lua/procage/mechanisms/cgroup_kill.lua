--- A cgroup of the run's own, killed whole when the run ends: the kernel does it at once, whatever the processes do, and the
--- caller does it where the reaper was killed. What the command may not write it cannot leave. Source: cgroup-v2,
--- cgroup.kill, Linux 5.14.

---@type procage.Mechanism
return {
  name = "cgroup-kill",
  needs = { "cgroup", "supervisor" },
  covers = {
    process_tree = "the kernel kills every process of the cgroup at once",
  },
}
