--- Lines for a person, on standard output and standard error. Whatever is written goes through here, so that no caller has to
--- think of escapes in a path, a policy's message or a configuration's key. JSON, files and a command's own output do not.

local core = require("procage.core")
local printable = require("procage.printable")

local M = {}

---@class procage.Painted
---@field text string
---@field colour string  of the terminal, "31"

---@param ... string|procage.Painted
---@return string
local function line_of(...)
  local parts = {}
  for i = 1, select("#", ...) do
    local part = select(i, ...)
    if type(part) == "table" then
      parts[i] = ("\27[%sm%s\27[0m"):format(part.colour, printable(part.text))
    else
      parts[i] = printable(tostring(part))
    end
  end
  return table.concat(parts) .. "\n"
end

--- One line on standard error.
---@param ... string|procage.Painted  its parts
function M.err(...)
  io.stderr:write(line_of(...))
end

--- What a command wrote may end within a control string, hidden, or on another screen: what is told next would be swallowed.
--- CAN and ST end strings, SGR 0 hiding. Source: ECMA-48; ctlseqs of xterm.
function M.clear()
  if core.is_terminal(2) then
    io.stderr:write("\x18\x1b\\\x1b[0m\x1b[?47l")
  end
end

--- One line on standard output.
---@param ... string|procage.Painted
function M.out(...)
  return io.stdout:write(line_of(...))
end

--- A message that may be the refusal of gaps (procage.policy): only that has lines of its own, and those are indented.
---@param write fun(line: string)
---@param prefix string
---@param message string
function M.refusal(write, prefix, message)
  if not message:find("^SANDBOX%-UNAVAILABLE: ") then
    return write(prefix .. message)
  end
  local line = prefix .. message
  while line do
    local at = line:find("\n  ", 1, true)
    write(at and line:sub(1, at - 1) or line)
    line = at and line:sub(at + 1)
  end
end

--- Lines as one text, to be written at once: whoever pipes a long answer wants to know that it is whole.
---@param lines string[]
---@return string
function M.text(lines)
  local parts = {}
  for i, line in ipairs(lines) do
    parts[i] = line_of(line)
  end
  return table.concat(parts)
end

--- Lines that come as one text, or as a list.
---@param write fun(...)  M.err or M.out
---@param text string|string[]
---@return any ok
---@return string? message
function M.each(write, text)
  local all = type(text) == "table" and text or { text }
  local ok, message = true, nil
  for _, some in ipairs(all) do
    for line in (some:gsub("\n$", "") .. "\n"):gmatch("([^\n]*)\n") do
      ok, message = write(line)
    end
  end
  return ok, message
end

return M
