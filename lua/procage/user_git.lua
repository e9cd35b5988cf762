--- The user's own git configuration, read as text: which files it is made of, and the ignore file that it names. Nothing is
--- run, and a repository's configuration is never looked at: a command may have written it.
--- Source: git-config(1), gitignore(5).

local disk = require("procage.disk")
local git_config = require("procage.git_config")
local path = require("procage.path")

local M = {}

local MAX_FILES, MAX_DEPTH = 64, 10

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
function M.top_files(home, env)
  local own = env.GIT_CONFIG_GLOBAL
  if own and path.is_absolute(own) then
    return { "/etc/gitconfig", path.normalise(own) }
  end
  local xdg = env.XDG_CONFIG_HOME
  xdg = xdg and path.is_absolute(xdg) and xdg or path.join(home, ".config")
  return { "/etc/gitconfig", path.join(xdg, "git/config"), path.join(home, ".gitconfig") }
end

--- Tells every file and every setting, included ones where they are included.
local function walk(file, home, is_conditional, seen, tell)
  local resolved, exists = disk.resolve(file)
  if not exists or seen[file] or seen.count >= MAX_FILES or seen.depth >= MAX_DEPTH then
    return
  end
  seen[file], seen.count, seen.depth = true, seen.count + 1, seen.depth + 1
  tell(file, nil, is_conditional)
  for _, setting in ipairs(git_config.parse(disk.read(resolved) or "")) do
    local is_if = setting.key:find("^includeif%..*%.path$") ~= nil
    if is_if or setting.key == "include.path" then
      walk(path_of(setting.value, path.parent(file) or "/", home), home, is_conditional or is_if, seen, tell)
    else
      tell(file, setting, is_conditional)
    end
  end
  seen.depth = seen.depth - 1
end

local function walk_all(home, env, tell)
  local seen = { count = 0, depth = 0 }
  for _, file in ipairs(M.top_files(home, env)) do
    walk(file, home, false, seen, tell)
  end
end

--- The files that git must be able to read to know who commits: included ones too, on whatever condition, or git stops at them.
---@param home string
---@param env table<string, string>
---@return string[]  those that exist, as they are named
function M.files(home, env)
  local found = {}
  walk_all(home, env, function(file, setting)
    found[#found + 1] = not setting and file or nil
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
  walk_all(home, env, function(_, setting, is_conditional)
    if setting and setting.key == "core.excludesfile" and not is_conditional and setting.value ~= "" then
      found = path_of(setting.value, home, home)
    end
  end)
  return found
end

return M
