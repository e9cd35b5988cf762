--- procage: confines what a command may do, with the kernel's own means.
---
---     local procage = require("procage")
---     local policy = assert(procage.policy.load("speccoder", {}, { root = "/srv/project" }))
---     local outcome = policy:run({ "make", "test" })

local confine = require("procage.confine")
local core = require("procage.core")
local fit = require("procage.fit")
local hosts = require("procage.host")
local policy = require("procage.policy")
local profile = require("procage.profile")
local runner = require("procage.runner")

local M = { version = core.version, profile = profile, fit = fit.fit }

--- What this machine offers, each fact tried.
---@return procage.Host
function M.probe()
  return hosts.complete(core.probe())
end

M.confine_parent = confine.parent

M.policy = {
  load = runner.load,
  load_script = policy.load_script,
  build_profile = policy.build_profile,
}

--- procage.hosts: made when asked for, since a run does not need them.
return setmetatable(M, {
  __index = function(_, key)
    if key == "hosts" then
      M.hosts = require("procage.hosts")
      return M.hosts
    end
  end,
})
