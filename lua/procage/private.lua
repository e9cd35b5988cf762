--- Private directories: where a run's temporary files are. Made short, and where everybody may; those that a killed process
--- has left behind are swept away by the next one that makes its own.

local core = require("procage.core")
local disk = require("procage.disk")

local M = {}

local ENOENT = 2

--- A new private directory, and the lock that says it is in use: let go of, a later start may remove the directory.
---@param variables table<string, string>  the caller's
---@param swept table<string, boolean>  directories that were looked through already
---@return string? directory
---@return userdata|string lock  or the message
---@return integer? code
function M.make(variables, swept)
  for _, name in ipairs({ "/tmp", variables.TMPDIR or "/tmp", "/var/tmp", "/dev/shm" }) do
    local base, exists = disk.resolve(name)
    if exists then
      if not swept[base] then
        swept[base] = true
        core.private_sweep(base)
      end
      local made, lock = core.private_dir(base)
      if made then
        return made, lock
      end
    end
  end
  return nil, "no directory for the run's private files: /tmp, TMPDIR and /var/tmp refuse", ENOENT
end

--- Removes a private directory and lets go of it.
---@param directory string
---@param lock userdata
---@return true? ok
---@return string? message
function M.remove(directory, lock)
  local removed, message = core.remove_tree(directory)
  lock:close()
  return removed, message
end

--- Whether somebody else's word that this is a private directory can be taken.
---@param directory string
---@param uid integer
---@return true? ok
---@return string? message
function M.check(directory, uid)
  if core.real_path(directory) ~= directory then
    return nil, directory .. ": does not exist, or a symbolic link leads there"
  end
  for _, name in ipairs({ directory, directory .. "/tmp", directory .. "/var", directory .. "/shm" }) do
    local found = core.lstat(name)
    if not found or found.kind ~= "directory" or found.uid ~= uid or found.mode & 63 ~= 0 then -- 0077
      return nil, name .. ": no directory of this user alone"
    end
  end
  return true
end

return M
