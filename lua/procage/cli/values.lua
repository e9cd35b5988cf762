--- What the values of options may be: each takes the text, and gives the value or nil and what is wrong.

local nearest = require("procage.nearest")

local M = {}

--- Networks that are a word alone.
local WORDS = { "none", "loopback", "all", "ports:" }

--- A function for one of several words.
---@param flag string
---@param words string[]
---@return fun(text: string): string?, string?
function M.one_of(flag, words)
  local expected = #words == 2 and ("neither %s nor %s"):format(words[1], words[2])
    or "none of " .. table.concat(words, ", ")
  return function(text)
    for _, word in ipairs(words) do
      if text == word then
        return text
      end
    end
    return nil, ("%s: '%s' is %s"):format(flag, text, expected)
  end
end

--- A function for a text that is not empty.
---@param flag string
---@param what? string  default: value
---@return fun(text: string): string?, string?
function M.text(flag, what)
  return function(text)
    if text == "" then
      return nil, ("%s: the %s is empty"):format(flag, what or "value")
    end
    return text
  end
end

--- A function for NAME=VALUE, split at the first "=".
---@param flag string
---@return fun(text: string): { key: string, value: string }?, string?
function M.pair(flag)
  return function(text)
    local key, value = text:match("^([^=]+)=(.*)$")
    if not key then
      return nil, ("%s: '%s' is not %s=VALUE"):format(flag, text, flag == "--set" and "KEY" or "NAME")
    end
    return { key = key, value = value }
  end
end

M.git = M.one_of("--git", { "read", "commit", "write" })
M.form = M.one_of("--as", { "toml", "policy" })
M.denials = M.one_of("--denials", { "off", "calls", "paths" })

---@param text string
---@return string|table|nil network  as in the Profile: a word, or {ports = {...}}
---@return string? message
function M.network(text)
  if text == "none" or text == "loopback" or text == "all" then
    return text
  end
  local list = text:match("^ports:(.*)$")
  if not list then
    local meant = text:find("^[%d,]+$") and (" (did you mean ports:%s?)"):format(text) or nearest.hint(text, WORDS)
    return nil, ("--net: '%s' is none of none, loopback, ports:N[,N...], all%s"):format(text, meant)
  end
  local ports = {}
  for item in (list .. ","):gmatch("([^,]*),") do
    local port = item:match("^%d+$") and math.tointeger(tonumber(item, 10))
    if not port or port < 1 or port > 65535 then
      return nil, ("--net: '%s' is no port (1 to 65535) in '%s'"):format(item, text)
    end
    ports[#ports + 1] = port
  end
  return { ports = ports }
end

--- A year is far above any build, and its milliseconds far below what a clock can hold.
local MAX_TIMEOUT_S = 86400 * 365

---@param text string  seconds, with a fraction if you like
---@return integer? timeout_ms
---@return string? message
function M.timeout(text)
  -- tonumber alone would take hexadecimal, exponents and "inf" of some C libraries.
  local seconds = (text:match("^%d+$") or text:match("^%d*%.%d+$")) and tonumber(text)
  if not seconds or seconds <= 0 or seconds > MAX_TIMEOUT_S then
    return nil, ("--timeout: '%s' is no number of seconds above 0"):format(text)
  end
  return math.max(1, math.ceil(seconds * 1000))
end

return M
