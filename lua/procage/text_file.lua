--- A file that is read whole or not at all: scripts and configurations, which nobody reads when they are longer than this.

local M = {}

M.MAX_BYTES = 1 << 20

---@param file string
---@return string? text
---@return string? message
function M.read(file)
  local handle, message = io.open(file, "rb")
  if not handle then
    return nil, message
  end
  local text, why = handle:read(M.MAX_BYTES + 1)
  handle:close()
  if why then
    return nil, ("%s: %s"):format(file, why)
  elseif text and #text > M.MAX_BYTES then
    return nil, ("%s: longer than %d bytes"):format(file, M.MAX_BYTES)
  end
  return text or ""
end

return M
