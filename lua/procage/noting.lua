--- What each line of a policy's script asked a builder for: for `explain`, and for whoever looks for the line of a mistake.
---
--- Used where shipped policies run (own_script.lua) and, handed over, where scripts do (closed.lua).

local M = {}

local FIELDS = { allow_read = "read", allow_write = "write", workspace = "write" }

local PLAIN = { ["nil"] = true, boolean = true, number = true, string = true }

--- No field of a profile is a table inside tables deeper than this.
local MAX_NOTED = 4

---@class procage.NotingTools
---@field where fun(): string?  file:line of the script
---@field pairs function  in an order that does not change
---@field fill_in fun(value: any)  of a table that notices what is read of it: all of it is looked at

--- The entries of one argument: of a list its items, of a map its keys, of a list or a map inside the same. What is deeper is
--- refused by the method itself.
local function entries(argument, items, depth, ordered_pairs)
  if type(argument) ~= "table" then
    items[#items + 1] = PLAIN[type(argument)] and argument or nil
    return
  elseif depth == MAX_NOTED then
    return
  end
  for _, item in ipairs(argument) do
    -- What most lists hold, hundreds of them.
    if type(item) == "string" then
      items[#items + 1] = item
    else
      entries(item, items, depth + 1, ordered_pairs)
    end
  end
  if #argument == 0 then
    for key, item in ordered_pairs(argument) do
      entries(type(item) == "table" and item or key, items, depth + 1, ordered_pairs)
    end
  end
end

---@param notes table<table, procage.PolicyNote[]>  by builder, oldest first
---@param tools procage.NotingTools
local function note(notes, tools, builder, method, ...)
  for i = 1, select("#", ...) do
    tools.fill_in((select(i, ...)))
  end
  local list, items = notes[builder] or {}, {}
  notes[builder] = list
  list[#list + 1] = { field = FIELDS[method] or method, items = items, at = tools.where() }
  for i = 1, select("#", ...) do
    entries((select(i, ...)), items, 0, tools.pairs)
  end
end

--- The builders of a script, which note what they are told.
---@param profile table  the module procage.profile
---@param tools procage.NotingTools
---@return fun(fields?: table): procage.Builder new
---@return table<table, procage.PolicyNote[]> notes  by builder, oldest first
function M.builders(profile, tools)
  local noted, notes = {}, setmetatable({}, { __mode = "k" })
  for name, method in next, profile.methods do
    noted[name] = function(self, ...)
      note(notes, tools, self, name, ...)
      return method(self, ...)
    end
  end
  setmetatable(noted, { __index = profile.method_of })
  return function(fields)
    for _, value in tools.pairs(fields or {}) do
      tools.fill_in(value)
    end
    local builder = profile.new(fields, noted)
    for field, value in tools.pairs(fields or {}) do
      note(notes, tools, builder, field, value)
    end
    return builder
  end, notes
end

return M
