--- Landlock's right to resolve a pathname Unix socket: a connect or a datagram to a socket outside the granted trees and
--- outside the domain is refused with EACCES. Not where a sandbox around this one may connect in the caller's place, as with
--- landlock-net. Source: landlock(7), Linux 7.1.

---@type procage.Mechanism
return {
  name = "landlock-unix",
  needs = { { fact = "landlock_abi", floor = 9 }, "seccomp_notify" },
  covers = {
    abstract = "connects without a broker, so that abstract sockets of the run itself stay reachable",
    sockets = "reaches sockets beneath granted trees and those of the run itself",
  },
}
