--- procage-lua init: a configuration or a policy to begin with, on standard output or in a file that is not there yet.

local core = require("procage.core")
local path_text = require("procage.path")
local templates = require("procage.templates")

local function fail(message)
  io.stderr:write("procage-lua: init: ", message, "\n")
  return 2
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local is_policy = request.options.policy == true
  local text = is_policy and templates.policy or templates.config
  local named = request.files[1]
  if not named then
    io.stdout:write(text)
    return 0
  end
  local ending = is_policy and "lua" or "toml"
  if not named:find("%." .. ending .. "$") then
    return fail(("%s: the name of a %s ends in .%s"):format(named, is_policy and "policy" or "configuration", ending))
  end
  local cwd, message = core.real_path("/proc/self/cwd")
  if not cwd then
    return fail("the current directory: " .. message)
  end
  local ok
  ok, message = core.create_file(path_text.is_absolute(named) and named or cwd .. "/" .. named, text)
  if not ok then
    return fail(message)
  end
  io.stderr:write(("procage-lua: %s: written; after a change: procage-lua check %s\n"):format(named, named))
  return 0
end
