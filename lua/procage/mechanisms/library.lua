--- What the calling library does itself: the deadline and the cap on output.

---@type procage.Mechanism
return {
  name = "library",
  needs = { "supervisor" },
  covers = {
    limits = "the deadline, the grace after it and the cap on output",
  },
}
