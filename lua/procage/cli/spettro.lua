--- The command line's side of procage.spettro: four flags, and a manifest in the place of a configuration.

local later = require("procage.later")
local path = require("procage.path")

local spettro = later("procage.spettro")

local M = {}

--- Whether any of the four flags was given. A list of none is not.
---@param flags procage.SpettroSettings
local function any(flags)
  for _, value in pairs(flags) do
    if type(value) == "string" or #value > 0 then
      return true
    end
  end
  return false
end

---@param chosen table  request.options
---@return boolean
function M.is_meant(chosen)
  local file = chosen.config_file
  return any(chosen.sandbox or {})
    or chosen.policy == "spettro"
    or file ~= nil and path.basename(file) == spettro.FILE
end

--- What flags and manifest come to, as a configuration file would be.
---@param chosen table
---@param cwd string
---@param home string
---@param absolute fun(flag: string, text: string, cwd: string): string?, string?
---@return table? file
---@return string? message
function M.file(chosen, cwd, home, absolute)
  if chosen.policy and chosen.policy ~= "spettro" then
    return nil, ("--sandbox, %s: these are of the policy spettro, not of %s"):format(spettro.FILE, chosen.policy)
  end
  local manifest, message
  if chosen.config_file then
    manifest, message = absolute("--config", chosen.config_file, cwd)
    if not manifest then
      return nil, message
    end
  end
  local layers, resolved
  layers, message = spettro.layers(chosen.sandbox or {}, manifest, cwd)
  if layers then
    resolved, message = spettro.resolve(layers, home)
  end
  if not resolved then
    return nil, message
  end
  local config = spettro.configuration(resolved)
  config.policy = "spettro"
  return { config = config, files = { manifest }, notices = {}, is_silent = true, where = function() end }
end

return M
