--- Which file the program's configuration comes from, and what it may say (DESIGN section 6): the one that is named is the
--- operator's word; without it his own, in his configuration directory; and what lies in the workspace only narrows.

local config_room = require("procage.config")
local core = require("procage.core")
local disk = require("procage.disk")
local later = require("procage.later")
local path_text = require("procage.path")
local reports = require("procage.report")

local layers = later("procage.layers")

local M = {}

--- The file of a workspace, and the user's own below his configuration directory.
M.WORKSPACE_FILE, M.USER_FILE = "speccoder.toml", "procage/config.toml"

---@class procage.cli.ConfigFile
---@field config table  checked, not completed
---@field files string[]  absolute: no command may write them
---@field notices string[]
---@field where fun(key: string): string?  which file and line says a key, as `network` or `hidden[2]`

local function nowhere() end

--- Where a key of a narrowed configuration is said: entries that were added to a list stand behind those it had.
---@param base table
---@param config table  narrowed
---@param where fun(key: string): string?
---@param where_extra fun(key: string): string?
---@return fun(key: string): string?
local function layered(base, config, where, where_extra)
  return function(key)
    local name, index = key:match("^([%w_]+)%[(%d+)%]$")
    if not name then
      name = key:match("^[%w_]+") or key
      return (config[name] == base[name] and where or where_extra)(key)
    end
    local count, number = #(base[name] or {}), math.tointeger(tonumber(index))
    return number > count and where_extra(("%s[%d]"):format(name, number - count)) or where(key)
  end
end

---@param file string
---@return procage.ConfigSource? source
---@return string? message
local function read(file)
  local source, message = config_room.read_file(file)
  if not source then
    return nil, message
  elseif #source.problems > 0 then
    return nil, config_room.summary(source.problems)
  end
  return source
end

--- Where the user's own configuration is, whether it is there or not; nil without a home.
---@param variables fun(name: string): string?  os.getenv
---@return string?
function M.user_file(variables)
  local base, home = variables("XDG_CONFIG_HOME"), variables("HOME")
  if base and path_text.is_absolute(base) then
    return path_text.join(base, M.USER_FILE)
  end
  return home and path_text.is_absolute(home) and path_text.join(home, ".config", M.USER_FILE) or nil
end

--- A file that is named on the command line.
---@param named string  absolute, as it was given
---@param file string  where that leads
---@return procage.cli.ConfigFile?
---@return string? message
function M.named(named, file)
  local source, message = read(file)
  if not source then
    return nil, "--config " .. message
  end
  return { config = source.value, files = { file, named }, notices = {}, where = source.where }
end

--- Narrows a configuration by a file that commands, or whoever made the workspace, may have written.
---@param found procage.cli.ConfigFile
---@param file string
---@return procage.cli.ConfigFile?
---@return string? message
local function narrow(found, file)
  local facts = core.lstat(file)
  if not facts then
    return found
  elseif facts.kind ~= "file" then
    -- Its text would be shown in messages: a link could have anything shown.
    return nil, ("%s: a file is expected, not a %s"):format(file, facts.kind)
  end
  local text, message = disk.read(file)
  if not text then
    return nil, ("%s: %s"):format(file, message)
  end
  local source = config_room.read(text, "toml", file)
  if #source.problems > 0 then
    return nil, config_room.summary(source.problems)
  end
  local config, refused = layers.narrow(found.config, source.value)
  found.where = layered(found.config, config, found.where, source.where)
  found.config = config
  found.files[#found.files + 1] = file
  if #refused > 0 then
    local grants = table.concat(refused, ", ")
    found.notices[#found.notices + 1] = reports.printable(
      ("procage: %s may only narrow; not granted: %s; to accept it: --config %s"):format(file, grants, file)
    )
  end
  return found
end

--- Without a named file: the user's own, narrowed by the workspace's.
---@param root string  resolved
---@param variables fun(name: string): string?
---@return procage.cli.ConfigFile?
---@return string? message
function M.default(root, variables)
  local found = { config = {}, files = {}, notices = {}, where = nowhere }
  local user = M.user_file(variables)
  local file = user and core.real_path(user)
  -- In the workspace it is what commands can write, whoever wrote it.
  local is_inside = file and (path_text.is_beneath(file, root) or path_text.is_beneath(user, root))
  if file and not is_inside then
    local source, message = read(file)
    if not source then
      return nil, message
    end
    found.config, found.files, found.where = source.value, { file, user }, source.where
  elseif is_inside then
    local ok, message = narrow(found, file)
    if not ok then
      return nil, message
    end
  end
  return narrow(found, path_text.join(root, M.WORKSPACE_FILE))
end

return M
