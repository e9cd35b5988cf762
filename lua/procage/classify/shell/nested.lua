--- What stands in brackets, quotes and substitutions of a line of shell: where it ends, and the commands in it.

local M = {}

--- Substitutions in substitutions: who writes more of them does not want to be read.
local MAX_DEPTH, MAX_NESTING = 16, 100

--- The rest cannot be told: it is no well-formed line.
---@param self procage.ShellReader
function M.fail(self)
  self.is_broken = true
  self.at = #self.text + 1
end

--- Passes by what stands in double quotes, substitutions in it as a whole; `at` is on the first one.
local function pass_quotes(self)
  self.at = self.at + 1
  while self.at <= #self.text do
    local letter = self.text:sub(self.at, self.at)
    if letter == "\\" then
      self.at = self.at + 1
    elseif letter == '"' then
      return
    elseif letter == "$" and self.text:sub(self.at + 1, self.at + 1) == "(" then
      self.at = self.at + 2
      M.until_closed(self)
      self.at = self.at - 1
    end
    self.at = self.at + 1
  end
end

--- Words behind which a command begins.
local BEFORE_COMMAND = {
  ["then"] = true, ["do"] = true, ["else"] = true, ["elif"] = true, ["if"] = true, ["while"] = true, ["until"] = true,
  ["!"] = true, ["time"] = true, ["in"] = true,
}

--- Whether a command begins at `at`, in a text that begins at `start`.
local function begins_command(self, start, at)
  local before = self.text:sub(math.max(start, at - 64), at - 1)
  local word = before:match("([^%s;&|(){}]+)[ \t]+$")
  return before:find("^[ \t]*$") ~= nil or before:find("[;&|(){\n][ \t]*$") ~= nil
    or word ~= nil and BEFORE_COMMAND[word] == true
end

--- The text up to the parenthesis that closes; `at` is behind the one that opens. Quotes in it are passed by, and the
--- parentheses behind the patterns of a case.
---@param self procage.ShellReader
---@return string
function M.until_closed(self)
  local start, depth, cases = self.at, 1, 0
  self.nesting = self.nesting + 1
  if self.nesting > MAX_NESTING then
    M.fail(self)
  end
  while self.at <= #self.text do
    local letter = self.text:sub(self.at, self.at)
    if letter == "\\" then
      self.at = self.at + 1
    elseif letter == "'" then
      self.at = self.text:find("'", self.at + 1, true) or #self.text
    elseif letter == '"' then
      pass_quotes(self)
    elseif letter == "c" and self.text:find("^case%s", self.at) and begins_command(self, start, self.at) then
      cases = cases + 1
    elseif letter == "e" and cases > 0 and self.text:find("^esac%f[^%w_]", self.at)
      and begins_command(self, start, self.at) then
      cases = cases - 1
    elseif letter == "(" then
      depth = depth + 1
    elseif letter == ")" then
      depth = depth - 1
      if depth == 0 and cases > 0 then
        depth = 1
      elseif depth == 0 then
        self.at = self.at + 1
        self.nesting = self.nesting - 1
        return self.text:sub(start, self.at - 2)
      end
    end
    self.at = self.at + 1
  end
  M.fail(self)
  return self.text:sub(start)
end

--- The text between backquotes; `at` is on the first one. nil: it does not end.
---@param self procage.ShellReader
---@return string?
local function backquoted(self)
  local start = self.at + 1
  local i = start
  while self.text:sub(i, i) ~= "`" do
    if i > #self.text then
      M.fail(self)
      return nil
    end
    i = i + (self.text:sub(i, i) == "\\" and 2 or 1)
  end
  self.at = i + 1
  return (self.text:sub(start, i - 1):gsub("\\([`\\$])", "%1"))
end

--- Backquotes: what is in them is a command.
---@param self procage.ShellReader
function M.read_backquoted(self)
  local text = backquoted(self)
  if text then
    self:read_inner(text)
  end
end

--- Whether what is in $( ) and begins with a parenthesis is a number, as $((1 + 2)), rather than commands, as $((a); (b)).
--- Quotes hide which parenthesis is which: with them it is no number that anybody here can tell.
local function is_number(inner)
  return inner:find("^%b()$") ~= nil and not inner:find("[\"'\\;\n]")
end

--- $(...): `at` is behind the parenthesis.
---@param self procage.ShellReader
function M.read_parenthesised(self)
  local inner = M.until_closed(self)
  if inner:sub(1, 1) ~= "(" or inner:sub(-1) ~= ")" then
    self:read_inner(inner)
  elseif is_number(inner) then
    M.read_all(self, inner)
  elseif inner:find("['\\]") then
    -- As a number its single quotes quote nothing, as commands they do.
    self.is_broken = true
  else
    self:read_inner(inner)
  end
end

--- One backslash, backquote or dollar of such a text. `at` is on it.
local function read_special(self)
  local letter, following = self.text:match("^(.)(.?)", self.at)
  if letter == "`" then
    M.read_backquoted(self)
  elseif letter == "$" and following == "(" then
    self.at = self.at + 2
    M.read_parenthesised(self)
  else
    self.at = self.at + (letter == "\\" and 2 or 1)
  end
end

--- The commands of all substitutions in a text that is no command itself: a here-document, ${x:-...}, $((...)).
---@param self procage.ShellReader
---@param text string
function M.read_all(self, text)
  if self.level >= MAX_DEPTH then
    self.is_broken = true
    return
  end
  local outer, at = self.text, self.at
  self.level, self.text, self.at = self.level + 1, text, 1
  while self.at <= #text do
    self.at = text:find("[\\`$]", self.at) or #text + 1
    if self.at <= #text then
      read_special(self)
    end
  end
  self.level, self.text, self.at = self.level - 1, outer, at
end

return M
