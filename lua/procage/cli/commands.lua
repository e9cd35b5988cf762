--- The subcommands, what each takes and its help: the table that options.lua reads a line with.

local around = require("procage.cli.around")
local list = require("procage.list")
local option = require("procage.cli.option")
local values = require("procage.cli.values")

local M = {}

--- What both `run` and `explain` build a policy from.
---@type procage.cli.Option[]
local POLICY = {
  option.path("--policy", "<policy>",
    "A shipped policy (speccoder, the default, in-place, own-command, mcp-server, workspace-write, read-only, spettro, "
    .. "off) or the path of a script. docs/policies.md has them."),
  option.pairs("--option", "<name=value>",
    "Set an option that the policy declares; --policy P --help lists them; once for each entry of a list."),
  option.paths("--narrow", "<file>", "A policy script that may only take away from what the policy gives; may be repeated."),
  option.path("--config", "<file>",
    "Read the configuration from this TOML or JSON file; options win over it. Default: your own, which the workspace's "
    .. "speccoder.toml may narrow."),
  option.path("--root", "<dir>",
    "The workspace, writable; default: the directory you are in. A command starts where you are, or else at its top."),
  option.value("--net", "<network>",
    "none, loopback (a private one, the default), ports:443,8080 (TCP connections to these), or all.", values.network),
  option.paths("--allow-write", "<dir>", "Another writable tree; may be repeated."),
  option.paths("--allow-read", "<dir>", "Another readable tree, one below /tmp for example; may be repeated."),
  option.value("--git", "<mode>",
    "The workspace's git directory: read (the default), commit (never hooks or config), or write.", values.git),
  option.values("--lift", "<name>",
    "Re-open a hidden path, a hand-off name or a pattern of variables, as `explain` spells it; may be repeated."),
  option.value("--sandbox", "<mode>",
    "Spettro's sandbox: off, read-only or workspace-write. This and the next three mean --policy spettro, and win over "
    .. "the [runtime] of a spettro.agents.toml given with --config."),
  option.value("--sandbox-net", "<network>", "Its network: all (the default), localhost, none or ports:443,8080."),
  option.paths("--sandbox-allow-dir", "<dir>", "Another tree that it lets be written; may be repeated."),
  option.paths("--sandbox-allow-read-dir", "<dir>", "Another tree that it lets be read; may be repeated."),
  option.pairs("--set", "<key=value>",
    "Set a configuration key; dots reach into tables; the value is JSON or a plain string; may be repeated."),
}

---@type procage.cli.Option[]
local RUN = {
  option.pairs("--env", "<name=value>", "Set a variable of the command, also one that would be dropped; may be repeated."),
  option.switch("--tty", "Give the command a terminal of its own, for editors, shells and prompts; you must be at one."),
  option.value("--timeout", "<seconds>", "End the whole run after this time: exit status 124.", values.timeout),
  option.switch("--json", "Capture the output and print one JSON object when the command has ended."),
  option.value("--denials", "<what>",
    "What is told of refusals: off, calls (the default: system calls and connections), paths (files too; slower).",
    values.denials),
  option.switch("-q --quiet",
    "Say nothing of gaps, refusals and how the command ended; what it did to files is told all the same."),
  option.switch("-v --verbose", "What each gap of this machine means, and what would lift it; else they are one line."),
}

local function concat(...)
  local all = {}
  for _, options in ipairs({ ... }) do
    list.append(all, options)
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
M.list = {
  {
    name = "run",
    summary = "Run a command confined by a policy.",
    usage = "procage-lua run [options] [--] <command> [<argument> ...]",
    options = concat(POLICY, RUN, { option.HELP }),
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
    options = { option.JSON, option.HELP },
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
    options = concat(POLICY, {
      option.path("--host", "<file>", "Explain for another machine: what `procage-lua probe --json` printed there."),
      option.JSON,
      option.HELP,
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
    options = concat(POLICY, {
      option.value("--as", "<form>", "toml (the default: a configuration) or policy (a script).", values.form),
      option.value("-o --output", "<file>", "Write it to this file, which must not be there yet."),
      option.value("--timeout", "<seconds>", "End the whole run after this time.", values.timeout),
      option.HELP,
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
    options = concat(POLICY, { option.JSON, option.HELP }),
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
    usage = "procage-lua check [--root <dir>] [--option <name=value> ...] <file> ...",
    options = {
      option.path("--root", "<dir>", "The workspace that a policy is asked about; default: the directory you are in."),
      option.pairs("--option", "<name=value>", "A value for an option that a policy script declares; may be repeated."),
      option.HELP,
    },
    takes = "files",
    epilog = [[
Names end in .toml (the table [sandbox] is read), .json or .lua. A configuration is tried with its
policy, a policy with the defaults; fit.lua is read as mechanisms of your own. Nothing is run or changed.

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
      option.switch("--policy", "A policy script in place of a configuration."),
      option.HELP,
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
    options = concat(POLICY, { option.JSON, option.HELP }),
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
    options = concat(POLICY, {
      option.switch("--real", "Also try each against the kernel: a confined command, and the same unconfined."),
      option.JSON,
      option.HELP,
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
    options = { option.HELP },
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
    options = { option.HELP },
    epilog = [[
Examples:
   procage-lua version]],
  },
}

-- Before help and version.
for _, command in ipairs(around.commands(POLICY)) do
  table.insert(M.list, #M.list - 1, command)
end

---@param name string
---@return procage.cli.Command?
function M.find(name)
  for _, command in ipairs(M.list) do
    if command.name == name then
      return command
    end
  end
end

---@return string[]
function M.names()
  local names = {}
  for i, command in ipairs(M.list) do
    names[i] = command.name
  end
  return names
end

return M
