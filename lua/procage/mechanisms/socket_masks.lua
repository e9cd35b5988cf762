--- An empty file mounted over every pathname Unix socket that is bound outside the writable trees when the plan is made.
--- A socket bound later is not covered. Source: unix(7), proc_net(5).

---@type procage.Mechanism
return {
  name = "socket-masks",
  needs = { "userns", "mountns" },
  covers = {
    sockets = "covers the sockets that existed when the plan was made",
  },
}
