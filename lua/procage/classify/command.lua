--- What the rules say of a command: of its program, of the one that is really there and, in the other rooms, of the commands
--- in its words and of the files that it names.

local executables = require("procage.executable")
local git = require("procage.classify.git")
local list = require("procage.list")
local listed = require("procage.classify.listed")
local named = require("procage.classify.named")
local own = require("procage.classify.own")
local path = require("procage.path")
local rows = require("procage.classify.rows")
local scripts = require("procage.classify.scripts")
local words_of = require("procage.classify.words")
local wrappers = require("procage.classify.wrappers")

---@class procage.ClassifyCommand
---@field rules table
---@field index table  of rows.index
---@field files procage.ClassifyFiles
---@field home string
---@field variables table<string, string>
---@field found table[]
local Command = {}
Command.__index = Command

-- What the rooms ask of each other.
Command.check_cwd, Command.look_file, Command.look_read = named.check_cwd, named.look_file, named.look_read
Command.look_hidden_write, Command.look_script = named.look_hidden_write, scripts.look
Command.look_variable = wrappers.look_variable

local M = { index = rows.index }

local MAX_DEPTH, MAX_WORDS = 16, 4096

---@param parts { rules: table, index: table, files: procage.ClassifyFiles, home: string, variables: table<string, string>,
---  workspace: string, write: string[] }
---@return procage.ClassifyCommand
function M.new(parts)
  return setmetatable({
    rules = parts.rules,
    index = parts.index,
    files = parts.files,
    home = parts.home,
    variables = parts.variables,
    workspace = parts.workspace,
    write = parts.write,
    found = {},
    count = 0,
  }, Command)
end

---@param decision "denied"|"ask"|"allowed"
---@param rule string
---@param reason string
---@param object? string
function Command:add(decision, rule, reason, object)
  self.found[#self.found + 1] = { decision = decision, rule = rule, reason = reason, object = object }
end

--- For a command in the words of another one.
---@param ctx table
---@return table
function Command:inner_context(ctx)
  return {
    cwds = list.append({}, ctx.cwds),
    depth = ctx.depth + 1,
    appends = ctx.appends,
    in_shell = ctx.in_shell,
    heredoc = ctx.heredoc,
    is_piped = ctx.is_piped,
  }
end

-- ---- A program by its name --------------------------------------------------------------------------------------------------

--- Programs that are many: which one, the first word says.
local MULTI = words_of.set("busybox toybox coreutils")

--- `python -m pytest` is as pytest is.
local function look_module(self, module, words, ctx)
  self:add("allowed", "listed", "tests or checks the project")
  local row = rows.allowed(self.index, module)
  if row then
    listed.look(self, module, row, words_of.from(words, 3), ctx)
  end
  listed.look_reads(self, nil, words, ctx)
end

--- Programs that run others: git, shells, wrappers, what a shell does itself.
---@return boolean is_one
local function look_runner(self, name, words, ctx)
  local wrapper = rows.wrapper(self.index, name)
  if rows.is_git(name) then
    git.look(self, words, ctx)
  elseif rows.is_shell(self.index, name) then
    scripts.look_shell(self, words, self:inner_context(ctx))
  elseif wrapper then
    -- Alone it runs nothing.
    wrappers.look(self, rows.names(name)[1], wrapper, words, ctx)
  elseif name == "mapfile" or name == "readarray" then
    -- Their -C is run as they read.
    wrappers.look_texts(self, "C", words, ctx)
  elseif name == "eval" or name == "trap" then
    scripts.look_eval(self, name, words, ctx)
  else
    return (name == "source" or name == ".") and scripts.look_source(self, words)
  end
  return true
end

--- Programs that are looked at for their files.
---@return boolean is_known
local function look_listed(self, name, words, ctx)
  local row = rows.allowed(self.index, name)
  if own.programs[name] then
    own.programs[name](self, words, ctx)
    return true
  elseif row then
    listed.look(self, name, row, words, ctx)
    listed.look_reads(self, row, words, ctx)
    return true
  elseif ctx.in_shell and scripts.BUILTINS[name] then
    self:add("allowed", "listed", "the shell's own")
    return true
  end
  listed.look_reads(self, nil, words, ctx)
  return false
end

--- What there is to say of the program by one of its names.
---@return boolean is_known
local function look_named(self, name, words, ctx)
  local module = own.python_module(name, words)
  if module then
    look_module(self, module, words, ctx)
    return true
  end
  local row = rows.program(self.index, name)
  if row then
    self:add(row.decision, row.id, row.reason, name)
    if row.decision == "denied" then
      return true
    end
  end
  return look_runner(self, name, words, ctx) or look_listed(self, name, words, ctx) or row ~= nil
end

-- ---- A program that is there ------------------------------------------------------------------------------------------------

--- `ls` may be a link to something else: whether the rules know that by another row.
local function is_other(self, name, real)
  local row = rows.program(self.index, real)
  return rows.is_git(real) and not rows.is_git(name)
    or rows.is_shell(self.index, real) and not rows.is_shell(self.index, name)
    or row ~= nil and rows.program(self.index, name) ~= row
end

--- The file that would be executed.
---@return boolean is_known
local function look_resolved(self, found, name, words, ctx, is_known)
  local real = path.basename(found.path):lower()
  if path.resolved_tree_of(found.path, self.write) then
    self:add("ask", "workspace-program", "a program that commands can write", found.path)
    is_known = true
  end
  if real ~= name and not (MULTI[real] and is_known) and is_other(self, name, real) then
    return look_named(self, real, words, ctx) or is_known
  end
  return is_known
end

--- What forbids to look further: no program, or one that nobody can tell.
---@return boolean is_decided
local function refuses(self, first, ctx)
  if ctx.depth > MAX_DEPTH then
    self:add("denied", "unreadable", "commands in commands in commands, too deep to be told")
  elseif first.is_dynamic or first.has_glob and not scripts.BUILTINS[first.text] and first.text ~= "[" then
    self:add("denied", "unknowable", "which program it is, is known only when it runs: name it", first.text)
  elseif first.text == "" then
    self:add("ask", "unlisted", "no program is named")
  else
    return false
  end
  return true
end

--- Words that become a command: the program that they name, and the one that is really there.
---@param words procage.Word[]
---@param ctx table
function Command:look(words, ctx)
  local first = words[1]
  if not first or refuses(self, first, ctx) then
    return
  end
  local name, found = path.basename(first.text):lower(), nil
  if not (ctx.in_shell and scripts.BUILTINS[name]) then
    found = executables.find(path.expand_home(first.text, self.home), ctx.cwds[1], self.variables)
  end
  local is_known = look_named(self, name, words, ctx)
  if found then
    is_known = look_resolved(self, found, name, words, ctx, is_known)
  end
  if not is_known then
    self:add("ask", "unlisted", "it is not listed as needing no question", first.text)
  end
end

---@param argv string[]
---@param cwd string  absolute
function Command:look_call(argv, cwd)
  if #argv > MAX_WORDS then
    self:add("denied", "unreadable", "more words than are looked at")
    return
  end
  local ctx = { cwds = { cwd }, depth = 0 }
  self:check_cwd(ctx)
  self:look(words_of.of(argv), ctx)
end

return M
