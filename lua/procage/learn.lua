--- From what a command was seen to do with files to the least that lets it: pure, but for asking whether a path is there.
--- What is hidden, a hand-off name or run by others (procage.startup) is never proposed, however often it was wanted. What is
--- made of it to read and to use: procage.proposal.

local core = require("procage.core")
local git = require("procage.git")
local lists = require("procage.list")
local path = require("procage.path")
local places = require("procage.places")
local startup = require("procage.startup")

local M = {}

---@class procage.Learned
---@field read string[]  trees
---@field write string[]  trees outside the workspace, the private tmp and the caches
---@field readable string[]  of what is read: what the policy does not give, and the host's /tmp
---@field caches string[]  granted caches that were written
---@field unused string[]  granted writable trees that were not
---@field git "read"|"commit"|"write"
---@field left_out { path: string, why: string }[]  wanted, and not proposed
---@field missing { path: string, kind: "directory"|"file" }[]  of what is written: not there yet
---@field network? "all"|"loopback"  refused connections wanted it
---@field connections string[]  the refused ones
---@field is_whole boolean  the command succeeded: what it did not use it does not need
---@field files integer  distinct paths

--- Directories of the system: what a program reads there is a matter of packages, so the whole of each is named.
local SYSTEM = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/sys", "/nix", "/snap" }

--- The run's own, whatever stands there outside.
local OWN = { "/proc", "/dev", "/tmp", "/var/tmp", "/dev/shm" }

--- Of those, directories that the host has too, with what a command may mean.
local TEMPORARY = { "/tmp", "/var/tmp", "/dev/shm" }

--- More names than these in one directory, and the directory is meant.
local FEW = 3

local function bits()
  local by_name, writes = {}, 0
  for _, row in ipairs(core.landlock_bits().fs) do
    by_name[row.name] = row.bit
  end
  for name, bit in pairs(by_name) do
    if name ~= "READ_FILE" and name ~= "READ_DIR" and name ~= "EXECUTE" then
      writes = writes | bit
    end
  end
  return writes | 1 << 32, by_name -- mode, owner, times
end

---@class procage.LearnView: procage.Places
---@field home? string
---@field workspace string
---@field roots table<string, boolean>  where hand-off names count, in lower case
---@field names table<string, boolean>  hand-off names, in lower case
---@field own table<string, boolean>
---@field temporary table<string, boolean>  none where /tmp is the host's
---@field system table<string, boolean>
---@field reads? table<string, boolean>  what the policy lets be read; nil: everything
---@field startup procage.Startup
---@field git? procage.Git  the workspace's

--- What each path is looked up in: a run uses tens of thousands.
---@return procage.LearnView
local function view_of(policy)
  local survey, context = policy.survey, policy.context
  local view = places.of(policy) --[[@as procage.LearnView]]
  view.home = context.home ~= "/" and context.home or nil
  view.workspace = context.workspace
  view.roots, view.names, view.own, view.system = {}, {}, lists.set(OWN), lists.set(SYSTEM)
  view.temporary = lists.set(policy.fitted.tmp ~= "shared" and TEMPORARY or {})
  view.reads = policy.fitted.read ~= "all" and lists.set(policy.fitted.read) or nil
  view.startup = startup.of(policy)
  view.git = git.governing(context.workspace)
  for _, root in ipairs(survey.watch.roots) do
    view.roots[root:lower()] = true
  end
  for _, name in ipairs(survey.watch.names) do
    view.names["/" .. name:lower()] = name ~= ".git" or nil
  end
  return view
end

--- How deep a directory below home says whose it is: ~/.config/git, ~/.local/share/x, ~/go.
local function depth_at_home(names)
  if names[1] == ".local" then
    return 3
  end
  return (names[1] == ".config" or names[1] == ".cache" or names[1] == "Library") and 2 or 1
end

--- Too wide for an entry: a directory at the top or above a home, or one that holds something hidden or, for writing, something
--- that others run.
---@param view procage.LearnView
local function is_wide(tree, is_write, view)
  return tree:find("^/[^/]*$") ~= nil or view.above_hidden[tree] ~= nil
    or view.home ~= nil and path.lies_in(view.home, tree)
    or view.own[tree] or is_write and view.startup:is_above(tree)
end

--- The tree that a path is generalised to, unless that is too wide.
---@param view procage.LearnView
local function tree_for(target, is_write, view)
  local home = view.home
  local tree = not is_write and path.tree_in(target, view.system)
  if tree and not path.lies_in(view.workspace, tree) and not (home and path.lies_in(home, tree)) then
    return tree
  elseif home and path.lies_in(target, home) and target ~= home then
    local names = path.components(target:sub(#home + 2))
    local depth = depth_at_home(names)
    -- A file at that depth is itself; a directory's name is followed by more.
    tree = path.join(home, table.concat(names, "/", 1, math.min(depth, #names)))
  else
    tree = path.parent(target) or target
  end
  return is_wide(tree, is_write, view) and target or tree
end

--- Trees without those that lie in another, sorted.
---@param set table<string, boolean>
---@return string[]
function M.outermost(set)
  local kept = {}
  for tree in pairs(set) do
    local parent = tree ~= "/" and path.parent(tree)
    if not parent or not path.tree_in(parent, set) then
      kept[#kept + 1] = tree
    end
  end
  table.sort(kept)
  return kept
end

local ENOENT, EOPNOTSUPP = 2, 95

--- Many files of one directory are the directory, where that is not too wide.
local function gather(set, is_write, view)
  local count = {}
  for tree in pairs(set) do
    local parent = path.parent(tree)
    if parent then
      count[parent] = (count[parent] or 0) + 1
    end
  end
  for parent, n in pairs(count) do
    if n > FEW and not is_wide(parent, is_write, view) then
      set[parent] = true
    end
  end
  return M.outermost(set)
end

--- The part of a git directory that a path is in, without the ending of the lock that stands for it; "": the directory.
local function part_of_git(target)
  local part = target:match("/%.git/([^/]+)") or target:match("/%.git$") and ""
  return part and part:gsub("%.lock$", "")
end

--- Whether a hand-off name of the run's own trees is on the way to it.
---@param view procage.LearnView
local function is_handed_off(target, view)
  local lowered = target:lower()
  for at in lowered:gmatch("()/") do
    if view.roots[lowered:sub(1, at - 1)] and path.tree_in("/" .. lowered:sub(at + 1), view.names) then
      return true
    end
  end
  return false
end

--- Whether nobody may be offered it, and why.
---@param view procage.LearnView
local function closed(target, view)
  if path.tree_in(target, view.hidden) then
    return "hidden"
  elseif path.tree_in(target, view.protected) and not part_of_git(target) or is_handed_off(target, view) then
    return view.startup:name_reason(target) or "a file that others run"
  end
end

--- The repository that a path of a git directory belongs to, and the part of it: of the workspace's own, which `git` opens, or
--- of another one, whose tree has to be writable.
---@param view procage.LearnView
---@return string part
---@return string? root  of another one
---@return boolean? is_common  of what the worktrees of a repository share
local function repository_of(target, view)
  local found = view.git
  for _, directory in ipairs(found and { found.directory, found.common } or {}) do
    if path.lies_in(target, directory) then
      local part = target:sub(#directory + 2):match("^[^/]*"):gsub("%.lock$", "")
      return part, nil, directory ~= found.directory
    end
  end
  local root = target:match("^(.-)/%.git$") or target:match("^(.-)/%.git/")
  return part_of_git(target), root ~= view.workspace and root or nil
end

local TRUSTED, SHARED = lists.set(git.trusted), lists.set(git.shared)

---@class procage.Learning  what is put together while the paths are walked
---@field learned procage.Learned
---@field view procage.LearnView
---@field read table<string, boolean>
---@field write table<string, boolean>
---@field covered table<string, boolean>  trees of the host's /tmp that are read
---@field made table<string, string>  what a written tree was made as
---@field told table<string, boolean>
---@field bits table<string, integer>
local Learning = {}
Learning.__index = Learning

function Learning:leave_out(target, why)
  if not self.told[target] then
    self.told[target] = true
    table.insert(self.learned.left_out, { path = target, why = why })
  end
end

--- A directory that is not there, and too much to be opened, is for the user to make.
function Learning:too_much(target, why, wanted)
  local is_made = wanted & self.bits.MAKE_DIR ~= 0 and self.view.startup:is_above(target) and not core.lstat(target)
  self:leave_out(target, is_made and why .. "; it is not there: make it, and learn again" or why)
end

--- What a tree that is not there has to be: a directory when something was to stand in it.
local function kind_made(tree, target, wanted, rights)
  if tree ~= target or wanted & rights.MAKE_DIR ~= 0 then
    return "directory"
  end
  return wanted & (rights.MAKE_REG | rights.WRITE_FILE) ~= 0 and wanted & rights.MAKE_SYM == 0 and "file" or "other"
end

function Learning:take_write(target, wanted)
  local view = self.view
  local why = view.startup:reason(target)
  if why then
    return self:too_much(target, why, wanted)
  end
  local tree = tree_for(target, true, view)
  self.write[tree] = true
  self.made[tree] = self.made[tree] ~= "directory" and kind_made(tree, target, wanted, self.bits) or self.made[tree]
end

--- In /tmp the run has a directory of its own. What is missed there and the host has was meant.
function Learning:take_temporary(target, wanted, is_write)
  local view = self.view
  if path.has_parent_step(target) then
    return
  end
  local outside = is_write and path.parent(target) or target
  if not path.tree_in(target, view.temporary) or view.own[outside] or not core.stat(outside) then
    return
  elseif is_write then
    return self:take_write(target, wanted)
  end
  self.covered[tree_for(target, false, view)] = true
end

function Learning:take(target, entry, is_write, is_missing)
  local view, wanted = self.view, entry.wanted
  local is_home = view.home and path.lies_in(target, view.home)
  if not is_home and path.tree_in(target, view.own) then
    -- Where there are no mounts the host's is there, and closed.
    return (is_missing or entry.refused ~= 0) and self:take_temporary(target, wanted, is_write)
  elseif is_missing then
    return
  elseif is_write then
    return self:take_write(target, wanted)
  end
  self.read[tree_for(target, false, view)] = true
end

--- git removes names that may be there: MERGE_HEAD, AUTO_MERGE.
function Learning:is_idle_removal(entry, target)
  return entry.wanted & ~(self.bits.REMOVE_FILE | self.bits.REMOVE_DIR) == 0 and not core.lstat(target)
end

--- A write in a git directory.
function Learning:take_git(target, entry)
  local learned, view = self.learned, self.view
  local part, root, is_common = repository_of(target, view)
  if self:is_idle_removal(entry, target) then
    return
  elseif TRUSTED[part] or part == "" and not root and entry.refused ~= 0 then
    self:leave_out(target, 'git runs what it names: git = "write" opens it')
  elseif is_common and not SHARED[part] then
    self:leave_out(target, 'only git = "write" opens it')
  elseif not root then
    learned.git = "commit"
  elseif view.startup:reason(root) or is_wide(root, true, view) then
    self:leave_out(target, view.startup:reason(root) or "too much for one entry")
  else
    self.write[root] = true
  end
end

--- One path that was used.
function Learning:add(entry, used)
  local view, target = self.view, path.normalise(entry.path)
  local is_write = entry.wanted & self.writes ~= 0
  local is_missing = entry.refused == 0 and entry.errno == ENOENT
  local why = closed(target, view)
  local granted = path.tree_in(target, view.write)
  self.learned.files = self.learned.files + (is_missing and 0 or 1)
  if why then
    if is_write or why == "hidden" then
      self:leave_out(target, why)
    end
  elseif target == "/" or view.home and path.lies_in(view.home, target) then
    -- A listing of the home says nothing, and to write in it itself is asked for by name.
    if is_write then
      self:leave_out(target, "too much for one entry")
    end
  elseif is_write and part_of_git(target) and not is_missing and not self:may_write(target, granted) then
    self:take_git(target, entry)
  elseif granted then
    used[granted] = used[granted] or is_write
  else
    self:take(target, entry, is_write, is_missing)
  end
end

--- A repository in another writable tree is open already; the workspace's own is not, wherever it lies.
function Learning:may_write(target, granted)
  local _, root = repository_of(target, self.view)
  return root ~= nil and granted ~= nil and granted ~= self.view.workspace
end

--- Which of the trees to write are not there: made by whoever uses the proposal. A name that is neither file nor directory
--- takes the directory that it stands in, and that was too much.
function Learning:find_missing()
  local learned, kept = self.learned, {}
  for _, tree in ipairs(learned.write) do
    local kind = not core.stat(tree) and (self.made[tree] or "directory") or nil
    if kind == "other" then
      self:leave_out(tree, "too much for one entry")
    else
      kept[#kept + 1] = tree
      learned.missing[#learned.missing + 1] = kind and { path = tree, kind = kind } or nil
    end
  end
  learned.write = kept
end

--- What the policy does not let be read, and what of the host's /tmp is wanted.
local function readable_of(learning)
  local found, view = {}, learning.view
  for tree in pairs(learning.covered) do
    found[tree] = true
  end
  for _, tree in ipairs(view.reads and learning.learned.read or {}) do
    if not path.tree_in(tree, view.reads) and not path.tree_in(tree, view.write) then
      found[tree] = true
    end
  end
  return M.outermost(found)
end

---@param accesses table[]  outcome.accesses of a policy loaded with observes = "all"
---@param policy procage.Policy
---@param denials procage.Denials
---@param is_whole? boolean  the command succeeded
---@return procage.Learned
function M.of(accesses, policy, denials, is_whole)
  local view, writes, by_name = view_of(policy), bits()
  local learned = { left_out = {}, git = "read", files = 0, caches = {}, unused = {}, missing = {}, connections = {},
    is_whole = is_whole or false }
  local learning = setmetatable({ learned = learned, view = view, read = {}, write = {}, covered = {}, made = {}, told = {},
    bits = by_name, writes = writes }, Learning)
  local used = {}
  for _, entry in ipairs(accesses) do
    learning:add(entry, used)
  end
  learned.read, learned.write = gather(learning.read, false, view), gather(learning.write, true, view)
  learning:find_missing()
  learned.readable = readable_of(learning)
  for _, tree in ipairs(policy.survey.write) do
    if tree ~= policy.profile.workspace then
      table.insert(used[tree] and learned.caches or learned.unused, tree)
    end
  end
  for _, line in ipairs(denials.denied) do
    if line.kind == "inet" then
      -- What went on without it does not need it.
      learned.network = not is_whole and "all" or nil
      table.insert(learned.connections, line.text)
    end
  end
  return learned
end

---@class procage.LearnResult
---@field outcome procage.Outcome
---@field learned procage.Learned
---@field toml string  the configuration that is proposed
---@field script string  or a policy
---@field to_make string[]  what is not there yet, a line of a shell each

--- Runs a command under a policy that was loaded with observes = "all", and learns from it.
---@param policy procage.Policy
---@param cmd table  as policy:run takes it
---@return procage.LearnResult? result
---@return string? message
---@return any code
---@return table? detail
function M.run(policy, cmd)
  if policy.observes ~= "all" then
    error('learn: the policy is to be loaded with { observes = "all" }', 2)
  elseif policy:recorded() ~= "paths" then
    return nil, "learn: this host has no notifications, so nothing can be seen (procage-lua probe)", EOPNOTSUPP
  end
  local outcome, message, code, detail = policy:run(cmd)
  if not outcome then
    return nil, message, code, detail
  end
  local proposal = require("procage.proposal")
  local learned = M.of(outcome.accesses, policy, outcome.denials, outcome.status == 0)
  return {
    outcome = outcome,
    learned = learned,
    toml = proposal.toml(learned, policy),
    script = proposal.script(learned, policy),
    to_make = proposal.to_make(learned),
  }
end

return M
