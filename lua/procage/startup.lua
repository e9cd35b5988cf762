--- What others run, wherever it stands: start-up files of shells, logins and desktops, hand-off names, directories of PATH and
--- places of the system. No proposal (procage.learn) and no hint (procage.denials, procage.why) offers to write it.

local disk = require("procage.disk")
local path = require("procage.path")
local shipped = require("procage.shipped")

local M = {}

---@class procage.Startup
---@field places table<string, string>  below them others run things, and why; in lower case, as the next four
---@field above table<string, string>  directories that hold a place, and which
---@field path table<string, boolean>  directories of PATH that hold the home or the workspace: what stands in them directly
---@field names table<string, string>  below any directory, and why
---@field at_homes table<string, string>  below a home, and why
---@field system table<string, string>  places of the system, and why
---@field own string[]  home and workspace
---@field is_blind boolean  without the lists nobody knows what is run: nothing is offered
---@field exempt table<string, boolean>  trees in places of the system that are the caller's all the same
local Startup = {}
Startup.__index = Startup

--- No name of the lists has more components (spec/unit/startup_spec.lua).
M.LONGEST = 3

--- Programs of a directory of PATH that are links are looked up to this many.
local MOST_PROGRAMS = 4096

--- Directories whose entries are homes.
local HOMES = { ["/home"] = true, ["/users"] = true, ["/var/home"] = true, ["/usr/home"] = true }

local function is_home_of_someone(tree)
  local parent = path.parent(tree)
  return tree == "/root" or parent ~= nil and HOMES[parent:lower()] == true
end

local function add_place(self, place, why, seen)
  local key = place:lower()
  if seen[key] then
    return
  end
  seen[key] = true
  -- A link to the whole home says nothing of what is in it.
  for _, tree in ipairs(self.own) do
    if path.lies_in(tree, place) then
      return
    end
  end
  self.places[key] = self.places[key] or why
  for _, above in ipairs(path.above(key)) do
    self.above[above] = self.above[above] or place
  end
end

--- A place by its name and by where it leads: ~/.bashrc may be a link to ~/dotfiles/bashrc.
local function add_resolved(self, place, why, resolve, seen)
  add_place(self, place, why, seen)
  add_place(self, resolve(place), why, seen)
end

--- What stands in a directory of PATH; a link in it leads to the program that is run.
local function add_programs(self, directory, resolve, seen)
  for _, entry in ipairs(disk.list(directory, MOST_PROGRAMS)) do
    if entry.kind == "link" then
      add_place(self, resolve(path.join(directory, entry.name)), "a program of PATH", seen)
    end
  end
end

local function holds_any(directory, trees)
  for _, tree in ipairs(trees) do
    if path.lies_in(tree, directory) then
      return true
    end
  end
  return false
end

local function add_path(self, text, resolve, seen)
  for entry in (text or ""):gmatch("[^:]+") do
    local directory = path.is_absolute(entry) and resolve(entry)
    if directory and holds_any(directory, self.own) then
      self.path[directory:lower()] = true
    elseif directory then
      add_place(self, path.normalise(entry), "a directory of PATH", seen)
      add_place(self, directory, "a directory of PATH", seen)
      -- Those of the system lead to places of the system.
      if not self:system_reason(directory) then
        add_programs(self, directory, resolve, seen)
      end
    end
  end
end

local function add_names(self, list, home, resolve, seen)
  for _, row in ipairs(list) do
    local why, at_home = "others run it: " .. row.runs, row.name:match("^~/(.+)")
    local name = at_home or row.name
    if name ~= ".git" then -- a directory has its parts in rows of their own
      self.at_homes[name:lower()] = why
      if not at_home then
        self.names[name:lower()] = why
      end
      if home then
        add_resolved(self, path.join(home, name), why, resolve, seen)
      end
    end
  end
end

--- The part of a place of the system that a home in it has to itself: /root, /var/lib/ci, or but the home.
local function exempt_part(home, row)
  if not row.has_homes then
    return home
  end
  return home == row.path and home or row.path == "/root" and row.path
    or row.path .. home:sub(#row.path + 1):match("^/[^/]+")
end

local function add_system(self, rows, home, workspace)
  for _, row in ipairs(rows) do
    self.system[row.path] = row.reason
    if home and path.lies_in(home, row.path) and (home ~= row.path or row.has_homes) then
      self.exempt[exempt_part(home, row)] = true
    end
    if workspace and workspace ~= row.path and path.lies_in(workspace, row.path) then
      self.exempt[workspace] = true
    end
  end
end

---@class procage.StartupContext
---@field home? string
---@field workspace? string
---@field env? table<string, string>

--- For one policy: the disk is looked at as it is now.
---@param context procage.StartupContext
---@param lists? table  the shipped lists
---@return procage.Startup
function M.new(context, lists)
  if not lists then
    local is_read, shipped_lists = pcall(shipped.lists)
    lists = is_read and shipped_lists or {}
  end
  local self = setmetatable({ places = {}, above = {}, path = {}, names = {}, at_homes = {}, system = {}, own = {},
    exempt = {}, is_blind = not (lists.handoff and lists.startup and lists.system) }, Startup)
  local home, resolve, seen = context.home ~= "/" and context.home or nil, disk.resolver(), {}
  self.own[1] = home
  self.own[#self.own + 1] = context.workspace
  add_system(self, lists.system or {}, home, context.workspace)
  add_names(self, lists.handoff or {}, home, resolve, seen)
  add_names(self, lists.startup or {}, home, resolve, seen)
  add_path(self, context.env and context.env.PATH, resolve, seen)
  return self
end

--- A policy's own, made when it is first asked for.
---@param policy table
---@return procage.Startup
function M.of(policy)
  policy.startup = policy.startup or M.new(policy.context or {})
  return policy.startup
end

--- The place of the system that `target` is in, unless it is the caller's own part of it.
---@param target string
---@return string? why
function Startup:system_reason(target)
  local place = path.tree_in(target, self.system)
  if not place or path.tree_in(target, self.exempt) then
    return nil
  end
  return ("of the system: %s"):format(self.system[place])
end

--- By a name that counts in any directory, or at the home of somebody.
---@param target string
---@return string? why
function Startup:name_reason(target)
  local lowered, starts = target:lower(), {}
  for at in lowered:gmatch("/()") do
    starts[#starts + 1] = at
  end
  for i, start in ipairs(starts) do
    local names = start > 2 and is_home_of_someone(lowered:sub(1, start - 2)) and self.at_homes or self.names
    for last = i, math.min(i + M.LONGEST - 1, #starts) do
      local stop = starts[last + 1] and starts[last + 1] - 2 or #lowered
      local why = names[lowered:sub(start, stop)]
      if why then
        return why
      end
    end
  end
end

--- Why nobody is offered to write it, or nil. A directory that holds what others run is not offered either.
---@param target string  absolute, resolved
---@return string? why
function Startup:reason(target)
  if self.is_blind then
    return "the lists of what others run cannot be read"
  end
  local lowered = target:lower()
  local place = path.tree_in(lowered, self.places)
  if place then
    return self.places[place]
  elseif self.path[path.parent(lowered) or ""] then
    return "a directory of PATH"
  end
  return self:name_reason(target) or self:system_reason(target)
    or self:is_above(target) and ("holds %s, which others run"):format(self.above[lowered] or "what others run") or nil
end

--- Whether a tree holds what others run: the root, what homes stand in, a home.
---@param tree string
---@return boolean
function Startup:is_above(tree)
  local lowered = tree:lower()
  return tree == "/" or self.above[lowered] ~= nil or HOMES[lowered] or is_home_of_someone(tree) or self.path[lowered] or false
end

return M
