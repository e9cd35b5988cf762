--- For commands in the user's own working tree, not in a copy that the harness throws away. As speccoder.lua, and
---
---   - The repository is read and no more: .git, and the git and common directories of a linked worktree.
---     The option `git` has no say: a commit is the harness's or the user's to make.
---   - Files that git ignores and whose names say that they hold credentials (lists.lua, `ignored`) read as empty, and cannot
---     be written. The rules are read by procage itself; git is never run, for a repository names programs to run.
---
--- Where a host has no mounts, the first cannot be held inside the tree, nor the second at all: the gap is `carve`.

local rows = require("policies.rows")
local speccoder = require("policies.speccoder")

---@param config procage.Config
---@param ctx procage.Context
---@return procage.Builder
return function(config, ctx)
  local lift = rows.lift(config.lift, ctx)
  local ignored = rows.ignored(lift)
  config.git = "read"
  local p = speccoder(config, ctx, lift)
  p:ignored(ignored)
  return p
end
