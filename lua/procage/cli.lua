--- The program: subcommands, exit statuses, and what is printed where. main.c calls `main` and exits with what it returns.
---
--- Standard output belongs to the command (run) or to the answer (probe, explain, help); the rest goes to standard error.

local options = require("procage.cli.options")
local writer = require("procage.writer")

local M = {}

--- Exit statuses of our own (DESIGN section 5).
M.BAD_USAGE = 2

--- Subcommands that are a file of their own; loaded when they are asked for.
local modules = {
  run = "procage.cli.run",
  probe = "procage.cli.probe",
  explain = "procage.cli.explain",
  doctor = "procage.cli.doctor",
  learn = "procage.cli.learn",
  guard = "procage.cli.guard",
  mask = "procage.cli.mask",
  classify = "procage.cli.classify",
  check = "procage.cli.check",
  init = "procage.cli.begin",
  why = "procage.cli.why",
  test = "procage.cli.test",
}

--- The options that a policy declares, below the help of a subcommand.
---@return integer status
local function policy_help(name)
  local declared, help = require("procage.policy").declared(name)
  if not declared then
    writer.err("procage-lua: ", help)
    return M.BAD_USAGE
  end
  writer.out("")
  writer.out(("Policy %s%s"):format(name, help and ": " .. help or ""))
  local lines = require("procage.declared").lines(declared)
  writer.out(#lines > 0 and "Its options, for --option:" or "It takes no options.")
  writer.each(writer.out, lines)
  return 0
end

---@param words table  the program's arguments: words[0] is its name
---@return integer status
---@return boolean? is_left  nothing is left to close but memory and descriptors, which end with the process
function M.main(words)
  -- For other programs, with a grammar of its own: not in the help.
  if words[1] == "__sandbox" then
    return require("procage.cli.sandbox")(words)
  end
  local lua = require("procage.cli.lua")
  if lua.takes(words) then
    return lua.main(words)
  end
  local request, message = options.parse(words)
  if not request then
    local name = options.command(words[1]) and words[1]
    writer.err("procage-lua: ", message)
    writer.err(("Try 'procage-lua %s'."):format(name and name .. " --help" or "help"))
    return M.BAD_USAGE
  elseif request.command == "help" then
    io.stdout:write(options.help(request.topic))
    return request.options.policy and policy_help(request.options.policy) or 0
  elseif request.command == "version" then
    writer.out("procage-lua ", require("procage.core").version)
    return 0
  end
  return require(modules[request.command])(request), request.command == "run"
end

return M
