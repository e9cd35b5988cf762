--- Shipped policies, built without a disk or a home of anybody's.

local config = require("procage.config")
local policy = require("procage.policy")

local M = {}

---@type procage.PolicyOptions
M.options = {
  resolve = function(name)
    return "policies/" .. name .. ".lua"
  end,
}

---@param fields? table
---@return procage.Context
function M.context(fields)
  local ctx = { home = "/home/u", workspace = "/home/u/src/app", system = "linux", env = {}, uid = 1000 }
  for key, value in pairs(fields or {}) do
    ctx[key] = value
  end
  return ctx
end

---@param name string
---@param settings? table  a configuration as an operator writes it
---@param fields? table  of the context
---@return procage.Profile? profile
---@return string? message
function M.build(name, settings, fields)
  return policy.build_profile(name, assert(config.parse(settings)), M.context(fields), M.options)
end

return M
