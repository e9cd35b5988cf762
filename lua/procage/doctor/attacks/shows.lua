--- How it shows, outside, that an attack came through.

local core = require("procage.core")
local trees = require("procage.doctor.tree")

local M = {}

--- What was read holds the secret, which nobody told the helper.
function M.told(secret)
  return function(answer)
    return answer.told:find(secret, 1, true) ~= nil
  end
end

function M.holds(name, text)
  return function()
    return (trees.read(name) or ""):find(text, 1, true) ~= nil
  end
end

function M.exists(name)
  return function()
    return core.lstat(name) ~= nil
  end
end

function M.is_gone(name)
  return function()
    return core.lstat(name) == nil
  end
end

function M.came(t, object, text)
  return function()
    return t:has_come(object, text)
  end
end

function M.opened(answer)
  return answer.result == 0
end

--- Of a class that every profile claims.
---@return nil
function M.nothing() end

return M
