--- What could come next on a line of Lua: names, fields, methods, and the words that some of our functions take. It looks into
--- tables raw, and never calls anything.

local M = {}

--- Words that stand in quotes: after which text, and which they are.
---@class procage.Words
---@field after string  a pattern that ends where the word begins
---@field words fun(): string[]

--- Where a value's missing fields are looked for. An environment that makes some when asked says in __fallback where it looks
--- besides.
local function parent(value)
  local meta = debug.getmetatable(value)
  if type(meta) ~= "table" then
    return nil
  end
  local index = rawget(meta, "__index")
  return type(index) == "table" and index or rawget(meta, "__fallback")
end

--- The value under a key as Lua would find it, as far as no function is called for it.
---@param value any
---@param key any
---@return any
function M.field(value, key)
  for _ = 1, 20 do
    if type(value) == "table" then
      local found = rawget(value, key)
      if found ~= nil then
        return found
      end
    end
    value = parent(value)
    if value == nil then
      return nil
    end
  end
end

--- All names that fit an identifier and can be found in a value, its metatables included.
---@param value any
---@param wants_method? boolean
---@return string[]
function M.names(value, wants_method)
  local seen, names = {}, {}
  for _ = 1, 20 do
    if type(value) == "table" then
      for key, item in next, value do
        local fits = type(key) == "string" and key:find("^[%a_][%w_]*$") and not seen[key]
        if fits and key:sub(1, 2) ~= "__" and (not wants_method or type(item) == "function") then
          seen[key] = true
          names[#names + 1] = key
        end
      end
    end
    value = parent(value)
    if value == nil then
      break
    end
  end
  table.sort(names)
  return names
end

--- The value of `a.b[1].c`, or nil.
---@param env table
---@param text string
---@return any
function M.value_of(env, text)
  local value, rest = env, text
  while rest ~= "" do
    local name, after = rest:match("^%.?([%a_][%w_]*)(.*)$")
    local key = name
    if not name then
      local index
      index, after = rest:match("^%[(%d+)%](.*)$")
      key = math.tointeger(index)
    end
    if key == nil then
      return nil
    end
    value, rest = M.field(value, key), after
    if value == nil then
      return nil
    end
  end
  return value
end

local function beginning_with(prefix, names)
  local found = {}
  for _, name in ipairs(names) do
    if name:sub(1, #prefix) == prefix then
      found[#found + 1] = name
    end
  end
  return found
end

--- The longest beginning that all have.
local function common(names)
  local prefix = names[1] or ""
  for _, name in ipairs(names) do
    while name:sub(1, #prefix) ~= prefix do
      prefix = prefix:sub(1, -2)
    end
  end
  return prefix
end

local WORDS = "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"

local KEYWORDS = {}
for word in WORDS:gmatch("%a+") do
  KEYWORDS[#KEYWORDS + 1] = word
end

--- What could stand in place of the last, unfinished word.
---@param env table
---@param text string  the line, up to the cursor
---@param lists? procage.Words[]
---@return string word  the unfinished one
---@return string[] candidates  sorted
function M.candidates(env, text, lists)
  for _, list in ipairs(lists or {}) do
    local start = text:match(list.after .. "()[^\"']*$")
    if start then
      local word = text:sub(start)
      return word, beginning_with(word, list.words())
    end
  end
  local owner, dot, word = text:match("([%a_][%w_%.%[%]]*)([.:])([%a_]?[%w_]*)$")
  if owner then
    local value = M.value_of(env, owner)
    if value == nil then
      return word, {}
    end
    return word, beginning_with(word, M.names(value, dot == ":"))
  end
  word = text:match("[%a_][%w_]*$") or ""
  if text:find("[.:%w\"']$") and word == "" then
    return "", {}
  end
  local names, seen = M.names(env), {}
  for _, name in ipairs(names) do
    seen[name] = true
  end
  for _, keyword in ipairs(word ~= "" and KEYWORDS or {}) do
    names[#names + 1] = not seen[keyword] and keyword or nil
  end
  table.sort(names)
  return word, beginning_with(word, names)
end

--- The text to put in at the cursor, and the candidates to show where that leaves a choice.
---@param env table
---@param text string
---@param lists? procage.Words[]
---@return string insert
---@return string[] choices
function M.complete(env, text, lists)
  local word, found = M.candidates(env, text, lists)
  if #found == 0 then
    return "", {}
  end
  local insert = common(found):sub(#word + 1)
  return insert, insert == "" and #found > 1 and found or {}
end

return M
