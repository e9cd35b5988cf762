--- Values as text for a person: bounded in depth, width and number, the same for the same value, and nothing in it that a
--- terminal would obey. Tables are read raw: printing one never runs code of its own.

local printable = require("procage.printable")

local M = {}

--- Text with everything escaped that a terminal would obey.
M.printable = printable

---@class procage.PrettyOptions
---@field width? integer  columns, 100
---@field depth? integer  of tables in tables, 5
---@field items? integer  of one table, 40
---@field listed? integer  of one table's list part; default: items
---@field text? integer  bytes of one string, 2000
---@field nodes? integer  values in all, 2000
---@field indent? integer  columns that stand before the first line
---@field describe? fun(value: any): string?  text for values that a caller knows better; lines are taken as they are

local DEFAULTS = { width = 100, depth = 5, items = 40, text = 2000, nodes = 2000, indent = 0 }

local KEYWORDS = {}
for word in
  ([[and break do else elseif end false for function goto if in local nil not or repeat return then true until while]]):gmatch(
    "%a+"
  )
do
  KEYWORDS[word] = true
end

--- A string as Lua would write it, on one line.
---@param text string
---@param limit integer
---@return string
local function quoted(text, limit)
  local shown, rest = text, ""
  if #text > limit then
    -- Not in the middle of a character.
    local stop = utf8.offset(text, 0, limit + 1) or limit + 1
    shown, rest = text:sub(1, stop - 1), (" … %d bytes"):format(#text)
  end
  return '"' .. M.printable((shown:gsub('[\\"]', "\\%0"))) .. '"' .. rest
end

---@param text string
---@return integer columns
local function columns(text)
  return utf8.len(text) or #text
end

local function function_text(value)
  local info = debug.getinfo(value, "S")
  if info.what == "C" then
    return "<function, in C>"
  end
  return ("<function %s:%d>"):format(M.printable(info.short_src):match("([^/]*/?[^/]*)$"), info.linedefined)
end

local RANK = { number = 1, string = 2, boolean = 3 }

--- Numbers by size, strings by byte, then whatever else.
local function is_before(a, b)
  local rank_a, rank_b = RANK[type(a)] or 4, RANK[type(b)] or 4
  if rank_a ~= rank_b then
    return rank_a < rank_b
  elseif rank_a == 3 or rank_a == 4 then
    return tostring(a) < tostring(b)
  end
  return a < b
end

--- The keys after the list part, in their order.
local function other_keys(value, length)
  local keys = {}
  for key in next, value do
    local is_listed = math.type(key) == "integer" and key >= 1 and key <= length
    if not is_listed and key == key then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys, is_before)
  return keys
end

local write

---@param state table  options, the tables above, how many values are left
local function key_text(key, state)
  if type(key) == "string" and key:find("^[%a_][%w_]*$") and not KEYWORDS[key] then
    return key
  elseif type(key) == "string" then
    return "[" .. quoted(key, 200) .. "]"
  elseif type(key) == "table" then
    return state.above[key] and "[<table above>]" or "[<table>]"
  end
  return "[" .. write(key, 0, state.options.depth, state) .. "]"
end

local function entries(value, indent, depth, state)
  local list = {}
  local length = rawlen(value)
  local left = state.options.items
  local keys = other_keys(value, length)
  for i = 1, math.min(length, left, state.options.listed or left) do
    list[#list + 1] = write(rawget(value, i), indent + 2, depth + 1, state)
  end
  for _, key in ipairs(keys) do
    if #list >= left then
      break
    end
    local name = key_text(key, state) .. " = "
    list[#list + 1] = name .. write(rawget(value, key), indent + 2, depth + 1, state, columns(name))
  end
  local more = length + #keys - #list
  if more > 0 then
    list[#list + 1] = ("… %d more"):format(more)
  end
  return list
end

---@param used integer  columns that the key takes before it
local function table_text(value, indent, depth, state, used)
  if state.above[value] then
    return "<table above>"
  elseif next(value) == nil then
    return "{}"
  elseif depth >= state.options.depth then
    return "{ … }"
  end
  state.above[value] = true
  local list = entries(value, indent, depth, state)
  state.above[value] = nil
  local width, is_tall = indent + used + 4, false
  for _, entry in ipairs(list) do
    width = width + columns(entry) + 2
    is_tall = is_tall or entry:find("\n", 1, true) ~= nil
  end
  if not is_tall and width <= state.options.width then
    return "{ " .. table.concat(list, ", ") .. " }"
  end
  local pad = (" "):rep(indent)
  return "{\n" .. pad .. "  " .. table.concat(list, ",\n" .. pad .. "  ") .. "\n" .. pad .. "}"
end

function write(value, indent, depth, state, used)
  state.left = state.left - 1
  if state.left < 0 then
    return "…"
  end
  local kind = type(value)
  local told = state.options.describe and state.options.describe(value)
  if told then
    return "<" .. M.printable(told) .. ">"
  elseif kind == "string" then
    return quoted(value, state.options.text)
  elseif kind == "table" then
    return table_text(value, indent, depth, state, used or 0)
  elseif kind == "function" then
    return function_text(value)
  elseif kind == "nil" or kind == "boolean" or kind == "number" then
    return tostring(value)
  end
  -- An address is different at each start, and tells nobody anything.
  local is_named, text = pcall(tostring, value)
  return "<" .. M.printable(is_named and text or kind):gsub("[: (]*0x%x+%)?", "") .. ">"
end

---@param value any
---@param options? procage.PrettyOptions
---@return string
function M.format(value, options)
  local chosen = setmetatable(options or {}, { __index = DEFAULTS })
  return write(value, chosen.indent, 0, { options = chosen, above = {}, left = chosen.nodes })
end

--- On one line of at most `width` columns, for messages.
---@param value any
---@param width? integer
---@param describe? fun(value: any): string?
---@return string
function M.brief(value, width, describe)
  width = width or 80
  local text = M.format(value, { depth = 2, items = 8, text = width, width = math.huge, nodes = 40, describe = describe })
  if columns(text) > width then
    text = text:sub(1, (utf8.offset(text, width) or width) - 1) .. "…"
  end
  return text
end

return M
