--- JSON with a fixed order. cjson alone walks a table with `next`, so the same profile would be spelt differently from
--- run to run, and it cannot tell an empty list from an empty object.

local list = require("procage.list")

local M = {}

--- cjson, loaded when there is JSON to read or write: a shared library is not waited for in vain.
local codec
local function json()
  if not codec then
    -- An instance of our own: settings of the shared one belong to the host program.
    codec = require("cjson").new()
    codec.decode_invalid_numbers(false)
  end
  return codec
end

---@class procage.JsonShape
---@field list? procage.JsonShape|true  the value is a list of these
---@field map? procage.JsonShape|true  the value has keys of its own choosing, written in byte order
---@field order? string[]  the value has these keys, written in this order
---@field fields? table<string, procage.JsonShape>  the shapes of those that are tables

--- JSON is UTF-8, and a strict reader refuses all of it for one byte that is none: a name of a file or a process may hold any.
---@param text string
---@return string
local function as_utf8(text)
  local parts, at = {}, 1
  while at <= #text do
    local length, bad = utf8.len(text, at)
    local stop = length and #text or bad - 1
    parts[#parts + 1] = text:sub(at, stop)
    parts[#parts + 1] = not length and ("\\x%02x"):format(text:byte(bad)) or nil
    at = stop + (length and 1 or 2)
  end
  return table.concat(parts)
end

--- Controls that a terminal obeys when it is shown JSON; those below 0x20 cjson escapes.
local function escape_c1(byte)
  return ("\\u%04x"):format(byte:byte())
end

---@param value any
---@return string
local function scalar(value)
  if math.type(value) == "integer" then
    return ("%d"):format(value)
  end
  -- cjson escapes every slash; each one in its output therefore has a backslash of its own to lose.
  return (json().encode(value):gsub("\\/", "/"))
end

---@param value any
---@return string
local function text_scalar(value)
  if type(value) ~= "string" or not value:find("[\x7f-\xff]") then
    return scalar(value)
  end
  return (scalar(utf8.len(value) and value or as_utf8(value)):gsub("\xc2([\x80-\x9f])", escape_c1))
end

local write

---@param value table
---@param shape procage.JsonShape
---@return string
local function write_list(value, shape, spell)
  local items = {}
  for i, item in ipairs(value) do
    items[i] = write(item, shape.list, spell)
  end
  return "[" .. table.concat(items, ",") .. "]"
end

---@param value table
---@param keys string[]
---@param shape_of fun(key: string): procage.JsonShape|true|nil
---@return string
local function write_object(value, keys, shape_of, spell)
  local members = {}
  for _, key in ipairs(keys) do
    if value[key] ~= nil then
      members[#members + 1] = spell(key) .. ":" .. write(value[key], shape_of(key), spell)
    end
  end
  return "{" .. table.concat(members, ",") .. "}"
end

---@param value any
---@param shape procage.JsonShape|true|nil
---@return string
function write(value, shape, spell)
  if type(value) ~= "table" then
    return spell(value)
  elseif type(shape) ~= "table" then
    error("no shape for a table in JSON")
  elseif shape.list then
    return write_list(value, shape, spell)
  elseif shape.map then
    return write_object(value, list.keys(value), function()
      return shape.map
    end, spell)
  end
  return write_object(value, shape.order, function(key)
    return shape.fields and shape.fields[key]
  end, spell)
end

--- Keys that a shape does not name are left out: validate first. For readers: what is no UTF-8 is told as \xNN.
---@param value any
---@param shape procage.JsonShape
---@return string
function M.encode(value, shape)
  return write(value, shape, text_scalar)
end

--- The same byte for byte, for what is read back and means paths and arguments.
---@param value any
---@param shape procage.JsonShape
---@return string
function M.encode_exact(value, shape)
  return write(value, shape, scalar)
end

--- cjson.null, which is true in a test, becomes nil; 443.0 becomes 443.
---@param value any
---@return any
local function plain(value)
  -- Plain data has no other userdata.
  if type(value) == "userdata" and value == json().null then
    return nil
  elseif math.type(value) == "float" then
    return math.tointeger(value) or value
  elseif type(value) ~= "table" then
    return value
  end
  local copy = {}
  for key, item in pairs(value) do
    copy[key] = plain(item)
  end
  return copy
end

M.plain = plain

---@param text string
---@return any value  nil for JSON null
---@return string? message
function M.decode(text)
  local ok, value = pcall(json().decode, text)
  if not ok then
    return nil, "not JSON: " .. tostring(value)
  end
  return plain(value)
end

return M
