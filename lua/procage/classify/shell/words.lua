--- One word of a line of shell, behind quotes, escapes and expansions; what only running tells of it is marked so.

local nested = require("procage.classify.shell.nested")

local M = {}

local ANSI = { n = "\n", t = "\t", r = "\r", a = "\a", b = "\b", f = "\f", v = "\v", e = "\27", E = "\27", ["\\"] = "\\" }

local NUMBERED = {
  { "^\\x(%x%x?)()", 16 }, { "^\\([0-7][0-7]?[0-7]?)()", 8 }, { "^\\[uU](%x+)()", 16 },
}

--- \x41, \101, \u0041
---@return integer? code
---@return integer? after
local function numbered(self)
  for _, form in ipairs(NUMBERED) do
    local digits, after = self.text:match(form[1], self.at)
    if digits then
      return tonumber(digits:sub(1, 8), form[2]) or 0, after
    end
  end
end

--- What a backslash in $'...' stands for. `at` is on it.
local function ansi_escape(self)
  local code, after = numbered(self)
  if code then
    self.at = after
    return code < 256 and string.char(code) or code < 0x7fffffff and utf8.char(code) or ""
  end
  local following = self.text:sub(self.at + 1, self.at + 1)
  self.at = self.at + 2
  return ANSI[following] or following
end

--- $'...': its letters. `at` is behind the first quote.
local function ansi_quoted(self)
  local out = {}
  while true do
    local letter = self.text:sub(self.at, self.at)
    if letter == "" then
      nested.fail(self)
      break
    elseif letter == "'" then
      self.at = self.at + 1
      break
    elseif letter == "\\" then
      out[#out + 1] = ansi_escape(self)
    else
      out[#out + 1] = letter
      self.at = self.at + 1
    end
  end
  return table.concat(out)
end

-- ---- Expansions -------------------------------------------------------------------------------------------------------------

--- The value of a variable or an argument, nil when only running tells.
---@return string?|string[]
local function value_of(self, name)
  local facts = self.facts
  if name == "@" or name == "*" then
    return not facts.moves_arguments and table.move(self.arguments, 1, #self.arguments, 1, {}) or nil
  end
  local number = math.tointeger(tonumber(name))
  local value
  if number then
    value = not (facts.moves_arguments and number > 0) and self.arguments[number]
  elseif not facts.unknown[name] and not facts.sets_anything then
    value = self.variables[name]
  end
  return value or nil
end

--- Names alone, in braces or not.
local NAMES = { "^%$([%a_][%w_]*)()", "^%${([%a_][%w_]*)}()", "^%$([%d@*#?$!-])()", "^%${([%d]+)}()" }

--- ${x:-y} and its like: what is in it may be commands, and ${x:=y} gives x another value.
local function pass_braces(self)
  local inner, past = self.text:match("^%$(%b{})()", self.at)
  if not inner then
    nested.fail(self)
    return
  end
  self.at = past
  for name in inner:gmatch("{([%a_][%w_]*):?=") do
    self.facts.unknown[name] = true
  end
  nested.read_all(self, inner)
end

--- What begins with a dollar. `at` is on it. Gives the text that is known, or a list of several words, or nil for what is not
--- known.
---@return string?|string[] value
local function expansion(self)
  for _, pattern in ipairs(NAMES) do
    local name, after = self.text:match(pattern, self.at)
    if name then
      self.at = after
      return value_of(self, name)
    end
  end
  local following = self.text:sub(self.at + 1, self.at + 1)
  if following == "(" then
    self.at = self.at + 2
    nested.read_parenthesised(self)
    return nil
  elseif following == "{" then
    pass_braces(self)
    return nil
  end
  self.at = self.at + 1
  return "$"
end

-- ---- Words ------------------------------------------------------------------------------------------------------------------

--- A word in the making: pieces, and words that an expansion completed.
local function new_word()
  return { pieces = {}, is_dynamic = false, has_glob = false, is_quoted = false, is_begun = false }
end

local function add(word, text)
  word.pieces[#word.pieces + 1] = text
  word.is_begun = true
end

local function finished(word)
  return {
    text = table.concat(word.pieces),
    is_dynamic = word.is_dynamic or nil,
    has_glob = word.has_glob or nil,
    is_quoted = word.is_quoted or nil,
    assigned = word.assigned,
  }
end

--- An expansion's value in a word: unquoted it is split at white space.
local function add_value(word, value, is_quoted, done)
  if value == nil then
    word.is_dynamic, word.is_begun = true, true
  elseif type(value) == "table" then
    for i, item in ipairs(value) do
      add(word, item)
      if i < #value then
        done[#done + 1] = finished(word)
        word.pieces = {}
      end
    end
  elseif is_quoted then
    add(word, value)
  else
    local first = true
    for item in value:gmatch("[^ \t\n]+") do
      if not first then
        done[#done + 1] = finished(word)
        word.pieces = {}
      end
      add(word, item)
      word.has_glob = word.has_glob or item:find("[*?%[]") ~= nil
      first = false
    end
  end
end

local function double_quoted(self, word, done)
  self.at = self.at + 1
  word.is_begun, word.is_quoted = true, true
  while true do
    local letter = self.text:sub(self.at, self.at)
    if letter == "" then
      nested.fail(self)
      return
    elseif letter == '"' then
      self.at = self.at + 1
      return
    elseif letter == "\\" then
      local following = self.text:sub(self.at + 1, self.at + 1)
      if following:find('[$`"\\]') then
        add(word, following)
      elseif following ~= "\n" then
        add(word, "\\" .. following)
      end
      self.at = self.at + 2
    elseif letter == "$" then
      add_value(word, expansion(self), true, done)
    elseif letter == "`" then
      nested.read_backquoted(self)
      word.is_dynamic = true
    else
      local plain = self.text:match('^[^"\\$`]+', self.at)
      add(word, plain)
      self.at = self.at + #plain
    end
  end
end

--- {a,b} and {1..3} make several words; each alternative is one.
local function braces(text, left)
  left = left or { count = 64 }
  local before, inner, after = text:match("^(.-)(%b{})(.*)$")
  if not inner or not inner:find(",", 1, true) then
    return { text }
  end
  local parts, depth, part = {}, 0, {}
  for letter in inner:sub(2, -2):gmatch(".") do
    if letter == "," and depth == 0 then
      parts[#parts + 1] = table.concat(part)
      part = {}
    else
      depth = depth + (letter == "{" and 1 or letter == "}" and -1 or 0)
      part[#part + 1] = letter
    end
  end
  parts[#parts + 1] = table.concat(part)
  local words = {}
  for _, choice in ipairs(parts) do
    left.count = left.count - 1
    if left.count < 0 then
      return words
    end
    for _, word in ipairs(braces(before .. choice .. after, left)) do
      words[#words + 1] = word
    end
  end
  return words
end

local function single_quoted(self, word)
  local last = self.text:find("'", self.at + 1, true)
  if not last then
    nested.fail(self)
    return
  end
  add(word, self.text:sub(self.at + 1, last - 1))
  word.is_quoted = true
  self.at = last + 1
end

local function escaped(self, word)
  local following = self.text:sub(self.at + 1, self.at + 1)
  if following ~= "\n" then
    add(word, following)
    word.is_quoted = true
  end
  self.at = self.at + 2
end

local function dollar(self, word, done)
  local following = self.text:sub(self.at + 1, self.at + 1)
  if following == "'" then
    self.at = self.at + 2
    add(word, ansi_quoted(self))
    word.is_quoted = true
  elseif following == '"' then
    self.at = self.at + 1
  else
    add_value(word, expansion(self), false, done)
  end
end

local function plain(self, word, letter, done)
  if letter == "=" and not word.is_quoted and not word.is_dynamic and not word.assigned and #done == 0 then
    word.assigned = table.concat(word.pieces):match("^([%a_][%w_]*)%+?$")
  end
  word.has_glob = word.has_glob or letter:find("[*?%[]") ~= nil
  word.has_brace = word.has_brace or letter == "{"
  add(word, letter)
  self.at = self.at + 1
end

--- One piece of a word, however it is quoted. `at` is on it.
local function read_piece(self, word, letter, done)
  if letter == "'" then
    single_quoted(self, word)
  elseif letter == '"' then
    double_quoted(self, word, done)
  elseif letter == "\\" then
    escaped(self, word)
  elseif letter == "`" then
    nested.read_backquoted(self)
    word.is_dynamic, word.is_begun = true, true
  elseif letter == "$" then
    dollar(self, word, done)
  else
    plain(self, word, letter, done)
  end
end

--- <(...) and >(...) where a word begins: a name that the shell makes.
---@return boolean? is_one
local function read_process(self, word)
  if not word.is_begun and self.text:find("^[<>]%(", self.at) then
    self.at = self.at + 2
    self:read_inner(nested.until_closed(self))
    word.is_dynamic, word.is_begun = true, true
    return true
  end
end

--- A word that is complete: its alternatives in braces are words.
local function finish(word, done)
  local last = finished(word)
  if word.has_brace and last.text:find("{[^}]*%.%.[^}]*}") then
    last.is_dynamic = true
  end
  if not word.has_brace or last.is_dynamic then
    done[#done + 1] = last
    return
  end
  for _, text in ipairs(braces(last.text)) do
    done[#done + 1] = { text = text, has_glob = last.has_glob }
  end
end

--- One word, which an expansion may have made several; none when nothing stands here.
---@param self procage.ShellReader
---@return procage.ShellWord[]
function M.read(self)
  local word, done = new_word(), {}
  while self.at <= #self.text do
    local letter = self.text:sub(self.at, self.at)
    if not letter:find("[%s;&|()<>]") then
      read_piece(self, word, letter, done)
    elseif not read_process(self, word) then
      break
    end
  end
  if word.is_begun and (#word.pieces > 0 or word.is_quoted or word.is_dynamic) then
    finish(word, done)
  end
  return done
end

return M
