--- No new limits (prlimit), priority or scheduling for another process, where others have numbers: a limit on processor time
--- kills, and neither Landlock's scope of signals nor the user's rights stand against it. Source: seccomp(2), prlimit(2).

---@type procage.Mechanism
return {
  name = "seccomp-peers",
  needs = { "seccomp_filter" },
  covers = {
    signals = "refuses limits and scheduling for any process but the caller",
  },
}
