--- What the benchmarks take on the command line, and the environment that they run in.

local core = require("procage.core")

local M = {}

---@class bench.Options
---@field json boolean
---@field rounds integer
---@field seconds integer
---@field out string  the directory for what is written
---@field build string  the build directory

---@param name string
---@return string
function M.check_build(name)
  return assert(os.getenv("PROCAGE_BUILD"), ("PROCAGE_BUILD: the build directory; use ./dev bench %s"):format(name))
end

local function refuse(word)
  io.stderr:write("bench: unknown argument '", word, "': --json, --rounds N, --seconds N, --out DIR\n")
  os.exit(2)
end

---@param words string[]
---@param defaults { rounds: integer, seconds: integer }
---@return bench.Options
function M.parse(words, defaults)
  local build = M.check_build("")
  local chosen, i = { json = false, rounds = defaults.rounds, seconds = defaults.seconds, build = build }, 1
  -- Beside the presets' directories: whatever they are called, it is one build's measurement of the tree.
  chosen.out = (build:match("^(.*)/[^/]+$") or ".") .. "/bench"
  while words[i] do
    local name = words[i]:match("^%-%-(%l+)$")
    local number = math.tointeger(tonumber(words[i + 1]))
    if name == "json" then
      chosen.json = true
    elseif (name == "rounds" or name == "seconds") and number and number > 0 then
      chosen[name] = number
      i = i + 1
    elseif name == "out" and words[i + 1] then
      chosen.out = words[i + 1]
      i = i + 1
    else
      refuse(words[i])
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
