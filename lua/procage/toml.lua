--- TOML 1.0 as Lua values, with the line of each key: a message about a value can say where it stands.

local core = require("procage.core")

local M = {}

---@class procage.TomlMark
---@field line integer
---@field kind "table"|"array"|"string"|"integer"|"float"|"bool"|"datetime"|"datetime-local"|"date-local"|"time-local"
---@field items? table<string|integer, procage.TomlMark>  of a table or array

--- A date or time: no check takes it for a text.
---@class procage.TomlDate
---@field text string

--- Tables and arrays become tables, dates a table with `text`; every other value is Lua's own. No more than 256 KiB.
---@param text string
---@param source? string  what messages start with: the file
---@return table? value
---@return procage.TomlMark|string mark  or the message, with the line
---@return integer? line  of the message; nil: about the whole
function M.parse(text, source)
  local value, mark, line = core.toml(text)
  if value then
    return value, mark
  end
  local where = (source or "TOML") .. (line > 0 and ":" .. line or "")
  return nil, ("%s: %s"):format(where, mark), line > 0 and line or nil
end

--- The mark of a key path as messages write it, `limits.cpu_ms` or `writable[2]`: of the deepest part of it that is there.
---@param mark procage.TomlMark
---@param key string
---@return procage.TomlMark
---@return boolean is_whole  all of it is there
function M.find(mark, key)
  local at, rest = mark, key
  while rest ~= "" and at.items do
    local index = rest:match("^%[(%d+)%]")
    local found, length
    if index then
      found, length = at.items[math.tointeger(tonumber(index))], #index + 2
    else
      -- A name may hold dots itself: the longest that is there.
      rest = rest:gsub("^%.", "")
      for name, item in pairs(at.items) do
        local after = type(name) == "string" and rest:sub(1, #name) == name and rest:sub(#name + 1, #name + 1)
        if after and (after == "" or after == "." or after == "[") and #name > (length or -1) then
          found, length = item, #name
        end
      end
    end
    if not found then
      break
    end
    at, rest = found, rest:sub(length + 1)
  end
  return at, rest == ""
end

return M
