--- What a command must not have changed, looked at before it and compared after it: protected inputs, and in git's directory
--- what decides what git runs and shows. For commands that the kernel does not keep from it: where a host cannot carve a
--- read-only tree, where git is writable, or where nothing is confined. Never runs git.
---
---     local before = assert(guard.snapshot({ root = root, protect = { "SPEC.md", "tests/**" }, in_place = true }))
---     local outcome = policy:run({ "make", "test" })
---     for _, finding in ipairs(guard.compare(before)) do print(finding.id, finding.text) end

local core = require("procage.core")
local disk = require("procage.disk")
local git = require("procage.git")
local git_config = require("procage.git_config")
local git_index = require("procage.git_index")
local git_refs = require("procage.git_refs")
local glob = require("procage.glob")
local inputs = require("procage.inputs")
local json = require("procage.json")
local nearest = require("procage.nearest")
local path = require("procage.path")

local M = {}

M.INTEGRITY, M.GIT_CHANGED = "INTEGRITY", "GIT-CHANGED"

--- More are counted, not listed: a command can change a million names.
M.max_findings = 200

---@class procage.GuardOptions
---@field root string  the tree that commands write
---@field protect? string[]  paths and patterns: from root, from / or from ~/
---@field home? string  what ~ is; default: HOME
---@field in_place? boolean  HEAD, its branch and commit, and the index must stay: the user's own checkout
---@field tree? boolean  so must the content of every file that git tracks
---@field git? boolean  default true: git's configuration, hooks, info and refs
---@field own_refs? string[]  refs that the harness itself moves, as refs/heads/speccoder/*; the letter case counts
---@field limits? { entries?: integer, file_bytes?: integer, total_bytes?: integer }

---@class procage.GuardSnapshot
---@field version integer
---@field options procage.GuardOptions  complete
---@field inputs table<string, string>  name -> mark
---@field repository? { root: string, entry: string, directory: string, common: string }
---@field refs? table<string, string>
---@field files? table<string, string>  of git's directory and what its configuration leads to
---@field head? procage.GitHead
---@field index? table<string, string>
---@field tree? table<string, string>
---@field notes string[]  what cannot be told in full

---@class procage.GuardFinding
---@field id "INTEGRITY"|"GIT-CHANGED"
---@field name string  the path, the ref, "HEAD", "index"
---@field what "appeared"|"gone"|"changed"|"unknown"
---@field before? string  a mark, a ref's value
---@field after? string
---@field text string

-- ---- Options --------------------------------------------------------------------------------------------------------------

local KEYS = { "root", "protect", "home", "in_place", "tree", "git", "own_refs", "limits" }
local LIMIT_KEYS = { "entries", "file_bytes", "total_bytes" }

local function has(list, word)
  for _, item in ipairs(list) do
    if item == word then
      return true
    end
  end
  return false
end

local function check_keys(given, known, where)
  for key in pairs(given) do
    if not has(known, key) then
      error(("guard: %sunknown key %s%s"):format(where, tostring(key), nearest.hint(tostring(key), known)), 4)
    end
  end
end

local function check_patterns(list, key)
  if type(list) ~= "table" then
    error(("guard: %s: a list of patterns is expected"):format(key), 4)
  end
  for i, pattern in ipairs(list) do
    if type(pattern) ~= "string" or pattern == "" or pattern:find("\0", 1, true) then
      error(("guard: %s[%d]: a path or a pattern is expected"):format(key, i), 4)
    elseif path.has_parent_step(pattern) then
      error(("guard: %s[%d]: '..' in %s: name the place itself"):format(key, i, pattern), 4)
    end
  end
end

local function limits_of(given)
  local limits = inputs.default_limits()
  check_keys(given, LIMIT_KEYS, "limits: ")
  for key, value in pairs(given) do
    if math.type(value) ~= "integer" or value < 1 then
      error(("guard: limits.%s: a positive integer is expected"):format(key), 4)
    end
    limits[key] = value
  end
  return limits
end

---@param given procage.GuardOptions
---@return procage.GuardOptions
local function complete(given)
  if type(given) ~= "table" or type(given.root) ~= "string" or not path.is_absolute(given.root) then
    error("guard: options.root: an absolute path is expected", 3)
  end
  check_keys(given, KEYS, "")
  for _, key in ipairs({ "in_place", "tree", "git" }) do
    if given[key] ~= nil and type(given[key]) ~= "boolean" then
      error(("guard: %s: true or false is expected"):format(key), 3)
    end
  end
  check_patterns(given.protect or {}, "protect")
  check_patterns(given.own_refs or {}, "own_refs")
  return {
    root = (disk.resolve(given.root)),
    protect = given.protect or {},
    home = given.home or os.getenv("HOME"),
    in_place = given.in_place or false,
    tree = given.tree or false,
    git = given.git ~= false,
    own_refs = given.own_refs or {},
    limits = limits_of(given.limits or {}),
  }
end

-- ---- Git's directory ------------------------------------------------------------------------------------------------------

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

local function files_of(repository, options)
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

local function mark_or_fail(name, before, budget)
  local mark, message = inputs.mark(name, before, budget)
  if message then
    error({ message = message }, 0)
  end
  return mark
end

--- The marks of a set of files.
local function marks_of(found, before, budget)
  local marks = {}
  for shown, full in pairs(found) do
    if before and not before[shown] then
      local kind = disk.kind(full)
      marks[shown] = kind and kind .. " appeared"
    else
      marks[shown] = mark_or_fail(full, before and before[shown], budget)
    end
  end
  -- What was looked at before is looked at again, wherever the configuration leads now.
  for shown, mark in pairs(before or {}) do
    if not found[shown] and path.is_absolute(shown) then
      marks[shown] = mark_or_fail(shown, mark, budget)
    end
  end
  return marks
end

--- A `.git` that is a link or a file leads elsewhere; where to is part of what is compared.
local function leads_to(repository)
  return { root = repository.root, entry = repository.entry, directory = repository.directory, common = repository.common }
end

local MAX_INDEX = 512 << 20

--- The index; one that is not read entry by entry is compared as a whole.
local function index_of(repository, notes)
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
local function tracked(root, index)
  local found = {}
  for name, mark in pairs(index) do
    -- Not a submodule (a repository of its own), nor a sparse directory.
    if not mark:find("^160000 ") and not mark:find("^40000 ") and not name:find("/$") then
      found[(name:gsub(" %(stage %d%)$", ""))] = path.join(root, name)
    end
  end
  return found
end

-- ---- Snapshots ------------------------------------------------------------------------------------------------------------

local function note_closed(marks, notes)
  for name, mark in pairs(marks) do
    if mark:find("unread:", 1, true) then
      notes[#notes + 1] = name .. ": cannot be read: its identity and times are compared, not its content"
    end
  end
end

local function look(options, before)
  local budget = { limits = options.limits, spent = 0 }
  local notes = {}
  local found, message = inputs.marks(options.root, options.protect, {
    home = options.home,
    limits = options.limits,
    before = before and before.inputs,
    budget = budget,
  })
  if not found then
    error({ message = message }, 0)
  end
  local snapshot = { version = 1, options = options, inputs = found, notes = notes }
  local repository = git.governing(options.root)
  -- The one that was there before is looked at, wherever .git leads now.
  local watched = before and before.repository or repository
  snapshot.repository = repository and leads_to(repository)
  if watched and (options.git or options.in_place or options.tree) then
    local refs, why, is_reftable = git_refs.read(watched)
    if not refs then
      error({ message = why }, 0)
    end
    if is_reftable then
      notes[#notes + 1] = "refs are kept in a reftable: only whether any of them changed can be told"
    end
    if options.git then
      snapshot.refs = refs
      snapshot.files = marks_of(files_of(watched, options), before and before.files, budget)
    end
    if options.in_place then
      snapshot.head = git_refs.head(watched, refs)
    end
    if options.in_place or options.tree then
      snapshot.index = index_of(watched, notes)
    end
    if options.tree then
      local listed = before and before.index or snapshot.index
      snapshot.tree = marks_of(tracked(watched.root, listed), before and before.tree, budget)
    end
  end
  note_closed(found, notes)
  table.sort(notes)
  return snapshot
end

--- Bounds are met deep inside; they end the look, and are no fault of the program.
local function bounded(options, before)
  local ok, result = pcall(look, options, before)
  if ok then
    return result
  elseif type(result) == "table" then
    return nil, "guard: " .. result.message
  end
  error(result, 0)
end

--- How everything is now.
---@param options procage.GuardOptions
---@return procage.GuardSnapshot?
---@return string? message  a bound was met: nothing would be compared in full
function M.snapshot(options)
  return bounded(complete(options))
end

-- ---- Comparing ------------------------------------------------------------------------------------------------------------

--- Two marks in words: what it was and what it is.
local function change_in_words(before, after)
  local link = before:match("^link to .-, ")
  if link and after:sub(1, #link) == link then
    return "what it leads to: " .. change_in_words(before:sub(#link + 1), after:sub(#link + 1))
  end
  local kind, mode, size = before:match("^(%a+) ([0-7]+) ?(%d*)")
  local kind_now, mode_now, size_now = after:match("^(%a+) ([0-7]+) ?(%d*)")
  if not kind or not kind_now or kind ~= kind_now then
    local function short(mark)
      return (mark:gsub(" %x+$", function(word)
        return #word > 40 and "" or nil
      end))
    end
    return ("was %s, is %s"):format(short(before), short(after))
  end
  local words = {}
  if mode ~= mode_now then
    words[#words + 1] = ("mode %s became %s"):format(mode, mode_now)
  end
  if size ~= size_now then
    words[#words + 1] = ("content changed, %s bytes became %s"):format(size, size_now)
  elseif before:match("%S+$") ~= after:match("%S+$") and kind == "file" then
    words[#words + 1] = "content changed"
  end
  return table.concat(words, "; ")
end

---@param id string
---@param before table<string, string>
---@param after table<string, string>
---@param words fun(name: string, before: string?, after: string?): string
---@param is_own? fun(name: string): boolean
local function add_differences(findings, id, before, after, words, is_own)
  local function add(name, what)
    if not (is_own and is_own(name)) then
      findings[#findings + 1] = {
        id = id,
        name = name,
        what = what,
        before = before[name],
        after = after[name],
        text = words(name, before[name], after[name]),
      }
    end
  end
  for name, mark in pairs(before) do
    local now = after[name]
    if now == nil then
      add(name, "gone")
    elseif now ~= mark then
      add(name, "changed")
    end
  end
  for name in pairs(after) do
    if before[name] == nil then
      add(name, "appeared")
    end
  end
end

local function file_words(label)
  return function(name, before, after)
    if not before then
      return ("%s%s appeared"):format(label, name)
    elseif not after then
      return ("%s%s is gone"):format(label, name)
    end
    return ("%s%s: %s"):format(label, name, change_in_words(before, after))
  end
end

local function ref_kind(name)
  return name:find("^refs/heads/") and "branch " .. name:sub(12)
    or name:find("^refs/tags/") and "tag " .. name:sub(11)
    or name:find("^refs/remotes/") and "remote branch " .. name:sub(14)
    or name
end

local function ref_words(name, before, after)
  local shown = ref_kind(name)
  if not before then
    return ("%s appeared, at %s"):format(shown, after)
  elseif not after then
    return ("%s is gone; it was at %s"):format(shown, before)
  end
  return ("%s moved from %s to %s"):format(shown, before, after)
end

local function index_words(name, before, after)
  if not before then
    return ("%s was staged"):format(name)
  elseif not after then
    return ("%s was taken out of the index"):format(name)
  end
  return ("%s is staged otherwise: %s became %s"):format(name, before, after)
end

local function head_findings(findings, before, after)
  local function add(what, was, is, text)
    findings[#findings + 1] = { id = M.INTEGRITY, name = what, what = "changed", before = was, after = is, text = text }
  end
  if before.text ~= after.text then
    add("HEAD", before.text, after.text, ("HEAD was %s, is %s"):format(before.text, after.text))
  elseif before.commit ~= after.commit then
    add("branch", before.commit, after.commit, ("%s, the branch that HEAD is on, moved from %s to %s"):format(
      before.branch or "HEAD", before.commit or "no commit", after.commit or "no commit"))
  end
end

--- A linked worktree's own directory and the common one are looked at where they were; a `.git` that leads elsewhere since is a
--- finding by itself.
local function repository_finding(findings, before, after)
  local was = before and before.directory or "no repository"
  local is = after and after.directory or "no repository"
  if was ~= is or before and after and (before.common ~= after.common or before.root ~= after.root) then
    findings[#findings + 1] = {
      id = M.GIT_CHANGED,
      name = ".git",
      what = not before and "appeared" or not after and "gone" or "changed",
      before = before and before.directory,
      after = after and after.directory,
      text = ("the repository was %s, is %s"):format(was, is),
    }
  end
end

local function own_matcher(patterns)
  local globs = {}
  for i, pattern in ipairs(patterns) do
    globs[i] = glob.compile(pattern, true)
  end
  return function(name)
    for _, compiled in ipairs(globs) do
      if glob.matches(compiled, name) then
        return true
      end
    end
    return false
  end
end

local function sorted(findings)
  table.sort(findings, function(a, b)
    if a.id ~= b.id then
      return a.id > b.id -- INTEGRITY first
    end
    return a.name < b.name
  end)
  return findings
end

--- What has changed since a snapshot: nothing, when the list is empty. What cannot be compared any more is a finding too.
---@param before procage.GuardSnapshot
---@return procage.GuardFinding[] findings  at most M.max_findings
---@return integer more  those that are left out
function M.compare(before)
  if type(before) ~= "table" or before.version ~= 1 or type(before.inputs) ~= "table" then
    error("guard.compare: a snapshot is expected", 2)
  end
  local options, findings = before.options, {}
  local after, message = bounded(options, before)
  if not after then
    return { { id = M.INTEGRITY, name = "guard", what = "unknown", text = "cannot be compared: " .. tostring(message) } }, 0
  end
  add_differences(findings, M.INTEGRITY, before.inputs, after.inputs, file_words("protected "))
  if options.git or options.in_place or options.tree then
    repository_finding(findings, before.repository, after.repository)
  end
  if before.files then
    add_differences(findings, M.GIT_CHANGED, before.files, after.files or {}, file_words(""))
    add_differences(findings, M.GIT_CHANGED, before.refs, after.refs or {}, ref_words, own_matcher(options.own_refs))
  end
  if before.head then
    head_findings(findings, before.head, after.head or { text = "missing" })
  end
  if before.index and options.in_place then
    add_differences(findings, M.INTEGRITY, before.index, after.index or {}, index_words)
  end
  if before.tree then
    add_differences(findings, M.INTEGRITY, before.tree, after.tree or {}, file_words("tracked "))
  end
  sorted(findings)
  local more = math.max(0, #findings - M.max_findings)
  return table.move(findings, 1, #findings - more, 1, {}), more
end

--- One command of a policy with a snapshot before it and a comparison after it. The outcome has `findings` and
--- `findings_more`, and its notices and events name them.
---@param policy procage.Policy
---@param cmd table  as policy:run takes it
---@param options procage.GuardOptions
---@return procage.Outcome?
---@return string? message
---@return any code
---@return table? detail
function M.run(policy, cmd, options)
  local before, message = M.snapshot(options)
  if not before then
    return nil, message, "guard"
  end
  local outcome, why, code, detail = policy:run(cmd)
  if not outcome then
    return nil, why, code, detail
  end
  outcome.findings, outcome.findings_more = M.compare(before)
  for _, finding in ipairs(outcome.findings) do
    local line = ("%s: %s"):format(finding.id, finding.text)
    table.insert(outcome.notices, line)
    if outcome.events ~= outcome.notices then
      table.insert(outcome.events, line)
    end
  end
  return outcome
end

-- ---- JSON -----------------------------------------------------------------------------------------------------------------

local HEAD_SHAPE = { order = { "text", "branch", "commit" } }

local SNAPSHOT_SHAPE = {
  order = { "version", "options", "inputs", "repository", "refs", "files", "head", "index", "tree", "notes" },
  fields = {
    options = {
      order = KEYS,
      fields = { protect = { list = true }, own_refs = { list = true }, limits = { order = LIMIT_KEYS } },
    },
    inputs = { map = true },
    repository = { order = { "root", "entry", "directory", "common" } },
    refs = { map = true },
    files = { map = true },
    head = HEAD_SHAPE,
    index = { map = true },
    tree = { map = true },
    notes = { list = true },
  },
}

---@param snapshot procage.GuardSnapshot
---@return string
function M.to_json(snapshot)
  return json.encode(snapshot, SNAPSHOT_SHAPE)
end

local FINDINGS_SHAPE = {
  order = { "findings", "more" },
  fields = { findings = { list = { order = { "id", "name", "what", "before", "after", "text" } } } },
}

---@param findings procage.GuardFinding[]
---@param more integer
---@return string
function M.findings_to_json(findings, more)
  return json.encode({ findings = findings, more = more }, FINDINGS_SHAPE)
end

--- A snapshot that was written down.
---@param text string
---@return procage.GuardSnapshot?
---@return string? message
function M.from_json(text)
  local value, message = json.decode(text)
  if value == nil then
    return nil, message
  elseif type(value) ~= "table" or value.version ~= 1 then
    return nil, "no snapshot of guard (version 1)"
  end
  local function is_map(key, may_miss)
    return type(value[key]) == "table" or may_miss and value[key] == nil
  end
  if not is_map("options") or not is_map("inputs") then
    return nil, "the snapshot has no options or no inputs"
  end
  for _, key in ipairs({ "repository", "refs", "files", "head", "index", "tree" }) do
    if not is_map(key, true) then
      return nil, ("the snapshot's %s is no object"):format(key)
    end
  end
  local ok, options = pcall(complete, value.options)
  if not ok then
    return nil, (tostring(options):gsub("^.-guard: ", ""))
  end
  value.options = options
  return value
end

return M
