--- What a git command needs that failed because it may only read the repository: git says EROFS, or nothing at all.

local git = require("procage.git")
local list = require("procage.list")
local path = require("procage.path")
local remedy = require("procage.remedy")

local M = {}

--- Those that write a repository; many others fail for reasons of their own.
local WRITING = list.set({
  "add", "am", "branch", "checkout", "cherry-pick", "commit", "merge", "mv", "notes", "rebase", "reset", "restore", "revert",
  "rm", "stash", "switch", "tag", "update-index", "update-ref",
})

--- Options before git's subcommand that take a word. Source: git(1).
local WITH_WORD = list.set({ "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env" })

---@param argv string[]
---@return string?
local function subcommand(argv)
  local i = 2
  while argv[i] and argv[i]:sub(1, 1) == "-" do
    i = i + (WITH_WORD[argv[i]] and 2 or 1)
  end
  return argv[i]
end

--- The line, where a change was tried that would let the command write; nil where refusals name one already.
---@param policy procage.Policy
---@param argv string[]
---@param denials procage.Denials
---@return string?
function M.line(policy, argv, denials)
  local is_git = path.basename(argv[1]) == "git" and WRITING[subcommand(argv) or ""]
  if not is_git or policy.fitted.unconfined or policy.fitted.git ~= "read" then
    return nil
  end
  for _, line in ipairs(denials.denied) do
    if line.clause == "git" then
      return nil
    end
  end
  local found = git.governing(policy.profile.workspace)
  if not found then
    return nil
  end
  local flag = remedy.checked(policy, remedy.git(), { op = "write", target = path.join(found.directory, "index.lock") })
  return flag and ("git may only read this repository here: %s lets it %s"):format(flag, flag:match("%a+$")) or nil
end

return M
