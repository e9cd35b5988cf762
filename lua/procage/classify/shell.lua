--- A line of shell taken apart as sh reads it, so far as that can be done before it runs: which commands, with which words, to
--- which files. What a word will be that only running tells is marked so.
--- Source: POSIX.1-2017, Shell & Utilities 2.2 to 2.10; bash(1) for $'...', {a,b}, &>, <<<.

local M = {}

--- Longer ones are no line that anybody reads before allowing it.
M.max_bytes = 65536

local MAX_WORDS = 4096

---@class procage.ShellWord
---@field text string  as far as it is known
---@field is_dynamic? boolean  an expansion in it is known to the shell alone
---@field has_glob? boolean  an unquoted * ? or [
---@field is_quoted? boolean
---@field assigned? string  NAME=... stands here, the name unquoted

---@class procage.ShellCommand
---@field words procage.ShellWord[]
---@field assigns { name: string, word: procage.ShellWord }[]
---@field redirects { op: string, word: procage.ShellWord }[]
---@field heredoc? string  what it reads
---@field is_piped? boolean  it reads what the command before it writes

---@class procage.ShellScript
---@field commands procage.ShellCommand[]  in their order, those of substitutions first
---@field is_whole boolean  false: it is not well-formed, or too long

---@class procage.ShellReader
---@field text string
---@field at integer
---@field variables table<string, string|false>  false: set, and not known
---@field arguments string[]  $1 ...; [0] is $0
---@field commands procage.ShellCommand[]
---@field depth integer
local Reader = {}
Reader.__index = Reader

local ANSI = { n = "\n", t = "\t", r = "\r", a = "\a", b = "\b", f = "\f", v = "\v", e = "\27", E = "\27", ["\\"] = "\\" }

local function fail(self)
  self.is_broken = true
  self.at = #self.text + 1
end

--- $'...': its letters. `at` is behind the first quote.
local function ansi_quoted(self)
  local out = {}
  while true do
    local letter = self.text:sub(self.at, self.at)
    if letter == "" then
      fail(self)
      break
    elseif letter == "'" then
      self.at = self.at + 1
      break
    elseif letter ~= "\\" then
      out[#out + 1] = letter
      self.at = self.at + 1
    else
      local digits, after = self.text:match("^\\x(%x%x?)()", self.at)
      local base = 16
      if not digits then
        digits, after = self.text:match("^\\([0-7][0-7]?[0-7]?)()", self.at)
        base = 8
      end
      if not digits then
        digits, after = self.text:match("^\\[uU](%x+)()", self.at)
        base = 16
      end
      if digits then
        local code = tonumber(digits:sub(1, 8), base) or 0
        out[#out + 1] = code < 256 and string.char(code) or code < 0x7fffffff and utf8.char(code) or ""
        self.at = after
      else
        local following = self.text:sub(self.at + 1, self.at + 1)
        out[#out + 1] = ANSI[following] or following
        self.at = self.at + 2
      end
    end
  end
  return table.concat(out)
end

local until_closed

--- Passes by what stands in double quotes, substitutions in it as a whole; `at` is on the first one.
local function pass_quotes(self)
  self.at = self.at + 1
  while self.at <= #self.text do
    local letter = self.text:sub(self.at, self.at)
    if letter == "\\" then
      self.at = self.at + 1
    elseif letter == '"' then
      return
    elseif letter == "$" and self.text:sub(self.at + 1, self.at + 1) == "(" then
      self.at = self.at + 2
      until_closed(self)
      self.at = self.at - 1
    end
    self.at = self.at + 1
  end
end

--- Words behind which a command begins.
local BEFORE_COMMAND = {
  ["then"] = true, ["do"] = true, ["else"] = true, ["elif"] = true, ["if"] = true, ["while"] = true, ["until"] = true,
  ["!"] = true, ["time"] = true, ["in"] = true,
}

--- Whether a command begins at `at`, in a text that begins at `start`.
local function begins_command(self, start, at)
  local before = self.text:sub(math.max(start, at - 64), at - 1)
  local word = before:match("([^%s;&|(){}]+)[ \t]+$")
  return before:find("^[ \t]*$") ~= nil or before:find("[;&|(){\n][ \t]*$") ~= nil
    or word ~= nil and BEFORE_COMMAND[word] == true
end

--- The text up to the parenthesis that closes; `at` is behind the one that opens. Quotes in it are passed by, and the
--- parentheses behind the patterns of a case.
function until_closed(self)
  local start, depth, cases = self.at, 1, 0
  self.nesting = (self.nesting or 0) + 1
  if self.nesting > 100 then
    fail(self)
  end
  while self.at <= #self.text do
    local letter = self.text:sub(self.at, self.at)
    if letter == "\\" then
      self.at = self.at + 1
    elseif letter == "'" then
      self.at = self.text:find("'", self.at + 1, true) or #self.text
    elseif letter == '"' then
      pass_quotes(self)
    elseif letter == "c" and self.text:find("^case%s", self.at) and begins_command(self, start, self.at) then
      cases = cases + 1
    elseif letter == "e" and cases > 0 and self.text:find("^esac%f[^%w_]", self.at)
      and begins_command(self, start, self.at) then
      cases = cases - 1
    elseif letter == "(" then
      depth = depth + 1
    elseif letter == ")" then
      depth = depth - 1
      if depth == 0 and cases > 0 then
        depth = 1
      elseif depth == 0 then
        self.at = self.at + 1
        self.nesting = self.nesting - 1
        return self.text:sub(start, self.at - 2)
      end
    end
    self.at = self.at + 1
  end
  fail(self)
  return self.text:sub(start)
end

--- Commands of a substitution are commands of the script.
local function read_inner(self, text)
  if self.depth >= 16 then
    fail(self)
    return
  end
  local inner = M.read(text, {
    variables = self.variables, arguments = self.arguments, depth = self.depth + 1, facts = self.facts,
  })
  if not inner.is_whole then
    self.is_broken = true
  end
  for _, command in ipairs(inner.commands) do
    self.commands[#self.commands + 1] = command
  end
end

--- What begins with a dollar. `at` is on it. Gives the text that is known, or nil for what is not; and whether it stands for
--- several words.
---@return string?|string[] value
local function expansion(self)
  local text = self.text
  local following = text:sub(self.at + 1, self.at + 1)
  if following == "(" then
    self.at = self.at + 2
    local is_number = text:sub(self.at, self.at) == "("
    local inner = until_closed(self)
    -- $((1 + 2)) is a number; $( (a) ) is a command.
    if not is_number or not inner:find("%)$") then
      read_inner(self, inner)
    else
      for substitution in inner:gmatch("%$(%b())") do
        read_inner(self, substitution:sub(2, -2))
      end
    end
    return nil
  end
  local name, after = text:match("^%$([%a_][%w_]*)()", self.at)
  if not name then
    name, after = text:match("^%${([%a_][%w_]*)}()", self.at)
  end
  if not name then
    name, after = text:match("^%$([%d@*#?$!-])()", self.at)
  end
  if not name then
    name, after = text:match("^%${([%d]+)}()", self.at)
  end
  if name then
    self.at = after
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
  elseif following == "{" then
    -- ${x:-y} and its like: what is in it may be a command.
    local inner, past = text:match("^%$(%b{})()", self.at)
    if not inner then
      fail(self)
      return nil
    end
    self.at = past
    for substitution in inner:gmatch("%$(%b())") do
      read_inner(self, substitution:sub(2, -2))
    end
    for substitution in inner:gmatch("`([^`]*)`") do
      read_inner(self, substitution)
    end
    return nil
  end
  self.at = self.at + 1
  return "$"
end

local function backquoted(self)
  local start = self.at + 1
  local i = start
  while true do
    local letter = self.text:sub(i, i)
    if letter == "" then
      fail(self)
      return
    elseif letter == "\\" then
      i = i + 1
    elseif letter == "`" then
      break
    end
    i = i + 1
  end
  self.at = i + 1
  read_inner(self, (self.text:sub(start, i - 1):gsub("\\([`\\$])", "%1")))
end

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
      fail(self)
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
      backquoted(self)
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

--- One word, which an expansion may have made several; none when nothing stands here.
---@return procage.ShellWord[]
local function read_word(self)
  local word, done, has_brace = new_word(), {}, false
  while self.at <= #self.text do
    local letter = self.text:sub(self.at, self.at)
    if letter:find("[%s;&|()<>]") then
      if (letter == "<" or letter == ">") and self.text:sub(self.at + 1, self.at + 1) == "(" and not word.is_begun then
        self.at = self.at + 2
        read_inner(self, until_closed(self))
        word.is_dynamic, word.is_begun = true, true
      else
        break
      end
    elseif letter == "'" then
      local last = self.text:find("'", self.at + 1, true)
      if not last then
        fail(self)
        break
      end
      add(word, self.text:sub(self.at + 1, last - 1))
      word.is_quoted = true
      self.at = last + 1
    elseif letter == '"' then
      double_quoted(self, word, done)
    elseif letter == "\\" then
      local following = self.text:sub(self.at + 1, self.at + 1)
      if following ~= "\n" then
        add(word, following)
        word.is_quoted = true
      end
      self.at = self.at + 2
    elseif letter == "`" then
      backquoted(self)
      word.is_dynamic, word.is_begun = true, true
    elseif letter == "$" and self.text:sub(self.at + 1, self.at + 1) == "'" then
      self.at = self.at + 2
      add(word, ansi_quoted(self))
      word.is_quoted = true
    elseif letter == "$" and self.text:sub(self.at + 1, self.at + 1) == '"' then
      self.at = self.at + 1
    elseif letter == "$" then
      add_value(word, expansion(self), false, done)
    else
      if letter == "=" and not word.is_quoted and not word.is_dynamic and not word.assigned and #done == 0 then
        word.assigned = table.concat(word.pieces):match("^([%a_][%w_]*)%+?$")
      end
      word.has_glob = word.has_glob or letter:find("[*?%[]") ~= nil
      has_brace = has_brace or letter == "{"
      add(word, letter)
      self.at = self.at + 1
    end
  end
  if word.is_begun and (#word.pieces > 0 or word.is_quoted or word.is_dynamic) then
    local last = finished(word)
    if has_brace and last.text:find("{[^}]*%.%.[^}]*}") then
      last.is_dynamic = true
    end
    if has_brace and not last.is_dynamic then
      for _, text in ipairs(braces(last.text)) do
        done[#done + 1] = { text = text, has_glob = last.has_glob }
      end
    else
      done[#done + 1] = last
    end
  end
  return done
end

--- Words that introduce a command rather than being one.
local KEYWORDS = {
  ["if"] = true, ["then"] = true, ["elif"] = true, ["else"] = true, ["while"] = true, ["until"] = true, ["do"] = true,
  ["!"] = true, ["{"] = true, ["coproc"] = true,
}

--- Words that end something, or are followed by words that are no command.
local CLOSERS = { ["fi"] = true, ["done"] = true, ["esac"] = true, ["}"] = true }

local function new_command(is_piped)
  return { words = {}, assigns = {}, redirects = {}, is_piped = is_piped or nil }
end

local function store(self, command)
  if #command.words > 0 or #command.assigns > 0 or #command.redirects > 0 then
    self.commands[#self.commands + 1] = command
  end
end

--- What a for loop or a read sets is not known.
local function forget(self, names)
  for _, word in ipairs(names) do
    if word.text:find("^[%a_][%w_]*$") then
      self.variables[word.text] = false
      self.facts.unknown[word.text] = true
    end
  end
end

--- A variable is known when every value that the line gives it is the same: loops, branches and subshells decide which one
--- holds where.
local function assign(self, name, word)
  local value = not word.is_dynamic and word.text or false
  local before = self.facts.values[name]
  if before == nil then
    before = self.variables[name]
  end
  if value == false or before ~= nil and before ~= value then
    self.facts.unknown[name] = true
  end
  self.facts.values[name] = value
  self.variables[name] = value
  -- Another IFS splits words elsewhere.
  self.facts.sets_anything = self.facts.sets_anything or name == "IFS"
end

--- Commands that set variables in ways that are not followed; those that move $1 and its like.
local SETS_ANYTHING = { eval = true, source = true, ["."] = true }
local MOVES_ARGUMENTS = { set = true, shift = true, ["function"] = true }
local SETS_NAMES = {
  read = true, mapfile = true, readarray = true, getopts = true, unset = true, printf = true, let = true, wait = true,
}

--- A command is complete: what it assigns holds for the rest.
local function close(self, command)
  -- Behind command, builtin and their like it is the same.
  for _, word in ipairs(command.words) do
    local text = word.text
    self.facts.sets_anything = self.facts.sets_anything or SETS_ANYTHING[text]
    self.facts.moves_arguments = self.facts.moves_arguments or MOVES_ARGUMENTS[text]
    if SETS_NAMES[text] then
      forget(self, command.words)
    end
  end
  local first = command.words[1] and command.words[1].text
  if first == "export" or first == "readonly" or first == "local" or first == "declare" or first == "typeset" then
    for _, word in ipairs(command.words) do
      local name, value = word.text:match("^([%a_][%w_]*)=(.*)$")
      if name then
        assign(self, name, { text = value, is_dynamic = word.is_dynamic })
      elseif word.text:find("^%-%a*n") then
        -- A name for another variable.
        self.facts.sets_anything = true
      end
    end
  end
  for _, item in ipairs(command.assigns) do
    assign(self, item.name, item.word)
  end
  store(self, command)
end

--- Bodies of here-documents begin behind the line that names them.
local function read_heredocs(self, pending)
  for _, item in ipairs(pending) do
    local lines = {}
    while self.at <= #self.text do
      local line, after = self.text:match("^([^\n]*)\n?()", self.at)
      self.at = after
      local bare = item.strips and line:gsub("^\t+", "") or line
      if bare == item.delimiter then
        break
      end
      lines[#lines + 1] = bare
    end
    item.command.heredoc = table.concat(lines, "\n")
    if not item.is_quoted then
      -- Its expansions are run too.
      local body = item.command.heredoc
      for substitution in body:gmatch("%$(%b())") do
        read_inner(self, substitution:sub(2, -2))
      end
      for substitution in body:gmatch("`([^`]*)`") do
        read_inner(self, substitution)
      end
    end
  end
end

local REDIRECTS = { "&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">" }

local function read_redirect(self)
  for _, op in ipairs(REDIRECTS) do
    if self.text:sub(self.at, self.at + #op - 1) == op then
      self.at = self.at + #op
      self.at = self.text:find("[^ \t]", self.at) or #self.text + 1
      return op
    end
  end
end

local function read_word_after_space(self)
  self.at = self.text:find("[^ \t]", self.at) or #self.text + 1
  return read_word(self)
end

local function copy_of(map)
  local copy = {}
  for key, value in pairs(map or {}) do
    copy[key] = value
  end
  return copy
end

local function new_facts()
  return { values = {}, unknown = {} }
end

--- Reads a line twice: what it sets anywhere is known only when all of it was read.
---@param text string
---@param given? { variables?: table, arguments?: table }
---@return procage.ShellScript
function M.take_apart(text, given)
  given = given or {}
  local facts = new_facts()
  M.read(text, { variables = copy_of(given.variables), arguments = given.arguments, facts = facts })
  facts.values = {}
  return M.read(text, { variables = copy_of(given.variables), arguments = given.arguments, facts = facts })
end

--- The command that is being read is complete; the next one begins.
local function next_command(self, is_piped)
  close(self, self.command)
  self.command = new_command(is_piped)
end

--- Operators that end a command, the longer ones first; whether the next one reads what it writes.
local SEPARATORS = {
  { "||" }, { "&&" }, { ";;" }, { "|&", true }, { "|", true }, { ";" }, { "&" }, { "(" }, { ")" },
}

---@return boolean? is_one
local function read_separator(self)
  for _, separator in ipairs(SEPARATORS) do
    local text = separator[1]
    if self.text:sub(self.at, self.at + #text - 1) == text then
      -- A function has arguments of its own.
      self.facts.moves_arguments = self.facts.moves_arguments or self.text:find("^%(%s*%)", self.at) ~= nil
      self.at = self.at + #text
      next_command(self, separator[2])
      return true
    end
  end
end

--- `> x`, `<< E` and their like, of the command that is being read.
local function read_redirection(self)
  local op, command = read_redirect(self), self.command
  local target = read_word(self)[1] or { text = "", is_dynamic = true }
  if op == "<<" or op == "<<-" then
    table.insert(self.pending, {
      command = command, delimiter = target.text, strips = op == "<<-", is_quoted = target.is_quoted,
    })
  elseif op == "<<<" then
    command.heredoc = not target.is_dynamic and target.text or nil
  elseif not ((op == ">&" or op == "<&") and target.text:find("^[%d-]+$")) then
    table.insert(command.redirects, { op = op, word = target })
  end
end

--- The first word of a command may be no word of it: an assignment, or one that introduces a command or ends one.
local function take_first(self, word)
  local command = self.command
  if word.assigned then
    local value = word.text:match("=(.*)$")
    table.insert(command.assigns, { name = word.assigned, word = { text = value, is_dynamic = word.is_dynamic } })
  elseif not word.is_quoted and (word.text == "for" or word.text == "select") then
    forget(self, read_word_after_space(self))
    command.words[1] = { text = ":" }
  elseif word.is_quoted or not (KEYWORDS[word.text] or CLOSERS[word.text]) then
    command.words[1] = word
  end
end

local function read_words(self)
  for _, word in ipairs(read_word(self)) do
    self.count = self.count + 1
    if #self.command.words == 0 then
      take_first(self, word)
    elseif word.text == "{" and not word.is_quoted then
      -- function f {, coproc f {: a body begins.
      next_command(self)
    else
      table.insert(self.command.words, word)
    end
  end
  if self.count > MAX_WORDS then
    fail(self)
  end
end

--- One step of a line: an operator, a redirection, a comment, or words.
local function read_step(self)
  local text, at = self.text, self.at
  local letter = text:sub(at, at)
  if letter == "\n" then
    self.at = at + 1
    next_command(self)
    local pending = self.pending
    self.pending = {}
    read_heredocs(self, pending)
  elseif letter:find("%s") then
    self.at = at + 1
  elseif letter == "#" then
    self.at = text:find("\n", at, true) or #text + 1
  elseif text:find("^&>", at) or letter:find("[<>]") and not text:find("^[<>]%(", at) then
    read_redirection(self)
  elseif not read_separator(self) then
    -- 2> and {fd}> are redirections.
    local redirection = text:match("^%d+()[<>]", at) or text:match("^{[%a_][%w_]*}()[<>]", at)
    if redirection then
      self.at = redirection
    else
      read_words(self)
    end
  end
end

---@param text string
---@param given? { variables?: table, arguments?: table, depth?: integer, facts?: table }
---@return procage.ShellScript
function M.read(text, given)
  given = given or {}
  local self = setmetatable({
    text = text,
    at = 1,
    variables = given.variables or {},
    arguments = given.arguments or {},
    commands = {},
    depth = given.depth or 0,
    facts = given.facts or new_facts(),
    command = new_command(),
    pending = {},
    count = 0,
  }, Reader)
  if #text > M.max_bytes then
    return { commands = {}, is_whole = false }
  end
  while self.at <= #text do
    read_step(self)
  end
  close(self, self.command)
  read_heredocs(self, self.pending)
  return { commands = self.commands, is_whole = not self.is_broken, variables = self.variables }
end

return M
