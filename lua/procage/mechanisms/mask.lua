--- An empty read-only mount over a path: no data, no listing, no names. A process outside the namespace that renames
--- another file over the path takes the mask away with the old one (a token refresh does that), so a mask alone is
--- not enough to hide. Source: mount_namespaces(7), Linux 3.18 for the detaching rename.

---@type procage.Mechanism
return {
  name = "mask",
  needs = { "userns", "mountns" },
  covers = {
    read = "covers the files of /proc and /sys that show the kernel's memory",
    hidden = "an empty mount lies over the path",
    ignored = "an empty file lies over the path",
    stat = "what is beneath the mount cannot be named",
  },
}
