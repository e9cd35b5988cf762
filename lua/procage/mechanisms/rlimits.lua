--- RLIMIT_FSIZE, RLIMIT_CPU and RLIMIT_NOFILE, per process. Never RLIMIT_AS, which breaks node, Go and sanitizers. Source:
--- getrlimit(2).

---@type procage.Mechanism
return {
  name = "rlimits",
  needs = {},
  covers = {
    limits = "file size, processor time and open files of each process",
  },
}
