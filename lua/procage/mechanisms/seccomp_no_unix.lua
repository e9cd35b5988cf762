--- No Unix socket at all, but for pairs of streams or of SOCK_SEQPACKET, which are connected for good: for runs that have
--- neither a rule of the kernel's for sockets nor somebody who looks at each address. Source: seccomp(2), unix(7).

---@type procage.Mechanism
return {
  name = "seccomp-no-unix",
  needs = { "seccomp_filter" },
  covers = {
    sockets = "makes no Unix socket that could be connected",
    abstract = "makes no Unix socket that could be connected",
  },
}
