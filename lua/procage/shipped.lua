--- Data files that ship with the policies, for modules outside them: loaded as a policy script is, so that one set of files
--- serves both.

local paths = require("procage.paths")

local M = {}

---@param name string  "lists"
---@return any data
function M.load(name)
  local directory, message = paths.policies()
  if not directory then
    error(message, 0)
  end
  local file = directory .. "/" .. name .. ".lua"
  local handle = assert(io.open(file, "rb"))
  local text = handle:read("a")
  handle:close()
  local data, why = require("procage.policy").load_script(text or "", file)
  if data == nil then
    error(why, 0)
  end
  return data
end

return M
