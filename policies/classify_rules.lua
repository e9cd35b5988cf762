--- What a policy says of a tool call before it runs: `denied` (no approval lifts it), `ask` (somebody decides), `allowed`.
--- Data, a reason a row; procage.classify applies them. A call is looked at by every row that fits it, and the strictest one
--- decides.
---
--- This is a courtesy before the run: what a command really cannot do, the kernel keeps from it. So a row errs towards asking.
---
--- The rows are in a file a subject; a table of rules in their place (`classify.new(policy, { rules = ... })`) has these keys.

local git = require("policies.classify_git")
local programs = require("policies.classify_programs")

return {
  paths = require("policies.classify_paths"),
  programs = programs.programs,
  wrappers = programs.wrappers,
  shells = programs.shells,
  harmless_variables = programs.harmless_variables,
  allowed = require("policies.classify_allowed"),
  git = git.git,
  git_more = git.git_more,
  git_settings = git.git_settings,
  git_takes = git.git_takes,
}
