--- A small process between the caller and the run, the subreaper of what the run starts: it sweeps its descendants until
--- none is left. A run that may signal it can outlive it. Source: PR_SET_CHILD_SUBREAPER(2const), Linux 3.4.

---@type procage.Mechanism
return {
  name = "reaper",
  needs = { "supervisor" },
  covers = {
    process_tree = "adopts orphans of the run and kills them",
  },
}
