--- The harness's own backstop: a process that runs commands gives up what it will never need to write.

local core = require("procage.core")
local disk = require("procage.disk")
local profiles = require("procage.profile")

local M = {}

local ENOENT = 2

--- Confines this process for good, all its threads: it writes beneath the profile's writable trees, and to null, terminals and
--- the like, and nowhere else. Reads and the network stay open, and what it starts afterwards is confined the same.
---
--- It is a Landlock domain: before ABI 8 (Linux 7.0) only a process of one thread can enter it as a whole, and any other is
--- refused, unchanged. A process in a domain cannot mount: policies loaded afterwards report that mounts are missing, and those
--- loaded before start nothing more that needs them. Runs want a directory for temporary files: name one in `writable`.
---@param profile procage.Profile  resolved, as policy.profile is
---@param options? { writable?: string[] }  more trees, absolute
---@return true? ok
---@return string? message
---@return integer? code
function M.parent(profile, options)
  local valid, why = profiles.validate(profile)
  if not valid then
    error("confine_parent: profile: " .. why, 2)
  end
  for key in pairs(options or {}) do
    if key ~= "writable" then
      error("confine_parent: unknown key " .. tostring(key), 2)
    end
  end
  local trees = {}
  for _, tree in ipairs(profiles.writable_trees(profiles.plain(profile))) do
    local resolved, exists = disk.resolve(tree)
    -- A package cache that nobody has made: a rule holds an inode, and there is none.
    trees[#trees + 1] = exists and resolved or nil
  end
  for _, tree in ipairs(options and options.writable or {}) do
    local resolved, exists = disk.resolve(tree)
    if not exists then
      return nil, tree .. ": no such file or directory", ENOENT
    end
    trees[#trees + 1] = resolved
  end
  local ok, message, code = core.confine_process(trees)
  if not ok then
    return nil, "confine_parent: " .. message, code
  end
  -- What was measured before is no longer so.
  core.probe({ fresh = true })
  return true
end

return M
