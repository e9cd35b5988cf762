--- The Landlock rules of a profile.
---
--- A rule gives a whole tree, and a deeper rule takes nothing away. So a hidden path is kept by granting its siblings, and the
--- siblings of each directory above it, and never the directory itself: it holds for a name that appears or is replaced later,
--- since nothing grants it. Only listing is granted at the top, or `ls /` would fail.

local disk = require("procage.disk")
local fold = require("procage.fold")
local path = require("procage.path")

local M = {}

local find = string.find

---@class procage.Rule
---@field path string|table  a path, or a text of the run
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

--- Copies of a hidden file that editors and tools leave beside it: .netrc~, credentials.bak, .npmrc.1234.
local function is_copy(name, hidden_names)
  for _, hidden in ipairs(hidden_names) do
    -- Most begin otherwise: a search for the beginning alone makes no text.
    if #name > #hidden and find(name, hidden, 1, true) == 1 and name:sub(#hidden + 1, #hidden + 1):match("[%.~#%-_]") then
      return true
    end
  end
  return false
end

--- By name, folded: on a volume that folds letter case the kernel calls a file as whoever asked first spelled it, and a listing
--- as it was made (ext4).
---@class procage.Denied
---@field exact table<string, boolean>
---@field above table<string, boolean>  directories with something denied in them
---@field files table<string, string[]>  directory -> names of hidden files in it
---@field names string[][]  lists of paths that are known
---@field known? table<string, string[]>  directory -> names in it that are known without listing it

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
  if not denied.known then
    local known, is_known = {}, {}
    for _, list in ipairs(denied.names) do
      for _, name in ipairs(list) do
        know(known, is_known, path.normalise(name))
      end
    end
    denied.known = known
  end
  return denied.known
end

---@param denied string[]  resolved, as the hidden ones
---@param hidden procage.Hidden[]
---@param visible string[]
---@return procage.Denied
function M.index(denied, hidden, visible)
  local folded, exact = {}, {}
  for i, name in ipairs(denied) do
    folded[i] = fold(name)
    exact[folded[i]] = true
  end
  local result = { exact = exact, above = path.holding(folded), files = {}, names = { denied, visible } }
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
  local names, kinds = {}, {}
  for _, name in ipairs(known_names(denied)[tree] or {}) do
    kinds[name] = disk.kind(path.join(tree, name))
    names[#names + 1] = kinds[name] and name or nil
  end
  return names, kinds
end

--- Whether a name in a directory looks like a copy of a hidden file there.
---@param denied procage.Denied
---@param directory string
---@param name string
---@return boolean
function M.is_copy_of_hidden(denied, directory, name)
  local files = denied.files[directory]
  return files ~= nil and is_copy(name, files)
end

local GRANTED = { file = true, directory = true, socket = true }

--- Grants `tree` but for what is denied in it.
local function expand(rules, denied, tree, access, stamps)
  local spelled = fold(tree)
  if denied.exact[spelled] then
    return
  elseif not denied.above[spelled] then
    rules[#rules + 1] = { path = tree, access = access, optional = true }
    return
  end
  stamps[tree] = disk.mark(tree)
  local prefix, hidden_files = tree == "/" and "/" or tree .. "/", denied.files[tree]
  local names, kinds = M.entries_of(denied, tree)
  for _, name in ipairs(names) do
    local child = prefix .. name
    local child_spelled = fold(child)
    -- A link needs no rule, and a rule on one would be a rule on what it leads to, hidden or not.
    if not GRANTED[kinds[name]] or hidden_files and is_copy(name, hidden_files) then
      goto continue
    elseif denied.above[child_spelled] or denied.exact[child_spelled] then
      expand(rules, denied, child, access, stamps)
    else
      rules[#rules + 1] = { path = child, access = access, optional = true }
    end
    ::continue::
  end
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
    rules[#rules + 1] = { path = tree, access = rights.list, optional = tree ~= "/" }
    expand(rules, everywhere, tree, rights.read, survey.stamps)
  end
  local only_hidden = #survey.put_back > 0 and M.index(hidden, survey.hidden, survey.visible)
  for _, tree in ipairs(survey.read) do
    rules[#rules + 1] = { path = tree, access = rights.list, optional = true }
    expand(rules, everywhere, tree, rights.read, survey.stamps)
  end
  for _, tree in ipairs(survey.put_back) do
    rules[#rules + 1] = { path = tree, access = rights.list, optional = true }
    expand(rules, only_hidden, tree, rights.read, survey.stamps)
  end
  for _, name in ipairs(M.devices) do
    rules[#rules + 1] = { path = "/dev/" .. name, access = rights.device, optional = true }
  end
  for _, tree in ipairs(survey.write) do
    rules[#rules + 1] = { path = tree, access = rights.write & ~rights.unix }
  end
  -- Sockets that the run binds itself it reaches anyway; in a shared temporary directory it does not reach those of others.
  for _, reachable in ipairs(rights.unix ~= 0 and { survey.reach, profile.sockets } or {}) do
    for _, tree in ipairs(reachable) do
      rules[#rules + 1] = { path = tree, access = rights.unix, optional = true }
    end
  end
  return rules
end

return M
