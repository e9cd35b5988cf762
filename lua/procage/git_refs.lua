--- Every ref of a repository, loose and packed, read with own code.
--- Source: gitrepository-layout(5), git-pack-refs(1), git-worktree(1) "REFS", reftable in git 2.45.

local core = require("procage.core")
local disk = require("procage.disk")
local path = require("procage.path")

local M = {}

--- A repository with more is one that a command has filled.
M.max_refs = 1000000

local MAX_PACKED, MAX_LOOSE, MAX_REFTABLE = 256 << 20, 4096, 4096

local function too_many()
  return nil, ("more than %d refs"):format(M.max_refs)
end

--- A ref as text: an object's name, or the ref that it stands for. What is no file of that kind is told by its kind.
local function read_loose(name, kind)
  if kind == "link" then
    return "link " .. tostring(core.read_link(name))
  elseif kind ~= "file" then
    return kind
  end
  local text, message = core.read_file(name, MAX_LOOSE)
  return text and text:match("^([^\n]*)") or "closed: " .. tostring(message)
end

--- Adds what lies beneath `directory`. A lock is no ref: git writes one beside the ref that it is about to replace.
---@return boolean? ok
---@return string? message
local function add_loose(refs, directory, name, left)
  local names, message, code = core.read_dir(directory, left.count)
  if not names then
    if code == 7 then -- E2BIG
      return too_many()
    elseif code ~= 2 then -- ENOENT
      refs[name] = "closed: " .. tostring(message)
    end
    return true
  end
  for entry, kind in pairs(names) do
    left.count = left.count - 1
    if left.count < 0 then
      return too_many()
    end
    local inner, full = name .. "/" .. entry, directory .. "/" .. entry
    if kind == "directory" then
      local ok, why = add_loose(refs, full, inner, left)
      if not ok then
        return nil, why
      end
    elseif entry:sub(-5) ~= ".lock" then
      refs[inner] = read_loose(full, kind)
    end
  end
  return true
end

local function add_packed(refs, common)
  local name = common .. "/packed-refs"
  if not disk.kind(name) then
    return true
  end
  local text, is_cut = core.read_file(name, MAX_PACKED)
  if not text then
    refs["packed-refs"] = "closed: " .. tostring(is_cut)
    return true
  elseif is_cut then
    return nil, ("%s: more than %d bytes"):format(name, MAX_PACKED)
  end
  for oid, ref in text:gmatch("%f[^\n\0]([0-9a-f]+) ([^\n]+)") do
    refs[ref] = oid
  end
  return true
end

--- A reftable is binary and its form is young: whether it changed is told, not what in it.
local function add_reftable(refs, directory, label)
  local marks = {}
  local entries, message = disk.list(directory, MAX_REFTABLE)
  for _, entry in ipairs(entries) do
    local digest, why = core.digest_file(directory .. "/" .. entry.name, MAX_PACKED)
    marks[#marks + 1] = entry.name .. " " .. (digest or tostring(why))
  end
  refs[label] = core.digest(table.concat(marks, "\n") .. tostring(message))
end

--- What a linked worktree has for itself.
local OWN = { "bisect", "worktree", "rewritten" }

---@param repository procage.Git
---@return table<string, string>? refs  full name -> object or "ref: NAME"
---@return string? message  nil: a bound was met
---@return boolean is_reftable  only whether anything changed can be told
function M.read(repository)
  local refs, common = {}, repository.common
  local ok, message = add_packed(refs, common)
  local left = { count = M.max_refs }
  if ok then
    -- A loose one wins over a packed one of the same name.
    ok, message = add_loose(refs, common .. "/refs", "refs", left)
  end
  if ok and repository.directory ~= common then
    for _, name in ipairs(OWN) do
      ok, message = add_loose(refs, path.join(repository.directory, "refs", name), "refs/" .. name, left)
      if not ok then
        break
      end
    end
  end
  if not ok then
    return nil, message, false
  end
  local is_reftable = disk.kind(common .. "/reftable") ~= nil
  if is_reftable then
    add_reftable(refs, common .. "/reftable", "reftable")
    if repository.directory ~= common and disk.kind(repository.directory .. "/reftable") then
      add_reftable(refs, repository.directory .. "/reftable", "reftable of this worktree")
    end
  end
  return refs, nil, is_reftable
end

---@class procage.GitHead
---@field text string  HEAD as it is written
---@field branch? string  full name; nil when it is detached
---@field commit? string  nil on a branch without a commit

--- Where HEAD is.
---@param repository procage.Git
---@param refs table<string, string>
---@return procage.GitHead
function M.head(repository, refs)
  local name = repository.directory .. "/HEAD"
  local text = read_loose(name, disk.kind(name) or "missing")
  local branch = text:match("^ref:%s*(.-)%s*$") or text:match("^link (refs/.*)$")
  local commit = branch and refs[branch] or not branch and text:match("^%x+$") or nil
  -- A branch may stand for another one.
  for _ = 1, 5 do
    local further = commit and commit:match("^ref:%s*(.-)%s*$")
    if not further then
      break
    end
    commit = refs[further]
  end
  return { text = text, branch = branch, commit = commit }
end

return M
