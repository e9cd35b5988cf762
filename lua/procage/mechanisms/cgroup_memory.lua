--- memory.max of a cgroup of the run's own: at the limit all of it is killed. Source: cgroup-v2, memory.oom.group, Linux 4.19.

---@type procage.Mechanism
return {
  name = "cgroup-memory",
  needs = { "cgroup_memory", "cgroup", "supervisor" },
  covers = {
    limits = "the memory of all the run's processes together",
  },
}
