--- Landlock rules on TCP ports. They say nothing of addresses, datagrams (before ABI 10) or other families, and MPTCP,
--- TCP Fast Open and listen without bind pass them by: always together with seccomp-net-ports.
--- Inside a sandbox that performs calls for others (another run of ours: its broker connects) they bind nobody: who performs
--- the call is not of this domain. That such a one is there shows in its listener, of which a process has but one.
--- Source: landlock(7), Linux 6.7.

---@type procage.Mechanism
return {
  name = "landlock-net",
  needs = { { fact = "landlock_abi", floor = 4 }, "seccomp_notify" },
  covers = {
    network = "TCP connects to the listed ports only",
  },
}
