--- The pathname Unix sockets that the host has bound now, as the kernel lists them. Source: proc(5), /proc/net/unix.

local disk = require("procage.disk")
local path = require("procage.path")

local M = {}

---@param text string  the content of /proc/net/unix
---@return string[] names  sorted, each once; a relative one has lost the directory it was bound in
function M.parse(text)
  local seen, list = {}, {}
  for line in text:gmatch("[^\n]+") do
    -- Num RefCount Protocol Flags Type St Inode Path; an abstract name starts with @.
    local name = line:match("^%x+: %x+ %x+ %x+ %x+ %x+%s+%d+ (/.*)$")
    if name and not seen[name] then
      seen[name] = true
      list[#list + 1] = name
    end
  end
  table.sort(list)
  return list
end

--- How far a directory of services is searched. The list of the kernel knows only the sockets of one network namespace:
--- one that was mounted into a container (a daemon's of the host) is in none that the container sees.
local SEARCHED, DEPTH, DIRECTORIES = "/run", 4, 200

local function search(found)
  local queue = { { at = SEARCHED, depth = 0 } }
  for i = 1, DIRECTORIES do
    local item = queue[i]
    if not item then
      break
    end
    for _, entry in ipairs((disk.list(item.at, 10000))) do
      local name = item.at .. "/" .. entry.name
      if entry.kind == "socket" then
        found[#found + 1] = name
      elseif entry.kind == "directory" and item.depth < DEPTH then
        queue[#queue + 1] = { at = name, depth = item.depth + 1 }
      end
    end
  end
  return found
end

--- Bound sockets that are on disk, resolved, outside `trees`.
---@param trees string[]
---@return string[]
---@return string? message  why the kernel's list could not be had: then they are those of the directory of services alone
function M.outside(trees)
  local found, seen = {}, {}
  local text, message = disk.read("/proc/net/unix")
  for _, name in ipairs(search(M.parse(text or ""))) do
    local resolved, exists = disk.resolve(name)
    if exists and not seen[resolved] and disk.kind(resolved) == "socket" and not path.resolved_tree_of(resolved, trees) then
      seen[resolved] = true
      found[#found + 1] = resolved
    end
  end
  return found, message
end

return M
