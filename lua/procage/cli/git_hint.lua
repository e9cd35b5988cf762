--- What git needs that failed because it may only read the repository: it says EROFS, or nothing at all (`git stash`).

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

---@param text string  what follows the word `git`
---@return string?
local function subcommand(text)
  local is_word
  for word in text:gmatch("%S+") do
    if is_word then
      is_word = false
    elseif word:sub(1, 1) == "-" then
      is_word = WITH_WORD[word]
    else
      return word:match("^[%w-]+")
    end
  end
end

--- Whether the command's words name a git command that writes, as a program of their own or in a line of shell, which is how
--- agents have it. A line is not taken apart: that a repository may only be read is true whatever else failed.
---@param argv string[]
local function names_writing_git(argv)
  for arguments in table.concat(argv, " "):gmatch("%f[%w_.-]git%f[^%w_.-]([^;&|\n]*)") do
    if WRITING[subcommand(arguments) or ""] then
      return true
    end
  end
  return false
end

--- The line, where a change was tried that would let the command write; nil where refusals name one already.
---@param policy procage.Policy
---@param argv string[]
---@param denials procage.Denials
---@return string?
function M.line(policy, argv, denials)
  if policy.fitted.unconfined or policy.fitted.git ~= "read" or not names_writing_git(argv) then
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
