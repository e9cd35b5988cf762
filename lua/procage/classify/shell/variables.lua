--- What a line of shell makes of its variables. A value is known when every place that gives one gives the same: loops,
--- branches and subshells decide which one holds where.

local M = {}

---@class procage.ShellFacts
---@field values table<string, string|false>  that the line gives
---@field unknown table<string, true>
---@field sets_anything? boolean  a command in it may set any variable
---@field moves_arguments? boolean  $1 may be another one

local NAME = "^([%a_][%w_]*)"

---@return procage.ShellFacts
function M.new_facts()
  return { values = {}, unknown = {} }
end

local function forget_name(self, name)
  if name then
    self.variables[name] = false
    self.facts.unknown[name] = true
  end
end

--- What a for loop or a read sets is not known: each word may be a name, with an index too, or one behind a letter: -vNAME.
---@param self procage.ShellReader
---@param names procage.ShellWord[]
function M.forget(self, names)
  for _, word in ipairs(names) do
    local text = word.text
    forget_name(self, text:match(NAME .. "$") or text:match(NAME .. "%["))
    for i = 3, text:sub(1, 1) == "-" and math.min(#text, 256) or 0 do
      forget_name(self, text:sub(i):match(NAME))
    end
  end
end

local function assign(self, name, value)
  local before = self.facts.values[name]
  if before == nil then
    before = self.variables[name]
  end
  if value == false or before ~= nil and before ~= value then
    self.facts.unknown[name] = true
  end
  self.facts.values[name] = value
  self.variables[name] = value
  -- Another IFS splits words elsewhere.
  self.facts.sets_anything = self.facts.sets_anything or name == "IFS"
end

--- Commands that set variables in ways that are not followed; those that move $1 and its like.
local SETS_ANYTHING = {
  eval = true, source = true, ["."] = true, trap = true, alias = true, mapfile = true, readarray = true,
}
local MOVES_ARGUMENTS = { set = true, shift = true, ["function"] = true }
local SETS_NAMES = { read = true, getopts = true, unset = true, printf = true, let = true, wait = true }
local DECLARES = { export = true, readonly = true, ["local"] = true, declare = true, typeset = true }

--- export NAME=VALUE
local function declare(self, words)
  for _, word in ipairs(words) do
    local name, appends, value = word.text:match(NAME .. "(%+?)=(.*)$")
    if name then
      assign(self, name, not word.is_dynamic and appends == "" and value or false)
    elseif word.text:find("^%-%a*n") then
      -- A name for another variable.
      self.facts.sets_anything = true
    end
    forget_name(self, word.text:match(NAME .. "%["))
  end
end

--- A command is complete: what it assigns holds for the rest.
---@param self procage.ShellReader
---@param command procage.ShellCommand
function M.close(self, command)
  -- Behind command, builtin and their like it is the same.
  for _, word in ipairs(command.words) do
    local text = word.text
    self.facts.sets_anything = self.facts.sets_anything or SETS_ANYTHING[text]
    self.facts.moves_arguments = self.facts.moves_arguments or MOVES_ARGUMENTS[text]
    if SETS_NAMES[text] then
      M.forget(self, command.words)
    elseif DECLARES[text] then
      declare(self, command.words)
    end
  end
  for _, item in ipairs(command.assigns) do
    assign(self, item.name, not item.word.is_dynamic and item.word.text or false)
  end
end

return M
