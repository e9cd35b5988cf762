--- Scripts of sed: which of them only print, delete or substitute. Source: sed(1), GNU sed 4.9.

local M = {}

--- What stands before a command: lines, the last one, ranges, `!`.
local ADDRESS = "[%d,$~+! ]*"

--- The parts of s/a/b/flags and y/a/b/ behind the first delimiter; `\/` does not end one.
local function split(rest, delimiter)
  local parts, piece, i = {}, {}, 1
  while i <= #rest do
    local letter = rest:sub(i, i)
    if letter == "\\" then
      piece[#piece + 1] = rest:sub(i, i + 1)
      i = i + 1
    elseif letter == delimiter then
      parts[#parts + 1] = table.concat(piece)
      piece = {}
    else
      piece[#piece + 1] = letter
    end
    i = i + 1
  end
  parts[#parts + 1] = table.concat(piece)
  return parts
end

--- Flags that neither run (`e`) nor write (`w`).
local function is_plain_substitution(text)
  local delimiter, rest = text:match("^" .. ADDRESS .. "[sy]([^%w%s\\])(.*)$")
  local parts = delimiter and split(rest, delimiter) or {}
  return #parts == 3 and parts[3]:find("^[gpiI%d]*$") ~= nil
end

local function is_plain_command(text)
  return text == "" or text:find("^" .. ADDRESS .. "[pdqQ=]$") ~= nil
    or text:find("^/[^/]*/" .. ADDRESS .. "[pdqQ=]$") ~= nil or text:find("^/[^/]*/,/[^/]*/[pd]$") ~= nil
    or is_plain_substitution(text)
end

--- Whether a script has no w, no e, no r.
---@param script string
---@return boolean
function M.is_plain(script)
  for part in (script .. "\n"):gmatch("([^\n;]*)[\n;]") do
    if not is_plain_command(part:match("^%s*(.-)%s*$")) then
      return false
    end
  end
  return true
end

return M
