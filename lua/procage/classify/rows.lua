--- The rows of the rules, by the names of the programs in them.

local words_of = require("procage.classify.words")

local M = {}

local function by_name(rows, key)
  local index = {}
  for _, row in ipairs(rows) do
    for name in row[key]:gmatch("%S+") do
      index[name] = index[name] or row
    end
  end
  return index
end

--- The rows by the names in them: a call asks for dozens.
---@param rules table
---@return table
function M.index(rules)
  return {
    programs = by_name(rules.programs, "names"),
    allowed = by_name(rules.allowed, "names"),
    git = by_name(rules.git, "commands"),
    wrappers = rules.wrappers,
    options = {},
    shells = words_of.set(rules.shells),
  }
end

--- Names that a program may be listed by: as it is called, and without its version.
---@param name string
---@return string[]
function M.names(name)
  local folded = name:lower():gsub("%.exe$", "")
  local names = { folded }
  local bare = folded:match("^(.-)[-._]?%d[%d.]*$")
  if bare and bare ~= "" then
    names[2] = bare
  end
  return names
end

local function find(index, name)
  local names = M.names(name)
  return index[names[1]] or names[2] and index[names[2]] or nil
end

--- What is said of a program, whatever its words are.
---@param index table  of M.index
---@param name string
---@return table?
function M.program(index, name)
  return find(index.programs, name)
end

--- A program that runs the command in its words.
---@param index table
---@param name string
---@return table?
function M.wrapper(index, name)
  return find(index.wrappers, name)
end

--- A program that needs no question as such.
---@param index table
---@param name string
---@return procage.AllowedRule?
function M.allowed(index, name)
  if index.allowed[name] then
    return index.allowed[name]
  end
  -- clang-14, gcc-12
  local bare = name:match("^(.-)%-%d[%d.]*$")
  return bare and M.allowed(index, bare) or nil
end

---@param index table
---@param name string
---@return boolean
function M.is_shell(index, name)
  return find(index.shells, name) or false
end

---@param name string
---@return boolean
function M.is_git(name)
  return name == "git" or name:find("^git%-") ~= nil
end

return M
