--- Landlock rules on files: a domain that handles every access right and grants the listed trees. A rule holds an inode,
--- and there are no deny rules: a hidden tree is left out by granting its siblings, so a name that appears there later
--- is not granted either. Not covered: stat, chmod, chown, utimensat, setxattr; truncate before ABI 3, device ioctls
--- before ABI 5, connecting to Unix sockets before ABI 9. ABI 1 refuses every rename and link across directories.
--- Source: landlock(7), Linux 5.13.

---@type procage.Mechanism
return {
  name = "landlock-fs",
  needs = { { fact = "landlock_abi", floor = 1 } },
  covers = {
    process_tree = "keeps the run from moving itself out of its cgroup",
    read = "opens, lists and runs only files beneath the granted trees",
    write = "creates, writes and removes only beneath the writable trees",
    truncate = "from ABI 3 truncation is an access right of its own",
    device_ioctl = "from ABI 5 ioctl on devices is an access right of its own",
    hidden = "grants the siblings of a hidden path and never the path",
    signals = "refuses ptrace and the memory of processes outside the domain",
  },
}
