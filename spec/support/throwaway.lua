--- Lua in a throw-away process, as root and as an ordinary user: what confines must not confine the test run.

local M = {}

-- The interpreter that runs this one: a sanitizer build has its own.
local function interpreter()
  local n = 0
  while arg and arg[n - 1] do
    n = n - 1
  end
  return n < 0 and arg[n] or "lua5.4"
end

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

M.quote = quote

--- The output of a shell command (both streams), without the last newline.
---@param command string
---@return string output
---@return boolean ok
function M.shell(command)
  local pipe = assert(io.popen("exec 2>&1; " .. command))
  local output = pipe:read("a")
  local ok = pipe:close()
  return (output:gsub("\n$", "")), ok == true
end

--- A directory that everybody can write, removed as a to-be-closed variable.
function M.directory()
  local path = M.shell("mktemp -d")
  M.shell("chmod 0777 " .. quote(path))
  return setmetatable({ path = path }, {
    __close = function()
      M.shell("rm -rf -- " .. quote(path))
    end,
  })
end

function M.write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

---@class Who
---@field name string
---@field prefix string  goes before a command
---@field missing? string  why this one cannot be had here

--- root and an ordinary user, or only who runs this.
---@return Who[]
function M.everybody()
  if M.shell("id -u") ~= "0" then
    return { { name = "an ordinary user", prefix = "" } }
  end
  local user = { name = "an ordinary user", prefix = "setpriv --reuid=65534 --regid=65534 --clear-groups " }
  local module = assert(package.searchpath("procage.core", package.cpath))
  if not select(2, M.shell(user.prefix .. "test -r " .. quote(module))) then
    user.missing = "an ordinary user cannot read the module from here"
  end
  return { { name = "root", prefix = "" }, user }
end

--- Runs a Lua script with `core` at hand and returns what it printed.
---@param who Who
---@param script string
---@return string
function M.lua(who, script)
  local dir <close> = M.directory()
  local file = dir.path .. "/script.lua"
  local cpath = ("package.cpath = %q\nlocal core = require('procage.core')\n"):format(package.cpath)
  M.write(file, cpath .. script)
  -- A sanitizer's leak check at exit reads /proc, which a confined process may not.
  local environment = "export ASAN_OPTIONS=\"${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0\"; "
  return (M.shell(environment .. who.prefix .. quote(interpreter()) .. " " .. quote(file)))
end

return M
