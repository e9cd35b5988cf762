--- Files that git ignores and whose names say that they hold credentials, found in trees that a command writes. git is never
--- run: its rules and its index are read as text, and what a repository's configuration names is not looked at.
--- Source: gitignore(5).

local core = require("procage.core")
local disk = require("procage.disk")
local git = require("procage.git")
local git_index = require("procage.git_index")
local gitignore = require("procage.gitignore")
local path = require("procage.path")

local M = {}

--- The search grows with the tree; one that is larger is an error, for what was not found would be read.
M.max_directories = 65536

--- Rules beyond this are not read: then everything below counts as ignored.
local MAX_RULES_BYTES, MAX_INDEX_BYTES = 1 << 20, 1 << 28

--- Trees that packages or builds fill. Ignored, their insides are copies of what is public: keys of a package's own tests by
--- the hundred. Their top level is looked at, for what a person has put there.
local FILLED = {
  node_modules = true, bower_components = true, jspm_packages = true, [".venv"] = true, venv = true, [".tox"] = true,
  [".nox"] = true, ["__pycache__"] = true, target = true, vendor = true, [".gradle"] = true, [".yarn"] = true,
}

--- A directory on the way. A repository inside is a directory like any other here, and the rules around it hold in it too: a
--- command that made one would else bring back what lies in it.
---@class procage.IgnoreNode
---@field path string
---@field relative string  from the top, "" for that
---@field parent? procage.IgnoreNode
---@field repository? procage.Git  of which this is the root
---@field has_rules boolean
---@field rules? procage.IgnoreRule[]|"all"|false
---@field is_ignored? boolean
---@field is_filled boolean

---@param file string
---@return procage.IgnoreRule[]|"all"|nil rules
local function read_rules(search, file)
  search.marks[file] = disk.mark(file) or "absent"
  local text, is_cut = search.read(file, MAX_RULES_BYTES)
  if not text then
    return nil
  end
  return is_cut and "all" or gitignore.parse(text)
end

--- What one list says of a path below its directory.
local function decide(rules, relative, is_directory)
  if not rules then
    return nil
  end
  return rules == "all" or gitignore.decide(rules, relative, is_directory)
end

--- The rules of a directory's own .gitignore.
local function own_rules(search, node)
  if node.rules == nil then
    node.rules = node.has_rules and read_rules(search, node.path .. "/.gitignore") or false
  end
  return node.rules
end

--- The rules of info/exclude in the repository that a directory is the root of.
local function exclude_rules(search, node)
  if node.exclude == nil then
    local file = node.repository and disk.resolve(node.repository.common .. "/info/exclude")
    node.exclude = file and read_rules(search, file) or false
  end
  return node.exclude
end

--- What the rules of `node` and of the directories above it say of something in it; the innermost that say anything decide.
local function judge(search, node, name, is_directory)
  local relative = node.relative == "" and name or node.relative .. "/" .. name
  local at = node
  while at do
    local below = at.relative == "" and relative or relative:sub(#at.relative + 2)
    local answer = decide(own_rules(search, at), below, is_directory)
    if answer == nil then
      answer = decide(exclude_rules(search, at), below, is_directory)
    end
    if answer ~= nil then
      return answer
    end
    at = at.parent
  end
  return decide(search.user_rules, relative, is_directory) or false
end

--- Whether git ignores a directory, itself or by one above it: nothing below brings anything back then.
local function is_ignored(search, node)
  if node.is_ignored == nil then
    local parent = node.parent
    node.is_ignored = parent ~= nil
      and (is_ignored(search, parent) or judge(search, parent, path.basename(node.path), true))
  end
  return node.is_ignored
end

-- ---- What is committed is not ignored --------------------------------------------------------------------------------------

--- Whether a path is in the index of the workspace's repository, when that is one that the command cannot write. One that
--- cannot be read holds nothing.
local function is_tracked(search, node, name)
  local repository = search.trusted
  if not repository or not path.lies_in(node.path, repository.root) then
    return false
  end
  if not search.index then
    local file = repository.directory .. "/index"
    search.marks[file] = disk.mark(file) or "absent"
    local text, is_cut = search.read(file, MAX_INDEX_BYTES)
    search.index = text and not is_cut and git_index.parse(text) or {}
  end
  return search.index[path.join(node.path, name):sub(#repository.root + 2)] ~= nil
end

-- ---- The search ------------------------------------------------------------------------------------------------------------

--- Patterns of names, any letter case: `*` and `?` as everywhere. A tree has a hundred thousand names, so most are told by
--- themselves or their ending, and the others are compared with what begins with their letter.
---@param patterns string[]
---@return fun(name: string): boolean
local function compile(patterns)
  local names, endings, by_letter = {}, {}, {}
  for _, glob in ipairs(patterns) do
    local lower = glob:lower()
    local ending = lower:match("^%*(%.[^.*?]+)$")
    if ending then
      endings[ending] = true
    elseif not lower:find("[*?]") then
      names[lower] = true
    else
      local letter = lower:match("^[^*?]") or ""
      local escaped = lower:gsub("[^%w*?]", "%%%0")
      by_letter[letter] = by_letter[letter] or {}
      table.insert(by_letter[letter], "^" .. escaped:gsub("%*+", ".*"):gsub("%?", ".") .. "$")
    end
  end
  local function meets_one(lower, list)
    for _, pattern in ipairs(list or {}) do
      if lower:find(pattern) then
        return true
      end
    end
    return false
  end
  return function(name)
    local lower = name:lower()
    return names[lower] or endings[lower:match("%.[^.]*$") or ""] or meets_one(lower, by_letter[lower:sub(1, 1)])
      or meets_one(lower, by_letter[""])
  end
end

---@param parent? procage.IgnoreNode
---@return procage.IgnoreNode
local function new_node(at, parent, name, has_rules, has_git)
  local relative = not parent and "" or parent.relative == "" and name or parent.relative .. "/" .. name
  return {
    path = at,
    relative = relative,
    parent = parent,
    has_rules = has_rules,
    repository = has_git and git.at(at) or nil,
    is_filled = false,
  }
end

--- The nodes from the root of the repository around `tree` down to it, of which the last is given back.
local function node_of_tree(search, tree)
  local function make(at, parent, name)
    search.marks[at] = disk.mark(at)
    return new_node(at, parent, name, disk.kind(at .. "/.gitignore") == "file", disk.kind(at .. "/.git") ~= nil)
  end
  local around = git.governing(tree)
  local root = around and around.root or tree
  local node = make(root)
  for _, name in ipairs(path.components(tree:sub(#root + 1))) do
    node = make(path.join(node.path, name), node, name)
  end
  return node
end

--- A candidate in `node`: the file that is read by its name, when git ignores the name.
local function add_file(search, node, name, kind)
  if not (is_ignored(search, node) or judge(search, node, name, false)) or is_tracked(search, node, name) then
    return
  end
  local target = path.join(node.path, name)
  if kind == "link" then
    local resolved, exists = disk.resolve(target)
    search.marks[target] = disk.mark(target)
    if not exists or disk.kind(resolved) ~= "file" then
      return
    end
    target = resolved
  end
  search.found[target] = true
end

local function visit(search, queue, node, entries)
  search.marks[node.path] = disk.mark(node.path)
  for name, kind in pairs(entries) do
    if (kind == "file" or kind == "link") and search.is_candidate(name) then
      add_file(search, node, name, kind)
    elseif kind == "directory" and name ~= ".git" and not node.is_filled then
      queue[#queue + 1] = { parent = node, name = name }
    end
  end
end

---@class procage.IgnoredFiles
---@field files string[]  resolved, sorted
---@field closed string[]  directories that cannot be listed: something may lie in them
---@field marks table<string, string>  of what the answer rests on

---@class procage.IgnoredSearch
---@field trees string[]  resolved
---@field patterns string[]  of names
---@field excludes_file? string  the user's own list
---@field trusted? procage.Git  the repository whose index tells what is tracked, and so not ignored
---@field known? string[]  files found before: they stay, or a command would bring one back by changing the rules

--- What is in a directory; one that cannot be listed is told of. What is gone since, or no directory any more, holds nothing.
local function entries_of(search, at)
  local entries, message = core.read_dir(at)
  if not entries then
    search.closed[#search.closed + 1] = message and disk.kind(at) == "directory" and at or nil
  end
  return entries or {}
end

--- A directory that is listed, and what is in it.
local function open_node(search, at, parent, name)
  local entries = entries_of(search, at)
  local node = new_node(at, parent, name, entries[".gitignore"] == "file", entries[".git"] ~= nil)
  node.is_filled = FILLED[name:lower()] ~= nil and is_ignored(search, node)
  return node, entries
end

--- Looks through one tree, nearest directories first.
---@return boolean is_complete
local function search_tree(search, tree)
  local queue, next_up = {}, 1
  visit(search, queue, node_of_tree(search, tree), entries_of(search, tree))
  while queue[next_up] do
    local item = queue[next_up]
    next_up = next_up + 1
    search.visited = search.visited + 1
    if search.visited > M.max_directories then
      return false
    end
    local node, entries = open_node(search, path.join(item.parent.path, item.name), item.parent, item.name)
    visit(search, queue, node, entries)
  end
  return true
end

---@param wanted procage.IgnoredSearch
---@return procage.IgnoredFiles? found
---@return string? message
function M.find(wanted)
  local search = {
    read = core.read_file,
    is_candidate = compile(wanted.patterns),
    trusted = wanted.trusted,
    marks = {},
    found = {},
    closed = {},
    visited = 0,
  }
  search.user_rules = wanted.excludes_file and read_rules(search, (disk.resolve(wanted.excludes_file)))
  for _, tree in ipairs(wanted.trees) do
    if not search_tree(search, tree) then
      return nil, ("%s: more than %d directories to look through for credentials that git ignores; lift the patterns to run"
        .. " without"):format(tree, M.max_directories)
    end
  end
  for _, name in ipairs(wanted.known or {}) do
    search.found[name] = search.found[name] or disk.kind(name) == "file" or nil
  end
  local files = {}
  for name in pairs(search.found) do
    files[#files + 1] = name
  end
  table.sort(files)
  return { files = files, closed = search.closed, marks = search.marks }
end

--- Whether nothing that an answer rests on has changed.
---@param found procage.IgnoredFiles
---@return boolean
function M.is_fresh(found)
  for name, mark in pairs(found.marks) do
    if (disk.mark(name) or "absent") ~= mark then
      return false
    end
  end
  return true
end

--- Which of the patterns a file's name is met by.
---@param name string
---@param patterns string[]
---@return string? pattern
function M.pattern_of(name, patterns)
  for _, pattern in ipairs(patterns) do
    if compile({ pattern })(name) then
      return pattern
    end
  end
end

return M
