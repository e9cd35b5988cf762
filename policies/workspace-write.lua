--- Spettro's `workspace-write`: as read-only.lua, and the workspace is written.
---
---   - Of its git directory `git` decides: read, unless the configuration says `commit` or `write`. Hooks and configuration in
---     it would be run by the next git command outside.
---   - `read_only` of the configuration stays as it is, the file that the configuration came from too.

local read_only = require("policies.read-only")

---@param config procage.Config
---@param ctx procage.Context
---@return procage.Builder
return function(config, ctx)
  local p = read_only(config, ctx, true)
  p:workspace(ctx.workspace)
  p:git(config.git)
  return p
end
