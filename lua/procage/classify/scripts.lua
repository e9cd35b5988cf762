--- Lines of shell, every command in them: what `sh -c` is given, eval, here-documents, pipes into a shell.

local list = require("procage.list")
local path = require("procage.path")
local shell = require("procage.classify.shell")
local words_of = require("procage.classify.words")
local wrappers = require("procage.classify.wrappers")

local M = {}

local MAX_DEPTH, MAX_COMMANDS, MAX_DIRECTORIES = 16, 2000, 16

--- What a shell does itself, and is harmless.
M.BUILTINS = words_of.set(": cd pushd popd dirs exit return break continue shift unset read wait umask local readonly let "
  .. "jobs fg bg times getopts ulimit [[ ]] ] function in case logout history fc suspend compgen mapfile readarray shopt")

-- ---- The commands of a line -------------------------------------------------------------------------------------------------

--- The word that cd is given.
local function target_of(words)
  for i = 2, #words do
    if words[i].text == "-" or words[i].text:sub(1, 1) ~= "-" then
      return words[i]
    end
  end
end

local function change_directory(self, words, ctx)
  local target = target_of(words)
  if target and (target.is_dynamic or target.text == "-") then
    self:add("ask", "unknowable", "where it goes on is known only when it runs", target.text)
    return
  end
  local text = target and target.text or "~"
  -- A subshell's cd does not hold behind it: each directory that may be the current one is kept.
  for _, cwd in ipairs(list.append({}, ctx.cwds)) do
    if #ctx.cwds >= MAX_DIRECTORIES then
      self:add("denied", "unreadable", "it changes the directory too often", text)
      return
    end
    ctx.cwds[#ctx.cwds + 1] = path.join(cwd, path.expand_home(text, self.home))
  end
  self:check_cwd(ctx)
end

local function look_redirects(self, command, ctx)
  for _, redirect in ipairs(command.redirects) do
    if redirect.op:find(">", 1, true) then
      self:look_file("write", redirect.word, ctx)
    else
      self:look_read(redirect.word, ctx)
    end
  end
end

--- alias NAME=TEXT: looked at where it stands, and known by its name behind that.
local function take_aliases(self, words, ctx, aliases)
  for i = 2, #words do
    local name, value = words[i].text:match("^([^=]+)=(.*)$")
    if name then
      aliases[name] = value
      self:look_script(value, ctx)
    end
  end
end

local function look_words(self, words, ctx, aliases)
  local first = words[1]
  local alias = not first.is_quoted and aliases[first.text]
  if alias then
    return self:look_script(alias .. " " .. words_of.text(words_of.from(words, 2)), ctx)
  elseif first.text == "alias" then
    take_aliases(self, words, ctx, aliases)
  elseif first.text == "cd" or first.text == "pushd" then
    change_directory(self, words, ctx)
  end
  self:look(words, ctx)
end

local function look_commands(self, commands, ctx)
  local aliases = {}
  for _, command in ipairs(commands) do
    self.count = self.count + 1
    if self.count > MAX_COMMANDS then
      self:add("denied", "unreadable", "more commands than are looked at")
      return
    end
    for _, assign in ipairs(command.assigns) do
      wrappers.look_variable(self, assign.name)
    end
    look_redirects(self, command, ctx)
    ctx.heredoc, ctx.is_piped = command.heredoc, command.is_piped
    if command.words[1] then
      look_words(self, command.words, ctx, aliases)
    end
  end
end

--- A line of shell, every command in it.
---@param self procage.ClassifyCommand
---@param text string
---@param ctx table
---@param arguments? string[]  $0, $1 and on
function M.look(self, text, ctx, arguments)
  ctx = self:inner_context(ctx)
  ctx.in_shell = true
  if ctx.depth > MAX_DEPTH then
    self:add("denied", "unreadable", "commands in commands in commands, too deep to be told", nil)
    return
  end
  local variables = {}
  for name, value in pairs(self.variables) do
    variables[name] = value
  end
  variables.HOME, variables.PWD = self.home, ctx.cwds[1]
  local script = shell.take_apart(text, { arguments = arguments, variables = variables })
  if not script.is_whole then
    self:add("denied", "unreadable", "a line of shell that cannot be taken apart: too long, or a quote or bracket is open")
  end
  look_commands(self, script.commands, ctx)
end

-- ---- Who is given a line ----------------------------------------------------------------------------------------------------

---@class procage.ShellWords
---@field at integer  where the script stands, or its name
---@field has_text boolean  -c: it is the script itself
---@field reads_input boolean  -s

--- The options of a shell, before its script.
---@return procage.ShellWords
local function shell_options(self, words, ctx)
  local found, i = { has_text = false, reads_input = false }, 2
  while words[i] do
    local text = words[i].text
    if text == "--" then
      i = i + 1
      break
    elseif text == "--rcfile" or text == "--init-file" then
      i = i + 1
      if words[i] then
        self:look_read(words[i], ctx)
      end
    elseif text:find("^%-%-") then
      found.has_text = found.has_text or text == "--command"
    elseif text:find("^[-+]%a") then
      found.has_text = found.has_text or text:find("^%-%a*c") ~= nil
      found.reads_input = found.reads_input or text:find("^%-%a*s") ~= nil
      i = text:find("[oO]$") and i + 1 or i
    else
      break
    end
    i = i + 1
  end
  found.at = i
  return found
end

--- sh -c TEXT NAME ARGUMENT...
local function look_text(self, words, at, ctx)
  local script = words[at]
  if script.is_dynamic then
    self:add("denied", "unknowable", "a line of shell that is known only when it runs", script.text)
    return
  end
  local arguments = {}
  for i = at + 1, #words do
    arguments[i - at - 1] = words[i].text
  end
  self:look_script(script.text, ctx, arguments)
end

--- The script in a shell's words, in a file, or on its standard input.
---@param self procage.ClassifyCommand
---@param words procage.Word[]
---@param ctx table
function M.look_shell(self, words, ctx)
  local found = shell_options(self, words, ctx)
  local script = words[found.at]
  if found.has_text and script then
    look_text(self, words, found.at, ctx)
  elseif found.has_text and ctx.appends or script and script.is_dynamic then
    self:add("denied", "unknowable", "a script that is known only when it runs", words_of.text(words))
  elseif script and not found.reads_input then
    self:look_read(script, ctx)
  elseif ctx.heredoc then
    self:look_script(ctx.heredoc, ctx)
  elseif ctx.is_piped then
    self:add("denied", "unknowable", "a shell that runs what another command writes", words_of.text(words))
  end
end

--- eval, trap: their words are a script.
---@param self procage.ClassifyCommand
---@param name string
---@param words procage.Word[]
---@param ctx table
function M.look_eval(self, name, words, ctx)
  local texts = {}
  for i = 2, name == "trap" and math.min(2, #words) or #words do
    if words[i].is_dynamic then
      self:add("denied", "unknowable", "a line of shell that is known only when it runs", words_of.text(words))
      return
    end
    texts[#texts + 1] = words[i].text
  end
  self:look_script(table.concat(texts, " "), ctx)
end

--- source, and `.`: whether the file is one that the line itself makes up.
---@param self procage.ClassifyCommand
---@param words procage.Word[]
---@return boolean is_decided
function M.look_source(self, words)
  local file = words[2]
  if not file or not (file.is_dynamic or file.text:find("^/+dev/") or file.text:find("^/+proc/")) then
    return false
  end
  self:add("denied", "unknowable", "a script that is known only when it runs", words_of.text(words))
  return true
end

return M
