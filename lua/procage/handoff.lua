--- Hand-off names: files in the workspace that make someone else run code later.
---
--- Those that exist are bound read-only before the run (survey.lua). Those that do not exist yet cannot be: a placeholder on
--- disk would itself be litter. So what appeared is moved out of the tree once the run is dead, and reported.

local core = require("procage.core")
local disk = require("procage.disk")
local git = require("procage.git")
local path = require("procage.path")

local M = {}

--- A scan that grew with the workspace would be paid by every command; what lies deeper is not protected (docs/limits.md).
M.scan_depth, M.scan_directories = 4, 1024

--- Trees that packages fill: a repository in one is a dependency's.
local SKIPPED = { node_modules = true, target = true, vendor = true, [".git"] = true, [".venv"] = true }

local function looked_into(queue, count)
  local names = {}
  for i = 1, count do
    names[i] = queue[i].at
  end
  return names
end

--- The roots of repositories in `workspace`, itself first, nearest first.
---@param workspace string
---@return string[] roots
---@return boolean is_complete
---@return string[] listed  the directories that were looked into
---@return string[] closed  those that could not be listed
function M.roots(workspace)
  local roots, queue, listed = { workspace }, { { at = workspace, depth = 0 } }, 0
  local next_up, closed = 1, {}
  while queue[next_up] do
    local item = queue[next_up]
    next_up = next_up + 1
    listed = listed + 1
    if listed > M.scan_directories then
      return roots, false, looked_into(queue, next_up - 2), closed
    end
    local entries, message = disk.list(item.at, nil, true)
    if message then
      closed[#closed + 1] = item.at
    end
    for _, entry in ipairs(entries) do
      if entry.name == ".git" and item.at ~= workspace then
        roots[#roots + 1] = item.at
      elseif entry.kind == "directory" and not SKIPPED[entry.name] and item.depth < M.scan_depth then
        queue[#queue + 1] = { at = path.join(item.at, entry.name), depth = item.depth + 1 }
      end
    end
  end
  return roots, true, looked_into(queue, #queue), closed
end

---@class procage.Spelling  names as a tree, a component a level
---@field first? integer  the first of the names that lead through here
---@field ends? boolean  one of them is this
---@field below table<string, procage.Spelling>  by component in lower case
---@field wanted table<string, string[]>  the same, as the names spell it

---@param names string[]
---@return procage.Spelling
local function spell(names)
  local top = { below = {}, wanted = {} }
  for i, name in ipairs(names) do
    local node = top
    for component in name:gmatch("[^/]+") do
      local lower = component:lower()
      if not node.below[lower] then
        node.below[lower], node.wanted[lower] = { first = i, below = {}, wanted = {} }, {}
      end
      table.insert(node.wanted[lower], component)
      node = node.below[lower]
    end
    node.ends = true
  end
  return top
end

--- The entries of a directory that lead on, with where they lead.
---@param take fun(node: procage.Spelling, path: string, kind: string)
local function each_below(node, at, take)
  local entries = core.read_dir(at)
  for name, kind in pairs(entries or {}) do
    local below = node.below[name:lower()]
    if below then
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

---@param found { path: string, kind: string, first: integer }[]  written
---@param node procage.Spelling
local function find_below(found, node, at, kind)
  -- A link on the way stands for the whole name: what it leads to is what is read by it.
  if node.ends or kind == "link" and next(node.below) then
    found[#found + 1] = { path = at, kind = kind, first = node.first }
  end
  if kind == "directory" and next(node.below) then
    each_below(node, at, function(below, path_below, kind_below)
      find_below(found, below, path_below, kind_below)
    end)
  end
end

local function find_spelled(root, spelling)
  local found, seen, once = {}, {}, {}
  find_below(found, spelling, root, "directory")
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

--- Every path at which one of `names` ("a" or "a/b") stands beneath `root`, whatever its letter case.
---@param root string
---@param names string[]
---@return { path: string, kind: string }[]
function M.find(root, names)
  return find_spelled(root, spell(names))
end

---@class procage.Watch
---@field roots string[]
---@field names string[]
---@field guarded string[]  single paths that must not appear or change: what git trusts
---@field spelling? procage.Spelling  of the names, once they were looked for

local function every_path(watch)
  local found = {}
  watch.spelling = watch.spelling or spell(watch.names)
  for _, root in ipairs(watch.roots) do
    for _, entry in ipairs(find_spelled(root, watch.spelling)) do
      found[#found + 1] = entry.path
    end
    -- Without its HEAD it is a directory like any other.
    if git.is_bare(root) then
      found[#found + 1] = path.join(root, "HEAD")
    end
  end
  for _, name in ipairs(watch.guarded) do
    if disk.kind(name) then
      found[#found + 1] = name
    end
  end
  return found
end

--- A directory's own times say nothing of what is written into its files. Bounded: these directories are small.
local MARKED_ENTRIES, MARKED_DEPTH = 256, 3

local function deep_mark(name)
  local marks, left = {}, MARKED_ENTRIES
  local function add(at, depth, kind)
    marks[#marks + 1] = disk.mark(at)
    if depth == 0 or kind ~= "directory" then
      return
    end
    for _, entry in ipairs((disk.list(at))) do
      left = left - 1
      if left < 0 then
        return
      end
      add(at .. "/" .. entry.name, depth - 1, entry.kind)
    end
  end
  add(name, MARKED_DEPTH, "directory")
  return table.concat(marks, " ")
end

--- A git directory is another one when its identity is: what changes in it at each commit is no matter, and what matters in it
--- is watched by name.
local function mark_of(name)
  if path.basename(name):lower() == ".git" then
    local found = core.lstat(name)
    if found and found.kind == "directory" then
      return ("%d:%d"):format(found.dev, found.ino)
    end
  end
  return disk.kind(name) == "directory" and deep_mark(name) or disk.mark(name)
end

--- What there is of the watched names. Taken before each run, not with the plan: what the user makes between two runs is none
--- of the run's doing.
---@param watch procage.Watch
---@return table<string, string> before  path -> mark
function M.note(watch)
  local before = {}
  for _, name in ipairs(every_path(watch)) do
    before[name] = mark_of(name)
  end
  return before
end

local EEXIST = 17

--- Moves `name` to the first free of `spelling(0)`, `spelling(1)` ...; never over something.
local function move_to_free(name, spelling)
  for i = 0, 99 do
    local target = spelling(i)
    local moved, _, code = core.move(name, target)
    if moved then
      return target
    elseif code ~= EEXIST then
      return nil
    end
  end
  return nil
end

--- Out of the tree, or, where nothing else lies on the same file system, to a name beside it that nobody runs.
local function move_out(name, directory)
  local base = path.basename(name)
  local target = directory and move_to_free(name, function(i)
    return path.join(directory, i == 0 and base or ("%s.%d"):format(base, i))
  end)
  return target or move_to_free(name, function(i)
    return ("%s.moved-by-procage%s"):format(name, i == 0 and "" or "-" .. i)
  end)
end

---@class procage.Appeared
---@field path string
---@field moved_to? string  nil: it could not be moved
---@field is_change? boolean  it was there before and is another now

--- After a run: moves out what appeared, names what changed. Outer names first: a repository that appeared stays or goes as a
--- whole, and the names in it are not judged again.
---@param watch procage.Watch
---@param noted table<string, string>  what there was before it
---@param keep fun(name: string): boolean  what may stay although it appeared
---@param quarantine fun(): string?  where it is moved, asked for only when something is; nil: renamed in place
---@return procage.Appeared[]
function M.settle(watch, noted, keep, quarantine)
  local found, kept = {}, {}
  for _, name in ipairs(path.sort_by_depth(every_path(watch))) do
    local before, now = noted[name], mark_of(name)
    if now and not before then
      if keep(name) then
        kept[#kept + 1] = name
      elseif not path.resolved_tree_of(name, kept) then
        found[#found + 1] = { path = name, moved_to = move_out(name, quarantine()) }
      end
    elseif now and before and now ~= before then
      found[#found + 1] = { path = name, is_change = true }
    end
  end
  return found
end

return M
