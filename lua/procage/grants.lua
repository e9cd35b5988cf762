--- The Landlock rules of a profile.
---
--- A rule gives a whole tree, and a deeper rule takes nothing away. So a hidden path is kept by granting its siblings, and the
--- siblings of each directory above it, and never the directory itself: it holds for a name that appears or is replaced later,
--- since nothing grants it. Only listing is granted at the top, or `ls /` would fail.

local core = require("procage.core")
local disk = require("procage.disk")
local fold = require("procage.fold")
local path = require("procage.path")

local M = {}

--- One for hundreds of paths: those that a directory holds have the same rights.
---@class procage.Rule
---@field paths (string|table)[]  each a path, or a text of the run
---@field access integer
---@field optional? boolean  a path that is gone is skipped

--- Rights by name, from core.landlock_bits().
---@param bits { name: string, bit: integer, abi: integer }[]
---@param abi integer
function M.rights(bits, abi)
  local by_name, all = {}, 0
  for _, row in ipairs(bits) do
    by_name[row.name] = row.abi <= abi and row.bit or 0
    if row.abi <= abi then
      all = all | row.bit
    end
  end
  local list = by_name.READ_DIR
  local read = list | by_name.READ_FILE | by_name.EXECUTE
  -- A device node made in a writable tree would reach the device; nothing else needs an ioctl on one.
  local write = all & ~(by_name.MAKE_CHAR | by_name.MAKE_BLOCK | (by_name.IOCTL_DEV or 0))
  local device = by_name.READ_FILE | by_name.WRITE_FILE | (by_name.TRUNCATE or 0) | (by_name.IOCTL_DEV or 0)
  return {
    by_name = by_name, all = all, list = list, read = read, write = write, device = device, unix = by_name.RESOLVE_UNIX or 0,
  }
end

--- Devices that harm nobody. tty is the session's own terminal, and a run's session starts without one.
M.devices = { "null", "zero", "full", "random", "urandom", "tty" }

--- By name, folded: on a volume that folds letter case the kernel calls a file as whoever asked first spelled it, and a listing
--- as it was made (ext4).
---@class procage.Denied
---@field exact table<string, boolean>
---@field above table<string, boolean>  directories with something denied in them
---@field files table<string, string[]>  directory -> names of hidden files in it
---@field names string[][]  lists of paths that are known
---@field by_directory? table<string, string[]>  directory -> names in it that are known without listing it

--- Notes `name` and what lies above it as known.
local function know(known, is_known, name)
  local parent, base = path.split(name)
  while parent and not is_known[name] do
    is_known[name] = true
    local names = known[parent] or {}
    known[parent] = names
    names[#names + 1] = base
    name = parent
    parent, base = path.split(name)
  end
end

--- Worked out when a directory cannot be listed, which is rare.
---@param denied procage.Denied
---@return table<string, string[]>
local function known_names(denied)
  if not denied.by_directory then
    local known, is_known = {}, {}
    for _, list in ipairs(denied.names) do
      for _, name in ipairs(list) do
        know(known, is_known, path.normalise(name))
      end
    end
    denied.by_directory = known
  end
  return denied.by_directory
end

--- The names that are known in a directory, where there is something at them.
---@param denied procage.Denied
---@param tree string
---@return string[] names
---@return table<string, string> kinds
local function names_known(denied, tree)
  local names, kinds = {}, {}
  for _, name in ipairs(known_names(denied)[tree] or {}) do
    kinds[name] = disk.kind(path.join(tree, name))
    names[#names + 1] = kinds[name] and name or nil
  end
  return names, kinds
end

---@param denied string[]  resolved, as the hidden ones
---@param hidden procage.Hidden[]
---@param visible string[]
---@return procage.Denied
function M.index(denied, hidden, visible)
  local exact, above = core.denied_index(denied, fold)
  local result = { exact = exact, above = above, files = {}, names = { denied, visible }, fold = fold }
  function result.known(tree)
    return names_known(result, tree)
  end
  for _, entry in ipairs(hidden) do
    if entry.kind == "file" then
      local parent = path.parent(entry.path)
      result.files[parent] = result.files[parent] or {}
      table.insert(result.files[parent], path.basename(entry.path))
    end
  end
  return result
end

--- What is in a directory. One may be open to those who know a name in it and closed to listing, as /home is on shared machines
--- (mode 0711): then the names that are known, or nobody's home would be readable there.
---@return string[] names
---@return table<string, string> kinds
function M.entries_of(denied, tree)
  local listed, listed_kinds, message = disk.names(tree)
  if not message then
    return listed, listed_kinds
  end
  return names_known(denied, tree)
end

--- Whether a name in a directory looks like a copy of a hidden file there, as editors and tools leave them beside it: .netrc~,
--- credentials.bak, .npmrc.1234.
---@param denied procage.Denied
---@param directory string
---@param name string
---@return boolean
function M.is_copy_of_hidden(denied, directory, name)
  local files = denied.files[directory]
  return files ~= nil and core.is_copy(name, files)
end

--- Grants a tree: listing at its top, and each path in it but for what is denied.
local function add_tree(rules, denied, tree, rights, stamps)
  rules[#rules + 1] = { paths = { tree }, access = rights.list, optional = tree ~= "/" }
  local paths = {}
  core.granted(tree, denied, paths, stamps)
  rules[#rules + 1] = { paths = paths, access = rights.read, optional = true }
end

--- Each path with its rights, for who looks at one.
---@param rules procage.Rule[]
---@return { path: string|table, access: integer }[]
function M.each(rules)
  local list = {}
  for _, rule in ipairs(rules) do
    for _, name in ipairs(rule.paths) do
      list[#list + 1] = { path = name, access = rule.access }
    end
  end
  return list
end

--- Every rule that is made in the host, before the clone.
---@param profile procage.Profile
---@param survey procage.Survey
---@param rights table
---@param has_mounts boolean
---@return procage.Rule[]
function M.rules(profile, survey, rights, has_mounts)
  local rules, hidden = {}, {}
  for i, entry in ipairs(survey.hidden) do
    hidden[i] = entry.path
  end
  local closed = { "/dev" }
  table.move(survey.covered, 1, #survey.covered, #closed + 1, closed)
  if has_mounts then
    closed[#closed + 1] = "/proc" -- the run's own is mounted there, and ruled then
  end
  table.move(hidden, 1, #hidden, #closed + 1, closed)

  local everywhere = M.index(closed, survey.hidden, survey.visible)
  local trees = profile.read == "all" and { "/" } or profile.read
  for _, tree in ipairs(trees) do
    add_tree(rules, everywhere, tree, rights, survey.stamps)
  end
  for _, tree in ipairs(survey.read) do
    add_tree(rules, everywhere, tree, rights, survey.stamps)
  end
  local only_hidden = #survey.put_back > 0 and M.index(hidden, survey.hidden, survey.visible)
  for _, tree in ipairs(survey.put_back) do
    add_tree(rules, only_hidden, tree, rights, survey.stamps)
  end
  local devices = {}
  for i, name in ipairs(M.devices) do
    devices[i] = "/dev/" .. name
  end
  rules[#rules + 1] = { paths = devices, access = rights.device, optional = true }
  rules[#rules + 1] = { paths = survey.write, access = rights.write & ~rights.unix }
  -- Sockets that the run binds itself it reaches anyway; in a shared temporary directory it does not reach those of others.
  for _, reachable in ipairs(rights.unix ~= 0 and { survey.reach, profile.sockets } or {}) do
    rules[#rules + 1] = { paths = reachable, access = rights.unix, optional = true }
  end
  return rules
end

return M
