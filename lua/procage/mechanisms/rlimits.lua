--- RLIMIT_FSIZE and RLIMIT_CPU, per process. Never RLIMIT_AS, which breaks node, Go and sanitizers. Source: getrlimit(2).

---@type procage.Mechanism
return {
  name = "rlimits",
  needs = {},
  covers = {
    limits = "file size and processor time of each process",
  },
}
