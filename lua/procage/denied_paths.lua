--- What the path observer saw refused, or the kernel's audit records name, in words: what was wanted, of which path, and which
--- clause of the profile is in the way.

local core = require("procage.core")
local lists = require("procage.list")
local path = require("procage.path")
local places = require("procage.places")
local remedy = require("procage.remedy")
local startup = require("procage.startup")

local M = {}

--- Not a right of Landlock's: mode, owner, times, attributes. As platform.h has it.
local METADATA = 1 << 32

local EROFS = 30

---@class procage.DeniedPath
---@field what string  "write /usr/lib/x"
---@field clause string
---@field change? table  a change of the configuration that might allow it, or several
---@field asks { op: string, target: string }
---@field rank integer

--- What is said of rights, the strongest first; `entries`: rights of a directory on what stands in it.
--- Source: Documentation/userspace-api/landlock.rst.
local VERBS = {
  { op = "write", verb = "create", entries = true, names = { "MAKE_REG", "MAKE_DIR", "MAKE_SYM", "MAKE_SOCK", "MAKE_FIFO",
    "MAKE_CHAR", "MAKE_BLOCK" } },
  { op = "write", verb = "remove", entries = true, names = { "REMOVE_FILE", "REMOVE_DIR" } },
  { op = "write", verb = "move or link", entries = true, names = { "REFER" } },
  { op = "write", verb = "write", names = { "WRITE_FILE", "TRUNCATE" } },
  { op = "write", verb = "change mode, owner or times of", mask = METADATA },
  { op = "read", verb = "execute", names = { "EXECUTE" } },
  { op = "read", verb = "list", names = { "READ_DIR" } },
  { op = "read", verb = "read", names = { "READ_FILE" } },
}

--- The table with the bits in place of their names.
local function verbs()
  local bits = {}
  for _, row in ipairs(core.landlock_bits().fs) do
    bits[row.name] = row.bit
  end
  local list = {}
  for i, row in ipairs(VERBS) do
    local mask = row.mask or 0
    for _, name in ipairs(row.names or {}) do
      mask = mask | (bits[name] or 0)
    end
    list[i] = { op = row.op, verb = row.verb, mask = mask, entries = row.entries }
  end
  return list
end

local function verb_of(refused, list)
  for _, row in ipairs(list) do
    if refused & row.mask ~= 0 then
      return row
    end
  end
  return { op = "write", verb = "use" }
end

--- Names that stay as they are inside a writable tree: of git, of the operator's read_only, or a hand-off name.
local function protected_clause(target, view)
  if path.tree_in(target, view.read_only) then
    return "read_only"
  elseif ("/" .. target .. "/"):find("/.git/", 1, true) or target:match("%.git$") then
    return "git"
  end
  local covering = path.tree_in(target, view.protected)
  for _, component in ipairs(path.components(covering or "")) do
    if component == ".git" then
      return "git"
    end
  end
  return "handoff"
end

--- Too much to open for one file: the root and what stands in it, the home and what it lies in.
local function is_too_wide(tree, home)
  return tree == nil or tree:find("^/[^/]*$") ~= nil or (home ~= nil and path.lies_in(home, tree))
end

--- The directory to open for a refused path: its own, or else the path alone; the path itself where it is of what it holds.
--- None for what others run.
local function tree_to_open(target, op, policy, is_about_entries)
  local home, judge = policy.context.home, op == "write" and startup.of(policy)
  if judge and judge:reason(target) then
    return nil
  end
  local parent = is_about_entries and target or path.parent(target)
  if not is_too_wide(parent, home) and not (judge and judge:reason(parent)) then
    return parent
  elseif core.stat(target) and not is_too_wide(target, home) then
    return target
  end
end

local function change_for(clause, op, target, policy, is_about_entries)
  if clause == "git" then
    return remedy.git()
  elseif clause ~= "write" and clause ~= "read" then
    return nil
  end
  local tree = tree_to_open(target, op, policy, is_about_entries)
  return tree and (op == "write" and { writable = { tree } } or { readable = { tree } }) or nil
end

--- What each path is looked up in.
local function view_of(policy)
  local view = places.of(policy)
  view.verbs, view.read_only = verbs(), lists.set(policy.fitted.read_only)
  view.above_hidden["/"] = #policy.fitted.hidden > 0 or nil
  return view
end

---@param entry table  one of raw.accesses
---@param policy procage.Policy
---@param view table
---@return procage.DeniedPath
local function describe(entry, policy, view)
  local target = entry.path
  local row = verb_of(entry.refused, view.verbs)
  local is_about_entries = entry.is_about_entries and row.entries
  local clause
  if path.tree_in(target, view.hidden) then
    clause = "hidden"
  elseif row.op == "read" then
    -- A directory above something hidden is granted name by name.
    clause = view.above_hidden[target] and "hidden" or "read"
  elseif path.tree_in(target, view.write) and (path.tree_in(target, view.protected) or entry.errno == EROFS) then
    clause = protected_clause(target, view)
  else
    clause = "write"
  end
  return {
    what = row.verb .. (is_about_entries and " in " or " ") .. target,
    clause = clause,
    change = change_for(clause, row.op, target, policy, is_about_entries),
    -- A commit makes names in a git directory.
    asks = {
      op = row.op,
      target = target,
      inner = is_about_entries and path.join(target, "index.lock") or nil,
      question = row.verb == "execute" and "exec" or nil,
    },
    -- What was to be written says more than what a program looks for and does without.
    rank = row.op == "write" and 1 or clause == "hidden" and 2 or 3,
  }
end

---@param accesses table  raw.accesses of core.run
---@param policy procage.Policy
---@return { entry: table, denied: procage.DeniedPath }[]
function M.of(accesses, policy)
  local found, view = {}, nil
  for _, entry in ipairs(accesses) do
    if entry.refused ~= 0 then
      view = view or view_of(policy)
      found[#found + 1] = { entry = entry, denied = describe(entry, policy, view) }
    end
  end
  return found
end

return M
