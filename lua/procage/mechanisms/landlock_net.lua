--- Landlock rules on TCP ports. They say nothing of addresses, datagrams (before ABI 10) or other families, and MPTCP,
--- TCP Fast Open and listen without bind pass them by: always together with seccomp-net-ports.
--- Source: landlock(7), Linux 6.7.

---@type procage.Mechanism
return {
  name = "landlock-net",
  needs = { { fact = "landlock_abi", floor = 4 } },
  covers = {
    network = "TCP connects to the listed ports only",
  },
}
