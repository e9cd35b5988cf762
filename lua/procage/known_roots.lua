--- Repositories that were found once in a tree which is too large to be looked through. What is looked at is bounded, and a
--- command can fill the bound with directories of its own: then those that were known before are looked at first. Kept in the
--- user's state directory, which no run writes.

local core = require("procage.core")
local disk = require("procage.disk")
local path = require("procage.path")
local resolve = require("procage.resolve")

local M = {}

local MAX_BYTES = 4 << 20

--- Where the roots of a tree are kept; nil where a command could write it.
---@param context table
---@param tree string
---@return string? directory
---@return string? file
local function place_of(context, tree)
  local directory = path.join(resolve.state_directory(context), "roots")
  if disk.leads_through(directory, context.write or {}) then
    return nil
  end
  return directory, path.join(directory, core.digest(tree))
end

--- Those that are still there.
---@param context? table  home, env, and the writable trees
---@param tree string
---@return string[]
function M.read(context, tree)
  local _, file = nil, nil
  if context and context.env then
    _, file = place_of(context, tree)
  end
  local roots = {}
  for name in (file and core.read_file(file, MAX_BYTES) or ""):gmatch("[^%z]+") do
    if path.is_plain(name) and path.is_beneath(name, tree) and disk.resolve(name) == name then
      roots[#roots + 1] = name
    end
  end
  return roots
end

--- Keeps them for the next run; says nothing where nothing can be kept.
---@param context table
---@param tree string
---@param roots string[]  in it
function M.write(context, tree, roots)
  local directory, file = place_of(context, tree)
  local text = table.concat(roots, "\0")
  if not directory or #text > MAX_BYTES or core.read_file(file, MAX_BYTES) == text then
    return
  end
  local base = resolve.make_state_directory(context)
  if not base or not (disk.kind(directory) or core.make_dir(directory, 448)) then
    return
  end
  -- Whole or not at all: another run may read it.
  local new = ("%s.%s"):format(file, core.digest(text .. tostring({})):sub(1, 16))
  local out = io.open(new, "wb")
  if out and out:write(text) and out:close() then
    os.rename(new, file)
  end
end

return M
