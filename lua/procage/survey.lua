--- Looks at the disk for a fitted profile: which paths there are to hide, to keep read-only, to put back, to watch.
--- What it finds is plain data; grants.lua and tree.lua make rules and mounts of it, each of the same lists.

local core = require("procage.core")
local disk = require("procage.disk")
local git = require("procage.git")
local handoff = require("procage.handoff")
local later = require("procage.later")
local lists = require("procage.list")
local mounts = require("procage.mounts")
local path = require("procage.path")
local plants = require("procage.git_plants")
local printable = require("procage.printable")
local put_back_room = require("procage.put_back")
local sockets = require("procage.sockets")
local spelling = require("procage.spelling")

local git_programs, ignored, user_git = later("procage.git_programs"), later("procage.ignored"), later("procage.user_git")
local known_roots = later("procage.known_roots")

local M = {}

M.MOUNTS = "/proc/self/mountinfo"

--- Each takes a mount or two. A run can make thousands of them; then the next one does not start.
local MAX_PROTECTED = 2000

---@class procage.Hidden
---@field path string  absolute, resolved
---@field kind? string  nil: it does not exist
---@field via? string  the profile's own spelling, when that is another

---@class procage.Survey
---@field write string[]  writable trees, outermost only
---@field hidden procage.Hidden[]
---@field ignored string[]  files that read as empty
---@field protected string[]  existing paths inside writable trees that stay unwritable
---@field links table<string, boolean>  those of them that are symbolic links
---@field covered string[]  host directories that the private tmp covers
---@field put_back string[]  readable trees beneath covered ones
---@field stand_ins table<string, procage.StandIn[]>  of those that hold hidden names
---@field pipes { path: string, kind: string }[]  FIFOs and sockets found in put-back trees
---@field shared_tmp table<string, boolean>  writable trees that the user's other programs keep temporary files in
---@field read string[]  readable trees beside the profile's
---@field reach string[]  writable trees whose sockets can be reached, whoever bound them
---@field sockets string[]
---@field kernel_memory string[]
---@field kinds table<string, string>  of writable and put-back trees
---@field watch procage.Watch
---@field visible string[]  trees that the command needs to see, whether their parents can be listed or not
---@field mount_text string  what `mounts` was read from
---@field mounts procage.Mount[]
---@field stamps table<string, string>  what the lists rest on, for revalidation
---@field notices string[]

--- The trees and every directory above them: what holds one of them.
---@param trees string[]
---@return table<string, boolean>
local function holders_of(trees)
  local holders = path.holding(trees)
  for _, tree in ipairs(trees) do
    holders[tree] = true
  end
  return holders
end

local TEMPORARY = { ["/tmp"] = true, ["/var/tmp"] = true, ["/dev/shm"] = true }

--- Temporary directories of the host that the profile lets a run write. What lies in them is everybody's: no hand-off file
--- is looked for there, and sockets that are bound in them belong to others.
---@return table<string, boolean>
local function shared_tmp(profile, context)
  local trees = {}
  for _, tree in ipairs(profile.tmp == "shared" and profile.write or {}) do
    trees[tree] = TEMPORARY[tree] or context and tree == context.tmp or nil
  end
  return trees
end

local function note(survey, text, ...)
  survey.notices[#survey.notices + 1] = printable(text:format(...))
end

--- A directory that is kept or hidden says what is in it by links too: those of a few levels are looked at.
local LINK_DEPTH, LINK_ENTRIES = 3, 512

local function add_links(found, at, depth, left)
  for entry, kind in pairs(core.read_dir(at, LINK_ENTRIES) or {}) do
    left.count = left.count - 1
    if left.count < 0 then
      return
    elseif kind == "link" then
      found[#found + 1] = at .. "/" .. entry
    elseif kind == "directory" and depth > 0 then
      add_links(found, at .. "/" .. entry, depth - 1, left)
    end
  end
end

--- Where links in a directory lead: to what exists, outside of it.
---@param directory string  resolved
---@return string[] targets  resolved, sorted
local function led_out(directory)
  local links, targets, seen = {}, {}, {}
  add_links(links, directory, LINK_DEPTH, { count = LINK_ENTRIES })
  for _, link in ipairs(links) do
    local target, exists = disk.resolve(link)
    if exists and not seen[target] and not path.lies_in(target, directory) then
      seen[target] = true
      targets[#targets + 1] = target
    end
  end
  table.sort(targets)
  return targets
end

--- What must stay visible whatever is hidden: a mask never lands on a directory that holds one of these.
local function granted(survey, profile)
  local trees = table.move(survey.write, 1, #survey.write, 1, {})
  if profile.read ~= "all" then
    table.move(profile.read, 1, #profile.read, #trees + 1, trees)
  end
  return trees
end

--- The kernel makes the links in these, and to nothing of anybody's.
local KERNEL_TREES = { "/proc", "/sys" }

--- A hidden directory of links (stow, chezmoi, home-manager) holds names alone: what they lead to in a home is hidden too. Not
--- what lies in a writable tree, where somebody works on it, nor a program of the system.
---@param home string
local function hide_linked(survey, hiding, home)
  for i = 1, #survey.hidden do
    local entry = survey.hidden[i]
    if entry.kind == "directory" and not path.resolved_tree_of(entry.path, KERNEL_TREES) then
      for _, target in ipairs(led_out(entry.path)) do
        local is_credential = path.is_beneath(target, home) and not hiding.holders[target]
          and not path.resolved_tree_of(target, survey.write)
        if is_credential and not hiding.seen[target] then
          hiding.seen[target] = true
          survey.hidden[#survey.hidden + 1] = { path = target, kind = disk.kind(target), via = entry.via or entry.path }
        end
      end
    end
  end
end

--- One place that a hidden path names.
---@param hiding { holders: table<string, boolean>, seen: table<string, boolean> }
---@param kind? string
local function hide(survey, hiding, wanted, name, kind)
  if hiding.seen[name] then
    return
  end
  hiding.seen[name] = true
  if hiding.holders[name] then
    note(survey, "hidden %s leads to %s, which holds a granted tree: not hidden", wanted, name)
  else
    -- Most have no kind and no other name: a table with one field takes a third of the room.
    local entry = { path = name }
    if kind then
      entry.kind = kind
    end
    if name ~= wanted then
      entry.via = wanted
    end
    survey.hidden[#survey.hidden + 1] = entry
  end
end

local NONE = {}

--- A path hides every place that it names: the file behind a link, and the same file through another mount.
local function survey_hidden(survey, profile, context)
  local hiding = { holders = holders_of(granted(survey, profile)), seen = {} }
  local places, kinds = disk.resolve_all(profile.hidden)
  for i, wanted in ipairs(profile.hidden) do
    hide(survey, hiding, wanted, places[i], kinds[i] or nil)
    for _, alias in ipairs(survey.mounts.repeated and mounts.aliases(survey.mounts, places[i]) or NONE) do
      hide(survey, hiding, wanted, alias, disk.kind(alias))
    end
  end
  if context and context.home then
    hide_linked(survey, hiding, context.home)
  end
end

--- Files of /proc that show the kernel's memory, where this kernel has them.
local function survey_kernel_memory(survey)
  for _, name in ipairs({ "/proc/kcore", "/proc/kmsg" }) do
    if disk.kind(name) then
      survey.kernel_memory[#survey.kernel_memory + 1] = name
    end
  end
end

local function is_hidden(survey, name)
  for _, entry in ipairs(survey.hidden) do
    if path.lies_in(name, entry.path) then
      return true
    end
  end
  return false
end

--- Puts back a readable tree that a private directory would cover. What is hidden stays away.
local function put_back(survey, profile, tree)
  local resolved, exists = put_back_room.place(profile, tree, survey.covered, survey.write)
  if resolved and exists and not is_hidden(survey, resolved) then
    survey.put_back[#survey.put_back + 1] = resolved
  end
end

--- What links in a kept directory lead to (a hook to a script beside the sources) is run by its name there.
local function protect_linked(survey, directory)
  local holders = holders_of(survey.write)
  for _, target in ipairs(disk.kind(directory) == "directory" and led_out(directory) or {}) do
    if path.resolved_tree_of(target, survey.write) and not holders[target] and not survey.linked[target] then
      survey.linked[target] = true
      survey.protected[#survey.protected + 1] = target
      survey.noted[#survey.noted + 1] = target
    end
  end
end

--- Keeps what exists at a name. A link keeps its name, and what it leads to its content: either decides what is read there.
local function protect(survey, name, kind)
  if path.resolved_tree_of(name, survey.write) then
    survey.protected[#survey.protected + 1] = name
    survey.links[name] = kind == "link" or nil
  end
  if kind == "link" then
    local target, exists = disk.resolve(name)
    if exists then
      protect(survey, target, disk.kind(target))
    end
  elseif kind == "directory" then
    protect_linked(survey, path.basename(name) == ".git" and name .. "/hooks" or name)
  end
end

--- Parts of a git directory that stay read-only while the rest of it is written, those too that are not there yet.
local function protect_parts(survey, directory, parts)
  if parts == git.trusted then
    survey.git_dirs[#survey.git_dirs + 1] = directory
  end
  for _, part in ipairs(parts) do
    local name = path.join(directory, part)
    local kind = disk.kind(name)
    if kind then
      protect(survey, name, kind)
    else
      survey.guarded[#survey.guarded + 1] = name
    end
  end
end

local function protect_trusted(survey, directory)
  protect_parts(survey, directory, git.trusted)
end

local function survey_linked_commit(survey, found)
  survey.write[#survey.write + 1] = found.directory
  protect_trusted(survey, found.directory)
  for _, part in ipairs(git.shared) do
    local name = path.join(found.common, part)
    if disk.kind(name) == "directory" then
      survey.write[#survey.write + 1] = name
    end
  end
  protect_parts(survey, found.common, { "objects/info/alternates", "objects/info/http-alternates" })
end

--- The workspace's own git directory, by the profile's mode.
local function survey_git(survey, profile)
  local found = git.governing(profile.workspace)
  if not found then
    return nil
  end
  if profile.git == "read" or found.is_linked then
    protect(survey, found.entry, disk.kind(found.entry))
  end
  if profile.git == "read" then
    -- All of it, wherever it lies: that of a linked worktree or submodule may be in another writable tree.
    if found.is_linked and (found.is_genuine or found.is_submodule) then
      protect(survey, found.directory, "directory")
      protect(survey, found.common, "directory")
    end
    return found
  elseif not found.is_genuine then
    note(survey, "%s names a git directory that does not know this worktree: it stays read-only", found.entry)
    return nil
  elseif profile.git == "write" then
    table.move({ found.directory, found.common }, 1, 2, #survey.write + 1, survey.write)
  elseif found.is_linked then
    survey_linked_commit(survey, found)
  else
    survey.write[#survey.write + 1] = found.directory
    protect_trusted(survey, found.directory)
  end
  return found
end

local function gives(profile, tree)
  return lists.set(profile.write)[tree] or false
end

--- Adds what git enters from each root: such a repository counts wherever it lies, also where none is looked for. One that is
--- not there yet (a submodule that nobody has fetched) is a name that must not appear.
---@param roots string[]  grows
---@param marks table<string, string>  grows by the indexes that were read
---@param profile procage.Profile
---@return string[] absent
local function add_entered(roots, marks, profile)
  local known, absent, at, left = lists.set(roots), {}, 1, plants.budget()
  local governing = git.governing(profile.workspace)
  local from = table.move(roots, 1, #roots, 1, {})
  from[#from + 1] = governing and not known[governing.root] and governing.root or nil
  while from[at] do
    local found = git.at(from[at])
    for _, file in ipairs(found and plants.index_files(found.directory) or {}) do
      marks[file] = disk.mark(file)
    end
    for _, place in ipairs(found and plants.entered(found.root, found.directory, nil, left) or {}) do
      -- Git enters no submodule behind a link.
      if path.resolved_tree_of(place, profile.write) and disk.resolve(place) == place and not known[place] then
        known[place] = true
        if disk.kind(place .. "/.git") then
          roots[#roots + 1], from[#from + 1] = place, place
        else
          absent[#absent + 1] = place .. "/.git"
        end
      end
    end
    at = at + 1
    if #roots + #absent > MAX_PROTECTED then
      break
    end
  end
  return absent
end

--- Where hand-off names count: the roots of the trees that the operator made writable, and of repositories in them. What is
--- in a package cache nobody runs by such a name.
---@param profile procage.Profile
---@return string[] roots
---@return table<string, string> listed  the marks of the directories that were looked into
---@return string[] large  trees that were not looked through
---@return string[] closed  directories in them that cannot be listed
---@return string[] absent  repositories that git would enter, were they there: their `.git`
local function handoff_roots(profile, shared, context)
  local caches, roots, marks, large = lists.set(profile.caches.trees), {}, {}, {}
  local closed, trees = {}, path.outermost(profile.write)
  if #profile.handoff == 0 and profile.git == "write" then
    return roots, marks, large, closed, {}
  end
  for i, tree in ipairs(trees) do
    -- A workspace in a shared temporary directory is looked into all the same.
    if shared[tree] and path.lies_in(profile.workspace, tree) and gives(profile, profile.workspace) then
      trees[i] = profile.workspace
    end
  end
  for _, tree in ipairs(trees) do
    if not caches[tree] and not shared[tree] then
      local found, is_complete, listed, shut = handoff.roots(tree)
      if not is_complete then
        local seen = lists.set(found)
        for _, root in ipairs(known_roots.read(context, tree)) do
          found[#found + 1] = not seen[root] and root or nil
        end
      end
      table.move(found, 1, #found, #roots + 1, roots)
      table.move(shut, 1, #shut, #closed + 1, closed)
      for _, directory in ipairs(listed) do
        marks[directory] = disk.mark(directory)
      end
      large[#large + 1] = not is_complete and tree or nil
    end
  end
  local absent = profile.git ~= "write" and add_entered(roots, marks, profile) or {}
  return roots, marks, large, closed, absent
end

--- Whether the repositories in the writable trees are those that a survey found. Only a directory that has changed since can
--- hold a new one, so most runs look at marks alone.
---@param survey procage.Survey
---@param profile procage.Profile
---@return boolean
function M.has_same_roots(survey, profile)
  for _, name in ipairs(survey.guarded) do
    if disk.kind(name) then
      return false
    end
  end
  local is_changed = false
  for directory, mark in pairs(survey.listed) do
    is_changed = is_changed or disk.mark(directory) ~= mark
  end
  if is_changed then
    local roots, marks, _, _, absent = handoff_roots(profile, survey.shared_tmp, survey.context)
    local is_same = table.concat(roots, "\0") == table.concat(survey.watch.roots, "\0")
      and table.concat(absent, "\0") == table.concat(survey.watch.absent, "\0")
    if not is_same then
      return false
    end
    survey.listed, survey.watch.listed = marks, marks
  end
  return true
end

local function survey_handoff(survey, profile)
  local roots, listed, large, closed, absent = handoff_roots(profile, survey.shared_tmp, survey.context)
  survey.large = large
  survey.listed = listed
  table.move(absent, 1, #absent, #survey.guarded + 1, survey.guarded)
  -- A repository may lie behind it, and the command could open it again: so nothing in it is written in this run.
  for _, directory in ipairs(closed) do
    if not lists.set(survey.write)[directory] then
      protect(survey, directory, "directory")
    end
  end
  for _, tree in ipairs(large) do
    note(survey, "procage: %s is large: repositories deep in it are not looked for, their hand-off files not protected", tree)
  end
  local names = {}
  for _, name in ipairs(profile.handoff) do
    -- What git's mode decides is not decided twice.
    if name:lower() ~= ".git" and not (profile.git == "write" and name:lower():find("^%.git/")) then
      names[#names + 1] = name
    end
  end
  survey.spelling = spelling.spell(names)
  for _, root in ipairs(roots) do
    for _, entry in ipairs(handoff.find(root, survey.spelling, survey.write)) do
      protect(survey, entry.path, entry.kind)
    end
    if profile.git ~= "write" and git.is_bare(root) then
      protect_trusted(survey, root)
    end
    if root ~= profile.workspace then
      local entry = path.join(root, ".git")
      local kind = disk.kind(entry)
      if kind == "directory" then
        protect_trusted(survey, entry)
      elseif kind then
        protect(survey, entry, kind)
      end
    end
    survey.stamps[root] = disk.mark(root)
    for _, name in ipairs(names) do
      local directory = name:find("/", 1, true) and path.join(root, path.parent("/" .. name):sub(2))
      if directory and disk.kind(directory) == "directory" then
        survey.stamps[directory] = disk.mark(directory)
      end
    end
  end
  local watched = table.move(names, 1, #names, 1, {})
  if profile.git ~= "write" then
    watched[#watched + 1] = ".git"
    spelling.add(survey.spelling, ".git", #watched)
  end
  return roots, watched, absent
end

--- Keeps a path that the user's git configuration has git run, or include.
local function keep_program(survey, named, counts)
  -- Beneath its resolved directory: a link there is kept as what it is.
  local name = path.join(disk.resolve(path.parent(named) or "/"), path.basename(named))
  local resolved, exists = disk.resolve(name)
  if not path.resolved_tree_of(resolved, survey.write) then
    return
  elseif not exists then
    survey.guarded[#survey.guarded + 1] = resolved
    return
  end
  local kind = disk.kind(name)
  if disk.kind(resolved) == "directory" then
    if counts ~= "tree" then
      return
    elseif holders_of(survey.write)[resolved] then
      -- The working tree itself: its hooks are files beside others.
      for _, hook in ipairs(git_programs.hooks) do
        keep_program(survey, path.join(resolved, hook), "file")
      end
      return
    end
  end
  protect(survey, name, kind)
  survey.noted[#survey.noted + 1] = resolved
end

--- What the configuration of the repositories, and the user's, names in trees that the run writes.
---@param survey procage.Survey
---@param profile procage.Profile
---@param roots string[]
---@param context { home: string, env: table<string, string> }
local function survey_programs(survey, profile, roots, context)
  if profile.git == "write" then
    return
  end
  local governing, parsed = git.governing(profile.workspace), {}
  local all = table.move(roots, 1, #roots, 1, {})
  all[#all + 1] = governing and governing.root or nil
  for _, root in ipairs(lists.joined(all, {})) do
    local found = git.at(root)
    if found then
      local own = { path.join(found.common, "config"), path.join(found.directory, "config.worktree") }
      local programs = git_programs.find(root, own, context.home, context.env, parsed)
      for _, file in ipairs(lists.keys(programs.files)) do
        survey.stamps[file] = disk.mark(file)
        keep_program(survey, file, "file")
      end
      for _, name in ipairs(lists.keys(programs.named)) do
        keep_program(survey, name, programs.named[name])
      end
    end
  end
end

--- Files that git ignores and whose names say that they hold credentials. What was found once stays: the rules of most
--- repositories are the command's to change.
---@param survey procage.Survey
---@param profile procage.Profile
---@param context table
local function survey_ignored(survey, profile, context)
  if #profile.ignored == 0 then
    return
  end
  local caches, trees = lists.set(profile.caches.trees), {}
  for _, tree in ipairs(path.outermost(profile.write)) do
    trees[#trees + 1] = not caches[tree] and disk.kind(tree) == "directory" and tree or nil
  end
  -- Only where the command cannot write it does an index say what was committed.
  local own = profile.git == "read" and git.governing(profile.workspace)
  local wanted = {
    trees = trees,
    patterns = profile.ignored,
    excludes_file = user_git.excludes_file(context.home, context.env),
    trusted = own and (own.is_genuine or own.is_submodule) and own or nil,
    known = context.ignored,
  }
  local found, message = ignored.find(wanted)
  if not found then
    error({ message = message })
  end
  context.ignored = found.files
  survey.ignored_wanted, survey.ignored_found = wanted, found
  for _, file in ipairs(found.files) do
    survey.ignored[#survey.ignored + 1] = file
    for _, alias in ipairs(mounts.aliases(survey.mounts, file)) do
      survey.ignored[#survey.ignored + 1] = disk.kind(alias) == "file" and alias or nil
    end
  end
  -- The command could open it again, and read what nobody saw.
  for _, directory in ipairs(found.closed) do
    protect(survey, directory, "directory")
  end
end

--- Whether the ignored files are those that a survey found.
---@param survey procage.Survey
---@return boolean
function M.has_same_ignored(survey)
  local before = survey.ignored_found
  if not before or ignored.is_fresh(before) then
    return true
  end
  local now = ignored.find(survey.ignored_wanted)
  for _, list in ipairs({ "files", "closed" }) do
    if not now or table.concat(now[list], "\0") ~= table.concat(before[list], "\0") then
      return false
    end
  end
  survey.ignored_found = now
  return true
end

--- Read-only trees of the profile; what is not there, or not writable anyway, needs nothing.
local function survey_read_only(survey, profile)
  for _, wanted in ipairs(profile.read_only) do
    -- The name as it is spelled, beneath its resolved directory: a link there decides what is read by it.
    local directory = disk.resolve(path.parent(wanted) or "/")
    local name = path.join(directory, path.basename(wanted))
    local kind = disk.kind(name)
    if kind then
      protect(survey, name, kind)
    elseif disk.kind(directory) then
      -- It may be made by its owner before the next run.
      survey.stamps[directory] = disk.mark(directory)
    end
  end
end

---@return procage.Survey  or raises a table with the message
local function look(profile, visible, context, mount_text)
  local survey = {
    write = path.outermost(profile.write),
    hidden = {},
    ignored = {},
    protected = {},
    links = {},
    guarded = {},
    git_dirs = {},
    noted = {},
    linked = {},
    context = context,
    covered = {},
    put_back = {},
    stand_ins = {},
    pipes = {},
    sockets = {},
    kernel_memory = {},
    mount_text = mount_text,
    mounts = mounts.parse(mount_text),
    kinds = {},
    stamps = {},
    notices = {},
    visible = table.move(visible, 1, #visible, 1, {}),
    read = {},
    reach = {},
  }
  local found = survey_git(survey, profile)
  survey.write = path.outermost(survey.write)
  survey.shared_tmp = shared_tmp(profile, context)
  survey_hidden(survey, profile, context)
  local leading
  survey.covered, leading = put_back_room.covered(profile, survey.write)
  for _, each in ipairs(leading) do
    local text = "procage: %s leads to %s, which the run's own does not take the place of: what lies there can be read"
    note(survey, text, each.name, each.target)
  end
  survey_kernel_memory(survey)
  survey_read_only(survey, profile)
  survey_ignored(survey, profile, context or { env = {}, home = "/" })
  local roots, watched, absent = survey_handoff(survey, profile)
  survey_programs(survey, profile, roots, context or { env = {}, home = "/" })
  for _, tree in ipairs(visible) do
    put_back(survey, profile, tree)
  end
  for _, tree in ipairs(found and git.trees(found) or {}) do
    put_back(survey, profile, tree)
    survey.visible[#survey.visible + 1] = tree
  end
  if profile.read ~= "all" then
    for _, tree in ipairs(profile.read) do
      put_back(survey, profile, tree)
    end
    -- What a linked worktree or submodule is a part of is the workspace's, wherever it lies.
    if found and found.root == profile.workspace and found.is_linked and (found.is_genuine or found.is_submodule) then
      survey.read = path.outermost({ found.directory, found.common })
    end
  end
  survey.put_back = path.outermost(survey.put_back)
  local count = #survey.protected + #survey.ignored
  if count > MAX_PROTECTED then
    error({ message = ("%d hand-off and ignored files to protect, at most %d: remove what a run has made of them"):format(
      count, MAX_PROTECTED) })
  end
  survey.protected = path.outermost(survey.protected)
  for _, list in ipairs({ survey.write, survey.put_back }) do
    for _, tree in ipairs(list) do
      survey.kinds[tree] = disk.kind(tree)
    end
  end
  for _, list in ipairs({ survey.write, profile.write }) do
    for _, tree in ipairs(list) do
      survey.reach[#survey.reach + 1] = not survey.shared_tmp[tree] and tree or nil
    end
  end
  survey.reach = path.outermost(survey.reach)
  local reachable = table.move(survey.reach, 1, #survey.reach, 1, {})
  table.move(profile.sockets, 1, #profile.sockets, #reachable + 1, reachable)
  local unknown
  survey.sockets, unknown = sockets.outside(reachable)
  if unknown and lists.has(profile.mechanisms or {}, "socket-masks") then
    note(survey, "procage: which sockets are bound cannot be told, so those outside of /run are not covered: %s", unknown)
  end
  put_back_room.survey_stand_ins(survey, profile)
  survey.pipes = put_back_room.find_pipes(survey, reachable)
  survey.watch = {
    roots = roots,
    names = watched,
    spelling = survey.spelling,
    guarded = survey.guarded,
    noted = survey.noted,
    absent = absent,
    large = survey.large,
    trees = survey.write,
    listed = survey.listed,
    git_dirs = survey.git_dirs,
    entered = profile.git ~= "write",
  }
  return survey
end

--- Looks. nil where it cannot be told, or is more than a run can protect: nothing is to run then.
---@param profile procage.Profile  fitted; its trees resolved
---@param visible string[]  trees that the command needs to see wherever they lie: home, what PATH names
---@param context? table  home, env, and the ignored files that were found before
---@return procage.Survey?
---@return string? message
function M.look(profile, visible, context)
  -- Read before anything is looked at: what is mounted meanwhile differs from it at the next run.
  local mount_text, message = disk.read(M.MOUNTS)
  if not mount_text then
    return nil, "the mounts cannot be told: " .. tostring(message)
  end
  local ok, survey = pcall(look, profile, visible, context, mount_text)
  if ok then
    return survey
  elseif type(survey) == "table" then
    return nil, survey.message
  end
  error(survey, 0)
end

return M
