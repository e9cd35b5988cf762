--- What guard is asked to look at.

local disk = require("procage.disk")
local inputs = require("procage.inputs")
local list = require("procage.list")
local nearest = require("procage.nearest")
local path = require("procage.path")

local M = {}

M.KEYS = { "root", "protect", "home", "in_place", "tree", "git", "own_refs", "limits" }
M.LIMIT_KEYS = { "entries", "file_bytes", "total_bytes" }

local function check_keys(given, known, where)
  for key in pairs(given) do
    if not list.has(known, key) then
      error(("guard: %sunknown key %s%s"):format(where, tostring(key), nearest.hint(tostring(key), known)), 4)
    end
  end
end

local function check_patterns(patterns, key)
  if type(patterns) ~= "table" then
    error(("guard: %s: a list of patterns is expected"):format(key), 4)
  end
  for i, pattern in ipairs(patterns) do
    if type(pattern) ~= "string" or pattern == "" or pattern:find("\0", 1, true) then
      error(("guard: %s[%d]: a path or a pattern is expected"):format(key, i), 4)
    elseif path.has_parent_step(pattern) then
      error(("guard: %s[%d]: '..' in %s: name the place itself"):format(key, i, pattern), 4)
    end
  end
end

local function limits_of(given)
  local limits = inputs.default_limits()
  check_keys(given, M.LIMIT_KEYS, "limits: ")
  for key, value in pairs(given) do
    if math.type(value) ~= "integer" or value < 1 then
      error(("guard: limits.%s: a positive integer is expected"):format(key), 4)
    end
    limits[key] = value
  end
  return limits
end

--- The options, checked, with what they leave out. Raises for the caller's caller.
---@param given procage.GuardOptions
---@return procage.GuardOptions
function M.complete(given)
  if type(given) ~= "table" or type(given.root) ~= "string" or not path.is_absolute(given.root) then
    error("guard: options.root: an absolute path is expected", 3)
  end
  check_keys(given, M.KEYS, "")
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

return M
