--- Names as a volume that folds letter case compares them, as far as they fold to ASCII: what protects a name protects every
--- spelling of it. Everywhere, not only on such volumes: a name that differs from a protected one by this much is nobody's.
---
--- Source: Unicode's CaseFolding.txt (C and F), UnicodeData.txt (canonical decompositions) and DerivedCoreProperties.txt
--- (Default_Ignorable_Code_Point), as the kernel's fs/unicode uses them. The broker has the same in C:
--- platform/linux/init/fold.c.

local core = require("procage.core")

local LETTERS = {
  [0xdf] = "ss", [0x17f] = "s", [0x37e] = ";", [0x1e9e] = "ss", [0x1fef] = "`", [0x212a] = "k", [0xfb00] = "ff",
  [0xfb01] = "fi", [0xfb02] = "fl", [0xfb03] = "ffi", [0xfb04] = "ffl", [0xfb05] = "st", [0xfb06] = "st",
}

--- Code points that are not there for who folds: first and last.
local SKIPPED = {
  { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
  { 0x200b, 0x200f }, { 0x202a, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
  { 0xffa0, 0xffa0 }, { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
}

---@param sequence string  a lead byte and what follows it
local function fold_sequence(sequence)
  local point = utf8.len(sequence) == 1 and utf8.codepoint(sequence)
  if not point then
    return nil
  end
  for _, range in ipairs(SKIPPED) do
    if point >= range[1] and point <= range[2] then
      return ""
    end
  end
  return LETTERS[point]
end

---@param name string  a name or a path
---@return string
return function(name)
  -- Plans fold a thousand names, and nearly all are of ASCII.
  local lower = core.path_lower(name)
  if not lower then
    lower = name:gsub("[\xc2-\xf7][\x80-\xbf]*", fold_sequence):lower()
  end
  return lower
end
