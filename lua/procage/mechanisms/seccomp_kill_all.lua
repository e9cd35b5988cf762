--- Refuses kill(-1): one call that would end every process of the user. A signal to a single number passes.
--- Source: kill(2), seccomp(2).

---@type procage.Mechanism
return {
  name = "seccomp-kill-all",
  needs = { "seccomp_filter" },
  covers = {
    signals = "refuses a signal to every process at once",
  },
}
