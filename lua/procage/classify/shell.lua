--- A line of shell taken apart as sh reads it, so far as that can be done before it runs: which commands, with which words, to
--- which files. What a word will be that only running tells is marked so.
--- Source: POSIX.1-2017, Shell & Utilities 2.2 to 2.10; bash(1) for $'...', {a,b}, &>, <<<.

local nested = require("procage.classify.shell.nested")
local variables = require("procage.classify.shell.variables")
local words_of = require("procage.classify.shell.words")

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
---@field depth integer  of substitutions that are commands
---@field level integer  of those in texts that are none
---@field nesting integer  of parentheses
---@field facts procage.ShellFacts
local Reader = {}
Reader.__index = Reader

--- Commands of a substitution are commands of the script.
---@param text string
function Reader:read_inner(text)
  if self.depth >= 16 then
    nested.fail(self)
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

local function close(self)
  local command = self.command
  variables.close(self, command)
  if #command.words > 0 or #command.assigns > 0 or #command.redirects > 0 then
    self.commands[#self.commands + 1] = command
  end
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
      nested.read_all(self, item.command.heredoc)
    end
  end
end

--- The longer ones first.
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
  return words_of.read(self)
end

local function copy_of(map)
  local copy = {}
  for key, value in pairs(map or {}) do
    copy[key] = value
  end
  return copy
end

--- Reads a line twice: what it sets anywhere is known only when all of it was read.
---@param text string
---@param given? { variables?: table, arguments?: table }
---@return procage.ShellScript
function M.take_apart(text, given)
  given = given or {}
  local facts = variables.new_facts()
  M.read(text, { variables = copy_of(given.variables), arguments = given.arguments, facts = facts })
  facts.values = {}
  return M.read(text, { variables = copy_of(given.variables), arguments = given.arguments, facts = facts })
end

--- The command that is being read is complete; the next one begins.
local function next_command(self, is_piped)
  close(self)
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
  local target = words_of.read(self)[1] or { text = "", is_dynamic = true }
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
    local appends, value = word.text:match("(%+?)=(.*)$")
    local is_known = not word.is_dynamic and appends == ""
    table.insert(command.assigns, { name = word.assigned, word = { text = value, is_dynamic = not is_known or nil } })
  elseif not word.is_quoted and (word.text == "for" or word.text == "select") then
    variables.forget(self, read_word_after_space(self))
    command.words[1] = { text = ":" }
  elseif word.is_quoted or not (KEYWORDS[word.text] or CLOSERS[word.text]) then
    command.words[1] = word
  end
end

local function read_words(self)
  local found = words_of.read(self)
  local last = found[#found]
  if last and last.text:sub(-1) == "=" and self.text:sub(self.at, self.at) == "(" then
    -- An array, whose first value the name alone stands for.
    last.is_dynamic = true
  end
  for _, word in ipairs(found) do
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
    nested.fail(self)
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
    level = 0,
    nesting = 0,
    facts = given.facts or variables.new_facts(),
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
  close(self)
  read_heredocs(self, self.pending)
  return { commands = self.commands, is_whole = not self.is_broken, variables = self.variables }
end

return M
