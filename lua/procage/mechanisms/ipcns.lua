--- An IPC namespace: System V objects and POSIX message queues of the run's own. Source: ipc_namespaces(7).

---@type procage.Mechanism
return {
  name = "ipcns",
  needs = { "userns", "ipcns" },
  covers = {
    ipc = "System V objects and message queues are the run's own",
  },
}
