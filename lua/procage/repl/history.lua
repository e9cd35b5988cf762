--- What was typed at the prompt, kept in the user's state directory: one entry a line, the newest last, mode 600, bounded.

local core = require("procage.core")

local M = {}

M.MAX_ENTRIES = 1000
--- Longer ones are a paste, not something to type again.
local MAX_ENTRY_BYTES = 10000
local MAX_FILE_BYTES = 4 << 20

local ESCAPES = { ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\0"] = "" }
local PLAIN = { ["\\"] = "\\", n = "\n", r = "\r" }

---@param entry string
---@return string
function M.encode(entry)
  return (entry:gsub("[\\\n\r%z]", ESCAPES))
end

---@param line string
---@return string
function M.decode(line)
  return (line:gsub("\\(.)", function(c)
    return PLAIN[c] or "\\" .. c
  end))
end

---@class procage.History
---@field file string
---@field entries string[]
local History = {}
History.__index = History

--- Reads what is kept, and shortens the file where it has grown to twice its bound.
---@param file string
---@param line table  procage.line, which writes
---@return procage.History
function M.open(file, line)
  local entries = {}
  local text, is_cut = core.read_file(file, MAX_FILE_BYTES)
  for each in (text or ""):gmatch("([^\n]*)\n") do
    entries[#entries + 1] = M.decode(each)
  end
  local count = #entries
  if count > M.MAX_ENTRIES then
    entries = table.move(entries, count - M.MAX_ENTRIES + 1, count, 1, {})
  end
  if count > 2 * M.MAX_ENTRIES or text and is_cut then
    local lines = {}
    for i, entry in ipairs(entries) do
      lines[i] = M.encode(entry) .. "\n"
    end
    line.replace(file, table.concat(lines))
  elseif text then
    -- Nothing, but for the mode.
    line.append(file, "")
  end
  return setmetatable({ file = file, entries = entries, line = line }, History)
end

--- Whether an entry is to be kept: not what repeats the last one, and not what begins with a blank, as in a shell.
---@param entry string
---@return boolean
function History:takes(entry)
  return entry:find("%S") ~= nil and not entry:find("^%s") and #entry <= MAX_ENTRY_BYTES
    and entry ~= self.entries[#self.entries]
end

---@param entry string
---@return boolean? is_kept
---@return string? message
function History:add(entry)
  if not self:takes(entry) then
    return false
  end
  self.entries[#self.entries + 1] = entry
  return self.line.append(self.file, M.encode(entry) .. "\n")
end

return M
