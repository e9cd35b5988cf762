--- connect(2) as a notification: the supervisor copies the address, a broker inside the run resolves the path once, judges what
--- it found by where it is, and connects to that object. A path that changes meanwhile changes nothing.
--- Datagram sockets are refused, since sendmsg names a peer too. Source: seccomp_unotify(2), Linux 5.0; pidfd_getfd(2), 5.6.

---@type procage.Mechanism
return {
  name = "mediated-connect",
  needs = { "seccomp_notify", "supervisor" },
  covers = {
    sockets = "connects only to sockets that lie in the writable trees and those the profile lists",
    abstract = "connects to no abstract socket outside the run's own network namespace",
  },
}
