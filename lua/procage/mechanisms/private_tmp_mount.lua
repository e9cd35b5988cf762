--- The run's own directory mounted over /tmp, /var/tmp and /dev/shm; granted trees below those are put back. For programs
--- that do not read TMPDIR, and for shm_open. Source: mount_namespaces(7).

---@type procage.Mechanism
return {
  name = "private-tmp-mount",
  needs = { "userns", "mountns" },
  covers = {
    tmp = "/tmp, /var/tmp and /dev/shm are the run's own",
  },
}
