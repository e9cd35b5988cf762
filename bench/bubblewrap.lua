--- Bubblewrap with our policy in its words.

local core = require("procage.core")

local M = {}

---@return string? path  of bwrap
function M.find()
  for directory in (os.getenv("PATH") or ""):gmatch("[^:]+") do
    local found = core.stat(directory .. "/bwrap")
    if found and found.kind == "file" then
      return directory .. "/bwrap"
    end
  end
end

--- What is writable, protected, hidden and masked is what our own plan found. It has neither Landlock nor a filter of system
--- calls.
---@param program string
---@param policy procage.Policy  with a plan
---@param cwd string
---@param command string[]
---@return string[] argv
function M.argv(program, policy, cwd, command)
  local survey = policy.survey
  local argv = { program, "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev" }
  local function add(...)
    table.move({ ... }, 1, select("#", ...), #argv + 1, argv)
  end
  add("--proc", "/proc")
  for _, tree in ipairs(survey.covered) do
    add("--tmpfs", tree)
  end
  for _, tree in ipairs(survey.put_back) do
    add("--ro-bind", tree, tree)
  end
  for _, tree in ipairs(survey.write) do
    add("--bind", tree, tree)
  end
  for _, name in ipairs(survey.protected) do
    add("--ro-bind", name, name)
  end
  for _, entry in ipairs(survey.hidden) do
    if entry.kind == "directory" then
      add("--tmpfs", entry.path)
    elseif entry.kind then
      add("--ro-bind", "/dev/null", entry.path)
    end
  end
  for _, name in ipairs(survey.sockets) do
    add("--ro-bind", "/dev/null", name)
  end
  add("--chdir", cwd, "--", table.unpack(command))
  return argv
end

return M
