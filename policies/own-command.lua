--- For commands that the user wrote down himself in the harness's configuration: a test suite, a deploy script, a formatter. As
--- speccoder.lua, and
---
---   - It has the network, and writes the project with its .git.
---   - It ends after ten minutes, unless limits.timeout_ms says otherwise.
---   - Its program is found through PATH, in an absolute entry that lies outside what commands can write: one that lies in the
---     project was perhaps written by a command that nobody trusts.
---
--- Credentials stay hidden, variables that look like secrets are dropped, hand-off files other than git's are protected, and
--- temporary files are its own.

local speccoder = require("policies.speccoder")

local TEN_MINUTES_MS = 600000

---@param config procage.Config
---@param ctx procage.Context
---@return procage.Builder
return function(config, ctx)
  config.network, config.git = "all", "write"
  config.limits.timeout_ms = config.limits.timeout_ms or TEN_MINUTES_MS
  local p = speccoder(config, ctx)
  p:programs("path")
  return p
end
