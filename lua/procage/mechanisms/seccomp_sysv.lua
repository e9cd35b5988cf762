--- Refuses shmget, semget, msgget and their kin, and mq_open: blunter than a namespace, the run has none of its own either.
--- Source: seccomp(2), sysvipc(7).

---@type procage.Mechanism
return {
  name = "seccomp-sysv",
  needs = { "seccomp_filter" },
  covers = {
    ipc = "refuses System V objects and message queues",
  },
}
