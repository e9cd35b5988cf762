--- Spettro's `read-only`: a command that looks and does not touch.
---
---   - It reads the system's programs and settings, the workspace, and the trees that the operator adds; nothing else of the
---     home directory but what git needs to know its user.
---   - It writes the host's own temporary directories, shared as they are, /dev/null and its like, and the trees that the
---     operator adds; not the workspace.
---   - Credentials stay hidden wherever they lie, and variables that look like secrets are dropped.
---   - The network is the configuration's.
---
--- Nothing is tolerated: where a host cannot hold all of it, no command runs (exit status 126), unless the operator accepts a
--- gap by name. So hand-off files are named only with handoff_absent = "refuse": moved out after the run, those that did not
--- exist would be a gap.

local path = require("procage.path")
local profile = require("procage.profile")
local rows = require("policies.rows")

--- What programs and libraries are made of, and what they ask of the system.
local system_trees = {
  "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/proc", "/sys", "/dev", "/run", "/var",
}

---@param config procage.Config
---@param ctx procage.Context
---@param writes? boolean  for workspace-write.lua, which is this and the workspace
---@return procage.Builder
return function(config, ctx, writes)
  local p = profile.new({ workspace = ctx.workspace })
  local lift = rows.lift(config.lift, ctx)

  p:allow_read(system_trees, ctx.workspace, ctx.git_files or {}, path.expand_homes(config.readable, ctx.home))
  p:hidden(rows.hidden(ctx, lift), path.expand_homes(config.hidden, ctx.home))
  -- /dev/shm is where POSIX semaphores and shared memory are.
  p:allow_write("/tmp", "/dev/shm", ctx.tmp or {}, path.expand_homes(config.writable, ctx.home))
  p:tmp("shared")
  p:read_only(path.expand_homes(config.read_only, ctx.home))
  if not writes then
    -- Only where it lies in one of those does this add anything.
    p:read_only(ctx.workspace)
  end
  p:git("read")
  if config.handoff_absent == "refuse" then
    p:handoff(rows.handoff(lift, writes and config.git or "read"))
    p:handoff_absent("refuse")
  end

  p:network(config.network)
  p:loopback(config.loopback)
  p:sockets(path.expand_homes(config.sockets, ctx.home))
  p:env({ drop = rows.env_drop(lift, config.env.keep) })
  p:env(config.env)
  p:limits(config.limits)

  p:accept(config.accept)
  rows.check_lifted(lift, config.lift, ctx)
  p:lift(lift.shown)
  return p
end
