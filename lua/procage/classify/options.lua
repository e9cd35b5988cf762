--- Options of programs whose row lists those that need no question. A list of the others is never complete: each new version
--- of a compiler has one more way to load or write a file.

local words_of = require("procage.classify.words")

local M = {}

--- What the words of a row with an allow-list of options come to: the options as a set, and those that end in `*` as patterns.
---@param cache table  by row
---@param row procage.AllowedRule
---@return table list
function M.of(cache, row)
  local made = cache[row]
  if made then
    return made
  end
  made = { known = {}, patterns = {}, reads = words_of.list(row.reads or ""), writes = row.writes or {} }
  for word in row.options:gmatch("%S+") do
    if word:find("*", 1, true) then
      local has_value = word:sub(-1) == "="
      local pattern = (has_value and word:sub(1, -2) or word):gsub("[^%w*]", "%%%0"):gsub("%*", "[^,/=]*")
      made.patterns[#made.patterns + 1] = "^" .. pattern .. "$"
      if has_value then
        made.patterns[#made.patterns + 1] = "^" .. pattern .. "=[%w_.+-]*$"
      end
    else
      made.known[word] = true
    end
  end
  cache[row] = made
  return made
end

--- The value that a word gives to one of the options, glued or behind `=`; "" when it is the next word.
---@param is_spaced? boolean  never glued
---@return string?
function M.value_in(text, options, is_spaced)
  for _, option in ipairs(options) do
    if text == option then
      return ""
    elseif text:sub(1, #option + 1) == option .. "=" then
      return text:sub(#option + 2)
    elseif not is_spaced and option:sub(1, 2) ~= "--" and text:sub(1, #option) == option then
      return text:sub(#option + 1)
    end
  end
end

--- Whether a word is an option of the list. Letters may stand together where the program lets them.
---@param text string
---@param row procage.AllowedRule
---@param list table
---@return boolean
function M.is_listed(text, row, list)
  if list.known[text] then
    return true
  end
  local name, value = text:match("^(%-[^=]*)=(.*)$")
  if value and list.known[name] then
    return true
  end
  for _, pattern in ipairs(list.patterns) do
    if text:find(pattern) then
      return true
    end
  end
  if row.has_long_letters or text:sub(1, 2) == "--" then
    return false
  end
  for i = 2, #text do
    local letter = "-" .. text:sub(i, i)
    if not list.known[letter] then
      -- Such a letter takes what is glued to it.
      for _, pattern in ipairs(list.patterns) do
        if ("-" .. text:sub(i)):find(pattern) then
          return true
        end
      end
      return false
    end
  end
  return true
end

-- ---- The words of one command --------------------------------------------------------------------------------------------

---@class procage.OptionsLook
---@field command procage.ClassifyCommand
---@field row procage.AllowedRule
---@field list table  of M.of
---@field words procage.Word[]
---@field ctx table
---@field is_unknown boolean  an option was met that is not in the list
---@field is_passed boolean  the words go to another program

local function unknown(look, text)
  look.command:add("ask", "option", ("%s is not known to need no question"):format(text), words_of.text(look.words))
  look.is_unknown = true
end

--- go, clang-tidy: two dashes are as good as one.
local function with_one_dash(text, row, list)
  if not row.has_long_letters or not text:find("^%-%-%a") or list.known[text:match("^[^=]+")] then
    return text
  end
  local single = text:sub(2)
  local is_write = M.value_in(single, list.writes) and not M.value_in(text, list.writes)
  return (list.known[single:match("^[^=]+")] or is_write) and single or text
end

local function look_operand(look, word)
  local assigns = look.row.assigns
  if assigns and word.text:find("[=$]") then
    -- Make takes `X:=y`, `.X!=y` and `X = y` too; none of them is plain.
    local variable = word.text:match("^([%w_]+)=[%w_]*$")
    if not variable or not words_of.set(assigns)[variable] then
      unknown(look, word.text)
    end
    look.command:look_hidden_write(word.text, look.ctx)
  end
  if word.is_dynamic then
    unknown(look, word.text)
  end
end

--- An option, and the next word where that is its value.
---@return integer next
local function look_option(look, i, text)
  local command, row, list, word = look.command, look.row, look.list, look.words[i]
  local is_exact = list.known[text]
  local written = not is_exact and M.value_in(text, list.writes, row.is_spaced)
  local read = not is_exact and M.value_in(text, list.reads)
  if word.is_dynamic then
    unknown(look, text)
  elseif written then
    local target = written == "" and look.words[i + 1] or written ~= "" and { text = written }
    if target then
      command:look_file("write", target, look.ctx)
    end
    return written == "" and i + 2 or i + 1
  elseif read then
    return read == "" and i + 2 or i + 1
  elseif not M.is_listed(text, row, list) then
    unknown(look, word.text)
    command:look_hidden_write(text, look.ctx, text:sub(1, 2) ~= "--")
  elseif text:find("=", 1, true) and not is_exact then
    command:look_hidden_write(text:match("=(.*)$"), look.ctx)
  end
  return i + 1
end

---@return integer next
local function look_word(look, i)
  local word = look.words[i]
  local text = with_one_dash(word.text, look.row, look.list)
  if text == "--" then
    look.is_passed = look.row.passes or false
  elseif look.is_passed then
    look.command:look_hidden_write(text, look.ctx, text:sub(1, 1) == "-")
  elseif text:sub(1, 1) ~= "-" or text == "-" then
    look_operand(look, word)
  else
    return look_option(look, i, text)
  end
  return i + 1
end

--- The options of a command whose row lists those that need no question.
---@param command procage.ClassifyCommand
---@param row procage.AllowedRule
---@param words procage.Word[]
---@param ctx table
function M.look(command, row, words, ctx)
  local look = {
    command = command, row = row, list = M.of(command.index.options, row), words = words, ctx = ctx,
    is_unknown = false, is_passed = false,
  }
  local i = 2
  while words[i] do
    i = look_word(look, i)
  end
  -- What it does with the words behind an option that nobody here knows, nobody here knows either.
  for at = 2, look.is_unknown and #words or 0 do
    if words[at].text:sub(1, 1) ~= "-" then
      command:look_hidden_write(words[at].text, ctx)
    end
  end
end

return M
