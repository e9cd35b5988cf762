--- Scripts in a closed state of their own: what they may require is read before they run, plain data goes in and comes out.
---
--- closed.lua is what they see, core/lua_script.c what bounds them.

local check = require("procage.check")
local core = require("procage.core")
local lists = require("procage.list")
local nearest = require("procage.nearest")
local own_script = require("procage.own_script")
local path = require("procage.path")
local text_file = require("procage.text_file")

---@class procage.ScriptOptions
---@field resolve? fun(name: string): string?, string?  the file of a shipped policy, or nil and why
---@field is_ours? boolean  the text ships with procage, as all that it requires: its instructions need not be counted
---@field read_file? fun(file: string): string?, string?

local M = {}

--- What a script may use. The shipped policies take a hundredth of the steps; a configuration that hides thousands of paths, a
--- tenth.
M.limits = { bytes = 32 << 20, steps = 50000000, ms = 5000 }

M.read_file = text_file.read

--- Where the shipped policies are is known to procage.paths alone.
---@param name string
---@return string? file
---@return string? message
function M.resolve(name)
  local directory, message = require("procage.paths").policies()
  if not directory then
    return nil, message
  end
  return directory .. "/" .. name .. ".lua"
end

--- What was met before, by its source: a program that loads many policies parses our modules and the shipped lists twice.
---@type table<string, { text: string, code?: string|false }>
local met_before = {}

--- A text of ours, compiled; nil the first time, which is the only one in most programs, and when it is not well-formed, for
--- the closed state to say so.
---@param text string
---@param source string
---@return string?
local function once_compiled(text, source)
  local known = met_before[source]
  if not known or known.text ~= text then
    met_before[source] = { text = text }
    return nil
  elseif known.code == nil then
    local chunk = load(text, source, "t")
    known.code = chunk and string.dump(chunk) or false
  end
  return known.code or nil
end

--- One of our own modules as the closed state loads it: what the program carries, else the file that `require` would take.
---@param name string
---@return string
local function own_code(name)
  local code = core.carried(name)
  if code then
    return code
  end
  local file = assert(package.searchpath(name, package.path))
  local text = assert(M.read_file(file))
  return once_compiled(text, "@procage/" .. name:match("[^.]*$") .. ".lua") or text
end

local TRUSTED = {
  "procage.check", "procage.declared", "procage.nearest", "procage.noting", "procage.path", "procage.profile",
}

--- A shipped policy compiled: as the program carries it when the text is that one to the letter, else here. The chunk is ours:
--- no script brings one.
---@param text string
---@param file string
---@param is_ours boolean  it lies where the shipped ones are
---@return string?
local function compiled(text, file, is_ours)
  local source = M.source(file)
  return core.carried_policy(text, source) or is_ours and once_compiled(text, source) or nil
end

--- What a script is called in messages: names that begin with procage/ are our own modules'.
---@param file string
---@return string
function M.source(file)
  return "@" .. (file:find("^procage/") and "./" .. file or file)
end

--- The shipped files whose names stand in a text, and in theirs.
---@param text string
---@param options procage.ScriptOptions
---@param found table<string, { file: string, text: string?, code: string?, message: string? }>  code: compile_shipped
local function read_shipped(text, options, found)
  -- Plain searches: a pattern would be tried at every letter of every list.
  local from, to = text:find("policies.", 1, true)
  while from do
    local name = text:match("^[%w_-]+", to + 1)
    from, to = text:find("policies.", to + 1, true)
    if name and not found[name] then
      local file, message = (options.resolve or M.resolve)(name)
      local entry = { file = file or name, message = message }
      found[name] = entry
      if file then
        entry.text, entry.message = (options.read_file or M.read_file)(file)
      end
      if entry.text then
        read_shipped(entry.text, options, found)
      end
    end
  end
  return found
end

---@param shipped table<string, { file: string, text: string?, code: string?, message: string? }>
---@param options procage.ScriptOptions
local function compile_shipped(shipped, options)
  for _, entry in pairs(shipped) do
    entry.code = entry.text and compiled(entry.text, entry.file, not options.resolve and not options.read_file)
  end
end

--- Lua shortens a long name in its messages to its end; whole again.
---@param message string
---@param data table
---@return string
local function with_whole_name(message, data)
  local ending, rest = message:match("^%.%.%.(.-)(:%d+: .*)$")
  local files = { data.file }
  for _, entry in pairs(data.shipped) do
    files[#files + 1] = entry.file
  end
  for _, file in ipairs(ending and files or {}) do
    if file:sub(-#ending) == ending then
      return file .. rest
    end
  end
  return message
end

--- What Lua has and a script has not: its answer would depend on more than its arguments.
local ABSENT = lists.set({
  "print", "io", "os", "debug", "load", "loadstring", "dofile", "loadfile", "package", "pcall", "xpcall", "coroutine",
  "setmetatable", "getmetatable", "collectgarbage", "warn",
})

--- Functions of the modules that a script may require.
local function known_functions(data)
  local names = {}
  for name, value in pairs(path) do
    names[#names + 1] = type(value) == "function" and name or nil
  end
  for _, entry in pairs(data.shipped) do
    for name in (entry.text or ""):gmatch("\nfunction M%.([%w_]+)") do
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

--- Lua's message of a name that is nil, with what was perhaps meant.
---@param message string
---@param data table
---@return string
local function with_hint(message, data)
  local absent = message:match("a nil value %(global '([%w_]+)'%)$")
  if absent and ABSENT[absent] then
    return ("%s: a script has no %s (docs/policies.md)"):format(message, absent)
  end
  local field = message:match("attempt to call a nil value %(field '([%w_]+)'%)$")
  return message .. (field and nearest.hint(field, known_functions(data)) or "")
end

--- Runs a script.
---@param kind "value"|"declaration"|"policy"|"extension"|"tests"
---@param text string
---@param file string  the name in messages
---@param options? procage.ScriptOptions
---@param more? table  what this kind takes besides: config and ctx of a policy
---@return table? result
---@return string? message  with file and line
function M.run(kind, text, file, options, more)
  if text:byte() == 27 then -- ESC: what bytecode begins with
    return nil, ("%s: attempt to load a binary chunk: a script is text"):format(file)
  end
  local is_ours = options and options.is_ours or false
  local shipped = read_shipped(text, options or {}, {})
  if kind == "policy" and is_ours then
    local result = own_script.run({ file = file, text = text }, shipped, more.config, more.ctx)
    if result then
      return result
    end
  end
  compile_shipped(shipped, options or {})
  local trusted = {}
  for _, name in ipairs(TRUSTED) do
    trusted[name] = own_code(name)
  end
  local data = {
    kind = kind,
    text = text,
    code = compiled(text, file, is_ours),
    file = file,
    source = M.source(file):sub(2),
    is_ours = is_ours,
    trusted = trusted,
    shipped = shipped,
  }
  for key, value in pairs(more or {}) do
    data[key] = value
  end
  local limits = { bytes = M.limits.bytes, steps = M.limits.steps, ms = M.limits.ms }
  limits.is_ours = is_ours
  local result, message = core.script(own_code("procage.closed"), data, limits)
  if type(result) == "table" then
    return result
  end
  -- An error that names no file is about the whole script: one raised on purpose without a line names a key.
  if message then
    return nil, with_hint(with_whole_name(message, data), data)
  end
  return nil, ("%s: returned %s"):format(file, check.show(result))
end

return M
