--- Landlock's scope on abstract Unix sockets: only those made in the domain can be reached. A socket made before the
--- domain was enforced keeps its maker's. Source: landlock(7), Linux 6.12.

---@type procage.Mechanism
return {
  name = "landlock-scope-abstract",
  needs = { { fact = "landlock_abi", floor = 6 } },
  covers = {
    abstract = "reaches abstract sockets of the same domain only",
  },
}
