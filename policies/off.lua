--- No confinement. The runner runs the command plainly, with a notice on every run, and says so in the report: every clause
--- is unenforced under the gap `off`, which only this policy accepts. Where the mode is `required` it refuses.

local profile = require("procage.profile")

---@param config procage.Config
---@param ctx procage.Context
---@return procage.Builder
return function(config, ctx)
  local p = profile.new()
  p:unconfined("policy off: the command does whatever its user can")
  p:allow_read("/")
  p:workspace(ctx.workspace)
  p:git("write")
  p:tmp("shared")
  p:network("all")
  p:env({ set = config.env.set })
  p:accept("off")
  return p
end
