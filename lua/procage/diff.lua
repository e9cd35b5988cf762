--- What differs between two values: profiles, hosts, reports, outcomes, or any tables.

local pretty = require("procage.pretty")

local M = {}

---@class procage.Difference
---@field path string  "network", "limits.timeout_ms"; empty: the values themselves
---@field kind "changed"|"added"|"removed"
---@field before any
---@field after any

--- Deeper than any value of ours; a cycle ends here.
local MAX_DEPTH = 20

local function join(path, key)
  if type(key) == "string" and key:find("^[%a_][%w_]*$") then
    return path == "" and key or path .. "." .. key
  end
  return ("%s[%s]"):format(path, pretty.brief(key))
end

--- A list of words or numbers, each at most once: compared as a set, since what was added in the middle moves the rest.
---@return table<any, true>?
local function as_set(value)
  local set, length = {}, rawlen(value)
  for key, item in next, value do
    if math.type(key) ~= "integer" or key < 1 or key > length or type(item) == "table" or set[item] then
      return nil
    end
    set[item] = true
  end
  return set
end

--- Rows of a report, and others with a name of their own, by that name.
---@return table<string, table>?
local function by_name(value)
  local rows = {}
  for key, row in next, value do
    local name = type(row) == "table" and (rawget(row, "clause") or rawget(row, "name"))
    if math.type(key) ~= "integer" or type(name) ~= "string" or rows[name] then
      return nil
    end
    rows[name] = row
  end
  return rows
end

local function sorted(set)
  local keys = {}
  for key in next, set do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then
      return a < b
    end
    return type(a) .. tostring(a) < type(b) .. tostring(b)
  end)
  return keys
end

local compare

local function compare_sets(a, b, path, found)
  for _, item in ipairs(sorted(a)) do
    if not b[item] then
      found[#found + 1] = { path = path, kind = "removed", before = item }
    end
  end
  for _, item in ipairs(sorted(b)) do
    if not a[item] then
      found[#found + 1] = { path = path, kind = "added", after = item }
    end
  end
end

local function compare_maps(a, b, path, found, depth)
  local keys = {}
  for _, value in ipairs({ a, b }) do
    for key in next, value do
      keys[key] = true
    end
  end
  for _, key in ipairs(sorted(keys)) do
    local before, after = rawget(a, key), rawget(b, key)
    if before == nil then
      found[#found + 1] = { path = join(path, key), kind = "added", after = after }
    elseif after == nil then
      found[#found + 1] = { path = join(path, key), kind = "removed", before = before }
    else
      compare(before, after, join(path, key), found, depth + 1)
    end
  end
end

function compare(a, b, path, found, depth)
  if rawequal(a, b) or depth > MAX_DEPTH then
    return
  elseif type(a) ~= "table" or type(b) ~= "table" then
    if a ~= b then
      found[#found + 1] = { path = path, kind = "changed", before = a, after = b }
    end
    return
  end
  local is_list = next(a) ~= nil or next(b) ~= nil
  local a_set, b_set = as_set(a), as_set(b)
  if is_list and a_set and b_set then
    return compare_sets(a_set, b_set, path, found)
  end
  local a_rows, b_rows = by_name(a), by_name(b)
  if is_list and a_rows and b_rows then
    return compare_maps(a_rows, b_rows, path, found, depth)
  end
  return compare_maps(a, b, path, found, depth)
end

---@param a any
---@param b any
---@return procage.Difference[]
function M.diff(a, b)
  local found = {}
  compare(a, b, "", found, 0)
  return found
end

--- One line a difference: "- " was there, "+ " is there now, "  " changed.
---@param found procage.Difference[]
---@return string[]
function M.lines(found)
  local lines = {}
  for i, row in ipairs(found) do
    local name = row.path == "" and "value" or row.path
    if row.kind == "changed" then
      lines[i] = ("  %s: %s -> %s"):format(name, pretty.brief(row.before, 60), pretty.brief(row.after, 60))
    elseif row.kind == "added" then
      lines[i] = ("+ %s: %s"):format(name, pretty.brief(row.after))
    else
      lines[i] = ("- %s: %s"):format(name, pretty.brief(row.before))
    end
  end
  return lines
end

return M
