--- help(x): what a name, a value, a clause or a gap id is.

local nearest = require("procage.nearest")
local profiles = require("procage.profile")

local M = {}

---@type { [1]: string, [2]: string, [3]: string }[]  name, one line, more
local TOPICS = {
  { "host", "what this machine offers, each fact tried", [[
host.landlock_abi, host.userns, host.failures, ... A table; procage.probe() makes it anew.]] },
  { "hosts", "other machines, written down", [[
hosts.ubuntu_apparmor, hosts.docker, hosts.debian12, ... Each can be given to fit, and to load as {host = ...} where it claims
less than this machine has.]] },
  { "load", "load(NAME_OR_FILE [, CONFIG [, OPTIONS]]): a policy", [[
p = load("speccoder")
p = load("speccoder", {network = "none", lift = {"~/.npmrc"}})      the keys of docs/cli.md
p = load("./strict.lua", {}, {root = "/srv/project"})               root: the workspace, here the directory you are in
Also options.home, env, host. Raises an error where procage.policy.load returns one. It becomes the policy of run and why.
Text that is a program, load("return 1"), is Lua's own load.]] },
  { "fit", "fit(PROFILE [, HOST]): report and fitted profile, for any machine", [[
fit(p.profile, hosts.ubuntu_apparmor)
report, fitted = fit(p)                                             default: this machine]] },
  { "run", "run{WORD, ...}: a command, confined; its Outcome", [[
run{"make", "test"}
run "ls -la | wc -l"                                                a line of shell
run{"cargo", "test", policy = p, timeout_ms = 60000, env = {CI = "1"}}
Keys as for policy:run, and policy: default is the one loaded last, or speccoder. At a prompt the output is shown as it comes,
and Ctrl-C ends the run.]] },
  { "diff", "diff(A, B): what differs between two policies, profiles, reports, hosts, tables", [[
diff(load("speccoder"), load("speccoder", {network = "all"}))
diff(fit(p, hosts.debian12), fit(p, hosts.docker))
"- " only in A, "+ " only in B. The result is a list of {path, kind, before, after}.]] },
  { "why", "why(OPERATION, TARGET): whether the policy allows it, and by which line", [[
why("read", "~/.ssh/id")                                            the policy loaded last
p:why("connect", "/run/user/1000/bus")
Operations: read, write, exec, connect, bind.]] },
  { "pp", "pp(VALUE, ...): prints values as the prompt does", [[
pp(p.profile.limits)]] },
  { "help", "help(X): of a name, a value, a clause or a gap id", [[
help(run), help("network"), help("carve"), help(p)]] },
  { "procage", "the module, as require(\"procage\") gives it", [[
procage.probe, policy.load, fit, hosts, profile, confine_parent, version; docs/policies.md]] },
}

---@type table<string, string>
local CLAUSES = {
  read = "what can be read: everything that is not hidden, or the listed trees",
  write = "files are written in the writable trees and nowhere else",
  truncate = "files outside are not cut short",
  metadata = "mode, owner, times and extended attributes outside stay",
  device_ioctl = "no ioctl on devices",
  hidden = "no data of hidden paths",
  stat = "no names, sizes and times of hidden paths",
  read_only = "read-only trees inside writable ones stay as they are",
  ignored = "files that git ignores and that look like credentials read as empty",
  git = "the workspace's git directory is written as far as `git` says",
  handoff = "existing files that make someone else run code later stay as they are",
  handoff_absent = "such files that do not exist are not made",
  tmp = "temporary files are the run's own",
  network = "none, loopback (whose: `loopback`), ports or all",
  sockets = "Unix sockets with a path are reached in the listed and the writable trees",
  abstract = "abstract Unix sockets: only the run's own",
  env = "variables that look secret are dropped",
  signals = "signals, tracing and /proc reach the run's own processes",
  ipc = "System V and POSIX IPC is the run's own",
  process_tree = "nothing of the run outlives it",
  limits = "time, output, memory, processes, files",
}

local function overview()
  local lines = { "Ready names (help(NAME) says more):" }
  for _, topic in ipairs(TOPICS) do
    lines[#lines + 1] = ("  %-8s %s"):format(topic[1], topic[2])
  end
  lines[#lines + 1] = "The rest is Lua 5.4. `_` is the last value. Tab completes, Ctrl-C drops the line, Ctrl-D leaves."
  return table.concat(lines, "\n")
end

local function topic_text(topic)
  return topic[2] .. "\n" .. topic[3]
end

--- The rows of the policy that was loaded last, or of this machine's report, are not asked: a clause is the same everywhere.
local function word_text(word)
  for _, topic in ipairs(TOPICS) do
    if topic[1] == word then
      return topic_text(topic)
    end
  end
  if CLAUSES[word] then
    return ("clause %s: %s\ndocs/profile.md"):format(word, CLAUSES[word])
  end
  for _, gap in ipairs(profiles.gaps) do
    if gap.id == word then
      return ("gap id %s: %s; accept = {\"%s\"} tolerates it. docs/profile.md"):format(word, gap.means, word)
    end
  end
  local names = {}
  for _, topic in ipairs(TOPICS) do
    names[#names + 1] = topic[1]
  end
  for clause in pairs(CLAUSES) do
    names[#names + 1] = clause
  end
  table.sort(names)
  return ("help: nothing is known of '%s'%s"):format(word, nearest.hint(word, names))
end

local function methods_text(value)
  local index = (getmetatable(value) or {}).__index
  local names = {}
  for name, item in pairs(type(index) == "table" and index or {}) do
    if type(item) == "function" then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return "methods: " .. table.concat(names, ", ")
end

---@param is_given boolean
---@param value any
---@param env table
---@return string
function M.text(is_given, value, env)
  if not is_given then
    return overview()
  elseif type(value) == "string" then
    return word_text(value)
  elseif value == nil then
    return "nil: no such name" .. "; help() lists those that are ready"
  end
  for _, topic in ipairs(TOPICS) do
    if rawequal(rawget(env, topic[1]), value) then
      return topic_text(topic)
    end
  end
  if type(value) == "table" and rawget(value, "fitted") and rawget(value, "report") then
    return [[
a policy
p.profile            what is wanted, resolved on this disk; docs/profile.md
p.fitted, p.report   what this machine makes of it; the report prints as `explain` does
p.host               the machine it was fitted to
p:run{WORD, ...}     a command; p:start{...} one to step
p:explain(HOST)      report, fitted profile for another machine
p:why(OP, TARGET)    whether it is allowed, and by which line
p:wrap(ARGV), p:exec(ARGV)   docs/helper.md]]
  elseif type(value) == "table" and getmetatable(value) then
    return methods_text(value)
  elseif type(value) == "function" then
    local info = debug.getinfo(value, "Su")
    local parameters = {}
    for i = 1, info.nparams do
      parameters[i] = debug.getlocal(value, i)
    end
    if info.isvararg then
      parameters[#parameters + 1] = "..."
    end
    local place = info.what == "C" and "in C" or ("%s:%d"):format(info.short_src, info.linedefined)
    return ("function(%s), %s"):format(table.concat(parameters, ", "), place)
  end
  return "a " .. type(value) .. ": pp(X) prints it"
end

return M
