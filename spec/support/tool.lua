--- Holds a tool to the promise that ordinary development work runs unchanged: what it does unconfined it does confined.
---
---     tool.works({ needs = { "make" }, setup = "printf 'all:\n\ttouch out\n' >Makefile", run = "make" })

local box = require("spec.support.box")
local list = require("procage.list")

local M = {}

---@class procage.ToolCase
---@field needs? string[]  programs; pending without one
---@field box? procage.BoxOptions
---@field setup? string|fun(b: procage.Box)  outside, before; a string is a shell's, in the workspace
---@field run string|string[]
---@field options? table  of the run
---@field status? integer  how it ends, confined or not; default 0
---@field prints? string  a pattern for its standard output, confined or not
---@field after? fun(b: procage.Box, result: table)  what must hold then, confined or not
---@field unless? procage.ToolGap

--- A host may lack what a tool needs. Then the report must say so, and the tool fails in its own words.
---@class procage.ToolGap
---@field clause string
---@field lacks? string|string[]  mechanisms of which the clause's row names none there; nil: the row is `tightened`
---@field effect? string  a plain text in the row's effect
---@field fails string|string[]  a pattern for what the tool prints, or some of which one must match

---@param result table
---@return string
local function told(result)
  return ("status %s\n%s%s"):format(
    tostring(result.status or ("of signal " .. tostring(result.signal))),
    result.stdout:sub(-2000),
    result.stderr:sub(-2000)
  )
end
M.told = told

---@param row procage.Row
---@param mechanism string
---@return boolean
function M.has(row, mechanism)
  return list.has(row.mechanisms, mechanism)
end

---@param report procage.Row[]
---@param gap? procage.ToolGap
---@return boolean
local function is_lacking(report, gap)
  if not gap then
    return false
  end
  local row = box.report_row(report, gap.clause)
  for _, mechanism in ipairs(type(gap.lacks) == "table" and gap.lacks or { gap.lacks }) do
    if M.has(row, mechanism) then
      return false
    end
  end
  return gap.lacks ~= nil or row.state == "tightened"
end

---@param result table
---@param patterns string|string[]
---@return boolean
local function says(result, patterns)
  for _, pattern in ipairs(type(patterns) == "table" and patterns or { patterns }) do
    if (result.stdout .. result.stderr):find(pattern) then
      return true
    end
  end
  return false
end

local function prepare(case)
  local b = box.new(case.box)
  if type(case.setup) == "function" then
    case.setup(b)
  elseif case.setup then
    b:setup("set -e; " .. case.setup)
  end
  return b
end

local function check(what, case, b, result)
  if result.status ~= (case.status or 0) or case.prints and not result.stdout:find(case.prints) then
    error(("%s: %s"):format(what, told(result)), 3)
  end
  if case.after then
    case.after(b, result)
  end
end

--- Runs a tool unconfined and then confined, each in a tree of its own.
---@param case procage.ToolCase
---@return procage.Outcome
function M.works(case)
  for _, program in ipairs(case.needs or {}) do
    box.skip_without(program)
  end
  do
    local b <close> = prepare(case)
    check("unconfined", case, b, b:run_unconfined(case.run, case.options))
  end
  local b <close> = prepare(case)
  local outcome = b:run(case.run, case.options)
  local gap = case.unless
  if not is_lacking(outcome.report, gap) then
    check("confined", case, b, outcome)
    return outcome
  end
  local row = box.report_row(outcome, gap.clause)
  if gap.effect and not (row.effect or ""):find(gap.effect, 1, true) then
    error(("the report does not say '%s': %s"):format(gap.effect, tostring(row.effect)), 2)
  elseif outcome.status == (case.status or 0) or not says(outcome, gap.fails) then
    error(("the report names a gap, and the tool does not: %s"):format(told(outcome)), 2)
  end
  return outcome
end

--- A loopback takes a network namespace, or a supervisor that judges each address.
---@type procage.ToolGap
M.no_loopback = {
  clause = "network",
  lacks = { "netns", "mediated-loopback" },
  effect = "servers on 127.0.0.1 cannot be started or reached",
  fails = "[Pp]ermission denied",
}

--- The latter does not judge datagrams.
---@type procage.ToolGap
M.no_datagrams = { clause = "network", lacks = "netns", fails = "[Pp]ermission denied" }

--- A terminal of the run's own takes a mount namespace: the host's /dev/pts holds the user's.
---@type procage.ToolGap
M.no_terminal = {
  clause = "read",
  lacks = "mount-tree",
  effect = "no pseudo-terminals",
  fails = { "[Pp]ermission denied", "out of pty devices" },
}

--- And a /dev/shm of the run's own, in which sem_open(3) and shm_open(3) make their files.
---@type procage.ToolGap
M.no_shared_memory = {
  clause = "tmp",
  lacks = "private-tmp-mount",
  effect = "no POSIX semaphores or shared memory",
  fails = "[Pp]ermission denied",
}

--- A git identity for the box's home.
---@param b procage.Box
function M.identity(b)
  b:write(
    "home/.gitconfig",
    "[user]\n\tname = T\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n"
  )
end

return M
