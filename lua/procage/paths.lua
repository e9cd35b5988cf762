--- Where the files that ship with procage are, found from where this file is. No environment variable has a say: a command's
--- workspace could set one.
---
--- One layout serves every tree: policies/ lies beside the modules.
---     PREFIX/share/lua/5.4/procage/{paths.lua,policies/}      cmake --install
---     TREE/share/lua/5.4/procage/{paths.lua,policies/}        luarocks
---     REPO/lua/procage/paths.lua, REPO/policies/              a checkout, also through the link in its build tree
local core = require("procage.core")

local M = {}

--- The directory of this file, absolute or relative to the working directory as package.path had it. `require` hands a module
--- its file; the program, which carries it compiled, hands it the same.
local own_file = select(2, ...)
local own_directory = type(own_file) == "string" and own_file:match("^(.*)/[^/]*$") or "."

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
  -- The checkout comes second: an installation whose policies are missing has nothing there.
  for _, directory in ipairs({ own_directory .. "/policies", own_directory .. "/../../policies" }) do
    if exists(directory .. "/lists.lua") then
      -- One spelling, for messages; a relative package.path cannot have it.
      return directory:sub(1, 1) == "/" and core.real_path(directory) or directory
    end
  end
  return nil, own_directory .. "/policies: no shipped policies there"
end

--- Two layouts have the program: an installation and a build tree, PREFIX/bin beside PREFIX/share and PREFIX/lib. A checkout's
--- modules lie elsewhere, and the module in C is the one that was built.
local core_file = package.searchpath("procage.core", package.cpath)

--- The program procage-lua that belongs to these modules.
---@return string? program  absolute
---@return string? message
function M.program()
  local directories = { own_directory .. "/../../../../bin" }
  if core_file then
    directories[2] = (core_file:match("^(.*)/[^/]*$") or ".") .. "/../../../../bin"
  end
  for _, directory in ipairs(directories) do
    local found = core.real_path(directory .. "/procage-lua")
    if found then
      return found
    end
  end
  return nil, table.concat(directories, ", ") .. ": no procage-lua there"
end

--- The program that is running, where it is ours; else the one that belongs to these modules.
---@return string? program  absolute
---@return string? message
function M.running()
  local running = core.read_link("/proc/self/exe")
  if running and running:find("/procage-lua$") then
    return running
  end
  return M.program()
end

return M
