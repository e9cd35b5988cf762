--- What a command must not have changed, looked at before it and compared after it: protected inputs, and in git's directory
--- what decides what git runs and shows. For commands that the kernel does not keep from it: where a host cannot carve a
--- read-only tree, where git is writable, or where nothing is confined. Never runs git.
---
---     local before = assert(guard.snapshot({ root = root, protect = { "SPEC.md", "tests/**" }, in_place = true }))
---     local outcome = policy:run({ "make", "test" })
---     for _, finding in ipairs(guard.compare(before)) do print(finding.id, finding.text) end

local differences = require("procage.guard.differences")
local disk = require("procage.disk")
local git = require("procage.git")
local git_refs = require("procage.git_refs")
local inputs = require("procage.inputs")
local json = require("procage.json")
local options_room = require("procage.guard.options")
local path = require("procage.path")
local repositories = require("procage.guard.repository")

local M = {}

M.INTEGRITY, M.GIT_CHANGED = differences.INTEGRITY, differences.GIT_CHANGED

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

-- ---- Snapshots ------------------------------------------------------------------------------------------------------------

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
  snapshot.repository = repository and repositories.place(repository)
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
      snapshot.files = marks_of(repositories.files(watched, options), before and before.files, budget)
    end
    if options.in_place then
      snapshot.head = git_refs.head(watched, refs)
    end
    if options.in_place or options.tree then
      snapshot.index = repositories.index(watched, notes)
    end
    if options.tree then
      local listed = before and before.index or snapshot.index
      snapshot.tree = marks_of(repositories.tracked(watched.root, listed), before and before.tree, budget)
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
  return bounded(options_room.complete(options))
end

-- ---- Comparing ------------------------------------------------------------------------------------------------------------

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
  differences.add(findings, M.INTEGRITY, before.inputs, after.inputs, differences.file_words("protected "))
  if options.git or options.in_place or options.tree then
    differences.add_repository(findings, before.repository, after.repository)
  end
  if before.files then
    differences.add(findings, M.GIT_CHANGED, before.files, after.files or {}, differences.file_words(""))
    local is_own = differences.own_matcher(options.own_refs)
    differences.add(findings, M.GIT_CHANGED, before.refs, after.refs or {}, differences.ref_words, is_own)
  end
  if before.head then
    differences.add_head(findings, before.head, after.head or { text = "missing" })
  end
  if before.index and options.in_place then
    differences.add(findings, M.INTEGRITY, before.index, after.index or {}, differences.index_words)
  end
  if before.tree then
    differences.add(findings, M.INTEGRITY, before.tree, after.tree or {}, differences.file_words("tracked "))
  end
  differences.sort(findings)
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
      order = options_room.KEYS,
      fields = { protect = { list = true }, own_refs = { list = true }, limits = { order = options_room.LIMIT_KEYS } },
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
  return json.encode_exact(snapshot, SNAPSHOT_SHAPE)
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
  local ok, options = pcall(options_room.complete, value.options)
  if not ok then
    return nil, (tostring(options):gsub("^.-guard: ", ""))
  end
  value.options = options
  return value
end

return M
