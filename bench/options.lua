--- What the benchmarks take on the command line, and the environment that they run in.

local core = require("procage.core")

local M = {}

---@param words string[]
---@param defaults { rounds: integer, seconds: integer }
---@return { json: boolean, rounds: integer, seconds: integer }
function M.parse(words, defaults)
  local chosen, i = { json = false, rounds = defaults.rounds, seconds = defaults.seconds }, 1
  while words[i] do
    local name = words[i]:match("^%-%-(%l+)$")
    local number = math.tointeger(tonumber(words[i + 1]))
    if name == "json" then
      chosen.json = true
    elseif (name == "rounds" or name == "seconds") and number and number > 0 then
      chosen[name] = number
      i = i + 1
    else
      io.stderr:write("bench: unknown argument '", words[i], "': --json, --rounds N, --seconds N\n")
      os.exit(2)
    end
    i = i + 1
  end
  return chosen
end

--- The environment of this process with another home.
---@param home string
---@return table<string, string> variables
---@return string[] list  the same as NAME=value
function M.environment(home)
  local variables, list = {}, {}
  for entry in assert(core.read_file("/proc/self/environ")):gmatch("[^%z]+") do
    local name, value = entry:match("^([^=]+)=(.*)$")
    -- Where a cache was moved differs from machine to machine.
    if name and not name:find("^LUA_") and not name:find("CACHE") then
      variables[name] = value
    end
  end
  variables.HOME = home
  for name, value in pairs(variables) do
    list[#list + 1] = name .. "=" .. value
  end
  table.sort(list)
  return variables, list
end

return M
