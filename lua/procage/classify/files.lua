--- What the rules say of a file that a call names: under each name that it has, and as the file that is really reached.

local core = require("procage.core")
local disk = require("procage.disk")
local git = require("procage.git")
local git_index = require("procage.git_index")
local glob = require("procage.glob")
local inputs = require("procage.inputs")
local path = require("procage.path")

---@class procage.ClassifyFiles
---@field made? table<string, boolean>  what the session has made: it was not there before
local Files = {}
Files.__index = Files

local M = {}

--- A look for other names of a file, or into a directory that goes as a whole, ends here: then it is asked.
local SEARCH = { entries = 20000, file_bytes = 1, total_bytes = 1 }

-- ---- Names ----------------------------------------------------------------------------------------------------------------

--- Characters that HFS+ passes by. Source: git's next_hfs_char().
local IGNORED = { "\xe2\x80[\x8c-\x8f\xaa-\xae]", "\xe2\x81[\xaa-\xaf]", "\xef\xbb\xbf" }

--- One spelling for the names that some file system takes for one: letter case, ignored characters, NTFS's trailing dots and
--- spaces, streams and short names. On a file system that tells them apart, more is found than is there.
---@param name string
---@return string
function M.fold(name)
  local folded = name:gsub("\\", "/")
  if folded:find("[\xe2\xef]") then
    for _, pattern in ipairs(IGNORED) do
      folded = folded:gsub(pattern, "")
    end
  end
  folded = glob.lower(folded)
  if folded:find("[. :]/") or folded:find("[. :]$") or folded:find(":", 1, true) or folded:find("~1", 1, true) then
    folded = folded:gsub("[^/]+", function(part)
      if part == "." or part == ".." then
        return part
      end
      local bare = part:gsub("^(.-):.*$", "%1"):gsub("[. ]+$", "")
      return bare == "git~1" and ".git" or bare ~= "" and bare or part
    end)
  end
  return folded
end

--- `..` folded as text: not where the kernel goes behind a link, but what somebody may mean.
local function folded_parents(name)
  local kept = {}
  for _, part in ipairs(path.components(name)) do
    if part == ".." then
      kept[#kept] = nil
    else
      kept[#kept + 1] = part
    end
  end
  return "/" .. table.concat(kept, "/")
end

--- Every name that a path may be matched by: as written, with its directory resolved, and what it leads to.
---@param name string  absolute
---@return string[] names  the last is what is reached
local function names_of(name)
  local names, seen = {}, {}
  local function add(text)
    if not seen[text] then
      seen[text] = true
      names[#names + 1] = text
    end
  end
  add(folded_parents(name))
  local normal = path.normalise(name)
  local parent = path.parent(normal)
  if parent and path.basename(normal) ~= ".." then
    add(path.join((disk.resolve(parent)), path.basename(normal)))
  end
  local real = (disk.resolve(name))
  seen[real] = nil
  add(real)
  return names
end

M.names_of = names_of

-- ---- Rules ----------------------------------------------------------------------------------------------------------------

local function compile_all(patterns)
  local compiled = {}
  for i, pattern in ipairs(patterns or {}) do
    local anywhere = pattern:sub(1, 3) == "**/"
    compiled[i] = {
      glob = glob.compile(M.fold(path.is_absolute(pattern) and pattern:sub(2) or pattern)),
      anywhere = anywhere,
      is_absolute = path.is_absolute(pattern),
    }
  end
  return compiled
end

local function compile_rule(rule)
  return { rule = rule, patterns = compile_all(rule.patterns), unless = compile_all(rule.unless) }
end

---@class procage.FilesOptions
---@field policy procage.Policy
---@field rules table  policies/classify_rules.lua
---@field handoff table[]  rows of the list, for their reasons
---@field protect string[]  patterns as guard takes them

---@param options procage.FilesOptions
---@return procage.ClassifyFiles
function M.new(options)
  local profile = options.policy.profile
  local home = options.policy.context.home
  local self = setmetatable({
    profile = profile,
    home = home,
    workspace = profile.workspace,
    folded_workspace = M.fold(profile.workspace),
    rules = {},
    hidden = {},
    read_only = {},
    handoff = {},
    runs = {},
  }, Files)
  local protect = {}
  for i, pattern in ipairs(options.protect) do
    protect[i] = path.expand_home(pattern, home)
  end
  self.protect = protect
  table.insert(self.rules, compile_rule({
    id = "protected", decision = "denied", change = true, patterns = protect,
    reason = "it is one of the protected inputs",
  }))
  for _, rule in ipairs(options.rules.paths) do
    table.insert(self.rules, compile_rule(rule))
  end
  for key, list in pairs({ hidden = profile.hidden, read_only = profile.read_only, handoff = profile.handoff }) do
    for i, item in ipairs(list) do
      self[key][i] = M.fold(item)
    end
  end
  for _, row in ipairs(options.handoff) do
    self.runs[M.fold(row.name)] = row.runs
  end
  self.write = {}
  for _, list in ipairs({ profile.write, type(profile.caches) == "table" and profile.caches.trees or {} }) do
    for _, tree in ipairs(list) do
      table.insert(self.write, tree)
    end
  end
  table.insert(self.write, profile.workspace)
  return self
end

--- What patterns are matched with: names from the workspace inside of it, from the root elsewhere.
local function texts_of(self, name)
  local folded = M.fold(name)
  if folded == self.folded_workspace then
    return { inner = "", absolute = folded:sub(2) }
  elseif path.lies_in(folded, self.folded_workspace) then
    return { inner = folded:sub(#self.folded_workspace + (self.folded_workspace == "/" and 1 or 2)), absolute = folded:sub(2) }
  end
  return { absolute = folded:sub(2) }
end

local function meets(patterns, texts)
  for _, pattern in ipairs(patterns) do
    local text
    if pattern.is_absolute then
      text = texts.absolute
    elseif texts.inner then
      text = texts.inner
    else
      text = pattern.anywhere and texts.absolute
    end
    if text and glob.matches(pattern.glob, text) then
      return true
    end
  end
  return false
end

local function finding(decision, id, reason, object)
  return { decision = decision, rule = id, reason = reason, object = object }
end

--- Whether a test was there before: on disk, and not made in this session, or in git's index.
local function existed(self, names)
  local real = names[#names]
  if disk.kind(real) then
    return not (self.made and self.made[real])
  end
  if self.index == nil then
    local repository = git.governing(self.workspace)
    local text = repository and core.read_file(repository.directory .. "/index", 64 << 20)
    self.index = text and git_index.parse(text) or {}
    self.index_root = repository and repository.root
  end
  for _, name in ipairs(names) do
    local inner = self.index_root and path.lies_in(name, self.index_root) and name:sub(#self.index_root + 2)
    if inner and self.index[inner] then
      return true
    end
  end
  return false
end

local function add_rules(self, found, names, changes)
  for _, name in ipairs(names) do
    local texts = texts_of(self, name)
    for _, compiled in ipairs(self.rules) do
      local rule = compiled.rule
      if (changes or not rule.change) and meets(compiled.patterns, texts) and not meets(compiled.unless, texts)
        and (not rule.existed or existed(self, names)) then
        found[#found + 1] = finding(rule.decision, rule.id, rule.reason, name)
      end
    end
  end
end

--- Hand-off names are those of a repository's root: of each directory above the file that is one, and of the writable trees.
local function add_handoff(self, found, name)
  local folded = M.fold(name)
  local at = path.parent(name)
  while at do
    local is_tree = false
    for _, tree in ipairs(self.write) do
      is_tree = is_tree or tree == at
    end
    if is_tree or disk.kind(at .. "/.git") then
      local inner = folded:sub(#at + (at == "/" and 1 or 2))
      for _, handed in ipairs(self.handoff) do
        if path.lies_in(inner, handed) then
          local runs = self.runs[handed]
          found[#found + 1] = finding("denied", "handoff", "someone else runs it" .. (runs and ": " .. runs or ""), name)
        end
      end
    end
    at = path.resolved_tree_of(at, self.write) and path.parent(at) or nil
  end
end

local function add_trees(self, found, names, changes, is_command)
  for _, name in ipairs(names) do
    local folded = M.fold(name)
    for _, hidden in ipairs(self.hidden) do
      if path.lies_in(folded, hidden) then
        found[#found + 1] = finding("denied", "hidden", "the policy hides it", name)
      end
    end
    if changes then
      for _, kept in ipairs(self.read_only) do
        if path.lies_in(folded, kept) then
          found[#found + 1] = finding("denied", "read-only", "the policy keeps it as it is", name)
        end
      end
      add_handoff(self, found, name)
    end
  end
  local real = names[#names]
  if changes and not path.resolved_tree_of(real, self.write) and not (is_command and self:is_scratch(real)) then
    found[#found + 1] = finding("denied", "outside", "it lies outside of what the policy lets be written", real)
  end
  if not changes and type(self.profile.read) == "table" and not path.tree_of(real, self.profile.read)
    and not path.resolved_tree_of(real, self.write) then
    found[#found + 1] = finding("denied", "outside", "it lies outside of what the policy lets be read", real)
  end
end

--- A command's own temporary directories, and the devices that everybody writes.
---@param name string
---@return boolean
function Files:is_scratch(name)
  -- A home or a workspace below /tmp is put back in the command's own.
  if path.lies_in(name, self.home) or path.lies_in(name, self.workspace) then
    return false
  end
  for _, tree in ipairs({ "/tmp", "/var/tmp", "/dev/shm", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd" }) do
    if path.lies_in(name, tree) then
      return true
    end
  end
  return name:find("^/proc/self/fd/[012]$") ~= nil or name:find("^/proc/%d+/fd/[012]$") ~= nil
    or name:find("^/proc/%d+/fd/pipe:") ~= nil or name:find("^/dev/pts/") ~= nil
end

-- ---- More than the name ---------------------------------------------------------------------------------------------------

--- Patterns of what no call may change, for a walk: as on disk, in any letter case.
local function denied_patterns(self)
  local patterns = {}
  for _, compiled in ipairs(self.rules) do
    local rule = compiled.rule
    if rule.decision == "denied" and rule.change then
      for _, pattern in ipairs(rule.patterns) do
        patterns[#patterns + 1] = pattern
      end
    end
  end
  for _, name in ipairs(self.profile.handoff) do
    patterns[#patterns + 1] = name
  end
  return patterns
end

--- Trees that packages fill or builds make: what is called SPEC.md there is a dependency's.
local FETCHED = { node_modules = true, target = true, vendor = true, [".venv"] = true, venv = true, dist = true, build = true }

local function is_fetched(inner)
  for name in inner:gmatch("[^/]+") do
    if FETCHED[name] then
      return true
    end
  end
  return false
end

local function is_protected(self, full)
  return meets(self.rules[1].patterns, texts_of(self, full))
end

--- The files of a search, in an order that does not change from call to call.
local function sorted(inside)
  local files = {}
  for _, full in pairs(inside) do
    files[#files + 1] = full
  end
  table.sort(files)
  return files
end

--- A directory that goes as a whole takes along what is in it.
local function add_contents(self, found, real)
  if disk.kind(real) ~= "directory" then
    return
  end
  for _, tree in ipairs({ self.workspace, self.home, "/" }) do
    if path.lies_in(tree, real) then
      found[#found + 1] = finding("denied", "whole-tree", ("it holds %s"):format(tree), real)
      return
    end
  end
  for _, hidden in ipairs(self.profile.hidden) do
    if path.lies_in(hidden, real) then
      found[#found + 1] = finding("denied", "hidden", "it holds what the policy hides: " .. hidden, real)
      return
    end
  end
  if not path.lies_in(real, self.workspace) then
    return
  end
  local inside, message = inputs.find(self.workspace, denied_patterns(self), { home = self.home, limits = SEARCH })
  if not inside then
    found[#found + 1] = finding("ask", "whole-tree", "what is in it cannot be told: " .. tostring(message), real)
    return
  end
  for _, full in ipairs(sorted(inside)) do
    if path.lies_in(full, real) and (not is_fetched(full:sub(#self.workspace + 1)) or is_protected(self, full)) then
      found[#found + 1] = finding("denied", "whole-tree", "it holds a protected file: " .. full, real)
      return
    end
  end
  if disk.kind(real .. "/.git") then
    found[#found + 1] = finding("denied", "whole-tree", "it holds a repository", real)
  end
end

--- A file with another name may be a protected one by that name.
local function add_hard_links(self, found, real)
  local facts = core.lstat(real)
  if not facts or facts.kind ~= "file" or facts.links < 2 then
    return
  end
  local inside, message = inputs.find(self.workspace, denied_patterns(self), { home = self.home, limits = SEARCH })
  if not inside then
    found[#found + 1] = finding("ask", "hard-link", "it has another name, which cannot be told: " .. tostring(message), real)
    return
  end
  for _, full in ipairs(sorted(inside)) do
    local other = core.lstat(full)
    if other and other.ino == facts.ino and other.dev == facts.dev then
      found[#found + 1] = finding("denied", "protected", "it is the file that is also called " .. full, real)
      return
    end
  end
end

-- ---- A call ---------------------------------------------------------------------------------------------------------------

---@alias procage.FileOp "read"|"write"|"delete"

--- What there is to say of one file; nothing: it needs no question.
---@param op procage.FileOp
---@param name string  absolute; `..` and links may be in it
---@param is_command? boolean  a command names it, not a tool in the harness
---@return table[] found  {decision, rule, reason, object}
---@return string real  what is reached
function Files:look(op, name, is_command)
  local found, names = {}, names_of(name)
  local changes = op ~= "read"
  local real = names[#names]
  add_rules(self, found, names, changes)
  add_trees(self, found, names, changes, is_command)
  if changes and real:find("^/proc/") and not self:is_scratch(real) then
    found[#found + 1] = finding("denied", "process-files", "nothing is written there", real)
  end
  if op == "write" then
    add_hard_links(self, found, real)
  elseif op == "delete" then
    -- The name goes, not what a link at its end leads to.
    add_contents(self, found, names[#names - 1] or real)
    add_contents(self, found, real)
  end
  return found, real
end

return M
