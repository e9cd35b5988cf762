--- An error as a person wants it: the message, the value that caused it, and the name that was perhaps meant.

local complete = require("procage.repl.complete")
local nearest = require("procage.nearest")
local pretty = require("procage.pretty")

local M = {}

--- What core.interruptible raises.
M.INTERRUPTED = "interrupted"

---@param level integer  of the function, as debug.getinfo has it from here
---@return boolean found
---@return any value
local function variable(level, name)
  local found, value = false, nil
  local i = 1
  while true do
    local each, at = debug.getlocal(level + 1, i)
    if not each then
      break
    elseif each == name then
      found, value = true, at
    end
    i = i + 1
  end
  if found then
    return true, value
  end
  local info = debug.getinfo(level + 1, "f")
  i = 1
  while true do
    local each, at = debug.getupvalue(info.func, i)
    if not each then
      return false
    elseif each == name then
      return true, at
    end
    i = i + 1
  end
end

--- The line of source that a frame is at, where it is known.
local function source_line(info, sources)
  local text = sources[info.source]
  if not text or info.currentline < 1 then
    return nil
  end
  local at = 0
  for line in (text .. "\n"):gmatch("(.-)\n") do
    at = at + 1
    if at == info.currentline then
      return line
    end
  end
end

--- The value of `a.b.c`, a being a variable of the frame or of the environment.
local function chain(level, env, text)
  local first, rest = text:match("^([%a_][%w_]*)(.*)$")
  local found, value = variable(level + 1, first)
  if not found then
    value = complete.field(env, first)
  end
  if rest == "" or value == nil then
    return value
  end
  return complete.value_of(value, rest)
end

--- `p.proflie`: what the thing before the dot is, and which of its names is near.
local function explain_field(told, level, view, name)
  local line = source_line(debug.getinfo(level + 1, "Sl"), view.sources)
  local owner, dot = (line or ""):match("([%a_][%w_%.%[%]]*)([.:])" .. name .. "%f[^%w_]")
  local value = owner and chain(level + 1, view.names, owner)
  if type(value) == "table" or type(value) == "string" then
    told[#told + 1] = ("%s%s%s is nil"):format(owner, dot, name) .. nearest.hint(name, complete.names(value, dot == ":"))
    told[#told + 1] = owner .. " = " .. pretty.brief(value, 100, view.describe)
  end
end

local function explain_name(told, level, view, kind, name)
  if kind == "field" or kind == "method" then
    -- No tail call: it would take this frame away, and levels are counted.
    explain_field(told, level + 1, view, name)
    return
  end
  local found, value = variable(level + 1, name)
  if kind == "global" or not found then
    value = complete.field(view.names, name)
  end
  local text = ("%s = %s"):format(name, pretty.brief(value, 100, view.describe))
  -- Everything is near a name of one or two letters.
  if value == nil and #name > 2 then
    text = text .. nearest.hint(name, complete.names(view.names))
  end
  told[#told + 1] = text
end

--- `bad argument #2 to 'format' (number expected, got string)`: the argument itself.
local function explain_argument(told, level, view, index, name)
  local info = debug.getinfo(level + 1, "Sn")
  if not info or info.what ~= "C" then
    return
  end
  -- Lua does not count the object of a method.
  local _, value = debug.getlocal(level + 1, index + (info.namewhat == "method" and 1 or 0))
  told[#told + 1] = ("argument %d of %s = %s"):format(index, name, pretty.brief(value, 100, view.describe))
end

---@class procage.ErrorView
---@field names table  the environment
---@field sources table<string, string>  text of the chunks, by debug.getinfo's `source`
---@field describe fun(value: any): string?

--- A message handler: what is raised becomes a list of lines, ready for a terminal.
---@param view procage.ErrorView
---@param depth? integer  functions between xpcall and this one, 0
---@return fun(message: any): string[]
function M.handler(view, depth)
  return function(message)
    if message == M.INTERRUPTED then
      return { M.INTERRUPTED }
    elseif type(message) ~= "string" then
      return { "error: " .. pretty.format(message, { indent = 7, depth = 3, describe = view.describe }) }
    end
    local told = { pretty.printable(message, "\n\t") }
    local is_explained, why = pcall(function()
      -- From the message handler: this function, pcall, the handler; above them whoever raised.
      local level = 4 + (depth or 0)
      local index, called = message:match("bad argument #(%d+) to '([^']+)'")
      local kind, name = message:match("%((%a+) '([^']+)'%)")
      if index then
        explain_argument(told, level, view, math.tointeger(index), called)
      elseif kind then
        explain_name(told, level, view, kind, name)
      end
    end)
    if not is_explained then
      told[#told + 1] = "(" .. tostring(why) .. ")"
    end
    return told
  end
end

return M
