--- The environment of this process. Source: environ(7), as /proc/self/environ had it at the start.

local disk = require("procage.disk")

local M = {}

--- nil where the kernel does not show it, to a process that may not be dumped for example: an empty one would mean that there
--- is no secret to keep back and no PATH.
---@return table<string, string>? variables
---@return string? message
function M.own()
  local text, message = disk.read("/proc/self/environ")
  if not text then
    return nil, "the environment of this process cannot be told: " .. tostring(message)
  end
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
