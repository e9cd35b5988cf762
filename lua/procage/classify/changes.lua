--- Listed programs that change files: which of their words name those, and what a copy into a directory makes there.

local disk = require("procage.disk")
local named = require("procage.classify.named")
local path = require("procage.path")
local words_of = require("procage.classify.words")

local M = {}

M.RECURSIVE = { "-r", "-R", "--recursive" }

-- ---- Copies, moves, links ---------------------------------------------------------------------------------------------------

--- -t DIR, wherever it stands; and the operands that are then sources.
---@return procage.Word? target
---@return procage.Word[] sources
local function named_target(operands, words)
  local target, sources = nil, operands
  for i = 2, #words do
    local text = words[i].text
    local value = text:match("^%-%-target%-directory=(.*)$") or text:match("^%-%a-t(.+)$")
    if not value and (text == "--target-directory" or text:find("^%-%a-t$")) and words[i + 1] then
      value = words[i + 1].text
      sources = {}
      for _, operand in ipairs(operands) do
        if operand ~= words[i + 1] then
          sources[#sources + 1] = operand
        end
      end
    end
    target = target or value and { text = value, is_dynamic = words[i].is_dynamic }
  end
  return target, sources
end

---@return procage.Word? target
---@return procage.Word[] sources
local function ends_of(name, operands, words)
  local target, sources = named_target(operands, words)
  if target then
    return target, sources
  elseif name == "ln" and #operands == 1 then
    -- `ln x` makes ./x.
    return { text = "." }, operands
  end
  return operands[#operands], table.move(operands, 1, #operands - 1, 1, {})
end

--- What stands for a whole directory: ., .., a/.., /.
local function is_whole(text, base)
  return text:find("^%.%.?/*$") or text:find("/%.%.?/*$") or base == "/"
end

--- A copy into a directory has the source's name there.
local function look_copy(self, source, directory, words, ctx)
  if words_of.has_option(words, 2, { "--parents" }) then
    self:look_file("write", { text = path.join(directory, "./" .. source.text) }, ctx)
  end
  for _, full in ipairs(named.names(self, source.text, source.has_glob, ctx)) do
    local base = path.basename(full)
    if is_whole(source.text, base) then
      self:add("ask", "whole-tree", "copies a whole directory over another", source.text)
    else
      self:look_file("write", { text = path.join(directory, base) }, ctx)
    end
  end
end

---@param takes boolean  the sources are gone then
local function look_targets(self, name, operands, words, ctx, takes)
  local target, sources = ends_of(name, operands, words)
  if not target then
    return
  end
  self:look_file("write", target, ctx)
  for _, cwd in ipairs(ctx.cwds) do
    local directory = path.join(cwd, path.expand_home(target.text, self.home))
    local is_directory = disk.kind((disk.resolve(directory))) == "directory"
    if is_directory and words_of.has_option(words, 2, { "-T", "--no-target-directory" }) then
      self:add("ask", "whole-tree", "copies a whole directory over another", target.text)
    end
    for _, source in ipairs(is_directory and sources or {}) do
      look_copy(self, source, directory, words, ctx)
    end
  end
  for _, source in ipairs(sources) do
    if takes then
      self:look_file("delete", source, ctx)
    end
    self:look_read(source, ctx)
  end
end

-- ---- The others -------------------------------------------------------------------------------------------------------------

local REMOVES = words_of.set("rm rmdir unlink")

--- Each operand is changed.
local function look_each(self, name, operands, words, ctx)
  -- What is done to a directory and all in it is done to what it holds.
  local is_deep = name == "chmod" and words_of.has_option(words, 2, M.RECURSIVE)
  for _, operand in ipairs(operands) do
    self:look_file(REMOVES[name] and "delete" or "write", operand, ctx)
    if is_deep then
      self:look_file("delete", operand, ctx)
    end
  end
end

--- A command whose row says that it changes files.
---@param self procage.ClassifyCommand
---@param name string
---@param row procage.AllowedRule
---@param words procage.Word[]
---@param ctx table
function M.look(self, name, row, words, ctx)
  local operands = words_of.operands(words, 2)
  if row.pattern_first then
    table.remove(operands, 1)
  end
  if name == "mv" or name == "rename" then
    look_targets(self, name, operands, words, ctx, true)
  elseif row.change == "last" and (name == "uniq" or name == "xxd") then
    look_each(self, name, words_of.from(operands, 2), words, ctx)
  elseif row.change == "last" then
    look_targets(self, name, operands, words, ctx, false)
  else
    look_each(self, name, operands, words, ctx)
  end
  if name == "rm" and words_of.has_option(words, 2, M.RECURSIVE) then
    self:add("ask", "recursive-remove", "removes directories with all that is in them", words_of.text(words))
  end
end

--- The file that a word gives to an option, glued, behind `=`, or as the next word.
local function output_of(text, following, option, is_exact)
  local is_letter = #option == 2
  local glued = is_letter and (text:match("^" .. "%" .. option .. "(.+)$")
    or not is_exact and text:match("^%-%a*" .. option:sub(2) .. "(.+)$"))
  if glued then
    return { text = glued }
  elseif text:find("=", 1, true) and words_of.is_option(text, option) then
    return { text = text:match("=(.*)$") }
  elseif following and (text == option or words_of.is_option(text, option, is_exact)) then
    return following
  end
end

--- Options that name a file to write, of a row without a list of options.
---@param self procage.ClassifyCommand
---@param row procage.AllowedRule
---@param words procage.Word[]
---@param ctx table
function M.look_outputs(self, row, words, ctx)
  for _, option in ipairs(row.writes or {}) do
    for i = 2, #words do
      local target = output_of(words[i].text, words[i + 1], option, row.has_long_letters)
      if target then
        self:look_file("write", target, ctx)
      end
    end
  end
end

return M
