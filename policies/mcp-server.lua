--- For a tool server that a harness starts and talks to on standard input and output. As speccoder.lua, and
---
---   - It has no deadline: limits.timeout_ms is for commands and does not count.
---   - When its standard input ends, so does it: a second later it gets SIGTERM, another second later everything it started is
---     killed. A harness that crashes leaves no server behind.
---   - `policy:wrap` gives the form that looks after it: the harness's child is its parent, and passes streams and signals on.
---
--- `network` is the operator's to give; without it there is none but a loopback of its own.

local speccoder = require("policies.speccoder")

---@param config procage.Config
---@param ctx procage.Context
---@return procage.Builder
return function(config, ctx)
  local limits = config.limits
  limits.timeout_ms = nil
  limits.stdin_grace_ms = limits.stdin_grace_ms or 1000
  limits.grace_ms = limits.grace_ms or 1000
  local p = speccoder(config, ctx)
  p:wrap("tree")
  return p
end
