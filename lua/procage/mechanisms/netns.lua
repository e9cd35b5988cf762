--- A network namespace with nothing but a loopback of its own. Abstract Unix sockets belong to a network namespace too.
--- AF_VSOCK passes it by. Source: network_namespaces(7).

---@type procage.Mechanism
return {
  name = "netns",
  needs = { "userns", "netns" },
  covers = {
    network = "no interface but a loopback of the run's own",
    abstract = "abstract sockets outside are in another namespace",
  },
}
