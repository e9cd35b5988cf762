--- The user's own git configuration, read as text: which files it is made of, and the ignore file that it names. Nothing is
--- run, and a repository's configuration is never looked at: a command may have written it.
--- Source: git-config(1), gitignore(5).

local disk = require("procage.disk")
local path = require("procage.path")

local M = {}

local MAX_FILES, MAX_DEPTH = 64, 10

---@class procage.GitEntry
---@field section string  in lower case
---@field subsection? string
---@field key string  in lower case
---@field value string  "" for a key without one

local ESCAPES = { n = "\n", t = "\t", b = "\b" }

--- A value from `at` on: quotes, escapes, a comment at its end, and lines that a backslash joins.
---@param text string
---@param at integer
---@return string value
---@return integer after  the byte after its line
local function value_at(text, at)
  local parts, is_quoted, kept = {}, false, 0
  while true do
    local byte = text:sub(at, at)
    if byte == "" or byte == "\n" then
      return table.concat(parts, "", 1, kept), at + 1
    elseif byte == "\\" then
      local escaped = text:sub(at + 1, at + 1)
      if escaped ~= "\n" then
        parts[#parts + 1] = ESCAPES[escaped] or escaped
        kept = #parts
      end
      at = at + 2
    elseif byte == '"' then
      is_quoted, kept, at = not is_quoted, #parts, at + 1
    elseif not is_quoted and (byte == "#" or byte == ";") then
      at = text:find("\n", at, true) or #text + 1
    else
      if #parts > 0 or is_quoted or not byte:find("%s") then
        parts[#parts + 1] = byte
      end
      -- Blanks at the end count only in quotes.
      kept = (is_quoted or not byte:find("%s")) and #parts or kept
      at = at + 1
    end
  end
end

--- Every setting of a configuration file, in order. What git would call a mistake is passed over.
---@param text string
---@return procage.GitEntry[]
function M.parse(text)
  local entries, at, section, subsection = {}, 1, nil, nil
  text = text:gsub("^\xEF\xBB\xBF", ""):gsub("\r\n", "\n")
  while at <= #text do
    local name, quoted, after = text:match('^%s*%[([%w%.%-]+)%s*"?([^\n]-)"?%]()', at)
    if name then
      local head, tail = name:match("^([^.]*)%.(.*)$")
      section = (head or name):lower()
      subsection = quoted ~= "" and quoted:gsub("\\(.)", "%1") or tail
      at = after
    else
      local key, equals = text:match("^%s*(%a[%w%-]*)[ \t]*()", at)
      if key and section and text:sub(equals, equals) == "=" then
        local value
        value, at = value_at(text, equals + 1)
        entries[#entries + 1] = { section = section, subsection = subsection, key = key:lower(), value = value }
      else
        at = (text:find("\n", at, true) or #text) + 1
      end
    end
  end
  return entries
end

---@param value string
---@param base string  what a relative path starts from
---@param home string
---@return string
local function path_of(value, base, home)
  return path.join(base, path.expand_home(value, home))
end

--- The files that git reads for this user, in its order: later ones win.
---@param home string
---@param env table<string, string>
---@return string[]
local function top_files(home, env)
  local own = env.GIT_CONFIG_GLOBAL
  if own and path.is_absolute(own) then
    return { "/etc/gitconfig", path.normalise(own) }
  end
  local xdg = env.XDG_CONFIG_HOME
  xdg = xdg and path.is_absolute(xdg) and xdg or path.join(home, ".config")
  return { "/etc/gitconfig", path.join(xdg, "git/config"), path.join(home, ".gitconfig") }
end

--- Tells every file and every entry, included ones where they are included.
local function walk(file, home, is_conditional, seen, tell)
  local resolved, exists = disk.resolve(file)
  if not exists or seen[file] or seen.count >= MAX_FILES or seen.depth >= MAX_DEPTH then
    return
  end
  seen[file], seen.count, seen.depth = true, seen.count + 1, seen.depth + 1
  tell(file, nil, is_conditional)
  for _, entry in ipairs(M.parse(disk.read(resolved) or "")) do
    if entry.key == "path" and (entry.section == "include" or entry.section == "includeif") then
      local target = path_of(entry.value, path.parent(file) or "/", home)
      walk(target, home, is_conditional or entry.section == "includeif", seen, tell)
    else
      tell(file, entry, is_conditional)
    end
  end
  seen.depth = seen.depth - 1
end

local function walk_all(home, env, tell)
  local seen = { count = 0, depth = 0 }
  for _, file in ipairs(top_files(home, env)) do
    walk(file, home, false, seen, tell)
  end
end

--- The files that git must be able to read to know who commits: included ones too, on whatever condition, or git stops at them.
---@param home string
---@param env table<string, string>
---@return string[]  those that exist, as they are named
function M.files(home, env)
  local found = {}
  walk_all(home, env, function(file, entry)
    found[#found + 1] = not entry and file or nil
  end)
  local ignore = M.excludes_file(home, env)
  for _, file in ipairs({ ignore, path.join(path.parent(ignore) or "/", "attributes") }) do
    found[#found + 1] = disk.kind(file) and file or nil
  end
  return found
end

--- The user's own list of ignored names: core.excludesFile, or where git looks without it. It need not exist.
---@param home string
---@param env table<string, string>
---@return string
function M.excludes_file(home, env)
  local xdg = env.XDG_CONFIG_HOME
  local found = path.join(xdg and path.is_absolute(xdg) and xdg or path.join(home, ".config"), "git/ignore")
  walk_all(home, env, function(_, entry, is_conditional)
    if entry and entry.section == "core" and entry.key == "excludesfile" and not is_conditional and entry.value ~= "" then
      found = path_of(entry.value, home, home)
    end
  end)
  return found
end

return M
