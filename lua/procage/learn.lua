--- From what a command was seen to do with files to the smallest policy that lets it: pure, but for asking whether a path is
--- there. What is hidden, a hand-off name or run by others (procage.startup) is never proposed, however often it was wanted.

local core = require("procage.core")
local path = require("procage.path")
local quote = require("procage.quote")
local reports = require("procage.report")
local startup = require("procage.startup")

local M = {}

---@class procage.Learned
---@field read string[]  trees
---@field write string[]  trees outside the workspace, the private tmp and the caches
---@field caches string[]  granted caches that were written
---@field unused string[]  granted writable trees that were not
---@field git "read"|"commit"|"write"
---@field left_out { path: string, why: string }[]  wanted, and not proposed
---@field network? "all"|"loopback"  refused connections wanted it
---@field files integer  distinct paths

--- Directories of the system: what a program reads there is a matter of packages, so the whole of each is named.
local SYSTEM = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/sys", "/nix", "/snap" }

--- The run's own, whatever stands there outside.
local OWN = { "/proc", "/dev", "/tmp", "/var/tmp", "/dev/shm" }

--- Of git's directory a commit writes these and nothing else. As profile.md has `git = "commit"`.
local COMMITTED = { index = true, HEAD = true, ORIG_HEAD = true, objects = true, refs = true, logs = true,
  ["packed-refs"] = true, ["packed-refs.lock"] = true, COMMIT_EDITMSG = true, ["index.lock"] = true, ["HEAD.lock"] = true }

--- More names than these in one directory, and the directory is meant.
local FEW = 3

local function bits()
  local by_name, writes = {}, 0
  for _, row in ipairs(core.landlock_bits().fs) do
    by_name[row.name] = row.bit
  end
  for name, bit in pairs(by_name) do
    if name ~= "READ_FILE" and name ~= "READ_DIR" and name ~= "EXECUTE" then
      writes = writes | bit
    end
  end
  return writes | 1 << 32 -- mode, owner, times
end

local function set_of(list)
  local set = {}
  for _, item in ipairs(list) do
    set[item] = true
  end
  return set
end

---@class procage.LearnView
---@field home? string
---@field workspace string
---@field hidden table<string, boolean>
---@field above_hidden table<string, boolean>  directories that hold something hidden
---@field granted table<string, boolean>
---@field protected table<string, boolean>
---@field roots table<string, boolean>  where hand-off names count, in lower case
---@field names table<string, boolean>  hand-off names, in lower case
---@field own table<string, boolean>
---@field system table<string, boolean>
---@field startup procage.Startup

--- What each path is looked up in: a run uses tens of thousands.
---@return procage.LearnView
local function view_of(policy)
  local survey, context = policy.survey, policy.context
  local view = {
    home = context.home ~= "/" and context.home or nil,
    workspace = context.workspace,
    hidden = set_of(policy.fitted.hidden), above_hidden = {},
    granted = set_of(survey.write), protected = set_of(survey.protected),
    roots = {}, names = {}, own = set_of(OWN), system = set_of(SYSTEM),
    startup = startup.of(policy),
  }
  for _, place in ipairs(policy.fitted.hidden) do
    for _, above in ipairs(path.above(place)) do
      view.above_hidden[above] = true
    end
  end
  for _, root in ipairs(survey.watch.roots) do
    view.roots[root:lower()] = true
  end
  for _, name in ipairs(survey.watch.names) do
    view.names["/" .. name:lower()] = name ~= ".git" or nil
  end
  return view
end

--- How deep a directory below home says whose it is: ~/.config/git, ~/.local/share/x, ~/go.
local function depth_at_home(names)
  if names[1] == ".local" then
    return 3
  end
  return (names[1] == ".config" or names[1] == ".cache" or names[1] == "Library") and 2 or 1
end

--- Too wide for an entry: a directory at the top or above a home, or one that holds something hidden or, for writing, something
--- that others run.
---@param view procage.LearnView
local function is_wide(tree, is_write, view)
  return tree:find("^/[^/]*$") ~= nil or view.above_hidden[tree] ~= nil
    or view.home ~= nil and path.lies_in(view.home, tree)
    or is_write and view.startup:is_above(tree)
end

--- The tree that a path is generalised to, unless that is too wide.
---@param view procage.LearnView
local function tree_for(target, is_write, view)
  local home = view.home
  local tree = not is_write and path.tree_in(target, view.system)
  if tree and not path.lies_in(view.workspace, tree) and not (home and path.lies_in(home, tree)) then
    return tree
  elseif home and path.lies_in(target, home) and target ~= home then
    local names = path.components(target:sub(#home + 2))
    local depth = depth_at_home(names)
    -- A file at that depth is itself; a directory's name is followed by more.
    tree = path.join(home, table.concat(names, "/", 1, math.min(depth, #names)))
  else
    tree = path.parent(target) or target
  end
  return is_wide(tree, is_write, view) and target or tree
end

--- Trees without those that lie in another, sorted.
local function tidy(set)
  local kept = {}
  for tree in pairs(set) do
    local parent = tree ~= "/" and path.parent(tree)
    if not parent or not path.tree_in(parent, set) then
      kept[#kept + 1] = tree
    end
  end
  table.sort(kept)
  return kept
end

--- Many files of one directory are the directory, where that is not too wide.
local function gather(set, is_write, view)
  local count = {}
  for tree in pairs(set) do
    local parent = path.parent(tree)
    if parent then
      count[parent] = (count[parent] or 0) + 1
    end
  end
  for parent, n in pairs(count) do
    if n > FEW and not is_wide(parent, is_write, view) then
      set[parent] = true
    end
  end
  return tidy(set)
end

local function last_component_in_git(target)
  return target:match("/%.git/([^/]+)") or (target:match("/%.git$") and "")
end

--- Whether a hand-off name of the run's own trees is on the way to it.
---@param view procage.LearnView
local function is_handed_off(target, view)
  local lowered = target:lower()
  for at in lowered:gmatch("()/") do
    if view.roots[lowered:sub(1, at - 1)] and path.tree_in("/" .. lowered:sub(at + 1), view.names) then
      return true
    end
  end
  return false
end

--- Whether nobody may be offered it, and why.
---@param view procage.LearnView
local function closed(target, view)
  if path.tree_in(target, view.hidden) then
    return "hidden"
  elseif path.tree_in(target, view.protected) and not last_component_in_git(target) or is_handed_off(target, view) then
    return view.startup:name_reason(target) or "a file that others run"
  end
end

local function git_mode(learned, target, why_out)
  local part = last_component_in_git(target)
  if COMMITTED[part] then
    learned.git = learned.git == "write" and "write" or "commit"
  else
    why_out(target, "git's hooks or configuration")
  end
end

---@param accesses table[]  outcome.accesses of a policy loaded with observes = "all"
---@param policy procage.Policy  that it ran under
---@param denials procage.Denials
---@return procage.Learned
function M.of(accesses, policy, denials)
  local survey, view, writes = policy.survey, view_of(policy), bits()
  local learned = { left_out = {}, git = "read", files = #accesses, caches = {}, unused = {} }
  local read, write, used, told = {}, {}, {}, {}
  local function leave_out(target, why)
    if not told[target] then
      told[target] = true
      table.insert(learned.left_out, { path = target, why = why })
    end
  end
  local function take(target, is_write)
    local is_home = view.home and path.lies_in(target, view.home)
    if not is_home and path.tree_in(target, view.own) then
      return
    end
    local why = is_write and view.startup:reason(target)
    if why then
      return leave_out(target, why)
    end
    local set = is_write and write or read
    set[tree_for(target, is_write, view)] = true
  end
  for _, entry in ipairs(accesses) do
    local target, is_write = entry.path, entry.wanted & writes ~= 0
    local why = closed(target, view)
    local granted = path.tree_in(target, view.granted)
    if why then
      if is_write or why == "hidden" then
        leave_out(target, why)
      end
    elseif target == "/" or view.home and path.lies_in(view.home, target) then
      -- A listing of the home says nothing, and to write in it itself is asked for by name.
      if is_write then
        leave_out(target, "too much for one entry")
      end
    elseif is_write and last_component_in_git(target) then
      git_mode(learned, target, leave_out)
    elseif granted then
      used[granted] = used[granted] or is_write
    else
      take(target, is_write)
    end
  end
  learned.read, learned.write = gather(read, false, view), gather(write, true, view)
  for _, tree in ipairs(survey.write) do
    if tree ~= policy.profile.workspace then
      table.insert(used[tree] and learned.caches or learned.unused, tree)
    end
  end
  for _, line in ipairs(denials.denied) do
    if line.kind == "inet" then
      learned.network = "all"
    end
  end
  return learned
end

-- ---- What is written --------------------------------------------------------------------------------------------------------

--- As TOML or, where a name is any bytes, as Lua.
local function quoted(list, is_lua)
  local texts = {}
  for i, item in ipairs(list) do
    -- %q breaks the line at a newline, which is right in Lua and no good to read.
    texts[i] = is_lua and ("%q"):format(item):gsub("\n", "n") or quote.toml(item)
  end
  return texts
end

local function shorten(tree, home)
  return home and path.lies_in(tree, home) and tree ~= home and "~" .. tree:sub(#home + 1) or tree
end

local function shortened(list, home)
  local texts = {}
  for i, tree in ipairs(list) do
    texts[i] = shorten(tree, home)
  end
  return texts
end

local function comment(lines, mark)
  local text = {}
  for i, line in ipairs(lines) do
    text[i] = mark .. (line == "" and "" or " " .. reports.printable(line))
  end
  return table.concat(text, "\n")
end

--- What was used, against what the policy grants.
---@param learned procage.Learned
---@param policy procage.Policy
---@return string[] lines
function M.account(learned, policy)
  local home, lines = policy.context.home, {}
  local function say(name, list)
    for i, text in ipairs(#list > 0 and list or { "nothing" }) do
      lines[#lines + 1] = ("%-34s %s"):format(i == 1 and name or "", text)
    end
  end
  lines[1] = ("%d paths seen under policy %s"):format(learned.files, policy.name)
  say("written outside the workspace:", shortened(learned.write, home))
  say("read outside the workspace:", shortened(learned.read, home))
  say("granted to write, and written:", shortened(learned.caches, home))
  say("granted to write, and not used:", shortened(learned.unused, home))
  local left = {}
  for i, entry in ipairs(learned.left_out) do
    left[i] = ("%s (%s)"):format(shorten(entry.path, home), entry.why)
  end
  say("wanted, and not proposed:", left)
  if policy.fitted.read == "all" then
    lines[#lines + 1] = "Everything may be read but what is hidden; a policy script (--as policy) names what is read."
  end
  return lines
end

--- The keys of the configuration that differ from the default's.
---@param learned procage.Learned
---@param policy procage.Policy
---@return table config
function M.config(learned, policy)
  local config = {}
  if #learned.write > 0 then
    config.writable = shortened(learned.write, policy.context.home)
  end
  config.network = learned.network or policy.config.network
  config.git = learned.git
  config.caches = #learned.caches > 0 and policy.config.caches or "none"
  return config
end

local function network_text(network)
  return type(network) == "table" and ("[%s]"):format(table.concat(network.ports, ", ")) or ("%q"):format(network)
end

---@return string text  a speccoder.toml
function M.toml(learned, policy)
  local config = M.config(learned, policy)
  local lines = { comment(M.account(learned, policy), "#"), "", "[sandbox]" }
  lines[#lines + 1] = "network = " .. network_text(config.network)
  lines[#lines + 1] = ("git = %q"):format(config.git)
  lines[#lines + 1] = ("caches = %q"):format(config.caches)
  if config.writable then
    lines[#lines + 1] = ("writable = [%s]"):format(table.concat(quoted(config.writable), ", "))
  end
  return table.concat(lines, "\n") .. "\n"
end

local SCRIPT = [==[
%s

local path = require("procage.path")
local profile = require("procage.profile")
local rows = require("policies.rows")

--- Read outside the workspace, and nothing else.
local READ = {%s}

--- Written outside the workspace.
local WRITE = {%s}

local function expand(list, home)
  local expanded = {}
  for i, item in ipairs(list) do
    expanded[i] = path.expand_home(item, home)
  end
  return expanded
end

---@param config procage.Config
---@param ctx procage.Context
return function(config, ctx)
  local p = profile.new()
  local lift = rows.lift(config.lift, ctx)

  p:allow_read(expand(READ, ctx.home))
  p:allow_read(expand(config.readable, ctx.home))
  p:workspace(ctx.workspace)
  p:allow_write(expand(WRITE, ctx.home))
  p:allow_write(expand(config.writable, ctx.home))
  p:tmp("private")

  p:hidden(rows.hidden(ctx, lift))
  p:hidden(expand(config.hidden, ctx.home))
  p:handoff(rows.handoff(lift, %q))
  p:git(%q)
  p:network(%s)
  p:env({ drop = rows.env_drop(lift, config.env.keep), set = rows.env_set() })
  p:env(config.env)
  p:limits(config.limits)

  -- Gaps that the policy it was learned under lives with.
  p:accept({%s}, config.accept)
  rows.check_lifted(lift, config.lift, ctx)
  p:lift(lift.shown)
  return p
end
]==]

local function lua_list(list)
  if #list == 0 then
    return ""
  end
  return "\n  " .. table.concat(quoted(list, true), ",\n  ") .. ",\n"
end

--- Where programs and their libraries are, though nobody opens a directory to start one.
local PROGRAMS = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc" }

---@return string text  a policy script
function M.script(learned, policy)
  local home = policy.context.home
  local read = {}
  for _, tree in ipairs(learned.read) do
    read[tree] = true
  end
  for _, tree in ipairs(PROGRAMS) do
    read[tree] = core.stat(tree) and true or nil
  end
  for _, tree in ipairs(learned.caches) do
    read[tree] = true
  end
  local write = table.move(learned.write, 1, #learned.write, 1, {})
  table.move(learned.caches, 1, #learned.caches, #write + 1, write)
  local network = learned.network or policy.config.network
  local text = type(network) == "table" and ("{ ports = { %s } }"):format(table.concat(network.ports, ", "))
    or ("%q"):format(network)
  local head = "--- Learned from one command: look at it before you trust it.\n---\n"
    .. comment(M.account(learned, policy), "---")
  return SCRIPT:format(head, lua_list(shortened(tidy(read), home)), lua_list(shortened(write, home)), learned.git,
    learned.git, text, lua_list(policy.profile.accept))
end

return M
