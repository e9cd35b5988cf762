--- What the rules of classify say of git: subcommands, their options, settings. How they are applied: classify_rules.lua.

local M = {}

---@class procage.GitRule
---@field id string
---@field decision "denied"|"ask"|"allowed"
---@field commands string
---@field reason string

--- By subcommand; M.git_more has what options and operands make of some of them.
---@type procage.GitRule[]
M.git = {
  {
    id = "git-remote",
    decision = "denied",
    commands = "push fetch pull clone ls-remote submodule send-pack fetch-pack upload-pack receive-pack "
      .. "upload-archive http-fetch http-push remote-http remote-https remote-ftp remote-ext remote-fd "
      .. "daemon shell svn p4 cvsimport cvsexportcommit cvsserver archimport send-email imap-send "
      .. "request-pull lfs annex credential credential-store credential-cache credential-manager "
      .. "instaweb scalar backfill remote",
    reason = "git remotes: what leaves this machine, or comes from another one, is not an agent's to decide",
  },
  {
    id = "git-destructive",
    decision = "denied",
    commands = "clean prune prune-packed filter-branch filter-repo replace update-ref fast-import "
      .. "pack-redundant unpack-file",
    reason = "loses work, or rewrites history",
  },
  { id = "git-notes", decision = "denied", commands = "notes", reason = "git notes hold the record of who did what" },
  {
    id = "git-programs",
    decision = "denied",
    commands = "hook maintenance fsmonitor--daemon",
    reason = "has git run programs, now or later",
  },
  {
    id = "git-state",
    decision = "ask",
    commands = "add stage commit checkout switch restore reset merge rebase cherry-pick revert stash mv rm "
      .. "branch tag am apply init worktree bisect gc repack pack-refs sparse-checkout update-index "
      .. "read-tree write-tree commit-tree commit-graph multi-pack-index mktree mktag hash-object "
      .. "unpack-objects index-pack pack-objects merge-file merge-index merge-tree merge-one-file "
      .. "rerere symbolic-ref checkout-index format-patch bundle archive difftool mergetool gui citool "
      .. "quiltimport fast-export bugreport diagnose replay history update-server-info mailinfo mailsplit",
    reason = "changes the state of the repository",
  },
  {
    id = "git-read",
    decision = "allowed",
    commands = "status log diff show blame annotate ls-files ls-tree rev-parse rev-list cat-file grep "
      .. "describe shortlog show-ref for-each-ref name-rev merge-base check-ignore check-attr "
      .. "check-mailmap count-objects diff-tree diff-index diff-files whatchanged cherry range-diff "
      .. "verify-commit verify-tag verify-pack fsck var version help show-branch show-index patch-id "
      .. "interpret-trailers stripspace column check-ref-format get-tar-commit-id "
      .. "last-modified diff-pairs reflog",
    reason = "reads the repository",
  },
}

---@class procage.GitMore
---@field command string
---@field decision "denied"|"ask"|"allowed"
---@field id string
---@field options? string  any of these: long ones may be shortened, letters combined
---@field words? string  the first operand is one of these; "-": there is no operand
---@field reason string

--- What options and the first operand make of a subcommand: every row that fits counts, and one that allows counts only when no
--- option fits another row and M.git said `ask`, or denied the subcommand by these words.
---@type procage.GitMore[]
M.git_more = {
  {
    command = "reset", options = "--hard --merge --keep", decision = "denied", id = "git-destructive",
    reason = "discards work that is in no commit",
  },
  {
    command = "checkout", options = "--force -f -B", decision = "denied", id = "git-destructive",
    reason = "discards work that is in no commit",
  },
  {
    command = "switch", options = "--force -f --discard-changes -C --force-create", decision = "denied", id = "git-destructive",
    reason = "discards work that is in no commit",
  },
  {
    command = "branch", options = "--delete -d -D --force -f -M -C --move -m --copy -c",
    decision = "denied", id = "git-destructive",
    reason = "removes or moves a branch",
  },
  {
    command = "branch",
    options = "--list -l -a --all -r --remotes --show-current --contains --no-contains --merged --no-merged --points-at",
    decision = "allowed", id = "git-read",
    reason = "lists branches",
  },
  {
    command = "branch", words = "-", decision = "allowed", id = "git-read",
    reason = "lists branches",
  },
  {
    command = "branch", options = "--edit-description --set-upstream-to -u --unset-upstream",
    decision = "denied", id = "git-config",
    reason = "writes git's configuration",
  },
  {
    command = "tag", options = "--delete -d --force -f", decision = "denied", id = "git-destructive",
    reason = "removes or moves a tag",
  },
  {
    command = "tag", options = "--list -l --contains --merged --points-at -n", decision = "allowed", id = "git-read",
    reason = "lists tags",
  },
  {
    command = "tag", words = "-", decision = "allowed", id = "git-read",
    reason = "lists tags",
  },
  {
    command = "stash", words = "drop clear", decision = "denied", id = "git-destructive",
    reason = "discards stashed work",
  },
  {
    command = "stash", words = "list show", decision = "allowed", id = "git-read",
    reason = "reads",
  },
  {
    command = "reflog", words = "expire delete drop", decision = "denied", id = "git-destructive",
    reason = "loses what could be recovered",
  },
  {
    command = "reflog", words = "- show list exists HEAD", decision = "allowed", id = "git-read",
    reason = "reads",
  },
  {
    command = "gc", options = "--prune --aggressive --force", decision = "denied", id = "git-destructive",
    reason = "loses what could be recovered",
  },
  {
    command = "worktree", words = "list", decision = "allowed", id = "git-read",
    reason = "reads",
  },
  {
    command = "worktree", options = "--force -f", decision = "denied", id = "git-destructive",
    reason = "discards work that is in no commit",
  },
  {
    command = "worktree", words = "remove prune", decision = "denied", id = "git-destructive",
    reason = "removes a worktree",
  },
  {
    command = "rm", options = "-r -f --force", decision = "denied", id = "git-destructive",
    reason = "removes files that may be in no commit",
  },
  {
    command = "commit", options = "--amend --no-verify -n --fixup --squash", decision = "ask", id = "git-state",
    reason = "rewrites the last commit, or passes hooks by",
  },
  {
    command = "rebase", options = "--exec -x", decision = "ask", id = "git-programs",
    reason = "runs commands",
  },
  {
    command = "bisect", words = "run", decision = "ask", id = "git-programs",
    reason = "runs a command",
  },
  {
    command = "remote", words = "- -v --verbose get-url", decision = "allowed", id = "git-read",
    reason = "lists remotes",
  },
  {
    command = "remote", words = "update prune", decision = "denied", id = "git-remote",
    reason = "talks to a remote",
  },
  {
    command = "notes", words = "list show", decision = "allowed", id = "git-read",
    reason = "reads notes",
  },
  {
    command = "archive", options = "--remote --exec", decision = "denied", id = "git-remote",
    reason = "talks to a remote",
  },
  {
    command = "symbolic-ref", options = "--delete -d -m", decision = "denied", id = "git-destructive",
    reason = "moves HEAD without a trace",
  },
  {
    command = "hash-object", options = "-w", decision = "ask", id = "git-state",
    reason = "writes an object",
  },
  {
    command = "grep", options = "-O --open-files-in-pager", decision = "ask", id = "git-programs",
    reason = "runs a pager",
  },
  {
    command = "diff", options = "--ext-diff --textconv", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "log", options = "--ext-diff --textconv", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "show", options = "--ext-diff --textconv", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "blame", options = "--textconv", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "grep", options = "--textconv", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "cat-file", options = "--textconv --filters", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "help", options = "-w --web -i --info", decision = "ask", id = "git-programs",
    reason = "runs a browser",
  },
  {
    command = "fsck", options = "--lost-found", decision = "ask", id = "git-state",
    reason = "writes into git's directory",
  },
  {
    command = "interpret-trailers", options = "--in-place", decision = "ask", id = "git-state",
    reason = "writes a file",
  },
}

--- Keys that `git -c` may set without a question: they name no program, no path and no other machine.
M.git_settings = {
  "user.name", "user.email", "author.*", "committer.*", "color.*", "core.quotepath", "core.abbrev", "core.pager=cat",
  "core.pager=", "pager.*=false", "advice.*", "commit.gpgsign=false", "tag.gpgsign=false", "init.defaultbranch", "log.*",
  "diff.renames", "diff.context", "diff.algorithm", "diff.noprefix", "diff.mnemonicprefix", "status.*", "column.*",
  "core.autocrlf", "core.safecrlf", "merge.conflictstyle", "core.fsmonitor=false", "core.hookspath=/dev/null",
}

--- Options of git itself that take the next word.
M.git_takes = "-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix --attr-source --list-cmds"

return M
