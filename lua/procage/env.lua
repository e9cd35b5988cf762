--- The environment of a run, from the caller's and the rules of the profile. Pure.

local M = {}

local find = string.find

---@class procage.NamePattern
---@field pieces string[]  what stands between the stars, as Lua patterns that repeat nothing
---@field last_length integer

--- A pattern of names: `*` any letters, `?` one; the letter case does not count. In pieces, which are looked for one after the
--- other: a Lua pattern with a repetition for each star could take for ever on a long name.
---@param glob string
---@return procage.NamePattern
local function compile(glob)
  local pieces, length = {}, 0
  for piece in (glob:lower() .. "*"):gmatch("([^*]*)%*") do
    pieces[#pieces + 1] = piece:gsub("[^%w?]", "%%%0"):gsub("%?", ".")
    length = #piece
  end
  return { pieces = pieces, last_length = length }
end

---@param lower string
---@param pattern procage.NamePattern
---@return boolean
local function meets(lower, pattern)
  local pieces = pattern.pieces
  if #pieces == 1 then
    return lower:find("^" .. pieces[1] .. "$") ~= nil
  end
  local _, at = lower:find("^" .. pieces[1])
  for i = 2, #pieces - 1 do
    if at then
      _, at = lower:find(pieces[i], at + 1)
    end
  end
  local last = #lower - pattern.last_length
  return at ~= nil and last >= at and lower:find("^" .. pieces[#pieces], last + 1) ~= nil
end

--- Whether a name is one that the pattern means.
---@param name string
---@param glob string
---@return boolean
function M.matches(name, glob)
  return meets(name:lower(), compile(glob))
end

--- A text that each name has in it that the pattern means, in lower case.
---@param glob string
---@return string
local function certain_text(glob)
  local longest = ""
  for text in glob:gmatch("[^*?]+") do
    longest = #text > #longest and text or longest
  end
  return longest:lower()
end

--- What gives a value away as a secret whatever its name is. Named in the list of patterns by `=` and the kind. Sources: the
--- forms that the services document for their tokens; RFC 3986, 3.2.1 (userinfo); RFC 7468; RFC 7519.
local VALUES = {
  ["url-password"] = { "://[^/%s@:]*:[^/%s@]+@" },
  ["private-key"] = { "%-%-%-%-%-BEGIN [%u ]*PRIVATE KEY%-%-%-%-%-", "AGE%-SECRET%-KEY%-1" },
  ["authorization"] = { "[Aa]uthorization: *%a+ +%S", "^[Bb]earer +%S%S%S%S", "^[Bb]asic +[%w+/]%S%S%S%S%S%S%S" },
  ["token"] = {
    "hooks%.slack%.com/services/%w", "discord[%l]*%.com/api/webhooks/%d", "AccountKey=[%w+/][%w+/][%w+/][%w+/]",
    "SharedAccessKey=[%w+/][%w+/][%w+/][%w+/]", "[?&]sig=[%w%%][%w%%][%w%%][%w%%]", "%.atlasv1%.%w",
  },
}

--- Ten of something: what follows the mark of a service, so that an ordinary word is not taken for a token.
local function ten(class)
  return class:rep(10)
end

--- Tokens that begin with the mark of their service.
local MARKED = {
  "^gh[opsru]_" .. ten("%w"), "^github_pat_%w", "^glpat%-[%w_-]", "^glrt%-[%w_-]", "^glptt%-%w", "^gldt%-%w", "^glcbt%-%w",
  "^glft%-%w", "^glimt%-%w", "^glagent%-%w", "^glsoat%-%w", "^gloas%-%w", "^glffct%-%w",
  "^glc_ey", "^glsa_%w", "^xox[abcdeoprs]%-%w", "^xapp%-%w", "^npm_" .. ten("%w"), "^A[KS]IA%u%d?" .. ("[%u%d]"):rep(7),
  "^eyJ[%w_-]+%.eyJ[%w_-]+%.", "^sk%-" .. ten("[%w_-]"), "^sk_" .. ten("%x") .. ten("%x"), "^sk%.eyJ", "^hf_" .. ten("%w"),
  "^dckr_%l+_", "^pypi%-AgE", "^AIza" .. ("[%w_-]"):rep(5), "^ya29%.", "^1//0[%w_-]", "^GOCSPX%-", "^do[opr]_v1_",
  "^SG%.[%w_-]+%.", "^rk_live_", "^sk_live_", "^whsec_" .. ten("[%w+/]"), "^shp%l%l_" .. ten("%x"), "^tskey%-%l+%-%w",
  "^fig[dor]_" .. ten("[%w_-]"), "^lin_%l+_" .. ten("%w"), "^ntn_" .. ten("%w"), "^secret_" .. ten("%w") .. ten("%w"),
  "^pul%-" .. ten("%x"), "^sntry[su]_" .. ten("[%w_]"), "^gsk_" .. ten("%w"), "^xai%-" .. ten("%w"), "^r8_" .. ten("%w"),
  "^nvapi%-" .. ten("[%w_-]"), "^pplx%-" .. ten("%w"), "^fo1_" .. ten("[%w_-]"), "^FlyV1 ", "^fm[12]%l?_%w",
  "^hv[brs]%.%w", "^sbp_" .. ten("%x"), "^sb_secret_%w", "^rubygems_" .. ten("%x"), "^cio" .. ("%w"):rep(32) .. "$",
  "^lsv2_%l+_" .. ten("%x"), "^AT[AC]TT3" .. ten("[%w_-]"), "^ATBB" .. ten("%w"), "^pscale_%l+_" .. ten("[%w_%.-]"),
  "^sq0%l+%-" .. ten("[%w_-]"), "^PMAK%-" .. ten("%x"), "^tvly%-" .. ten("[%w_-]"), "^e2b_" .. ten("%x"), "^nfp_" .. ten("%w"),
  "^rnd_" .. ten("%w"), "^dapi" .. ten("%x") .. ten("%x"), "^dp%.%l+%.%w", "^NRAK%-%w", "^xkeysib%-%x", "^HRKU%-%w",
  "^CFPAT%-%w", "^pat%w+%." .. ten("%x"), "^bkua_" .. ten("%x"), "^CCIPAT_%w", "^ops_ey", "^AKCp" .. ten("%w"),
  "^oy2" .. ("%w"):rep(43) .. "$", "^EAA" .. ten("%w") .. ten("%w"), "^jfrt@%w", "^tfp_" .. ten("[%w_-]"),
}

--- By the letter that they begin with: most values are compared with none. A telephone robot's begins with its number.
---@type table<string, string[]>
local marked_by_letter = {}
for _, pattern in ipairs(MARKED) do
  local letter = pattern:sub(2, 2)
  marked_by_letter[letter] = marked_by_letter[letter] or {}
  table.insert(marked_by_letter[letter], pattern)
end
for digit = 0, 9 do
  local letter = tostring(digit)
  marked_by_letter[letter] = marked_by_letter[letter] or {}
  table.insert(marked_by_letter[letter], "^%d%d%d%d%d%d%d%d+:AA" .. ten("[%w_-]"))
end

local function is_marked(value)
  for _, pattern in ipairs(marked_by_letter[value:sub(1, 1)] or {}) do
    if find(value, pattern) then
      return true
    end
  end
  return false
end

--- The kinds of values that a list may name.
---@type string[]
M.value_kinds = { "authorization", "private-key", "token", "url-password" }

---@param value string
---@param kinds string[]
---@return boolean
local function is_given_away(value, kinds)
  for _, kind in ipairs(kinds) do
    for _, pattern in ipairs(VALUES[kind]) do
      if find(value, pattern) then
        return true
      end
    end
    if kind == "token" and is_marked(value) then
      return true
    end
  end
  return false
end

---@class procage.NameRules
---@field values string[]  kinds
---@field names table<string, true>  patterns that mean one name, in lower case
---@field globs string[]  the others
---@field texts string[]  the certain text of each

---@param globs string[]
---@return procage.NameRules
local function sort_out(globs)
  local rules = { names = {}, globs = {}, texts = {}, values = {} }
  for _, glob in ipairs(globs) do
    if glob:sub(1, 1) == "=" then
      local kind = glob:sub(2)
      rules.values[#rules.values + 1] = VALUES[kind] and kind or error("env.drop: no kind of value is called " .. glob)
    elseif find(glob, "[*?]") then
      table.insert(rules.globs, glob)
      table.insert(rules.texts, certain_text(glob))
    else
      rules.names[glob:lower()] = true
    end
  end
  return rules
end

--- The rules without the patterns whose certain text stands in none of these names: of a hundred one or two are left. All names
--- are one text for that, which no pattern reaches across: a plain search each in place of one for each name.
---@param rules procage.NameRules
---@param env table<string, string>
---@return procage.NameRules
local function that_may_match(rules, env)
  local names = {}
  for name in pairs(env) do
    names[#names + 1] = name
  end
  local all, left = table.concat(names, "\n"):lower(), { names = rules.names, globs = {}, texts = {}, values = rules.values }
  for i, text in ipairs(rules.texts) do
    if find(all, text, 1, true) then
      left.texts[#left.texts + 1], left.globs[#left.globs + 1] = text, rules.globs[i]
    end
  end
  return left
end

--- Of a hundred patterns a plain search leaves one or two to be looked at.
---@param name string
---@param rules procage.NameRules
---@return boolean
local function matches_any(name, rules)
  local lower = name:lower()
  if rules.names[lower] then
    return true
  end
  for i, text in ipairs(rules.texts) do
    if find(lower, text, 1, true) and meets(lower, compile(rules.globs[i])) then
      return true
    end
  end
  return false
end

--- Drops what the patterns name, by names or, `=kind`, by values, and the operator does not keep; then sets, last, what the
--- rules set.
---@param env table<string, string>
---@param rules procage.Env
---@return table<string, string> env  a new table
---@return string[] dropped  names, sorted; their values are told to nobody
function M.apply(env, rules)
  local dropping, kept = that_may_match(sort_out(rules.drop or {}), env), {}
  for _, name in ipairs(rules.keep or {}) do
    kept[name] = true
  end
  local result, dropped = {}, {}
  for name, value in pairs(env) do
    if not kept[name] and (matches_any(name, dropping) or is_given_away(value, dropping.values)) then
      dropped[#dropped + 1] = name
    else
      result[name] = value
    end
  end
  for name, value in pairs(rules.set or {}) do
    result[name] = value
  end
  table.sort(dropped)
  return result, dropped
end

return M
