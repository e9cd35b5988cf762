--- Text with nothing in it that a terminal would obey. What is shown to a person may come from a repository, a policy, a file's
--- name or a command: an escape in it would move the cursor over lines of ours, and a newline would be a line of its own.

local NAMED = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

---@param code integer
---@return boolean
local function is_obeyed(code)
  -- C0, DEL, C1; marks that turn the direction of what follows (Unicode, 9.0, chapter 23.2), line and paragraph separators.
  return code < 0x20 or code >= 0x7f and code < 0xa0
    or code >= 0x2028 and code <= 0x202e
    or code >= 0x2066 and code <= 0x2069
    or code == 0x200e or code == 0x200f or code == 0xfeff
end

local function escape_bytes(bytes)
  return (bytes:gsub(".", function(byte)
    return NAMED[byte] or ("\\x%02x"):format(byte:byte())
  end))
end

--- Text with everything escaped that a terminal would obey, and bytes that are no UTF-8; quotes and backslashes as they are.
---@param text string
---@param keeps? string  characters that stay, "\n\t"
---@return string
local function printable(text, keeps)
  if not text:find("[^\x20-\x7e]") then
    return text
  end
  local parts, at = {}, 1
  while at <= #text do
    local length, bad = utf8.len(text, at)
    local stop = length and #text or bad - 1
    for _, code in utf8.codes(text:sub(at, stop)) do
      local char = utf8.char(code)
      if keeps and keeps:find(char, 1, true) or not is_obeyed(code) then
        parts[#parts + 1] = char
      else
        parts[#parts + 1] = code < 0x80 and escape_bytes(char) or ("\\u{%04X}"):format(code)
      end
    end
    if not length then
      parts[#parts + 1] = ("\\x%02x"):format(text:byte(bad))
    end
    at = stop + (length and 1 or 2)
  end
  return table.concat(parts)
end

return printable
