--- Where the files that ship with procage are, found from where this file is. No environment variable has a say: a command's
--- workspace could set one.
---
--- One layout serves every tree: policies/ lies beside the modules.
---     PREFIX/share/lua/5.4/procage/{paths.lua,policies/}      cmake --install
---     TREE/share/lua/5.4/procage/{paths.lua,policies/}        luarocks
---     REPO/lua/procage/paths.lua, REPO/policies/              a checkout, also through the link in its build tree
local core = require("procage.core")

local M = {}

--- The directory of this file, absolute or relative to the working directory as package.path had it.
local function own_directory()
  local source = debug.getinfo(1, "S").source
  return source:match("^@(.*)/[^/]*$") or "."
end

local function exists(file)
  local handle = io.open(file, "r")
  if handle then
    handle:close()
  end
  return handle ~= nil
end

--- The directory of the shipped policies.
---@return string? directory
---@return string? message  nil directory: what was looked for
function M.policies()
  local own = own_directory()
  -- The checkout comes second: an installation whose policies are missing has nothing there.
  for _, directory in ipairs({ own .. "/policies", own .. "/../../policies" }) do
    if exists(directory .. "/lists.lua") then
      -- One spelling, for messages; a relative package.path cannot have it.
      return directory:sub(1, 1) == "/" and core.real_path(directory) or directory
    end
  end
  return nil, own .. "/policies: no shipped policies there"
end

return M
