--- Texts that others read as language: a word of a shell's line, a string of TOML. What a person is told to paste was named by
--- a command, which may have chosen its names for that.

local M = {}

--- One word of a POSIX shell's line.
---@param text string
---@return string
function M.shell(text)
  if text:find("^[%w%./_~@%%+=:,-]+$") and text:sub(1, 1) ~= "-" then
    return text
  end
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local TOML = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r", ["\b"] = "\\b", ["\f"] = "\\f" }

--- A basic string. Source: TOML 1.0, "String".
---@param text string
---@return string? quoted  nil: it is no UTF-8, which TOML cannot hold
function M.toml(text)
  if not utf8.len(text) then
    return nil
  end
  local escaped = text:gsub('[%c"\\\127]', function(char)
    return TOML[char] or ("\\u%04X"):format(char:byte())
  end)
  return '"' .. escaped .. '"'
end

return M
