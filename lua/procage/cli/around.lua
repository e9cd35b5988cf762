--- The subcommands around the sandbox: what they take, and their help. guard.lua, mask.lua and classify.lua beside this file do
--- them.

local list = require("procage.list")
local option = require("procage.cli.option")

local M = {}

local JSON = option.switch("--json", "Print JSON on standard output.")
local ROOT = option.text("--root", "<dir>", "The workspace; default: the directory you are in.")

---@type procage.cli.Command[]
local commands = {
  {
    name = "guard",
    summary = "Show what a command has changed of what it must not change.",
    usage = "procage-lua guard snapshot [options] | guard compare [--json] [<file>]",
    actions = { "snapshot", "compare" },
    takes = "words",
    options = {
      ROOT,
      option.texts("--protect", "<pattern>",
        "A path or pattern (*, ?, [a-z], ** for directories) from the workspace, / or ~/; may be repeated."),
      option.switch("--in-place", "HEAD, its branch and the index must stay as they are."),
      option.switch("--tree", "The content of every file that git tracks must stay."),
      option.switch("--no-git", "Leave out git's configuration, hooks, info and refs."),
      option.texts("--own-ref", "<pattern>", "Refs that may move, as refs/heads/agent/*; may be repeated."),
      option.text("--output", "<file>",
        "snapshot: write it to this file, which must not be there yet; default: standard output."),
      JSON,
      option.HELP,
    },
    epilog = [[
A snapshot is JSON. Keep it where the command cannot write: one inside the workspace is refused.
No git is run; its files are read.

Exit status of compare: 0 nothing changed; 1 something did, one line each; 2 bad usage or no
snapshot. Of snapshot: 0; 1 there is more to look at than limits allow; 125 it cannot be written.

Examples:
   procage-lua guard snapshot --protect 'SPEC.md' --protect 'tests/**' --output /tmp/before.json
   make test
   procage-lua guard compare /tmp/before.json
   procage-lua guard snapshot --in-place --own-ref 'refs/heads/agent/*' > /tmp/before.json]],
  },
  {
    name = "mask",
    summary = "Copy standard input to standard output without the secrets in it.",
    usage = "procage-lua mask [options] < <file>",
    options = {
      option.texts("--file", "<file>", "Mask the lines of this key file too; may be repeated."),
      option.texts("--name", "<pattern>", "Mask the values of further variables; may be repeated."),
      option.texts("--keep", "<name>", "Show this variable's value all the same; may be repeated."),
      option.switch("--no-env", "Mask no variables."),
      option.switch("--no-files", "Do not look for known key files in the home directory and the workspace."),
      ROOT,
      option.switch("--list", "Print the names of what would be masked, and why something is not, and read nothing."),
      option.HELP,
    },
    epilog = [[
Masked are values of this program's variables with secret names (`procage-lua explain` lists the
patterns) and lines of key files, from eight characters on: as they are, in base64, in hexadecimal,
percent-encoded and escaped as in JSON. Each becomes [redacted:NAME]. Output comes as input does,
but for what may be the beginning of a secret.

Exit status: 0; 2 bad usage or a key file that cannot be read; 125 when output was lost.

Examples:
   make deploy 2>&1 | procage-lua mask
   procage-lua mask --no-env --file ~/.ssh/id_ed25519 < build.log]],
  },
}

---@type procage.cli.Command
local classify = {
  name = "classify",
  summary = "Show what a policy says of a tool call before it runs.",
  usage = "procage-lua classify [options] [--] <command> [<argument> ...] | classify [options] < <call.json>",
  takes = "words",
  options = {
    option.texts("--protect", "<pattern>", "A protected input, as guard takes it: no call may change it; may be repeated."),
    option.switch("--network", "The command asks for the network."),
    JSON,
    option.HELP,
  },
  epilog = [[
Nothing runs. Without a command a call is read from standard input, or a list of calls: they are one session.
   {"tool": "command", "argv": ["git", "push"], "cwd": "src", "network": false}
   {"tool": "read" | "write" | "delete", "path": "src/a.c"}
   {"tool": "rename", "path": "a", "to": "b"}

Exit status: 0 allowed; 1 denied: no approval lifts it; 3 ask; 2 bad usage, configuration or call.
Of a list: that of its strictest call.

Examples:
   procage-lua classify -- git -C sub push
   procage-lua classify --protect 'golden/**' -- sh -c 'cp new golden/a'
   echo '{"tool": "write", "path": "AGENTS.md"}' | procage-lua classify --json]],
}

--- The subcommands of this file.
---@param policy_options procage.cli.Option[]  what a policy is made of
---@return procage.cli.Command[]
function M.commands(policy_options)
  classify.options = list.append(list.append({}, policy_options), classify.options)
  return { commands[1], commands[2], classify }
end

return M
