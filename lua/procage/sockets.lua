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

--- Bound sockets that are still on disk, resolved, outside `trees`.
---@param trees string[]
---@return string[]
function M.outside(trees)
  local found, seen = {}, {}
  for _, name in ipairs(M.parse(disk.read("/proc/net/unix") or "")) do
    local resolved, exists = disk.resolve(name)
    if exists and not seen[resolved] and disk.kind(resolved) == "socket" and not path.tree_of(resolved, trees) then
      seen[resolved] = true
      found[#found + 1] = resolved
    end
  end
  return found
end

return M
