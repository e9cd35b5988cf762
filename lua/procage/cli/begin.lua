--- procage-lua init: a configuration or a policy to begin with, on standard output or in a file that is not there yet.

local config_files = require("procage.cli.config_files")
local core = require("procage.core")
local path_text = require("procage.path")
local quote = require("procage.quote")
local resolve = require("procage.resolve")
local templates = require("procage.templates")
local writer = require("procage.writer")

local function fail(message)
  writer.err("procage-lua: init: ", message)
  return 2
end

--- Our own configuration directory is made where it is missing; any other is the caller's to make.
---@param file string  absolute
---@param named string  as it was given
---@return string? message
local function make_parent(file, named)
  local parent = path_text.parent(file)
  if not parent or core.stat(parent) then
    return nil
  end
  local own = config_files.user_file(os.getenv)
  local has_made = own and path_text.parent(own) == parent and resolve.make_directories(parent, core.stat("/proc/self").uid)
  return not has_made
      and ("%s: its directory is missing: mkdir -p %s"):format(named, quote.shell(named:match("^(.*)/[^/]*$") or parent))
    or nil
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
  local file = path_text.is_absolute(named) and named or cwd .. "/" .. named
  message = make_parent(file, named)
  if message then
    return fail(message)
  end
  local ok
  ok, message = core.create_file(file, text)
  if not ok then
    return fail(message)
  end
  writer.err(("procage-lua: %s: written; after a change: procage-lua check %s"):format(named, named))
  return 0
end
