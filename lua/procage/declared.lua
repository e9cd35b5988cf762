--- Options that a policy declares: { name =, type =, default =, help = }. Checks the declarations, and the values that a
--- configuration gives. Pure; runs in the closed state and outside.

local check = require("procage.check")
local nearest = require("procage.nearest")
local path = require("procage.path")

---@class procage.Declared
---@field name string
---@field type "boolean"|"integer"|"text"|"choice"|"path"|"list"|"paths"
---@field default? any  without one it must be given
---@field choices? string[]  of a choice
---@field help string

local M = {}

local TYPES = { "boolean", "integer", "text", "choice", "path", "list", "paths" }

---@type procage.Check
local function identifier(value, key)
  if type(value) ~= "string" or not value:find("^%a[%w_]*$") then
    return check.mismatch(key, "a name of letters, digits and _", value)
  end
end

local function anything() end

local entry = check.record({
  { name = "name", check = identifier, required = true },
  { name = "type", check = check.one_of(TYPES), required = true },
  { name = "default", check = anything },
  { name = "choices", check = check.list(check.text, 1) },
  { name = "help", check = check.text, required = true },
}, "key")

local declarations = check.list(entry)

--- `~` is the home that the script is given.
---@type procage.Check
local function home_path(value, key)
  local bad = check.text(value, key)
  if bad then
    return bad
  elseif not path.is_absolute(value) and value ~= "~" and value:sub(1, 2) ~= "~/" then
    return check.mismatch(key, "an absolute path, or one that starts with ~/", value)
  elseif path.has_parent_step(value) then
    return check.mismatch(key, "a path without ..", value)
  end
end

---@type procage.Check
local function integer(value, key)
  if math.type(value) ~= "integer" then
    return check.mismatch(key, "a whole number", value)
  end
end

---@type table<string, procage.Check>
local checks = {
  boolean = check.boolean,
  integer = integer,
  text = check.text,
  path = home_path,
  list = check.list(check.text),
  paths = check.list(home_path),
}

---@param option procage.Declared
---@return procage.Check
local function check_of(option)
  return option.type == "choice" and check.one_of(option.choices) or checks[option.type]
end

---@param options any  what a script declares
---@return string? message
function M.check(options)
  local bad = declarations(options, "options")
  if bad then
    return bad
  end
  local seen = {}
  for i, option in ipairs(options) do
    local key = ("options[%d]"):format(i)
    if seen[option.name] then
      return ("%s.name: %s is declared twice"):format(key, option.name)
    elseif (option.choices ~= nil) ~= (option.type == "choice") then
      return key .. ".choices: goes with the type choice, and it with them"
    end
    seen[option.name] = true
    bad = option.default ~= nil and check_of(option)(option.default, key .. ".default")
    if bad then
      return bad
    end
  end
end

---@param option procage.Declared
---@param value any
---@param home string
local function expand(option, value, home)
  if option.type == "path" then
    return path.normalise(path.expand_home(value, home))
  elseif option.type == "paths" then
    local list = {}
    for i, item in ipairs(value) do
      list[i] = path.normalise(path.expand_home(item, home))
    end
    return list
  end
  return value
end

---@param options procage.Declared[]
---@return string[]
local function names_of(options)
  local names = {}
  for i, option in ipairs(options) do
    names[i] = option.name
  end
  return names
end

---@param options procage.Declared[]
---@param name string
---@return string? message
local function unknown(options, name)
  local names = names_of(options)
  for _, known in ipairs(names) do
    if known == name then
      return nil
    end
  end
  if #names == 0 then
    return ("options.%s: this policy takes no options"):format(name)
  end
  return ("options.%s: unknown option%s; this policy takes %s"):format(
    name, nearest.hint(name, names), table.concat(names, ", ")
  )
end

--- The values that a script is called with.
---@param options procage.Declared[]  checked
---@param given table<string, any>
---@param home string
---@return table<string, any>? values
---@return string? message
function M.values(options, given, home)
  local keys = {}
  for name in pairs(given) do
    keys[#keys + 1] = tostring(name)
  end
  table.sort(keys)
  for _, name in ipairs(keys) do
    local bad = unknown(options, name)
    if bad then
      return nil, bad
    end
  end
  local values = {}
  for _, option in ipairs(options) do
    local value = given[option.name]
    if value == nil then
      value = option.default
    end
    if value == nil then
      return nil, ("options.%s: missing: %s"):format(option.name, option.help)
    end
    local bad = check_of(option)(value, "options." .. option.name)
    if bad then
      return nil, bad
    end
    values[option.name] = expand(option, value, home)
  end
  return values
end

---@param option procage.Declared
---@param word string
---@return any value  nil: of another type
local function read_word(option, word)
  if option.type == "boolean" then
    return ({ ["true"] = true, ["false"] = false })[word]
  elseif option.type == "integer" then
    return word:match("^%-?%d+$") and math.tointeger(tonumber(word)) or nil
  end
  return word
end

--- Words of a command line as values; a list is one entry a word.
---@param options procage.Declared[]
---@param pairs_given { key: string, value: string }[]
---@return table<string, any>? values
---@return string? message
function M.read_words(options, pairs_given)
  local by_name, values = {}, {}
  for _, option in ipairs(options) do
    by_name[option.name] = option
  end
  for _, pair in ipairs(pairs_given) do
    local option = by_name[pair.key]
    if not option then
      return nil, unknown(options, pair.key)
    elseif option.type == "list" or option.type == "paths" then
      values[pair.key] = values[pair.key] or {}
      table.insert(values[pair.key], pair.value)
    else
      local value = read_word(option, pair.value)
      if value == nil then
        return nil, check_of(option)(pair.value, "options." .. pair.key)
      end
      values[pair.key] = value
    end
  end
  return values
end

--- A default as help shows it.
local function show(value)
  if type(value) ~= "table" then
    return tostring(value)
  end
  return #value == 0 and "none" or table.concat(value, ", ")
end

--- One line an option, for `explain` and `--help`.
---@param options procage.Declared[]
---@param values? table<string, any>  as a script was called with
---@return string[]
function M.lines(options, values)
  local lines = {}
  for i, option in ipairs(options) do
    local kind = option.choices and table.concat(option.choices, "|") or option.type
    local rest
    if values then
      rest = ("is %s"):format(show(values[option.name]))
    else
      rest = option.default == nil and "must be given" or ("default: %s"):format(show(option.default))
    end
    lines[i] = ("  %-24s %s (%s)"):format(option.name .. "=<" .. kind .. ">", option.help, rest)
  end
  return lines
end

return M
