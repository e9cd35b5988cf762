--- The nearest known name to a misspelt one, for messages.

local M = {}

--- Optimal string alignment: an insertion, a deletion, a change or two neighbours swapped cost one.
---@param a string
---@param b string
---@return integer
local function distance(a, b)
  local before, last, row = {}, {}, {}
  for j = 0, #b do
    last[j] = j
  end
  for i = 1, #a do
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before, last, row = last, row, before
  end
  return last[#b]
end

--- A beginning is near whatever is left out: `timeout` for `timeout_ms`.
---@param name string
---@param candidate string
---@return integer
local function farness(name, candidate)
  if #name >= 3 and candidate:sub(1, #name) == name then
    return 1
  end
  return distance(name, candidate)
end

--- A name of this length or more is not a slip of the finger, and its distance would cost its square.
local MAX_LENGTH = 200

--- The known name closest to `name`, or nil when none is close enough to be a slip.
---@param name string
---@param known string[]  the first of equally near ones wins
---@return string?
function M.name(name, known)
  if #name >= MAX_LENGTH then
    return nil
  end
  local best, best_distance = nil, math.max(2, #name // 3) + 1
  for _, candidate in ipairs(known) do
    local d = #candidate < MAX_LENGTH and farness(name:lower(), candidate:lower()) or best_distance
    if d < best_distance then
      best, best_distance = candidate, d
    end
  end
  return best
end

--- ` (did you mean X?)`, or the empty string.
---@param name string
---@param known string[]
---@return string
function M.hint(name, known)
  local found = M.name(name, known)
  return found and (" (did you mean %s?)"):format(found) or ""
end

return M
