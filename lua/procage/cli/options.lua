--- The command line's own language: which subcommands and options there are, and what their values may be.
--- argparse writes the help and tells the mistakes; what is here is the table it works from, where the command begins, and the
--- reading of a line without a mistake in it, which every run would otherwise wait for.

local nearest = require("procage.nearest")

local M = {}

---@class procage.cli.Option
---@field flags string  "-q --quiet", as argparse wants it
---@field arg? string  name of its argument in the help; nil: a switch
---@field many? boolean  may be given more than once
---@field convert? fun(text: string): any, string?
---@field help string

-- ---- Values ---------------------------------------------------------------------------------------------------------------

---@param text string
---@return string|table|nil network  as in the Profile: a word, or {ports = {...}}
---@return string? message
function M.network(text)
  if text == "none" or text == "loopback" or text == "all" then
    return text
  end
  local list = text:match("^ports:(.*)$")
  if not list then
    return nil, ("--net: '%s' is none of none, loopback, ports:N[,N...], all"):format(text)
  end
  local ports = {}
  for item in (list .. ","):gmatch("([^,]*),") do
    local port = item:match("^%d+$") and math.tointeger(tonumber(item, 10))
    if not port or port < 1 or port > 65535 then
      return nil, ("--net: '%s' is no port (1 to 65535) in '%s'"):format(item, text)
    end
    ports[#ports + 1] = port
  end
  return { ports = ports }
end

---@param text string
---@return string? git
---@return string? message
function M.git(text)
  if text == "read" or text == "commit" or text == "write" then
    return text
  end
  return nil, ("--git: '%s' is none of read, commit, write"):format(text)
end

---@param text string
---@return string? form
---@return string? message
function M.form(text)
  if text == "toml" or text == "policy" then
    return text
  end
  return nil, ("--as: '%s' is neither toml nor policy"):format(text)
end

---@param text string
---@return string? denials
---@return string? message
function M.denials(text)
  if text == "off" or text == "calls" or text == "paths" then
    return text
  end
  return nil, ("--denials: '%s' is none of off, calls, paths"):format(text)
end

--- A day is far above any build, and its milliseconds far below what a clock can hold.
local MAX_TIMEOUT_S = 86400 * 365

---@param text string  seconds, with a fraction if you like
---@return integer? timeout_ms
---@return string? message
function M.timeout(text)
  -- tonumber alone would take hexadecimal, exponents and "inf" of some C libraries.
  local seconds = (text:match("^%d+$") or text:match("^%d*%.%d+$")) and tonumber(text)
  if not seconds or seconds <= 0 or seconds > MAX_TIMEOUT_S then
    return nil, ("--timeout: '%s' is no number of seconds above 0"):format(text)
  end
  return math.max(1, math.ceil(seconds * 1000))
end

--- Splits K=V at the first "=".
---@param flag string
---@param text string
---@return {key: string, value: string}? pair
---@return string? message
local function pair(flag, text)
  local key, value = text:match("^([^=]+)=(.*)$")
  if not key then
    return nil, ("%s: '%s' is not NAME=VALUE"):format(flag, text)
  end
  return { key = key, value = value }
end

local function path(flag)
  return function(text)
    if text == "" then
      return nil, flag .. ": the path is empty"
    end
    return text
  end
end

-- ---- Options --------------------------------------------------------------------------------------------------------------

---@type procage.cli.Option
local HELP = { flags = "-h --help", help = "Show this help and do nothing else." }
---@type procage.cli.Option
local JSON = { flags = "--json", help = "Print one JSON object on standard output." }

--- What both `run` and `explain` build a policy from.
---@type procage.cli.Option[]
local POLICY = {
  {
    flags = "--policy",
    arg = "<policy>",
    convert = path("--policy"),
    help = "A shipped policy (speccoder, the default, in-place, own-command, mcp-server, workspace-write,"
      .. " read-only, spettro, off) or the path of a script."
      .. " docs/policies.md has them.",
  },
  {
    flags = "--option",
    arg = "<name=value>",
    many = true,
    convert = function(text)
      return pair("--option", text)
    end,
    help = "Set an option that the policy declares; --policy P --help lists them; once for each entry of a list.",
  },
  {
    flags = "--narrow",
    arg = "<file>",
    many = true,
    convert = path("--narrow"),
    help = "A policy script that may only take away from what the policy gives; may be repeated.",
  },
  {
    flags = "--config",
    arg = "<file>",
    convert = path("--config"),
    help = "Read the configuration from this TOML or JSON file; options win over it. Default: your own, which the "
      .. "workspace's speccoder.toml may narrow.",
  },
  {
    flags = "--root",
    arg = "<dir>",
    convert = path("--root"),
    help = "The workspace, writable; default: the directory you are in. A command starts where you are, or else at its top.",
  },
  {
    flags = "--net",
    arg = "<network>",
    convert = M.network,
    help = "none, loopback (a private one, the default), ports:443,8080 (TCP connections to these), or all.",
  },
  {
    flags = "--allow-write",
    arg = "<dir>",
    many = true,
    convert = path("--allow-write"),
    help = "Another writable tree; may be repeated.",
  },
  {
    flags = "--allow-read",
    arg = "<dir>",
    many = true,
    convert = path("--allow-read"),
    help = "Another readable tree, one below /tmp for example; may be repeated.",
  },
  {
    flags = "--git",
    arg = "<mode>",
    convert = M.git,
    help = "The workspace's git directory: read (the default), commit (never hooks or config), or write.",
  },
  {
    flags = "--lift",
    arg = "<name>",
    many = true,
    help = "Re-open a hidden path, a hand-off name or a pattern of variables, as `explain` spells it; may be repeated.",
  },
  {
    flags = "--sandbox",
    arg = "<mode>",
    help = "Spettro's sandbox: off, read-only or workspace-write. This and the next three mean --policy spettro, and win over"
      .. " the [runtime] of a spettro.agents.toml given with --config.",
  },
  { flags = "--sandbox-net", arg = "<network>", help = "Its network: all (the default), localhost, none or ports:443,8080." },
  {
    flags = "--sandbox-allow-dir",
    arg = "<dir>",
    many = true,
    convert = path("--sandbox-allow-dir"),
    help = "Another tree that it lets be written; may be repeated.",
  },
  {
    flags = "--sandbox-allow-read-dir",
    arg = "<dir>",
    many = true,
    convert = path("--sandbox-allow-read-dir"),
    help = "Another tree that it lets be read; may be repeated.",
  },
  {
    flags = "--set",
    arg = "<key=value>",
    many = true,
    convert = function(text)
      return pair("--set", text)
    end,
    help = "Set a configuration key; dots reach into tables; the value is JSON or a plain string; may be repeated.",
  },
}

---@type procage.cli.Option[]
local RUN = {
  {
    flags = "--env",
    arg = "<name=value>",
    many = true,
    convert = function(text)
      return pair("--env", text)
    end,
    help = "Set a variable of the command, also one that would be dropped; may be repeated.",
  },
  {
    flags = "--tty",
    help = "Give the command a terminal of its own, for editors, shells and prompts; you must be at one.",
  },
  { flags = "--timeout", arg = "<seconds>", convert = M.timeout, help = "End the whole run after this time: exit status 124." },
  {
    flags = "--json",
    help = "Capture the output and print one JSON object when the command has ended.",
  },
  {
    flags = "--denials",
    arg = "<what>",
    convert = M.denials,
    help = "What is told of refusals: off, calls (the default: system calls and connections), paths (files too; slower).",
  },
  {
    flags = "-q --quiet",
    help = "Say nothing of gaps, refusals and how the command ended; what it did to files is told all the same.",
  },
  { flags = "-v --verbose", help = "What each gap of this machine means, and what would lift it; else they are one line." },
}

local function join(...)
  local all = {}
  for _, list in ipairs({ ... }) do
    for _, option in ipairs(list) do
      all[#all + 1] = option
    end
  end
  return all
end

---@class procage.cli.Command
---@field name string
---@field summary string
---@field usage string
---@field options procage.cli.Option[]
---@field takes "command"|"topic"|"words"|"file"|"files"|nil  what may follow the options; words: the subcommand's own affair
---@field actions? string[]  one of these comes first
---@field epilog string

---@type procage.cli.Command[]
M.commands = {
  {
    name = "run",
    summary = "Run a command confined by a policy.",
    usage = "procage-lua run [options] [--] <command> [<argument> ...]",
    options = join(POLICY, RUN, { HELP }),
    takes = "command",
    epilog = [[
Everything from the first word that is no option, or after --, is the command.

Exit status: the command's own, or
   128+N  signal N ended it
   124    --timeout ended it
   125    procage itself failed, or output was lost (a full disk)
   126    it did not run: it could not be confined, or not be executed
   127    it did not run: not found
   2      it did not run: bad usage, configuration or policy

Examples:
   procage-lua run -- make test
   procage-lua run --net none --timeout 60 -- ./configure
   procage-lua run --git commit -- git commit -am "wip"
   procage-lua run --allow-write ../out --lift ~/.npmrc -- npm pack
   procage-lua run --json -- cargo test]],
  },
  {
    name = "probe",
    summary = "Show what this machine can enforce.",
    usage = "procage-lua probe [--json]",
    options = { JSON, HELP },
    epilog = [[
Every fact was tried in a throw-away child. What failed is shown with the step and the errno.

Examples:
   procage-lua probe
   procage-lua probe --json > this-host.json]],
  },
  {
    name = "explain",
    summary = "Show what a policy comes to on this machine, clause by clause.",
    usage = "procage-lua explain [options]",
    options = join(POLICY, {
      {
        flags = "--host",
        arg = "<file>",
        convert = path("--host"),
        help = "Explain for another machine: what `procage-lua probe --json` printed there.",
      },
      JSON,
      HELP,
    }),
    epilog = [[
Takes the options of run that make the policy. Makes nothing and runs nothing.

Exit status: 0, also where run would refuse, which it says; 126 where nothing can be confined; 2 for
bad usage, configuration or policy.

Examples:
   procage-lua explain
   procage-lua explain --net none --git commit
   procage-lua explain --host other-host.json --json]],
  },
  {
    name = "learn",
    summary = "Run a command confined and propose the smallest policy that lets it.",
    usage = "procage-lua learn [options] [--] <command> [<argument> ...]",
    options = join(POLICY, {
      { flags = "--as", arg = "<form>", convert = M.form, help = "toml (the default: a configuration) or policy (a script)." },
      { flags = "-o --output", arg = "<file>", help = "Write it to this file, which must not be there yet." },
      { flags = "--timeout", arg = "<seconds>", convert = M.timeout, help = "End the whole run after this time." },
      HELP,
    }),
    takes = "command",
    epilog = [[
The command runs as under run, so what it may not do fails: learn again with what was proposed until
it succeeds. What it prints goes to standard error. Files are seen by the observer of
--denials=paths. Paths are put together to directories; what is hidden, or a file that others run,
is never proposed.

Exit status: 0 when there is a proposal, whatever became of the command; 126, 127 and 2 as for run.

Examples:
   procage-lua learn -- make test
   procage-lua learn --as policy -o build.lua -- cargo build]],
  },
  {
    name = "doctor",
    summary = "Attack the confinement on this machine, and say what is missing and how to lift it.",
    usage = "procage-lua doctor [options]",
    options = join(POLICY, { JSON, HELP }),
    epilog = [[
Takes the options of run that make the policy. The workspace and the home directory that are
attacked are made for it, below ~/.local/state/procage or, with --root, below that directory;
nothing else is touched.

Exit status: 0, or
   1      an attack came through
   126    this machine cannot confine as the policy demands
   2      bad usage, configuration or policy

Examples:
   procage-lua doctor
   procage-lua doctor --net all --json]],
  },
  {
    name = "check",
    summary = "Tell every mistake of configurations and policies, with its line.",
    usage = "procage-lua check [--root <dir>] <file> ...",
    options = {
      {
        flags = "--root",
        arg = "<dir>",
        convert = path("--root"),
        help = "The workspace that a policy is asked about; default: the directory you are in.",
      },
      HELP,
    },
    takes = "files",
    epilog = [[
Names end in .toml (the table [sandbox] is read), .json or .lua. A configuration is tried with its
policy, a policy with the defaults. Nothing is run or changed.

Exit status: 0 when all is well, 1 when anything is wrong, 2 bad usage

Examples:
   procage-lua check speccoder.toml
   procage-lua check ~/.config/procage/config.toml strict.lua]],
  },
  {
    name = "init",
    summary = "Write a commented configuration, or the skeleton of a policy.",
    usage = "procage-lua init [--policy] [<file>]",
    options = {
      { flags = "--policy", help = "A policy script in place of a configuration." },
      HELP,
    },
    takes = "file",
    epilog = [[
Without a file on standard output. A file that is there is never replaced.

Examples:
   procage-lua init speccoder.toml
   procage-lua init --policy strict.lua]],
  },
  {
    name = "why",
    summary = "Tell whether a command could do something, and what decides.",
    usage = "procage-lua why [options] read|write|exec|connect|bind <target>",
    options = join(POLICY, { JSON, HELP }),
    takes = "words",
    epilog = [[
The target is a path, from where you are; for connect and bind also @NAME, PORT, ADDRESS:PORT or
[ADDRESS]:PORT. Nothing is run. A change is shown only after the policy was built with it and asked
the same; none for credentials.

Exit status: 0 when it is allowed, 1 when not, 2 for bad usage, configuration or policy.

Examples:
   procage-lua why read ~/.ssh/id_ed25519
   procage-lua why write .git/config
   procage-lua why --net ports:443 connect 198.51.100.7:443]],
  },
  {
    name = "test",
    summary = "Run an operator's own tests of a policy.",
    usage = "procage-lua test [options] <file>",
    options = join(POLICY, {
      { flags = "--real", help = "Also try each against the kernel: a confined command, and the same unconfined." },
      JSON,
      HELP,
    }),
    takes = "words",
    epilog = [[
The file is Lua, read in the closed state that policies run in; docs/policies.md has its words:

   policy("./strict.lua")               -- from the directory of the file; --policy wins
   file("~/.ssh/id", "key")             -- the tests are then about a throw-away home and workspace
   allows.write("./x")
   denies.read("~/.ssh/id")
   gap("carve", hosts.docker)           -- there the policy has this gap

Exit status: 0 when all passed, 1 when one failed, 2 for bad usage or a mistake in the file.

Examples:
   procage-lua test policy_test.lua
   procage-lua test --real --policy ./strict.lua policy_test.lua]],
  },
  {
    name = "help",
    summary = "Show the help of a subcommand.",
    usage = "procage-lua help [<subcommand>]",
    options = { HELP },
    takes = "topic",
    epilog = [[
Examples:
   procage-lua help
   procage-lua help run]],
  },
  {
    name = "version",
    summary = "Print the version.",
    usage = "procage-lua version",
    options = { HELP },
    epilog = [[
Examples:
   procage-lua version]],
  },
}

-- Before help and version.
for _, command in ipairs(require("procage.cli.around").commands(POLICY)) do
  table.insert(M.commands, #M.commands - 1, command)
end

---@param name string
---@return procage.cli.Command?
function M.command(name)
  for _, command in ipairs(M.commands) do
    if command.name == name then
      return command
    end
  end
end

-- ---- Parsing --------------------------------------------------------------------------------------------------------------

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
  local command = name and M.command(name)
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
  for _, row in ipairs(M.commands) do
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

local function not_one_of(word, list)
  for _, item in ipairs(list) do
    if item == word then
      return false
    end
  end
  return true
end

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

  local command = M.command(first)
  if not command then
    local names = {}
    for _, row in ipairs(M.commands) do
      names[#names + 1] = row.name
    end
    local what = first:sub(1, 1) == "-" and "option" or "subcommand"
    return nil, ("unknown %s '%s'%s"):format(what, first, nearest.hint(first, names))
  end

  local action
  if command.actions and words[2] ~= "--help" and words[2] ~= "-h" then
    action = words[2]
    if not action or not_one_of(action, command.actions) then
      local hint = action and nearest.hint(action, command.actions) or ""
      return nil, ("%s: %s is expected%s"):format(command.name, table.concat(command.actions, " or "), hint)
    end
  end
  local options, rest, dashes = divide(command, table.move(words, action and 3 or 2, #words, 1, {}))
  if not options then
    return nil, ("%s: %s"):format(command.name, rest)
  end
  local parsed = quick_parse(command, options)
  if not parsed then
    local parsed_well
    parsed_well, parsed = parser_of(command):pparse(options)
    if not parsed_well then
      return nil, ("%s: %s"):format(command.name, (parsed:gsub("\n", " ")))
    end
  end
  if parsed.help then
    -- What a policy has to say of itself; of init the option is a switch.
    local policy = type(parsed.policy) == "string" and parsed.policy or nil
    return { command = "help", topic = command.name, options = { policy = policy } }
  end

  local request = { command = command.name, options = request_options(parsed), action = action, parsed = parsed }
  if command.takes == "command" then
    if #rest == 0 then
      return nil, command.name .. ": a command is missing" .. (dashes and " after --" or "")
    end
    request.argv = rest
  elseif command.takes == "words" then
    request.words, request.has_dashes = rest, dashes
  elseif command.takes == "files" or command.takes == "file" then
    if #rest == 0 and command.takes == "files" then
      return nil, command.name .. ": a file is missing"
    elseif #rest > 1 and command.takes == "file" then
      return nil, ("%s: unexpected argument '%s'"):format(command.name, rest[2])
    end
    request.files = rest
  elseif command.takes == "topic" then
    local topic = rest[1]
    if topic ~= nil and not M.command(topic) then
      local names = {}
      for _, row in ipairs(M.commands) do
        names[#names + 1] = row.name
      end
      return nil, ("help: unknown subcommand '%s'%s"):format(topic, nearest.hint(topic, names))
    end
    request.topic = topic
  elseif #rest > 0 then
    return nil, ("%s: unexpected argument '%s'"):format(command.name, rest[1])
  end
  return request
end

--- For the spec that compares the two.
M.quick_parse, M.parser_of = quick_parse, parser_of

return M
