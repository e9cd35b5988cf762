--- RLIMIT_NPROC, which counts the processes and threads of a user in the run's own user namespace, and there only the run's. It
--- binds nobody whose uid is 0 outside. Source: getrlimit(2); Linux 5.14.

---@type procage.Mechanism
return {
  name = "nproc",
  needs = { "userns", "nproc" },
  covers = {
    limits = "the number of processes and threads of the run",
  },
}
