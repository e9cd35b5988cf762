--- Reads a command line. argparse writes the help and tells the mistakes; what is here is where the command begins, and the
--- reading of a line without a mistake in it, which every run would otherwise wait for. The table is commands.lua.

local commands = require("procage.cli.commands")
local list = require("procage.list")
local nearest = require("procage.nearest")

local M = { commands = commands.list, command = commands.find }

--- Whether each flag of a subcommand takes an argument, and the flags in order.
local function arity(command)
  local takes, names = {}, {}
  for _, option in ipairs(command.options) do
    for flag in option.flags:gmatch("%S+") do
      takes[flag] = option.arg ~= nil
      names[#names + 1] = flag
    end
  end
  return takes, names
end

--- Divides the words after a subcommand into its options and what follows them. argparse would take options after the first
--- word that is none; a command's own options must stay its own.
---@return string[]? options
---@return string[]|string rest  or the message
---@return boolean? dashes  whether "--" was there
local function divide(command, words)
  local takes, names = arity(command)
  local options, i = {}, 1
  while i <= #words do
    local word = words[i]
    if word == "--" then
      return options, table.move(words, i + 1, #words, 1, {}), true
    elseif word:sub(1, 1) ~= "-" or word == "-" then
      break
    end
    local name = word:match("^(%-%-[^=]+)=") or word
    if takes[name] == nil then
      return nil, ("unknown option '%s'%s"):format(name, nearest.hint(name, names))
    end
    options[#options + 1] = word
    if takes[name] and name == word then
      i = i + 1
      if words[i] == nil or words[i]:sub(1, 1) == "-" then
        local hint = words[i] and (", as in %s=%s"):format(name, words[i]) or ""
        return nil, ("option '%s' needs an argument%s"):format(name, hint)
      end
      options[#options + 1] = words[i]
    end
    i = i + 1
  end
  return options, table.move(words, i, #words, 1, {}), false
end

--- An option's key in what argparse makes: its long name.
---@param option procage.cli.Option
local function target_of(option)
  local long = option.flags:match("%-%-(%S+)") or option.flags:match("%-(%S+)")
  return (long:gsub("-", "_"))
end

--- What argparse makes of options that `divide` has divided; nil where anything is amiss, for argparse to say what.
---@param command procage.cli.Command
---@param words string[]
---@return table?
local function quick_parse(command, words)
  local by_flag, parsed = {}, {}
  for _, option in ipairs(command.options) do
    for flag in option.flags:gmatch("%S+") do
      by_flag[flag] = option
    end
    if option.many then
      parsed[target_of(option)] = {}
    end
  end
  local i = 1
  while i <= #words do
    local name, value = words[i]:match("^(%-%-[^=]+)=(.*)$")
    local option = by_flag[name or words[i]]
    if not option or name and not option.arg then
      return nil
    end
    local target = target_of(option)
    if not option.arg then
      value = true
    elseif not name then
      i = i + 1
      value = words[i]
    end
    if option.convert and value then
      value = option.convert(value)
    end
    if value == nil or not option.many and parsed[target] ~= nil then
      return nil
    elseif option.many then
      table.insert(parsed[target], value)
    else
      parsed[target] = value
    end
    i = i + 1
  end
  return parsed
end

--- The argparse parser of one subcommand.
---@param command procage.cli.Command
local function parser_of(command)
  local parser = require("argparse")("procage-lua " .. command.name)
    :add_help(false)
    :usage("Usage: " .. command.usage)
    :description(command.summary)
    :epilog(command.epilog)
    :help_description_margin(27)
    :help_max_width(100)
  for _, option in ipairs(command.options) do
    local made = option.arg and parser:option(option.flags) or parser:flag(option.flags)
    made:description(option.help)
    if option.arg then
      made:args(1):argname(option.arg)
      if option.convert then
        made:convert(option.convert)
      end
      if option.many then
        made:count("*")
      end
    end
  end
  return parser
end

---@return string
function M.help(name)
  local command = name and commands.find(name)
  if command then
    return parser_of(command):get_help() .. "\n"
  end
  local lines = {
    "Usage: procage-lua <subcommand> [options]",
    "       procage-lua [<script.lua> | -e <code> | -] [<argument> ...]   Lua; at a terminal, without a script, a prompt",
    "",
    "Runs commands that cannot be trusted, confined by a policy, and says what this machine enforces of it.",
    "",
    "Subcommands:",
  }
  for _, row in ipairs(commands.list) do
    lines[#lines + 1] = ("   %-10s %s"):format(row.name, row.summary)
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "Each has --help. Examples:"
  lines[#lines + 1] = "   procage-lua run -- make test"
  lines[#lines + 1] = "   procage-lua explain"
  return table.concat(lines, "\n") .. "\n"
end

---@class procage.cli.Request
---@field command string
---@field argv? string[]  run: the command
---@field topic? string  help: the subcommand
---@field action? string  guard: what to do
---@field words? string[]  guard, mask, classify, why, test: what follows the options
---@field has_dashes? boolean  whether -- stood before them
---@field files? string[]  check, init
---@field parsed table  what argparse made of the options
---@field options table  what request_options below makes

--- argparse's result in this program's words.
local function request_options(parsed)
  return {
    policy = parsed.policy,
    config_file = parsed.config,
    host_file = parsed.host,
    root = parsed.root,
    network = parsed.net,
    git = parsed.git,
    denials = parsed.denials,
    as = parsed.as,
    output = parsed.output,
    tty = parsed.tty or false,
    timeout_ms = parsed.timeout,
    allow_write = parsed.allow_write or {},
    allow_read = parsed.allow_read or {},
    lift = parsed.lift or {},
    set = parsed.set or {},
    narrow = parsed.narrow or {},
    option = parsed.option or {},
    real = parsed.real or false,
    env = parsed.env or {},
    json = parsed.json or false,
    quiet = parsed.quiet or false,
    verbose = parsed.verbose or false,
    sandbox = {
      sandbox_mode = parsed.sandbox,
      sandbox_net = parsed.sandbox_net,
      sandbox_allow_dirs = parsed.sandbox_allow_dir,
      sandbox_allow_read_dirs = parsed.sandbox_allow_read_dir,
    },
  }
end

--- The action that comes first, where the subcommand has such.
---@return string? action
---@return string? message
local function action_of(command, words)
  if not command.actions or words[2] == "--help" or words[2] == "-h" then
    return nil
  end
  local action = words[2]
  if action and list.has(command.actions, action) then
    return action
  end
  local hint = action and nearest.hint(action, command.actions) or ""
  return nil, ("%s: %s is expected%s"):format(command.name, table.concat(command.actions, " or "), hint)
end

--- What argparse makes of the options, at once or by itself.
---@return table? parsed
---@return string? message
local function parse_options(command, words)
  local parsed = quick_parse(command, words)
  if parsed then
    return parsed
  end
  local ok, result = parser_of(command):pparse(words)
  if not ok then
    return nil, (result:gsub("\n", " "))
  end
  return result
end

--- What follows the options, by what the subcommand takes: each puts it into the request, or says what is wrong.
---@type table<string, fun(request: procage.cli.Request, rest: string[], dashes: boolean): string?>
local take = {}

function take.command(request, rest, dashes)
  request.argv = rest
  return #rest == 0 and "a command is missing" .. (dashes and " after --" or "") or nil
end

function take.words(request, rest, dashes)
  request.words, request.has_dashes = rest, dashes
end

function take.files(request, rest)
  request.files = rest
  return #rest == 0 and "a file is missing" or nil
end

function take.file(request, rest)
  request.files = rest
  return #rest > 1 and ("unexpected argument '%s'"):format(rest[2]) or nil
end

function take.topic(request, rest)
  request.topic = rest[1]
  if rest[1] and not commands.find(rest[1]) then
    return ("unknown subcommand '%s'%s"):format(rest[1], nearest.hint(rest[1], commands.names()))
  end
end

function take.nothing(_, rest)
  return #rest > 0 and ("unexpected argument '%s'"):format(rest[1]) or nil
end

--- The words behind a subcommand.
---@return procage.cli.Request?
---@return string? message
local function parse_command(command, words)
  local action, message = action_of(command, words)
  if message then
    return nil, message
  end
  local options, rest, dashes = divide(command, table.move(words, action and 3 or 2, #words, 1, {}))
  if not options then
    return nil, ("%s: %s"):format(command.name, rest)
  end
  local parsed
  parsed, message = parse_options(command, options)
  if not parsed then
    return nil, ("%s: %s"):format(command.name, message)
  elseif parsed.help then
    -- What a policy has to say of itself; of init the option is a switch.
    local policy = type(parsed.policy) == "string" and parsed.policy or nil
    return { command = "help", topic = command.name, options = { policy = policy } }
  end
  local request = { command = command.name, options = request_options(parsed), action = action, parsed = parsed }
  message = take[command.takes or "nothing"](request, rest, dashes)
  if message then
    return nil, ("%s: %s"):format(command.name, message)
  end
  return request
end

--- Whether a shell would find a program of this name: `make` is near `mask`, and not meant by it.
local function is_program(name)
  for directory in (os.getenv("PATH") or ""):gmatch("[^:]+") do
    local file = not name:find("/", 1, true) and io.open(directory .. "/" .. name)
    if file then
      file:close()
      return true
    end
  end
  return false
end

--- Parses the words after the program's name.
---@param words string[]
---@return procage.cli.Request? request
---@return string? message  nil request: bad usage
function M.parse(words)
  local first = words[1]
  if first == nil then
    return nil, "a subcommand is missing"
  elseif first == "--help" or first == "-h" then
    return { command = "help", options = {} }
  elseif first == "--version" then
    return { command = "version", options = {} }
  end
  local command = commands.find(first)
  if not command then
    local is_option = first:sub(1, 1) == "-"
    local hint = nearest.hint(first, commands.names())
    if not is_option and (hint == "" or is_program(first)) then
      hint = hint .. "; a command to run comes after run: procage-lua run -- " .. first
    end
    return nil, ("unknown %s '%s'%s"):format(is_option and "option" or "subcommand", first, hint)
  end
  return parse_command(command, words)
end

--- For the spec that compares the two.
M.quick_parse, M.parser_of = quick_parse, parser_of

return M
