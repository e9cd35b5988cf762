--- A PID namespace with our init and a fresh read-only /proc: no process outside has a number, so none can be signalled,
--- traced or looked up, and the death of the init ends them all. Source: pid_namespaces(7).

---@type procage.Mechanism
return {
  name = "pidns",
  needs = { "userns", "mountns", "pidns", "supervisor" },
  covers = {
    signals = "processes outside have no number and no entry in /proc",
    process_tree = "the kernel kills every process of the namespace with its init",
  },
}
