--- TCP on the host's loopback without a network namespace: connect(2), bind(2) and listen(2) as notifications. The supervisor
--- judges its own copy of each address, and of each socket by its cookie; a broker inside the run acts. A run binds addresses
--- of the loopback alone (the wildcard address becomes one) and connects only to what it listens on itself: which socket that
--- is the kernel tells, and a guard of the broker's keeps the address from everybody else until the connection is made.
--- No datagrams: they name a peer where nobody looks. Source: seccomp_unotify(2), sock_diag(7), pidfd_getfd(2), Linux 5.9.

---@type procage.Mechanism
return {
  name = "mediated-loopback",
  needs = { "seccomp_notify", "supervisor", "tcp_diag" },
  covers = {
    network = "TCP on loopback addresses only; `loopback = \"run\"`: only to the run's own servers",
  },
}
