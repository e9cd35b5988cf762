--- Git's configuration files as text, read with own code: git itself would run what a repository names. Nothing is included or
--- expanded here.
--- Source: git-config(1), "CONFIGURATION FILE" and "Syntax".

local M = {}

---@class procage.GitSetting
---@field key string  "section.name" or "section.Sub.name": section and name in lower case
---@field value string  "true" for a name alone

local escapes = { n = "\n", t = "\t", b = "\b", ['"'] = '"', ["\\"] = "\\" }

--- A value from `at` on: quotes and backslashes taken away, a comment and the space around it left out.
---@return string value
---@return integer next_at  past its line
local function read_value(text, at)
  local parts, kept, is_quoted = {}, 0, false
  local i = at
  while i <= #text do
    local letter = text:sub(i, i)
    if letter == "\n" then
      break
    elseif letter == "\\" then
      local following = text:sub(i + 1, i + 1)
      if following == "\r" and text:sub(i + 2, i + 2) == "\n" then
        i = i + 1
        following = "\n"
      end
      if following ~= "\n" then
        parts[#parts + 1] = escapes[following] or following
        kept = #parts
      end
      i = i + 2
      goto continue
    elseif letter == '"' then
      is_quoted = not is_quoted
      kept = #parts
    elseif not is_quoted and (letter == "#" or letter == ";") then
      i = text:find("\n", i, true) or #text + 1
      break
    elseif is_quoted or not letter:find("%s") then
      parts[#parts + 1] = letter
      kept = #parts
    elseif #parts > 0 then
      parts[#parts + 1] = letter
    end
    i = i + 1
    ::continue::
  end
  -- To git a value ends at a NUL; no path has one.
  return table.concat(parts, "", 1, kept):match("^[^%z]*"), i + 1
end

--- A section's name as keys have it: `[core]`, `[branch "x"]`, `[old.style]`.
local function read_section(text, at)
  local name, after = text:match("^%[%s*([%w.-]+)%s*%]()", at)
  if name then
    return name:lower(), after
  end
  local quoted
  name, quoted, after = text:match('^%[%s*([%w.-]+)%s+"([^\n]-[^\\])"%s*%]()', at)
  if not name then
    name, after = text:match('^%[%s*([%w.-]+)%s+""%s*%]()', at)
    quoted = ""
  end
  if name then
    return name:lower() .. "." .. quoted:gsub("\\(.)", "%1"), after
  end
  return nil
end

--- Every setting, in order. A line that is none is passed by: git would refuse the file.
---@param text string
---@return procage.GitSetting[]
function M.parse(text)
  local settings, section, at = {}, nil, 1
  if text:sub(1, 3) == "\xef\xbb\xbf" then
    at = 4
  end
  while at <= #text do
    at = text:find("%S", at)
    if not at then
      break
    end
    local found, after = read_section(text, at)
    if found then
      section, at = found, after
    else
      local name, value_at = text:match("^(%a[%w-]*)[ \t]*=[ \t]*()", at)
      if name and section then
        local value
        value, at = read_value(text, value_at)
        settings[#settings + 1] = { key = section .. "." .. name:lower(), value = value }
      else
        name = text:match("^(%a[%w-]*)[ \t\r]*[\n;#]", at) or text:match("^(%a[%w-]*)%s*$", at)
        if name and section then
          settings[#settings + 1] = { key = section .. "." .. name:lower(), value = "true" }
        end
        at = (text:find("\n", at, true) or #text) + 1
      end
    end
  end
  return settings
end

return M
