--- procage-lua probe: what this machine can do, and what failed where it cannot.

local hosts = require("procage.host")
local procage = require("procage")
local writer = require("procage.writer")

--- Facts in the order of the JSON form, one a line; a missing one with the step and the errno that showed it.
---@param host procage.Host
---@return string[]
local function lines_of(host)
  local lines = {}
  for _, fact in ipairs(hosts.facts) do
    local value = host[fact]
    if type(value) ~= "table" then
      local failure = not value and host.failures[fact]
      local why = failure and ("  (%s: %s)"):format(failure.step, failure.error) or ""
      local shown = value == true and "yes" or (value == false or value == nil) and "no" or tostring(value)
      lines[#lines + 1] = ("  %-16s %s%s"):format(fact, shown, why)
    end
  end
  return lines
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local host, message = procage.probe()
  if not host then
    writer.err("procage-lua: probe: ", message)
    return 125
  end
  local lines = lines_of(host)
  lines[#lines + 1] = ("  %-16s %s"):format("confines with", procage.backend(host))
  io.stdout:write(request.options.json and hosts.to_json(host) .. "\n" or writer.text(lines))
  return 0
end
