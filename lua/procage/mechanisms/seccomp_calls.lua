--- The filter that is always there: unknown and foreign-architecture calls, new namespaces, mounts, io_uring and the
--- other rows of its table are refused. Source: seccomp(2), Linux 3.5.

---@type procage.Mechanism
return {
  name = "seccomp-calls",
  needs = { "seccomp_filter" },
  covers = {
    signals = "refuses the calls that reach into other processes",
  },
}
