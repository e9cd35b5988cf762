--- Git's index as text: which file is staged with which content. Read with own code, never by git.
--- Source: gitformat-index(5), versions 2, 3 and 4.

local M = {}

local SHA1, SHA256 = 20, 32

local function hex(bytes)
  return (bytes:gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end))
end

--- Numbers as git's varint of version 4: offset encoding.
local function read_varint(text, at)
  local byte = text:byte(at)
  if not byte then
    return nil
  end
  local value = byte & 127
  while byte & 128 ~= 0 do
    at = at + 1
    byte = text:byte(at)
    if not byte or value > 1 << 32 then
      return nil
    end
    value = ((value + 1) << 7) | (byte & 127)
  end
  return value, at + 1
end

--- What git remembers of an entry beside its name: not times and sizes, which any `git status` refreshes.
local function mark_of(mode, oid, flags, more)
  local words = { ("%o"):format(mode), hex(oid) }
  local stage = flags >> 12 & 3
  if stage ~= 0 then
    words[#words + 1] = "stage-" .. stage
  end
  if flags & 0x8000 ~= 0 then
    words[#words + 1] = "assume-unchanged"
  end
  if more & 0x4000 ~= 0 then
    words[#words + 1] = "skip-worktree"
  end
  if more & 0x2000 ~= 0 then
    words[#words + 1] = "intent-to-add"
  end
  return table.concat(words, " "), stage
end

local function read_entry(text, at, version, oid_size, last_name)
  if at + 40 + oid_size + 2 > #text then
    return nil
  end
  local mode = (">I4"):unpack(text, at + 24)
  local oid = text:sub(at + 40, at + 39 + oid_size)
  local flags = (">I2"):unpack(text, at + 40 + oid_size)
  local name_at, more = at + 42 + oid_size, 0
  if version >= 3 and flags & 0x4000 ~= 0 then
    if name_at + 1 > #text then
      return nil
    end
    more = (">I2"):unpack(text, name_at)
    name_at = name_at + 2
  end
  local name, next_at
  if version == 4 then
    local stripped, from = read_varint(text, name_at)
    local last = stripped and text:find("\0", from, true)
    if not last or stripped > #last_name then
      return nil
    end
    name, next_at = last_name:sub(1, #last_name - stripped) .. text:sub(from, last - 1), last + 1
  else
    local last = text:find("\0", name_at, true)
    if not last then
      return nil
    end
    name = text:sub(name_at, last - 1)
    -- One to eight NULs, to a multiple of eight.
    next_at = at + ((last - at) // 8 + 1) * 8
  end
  local mark, stage = mark_of(mode, oid, flags, more)
  return name, mark, next_at, stage
end

local function read_entries(text, version, count, oid_size)
  local entries, at, last_name = {}, 13, ""
  for _ = 1, count do
    local name, mark, next_at, stage = read_entry(text, at, version, oid_size, last_name)
    if not name then
      return nil
    end
    entries[stage == 0 and name or ("%s (stage %d)"):format(name, stage)] = mark
    at, last_name = next_at, name
  end
  return entries, at
end

--- Walks the extensions: they must end where the checksum begins, which proves the size of the object names.
local function extensions_fit(text, at, oid_size)
  local is_split = false
  while at + 8 <= #text - oid_size + 1 do
    local signature, size = (">c4I4"):unpack(text, at)
    is_split = is_split or signature == "link"
    at = at + 8 + size
  end
  return at == #text - oid_size + 1, is_split
end

--- A mode as an entry has it. Looked for as bytes: an index of a hundred thousand files mostly has none of this.
local GITLINK = "\0\0\xe0\0"

--- The name of the entry whose mode stands at `at`, where its flags tell its length as git wrote it.
local function name_at_mode(text, at, version, oid_size)
  local flags_at = at + 16 + oid_size
  if flags_at + 4 > #text then
    return nil
  end
  local flags = (">I2"):unpack(text, flags_at)
  local from = flags_at + 2 + (version >= 3 and flags & 0x4000 ~= 0 and 2 or 0)
  local last = text:find("\0", from, true)
  local name = last and text:sub(from, last - 1)
  return name and name ~= "" and math.min(#name, 0xfff) == flags & 0xfff and name or nil
end

--- Version 4 writes each name as a difference to the one before.
local function links_by_difference(text)
  local found, is_read = {}, false
  for _, oid_size in ipairs({ SHA1, SHA256 }) do
    local entries = read_entries(text, 4, (">I4"):unpack(text, 9), oid_size)
    is_read = is_read or entries ~= nil
    for name, mark in pairs(entries or {}) do
      found[#found + 1] = mark:find("^160000 ") and name:gsub(" %(stage %d%)$", "") or nil
    end
  end
  if not is_read then
    return nil, "not well-formed"
  end
  return found
end

--- Paths at which other repositories are entered: `git status` runs git in each, with what it finds there. A name too many does
--- no harm, and none that git would see is left out. nil: a form that this does not read.
---@param text string
---@return string[]? paths
---@return string? message
function M.gitlinks(text)
  local version = #text >= 12 and text:sub(1, 4) == "DIRC" and (">I4"):unpack(text, 5) or 0
  if version < 2 or version > 4 then
    return nil, "no index of git"
  end
  local found, at = {}, text:find(GITLINK, 13, true)
  if at and version == 4 then
    return links_by_difference(text)
  end
  while at do
    for _, oid_size in ipairs({ SHA1, SHA256 }) do
      found[#found + 1] = name_at_mode(text, at, version, oid_size)
    end
    at = text:find(GITLINK, at + 1, true)
  end
  return found
end

--- What another repository's entry has for a mode, whatever the other bits are: git looks at these alone.
local TYPE, LINK = 0xf000, 0xe000

--- One entry of versions 2 and 3 as git reads it: its name is as long as its flags say.
local function read_named(text, at, version, oid_size)
  local flags_at = at + 40 + oid_size
  if flags_at + 3 > #text then
    return nil
  end
  local mode = (">I4"):unpack(text, at + 24)
  local flags = (">I2"):unpack(text, flags_at)
  local name_at = flags_at + 2 + (version == 3 and flags & 0x4000 ~= 0 and 2 or 0)
  local last = text:find("\0", name_at, true)
  local size = flags & 0xfff
  if not last or size < 0xfff and last ~= name_at + size then
    return nil
  end
  return mode, name_at, last, at + ((last - at) // 8 + 1) * 8
end

--- One of version 4: how much of the name before it goes, and what follows.
local function read_difference(text, at, oid_size)
  local flags_at = at + 40 + oid_size
  if flags_at + 3 > #text then
    return nil
  end
  local mode = (">I4"):unpack(text, at + 24)
  local flags = (">I2"):unpack(text, flags_at)
  local stripped, from = read_varint(text, flags_at + 2 + (flags & 0x4000 ~= 0 and 2 or 0))
  local last = stripped and text:find("\0", from, true)
  if not last then
    return nil
  end
  return mode, from, last, last + 1, stripped, flags & 0xfff
end

--- Where blocks of entries begin that git reads with several threads, each by itself. They must be what is read from the front,
--- or git reads others: nil. Source: gitformat-index(5), IEOT and EOIE.
---@param starts integer[]  of every entry
---@param at integer  behind them
local function blocks_of(text, starts, at, oid_size)
  local blocks, last = {}, #text - oid_size + 1
  local entries_end = at
  while at + 8 <= last do
    local signature, size = (">c4I4"):unpack(text, at)
    local data = at + 8
    at = data + size
    if at > last or signature == "EOIE" and (size < 4 or (">I4"):unpack(text, data) + 1 ~= entries_end) then
      return nil
    elseif signature == "IEOT" then
      local first = 1
      for block = data + 4, at - 8, 8 do
        local offset, count = (">I4I4"):unpack(text, block)
        if starts[first] ~= offset + 1 then
          return nil
        end
        blocks[first] = true
        first = first + count
      end
    end
  end
  return at == last and blocks or nil
end

--- The names of version 4. A block begins with a whole name, whoever reads it: then nothing of the one before is kept.
local function names_of(parts, blocks)
  local names, last_name = {}, ""
  for i, part in ipairs(parts) do
    local kept = #last_name - part.stripped
    if kept < 0 or blocks[i] and kept > 0 then
      return nil
    end
    last_name = last_name:sub(1, kept) .. part.text
    if part.size < 0xfff and #last_name ~= part.size then
      return nil
    end
    names[i] = last_name
  end
  return names
end

local function links_of_differences(text, count, oid_size, every)
  local parts, starts, at = {}, {}, 13
  for i = 1, count do
    local mode, from, last, next_at, stripped, size = read_difference(text, at, oid_size)
    if not mode then
      return nil, "not well-formed"
    end
    parts[i] = { mode = mode, text = text:sub(from, last - 1), stripped = stripped, size = size }
    starts[i], at = at, next_at
  end
  local blocks = blocks_of(text, starts, at, oid_size)
  local names = blocks and names_of(parts, blocks)
  if not names then
    return nil, "not well-formed"
  end
  local found, is_nameless = {}, false
  for i, name in ipairs(names) do
    if every or parts[i].mode & TYPE == LINK then
      found[#found + 1], is_nameless = name, is_nameless or name == ""
    end
  end
  return found, is_nameless
end

--- The same as `gitlinks`, where a command may have written the index: read entry by entry as git reads it. What git would not
--- have written so is not read.
---@param text string
---@param oid_size integer  of the repository: 20, or 32
---@param every? boolean  the names of all entries
---@return string[]? paths
---@return boolean|string is_nameless  one of them, in a split index, has its name in the other part; or a message
function M.links(text, oid_size, every)
  local version, count = 0, 0
  if #text >= 12 + oid_size and text:sub(1, 4) == "DIRC" then
    version, count = (">I4I4"):unpack(text, 5)
  end
  if version < 2 or version > 4 then
    return nil, "no index of git"
  elseif version == 4 then
    return links_of_differences(text, count, oid_size, every)
  end
  local found, starts, at, is_nameless = {}, {}, 13, false
  for i = 1, count do
    local mode, name_at, last, next_at = read_named(text, at, version, oid_size)
    if not mode then
      return nil, "not well-formed"
    elseif every or mode & TYPE == LINK then
      found[#found + 1], is_nameless = text:sub(name_at, last - 1), is_nameless or last == name_at
    end
    starts[i], at = at, next_at
  end
  if not blocks_of(text, starts, at, oid_size) then
    return nil, "not well-formed"
  end
  return found, is_nameless
end

--- Every entry: path -> what is staged there. nil: a form that this does not read (a split index, another version).
---@param text string
---@return table<string, string>? entries
---@return string? message
function M.parse(text)
  if #text < 12 + SHA1 or text:sub(1, 4) ~= "DIRC" then
    return nil, "no index of git"
  end
  local version, count = (">I4I4"):unpack(text, 5)
  if version < 2 or version > 4 then
    return nil, ("version %d"):format(version)
  end
  for _, oid_size in ipairs({ SHA1, SHA256 }) do
    local entries, at = read_entries(text, version, count, oid_size)
    local fits, is_split = false, false
    if entries then
      fits, is_split = extensions_fit(text, at, oid_size)
    end
    if fits then
      if is_split then
        return nil, "a split index"
      end
      return entries
    end
  end
  return nil, "not well-formed"
end

return M
