--- Which commands a configuration gives the network (`network_allow`, `network_allow_prefix`), and which file each of them is:
--- never one that commands could have written, whatever its name.

local disk = require("procage.disk")
local executables = require("procage.executable")
local path = require("procage.path")

local M = {}

---@param entry string[]
---@param argv string[]
---@return boolean
local function begins(entry, argv)
  for i, word in ipairs(entry) do
    if argv[i] ~= word then
      return false
    end
  end
  return true
end

--- The entry that names this command: all its words, or a beginning of two or more.
---@param config procage.Config
---@param argv string[]
---@return string[]? entry
function M.entry(config, argv)
  for _, entry in ipairs(config.network_allow) do
    if #entry == #argv and begins(entry, argv) then
      return entry
    end
  end
  for _, entry in ipairs(config.network_allow_prefix) do
    if begins(entry, argv) then
      return entry
    end
  end
  return nil
end

--- The file that the operator means by an entry: the first in his PATH to which nothing leads that a command could have made, a
--- link on the way least of all. What depends on where a command is started is not what he meant.
---@param name string  a bare name or an absolute path
---@param variable? string  his PATH
---@param writable string[]  trees, resolved
---@return procage.Executable?
local function meant_by(name, variable, writable)
  local candidates = { name }
  if not path.is_absolute(name) then
    candidates = executables.trusted(name, variable, writable)
  elseif disk.leads_through(name, writable) then
    return nil
  end
  for _, candidate in ipairs(candidates) do
    local found = executables.find(candidate, "/")
    if found then
      return found
    end
  end
  return nil
end

--- Whether a command has the network by the configuration: then the file that must run, and no other.
---@param config procage.Config
---@param policy procage.Policy  of the same configuration: its trees and variables count
---@param argv string[]
---@param options { cwd?: string, env?: table<string, string>, executable?: procage.Executable }  of the command
---@return procage.Executable? granted
---@return string? why  it was named, and does not get it all the same
function M.network(config, policy, argv, options)
  local entry = M.entry(config, argv)
  if not entry then
    return nil
  end
  local cwd = disk.resolve(path.join(policy.profile.workspace, options.cwd or "."))
  local _, variables = policy:environment(options.env, cwd)
  local found = options.executable or executables.find(argv[1], cwd, variables)
  if not found then
    -- The run will say so.
    return nil
  end
  local tree = path.tree_of(found.path, policy.profile.write)
  if tree then
    return nil, ("no network for %s: %s lies in %s, where commands write"):format(argv[1], found.path, tree)
  end
  local meant = meant_by(entry[1], policy.caller_env.PATH, policy.profile.write)
  if not meant or meant.dev ~= found.dev or meant.ino ~= found.ino then
    local other = meant and meant.path or "nothing that lies outside what commands write"
    return nil, ("no network for %s: here it is %s, and the configuration means %s"):format(argv[1], found.path, other)
  end
  return found
end

return M
