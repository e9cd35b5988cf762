--- What of the lists holds for one run: paths made absolute, rows that the operator lifted left out.

local lists = require("policies.lists")
local path = require("procage.path")

local M = {}

---@class procage.Lift
---@field wanted table<string, boolean>  as written, and with ~ expanded
---@field used table<string, boolean>  what some row was named by
---@field shown string[]  absolute paths and names, for the profile

--- What an argument is, for the message that it is another than was expected.
local function shown(value)
  return type(value) == "string" and ("%q"):format(value) or value == nil and "nothing" or "a " .. type(value)
end

--- A mistake of the script that calls: told with its line.
---@param is_good boolean
---@param called string  the function
---@param expected string
local function expect(is_good, called, expected, value)
  if not is_good then
    error(("rows.%s: expected %s, got %s"):format(called, expected, shown(value)), 3)
  end
end

local CTX = "ctx, the second argument of the policy"
local LIFT = "what rows.lift(config.lift, ctx) gives"

local function is_context(value)
  return type(value) == "table" and type(value.home) == "string" and type(value.workspace) == "string"
end

local function is_lift(value)
  return type(value) == "table" and type(value.wanted) == "table" and type(value.used) == "table"
end

--- Words that the operator lifted.
---@param words string[]
---@param ctx procage.Context
---@return procage.Lift
function M.lift(words, ctx)
  expect(type(words) == "table", "lift", "a list of words, config.lift", words)
  expect(is_context(ctx), "lift", CTX, ctx)
  local lift = { wanted = {}, used = {}, shown = {} }
  for _, word in ipairs(words) do
    lift.wanted[path.expand_home(word, ctx.home)] = true
  end
  return lift
end

--- Whether the operator lifted a row; raises for one that nobody may.
---@param lift procage.Lift
---@param name string
---@param row { never_lift?: boolean }
---@return boolean
local function is_lifted(lift, name, row)
  if not lift.wanted[name] then
    return false
  elseif row.never_lift then
    error(("lift: %s is the harness's own and is never lifted"):format(name), 0)
  end
  if not lift.used[name] then
    lift.used[name] = true
    lift.shown[#lift.shown + 1] = name
  end
  return true
end

--- A word that names no row is a mistake: it re-opens nothing.
---@param lift procage.Lift
---@param words string[]
---@param ctx procage.Context
function M.check_lifted(lift, words, ctx)
  expect(is_lift(lift), "check_lifted", LIFT, lift)
  expect(type(words) == "table", "check_lifted", "a list of words, config.lift", words)
  expect(is_context(ctx), "check_lifted", CTX, ctx)
  for i, word in ipairs(words) do
    if not lift.used[path.expand_home(word, ctx.home)] then
      error(("lift[%d]: no hidden path, hand-off name or pattern of the lists is called %s"):format(i, word), 0)
    end
  end
end

--- Homes whose files the run could read. Root reads its own whatever HOME says.
---@param ctx procage.Context
---@return string[]
local function homes(ctx)
  local own = ctx.uid == 0 and "/root" or ctx.account_home
  if own and own ~= ctx.home and own ~= "/" then
    return { ctx.home, own }
  end
  return { ctx.home }
end

--- Where programs look in place of these, when a variable says so. Source: XDG Base Directory Specification 0.8.
local MOVED = {
  { "~/.config/", "XDG_CONFIG_HOME" }, { "~/.local/share/", "XDG_DATA_HOME" }, { "~/.local/state/", "XDG_STATE_HOME" },
  { "~/.cache/", "XDG_CACHE_HOME" },
}

--- A path that a variable names, which nobody but its writer chose: only one that can be hidden without hiding what is needed.
---@param value? string
---@param ctx procage.Context
---@return string?
local function named_place(value, ctx)
  local place = value and path.is_absolute(value) and not path.has_parent_step(value) and path.normalise(value)
  if not place or #path.components(place) < 2 or path.lies_in(ctx.home, place) or path.lies_in(ctx.workspace, place) then
    return nil
  end
  for _, tree in ipairs({ "/dev", "/proc", "/sys", "/usr", "/bin", "/lib" }) do
    if path.lies_in(place, tree) then
      return nil
    end
  end
  return place
end

--- Those of MOVED whose variable is set.
---@param ctx procage.Context
---@return { [1]: string, [2]: string }[]
local function moved_directories(ctx)
  local set = {}
  for _, rule in ipairs(MOVED) do
    set[#set + 1] = ctx.env[rule[2]] and { rule[1], ctx.env[rule[2]] } or nil
  end
  return set
end

--- Adds the paths of a row to a list.
---@param found string[]
---@param row procage.HiddenRow
---@param ctx procage.Context
---@param all_homes string[]
---@param moved { [1]: string, [2]: string }[]
local function add_places(found, row, ctx, all_homes, moved)
  local named = row.path
  if row.system and row.system ~= ctx.system or row.root_only and ctx.uid ~= 0 then
    return
  elseif named:sub(1, 2) ~= "~/" then
    found[#found + 1] = named
    return
  end
  local below = named:sub(2)
  for _, home in ipairs(all_homes) do
    found[#found + 1] = home == "/" and below or home .. below
  end
  for _, rule in ipairs(moved) do
    local base = named:sub(1, #rule[1]) == rule[1] and rule[2]
    local place = base and named_place(path.join(base, named:sub(#rule[1] + 1)), ctx)
    found[#found + 1] = place and not path.is_beneath(place, ctx.workspace) and place or nil
  end
end

--- Credentials where a variable says they are.
---@param row procage.HiddenByRow
---@param ctx procage.Context
---@return string[] paths
local function named_places(row, ctx)
  local found = {}
  for item in (ctx.env[row.env] or ""):gsub("^FILE:", ""):gmatch(row.is_list and "[^:]+" or ".+") do
    for _, below in ipairs(row.below or { "" }) do
      found[#found + 1] = named_place(item .. below, ctx)
    end
  end
  return found
end

--- The hidden paths of a run. One that holds the workspace is a mistake to be named: hidden wins, and nothing would be left.
---@param ctx procage.Context
---@param lift procage.Lift
---@return string[]
function M.hidden(ctx, lift)
  expect(is_context(ctx), "hidden", CTX, ctx)
  expect(is_lift(lift), "hidden", LIFT, lift)
  local hidden, all_homes, directories = {}, homes(ctx), moved_directories(ctx)
  for _, row in ipairs(lists.hidden) do
    local kept = #hidden
    add_places(hidden, row, ctx, all_homes, directories)
    for i = kept + 1, #hidden do
      local place = hidden[i]
      hidden[i] = nil
      if not is_lifted(lift, place, row) then
        if path.lies_in(ctx.workspace, place) then
          local cure = row.never_lift and "it is never lifted" or ("lift it to work in it: lift = [%q]"):format(place)
          error(("workspace %s lies in a hidden tree, %s (%s); %s"):format(ctx.workspace, place, row.reason, cure), 0)
        end
        kept = kept + 1
        hidden[kept] = place
      end
    end
  end
  for _, row in ipairs(lists.hidden_by) do
    for _, place in ipairs(named_places(row, ctx)) do
      -- What a variable names in the workspace is the project's: `.env` and the like are (docs/limits.md).
      if not is_lifted(lift, place, row) and not path.is_beneath(place, ctx.workspace) then
        hidden[#hidden + 1] = place
      end
    end
  end
  return hidden
end

--- Trees that many programs share: a variable that names one as a package cache is a mistake.
local shared_trees = {
  ["/usr/local"] = true,
  ["/usr/lib"] = true,
  ["/usr/share"] = true,
  ["/var/lib"] = true,
  ["/var/tmp"] = true,
  ["/var/cache"] = true,
  ["/dev/shm"] = true,
}

--- Why a place that a variable names is no cache, or nil.
---@param tree string
---@param ctx procage.Context
---@param hidden string[]
---@param in_cache table<string, boolean>  those of them that caches may hold
---@return string?
local function no_cache(tree, ctx, hidden, in_cache)
  if path.has_parent_step(tree) then
    return "is not resolved"
  elseif path.is_beneath(ctx.home, tree) then
    return "holds the home directory"
  elseif #path.components(tree) < 2 or shared_trees[tree] then
    return "is no cache of one program"
  end
  for _, place in ipairs(hidden) do
    if not in_cache[place] and path.is_beneath(place, tree) then
      return ("holds %s, which is hidden"):format(place)
    end
  end
  return nil
end

--- Where a variable puts a cache; nil when it says nothing, or something that is no path (GOCACHE=off).
---@param row procage.CacheRow
---@param ctx procage.Context
---@return string? tree
---@return string? variable
local function moved(row, ctx)
  for _, rule in ipairs(row.moved_by or {}) do
    local value = ctx.env[rule.env]
    local base = value and rule.is_list and value:match("^[^:]*") or value
    if base and path.is_absolute(base) then
      return path.join(base, rule.below or "."), rule.env
    end
  end
  return nil
end

--- Hidden paths that lie in package caches by nature.
---@param ctx procage.Context
---@return table<string, boolean>
local function places_in_caches(ctx)
  local set, places, all_homes, directories = {}, {}, homes(ctx), moved_directories(ctx)
  for _, row in ipairs(lists.hidden) do
    if row.in_cache then
      add_places(places, row, ctx, all_homes, directories)
    end
  end
  for _, place in ipairs(places) do
    set[place] = true
  end
  for _, row in ipairs(lists.hidden_by) do
    for _, place in ipairs(named_places(row, ctx)) do
      set[place] = true
    end
  end
  return set
end

--- The cache trees of a run, none inside another.
---@param ctx procage.Context
---@param hidden string[]
---@return string[]
function M.caches(ctx, hidden)
  expect(is_context(ctx), "caches", CTX, ctx)
  expect(type(hidden) == "table", "caches", "a list of paths, what rows.hidden gives", hidden)
  local found, in_cache = {}, places_in_caches(ctx)
  for _, row in ipairs(lists.caches) do
    if not row.system or row.system == ctx.system then
      local tree, variable = moved(row, ctx)
      local why = tree and no_cache(tree, ctx, hidden, in_cache)
      if why then
        error(('caches: %s=%s %s; unset it, or caches = "none"'):format(variable, tree, why), 0)
      end
      found[#found + 1] = tree or row.path and path.expand_home(row.path, ctx.home)
    end
  end
  local trees = {}
  for _, tree in ipairs(path.sort_by_depth(found)) do
    if not path.resolved_tree_of(tree, trees) then
      trees[#trees + 1] = tree
    end
  end
  return trees
end

--- Whether somebody's home lies in one of the trees.
local function holds_home(ctx, trees)
  for _, tree in ipairs(trees) do
    for _, home in ipairs(homes(ctx)) do
      if path.lies_in(home, path.expand_home(tree, ctx.home)) then
        return true
      end
    end
  end
  return false
end

--- The hand-off names of a run; those of git are given up with the git directory.
---@param lift procage.Lift
---@param git "read"|"commit"|"write"
---@param ctx? procage.Context
---@param writable? string[]  trees that the run writes beside the workspace: where a home lies in one, what is run from there
---  counts
---@return string[]
function M.handoff(lift, git, ctx, writable)
  expect(is_lift(lift), "handoff", LIFT, lift)
  expect(ctx == nil or is_context(ctx), "handoff", CTX, ctx)
  expect(git == nil or git == "read" or git == "commit" or git == "write", "handoff", "read, commit or write", git)
  local names = {}
  for _, row in ipairs(lists.handoff) do
    if not is_lifted(lift, row.name, row) and not (row.git and git == "write") then
      names[#names + 1] = row.name
    end
  end
  if ctx and (holds_home(ctx, { ctx.workspace }) or holds_home(ctx, writable or {})) then
    for _, row in ipairs(lists.startup) do
      names[#names + 1] = row.name:gsub("^~/", "")
    end
  end
  return names
end

--- The patterns of files that read as empty where git ignores them.
---@param lift procage.Lift
---@return string[]
function M.ignored(lift)
  expect(is_lift(lift), "ignored", LIFT, lift)
  local patterns = {}
  for _, row in ipairs(lists.ignored) do
    patterns[#patterns + 1] = not is_lifted(lift, row.pattern, row) and row.pattern or nil
  end
  return patterns
end

--- The patterns of variables that are dropped. `keep` raises for the harness's own, as `lift` does.
---@param lift procage.Lift
---@param keep string[]
---@return string[]
function M.env_drop(lift, keep)
  expect(is_lift(lift), "env_drop", LIFT, lift)
  expect(type(keep) == "table", "env_drop", "a list of names, config.env.keep", keep)
  local patterns = {}
  for _, row in ipairs(lists.env_drop) do
    if not is_lifted(lift, row.pattern, row) then
      patterns[#patterns + 1] = row.pattern
    end
    for i, name in ipairs(keep) do
      -- Such a pattern is a beginning and a star.
      if row.never_lift and name:upper():sub(1, #row.pattern - 1) == row.pattern:sub(1, -2) then
        error(("env.keep[%d]: %s is the harness's own and is never kept"):format(i, name), 0)
      end
    end
  end
  return patterns
end

---@return table<string, string>
function M.env_set()
  local set = {}
  for _, row in ipairs(lists.env_set) do
    set[row.name] = row.value
  end
  return set
end

return M
