--- Lists, as every room walks them.

local M = {}

--- Whether one of the entries is `value`.
---@param list any[]
---@param value any
---@return boolean
function M.has(list, value)
  for _, entry in ipairs(list) do
    if entry == value then
      return true
    end
  end
  return false
end

--- The same as a set: each entry is a key.
---@generic T
---@param list T[]
---@return table<T, true>
function M.set(list)
  local set = {}
  for _, entry in ipairs(list) do
    set[entry] = true
  end
  return set
end

--- Both lists in one, each entry once, in their order.
---@generic T
---@param list T[]
---@param more T[]
---@return T[]
function M.joined(list, more)
  local all, seen = {}, {}
  for _, from in ipairs({ list, more }) do
    for _, item in ipairs(from) do
      if not seen[item] then
        all[#all + 1], seen[item] = item, true
      end
    end
  end
  return all
end

--- The keys of a map, sorted: what follows from them must not depend on `pairs`.
---@generic K
---@param map table<K, any>
---@return K[]
function M.keys(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

--- Puts `more` at the end of `list`.
---@generic T
---@param list T[]
---@param more T[]
---@return T[] list
function M.append(list, more)
  return table.move(more, 1, #more, #list + 1, list)
end

return M
