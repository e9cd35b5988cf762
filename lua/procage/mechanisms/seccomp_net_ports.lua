--- What Landlock's TCP rules leave open: other families, datagrams, MPTCP, TCP Fast Open, listen without bind.
--- Source: seccomp(2); the ways round are tested in spec/escape.

---@type procage.Mechanism
return {
  name = "seccomp-net-ports",
  needs = { "seccomp_filter" },
  covers = {
    network = "refuses the ways past Landlock's TCP rules",
  },
}
