--- A module that is loaded when something of it is first used: what most runs of the program never need is not waited for.

---@param name string
---@return any  stands for the module
return function(name)
  return setmetatable({}, {
    __index = function(self, key)
      local value = require(name)[key]
      -- A module's functions do not change once it is loaded; anything else is asked for each time.
      if type(value) == "function" then
        rawset(self, key, value)
      end
      return value
    end,
  })
end
