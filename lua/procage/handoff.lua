--- Hand-off names: files in the workspace that make someone else run code later.
---
--- Those that exist are bound read-only before the run (survey.lua). Those that do not exist yet cannot be: a placeholder on
--- disk would itself be litter. So what appeared is moved out of the tree once the run is dead, and reported.

local core = require("procage.core")
local disk = require("procage.disk")
local fold = require("procage.fold")
local git = require("procage.git")
local path = require("procage.path")
local plants = require("procage.git_plants")
local seen = require("procage.seen")
local spelling = require("procage.spelling")

local M = {}

--- A scan that grew with the workspace would be paid by every command; what lies deeper is not protected (docs/limits.md).
M.scan_depth, M.scan_directories = 4, 1024

--- Of those that a run has made or changed itself, which it pays for once: a thousand empty ones would hide a repository behind
--- them otherwise.
M.scan_fresh = 16384

--- More than a step of the clock that changes are dated by.
local STEP_NS = 20000000

--- Trees that packages fill: a repository in one is a dependency's.
local SKIPPED = { node_modules = true, target = true, vendor = true, [".git"] = true, [".venv"] = true }

--- What makes a directory the root of a repository of other version control, and what in it says what is run there.
local OTHERS = {
  [".hg"] = { "hgrc", "hgrc-not-shared", "sharedpath" },
  [".jj"] = { "repo/config.toml", "workspace-config.toml" },
  [".sl"] = { "config", "sharedpath" },
  ["_darcs"] = { "prefs" },
  [".pijul"] = { "config" },
}
for name in pairs(OTHERS) do
  SKIPPED[name] = true
end

local function looked_into(queue, count)
  local names = {}
  for i = 1, count do
    names[i] = queue[i].at
  end
  return names
end

--- The roots of repositories in `workspace`, itself first, nearest first; a bare one is its own root.
---@param workspace string
---@return string[] roots
---@return boolean is_complete
---@return string[] listed  the directories that were looked into
---@return string[] closed  those that could not be listed
function M.roots(workspace)
  local roots, queue, listed = { workspace }, { { at = workspace, depth = 0 } }, 0
  local next_up, closed, is_complete = 1, {}, true
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
    -- More names than anybody lists: nobody knows what is behind them.
    is_complete = is_complete and not (message and item.at == workspace)
    local is_bare = item.at ~= workspace and git.is_bare(item.at)
    if is_bare then
      roots[#roots + 1] = item.at
    end
    for _, entry in ipairs(is_bare and {} or entries) do
      if (fold(entry.name) == ".git" or OTHERS[entry.name]) and item.at ~= workspace and roots[#roots] ~= item.at then
        roots[#roots + 1] = item.at
      elseif entry.kind == "directory" and not SKIPPED[entry.name] and item.depth < M.scan_depth then
        queue[#queue + 1] = { at = path.join(item.at, entry.name), depth = item.depth + 1 }
      end
    end
  end
  return roots, is_complete, looked_into(queue, #queue), closed
end

--- Below a directory that changed: what makes a directory a repository, where it was none that was known.
local function add_made(made, at, depth, watch, left)
  local found = core.lstat(at)
  local bound = found and found.ctime_ns >= left.since_ns and "fresh" or "count"
  if left.open then
    left.open(at)
  end
  left[bound] = left[bound] - 1
  left.looked_into = left.looked_into + 1
  if left[bound] < 0 then
    left.is_over = true
    return
  end
  local is_bare = git.is_bare(at)
  if is_bare then
    made[#made + 1] = at .. "/HEAD"
  end
  local entries, message = disk.list(at, nil, true)
  left.is_over = left.is_over or message ~= nil
  for _, entry in ipairs(is_bare and {} or entries) do
    local name = at .. "/" .. entry.name
    if fold(entry.name) == ".git" then
      made[#made + 1] = name
    elseif OTHERS[entry.name] then
      for _, part in ipairs(OTHERS[entry.name]) do
        made[#made + 1] = name .. "/" .. part
      end
    elseif entry.kind == "directory" and not SKIPPED[entry.name] and depth < M.scan_depth and not watch.listed[name] then
      add_made(made, name, depth + 1, watch, left)
    end
  end
end

--- What the user's git would enter now: repositories that a scan like the one before the run finds in directories that have
--- changed since, and those that an index names, wherever they lie.
---@param watch procage.Watch
---@param since_ns integer  a time before the run, core.clock_ns()
---@param open? fun(directory: string)  is told of each directory before it is looked into
---@return string[] names  of each the `.git`, or the HEAD of a bare one; an index that nobody can read
---@return boolean is_over  there are more directories than a scan looks into
function M.made_repositories(watch, since_ns, open)
  local listed = 0
  for _ in pairs(watch.listed) do
    listed = listed + 1
  end
  -- A tree that was large before is looked into a little further.
  local made, left = {}, {
    count = math.max(M.scan_directories - listed, M.scan_directories // 8),
    looked_into = listed,
    fresh = M.scan_fresh,
    since_ns = since_ns - STEP_NS,
    open = open,
  }
  for directory, mark in pairs(watch.listed) do
    if disk.mark(directory) ~= mark and disk.kind(directory) == "directory" then
      local tree = path.resolved_tree_of(directory, watch.trees) or directory
      add_made(made, directory, #path.components(directory:sub(#tree + 1)), watch, left)
    end
  end
  local budget = plants.budget()
  for _, root in ipairs(watch.entered and watch.roots or {}) do
    for _, place in ipairs(plants.entered_since(root, watch.listed, budget)) do
      made[#made + 1] = path.resolved_tree_of(place, watch.trees) and place or nil
    end
  end
  return made, left.is_over or left.looked_into > M.scan_directories
end

--- Every path at which one of `names` ("a" or "a/b") stands beneath `root`, whatever its letter case.
---@param root string
---@param names string[]|procage.Spelling
---@param trees? string[]  that links on the way may lead into
---@return { path: string, kind: string }[]
function M.find(root, names, trees)
  return spelling.find(root, names.below and names or spelling.spell(names), nil, trees)
end

local function add_names(list, node, at)
  for lower, below in pairs(node.below) do
    local name = at .. "/" .. lower
    list[#list + 1] = below.ends and name or nil
    add_names(list, below, name)
  end
end

--- Where names would be made that lead through a link that is there: below what the link leads to.
---@param watch procage.Watch
---@return string[] paths  in lower case below the link's target
function M.behind_links(watch)
  local list = {}
  local function look(node, at)
    spelling.each_below(node, at, function(below, path_below, kind)
      if not next(below.below) then
        return
      elseif kind == "link" then
        local target = core.real_path(path_below)
        if target and path.resolved_tree_of(target, watch.trees) then
          add_names(list, below, target)
        end
      elseif kind == "directory" then
        look(below, path_below)
      end
    end)
  end
  watch.spelling = watch.spelling or spelling.spell(watch.names)
  for _, root in ipairs(watch.roots) do
    look(watch.spelling, root)
  end
  table.sort(list)
  return list
end

---@class procage.Watch
---@field roots string[]
---@field names string[]
---@field guarded string[]  single paths that must not appear or change: what git trusts
---@field listed table<string, string>  the directories that were looked into for repositories, with their marks
---@field noted string[]  single paths that exist and must not change
---@field large string[]  trees that were not looked through
---@field is_over? boolean  after a run: nor would they be now
---@field git_dirs string[]  git directories that the run writes: links in them are watched
---@field entered? boolean  git is not given up: repositories that appear are judged
---@field trees string[]  the writable trees: links that lead out of them are not followed
---@field spelling? procage.Spelling  of the names, once they were looked for
---@field last? procage.Noted  what the last run found, which may still be so

--- Where a root is now: a run may have put a link in its place, or in place of a directory above it. nil: outside of what it
--- could write, where nothing is its doing.
local function place_of_root(root, trees)
  local target = core.real_path(root)
  if not target or target == root then
    return root
  end
  return path.resolved_tree_of(target, trees) and target or nil
end

--- From the writable tree down to `at`, each directory is opened.
local function open_way(at, trees, doors)
  local tree = path.resolved_tree_of(at, trees)
  if not tree then
    return
  end
  local now = tree
  doors.open(now)
  for _, name in ipairs(path.components(at:sub(#tree + 1))) do
    now = path.join(now, name)
    doors.open(now)
  end
end

---@class procage.Doors
---@field open fun(directory: string)  before it is looked into
---@field saw fun(name: string)  what is looked at in another way
---@field close fun()
---@field names string[]  all of both
---@field is_by_link? boolean  some were found through a link, which may lead elsewhere another time

--- Opens what a dead run has closed for its user, so that it can be looked into and moved from; and closes it again. A tree
--- that cannot be listed would otherwise keep what nobody sees until somebody opens it.
---@return procage.Doors
local function new_doors()
  local modes, order, names = {}, {}, {}
  local doors = { names = names }
  function doors.open(directory)
    if modes[directory] == nil then
      local was = core.open_up(directory)
      modes[directory] = was or false
      order[#order + 1] = was and directory or nil
      names[#names + 1] = directory
    end
  end
  function doors.saw(name)
    names[#names + 1] = name
  end
  function doors.close()
    for i = #order, 1, -1 do
      core.put_mode(order[i], modes[order[i]])
    end
  end
  return doors
end

---@param watch procage.Watch
---@param doors procage.Doors
local function every_path(watch, doors)
  local found, trees = {}, watch.trees or {}
  watch.spelling = watch.spelling or spelling.spell(watch.names)
  for _, named in ipairs(watch.roots) do
    open_way(named, trees, doors)
    doors.saw(named)
    local root = place_of_root(named, trees)
    for _, entry in ipairs(root and spelling.find(root, watch.spelling, doors, trees) or {}) do
      found[#found + 1] = entry.path
    end
    -- Without its HEAD it is a directory like any other.
    if root and git.is_bare(root) then
      found[#found + 1] = path.join(root, "HEAD")
    end
  end
  for _, name in ipairs(watch.guarded) do
    open_way(path.parent(name) or "/", trees, doors)
    doors.saw(name)
    if disk.kind(name) then
      found[#found + 1] = name
    end
  end
  -- Where there are mounts these cannot change.
  table.move(watch.noted or {}, 1, #(watch.noted or {}), #found + 1, found)
  for _, directory in ipairs(watch.git_dirs or {}) do
    local odd = plants.odd_entries(directory, doors.open)
    table.move(odd, 1, #odd, #found + 1, found)
  end
  return found
end

--- The same once the run is dead, with what it has made of repositories; each once, outer names first.
local function every_path_after(watch, since_ns, doors)
  local once, known = {}, {}
  local found = every_path(watch, doors)
  if watch.entered then
    local made, is_over = M.made_repositories(watch, since_ns, doors.open)
    watch.is_over = is_over
    table.move(made, 1, #made, #found + 1, found)
  end
  for _, name in ipairs(found) do
    if not known[name] and disk.kind(name) then
      known[name] = true
      once[#once + 1] = name
    end
  end
  return path.sort_by_depth(once)
end

--- A directory's own times say nothing of what is written into its files. Bounded: these directories are small.
local MARKED_ENTRIES, MARKED_DEPTH = 256, 3

local function deep_mark(name, doors)
  local marks, left = {}, MARKED_ENTRIES
  local function add(at, depth, kind)
    doors.saw(at)
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
local function mark_of(name, doors)
  doors.saw(name)
  if fold(path.basename(name)) == ".git" then
    local found = core.lstat(name)
    if found and found.kind == "directory" then
      return ("%d:%d"):format(found.dev, found.ino)
    end
  end
  return disk.kind(name) == "directory" and deep_mark(name, doors) or disk.mark(name)
end

---@class procage.Noted  what there was before a run
---@field marks table<string, string>  path -> mark
---@field since_ns integer  a time before any of it was looked at
---@field seen? procage.Seen  nil: it has to be looked for again, to know whether it is still so

--- What made_repositories looks at besides.
local function see_repositories(watch, doors)
  for directory in pairs(watch.listed) do
    doors.saw(directory)
  end
  for _, root in ipairs(watch.roots) do
    local found = git.at(root)
    doors.saw(root .. "/.git")
    if found then
      doors.saw(found.directory)
      for _, file in ipairs(plants.index_files(found.directory)) do
        doors.saw(file)
      end
    end
  end
end

--- What there is of the watched names. Taken before each run, not with the plan: what the user makes between two runs is none
--- of the run's doing.
---@param watch procage.Watch
---@return procage.Noted
function M.note(watch)
  local last = watch.last
  if last and last.seen and last.seen:holds() then
    return last
  end
  local since_ns, marks, doors = core.clock_ns(), {}, new_doors()
  for _, name in ipairs(every_path(watch, doors)) do
    marks[name] = mark_of(name, doors)
  end
  if watch.entered then
    see_repositories(watch, doors)
  end
  doors.close()
  watch.last = { marks = marks, since_ns = since_ns, seen = not doors.is_by_link and seen.new(doors.names, since_ns) or nil }
  return watch.last
end

local EEXIST = 17

--- Not to be told ahead: a run could take a hundred names that count up.
local function random_suffix()
  local file = assert(io.open("/dev/urandom", "rb"))
  local bytes = file:read(8)
  file:close()
  return (bytes:gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end))
end

--- Moves `name` to the first free of `candidate(0)`, `candidate(1)` ...; never over something.
local function move_to_free(name, candidate)
  for i = 0, 99 do
    local target = candidate(i)
    local moved, _, code = core.move(name, target)
    if moved then
      return target
    elseif code ~= EEXIST then
      return nil
    end
  end
  return nil
end

--- A name that nobody looks for, and that tells where it was: sub/.git is sub-dot-git.moved. Where it lies now an editor or a
--- shell may be opened too.
local MAX_LABEL = 200

local function label_of(name, trees)
  local tree = path.resolved_tree_of(name, trees) or path.parent(name) or "/"
  local words = {}
  for i, component in ipairs(path.components(name:sub(#tree + 1))) do
    words[i] = component:gsub("^%.", "dot-")
  end
  return table.concat(words, "-"):sub(-MAX_LABEL):gsub("^%.", "dot-") .. ".moved"
end

--- Git takes a directory with a HEAD for a repository, whatever it is called: a look into what was moved would run what its
--- configuration names.
local MAX_BEHEADED = 1024

local function behead(at, depth, left)
  left.count = left.count - 1
  if left.count < 0 then
    return
  end
  core.open_up(at)
  if disk.kind(at .. "/HEAD") then
    move_to_free(at .. "/HEAD", function(i)
      return i == 0 and at .. "/HEAD.moved" or ("%s/HEAD.moved-%s"):format(at, random_suffix())
    end)
  end
  for entry, kind in pairs(depth > 0 and core.read_dir(at, nil, true) or {}) do
    if kind == "directory" and entry ~= "objects" and entry ~= "refs" and entry ~= "logs" then
      behead(at .. "/" .. entry, depth - 1, left)
    end
  end
end

--- Out of the tree, or, where nothing else lies on the same file system, to a name beside it that nobody runs.
local function move_out(name, directory, trees)
  local label = label_of(name, trees)
  local target = directory and move_to_free(name, function(i)
    return path.join(directory, i == 0 and label or ("%d-%s"):format(i, label))
  end)
  target = target or move_to_free(name, function()
    return ("%s.moved-by-procage-%s"):format(name, random_suffix())
  end)
  if target and disk.kind(target) == "directory" then
    behead(target, M.scan_depth, { count = MAX_BEHEADED })
  end
  return target
end

---@class procage.Appeared
---@field path string
---@field moved_to? string  nil: it could not be moved
---@field is_closed? boolean  not moved: nobody may read or run it (mode 000) until somebody opens it
---@field is_change? boolean  it was there before and is another now

--- After a run: moves out what appeared, names what changed. Outer names first: a repository that appeared stays or goes as a
--- whole, and the names in it are not judged again.
---@param watch procage.Watch
---@param noted procage.Noted  what there was before it
---@param keep fun(name: string, open: fun(directory: string)): boolean  what may stay although it appeared
---@param quarantine fun(): string?  where it is moved, asked for only when something is; nil: renamed in place
---@return procage.Appeared[]
function M.settle(watch, noted, keep, quarantine)
  -- Where nothing that was looked at is another, nothing else would be found.
  if noted.seen and noted.seen:holds() then
    watch.is_over = false
    return {}
  end
  local found, kept, doors = {}, {}, new_doors()
  for _, name in ipairs(every_path_after(watch, noted.since_ns, doors)) do
    local before, now = noted.marks[name], mark_of(name, doors)
    if now and not before then
      -- To move a directory takes writing in it too: its own `..` changes.
      doors.open(name)
      if keep(name, doors.open) then
        kept[#kept + 1] = name
        -- Later runs look into fewer directories than this one has made: they are to know of it.
        local root = path.parent(name)
        watch.roots[#watch.roots + 1] = watch.is_over and root and not OTHERS[path.basename(root)] and root or nil
      elseif not path.resolved_tree_of(name, kept) then
        local entry = { path = name, moved_to = move_out(name, quarantine(), watch.trees or {}) }
        entry.is_closed = not entry.moved_to and core.put_mode(name, 0) or nil
        found[#found + 1] = entry
      end
    elseif now and before and now ~= before then
      found[#found + 1] = { path = name, is_change = true }
    end
  end
  doors.close()
  return found
end

return M
