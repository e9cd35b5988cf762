--- Rules of .gitignore files and what they match, as git does it. Pure: text in, answers out.
--- Source: gitignore(5); git's dir.c and wildmatch.c, tested against `git check-ignore` on generated trees.

local M = {}

---@class procage.IgnoreRule
---@field pattern string  without `!`, without the slash at its end
---@field is_negative boolean
---@field only_directories boolean
---@field by_name boolean  without a slash inside: compared with the last name alone
---@field literal integer  how many of its first bytes stand for themselves

--- Steps that one comparison may take. `**/**/**/x` takes twice as many with each `**/`, and a command may have written it.
local MAX_STEPS = 20000

--- Spaces at the end count for nothing, unless a backslash stands before one.
---@param line string
---@return string
local function trim(line)
  local i, kept = 1, 0
  while i <= #line do
    local byte = line:byte(i)
    if byte == 92 then -- a backslash: what follows it counts
      if i == #line then
        return line
      end
      i, kept = i + 1, i + 1
    elseif byte ~= 32 then
      kept = i
    end
    i = i + 1
  end
  return line:sub(1, kept)
end

---@param line string  not empty, no comment
---@return procage.IgnoreRule
local function rule_of(line)
  local text = trim(line)
  local is_negative = text:sub(1, 1) == "!"
  text = is_negative and text:sub(2) or text
  local only_directories = text:sub(-1) == "/"
  local pattern = only_directories and text:sub(1, -2) or text
  local by_name = not pattern:find("/", 1, true)
  local is_anchored = pattern:sub(1, 1) == "/"
  pattern = is_anchored and pattern:sub(2) or pattern
  local special = pattern:find("[*?%[\\]")
  return {
    pattern = pattern,
    is_negative = is_negative,
    only_directories = only_directories,
    by_name = by_name,
    literal = special and special - 1 or #pattern,
  }
end

--- The rules of a file, in its order.
---@param text string
---@return procage.IgnoreRule[]
function M.parse(text)
  local rules = {}
  -- A byte order mark is no part of the first pattern.
  text = text:gsub("^\xEF\xBB\xBF", "")
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    line = line:gsub("\r$", "")
    -- git's lines end at a NUL byte.
    line = line:match("^[^%z]*")
    if line ~= "" and line:byte() ~= 35 then -- a hash sign
      rules[#rules + 1] = rule_of(line)
    end
  end
  return rules
end

-- ---- Patterns -------------------------------------------------------------------------------------------------------------

--- What a comparison comes to. ABORT: no later starting point of the star before can match either.
local MATCH, NO_MATCH, ABORT, ABORT_TO_STARSTAR = 1, 2, 3, 4

local STAR, QUESTION, OPEN, CLOSE, BACKSLASH, SLASH = 42, 63, 91, 93, 92, 47

local CLASSES = {
  alnum = "%w", alpha = "%a", blank = "[ \t]", cntrl = "%c", digit = "%d", graph = "%g", lower = "%l", print = "[%g ]",
  punct = "%p", space = "%s", upper = "%u", xdigit = "%x",
}

--- Whether a set, `p` standing on its first byte, holds `char`.
---@return boolean? holds  nil: the set has no end, or names a class that there is not
---@return integer? after  the byte after the set
local function in_set(pattern, p, char)
  local is_negative = pattern:byte(p) == 33 or pattern:byte(p) == 94 -- ! ^
  p = is_negative and p + 1 or p
  local holds, before, is_first = false, 0, true
  while true do
    local byte = pattern:byte(p)
    if not byte then
      return nil
    elseif byte == CLOSE and not is_first then
      return holds ~= is_negative, p + 1
    end
    is_first = false
    local name = byte == OPEN and pattern:match("^%[:([^%]]*):%]", p)
    local next_byte = pattern:byte(p + 1)
    if name then
      if not CLASSES[name] then
        return nil
      end
      holds = holds or string.char(char):find("^" .. CLASSES[name]) ~= nil
      p, before = p + #name + 3, 0
    elseif byte == 45 and before ~= 0 and next_byte and next_byte ~= CLOSE then -- a hyphen between two
      p = p + 1
      if next_byte == BACKSLASH then
        p = p + 1
        next_byte = pattern:byte(p)
        if not next_byte then
          return nil
        end
      end
      holds = holds or (char >= before and char <= next_byte)
      before = 0
    else
      if byte == BACKSLASH then
        p = p + 1
        byte = pattern:byte(p)
        if not byte then
          return nil
        end
      end
      holds = holds or byte == char
      before = byte
    end
    p = p + 1
  end
end

local compare

--- A run of stars at `p`, and what comes after it.
local function compare_stars(pattern, p, text, t, budget, first)
  local spans_slashes = false
  local after = p + 1
  if pattern:byte(after) == STAR then
    while pattern:byte(after) == STAR do
      after = after + 1
    end
    local follows_slash = p == first or pattern:byte(p - 1) == SLASH
    local next_byte = pattern:byte(after)
    local is_step = next_byte == nil or next_byte == SLASH or next_byte == BACKSLASH and pattern:byte(after + 1) == SLASH
    if follows_slash and is_step then
      -- `a/**/b` is `a/b` too.
      if next_byte == SLASH and compare(pattern, after + 1, text, t, budget) == MATCH then
        return MATCH
      end
      spans_slashes = true
    end
  end
  local wanted = pattern:byte(after)
  if not wanted then
    return (spans_slashes or not text:find("/", t, true)) and MATCH or NO_MATCH
  elseif not spans_slashes and wanted == SLASH then
    local slash = text:find("/", t, true)
    return slash and compare(pattern, after + 1, text, slash + 1, budget, first) or NO_MATCH
  end
  local is_literal = wanted ~= STAR and wanted ~= QUESTION and wanted ~= OPEN and wanted ~= BACKSLASH
  while t <= #text do
    if is_literal then
      while t <= #text and text:byte(t) ~= wanted and (spans_slashes or text:byte(t) ~= SLASH) do
        t = t + 1
      end
      if text:byte(t) ~= wanted then
        return spans_slashes and ABORT or ABORT_TO_STARSTAR
      end
    end
    local found = compare(pattern, after, text, t, budget)
    if found ~= NO_MATCH then
      if not spans_slashes or found ~= ABORT_TO_STARSTAR then
        return found
      end
    elseif not spans_slashes and text:byte(t) == SLASH then
      return ABORT_TO_STARSTAR
    end
    t = t + 1
  end
  return ABORT
end

--- Compares pattern from `p` on with text from `t` on; `first` is where this part of the pattern began.
---@return integer
function compare(pattern, p, text, t, budget, first)
  first = first or p
  while true do
    budget.left = budget.left - 1
    if budget.left < 0 then
      return ABORT
    end
    local wanted, char = pattern:byte(p), text:byte(t)
    if not wanted then
      return char and NO_MATCH or MATCH
    elseif not char and wanted ~= STAR then
      return ABORT
    elseif wanted == STAR then
      return compare_stars(pattern, p, text, t, budget, first)
    elseif wanted == QUESTION then
      if char == SLASH then
        return NO_MATCH
      end
    elseif wanted == OPEN then
      local holds, after = in_set(pattern, p + 1, char)
      if holds == nil then
        return ABORT
      elseif not holds or char == SLASH then
        return NO_MATCH
      end
      p = after - 1
    else
      if wanted == BACKSLASH then
        p = p + 1
        wanted = pattern:byte(p)
      end
      if wanted ~= char then
        return NO_MATCH
      end
    end
    p, t = p + 1, t + 1
  end
end

--- Whether a rule matches. One that takes too long to tell matches if that ignores, and does not if it would bring back.
---@param rule procage.IgnoreRule
---@param relative string  the path below the directory of the rule's file
---@param is_directory boolean  a link to one is none
---@return boolean
function M.matches(rule, relative, is_directory)
  if rule.only_directories and not is_directory then
    return false
  end
  local text = rule.by_name and relative:match("[^/]*$") or relative
  local literal, pattern = rule.literal, rule.pattern
  if literal == #pattern then
    return text == pattern
  elseif text:sub(1, literal) ~= pattern:sub(1, literal) then
    return false
  end
  local budget = { left = MAX_STEPS }
  -- What stands for itself was compared; by its name alone a pattern is looked at whole.
  local from = rule.by_name and 1 or literal + 1
  local found = compare(pattern, from, text, from, budget)
  if budget.left < 0 then
    return not rule.is_negative
  end
  return found == MATCH
end

--- What the last rule that matches says; nil: none does.
---@param rules procage.IgnoreRule[]
---@param relative string
---@param is_directory boolean
---@return boolean? ignored
function M.decide(rules, relative, is_directory)
  for i = #rules, 1, -1 do
    if M.matches(rules[i], relative, is_directory) then
      return not rules[i].is_negative
    end
  end
  return nil
end

return M
