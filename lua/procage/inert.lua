--- Whether a repository that a run has made may stay: only when nothing in it, nor in what git enters from it, can make git
--- run a program or write elsewhere. Everything is an allow-list: what is not known to be harmless is not.
--- Source: git-config(1), gitrepository-layout(5), git 2.47.

local disk = require("procage.disk")
local git = require("procage.git")
local path = require("procage.path")
local plants = require("procage.git_plants")

local M = {}

--- What `git init`, `clone`, `add` and `commit` leave in a git directory.
local ENTRIES = {
  HEAD = "file",
  ORIG_HEAD = "file",
  FETCH_HEAD = "file",
  COMMIT_EDITMSG = "file",
  config = "file",
  description = "file",
  index = "file",
  ["packed-refs"] = "file",
  shallow = "file",
  branches = "directory",
  hooks = "directory",
  info = "directory",
  logs = "directory",
  modules = "directory",
  objects = "directory",
  refs = "directory",
}

local MAX_CONFIG = 65536

local WORD, NUMBER = "^%a+$", "^%d+$"
local NAME = "^[%w_%.%-/]+$"
--- No letter that means something to a shell: git writes names and addresses into files of its own.
local PERSON = "^[%w%s%.,'@+_()\128-\255%-]*$"

--- Where another repository is: what no helper of git's is started for but those of https and ssh, and no option of theirs. Not
--- on this machine: the hooks of one that a run has made would be run by a push to it.
local PLACES = {
  "^https?://[%w][%w%._~%-:@/%%+]*$",
  "^ssh://[%w][%w%._~%-:@/%%+]*$",
  "^git://[%w][%w%._~%-:/%%+]*$",
  "^[%w_][%w_%.%-]*@[%w][%w%.%-]*:[%w%._~/][%w%._~/%-]*$",
}

local function is_place(value)
  for _, shape in ipairs(PLACES) do
    if value:find(shape) then
      return true
    end
  end
  return false
end

--- Keys that name no program and no file that git would run or include. A value is checked too: it may not be one of another
--- key.
local KEYS = {
  core = {
    repositoryformatversion = "^[01]$",
    filemode = WORD,
    bare = WORD,
    logallrefupdates = WORD,
    ignorecase = WORD,
    precomposeunicode = WORD,
    symlinks = WORD,
    autocrlf = WORD,
    eol = WORD,
    safecrlf = WORD,
    longpaths = WORD,
    quotepath = WORD,
  },
  advice = { detachedhead = WORD },
  branch = { remote = NAME, merge = "^refs/[%w_%.%-/]+$", rebase = WORD },
  color = { ui = WORD },
  commit = { gpgsign = WORD },
  extensions = { objectformat = "^%w+$", partialclone = NAME },
  fetch = { prune = WORD },
  gc = { auto = NUMBER },
  init = { defaultbranch = NAME },
  lfs = { repositoryformatversion = NUMBER },
  pull = { rebase = WORD, ff = WORD },
  push = { default = WORD },
  remote = {
    url = is_place,
    fetch = "^%+?refs/[%w_%.%-/*]+:refs/[%w_%.%-/*]+$",
    promisor = WORD,
    partialclonefilter = "^[%w:=]+$",
    tagopt = "^%-%-%a[%a%-]*$",
  },
  submodule = { active = "^[%w%._%-/]+$", url = is_place, update = "^%a+$" },
  tag = { gpgsign = WORD },
  user = { name = PERSON, email = PERSON },
}

local function is_allowed(shape, value)
  if type(shape) == "function" then
    return shape(value)
  end
  return shape ~= nil and value:find(shape) ~= nil
end

--- The directory of a submodule names its tree: below the one that has the modules, and no other. Where a tree's `.git` file
--- leads to it, that very tree: git goes to the one that is named here, whatever file led it.
local function is_own_tree(directory, value, tree)
  local root = directory:match("^(.-)/%.git/modules/")
  local named = disk.resolve(path.join(directory, value))
  return root ~= nil and path.is_beneath(named, disk.resolve(root)) and (not tree or named == disk.resolve(tree))
end

--- A branch follows a remote that the same file names; another word would be a path.
local function has_remotes(text, wanted)
  for _, name in ipairs(wanted) do
    if not text:find(('[remote "%s"]\n\turl = '):format(name), 1, true) then
      return false
    end
  end
  return true
end

--- A line that this does not read the way git does is a line that it refuses.
local function is_harmless_config(text, directory, root)
  if #text > MAX_CONFIG or text:find("[%z\r]") then
    return false
  end
  local section, remotes = nil, {}
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    local name = line:match("^%[(%l+)%]$") or line:match('^%[(%l+) "[%w/_%.%-]+"%]$')
    local key, value = line:match("^\t(%a+) = (.*)$")
    if name then
      section = KEYS[name]
      if not section then
        return false
      end
    elseif key then
      local is_tree = section == KEYS.core and key:lower() == "worktree"
      if not section or not (is_tree and is_own_tree(directory, value, root) or is_allowed(section[key:lower()], value)) then
        return false
      end
      remotes[#remotes + 1] = section == KEYS.branch and key:lower() == "remote" and value or nil
    elseif line ~= "" then
      return false
    end
  end
  return has_remotes(text, remotes)
end

local function every_entry(directory, accept)
  local entries, message = disk.list(directory)
  -- What cannot be listed may hold anything; what is not there holds nothing.
  if message then
    return disk.kind(directory) == nil
  end
  for _, entry in ipairs(entries) do
    if not accept(entry) then
      return false
    end
  end
  return true
end

local function is_nothing()
  return false
end

local function is_sample(entry)
  return entry.kind == "file" and entry.name:find("%.sample$") ~= nil
end

local function is_exclude(entry)
  return entry.kind == "file" and entry.name == "exclude"
end

local function is_no_alternate(entry)
  return entry.name ~= "alternates" and entry.name ~= "http-alternates" and entry.kind ~= "link"
end

--- How deep submodules lie in each other.
local MAX_NESTED = 8

local is_harmless

--- The git directories of submodules: a name may have slashes, so each directory is one or leads to some.
local function are_modules(directory, open, depth)
  if depth > MAX_NESTED then
    return false
  end
  if open then
    open(directory)
  end
  return every_entry(directory, function(entry)
    local inner = directory .. "/" .. entry.name
    if entry.kind ~= "directory" then
      return false
    end
    return disk.kind(inner .. "/HEAD") and is_harmless(inner, nil, open, depth + 1)
      or not disk.kind(inner .. "/HEAD") and are_modules(inner, open, depth + 1)
  end)
end

--- Repositories that git enters from this one: each is harmless or not there.
local function enters_harmless(root, directory, open, depth)
  local places = plants.entered(root, directory, directory)
  for _, place in ipairs(places or {}) do
    local entry = place .. "/.git"
    if disk.kind(entry) and not M.is_repository(entry, open, depth + 1) then
      return false
    end
  end
  return places ~= nil
end

--- Whether a git directory holds nothing that makes git run a program or write elsewhere.
---@param directory string
---@param root? string  the working tree it is the directory of; nil: it has none of its own
---@param open? fun(directory: string)
---@param depth integer
function is_harmless(directory, root, open, depth)
  if depth > MAX_NESTED then
    return false
  end
  for _, part in ipairs(open and { "", "/branches", "/hooks", "/info", "/logs", "/objects", "/objects/info", "/refs" } or {}) do
    open(directory .. part)
  end
  local text = disk.read(directory .. "/config")
  if not text or not is_harmless_config(text, directory, root) then
    return false
  end
  local odd, is_complete = plants.odd_entries(directory, open)
  return #odd == 0
    and is_complete
    and every_entry(directory, function(entry)
      return ENTRIES[entry.name] == entry.kind
    end)
    and every_entry(directory .. "/branches", is_nothing)
    and every_entry(directory .. "/hooks", is_sample)
    and every_entry(directory .. "/info", is_exclude)
    and every_entry(directory .. "/objects/info", is_no_alternate)
    and are_modules(directory .. "/modules", open, depth)
    and (not root or enters_harmless(root, directory, open, depth))
end

--- The git directory that a `.git` file names, when it is one among a repository's modules, as submodules have theirs.
local function module_of(name)
  local found = git.at(path.parent(name) or "/")
  local directory = found and found.directory
  return directory and directory:find("/%.git/modules/.") and disk.kind(directory) == "directory" and directory or nil
end

--- Whether what appeared may stay: a repository's `.git`, the `.git` file of a submodule, the HEAD that makes a directory a
--- bare repository.
---@param name string  path of what appeared
---@param open? fun(directory: string)  is told of each directory before it is looked into
---@param depth? integer
---@return boolean
function M.is_repository(name, open, depth)
  local base, kind = path.basename(name), disk.kind(name)
  local parent = path.parent(name) or "/"
  if base == ".git" and kind == "directory" then
    return is_harmless(name, parent, open, depth or 0)
  elseif base == ".git" and kind == "file" then
    local directory = module_of(name)
    return directory ~= nil and is_harmless(directory, parent, open, depth or 0)
  elseif base == "HEAD" and kind == "file" then
    return is_harmless(parent, nil, open, depth or 0)
  end
  return false
end

--- Files that name the version of a tool chain, and could name a path in its place: lines that do no such thing. uv takes a
--- word for a directory where there is one of that name, but never a number.
local VERSION_LINES = {
  [".tool-versions"] = { "^[%w_%-]+ +[%w%.+_%- ]+$", "^%s*#", "^$" },
  [".python-version"] = { "^%d+[%d%.]*%a*%d*$", "^$" },
  [".bazelversion"] = { "^%d+[%d%.]*%a*%d*$", "^$" },
}
VERSION_LINES[".python-versions"] = VERSION_LINES[".python-version"]

--- What `hg clone` writes: comments, and where it came from.
local function is_clone_line(line)
  local place = line:match("^default = (%S+)$")
  return line:find("^#") or line == "" or line == "[paths]" or place and is_place(place)
end

local MAX_SMALL = 4096

local function is_small_harmless(name)
  local base = path.basename(name)
  local shapes = VERSION_LINES[base]
  if not shapes and base ~= "hgrc" then
    return false
  end
  local text = disk.read(name, MAX_SMALL)
  for line in ((text or "") .. "\n"):gmatch("([^\n]*)\n") do
    local is_known = base == "hgrc" and is_clone_line(line)
    for _, shape in ipairs(shapes or {}) do
      is_known = is_known or line:find(shape) ~= nil
    end
    if not is_known then
      return false
    end
  end
  return text ~= nil
end

--- Whether what appeared may stay: a repository in which nothing runs anything, a file that names nothing but versions or
--- where it came from.
---@param name string
---@param open? fun(directory: string)
---@return boolean
function M.may_stay(name, open)
  return is_small_harmless(name) or M.is_repository(name, open)
end

return M
