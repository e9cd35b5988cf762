--- Spettro's sandbox: its mode and its network are two things, each the operator's.
---
---   - Mode `workspace-write` and `read-only` are the policies of those names.
---   - Mode `off` (also `full-access`), the default, confines no file. With a network other than `all` the run is confined
---     for the network's sake: it writes every directory at the top of the file system, and reads what it can; devices but
---     null and its like, /proc and /sys stay closed to writing, and so do other processes.
---   - With neither nothing is confined, as in off.lua.
---
--- procage.spettro makes the options of this policy out of spettro.agents.toml and four flags.

local off = require("policies.off")
local profile = require("procage.profile")
local read_only = require("policies.read-only")
local workspace_write = require("policies.workspace-write")

--- Gaps that mean nothing where files are not to be confined.
local meaningless = { "metadata", "truncate", "device_ioctl", "read" }

---@param config procage.Config
---@param ctx procage.Context
---@return procage.Builder
local function network_only(config, ctx)
  local p = profile.new()
  p:allow_read("/")
  p:workspace(ctx.workspace)
  p:allow_write(ctx.top or {}, "/dev/shm")
  p:git("write")
  p:tmp("shared")
  p:network(config.network)
  p:loopback(config.loopback)
  p:env(config.env)
  p:limits(config.limits)
  p:accept(meaningless, config.accept)
  return p
end

---@param config procage.Config
---@param ctx procage.Context
---@return procage.Builder
local function build(config, ctx)
  local mode = config.options.mode
  if mode == "workspace-write" then
    return workspace_write(config, ctx)
  elseif mode == "read-only" then
    return read_only(config, ctx)
  end
  return config.network == "all" and off(config, ctx) or network_only(config, ctx)
end

return {
  help = "Spettro's sandbox: files by mode, and the network.",
  options = {
    {
      name = "mode",
      type = "choice",
      choices = { "off", "full-access", "workspace-write", "read-only" },
      default = "off",
      help = "what of files is confined",
    },
  },
  profile = build,
}
