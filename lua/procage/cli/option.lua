--- Rows of the option table, by what they take.

local values = require("procage.cli.values")

local M = {}

---@class procage.cli.Option
---@field flags string  "-q --quiet", as argparse wants it
---@field arg? string  name of its argument in the help; nil: a switch
---@field many? boolean  may be given more than once
---@field convert? fun(text: string): any, string?
---@field help string

---@param flags string
---@param help string
---@return procage.cli.Option
function M.switch(flags, help)
  return { flags = flags, help = help }
end

--- An argument of any kind; `convert` tells which it may be.
---@param flags string
---@param arg string
---@param help string
---@param convert? fun(text: string): any, string?
---@return procage.cli.Option
function M.value(flags, arg, help, convert)
  return { flags = flags, arg = arg, convert = convert, help = help }
end

--- The same, more than once.
---@param flags string
---@param arg string
---@param help string
---@param convert? fun(text: string): any, string?
---@return procage.cli.Option
function M.values(flags, arg, help, convert)
  return { flags = flags, arg = arg, convert = convert, help = help, many = true }
end

---@param flag string
---@param arg string
---@param help string
---@return procage.cli.Option
function M.path(flag, arg, help)
  return M.value(flag, arg, help, values.text(flag, "path"))
end

---@param flag string
---@param arg string
---@param help string
---@return procage.cli.Option
function M.paths(flag, arg, help)
  return M.values(flag, arg, help, values.text(flag, "path"))
end

---@param flag string
---@param arg string
---@param help string
---@return procage.cli.Option
function M.text(flag, arg, help)
  return M.value(flag, arg, help, values.text(flag))
end

---@param flag string
---@param arg string
---@param help string
---@return procage.cli.Option
function M.texts(flag, arg, help)
  return M.values(flag, arg, help, values.text(flag))
end

--- NAME=VALUE, more than once.
---@param flag string
---@param arg string
---@param help string
---@return procage.cli.Option
function M.pairs(flag, arg, help)
  return M.values(flag, arg, help, values.pair(flag))
end

M.HELP = M.switch("-h --help", "Show this help and do nothing else.")
M.JSON = M.switch("--json", "Print one JSON object on standard output.")

return M
