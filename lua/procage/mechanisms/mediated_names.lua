--- Calls that make a name (open with O_CREAT, mkdir, mknod, rename, link, symlink) as notifications: the broker resolves the
--- way to the name once, judges the entry that is to be made, and makes it. Names of hand-off files are not made.
--- Costs each of these calls a way through two processes, so it is taken only where the profile asks for it
--- (handoff_absent = "refuse").
--- Source: seccomp_unotify(2), Linux 5.0; SECCOMP_IOCTL_NOTIF_ADDFD, 5.9; pidfd_getfd(2), 5.6.

---@type procage.Mechanism
return {
  name = "mediated-names",
  needs = { "seccomp_notify", "supervisor" },
  covers = {
    handoff_absent = "a hand-off name that did not exist cannot be made, nor can a repository's root be moved away",
  },
}
