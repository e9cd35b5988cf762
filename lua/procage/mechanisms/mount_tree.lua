--- A mount namespace whose whole tree is read-only, the writable places put back, and a /dev of its own with the few nodes
--- a program needs. The one thing that stops chmod, chown, utimensat and setxattr, which Landlock does not see. A
--- FIFO with a reader outside can still be written through a read-only mount. Source: mount_namespaces(7),
--- mount_setattr(2) (Linux 5.12; before it a remount that keeps the locked flags).

---@type procage.Mechanism
return {
  name = "mount-tree",
  needs = { "userns", "mountns" },
  covers = {
    read = "a /dev with null, zero, full, random, urandom, tty, ptmx and the run's own pts",
    write = "every mount but the writable places is read-only",
    truncate = "a file on a read-only mount cannot be cut",
    metadata = "a file on a read-only mount keeps mode, owner, times and xattrs",
    device_ioctl = "the devices of the host are not in the tree",
  },
}
