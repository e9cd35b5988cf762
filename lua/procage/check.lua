--- Checks of plain data, put together in tables by profile, host and config. A check takes a value and the path of its
--- key, and returns nil when the value is good, else a message that names the key and what was expected.
---
--- A table with a metatable that has a name is a value of a kind of its own (a date of TOML), never a table or a list.

local nearest = require("procage.nearest")
local path = require("procage.path")

--- With a list as its third argument, a check of something that holds parts adds what is wrong with each of them to it; all
--- the same it returns the first.
---@alias procage.Check fun(value: any, key: string, all?: string[]): string?

local M = {}

local find = string.find

--- Where policy scripts run there is no such function, and no value with a kind of its own.
local metatable_of = getmetatable or function()
  return nil
end

--- The name of a kind of its own, or nil.
---@param value any
---@return string?
local function kind_of(value)
  local meta = type(value) == "table" and metatable_of(value)
  return type(meta) == "table" and type(meta.__name) == "string" and meta.__name or nil
end

---@param value any
---@return boolean
local function is_table(value)
  return type(value) == "table" and not kind_of(value)
end

--- What a check finds in a part, added to `all` unless the part did so itself.
---@param part procage.Check
---@param value any
---@param key string
---@param all? string[]
---@return string?
local function examine(part, value, key, all)
  local before = all and #all
  local bad = part(value, key, all)
  if bad and all and #all == before then
    all[#all + 1] = bad
  end
  return bad
end

--- Everything that is wrong with a value, each named by its key.
---@param whole procage.Check
---@param value any
---@param key string  "" at the top
---@return string[]
function M.problems(whole, value, key)
  local all = {}
  examine(whole, value, key, all)
  return all
end

--- A value as a message shows it: short, on one line, no control characters.
---@param value any
---@return string
function M.show(value)
  if type(value) == "string" then
    local text = #value > 60 and value:sub(1, 57) .. "..." or value
    return '"' .. text:gsub('[%c"\\]', function(c)
      return ("\\x%02x"):format(c:byte())
    end) .. '"'
  elseif type(value) == "number" or type(value) == "boolean" then
    return tostring(value)
  end
  return value == nil and "nothing" or "a " .. (kind_of(value) or type(value))
end

---@param key string
---@param expected string
---@param value any
---@return string
function M.mismatch(key, expected, value)
  return ("%s: expected %s, got %s"):format(key, expected, M.show(value))
end

---@param of string  a Lua type
---@param called string  what messages call it
---@return procage.Check
function M.type(of, called)
  return function(value, key)
    if type(value) ~= of or kind_of(value) then
      return M.mismatch(key, called, value)
    end
  end
end

M.boolean = M.type("boolean", "true or false")

--- A C string: what the kernel would cut at a NUL byte is not what was checked.
---@type procage.Check
function M.text(value, key)
  if type(value) ~= "string" or value == "" then
    return M.mismatch(key, "a text", value)
  elseif value:find("\0", 1, true) then
    return key .. ": holds a NUL byte"
  end
end

--- Zero included.
---@type procage.Check
function M.count(value, key)
  if math.type(value) ~= "integer" or value < 0 then
    return M.mismatch(key, "a whole number of 0 or more", value)
  end
end

---@type procage.Check
function M.positive(value, key)
  if math.type(value) ~= "integer" or value < 1 then
    return M.mismatch(key, "a positive whole number", value)
  end
end

---@type procage.Check
function M.port(value, key)
  if math.type(value) ~= "integer" or value < 1 or value > 65535 then
    return M.mismatch(key, "a port, 1..65535", value)
  end
end

--- What M.path lets through, and most lists hold nothing else.
---@param value any
---@return boolean
function M.is_path(value)
  return type(value) == "string" and path.is_plain(value) and not find(value, "\0", 1, true)
end

--- Absolute and in the one spelling that `path.normalise` gives.
---@type procage.Check
function M.path(value, key)
  if M.is_path(value) then
    return nil
  end
  local bad = M.text(value, key)
  if bad then
    return bad
  elseif not path.is_absolute(value) then
    return M.mismatch(key, "an absolute path", value)
  elseif path.has_parent_step(value) then
    return M.mismatch(key, "a resolved path, without ..", value)
  elseif path.normalise(value) ~= value then
    return M.mismatch(key, M.show(path.normalise(value)) .. " (no doubled or trailing slash, no .)", value)
  end
end

--- A path below a directory yet to be named: `.envrc`, `.vscode/tasks.json`.
---@type procage.Check
function M.relative_name(value, key)
  if type(value) == "string" and find(value, "^[%w_.%-]*[%w_]$") then
    return nil
  end
  local bad = M.text(value, key)
  if bad then
    return bad
  elseif path.is_absolute(value) or path.has_parent_step(value) or path.normalise(value) ~= value or value == "." then
    return M.mismatch(key, "a name, or names joined by /", value)
  end
end

--- The name of an environment variable.
---@type procage.Check
function M.variable(value, key)
  local bad = M.text(value, key)
  if bad then
    return bad
  elseif value:find("=", 1, true) then
    return M.mismatch(key, "a variable's name, without =", value)
  end
end

---@param known string[]
---@return procage.Check
function M.one_of(known)
  return function(value, key)
    for _, name in ipairs(known) do
      if value == name then
        return nil
      end
    end
    local hint = type(value) == "string" and nearest.hint(value, known) or ""
    return M.mismatch(key, "one of " .. table.concat(known, ", "), value) .. hint
  end
end

--- The length of a list without holes, or nil and the key that makes it none.
---@param value table
---@return integer? length
---@return string? offender
local function dense_length(value)
  local entries, length = 0, 0
  for _ in pairs(value) do
    entries = entries + 1
  end
  for i in ipairs(value) do
    length = i
  end
  if entries == length then
    return length
  end
  -- What is wrong with it.
  local count, highest, stray = 0, 0, nil
  for key in pairs(value) do
    if math.type(key) ~= "integer" or key < 1 then
      local name = tostring(key)
      stray = (stray == nil or name < stray) and name or stray
    else
      count, highest = count + 1, math.max(highest, key)
    end
  end
  if stray then
    return nil, "the key " .. M.show(stray)
  elseif count ~= highest then
    return nil, ("%d entries up to index %d"):format(count, highest)
  end
  return count
end

---@param item procage.Check
---@param minimum? integer  fewest entries
---@return procage.Check
function M.list(item, minimum)
  return function(value, key, all)
    if not is_table(value) then
      return M.mismatch(key, "a list", value)
    end
    local length, offender = dense_length(value)
    if not length then
      return ("%s: expected a list without holes, got %s"):format(key, offender)
    elseif length < (minimum or 0) then
      return ("%s: expected %d entries or more, got %d"):format(key, minimum, length)
    end
    local first
    for i, entry in ipairs(value) do
      -- Asked again for the message alone: hundreds of good entries need no key of their own.
      if item(entry, key) then
        local bad = examine(item, entry, ("%s[%d]"):format(key, i), all)
        if not all then
          return bad
        end
        first = first or bad
      end
    end
    return first
  end
end

--- The keys of a table as text, sorted: which of two mistakes is told must not depend on `pairs`.
---@param value table
---@return { name: string, key: any }[]
local function sorted_keys(value)
  local keys = {}
  for key in pairs(value) do
    keys[#keys + 1] = { name = tostring(key), key = key }
  end
  table.sort(keys, function(a, b)
    return a.name < b.name
  end)
  return keys
end

---@param key_check procage.Check
---@param value_check procage.Check
---@return procage.Check
function M.map(key_check, value_check)
  return function(value, key, all)
    if not is_table(value) then
      return M.mismatch(key, "a table", value)
    end
    local first
    for _, entry in ipairs(sorted_keys(value)) do
      local at = key .. "." .. entry.name
      local bad = examine(key_check, entry.key, at, all) or examine(value_check, value[entry.key], at, all)
      if bad and not all then
        return bad
      end
      first = first or bad
    end
    return first
  end
end

---@class procage.Field
---@field name string
---@field check procage.Check
---@field required? boolean

--- A table with these keys and no other. At the top, where `key` is empty, key paths start with the field's own name.
---@param fields procage.Field[]
---@param called string  what an entry is called: "field", "key"
---@return procage.Check
function M.record(fields, called)
  local names, by_name = {}, {}
  for i, field in ipairs(fields) do
    names[i], by_name[field.name] = field.name, field
  end
  return function(value, key, all)
    if not is_table(value) then
      return M.mismatch(key == "" and "top level" or key, "a table", value)
    end
    local prefix = key == "" and "" or key .. "."
    local first
    for _, entry in ipairs(sorted_keys(value)) do
      if not by_name[entry.key] then
        local bad = ("%s%s: unknown %s%s"):format(prefix, entry.name, called, nearest.hint(entry.name, names))
        if not all then
          return bad
        end
        all[#all + 1] = bad
        first = first or bad
      end
    end
    for _, field in ipairs(fields) do
      local item = value[field.name]
      local bad
      if item ~= nil then
        bad = examine(field.check, item, prefix .. field.name, all)
      elseif field.required then
        bad = ("%s%s: missing"):format(prefix, field.name)
        if all then
          all[#all + 1] = bad
        end
      end
      if bad and not all then
        return bad
      end
      first = first or bad
    end
    return first
  end
end

--- One of two checks, by what the value looks like: the message is then about the form that was meant.
---@param is_first fun(value: any): boolean  which of the two applies
---@param first procage.Check
---@param other procage.Check
---@return procage.Check
function M.either(is_first, first, other)
  return function(value, key, all)
    if is_first(value) then
      return first(value, key, all)
    end
    return other(value, key, all)
  end
end

return M
