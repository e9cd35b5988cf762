--- A listed command: what its row says of its options, its verb, the files that it changes and reads.

local changes = require("procage.classify.changes")
local options = require("procage.classify.options")
local words_of = require("procage.classify.words")

local M = {}

--- chmod u+s, install -m 4755.
local function is_set_user_id(mode)
  local octal = mode:match("^[-+=]?0*([0-7]+)$")
  if octal then
    return #octal > 3 and tonumber(octal:sub(1, -4), 8) & 6 ~= 0
  end
  for clause in mode:gmatch("[^,]+") do
    if clause:match("[-+=]([rwxXstugo]*)") and clause:find("[+=][rwxXtugo]*s") then
      return true
    end
  end
  return false
end

local function look_modes(self, words)
  for i = 2, #words do
    local mode = words[i].text:gsub("^%-%-mode=", ""):gsub("^%-m", "")
    if is_set_user_id(mode) then
      self:add("denied", "privileges", "makes a program run with its owner's rights", words_of.text(words))
    end
  end
end

--- An option with which it may do more than what the row is listed for.
local function look_asks(self, row, words)
  local asked = row.asks or {}
  local found = words_of.has_option(words, 2, asked, row.has_long_letters)
  for i = 2, row.has_long_letters and #words or 0 do
    for _, option in ipairs(asked) do
      found = found or #option == 2 and words[i].text:sub(1, 2) == option and option
    end
  end
  if found then
    self:add("ask", "option", ("with %s it may do more"):format(found), words_of.text(words))
  end
end

--- cargo +nightly test: what begins with + is no verb.
local function verb_of(words)
  for _, operand in ipairs(words_of.operands(words, 2)) do
    if operand.text:sub(1, 1) ~= "+" then
      return operand
    end
  end
  return words[2]
end

local function look_verbs(self, name, row, words)
  local known, verb = words_of.set(row.subcommands), verb_of(words)
  for _, operand in ipairs(row.all_verbs and words_of.operands(words, 2) or {}) do
    if not known[operand.text] then
      self:add("ask", "unlisted", ("%s %s is not listed"):format(name, operand.text), words_of.text(words))
    end
  end
  if not verb or verb.is_dynamic or not known[verb.text] then
    self:add("ask", "unlisted", ("%s %s is not listed"):format(name, verb and verb.text or "alone"), words_of.text(words))
  end
end

local function does_change(row, words)
  if row.change_with then
    return words_of.has_option(words, 2, row.change_with) ~= nil or words[2] ~= nil and words[2].text == "format"
  elseif row.change_without then
    return not words_of.has_option(words, 2, row.change_without)
  end
  return row.change ~= nil
end

---@param self procage.ClassifyCommand
---@param name string
---@param row procage.AllowedRule
---@param words procage.Word[]
---@param ctx table
function M.look(self, name, row, words, ctx)
  self:add("allowed", "listed", row.reason, name)
  if row.options then
    options.look(self, row, words, ctx)
  end
  look_asks(self, row, words)
  if row.subcommands then
    look_verbs(self, name, row, words)
  end
  for i = 2, row.has_response_files and #words or 0 do
    if words[i].text:sub(1, 1) == "@" then
      self:add("ask", "option", "takes more words from a file", words[i].text)
    end
  end
  if name == "chmod" or name == "install" then
    look_modes(self, words)
  end
  if does_change(row, words) then
    changes.look(self, name, row, words, ctx)
  end
  if not row.options then
    changes.look_outputs(self, row, words, ctx)
  end
end

--- The files that the words name, whatever the program is.
---@param self procage.ClassifyCommand
---@param row? procage.AllowedRule
---@param words procage.Word[]
---@param ctx table
function M.look_reads(self, row, words, ctx)
  if row and row.text then
    return
  end
  local skips = row and row.pattern_first
  local has_pattern = words_of.has_option(words, 2, { "-e", "--regexp", "-f", "--file" }) ~= nil
  for i = 2, #words do
    local text = words[i].text
    if skips and not has_pattern and (text:sub(1, 1) ~= "-" or text == "-") then
      skips = false
    else
      self:look_read(words[i], ctx)
    end
  end
end

return M
