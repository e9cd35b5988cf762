--- Where a configuration comes from: the [sandbox] table of a TOML text, or a JSON object; and how a message about one of its
--- keys says where that stands.

local json = require("procage.json")
local nearest = require("procage.nearest")
local toml = require("procage.toml")

local M = {}

--- The table of a TOML file that is ours. What else there is belongs to others.
local TABLE = "sandbox"

---@class procage.ConfigSource
---@field value? table  what it says, not checked; nil: it is not readable, and `problems` say why
---@field problems string[]
---@field where fun(key: string): string?  "file:line" of a key path that it says; of JSON the file alone
---@field locate fun(message: string): string, integer?  a message that begins with a key, with file and line before it

---@param source string
---@return procage.ConfigSource
local function broken(source, message)
  return {
    problems = { message },
    where = function() end,
    locate = function(text)
      return source .. ": " .. text
    end,
  }
end

--- Keys of ours that stand outside of [sandbox], where nothing reads them; and a table that was meant to be ours.
---@param value table  the document
---@param mark procage.TomlMark
---@param source string
---@param keys string[]  that a configuration may have
---@return string[] problems
local function astray(value, mark, source, keys)
  local known, problems = {}, {}
  for _, key in ipairs(keys) do
    known[key] = true
  end
  local names = {}
  for name in pairs(value) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local where = ("%s:%d: %s"):format(source, mark.items[name].line, name)
    if nearest.name(name, { TABLE }) then
      problems[#problems + 1] = ("%s: unknown table (did you mean %s?)"):format(where, TABLE)
    elseif known[name] and mark.items[name].kind ~= "table" then
      problems[#problems + 1] = ("%s: expected below [%s], here nothing reads it"):format(where, TABLE)
    end
  end
  return problems
end

---@param text string
---@param source string  what messages start with
---@param keys string[]
---@return procage.ConfigSource
function M.toml(text, source, keys)
  local value, mark = toml.parse(text, source)
  if not value then
    return broken(source, mark --[[@as string]])
  end
  ---@cast mark procage.TomlMark
  local own, own_mark = value[TABLE], mark.items[TABLE]
  if own == nil then
    -- With a [sandbox] a stray key may well be another program's.
    return {
      value = {},
      problems = astray(value, mark, source, keys),
      where = function() end,
      locate = function(message)
        return source .. ": " .. message
      end,
    }
  elseif own_mark.kind ~= "table" then
    return broken(source, ("%s:%d: %s: expected a table, got %s %s"):format(source, own_mark.line, TABLE,
      own_mark.kind:find("^[aeiou]") and "an" or "a", own_mark.kind))
  end
  return {
    value = own,
    problems = {},
    where = function(key)
      local found, is_whole = toml.find(own_mark, key)
      return is_whole and ("%s:%d"):format(source, found.line) or nil
    end,
    locate = function(message)
      local line = toml.find(own_mark, message:match("^(.-): ") or "").line
      return ("%s:%d: %s.%s"):format(source, line, TABLE, message), line
    end,
  }
end

---@param text string
---@param source string
---@return procage.ConfigSource
function M.json(text, source)
  local value, message = json.decode(text)
  if type(value) ~= "table" then
    return broken(source, ("%s: %s"):format(source, message or "expected a JSON object"))
  end
  return {
    value = value,
    problems = {},
    where = function(key)
      return value[key:match("^[%w_]+")] ~= nil and source or nil
    end,
    locate = function(told)
      return source .. ": " .. told
    end,
  }
end

return M
