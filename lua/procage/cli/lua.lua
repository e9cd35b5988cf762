--- procage-lua as an interpreter: a prompt, a script, a chunk. With the names of procage.repl.names ready.
---
---     procage-lua                        at a terminal: a prompt
---     procage-lua SCRIPT [ARGUMENT ...]  SCRIPT has a slash in it, or .lua at its end: a bare word is a subcommand
---     procage-lua -e CODE [ARGUMENT ...]
---     procage-lua - [ARGUMENT ...]       from standard input, as without arguments when that is a pipe or a file

local core = require("procage.core")
local writer = require("procage.writer")

local BAD_USAGE, RAISED = 2, 1

local function say(...)
  writer.err("procage-lua: ", ...)
end

--- Text and its name for messages.
---@param words string[]
---@return string? text
---@return string name  or the message
---@return integer first  of the arguments
local function source(words)
  local first = words[1]
  if first == "-e" then
    if not words[2] then
      return nil, "-e: a chunk of Lua is missing", 2
    end
    return words[2], "=(-e)", 3
  elseif first == nil or first == "-" then
    local text, message = io.stdin:read("a")
    return text, text and "=stdin" or "standard input: " .. tostring(message), 2
  end
  local handle, message = io.open(first, "rb")
  if not handle then
    return nil, message, 2
  end
  local text, why = handle:read("a")
  handle:close()
  return text, text and "@" .. first or ("%s: %s"):format(first, why), 2
end

--- The lines of the script that led to an error, the innermost first; nil when that is one alone, which the message names.
---@param name string  of the chunk
---@return string?
local function callers(name)
  local places = {}
  for level = 2, 100 do
    local info = debug.getinfo(level, "Sl")
    if not info then
      break
    elseif info.source == name and info.currentline > 0 then
      places[#places + 1] = ("line %d"):format(info.currentline)
    end
  end
  return #places > 1 and "called from " .. table.concat(places, ", ", 2) or nil
end

---@param words string[]
---@return integer status
local function run_script(words)
  -- Here: every subcommand passes by this file.
  local errors, names = require("procage.repl.errors"), require("procage.repl.names")
  local text, name, first = source(words)
  if not text then
    say(name)
    return BAD_USAGE
  elseif words[1] == nil and not text:find("%S") then
    say("a subcommand is missing, and nothing is on standard input")
    say("Try 'procage-lua help'.")
    return BAD_USAGE
  end
  -- "#!/usr/bin/env procage-lua"; the line stays, so that others keep their numbers.
  text = text:gsub("^#[^\n]*", "")
  local env = names.environment()
  local arguments = table.move(words, first, #words, 1, {})
  env.arg = table.move(arguments, 1, #arguments, 1, { [0] = words[1] == "-e" and "-e" or words[1] or "-" })
  -- Text, never bytecode: that could do anything to the interpreter.
  local chunk, message = load(text, name, "t", env)
  if not chunk then
    say(message)
    return BAD_USAGE
  end
  local explain = errors.handler({ names = env, sources = { [name] = text }, describe = names.describe }, 1)
  local ok, told = xpcall(chunk, function(raised)
    local lines = explain(raised)
    lines[#lines + 1] = callers(name)
    return lines
  end, table.unpack(arguments))
  if not ok then
    writer.each(writer.err, "procage-lua: " .. table.concat(told, "\n  "):gsub("\t", "  "))
    return RAISED
  end
  return 0
end

local M = {}

--- Whether the words are for us. A subcommand is a bare word; a file is named with a slash, or .lua at its end.
---@param words string[]
---@return boolean
function M.takes(words)
  local first = words[1]
  return first == nil or first == "-" or first == "-e" or first:sub(1, 1) ~= "-"
    and (first:find("/", 1, true) ~= nil or first:find("%.lua$") ~= nil)
end

---@param words string[]
---@return integer status
function M.main(words)
  if words[1] == nil then
    if core.is_terminal(0) and core.is_terminal(1) then
      return require("procage.repl").run()
    end
    local input = core.stat("/proc/self/fd/0")
    if not input or input.kind ~= "fifo" and input.kind ~= "file" and input.kind ~= "socket" then
      say("a subcommand is missing")
      say("Try 'procage-lua help'.")
      return BAD_USAGE
    end
  end
  return run_script(words)
end

return M
