--- procage-lua check: everything that is wrong with configurations and policies, a line each, with where it stands.

local checking = require("procage.checking")
local writer = require("procage.writer")

---@param request procage.cli.Request
---@return integer status
return function(request)
  local status = 0
  for _, file in ipairs(request.files) do
    local checked, message = checking.file(file, { root = request.options.root, option = request.options.option })
    if not checked then
      writer.err("procage-lua: check: ", message)
      return 2
    end
    for _, problem in ipairs(checked.problems) do
      writer.out(problem)
      status = 1
    end
    for _, note in ipairs(checked.notes or {}) do
      writer.out(file .. ": note: " .. note)
    end
    local refused = checked.refusal
    if #checked.problems == 0 then
      writer.refusal(writer.out, file .. ": ok" .. (refused and "; on this machine `run` refuses it: " or ""), refused or "")
    end
  end
  return status
end
