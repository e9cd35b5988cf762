--- Names such as ".vscode/tasks.json" looked for in a tree, in every letter case that stands for them.

local core = require("procage.core")
local disk = require("procage.disk")
local fold = require("procage.fold")
local lists = require("procage.list")
local path = require("procage.path")

local M = {}

---@class procage.Spelling  names as a tree, a component a level
---@field first? integer  the first of the names that lead through here
---@field ends? boolean  one of them is this
---@field below table<string, procage.Spelling>  by component, folded
---@field wanted table<string, string[]>  the same, as the names spell it

--- One more name.
---@param top procage.Spelling
---@param name string
---@param place integer  of the names
function M.add(top, name, place)
  local node = top
  for component in name:gmatch("[^/]+") do
    local lower = fold(component)
    if not node.below[lower] then
      node.below[lower], node.wanted[lower] = { first = place, below = {}, wanted = {} }, {}
    end
    table.insert(node.wanted[lower], component)
    node = node.below[lower]
  end
  node.ends = true
end

---@param names string[]
---@return procage.Spelling
function M.spell(names)
  local top = { below = {}, wanted = {} }
  for i, name in ipairs(names) do
    M.add(top, name, i)
  end
  return top
end

--- Other spellings of one name that count in one directory. Where a file system folds case there is one of each name; where it
--- does not nobody reads the others, and a command can make a million.
local MAX_SPELLINGS = 8

--- The entries of a directory that lead on, with where they lead.
---@param take fun(node: procage.Spelling, path: string, kind: string)
function M.each_below(node, at, take)
  local entries = core.read_dir(at)
  local others = {}
  for name, kind in pairs(entries or {}) do
    local lower = fold(name)
    local below = node.below[lower]
    local is_other = below and not lists.has(node.wanted[lower], name)
    if is_other then
      others[lower] = (others[lower] or 0) + 1
    end
    if below and (not is_other or others[lower] <= MAX_SPELLINGS) then
      take(below, at .. "/" .. name, kind)
    end
  end
  if entries then
    return
  end
  -- A run may have closed it to listing: the name itself can still be asked for, in the letter case that it is known by.
  for lower, below in pairs(node.below) do
    for _, wanted in ipairs(node.wanted[lower]) do
      local kind = disk.kind(at .. "/" .. wanted)
      if kind then
        take(below, at .. "/" .. wanted, kind)
      end
    end
  end
end

---@class procage.Search
---@field found { path: string, kind: string, first: integer }[]
---@field doors? procage.Doors
---@field trees? string[]  that links may lead into

---@param search procage.Search
---@param node procage.Spelling
local function find_below(search, node, at, kind)
  local leads_on = next(node.below) ~= nil
  -- A link on the way stands for the whole name: what it leads to is what is read by it.
  if node.ends or kind == "link" and leads_on then
    search.found[#search.found + 1] = { path = at, kind = kind, first = node.first }
  end
  if kind == "link" and leads_on and search.trees then
    if search.doors then
      search.doors.is_by_link = true
    end
    local target = core.real_path(at)
    if target and path.resolved_tree_of(target, search.trees) and disk.kind(target) == "directory" then
      at, kind = target, "directory"
    end
  end
  if kind == "directory" and leads_on then
    if search.doors then
      search.doors.open(at)
    end
    M.each_below(node, at, function(below, path_below, kind_below)
      find_below(search, below, path_below, kind_below)
    end)
  end
end

--- Every path at which a name of `spelling` stands beneath `root`, in the order of the names.
---@param root string
---@param spelling procage.Spelling
---@param doors? procage.Doors
---@param trees? string[]  that links on the way may lead into
---@return { path: string, kind: string }[]
function M.find(root, spelling, doors, trees)
  local search, seen, once = { found = {}, doors = doors, trees = trees }, {}, {}
  find_below(search, spelling, root, "directory")
  local found = search.found
  table.sort(found, function(a, b)
    if a.first ~= b.first then
      return a.first < b.first
    end
    return a.path < b.path
  end)
  for _, entry in ipairs(found) do
    if not seen[entry.path] then
      seen[entry.path] = true
      once[#once + 1] = { path = entry.path, kind = entry.kind }
    end
  end
  return once
end

return M
