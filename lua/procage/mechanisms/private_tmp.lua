--- A directory per run, mode 0700, exported as TMPDIR and removed, descriptor by descriptor, once the run is dead.

---@type procage.Mechanism
return {
  name = "private-tmp",
  needs = {},
  covers = {
    tmp = "a directory of the run's own, named by TMPDIR",
  },
}
