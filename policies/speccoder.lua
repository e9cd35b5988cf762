--- The default: a build, a test or a command that a model wrote.
---
---   - It writes the workspace, package caches and a temporary directory of its own, and nothing else.
---   - It reads everything but credentials, histories and agents' state (lists.lua; each can be lifted by name).
---   - It has a loopback of its own and no network; `network` opens more.
---   - It reads the git directory of the workspace. `git = "commit"` lets it commit, without hooks and configuration.
---   - Files that make others run code later stay as they are.
---   - Variables that look like secrets, or that lead to programs outside, are not in its environment.
---   - Its signals reach its own processes, and none of them outlives it.
---
--- What a host cannot hold of this is named, and tolerated where the last list says so: never writing, hiding or the network.

local path = require("procage.path")
local profile = require("procage.profile")
local rows = require("policies.rows")

--- Gaps that this policy lives with.
local accepted = {
  "carve", "trust_handoff", "workspace_sockets", "signal_scope", "truncate", "metadata", "stat", "replace", "process_tree",
  "device_ioctl", "limits",
}

---@param config procage.Config
---@param ctx procage.Context
---@param lift? procage.Lift  of a policy that is made of this one and has lists of its own
---@return procage.Builder
return function(config, ctx, lift)
  local p = profile.new()
  lift = lift or rows.lift(config.lift, ctx)

  p:allow_read("/")
  p:allow_read(path.expand_homes(config.readable, ctx.home))
  p:workspace(ctx.workspace)
  p:allow_write(path.expand_homes(config.writable, ctx.home))
  p:read_only(path.expand_homes(config.read_only, ctx.home))

  local hidden = rows.hidden(ctx, lift)
  if config.tmp == "private" then
    -- Kerberos tickets: without mounts the host's /tmp is read.
    p:hidden(("/tmp/krb5cc_%d"):format(ctx.uid))
  end
  p:hidden(hidden, path.expand_homes(config.hidden, ctx.home))
  p:git(config.git)
  p:handoff(rows.handoff(lift, config.git, ctx, config.writable))
  p:handoff_absent(config.handoff_absent)
  if config.caches ~= "none" then
    p:caches(rows.caches(ctx, hidden), config.caches)
  end
  p:tmp(config.tmp)

  p:network(config.network)
  p:loopback(config.loopback)
  p:sockets(path.expand_homes(config.sockets, ctx.home))

  p:env({ drop = rows.env_drop(lift, config.env.keep), set = rows.env_set() })
  p:env(config.env)
  p:limits(config.limits)

  p:accept(accepted, config.accept)
  rows.check_lifted(lift, config.lift, ctx)
  p:lift(lift.shown)
  return p
end
