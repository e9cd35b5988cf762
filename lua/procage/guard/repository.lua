--- A repository as guard looks at it: the files in git's directory that decide what git runs and shows, the index, and what
--- is tracked.

local core = require("procage.core")
local disk = require("procage.disk")
local git_config = require("procage.git_config")
local git_index = require("procage.git_index")
local path = require("procage.path")

local M = {}

--- Beneath git's directory, and beneath that of each submodule: what makes git run something, look elsewhere or show something
--- else. Not what every command of git writes: index, logs, objects, FETCH_HEAD.
local FILES = {
  "config", "config.worktree", "hooks", "info", "commondir", "gitdir", "shallow", "objects/info/alternates",
  "objects/info/http-alternates", "rebase-merge", "rebase-apply", "sequencer", "remotes", "branches",
  -- Resolutions of conflicts: git applies them wherever the directory is there.
  "rr-cache",
}

--- What git leaves beside HEAD while something is under way, and reads at the next command: a MERGE_HEAD makes the user's next
--- commit a merge, with a parent that the command chose. By shape, for git adds names: pseudo-refs as git itself tells them
--- (capitals, "_HEAD" or one of a few), BISECT_*, MERGE_*, SQUASH_MSG and the like. Source: gitglossary(7) "pseudoref",
--- gitrepository-layout(5), builtin/merge.c.
local STATE = "^%u[%u%d_%-]*$"

--- Of those, what commands of git write that leave nothing under way, and no other one goes on from: the message that was
--- edited last, what was fetched, and (but in place) where HEAD was before. HEAD is compared by itself.
local NO_STATE = { HEAD = true, COMMIT_EDITMSG = true, FETCH_HEAD = true, TAG_EDITMSG = true, NOTES_EDITMSG = true }

--- Of every worktree that the repository knows.
local WORKTREE_FILES = { "HEAD", "gitdir", "commondir", "config.worktree", "locked" }

--- The names in a directory and their kinds. One that is closed to us is closed to our git too.
local function list(name, left)
  local names, _, code = core.read_dir(name, left.count)
  local list_of = {}
  if code == 7 then -- E2BIG
    error({ message = name .. ": too many names in git's directory" }, 0)
  end
  for entry, kind in pairs(names or {}) do
    left.count = left.count - 1
    list_of[#list_of + 1] = { name = entry, kind = kind }
  end
  return list_of
end

--- A name and everything in it.
local function add_tree(found, name, left)
  found[name] = name
  if disk.kind(name) == "directory" then
    for _, entry in ipairs(list(name, left)) do
      add_tree(found, name .. "/" .. entry.name, left)
    end
  end
end

--- Settings that name a file or a directory of which git makes use.
local LEADS = {
  ["core.hookspath"] = true,
  ["core.attributesfile"] = true,
  ["include.path"] = true,
}

local MAX_CONFIG, MAX_CONFIGS = 1 << 20, 64

local function is_lead(key)
  return LEADS[key] or key:find("^includeif%..*%.path$") ~= nil
end

--- Files that configuration leads to, and what it leads to from there.
local function add_leads(found, file, base, home, seen, left)
  local text = #seen < MAX_CONFIGS and not seen[file] and core.read_file(file, MAX_CONFIG)
  if not text then
    return
  end
  seen[file] = true
  seen[#seen + 1] = file
  for _, setting in ipairs(git_config.parse(text)) do
    if is_lead(setting.key) and setting.value ~= "" then
      local named = path.expand_home(setting.value, home or "/")
      local is_include = setting.key:sub(1, 7) == "include"
      local from = is_include and path.parent(file) or base
      local full = (disk.resolve(path.join(from, named)))
      add_tree(found, full, left)
      if is_include then
        add_leads(found, full, base, home, seen, left)
      end
    end
  end
end

--- Files of a git directory that say what is under way.
local function add_state(found, directory, left, is_in_place)
  for _, entry in ipairs(list(directory, left)) do
    local name = entry.name
    if name:find(STATE) and not NO_STATE[name] and (is_in_place or name ~= "ORIG_HEAD") then
      add_tree(found, directory .. "/" .. name, left)
    end
  end
end

--- Git directories of submodules, as deep as submodules lie in submodules.
local function add_modules(found, modules, left, depth)
  for _, entry in ipairs(list(modules, left)) do
    local inner = modules .. "/" .. entry.name
    if entry.kind == "directory" and disk.kind(inner .. "/HEAD") then
      for _, name in ipairs(FILES) do
        add_tree(found, inner .. "/" .. name, left)
      end
      add_state(found, inner, left)
      add_modules(found, inner .. "/modules", left, depth + 1)
    elseif entry.kind == "directory" and depth < 8 then
      -- A submodule named a/b.
      add_modules(found, inner, left, depth + 1)
    else
      found[inner] = inner
    end
  end
end

--- The files of a repository that are compared.
---@param repository { root: string, entry: string, directory: string, common: string }
---@param options procage.GuardOptions
---@return table<string, string>  name as shown -> absolute path
function M.files(repository, options)
  local found, left = {}, { count = options.limits.entries }
  found[repository.entry] = repository.entry
  for _, directory in ipairs({ repository.common, repository.directory }) do
    for _, name in ipairs(FILES) do
      add_tree(found, path.join(directory, name), left)
    end
    add_state(found, directory, left, options.in_place)
    -- A list for servers without git, which `git gc` makes: nobody believes it here.
    found[directory .. "/info/refs"] = nil
  end
  local worktrees = repository.common .. "/worktrees"
  for _, entry in ipairs(list(worktrees, left)) do
    for _, name in ipairs(WORKTREE_FILES) do
      add_tree(found, path.join(worktrees, entry.name, name), left)
    end
    add_state(found, path.join(worktrees, entry.name), left)
  end
  add_modules(found, repository.common .. "/modules", left, 0)
  local seen = {}
  for _, file in ipairs({ repository.common .. "/config", repository.directory .. "/config.worktree" }) do
    add_leads(found, file, repository.root, options.home, seen, left)
  end
  return found
end

--- A `.git` that is a link or a file leads elsewhere; where to is part of what is compared.
---@param repository table
---@return { root: string, entry: string, directory: string, common: string }
function M.place(repository)
  return { root = repository.root, entry = repository.entry, directory = repository.directory, common = repository.common }
end

local MAX_INDEX = 512 << 20

--- The index; one that is not read entry by entry is compared as a whole.
---@param repository { directory: string }
---@param notes string[]  what cannot be told is added
---@return table<string, string>  name -> mode, stage and object
function M.index(repository, notes)
  local name = repository.directory .. "/index"
  if not disk.kind(name) then
    return {}
  end
  local text, is_cut = core.read_file(name, MAX_INDEX)
  local entries, why
  if text and not is_cut then
    entries, why = git_index.parse(text)
  end
  if entries then
    return entries
  end
  notes[#notes + 1] = ("%s: %s: only whether it changed can be told"):format(name, why or tostring(is_cut))
  local whole = { ["the index"] = text and core.digest(text) or "closed: " .. tostring(is_cut) }
  for _, entry in ipairs((disk.list(repository.directory))) do
    if entry.name:find("^sharedindex%.") then
      whole[entry.name] = core.digest_file(repository.directory .. "/" .. entry.name, MAX_INDEX) or entry.kind
    end
  end
  return whole
end

--- Files that git tracks, as they are on disk.
---@param root string
---@param index table<string, string>
---@return table<string, string>  name -> absolute path
function M.tracked(root, index)
  local found = {}
  for name, mark in pairs(index) do
    -- Not a submodule (a repository of its own), nor a sparse directory.
    if not mark:find("^160000 ") and not mark:find("^40000 ") and not name:find("/$") then
      found[(name:gsub(" %(stage %d%)$", ""))] = path.join(root, name)
    end
  end
  return found
end

return M
