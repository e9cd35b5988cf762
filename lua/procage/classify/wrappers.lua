--- Commands with a command in their words: env, xargs, nice, timeout, watch, script -c.

local disk = require("procage.disk")
local env = require("procage.env")
local list = require("procage.list")
local path = require("procage.path")
local shell = require("procage.classify.shell")
local words_of = require("procage.classify.words")

local M = {}

local MAX_DEPTH = 16

--- At how many more places a command may begin, where that is not certain.
local MAX_BEGINNINGS = 32

---@param self procage.ClassifyCommand
---@param name string
function M.look_variable(self, name)
  for _, pattern in ipairs(self.rules.harmless_variables) do
    if env.matches(name, pattern) then
      return
    end
  end
  self:add("ask", "loader-variable", "it may make programs run, load or write something else", name)
end

--- Options whose value is a line of shell: script -c TEXT.
---@param self procage.ClassifyCommand
---@param letter string  of the short one
---@param words procage.Word[]
---@param ctx table
function M.look_texts(self, letter, words, ctx)
  for i = 2, #words do
    local text = words[i].text
    local value = text:match("^%-%-command=(.*)$")
    if not value and (text == "--command" or text:find("^%-%a*" .. letter .. "$")) then
      value = words[i + 1] and words[i + 1].text
    elseif not value then
      value = text:match("^%-%a*" .. letter .. "(.+)$")
    end
    if value then
      self:look_script(value, ctx)
    end
  end
end

-- ---- env --------------------------------------------------------------------------------------------------------------------

--- env -S 'git push': the text becomes words.
---@return string? text
---@return integer? used  the last word that it takes
local function split_string(words)
  for i = 2, #words do
    local text = words[i].text
    local value = text:match("^%-%-split%-string=(.*)$") or text:match("^%-%a-S(.+)$")
    local used = i
    if not value and (text == "--split-string" or text:find("^%-%a-S$")) then
      value = words[i + 1] and words[i + 1].text
      used = i + 1
    elseif not value and text:sub(1, 1) ~= "-" and not text:find("=", 1, true) then
      return nil
    end
    if value then
      return value, used
    end
  end
end

--- The words of env as they are once the text of -S is split.
local function with_split(words, text, used)
  local inner = { words[1] }
  for _, command in ipairs(shell.read(text).commands) do
    for _, assign in ipairs(command.assigns) do
      inner[#inner + 1] = { text = assign.name .. "=" .. assign.word.text }
    end
    list.append(inner, command.words)
  end
  return table.move(words, used + 1, #words, #inner + 1, inner)
end

--- env -C DIR
local function look_directories(self, words, last, ctx, inner_ctx)
  for i = 2, last do
    local text = words[i].text
    local directory = text:match("^%-%-chdir=(.*)$") or text:match("^%-C(.+)$")
      or (text == "-C" or text == "--chdir") and words[i + 1] and words[i + 1].text
    if directory then
      table.insert(inner_ctx.cwds, path.join(ctx.cwds[1], directory))
      self:check_cwd(inner_ctx)
    end
  end
end

-- ---- xargs, parallel --------------------------------------------------------------------------------------------------------

--- What xargs puts what it reads in the place of: -I R.
local function replaced_by(name, words, last)
  local replaced = { ["{}"] = true }
  for i = 2, last do
    local text = words[i].text
    local value = name == "xargs" and (text:match("^%-%a-[Ii](.+)$") or text:match("^%-%-replace=(.+)$")
      or text:find("^%-%a-I$") and words[i + 1] and words[i + 1].text)
    if value then
      replaced[value] = true
    end
  end
  return replaced
end

--- xargs -I R puts what it reads in the place of R: words with it are known only then. So are {} of parallel and find.
local function mark_replaced(name, words, first)
  local replaced = replaced_by(name, words, first - 1)
  for i = first, #words do
    local word = words[i]
    for value in pairs(replaced) do
      if word.text:find(value, 1, true) then
        words[i] = { text = word.text, is_dynamic = true }
      end
    end
  end
end

-- ---- The words of any of them -----------------------------------------------------------------------------------------------

--- The wrapper's own words. xargs -a reads, and what env sets is no file.
local function look_own(self, name, words, last, ctx)
  for i = 2, (name == "xargs" or name == "env") and 0 or last do
    local text = words[i].text
    self:look_hidden_write(text, ctx, text:find("^%-%a") ~= nil)
    if text:find("[|!]") then
      -- strace -o '|program'
      self:add("ask", "option", "it may run a program", text)
    end
  end
end

--- Where the command begins is not certain: whatever it may be is looked at for what is denied.
local function scan(self, words, first, ctx)
  local kept = self.found
  for i = first + 1, math.min(#words, first + MAX_BEGINNINGS) do
    self.found = {}
    self:look(words_of.from(words, i), self:inner_context(ctx))
    for _, item in ipairs(self.found) do
      if item.decision == "denied" then
        kept[#kept + 1] = item
      end
    end
  end
  self.found = kept
end

--- The command that begins at `first`.
local function look_inner(self, words, first, is_sure, ctx, inner_ctx)
  local inner = words_of.from(words, first)
  if inner[1].text == "-c" and inner[2] then
    self:look_script(inner[2].text, inner_ctx)
  elseif inner[1].text:find("%s") and not disk.kind(path.join(ctx.cwds[1], inner[1].text)) then
    -- watch, parallel and others give it to a shell.
    self:look_script(words_of.text(inner), inner_ctx)
  else
    self:look(inner, inner_ctx)
  end
  if not is_sure then
    scan(self, words, first, inner_ctx)
  end
end

--- What stands before the command, and the command.
local function look_words(self, name, row, words, ctx)
  local first, is_sure, assigns = words_of.inner(words, row)
  local last = (first or #words + 1) - 1
  for _, assign in ipairs(assigns) do
    M.look_variable(self, assign.text:match("^([^=]+)="))
  end
  look_own(self, name, words, last, ctx)
  local inner_ctx = self:inner_context(ctx)
  inner_ctx.appends = ctx.appends or name == "xargs" or name == "parallel"
  if name == "env" then
    look_directories(self, words, last, ctx, inner_ctx)
  end
  if not first then
    if inner_ctx.appends and name ~= "xargs" then
      self:add("denied", "unknowable", "which program it runs is known only when it runs", words_of.text(words))
    end
    return
  end
  words = words_of.from(words, 1)
  if inner_ctx.appends then
    mark_replaced(name, words, first)
  end
  if name == "parallel" and words[first].text:sub(1, 3) == ":::" then
    for i = first + 1, #words do
      self:look_script(words[i].text, inner_ctx)
    end
    return
  end
  look_inner(self, words, first, is_sure, ctx, inner_ctx)
end

---@param self procage.ClassifyCommand
---@param name string  as the rules list it
---@param row table
---@param words procage.Word[]
---@param ctx table
function M.look(self, name, row, words, ctx)
  if row.text then
    M.look_texts(self, row.text, words, ctx)
    if not row.operands then
      return
    end
  end
  if name == "command" and words[2] and words[2].text:find("^%-%a*[vV]") then
    return
  end
  local text, used
  if name == "env" then
    text, used = split_string(words)
  end
  if not text then
    return look_words(self, name, row, words, ctx)
  end
  ctx = self:inner_context(ctx)
  if ctx.depth <= MAX_DEPTH then
    M.look(self, name, row, with_split(words, text, used), ctx)
  end
end

return M
