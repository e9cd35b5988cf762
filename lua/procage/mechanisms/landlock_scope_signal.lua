--- Landlock's scope on signals: none leaves the domain. Without erratum 2 fixed it also refuses signals between the
--- threads of one process. Source: landlock(7), Linux 6.12.

---@type procage.Mechanism
return {
  name = "landlock-scope-signal",
  needs = { { fact = "landlock_abi", floor = 6 } },
  covers = {
    signals = "signals reach only processes of the same domain",
  },
}
