--- Patterns of paths, and which of them a path meets, name by name: `*`, `?` and `[...]` within a name, `**` for any number of
--- directories. A pattern that names a directory means everything in it too. Time is bounded by pattern times name, whatever
--- either says: a name may be chosen by the command.

local fold = require("procage.fold")

local M = {}

---@class procage.Glob
---@field text string
---@field names table[]  one matcher a name of the path
---@field is_exact boolean

local STAR, ANY, SET = "*", "?", "["

--- `[a-z]`, `[!a-z]`: a table of bytes; and where it ends. nil: no bracket closes it, so it is a letter.
local function read_set(text, at)
  local is_negated = text:find("^[!^]", at + 1) ~= nil
  local from = at + (is_negated and 2 or 1)
  local last = text:find("]", from + 1, true)
  if not last then
    return nil
  end
  local set, i = {}, from
  while i < last do
    local low = text:byte(i)
    local high = low
    if text:sub(i + 1, i + 1) == "-" and i + 2 < last then
      high = text:byte(i + 2)
      i = i + 2
    end
    for byte = low, high do
      set[byte] = true
    end
    i = i + 1
  end
  return { kind = SET, set = set, is_negated = is_negated }, last
end

--- One name of a pattern as tokens: a byte, or STAR, ANY, a set.
local function tokens_of(text)
  local tokens, i = {}, 1
  while i <= #text do
    local letter = text:sub(i, i)
    if letter == "*" then
      if tokens[#tokens] ~= STAR then
        tokens[#tokens + 1] = STAR
      end
    elseif letter == "?" then
      tokens[#tokens + 1] = ANY
    elseif letter == "[" then
      local set, last = read_set(text, i)
      tokens[#tokens + 1] = set or text:byte(i)
      i = last or i
    elseif letter == "\\" and i < #text then
      i = i + 1
      tokens[#tokens + 1] = text:byte(i)
    else
      tokens[#tokens + 1] = text:byte(i)
    end
    i = i + 1
  end
  return tokens
end

local function meets(token, byte)
  if token == ANY or token == byte then
    return true
  end
  return type(token) == "table" and (token.set[byte] == true) ~= token.is_negated
end

--- The last star takes up what does not fit: no other one need be tried again.
local function tokens_match(tokens, name)
  local t, n, star, resumed = 1, 1, nil, nil
  while n <= #name do
    local token = tokens[t]
    if token == STAR then
      star, resumed = t, n
      t = t + 1
    elseif token ~= nil and meets(token, name:byte(n)) then
      t, n = t + 1, n + 1
    elseif star then
      resumed = resumed + 1
      t, n = star + 1, resumed
    else
      return false
    end
  end
  while tokens[t] == STAR do
    t = t + 1
  end
  return tokens[t] == nil
end

local function is_plain(text)
  return not text:find("[*?%[\\]")
end

--- As a file system without letter case takes it.
---@param name string
---@return string
M.lower = fold

---@param text string  names between slashes, no slash before or after
---@param is_exact? boolean  the letter case counts
---@return procage.Glob
function M.compile(text, is_exact)
  local names = {}
  for name in text:gmatch("[^/]+") do
    local spelled = is_exact and name or M.lower(name)
    if name == "**" then
      names[#names + 1] = { is_deep = true }
    elseif name ~= "." then
      names[#names + 1] = is_plain(spelled) and { plain = spelled } or { tokens = tokens_of(spelled) }
    end
  end
  return { text = text, names = names, is_exact = is_exact == true }
end

---@param glob procage.Glob
---@return table<integer, boolean> states  for M.step
function M.start(glob)
  local states = { [1] = true }
  local at = 1
  while glob.names[at] and glob.names[at].is_deep do
    at = at + 1
    states[at] = true
  end
  return states
end

--- One name further down. The states are the places in the pattern that the path so far may stand at; the last one, past all
--- names, means that the path is met.
---@param glob procage.Glob
---@param states table<integer, boolean>
---@param name string
---@return table<integer, boolean> states  empty: nothing beneath is met either
function M.step(glob, states, name)
  local spelled = glob.is_exact and name or M.lower(name)
  local after = {}
  local function add(at)
    after[at] = true
    -- `**` may be no directory at all.
    while glob.names[at] and glob.names[at].is_deep do
      at = at + 1
      after[at] = true
    end
  end
  for at in pairs(states) do
    local wanted = glob.names[at]
    if not wanted then
      -- Met already: everything in it is.
      after[at] = true
    elseif wanted.is_deep then
      add(at)
    elseif wanted.plain and wanted.plain == spelled or wanted.tokens and tokens_match(wanted.tokens, spelled) then
      add(at + 1)
    end
  end
  return after
end

--- Whether the path is met by the pattern, itself or a directory that it lies in.
---@param glob procage.Glob
---@param states table<integer, boolean>
---@return boolean
function M.is_met(glob, states)
  return states[#glob.names + 1] == true
end

--- Whether a `**` alone leads further: no name of the pattern was met by the last one.
---@param glob procage.Glob
---@param states table<integer, boolean>
---@return boolean
function M.only_deep(glob, states)
  for at in pairs(states) do
    local before = glob.names[at - 1]
    if not (glob.names[at] and glob.names[at].is_deep) and not (before and before.is_deep) then
      return false
    end
  end
  return true
end

---@param glob procage.Glob
---@param path string  names between slashes
---@return boolean
function M.matches(glob, path)
  local states = M.start(glob)
  for name in path:gmatch("[^/]+") do
    states = M.step(glob, states, name)
    if next(states) == nil then
      return false
    end
  end
  return M.is_met(glob, states)
end

--- The names at the beginning of a pattern that hold no wildcard, and the rest.
---@param text string
---@return string[] plain
---@return string rest
function M.prefix(text)
  local plain, names = {}, {}
  for name in text:gmatch("[^/]+") do
    names[#names + 1] = name
  end
  local i = 1
  while i < #names and is_plain(names[i]) do
    plain[i] = names[i]
    i = i + 1
  end
  return plain, table.concat(names, "/", i)
end

return M
