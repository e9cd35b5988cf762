--- What a run sees of the host's below its own /tmp, /var/tmp and /dev/shm: a home or a directory of programs that lies there.
---
--- Landlock adds up what is granted on the way from a file to the root, and goes through mount points. The run's own /tmp is
--- granted whole, so beneath it no rule closes anything. What is to be closed there must not be there: a directory with hidden
--- names in it is not put back as it is. A read-only one stands in for it, with a mount for each entry that Landlock would
--- grant, so that a name which appears or is replaced outside is nowhere to be found.

local core = require("procage.core")
local disk = require("procage.disk")
local fold = require("procage.fold")
local grants = require("procage.grants")
local path = require("procage.path")

local M = {}

--- Mounts for the entries of one tree. Above the first number it is put back as it is, which the report says (gap `replace`);
--- one that has grown past the second since then is refused.
local MAX_AT_LOAD, MAX_ENTRIES = 1000, 4000

--- How far trees are searched for what can be written to on a read-only mount.
local SEARCHED = 256

---@class procage.StandIn
---@field path string
---@field kind "stand-in"|"directory"|"file"|"link"
---@field mode? integer  of a stand-in
---@field target? string  of a link

--- Host directories that the run's own ones take the place of. A writable tree at or above one wins: it was asked for.
---@param profile procage.Profile
---@param write string[]  resolved
---@return string[] covered
---@return { name: string, target: string }[] leading  links to elsewhere: the host's are seen there
function M.covered(profile, write)
  local own = profile.tmp == "private" and { "/tmp", "/var/tmp", "/dev/shm" } or {}
  local covered, leading = {}, {}
  for _, name in ipairs(own) do
    local kind = disk.kind(name)
    local target = kind == "link" and disk.resolve(name) or name
    if kind == "directory" and not path.resolved_tree_of(name, write) then
      covered[#covered + 1] = name
    elseif kind == "link" and not path.resolved_tree_of(target, own) and not path.resolved_tree_of(target, write) then
      -- A link to another of them (/var/tmp to /tmp, on some systems) is covered where it leads.
      leading[#leading + 1] = { name = name, target = target }
    end
  end
  return covered, leading
end

--- Where a readable tree is put back; nil: it is not covered, or not the run's to see.
---@param profile procage.Profile
---@param tree string
---@param covered string[]
---@param write string[]
---@return string? resolved
---@return boolean? exists
function M.place(profile, tree, covered, write)
  local resolved, exists = disk.resolve(tree)
  local above = path.resolved_tree_of(resolved, covered)
  if
    not above
    or above == resolved
    or profile.read ~= "all" and not path.resolved_tree_of(resolved, profile.read)
    or path.resolved_tree_of(resolved, write)
    -- A command may have made a link of what stands in a writable tree: it would choose what the next run sees.
    or disk.leads_through(tree, write)
  then
    return nil
  end
  return resolved, exists
end

--- Whether a granted name is another name of a hidden file.
local function is_second_name(name, hidden_inodes)
  local found = next(hidden_inodes) and core.lstat(name)
  return found and found.links > 1 and hidden_inodes[("%d:%d"):format(found.dev, found.ino)] or false
end

---@param hidden procage.Hidden[]
---@return table<string, boolean>
local function inodes_of(hidden)
  local inodes = {}
  for _, entry in ipairs(hidden) do
    local found = entry.kind == "file" and core.lstat(entry.path)
    if found and found.links > 1 then
      inodes[("%d:%d"):format(found.dev, found.ino)] = true
    end
  end
  return inodes
end

---@class procage.StandInWalk
---@field denied procage.Denied
---@field inodes table<string, boolean>
---@field sockets string[]
---@field entries procage.StandIn[]
---@field stamps table<string, string>
---@field limit integer

--- The entries of one directory, those of stand-ins in it after it. false: too many.
---@param walk procage.StandInWalk
local function walk_into(walk, directory)
  local entries, found = walk.entries, core.lstat(directory)
  entries[#entries + 1] = { path = directory, kind = "stand-in", mode = (found and found.mode or 0) & 511 | 320 } -- 0777, 0500
  walk.stamps[directory] = disk.mark(directory)
  local names, kinds = grants.entries_of(walk.denied, directory)
  for _, name in ipairs(names) do
    local child, kind = path.join(directory, name), kinds[name]
    local spelled = fold(child)
    if #entries >= walk.limit then
      return false
    elseif walk.denied.exact[spelled] or grants.is_copy_of_hidden(walk.denied, directory, name) then
      goto continue
    elseif walk.denied.above[spelled] and kind == "directory" then
      if not walk_into(walk, child) then
        return false
      end
    elseif kind == "link" then
      entries[#entries + 1] = { path = child, kind = "link", target = core.read_link(child) }
    elseif kind == "directory" then
      entries[#entries + 1] = { path = child, kind = "directory" }
    elseif kind == "file" and not is_second_name(child, walk.inodes) then
      entries[#entries + 1] = { path = child, kind = "file" }
    elseif kind == "socket" and path.resolved_tree_of(child, walk.sockets) then
      entries[#entries + 1] = { path = child, kind = "file" }
    end
    -- A FIFO would take what is written to it, read-only mount or not; a device is closed.
    ::continue::
  end
  return true
end

--- What stands in for a tree: directories before what is in them.
---@param tree string
---@param denied procage.Denied  of the hidden paths alone
---@param hidden procage.Hidden[]
---@param sockets string[]  trees whose sockets are granted
---@param stamps table<string, string>  added to
---@param limit? integer
---@return procage.StandIn[]? entries  nil: the tree can be put back as it is
---@return boolean? is_complete  false: too many
local function entries_of(tree, denied, hidden, sockets, stamps, limit)
  local spelled = fold(tree)
  if not denied.above[spelled] or denied.exact[spelled] then
    return nil
  end
  local walk = {
    denied = denied,
    inodes = inodes_of(hidden),
    sockets = sockets,
    entries = {},
    stamps = stamps,
    limit = limit or MAX_ENTRIES,
  }
  return walk.entries, walk_into(walk, tree)
end

local function paths_of(hidden)
  local list = {}
  for i, entry in ipairs(hidden) do
    list[i] = entry.path
  end
  return list
end

--- What stands in for each tree that a survey puts back.
---@param survey procage.Survey  with `hidden` and `put_back`; `stand_ins` is filled in
---@param profile procage.Profile
function M.survey_stand_ins(survey, profile)
  survey.stand_ins = {}
  if #survey.put_back == 0 then
    return
  end
  local denied, whole = grants.index(paths_of(survey.hidden), survey.hidden, survey.visible), {}
  for _, tree in ipairs(profile.put_back_whole or {}) do
    whole[tree] = true
  end
  for _, tree in ipairs(survey.put_back) do
    if not whole[tree] and survey.kinds[tree] == "directory" then
      local entries, is_complete = entries_of(tree, denied, survey.hidden, profile.sockets, survey.stamps)
      if is_complete == false then
        error({ message = ("%s: more than %d entries beside hidden names: load the policy anew"):format(tree, MAX_ENTRIES) })
      end
      survey.stand_ins[tree] = entries
    end
  end
end

--- FIFOs and sockets in the trees that are put back, as far as they are looked for: a read-only mount does not close them.
---@param survey procage.Survey
---@param sockets string[]  trees whose sockets are granted
---@return { path: string, kind: string }[]
function M.find_pipes(survey, sockets)
  local queue, found = table.move(survey.put_back, 1, #survey.put_back, 1, {}), {}
  local hidden = {}
  for _, entry in ipairs(survey.hidden) do
    hidden[entry.path] = true
  end
  local function note(name, kind)
    if kind == "directory" and not hidden[name] and not path.resolved_tree_of(name, survey.write) then
      queue[#queue + 1] = name
    elseif kind == "fifo" or kind == "socket" and not path.resolved_tree_of(name, sockets) then
      found[#found + 1] = { path = name, kind = kind }
    end
  end
  for i = 1, SEARCHED do
    local directory = queue[i]
    if not directory then
      break
    end
    local names, kinds = disk.names(directory)
    for _, name in ipairs(names) do
      note(path.join(directory, name), kinds[name])
    end
  end
  return found
end

--- What the report is to know of a profile before it is fitted: which trees are put back, and which of them as they are
--- although they hold hidden names.
---@param profile procage.Profile  resolved; changed
---@param wanted string[]  trees that the command needs to see
function M.note(profile, wanted)
  local covered, trees, seen = (M.covered(profile, profile.write)), {}, {}
  for _, list in ipairs({ wanted, profile.read ~= "all" and profile.read or {} }) do
    for _, tree in ipairs(list) do
      -- One that is not there yet may be when a run starts.
      local resolved = M.place(profile, tree, covered, profile.write)
      if resolved and not seen[resolved] then
        trees[#trees + 1], seen[resolved] = resolved, true
      end
    end
  end
  profile.put_back, profile.put_back_whole = #trees > 0 and trees or nil, nil
  if #trees == 0 or #profile.hidden == 0 then
    return
  end
  local places, kinds = disk.resolve_all(profile.hidden)
  local hidden = {}
  for i, name in ipairs(places) do
    hidden[i] = { path = name, kind = kinds[i] or nil }
  end
  local denied, whole = grants.index(paths_of(hidden), hidden, wanted), {}
  for _, tree in ipairs(trees) do
    local _, is_complete = entries_of(tree, denied, hidden, profile.sockets, {}, MAX_AT_LOAD)
    whole[#whole + 1] = is_complete == false and tree or nil
  end
  profile.put_back_whole = #whole > 0 and whole or nil
end

return M
