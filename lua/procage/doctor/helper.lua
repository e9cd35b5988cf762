--- The program that makes calls for doctor and for the tests of a policy (platform/linux/attack/serve.c): a copy of this one,
--- its tasks and its answers.

local quote = require("procage.quote")

local M = {}

--- How many words each task has, the first of them its name.
local WORDS <const> = 7

--- What tells it that it is the helper.
M.COMMAND = "__attack"

---@class procage.doctor.Answer
---@field result integer  0 or an errno; minus a signal
---@field told string

--- A copy of the program where a run may execute it: a profile need not let it read where it is installed.
---@param program string
---@param copy string  where
---@return string? copy
---@return string? message
function M.copy(program, copy)
  local target = quote.shell(copy)
  if not os.execute(("cp -- %s %s && chmod 700 -- %s"):format(quote.shell(program), target, target)) then
    return nil, program .. ": cannot be copied to " .. copy
  end
  return copy
end

--- Tasks as the helper reads them, in the order of their numbers.
---@param tasks table<integer, string[]>  by number
---@return string
function M.tasks(tasks)
  local parts, ids = {}, {}
  for id in pairs(tasks) do
    ids[#ids + 1] = id
  end
  table.sort(ids)
  for _, id in ipairs(ids) do
    parts[#parts + 1] = tostring(id)
    for word = 1, WORDS do
      parts[#parts + 1] = tasks[id][word] or ""
    end
  end
  return table.concat(parts, "\0") .. "\0"
end

--- What the helper answered, by number.
---@param text string
---@return table<integer, procage.doctor.Answer>
function M.answers(text)
  local answers = {}
  for id, result, hex in text:gmatch("(%d+) (-?%d+) (%x*)\n") do
    answers[math.tointeger(id)] = {
      result = math.tointeger(result),
      told = hex:gsub("%x%x", function(digits)
        return string.char(tonumber(digits, 16))
      end),
    }
  end
  return answers
end

return M
