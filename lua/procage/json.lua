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

---@param value any
---@return string
local function scalar(value)
  if math.type(value) == "integer" then
    return ("%d"):format(value)
  end
  -- cjson escapes every slash; each one in its output therefore has a backslash of its own to lose.
  return (json().encode(value):gsub("\\/", "/"))
end

local write

---@param value table
---@param shape procage.JsonShape
---@return string
local function write_list(value, shape)
  local items = {}
  for i, item in ipairs(value) do
    items[i] = write(item, shape.list)
  end
  return "[" .. table.concat(items, ",") .. "]"
end

---@param value table
---@param keys string[]
---@param shape_of fun(key: string): procage.JsonShape|true|nil
---@return string
local function write_object(value, keys, shape_of)
  local members = {}
  for _, key in ipairs(keys) do
    if value[key] ~= nil then
      members[#members + 1] = scalar(key) .. ":" .. write(value[key], shape_of(key))
    end
  end
  return "{" .. table.concat(members, ",") .. "}"
end

---@param value any
---@param shape procage.JsonShape|true|nil
---@return string
function write(value, shape)
  if type(value) ~= "table" then
    return scalar(value)
  elseif type(shape) ~= "table" then
    error("no shape for a table in JSON")
  elseif shape.list then
    return write_list(value, shape)
  elseif shape.map then
    return write_object(value, list.keys(value), function()
      return shape.map
    end)
  end
  return write_object(value, shape.order, function(key)
    return shape.fields and shape.fields[key]
  end)
end

--- Keys that a shape does not name are left out: validate first.
---@param value any
---@param shape procage.JsonShape
---@return string
function M.encode(value, shape)
  return write(value, shape)
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
