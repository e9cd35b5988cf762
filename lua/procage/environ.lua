--- The environment of this process. Source: environ(7), as /proc/self/environ had it at the start.

local core = require("procage.core")
local disk = require("procage.disk")

local M = {}

--- What the kernel does not show to a process that may not be dumped, libc does.
---@return table<string, string> variables
function M.own()
  local text = disk.read("/proc/self/environ") or table.concat(core.environment(), "\0")
  local found = {}
  for entry in text:gmatch("[^%z]+") do
    local name, value = entry:match("^([^=]+)=(.*)$")
    if name and found[name] == nil then
      found[name] = value
    end
  end
  return found
end

return M
