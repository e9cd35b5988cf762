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

return M
