--- A read-only bind mount of a path onto itself. A mount point cannot be renamed or removed (EBUSY), nor can a directory
--- above it be moved to another name by the run without taking the mount along; a name that does not exist cannot be
--- covered. Source: mount(2), mount_namespaces(7).

---@type procage.Mechanism
return {
  name = "bind-read-only",
  needs = { "userns", "mountns" },
  covers = {
    read_only = "the path is a read-only mount, which cannot be renamed",
    git = "the git directory, or its protected parts, are read-only mounts",
    handoff = "each existing hand-off file is a read-only mount",
  },
}
