--- What `procage-lua init` writes: files to begin with, every key explained beside it.

local M = {}

--- As it stands it means the defaults. A line that begins with "#" and a key is meant to be uncommented.
M.config = [==[
# What commands may do here: for procage-lua, and for programs that run commands through it.
#
# Every key is optional, and what is commented out below is an example or the default. After a change:
#     procage-lua check FILE              tells every mistake, with its line
#     procage-lua explain --config FILE   shows what it comes to on this machine
[sandbox]

# "auto": a command runs when the policy accepts every gap of this machine. "required": the same, and never without a
# sandbox. "off": NOTHING is confined.
#mode = "auto"

# A shipped policy (speccoder, in-place, own-command, mcp-server, workspace-write, read-only, spettro, off), or your own script:
# an absolute path, or one that starts with ~/
#policy = "speccoder"

# Options that the policy declares: `procage-lua run --policy POLICY --help` lists them; the shipped ones have none
#options = {}

# ---- Network --------------------------------------------------------------------------------------------------------

# "none", "loopback" (one of the run's own), "all", or a list of TCP ports: [443]
#network = "loopback"

# Commands that get the whole network all the same, word by word: exactly these, ...
#network_allow = [["cargo", "fetch"], ["npm", "ci"]]
# ... or whatever begins with these, two words or more. A program of that name in the workspace does not count.
#network_allow_prefix = [["go", "mod"], ["pip", "download"]]

# Whose loopback: "run" is private to each run, "policy" common to the runs of one loaded policy, "host" this machine's
#loopback = "run"

# Unix sockets that may be connected to, besides those in writable trees
#sockets = ["~/.local/run/build.sock"]

# ---- Files: absolute paths, or ones that start with ~/ --------------------------------------------------------------

# The workspace's git directory: "read", "commit" (never hooks and configuration), "write"
#git = "read"

# Files that make others run code and do not exist yet: "move" them out after the run and name them, or "refuse" to make them
# (slower)
#handoff_absent = "move"

# Trees that may be written besides the workspace; they exist
#writable = ["~/out"]

# Trees that a private /tmp would cover, or that a policy does not read by itself
#readable = ["/tmp/shared-input"]

# No data and no listing, besides the policy's own list
#hidden = ["~/notes"]

# In the workspace, and not to be changed
#read_only = ["~/project/golden"]

# Package caches: "write", "fetch" (only by a command that has the network), "none"
#caches = "write"

# "private": each run has a /tmp of its own. "shared": the host's, to be written with writable = ["/tmp"]
#tmp = "private"

# ---- Environment ----------------------------------------------------------------------------------------------------

# Patterns of variables to drop besides the policy's own, variables to set, and names to keep all the same
#env.drop = ["INTERNAL_*"]
#env.set = { CI = "1" }
#env.keep = ["GITHUB_TOKEN"]

# ---- Limits, each off until it is set -------------------------------------------------------------------------------

#limits.timeout_ms = 600_000
#limits.grace_ms = 2_000
#limits.output_bytes = 1_048_576
#limits.file_bytes = 1_073_741_824
#limits.cpu_ms = 300_000
#limits.open_files = 4_096
#limits.processes = 500
#limits.memory_bytes = 4_294_967_296

# ---- Exceptions -----------------------------------------------------------------------------------------------------

# Gaps of a machine that you live with, besides the policy's own: procage-lua explain names them
#accept = ["carve"]

# Built-in refusals to re-open, one by one, as procage-lua explain spells them
#lift = ["~/.npmrc"]

# What is told of refusals: "off", "calls", "paths" (files too; slower)
#denials = "calls"
]==]

M.policy = [==[
--- Says in one sentence what a command may do under this policy.
---
--- What is not said here is taken in its strictest meaning: nothing readable, writable or reachable, and no gap of a machine
--- accepted. After a change:
---     procage-lua check FILE              tells what is wrong, with the line
---     procage-lua explain --policy FILE   shows what it comes to on this machine

local path = require("procage.path")
local profile = require("procage.profile")
local rows = require("policies.rows")

---@param config procage.Config  what the operator wrote, checked and completed
---@param ctx procage.Context  home, workspace, system, env, uid
return function(config, ctx)
  local p = profile.new()
  local lift = rows.lift(config.lift, ctx)

  -- Everything may be read but what is hidden; the workspace and a private /tmp may be written.
  p:allow_read("/")
  p:workspace(ctx.workspace)
  p:tmp("private")

  -- The shipped lists: credentials, files that make someone else run code, variables that look like secrets.
  p:hidden(rows.hidden(ctx, lift))
  p:handoff(rows.handoff(lift, config.git))
  p:handoff_absent(config.handoff_absent)
  p:env({ drop = rows.env_drop(lift, config.env.keep), set = rows.env_set() })

  -- As the configuration says, each of them.
  p:allow_write(path.expand_homes(config.writable, ctx.home))
  p:hidden(path.expand_homes(config.hidden, ctx.home))
  p:read_only(path.expand_homes(config.read_only, ctx.home))
  p:git(config.git)
  p:network(config.network)
  p:env(config.env)
  p:limits(config.limits)

  -- Package caches, when builds need them:
  -- p:caches(rows.caches(ctx, rows.hidden(ctx, lift)), config.caches)

  -- Gaps that you live with; a run is refused where a machine has another. explain says which this one has, and what would
  -- close them. trust_handoff: a mount covers only what exists, so files that others run can be made until the run is over, and
  -- are then moved out (handoff_absent = "refuse" closes it).
  p:accept("trust_handoff")
  p:accept(config.accept)

  rows.check_lifted(lift, config.lift, ctx)
  p:lift(lift.shown)
  return p
end
]==]

return M
