--- The environment laid out for the run before it starts: names that look like secrets, or that point at sockets outside,
--- are not in it.

---@type procage.Mechanism
return {
  name = "environment",
  needs = {},
  covers = {
    env = "the environment is built from the rules",
  },
}
