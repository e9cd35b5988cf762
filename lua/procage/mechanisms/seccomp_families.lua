--- Sockets of listed families only: AF_UNIX, and AF_NETLINK for NETLINK_ROUTE (getifaddrs needs it); AF_INET and AF_INET6
--- where a private loopback is given; never VSOCK, ALG, PACKET or XDP. It holds for datagrams as for streams. A filter
--- cannot read an address. Source: seccomp(2), address_families(7).

---@type procage.Mechanism
return {
  name = "seccomp-families",
  needs = { "seccomp_filter" },
  covers = {
    network = "creates no socket of a family that reaches the network",
  },
}
