--- Words of a command line: options in the spellings that programs take them in.

local M = {}

---@alias procage.Word { text: string, is_dynamic?: boolean, has_glob?: boolean }

---@param text string  words between spaces
---@return table<string, boolean>
function M.set(text)
  local set = {}
  for word in text:gmatch("%S+") do
    set[word] = true
  end
  return set
end

---@param argv string[]
---@return procage.Word[]
function M.of(argv)
  local words = {}
  for i, text in ipairs(argv) do
    words[i] = { text = text }
  end
  return words
end

--- From `first` on, in a new list.
---@param words procage.Word[]
---@param first integer
---@return procage.Word[]
function M.from(words, first)
  return table.move(words, first, #words, 1, {})
end

--- The words as one text, for who shows them.
---@param words procage.Word[]
---@return string
function M.text(words)
  local texts = {}
  for i, word in ipairs(words) do
    texts[i] = word.text
  end
  return table.concat(texts, " ")
end

--- Whether a word is the option: a long one also shortened or with `=value`, a letter also in a cluster.
---@param text string
---@param option string  "--force", "-f", "-exec"
---@param is_exact? boolean  no shortening, no cluster
---@return boolean
function M.is_option(text, option, is_exact)
  if option:sub(1, 2) == "--" then
    local name = text:match("^(%-%-[^=]+)")
    if not name then
      return false
    end
    return name == option or not is_exact and #name >= 3 and option:sub(1, #name) == name
  elseif text == option then
    return true
  elseif #option > 2 then
    -- A word behind one dash: -exec, -o=value.
    return text:match("^(%-[^=]+)=") == option
  elseif is_exact then
    return false
  end
  return text:find("^%-[^-]") ~= nil and text:find(option:sub(2, 2), 2, true) ~= nil
end

--- Whether any of the words before `--` is one of the options.
---@param words procage.Word[]
---@param first integer
---@param options string[]
---@param is_exact? boolean
---@return string? option
function M.has_option(words, first, options, is_exact)
  for i = first, #words do
    local text = words[i].text
    if text == "--" then
      return nil
    end
    for _, option in ipairs(options) do
      if M.is_option(text, option, is_exact) then
        return option
      end
    end
  end
  return nil
end

--- Words that are no options, and where they stand.
---@param words procage.Word[]
---@param first integer
---@return procage.Word[]
function M.operands(words, first)
  local found, only = {}, false
  for i = first, #words do
    local text = words[i].text
    if only or text:sub(1, 1) ~= "-" or text == "-" then
      found[#found + 1] = words[i]
    elseif text == "--" then
      only = true
    end
  end
  return found
end

---@param text string
---@return string[]
function M.list(text)
  local list = {}
  for word in text:gmatch("%S+") do
    list[#list + 1] = word
  end
  return list
end

--- Where the command begins in the words of a program that runs one.
---@param words procage.Word[]
---@param row { args?: string, long?: string, operands?: integer, assigns?: boolean }
---@return integer? first  nil: there is none
---@return boolean is_sure  false: an option was met that the row does not know
---@return procage.Word[] assigns  NAME=VALUE before it
function M.inner(words, row)
  local long, assigns, left, is_sure = M.set(row.long or ""), {}, row.operands or 0, true
  local i = 2
  while i <= #words do
    local text = words[i].text
    if text == "--" then
      i = i + 1
      break
    elseif left > 0 and text:sub(1, 1) ~= "-" then
      -- Options may stand behind operands too.
      left = left - 1
      i = i + 1
    elseif text:sub(1, 2) == "--" then
      local name, value = text:match("^%-%-([^=]+)(=?)")
      local takes = false
      for known in pairs(long) do
        takes = takes or known == name or known:sub(1, #name) == name
      end
      i = i + ((takes and value == "") and 2 or 1)
    elseif text == "-" and row.assigns then
      -- env - is env -i.
      i = i + 1
    elseif text:sub(1, 1) == "-" and #text > 1 then
      local takes_next = false
      for at = 2, #text do
        local letter = text:sub(at, at)
        if (row.args or ""):find(letter, 1, true) then
          takes_next = at == #text
          break
        end
      end
      is_sure = is_sure and (row.args ~= nil or row.long ~= nil)
      i = i + (takes_next and 2 or 1)
    elseif row.assigns and text:find("^[^=]+=") then
      assigns[#assigns + 1] = words[i]
      i = i + 1
    else
      break
    end
  end
  -- Operands stand behind the options, and assignments may stand behind `--`.
  while row.assigns and words[i] and words[i].text:find("^[^=]+=") do
    assigns[#assigns + 1] = words[i]
    i = i + 1
  end
  i = i + left
  return i <= #words and i or nil, is_sure, assigns
end

return M
