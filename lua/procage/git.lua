--- Where a workspace's git directory is, and what of it a mode protects. Reads git's own files; never runs git: a repository
--- that a command could write names programs for git to run.
--- Source: gitrepository-layout(5), git-worktree(1).

local disk = require("procage.disk")
local path = require("procage.path")

local M = {}

---@class procage.Git
---@field root string  the directory that holds .git
---@field entry string  root/.git
---@field directory string  the git directory, resolved
---@field common string  the directory that worktrees share; the same unless this is a linked worktree
---@field is_linked boolean
---@field is_submodule? boolean  the git directory names this working tree as its own
---@field is_genuine boolean  a linked worktree that its repository knows: only such a one is ever granted anything

--- A file such as .git or commondir: a path, perhaps with a word before it, read as git reads it: up to a NUL, without the ends
--- of lines at its end, whatever else it holds. Source: read_gitfile and get_common_dir, git 2.47.
local function read_pointer(file, keyword)
  local text = disk.read(file)
  local found = text and text:match("^[^%z]*"):gsub("[\r\n]+$", "")
  if found and keyword then
    found = found:match("^" .. keyword .. ": (.*)$")
  end
  return found and found ~= "" and found or nil
end

local function common_of(directory)
  local pointer = read_pointer(directory .. "/commondir")
  if not pointer then
    return directory
  end
  return (disk.resolve(path.join(directory, pointer)))
end

--- A .git file can name any directory, and a command may have written it. The repository's own record, which lies outside the
--- workspace, must lead back: COMMON/worktrees/NAME/gitdir names this very .git file.
local function is_worktree(entry, directory, common)
  if path.parent(directory) ~= path.join(common, "worktrees") then
    return false
  end
  local back = read_pointer(directory .. "/gitdir")
  return back ~= nil and disk.resolve(path.join(directory, back)) == entry
end

--- A submodule's git directory names its working tree in its configuration (core.worktree).
local function is_submodule(root, directory)
  local text = disk.read(directory .. "/config") or ""
  local tree = text:match("\n%s*worktree%s*=%s*([^\n]+)")
  return tree ~= nil and disk.resolve(path.join(directory, tree)) == root
end

--- Whether git would take `root` itself for a git directory: it needs no .git to run what a configuration there names.
---@param root string
---@return boolean
function M.is_bare(root)
  local function has(name)
    return disk.kind(path.join(root, name)) ~= nil
  end
  return has("HEAD") and (has("commondir") or has("objects") and has("refs"))
end

--- The git directory that `root/.git` names.
---@param root string  resolved
---@return procage.Git?
function M.at(root)
  local entry = path.join(root, ".git")
  local kind = disk.kind(entry)
  if kind == "link" then
    -- git follows it. Nothing vouches for where it leads: it is kept as it is, and nothing is granted by it.
    local directory = disk.resolve(entry)
    return { root = root, entry = entry, directory = directory, common = directory, is_linked = true, is_genuine = false }
  elseif kind == "directory" then
    -- A commondir file in here is never followed: a command may have put it there.
    return { root = root, entry = entry, directory = entry, common = entry, is_linked = false, is_genuine = true }
  elseif kind == "file" then
    local pointer = read_pointer(entry, "gitdir")
    if pointer then
      local directory = disk.resolve(path.join(root, pointer))
      local common = common_of(directory)
      return {
        root = root,
        entry = entry,
        directory = directory,
        common = common,
        is_linked = true,
        is_genuine = is_worktree(entry, directory, common),
        is_submodule = is_submodule(root, directory),
      }
    end
  end
  return nil
end

--- The repository that `root` lies in: its own, or that of the nearest directory above.
---@param root string
---@return procage.Git?
function M.governing(root)
  local at = root
  while at do
    local found = M.at(at)
    if found then
      return found
    end
    at = path.parent(at)
  end
  return nil
end

--- Names in a git directory that make git, or someone, run a program or look elsewhere: never writable by a commit.
M.trusted = {
  "hooks",
  "config",
  "config.worktree",
  "info",
  "commondir",
  "gitdir",
  "objects/info/alternates",
  "objects/info/http-alternates",
  "modules",
  "worktrees",
  -- Their lists name commands ("exec") that the user's `git rebase --continue` runs, and remotes their own programs.
  "rebase-merge",
  "rebase-apply",
  "sequencer",
  "remotes",
  "branches",
}

--- What a commit writes of a common directory from a linked worktree.
M.shared = { "objects", "refs", "logs" }

--- What the command needs to see for git to work. A .git file that nothing vouches for names what its writer wanted to see.
---@param found procage.Git
---@return string[]
function M.trees(found)
  if not found.is_linked then
    return { found.root, found.directory }
  elseif found.is_genuine then
    return { found.root, found.directory, found.common }
  end
  -- A submodule's directory lies with its superproject; a commondir in it would lead where its writer wanted.
  return found.is_submodule and { found.root, found.directory } or { found.root }
end

return M
