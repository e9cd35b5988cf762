--- A host program in C that starts commands for us (bench/threads.c), and what it is asked.

local core = require("procage.core")

local M = {}

---@class bench.Host
local Host = {}
Host.__index = Host

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

--- Starts one. Lua has pipes of one direction: the orders go by a named one, which is gone once both have it open.
---@param build string  the build directory
---@param place { path: string, project: string }
---@param env string[]  its environment, and that of the commands
---@param resident_mib integer
---@return bench.Host
function M.new(build, place, env, resident_mib)
  local directory = assert(core.private_dir(place.path))
  local fifo, words = directory .. "/orders", { "env", "-i" }
  assert(os.execute("mkfifo " .. quote(fifo)))
  for _, entry in ipairs(env) do
    words[#words + 1] = quote(entry)
  end
  local program = build .. "/bench/threads"
  table.move({ quote(program), quote(place.project), resident_mib, "<", quote(fifo) }, 1, 5, #words + 1, words)
  local answers = assert(io.popen("exec " .. table.concat(words, " ")))
  local orders = assert(io.open(fifo, "w"))
  assert(core.remove_tree(directory))
  orders:setvbuf("line")
  return setmetatable({ orders = orders, answers = answers }, Host)
end

--- One order; raises nothing.
---@param ... string|integer
---@return number? answer
---@return string? message
function Host:ask(...)
  self.orders:write(table.concat({ ... }, "\t"), "\n")
  local line = self.answers:read("l")
  local number = tonumber(line)
  if not number then
    return nil, (line or "error the host program ended"):gsub("^error ", "")
  end
  return number
end

--- Microseconds for each of `threads` times `count` starts.
---@param way integer
---@param threads integer
---@param count integer
---@return number
function Host:time(way, threads, count)
  local took, message = self:ask("time", way, threads, count)
  return took or error(message, 0)
end

function Host:close()
  self.orders:close()
  self.answers:close()
end

Host.__close = Host.close

return M
