--- The environment of a run, from the caller's and the rules of the profile. Pure.

local M = {}

--- A pattern of names as a Lua pattern: `*` any letters, `?` one; the letter case does not count.
---@param glob string
---@return string
local function to_lua_pattern(glob)
  local escaped = glob:lower():gsub("[^%w*?]", "%%%0")
  return "^" .. escaped:gsub("%*+", ".*"):gsub("%?", ".") .. "$"
end

--- Whether a name is one that the pattern means.
---@param name string
---@param glob string
---@return boolean
function M.matches(name, glob)
  return name:lower():find(to_lua_pattern(glob)) ~= nil
end

---@param globs string[]
---@return string[]
local function compile(globs)
  local patterns = {}
  for i, glob in ipairs(globs) do
    patterns[i] = to_lua_pattern(glob)
  end
  return patterns
end

---@param name string
---@param patterns string[]
---@return boolean
local function matches_any(name, patterns)
  local lower = name:lower()
  for _, pattern in ipairs(patterns) do
    if lower:find(pattern) then
      return true
    end
  end
  return false
end

--- Drops what the patterns name and the operator does not keep; then sets, last, what the rules set.
---@param env table<string, string>
---@param rules procage.Env
---@return table<string, string> env  a new table
---@return string[] dropped  names, sorted; their values are told to nobody
function M.apply(env, rules)
  local patterns, kept = compile(rules.drop or {}), {}
  for _, name in ipairs(rules.keep or {}) do
    kept[name] = true
  end
  local result, dropped = {}, {}
  for name, value in pairs(env) do
    if not kept[name] and matches_any(name, patterns) then
      dropped[#dropped + 1] = name
    else
      result[name] = value
    end
  end
  for name, value in pairs(rules.set or {}) do
    result[name] = value
  end
  table.sort(dropped)
  return result, dropped
end

return M
