--- Whether a repository that a run has made at the workspace's root may stay there: only when nothing in it can make git run
--- a program or look elsewhere. Everything is an allow-list: what is not known to be harmless is not.
--- Source: git-config(1), gitrepository-layout(5), git 2.47.

local disk = require("procage.disk")
local path = require("procage.path")

local M = {}

--- What `git init`, `add` and `commit` leave in a git directory.
local ENTRIES = {
  HEAD = "file",
  ORIG_HEAD = "file",
  COMMIT_EDITMSG = "file",
  config = "file",
  description = "file",
  index = "file",
  ["packed-refs"] = "file",
  branches = "directory",
  hooks = "directory",
  info = "directory",
  logs = "directory",
  objects = "directory",
  refs = "directory",
}

local MAX_CONFIG = 65536

--- Keys that name no program, no path and no other host. A value is checked too: it may not be one of another key.
local KEYS = {
  core = {
    repositoryformatversion = "^[01]$",
    filemode = "^%a+$",
    bare = "^false$",
    logallrefupdates = "^%a+$",
    ignorecase = "^%a+$",
    precomposeunicode = "^%a+$",
  },
  init = { defaultbranch = "^[%w/_%.%-]+$" },
  user = { name = "^[^\n\\\"]*$", email = "^[^\n\\\"]*$" },
}

--- A line that this does not read the way git does is a line that it refuses.
local function is_harmless_config(text)
  if #text > MAX_CONFIG or text:find("[%z\r]") then
    return false
  end
  local section
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    local name = line:match("^%[(%l+)%]$") or line:match('^%[(%l+) "[%w/_%.%-]+"%]$')
    local key, value = line:match("^\t(%a+) = (.*)$")
    if name then
      section = KEYS[name]
      if not section then
        return false
      end
    elseif key then
      local shape = section and section[key:lower()]
      if not shape or not value:find(shape) then
        return false
      end
    elseif line ~= "" then
      return false
    end
  end
  return true
end

local function every_entry(directory, accept)
  local entries, message = disk.list(directory)
  -- What cannot be listed may hold anything; what is not there holds nothing.
  if message then
    return disk.kind(directory) == nil
  end
  for _, entry in ipairs(entries) do
    if not accept(entry) then
      return false
    end
  end
  return true
end

local function is_nothing()
  return false
end

local function is_sample(entry)
  return entry.kind == "file" and entry.name:find("%.sample$") ~= nil
end

local function is_exclude(entry)
  return entry.kind == "file" and entry.name == "exclude"
end

local function is_no_alternate(entry)
  return entry.name ~= "alternates" and entry.name ~= "http-alternates" and entry.kind ~= "link"
end

---@param name string  path of what appeared
---@param open? fun(directory: string)  is told of each directory before it is looked into
---@return boolean
function M.is_repository(name, open)
  if path.basename(name) ~= ".git" or disk.kind(name) ~= "directory" then
    return false
  end
  for _, part in ipairs(open and { "", "/branches", "/hooks", "/info", "/objects", "/objects/info" } or {}) do
    open(name .. part)
  end
  local text = disk.read(name .. "/config")
  return text ~= nil
    and is_harmless_config(text)
    and every_entry(name, function(entry)
      return ENTRIES[entry.name] == entry.kind
    end)
    and every_entry(name .. "/branches", is_nothing)
    and every_entry(name .. "/hooks", is_sample)
    and every_entry(name .. "/info", is_exclude)
    and every_entry(name .. "/objects/info", is_no_alternate)
end

return M
