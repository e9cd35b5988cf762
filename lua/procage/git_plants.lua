--- What a run may have planted where the user's own git goes: repositories that git enters on its own (gitlinks of an index),
--- and links inside a git directory, through which it would write elsewhere. Reads git's files; never runs git.
--- Source: gitrepository-layout(5), gitformat-index(5), git-submodule(1).

local core = require("procage.core")
local disk = require("procage.disk")
local git = require("procage.git")
local git_config = require("procage.git_config")
local git_index = require("procage.git_index")
local path = require("procage.path")

local M = {}

--- An index larger than this is none that a person's repository has; then nobody knows what it leads to.
local MAX_INDEX = 256 << 20

--- And of all that are read at once: a run can make a hundred of that size, out of one on the disk or of none (sparse files).
local MAX_READ = 512 << 20

---@class procage.IndexBudget
---@field bytes integer

--- For what looks into many repositories: those that come when it is used up are none that can be read.
---@return procage.IndexBudget
function M.budget()
  return { bytes = MAX_READ }
end

--- Looked at first: of a file that is too long nothing is read.
---@param left procage.IndexBudget
---@return string?
local function read_index(file, left)
  local found = core.lstat(file)
  local size = found and found.size or 0
  if size > math.min(MAX_INDEX, left.bytes) then
    return nil
  end
  left.bytes = left.bytes - size
  local text, is_cut = core.read_file(file, MAX_INDEX)
  return not is_cut and text or nil
end

---@param text string  as an index has it
local function is_plain(text)
  return path.is_plain("/" .. text) and not path.has_parent_step("/" .. text)
end

--- The index, and what a split one shares with others.
---@param directory string
---@return string[]
function M.index_files(directory)
  local found = {}
  for entry in pairs(core.read_dir(directory) or {}) do
    if entry == "index" or entry:find("^sharedindex%.") then
      found[#found + 1] = path.join(directory, entry)
    end
  end
  table.sort(found)
  return found
end

--- Of what size object names are in a repository, by its own word.
local function oid_size(common)
  local size = 20
  for _, setting in ipairs(git_config.parse(disk.read(common .. "/config") or "")) do
    if setting.key == "extensions.objectformat" then
      size = setting.value:lower() == "sha256" and 32 or 20
    end
  end
  return size
end

--- What an index that a command may have written leads to. Nothing for one that git would not have written so.
---@param files string[]  the index and its parts
---@return string[]? names
local function judged_links(files, common, left)
  local names, size, is_split = {}, oid_size(common), false
  for _, every in ipairs({ false, true }) do
    for _, file in ipairs((not every or is_split) and files or {}) do
      local found, is_nameless = git_index.links(read_index(file, left) or "", size, every)
      if not found then
        return nil
      end
      table.move(found, 1, #found, #names + 1, names)
      is_split = is_split or is_nameless == true
    end
  end
  return names
end

--- What an index of the user's own leads to, read fast.
local function own_links(files, left)
  local names = {}
  for _, file in ipairs(files) do
    local text = read_index(file, left)
    local found = text and git_index.gitlinks(text)
    if not found then
      return nil
    end
    table.move(found, 1, #found, #names + 1, names)
  end
  return names
end

--- PATH_MAX, with the end and what is looked for in the directory. Git enters by shorter names, where we cannot look.
local MAX_PLACE = 4096 - #"/.git" - 1

--- The directories that the index of a repository enters as repositories of their own.
---@param root string  the working tree
---@param directory string  its git directory
---@param judged? string  the directory with its configuration: a command may have written the index, or what it leads to
---@param left? procage.IndexBudget
---@return string[]? places  absolute, each once, sorted; nil: the index is there and cannot be read
function M.entered(root, directory, judged, left)
  local files, places, seen = M.index_files(directory), {}, {}
  left = left or M.budget()
  local names = judged and judged_links(files, judged, left) or not judged and own_links(files, left)
  for _, name in ipairs(names or {}) do
    -- Git takes `a//b/` for what the kernel takes it for.
    local place = path.join(root, path.normalise(name))
    if judged and (#place > MAX_PLACE or path.has_parent_step(name)) then
      return nil
    elseif name ~= "" and is_plain(path.normalise(name)) and not seen[place] then
      seen[place] = true
      places[#places + 1] = place
    end
  end
  table.sort(places)
  return names and places or nil
end

--- What git enters by an index that is another than it was. An index that cannot be read may lead anywhere: it is told itself.
---@param root string
---@param marks table<string, string>  of indexes, as they were
---@param left procage.IndexBudget
---@return string[] names  `.git` of each repository, or the index
function M.entered_since(root, marks, left)
  local found, is_changed, names = git.at(root), false, {}
  local files = found and M.index_files(found.directory) or {}
  for _, file in ipairs(files) do
    is_changed = is_changed or disk.mark(file) ~= marks[file]
  end
  if not found or not is_changed then
    return names
  end
  local places = M.entered(root, found.directory, found.common, left)
  for i, place in ipairs(places or {}) do
    names[i] = place .. "/.git"
  end
  return places and names or files
end

--- A directory that is walked has at most so many entries looked at: refs and logs are a few thousand in a large repository.
local MAX_ENTRIES = 200000

--- Of a bare repository that is somebody's working directory too: names that git writes.
local WRITTEN = {
  config = true, index = true, shallow = true, logs = true, objects = true, refs = true, info = true, hooks = true,
  ["packed-refs"] = true,
}

local function is_gits(name)
  return WRITTEN[name] or name:find("^[A-Z][A-Z_]*$") ~= nil
end

--- HEAD was a link to its branch once (core.preferSymlinkRefs).
local function is_branch_link(name, kind, directory)
  return kind == "link" and path.basename(name) == "HEAD" and path.is_beneath(disk.resolve(name), directory .. "/refs/heads")
end

local function walk(found, at, depth, left, open)
  if open then
    open(at)
  end
  for entry, kind in pairs(core.read_dir(at) or {}) do
    left.count = left.count - 1
    if left.count < 0 then
      left.is_over = true
      return
    end
    local name = at .. "/" .. entry
    if kind == "directory" and depth > 0 then
      walk(found, name, depth - 1, left, open)
    elseif kind ~= "directory" and kind ~= "file" then
      found[#found + 1] = name
    end
  end
end

--- What in a git directory is neither file nor directory, where git writes by name: it would write through it.
---@param directory string
---@param open? fun(directory: string)  is told of those that a run may have closed
---@return string[] names
---@return boolean is_complete
function M.odd_entries(directory, open)
  local found, left = {}, { count = MAX_ENTRIES }
  local is_bare = path.basename(directory) ~= ".git" and git.is_bare(directory)
  local real = disk.resolve(directory)
  if open then
    open(directory)
  end
  for entry, kind in pairs(core.read_dir(directory) or {}) do
    local name = directory .. "/" .. entry
    if is_bare and not is_gits(entry) then
      goto continue
    elseif kind ~= "file" and kind ~= "directory" and not is_branch_link(name, kind, real) then
      found[#found + 1] = name
    elseif kind == "directory" and (entry == "logs" or entry == "refs" or entry == "objects") then
      -- What is in a fan-out directory of objects is replaced, never written through.
      walk(found, name, entry == "objects" and 0 or 64, left, open)
    end
    ::continue::
  end
  table.sort(found)
  return found, not left.is_over
end

return M
