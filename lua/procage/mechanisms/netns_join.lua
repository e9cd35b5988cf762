--- The network namespace that the runs of one loaded policy have in common, with the user namespace that owns it: a process
--- that does nothing keeps both, and each run's child enters them before it makes what is its own. Source: setns(2) by a
--- pidfd, Linux 5.8.

---@type procage.Mechanism
return {
  name = "netns-join",
  -- The process has no mounts: it must have left them.
  needs = { "userns", "mountns", "netns", "netns_join", "supervisor" },
  covers = {
    network = "the loopback is common to the runs of this policy",
    abstract = "abstract sockets are common to the runs of this policy",
  },
}
