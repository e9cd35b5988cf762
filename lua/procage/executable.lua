--- Which file a command's first word means, told before it runs: the file that is named is then the one that runs, or none.

local core = require("procage.core")
local disk = require("procage.disk")
local path = require("procage.path")

local M = {}

local ENOENT, EACCES, ESTALE = 2, 13, 116

--- Where programs are looked for when there is no PATH.
M.DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"

--- A regular file that its user may execute, as it was when it was opened.
---@class procage.Executable
---@field path string  canonical
---@field dev integer
---@field ino integer
---@field ctime_ns integer

--- The paths at which execvp(3) would look. Source: exec(3); an empty entry of PATH means the working directory.
---@param name string
---@param cwd string
---@param path_variable? string
---@return string[]
function M.candidates(name, cwd, path_variable)
  if name == "" then
    return {}
  elseif name:find("/", 1, true) then
    return { path.is_absolute(name) and name or cwd .. "/" .. name }
  end
  local list = {}
  for entry in ((path_variable or M.DEFAULT_PATH) .. ":"):gmatch("([^:]*):") do
    if entry == "" then
      entry = cwd
    elseif not path.is_absolute(entry) then
      entry = cwd .. "/" .. entry
    end
    list[#list + 1] = entry .. "/" .. name
  end
  return list
end

--- The first of the candidates that is an executable regular file. One that is there and is none is passed by, as execvp(3)
--- does it.
---@param name string  the command's first word: with a slash a path, from cwd
---@param cwd string  absolute
---@param env? table<string, string>  PATH is asked; absent, as where it is not set
---@return procage.Executable? found
---@return string? message
---@return integer? code
function M.find(name, cwd, env)
  local message, code = name .. ": No such file or directory", ENOENT
  for _, candidate in ipairs(M.candidates(name, cwd, env and env.PATH)) do
    local found, why, errno = core.executable(candidate)
    if found then
      return found
    elseif errno == EACCES then
      message, code = why, errno
    end
  end
  return nil, message, code
end

--- The canonical path of what a program's name means; nil when there is none. The second value is for `run{executable = }`:
--- then exactly that file runs.
---@param name string
---@param cwd string
---@param env? table<string, string>
---@return string? resolved
---@return procage.Executable|string executable  or the message
---@return integer? code
function M.resolve(name, cwd, env)
  if type(name) ~= "string" or name:find("\0", 1, true) then
    error("resolve_executable: a program's name is expected, without NUL", 2)
  elseif type(cwd) ~= "string" or not path.is_absolute(cwd) then
    error("resolve_executable: cwd: an absolute path is expected", 2)
  end
  local found, message, code = M.find(name, cwd, env)
  if not found then
    return nil, message --[[@as string]], code
  end
  return found.path, found
end

--- Those that stand in an absolute entry of PATH and outside what commands write, the file that a link leads to as well: what
--- lies in a writable tree was perhaps written by a command that nobody trusts.
---@param name string  a bare name, or the path of what stands in such an entry
---@param path_variable? string
---@param writable string[]  trees, resolved
---@param chosen? procage.Executable  only what leads to this one
---@return string[] found  that exist
function M.trusted(name, path_variable, writable, chosen)
  local found = {}
  for entry in ((path_variable or M.DEFAULT_PATH) .. ":"):gmatch("([^:]*):") do
    local base = name
    if name:find("/", 1, true) then
      base = path.parent(name) == path.normalise(entry) and path.basename(name) or ""
    end
    if path.is_absolute(entry) and base ~= "" and not disk.leads_through(entry, writable) then
      local candidate = path.join(entry, base)
      local resolved = core.real_path(candidate)
      local is_meant = resolved and (not chosen or chosen.path == resolved)
      found[#found + 1] = is_meant and not disk.leads_through(candidate, writable) and candidate or nil
    end
  end
  return found
end

--- What core.run and core.become take of an executable.
---@param executable procage.Executable
---@return string[] programs
---@return table chosen
function M.chosen(executable)
  return { executable.path }, { dev = executable.dev, ino = executable.ino, ctime_ns = executable.ctime_ns }
end

--- A failure to execute said in the words of this file.
---@param executable? procage.Executable
---@param message string
---@param code any
---@return string
function M.explain(executable, message, code)
  if executable and code == ESTALE then
    return executable.path .. ": replaced or changed since it was chosen"
  end
  return message
end

--- As text for another process's command line, and back.
---@param executable procage.Executable
---@return string
function M.to_text(executable)
  return ("%d:%d:%d:%s"):format(executable.dev, executable.ino, executable.ctime_ns, executable.path)
end

---@param text string
---@return procage.Executable?
function M.from_text(text)
  local dev, ino, ctime, resolved = text:match("^(%d+):(%d+):(%-?%d+):(/.*)$")
  local made = {
    path = resolved,
    dev = math.tointeger(tonumber(dev)),
    ino = math.tointeger(tonumber(ino)),
    ctime_ns = math.tointeger(tonumber(ctime)),
  }
  return made.path and made.dev and made.ino and made.ctime_ns and made or nil
end

return M
