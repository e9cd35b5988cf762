--- Brings a profile's paths to this disk: resolved, existing, and none that a command could have planted.
---
--- A path inside a tree that commands write may lead anywhere by now. So such a path is never resolved into a grant of its own:
--- it is covered by the tree it lies in, as far as it really lies there.

local core = require("procage.core")
local disk = require("procage.disk")
local git = require("procage.git")
local lists = require("procage.list")
local path = require("procage.path")
local put_back = require("procage.put_back")
local user_git = require("procage.user_git")

local M = {}

--- Directories that the command looks for programs in. Those of the private /tmp must be put back, or PATH would lie.
local function path_entries(variable)
  local list = {}
  for entry in (variable or ""):gmatch("[^:]+") do
    if path.is_absolute(entry) then
      list[#list + 1] = path.normalise(entry)
    end
  end
  return list
end

--- Where the caller has his temporary files, when that is a directory.
local function own_tmp(env)
  local tmp = env.TMPDIR
  if not tmp or not path.is_absolute(tmp) then
    return nil
  end
  local resolved, exists = disk.resolve(tmp)
  return exists and disk.kind(resolved) == "directory" and resolved or nil
end

--- The home that the account has, whatever HOME says. Source: passwd(5).
local function account_home(uid)
  for line in (disk.read("/etc/passwd") or ""):gmatch("[^\n]+") do
    local number, home = line:match("^[^:]*:[^:]*:(%d+):[^:]*:[^:]*:([^:]*)")
    if tonumber(number) == uid and path.is_absolute(home) then
      return disk.resolve(home)
    end
  end
  return nil
end

--- The directories at the top of the file system, but for those of the kernel.
local function top_directories()
  local trees = {}
  for _, entry in ipairs((disk.list("/"))) do
    local is_kernels = entry.name == "proc" or entry.name == "sys" or entry.name == "dev"
    trees[#trees + 1] = entry.kind == "directory" and not is_kernels and "/" .. entry.name or nil
  end
  return trees
end

---@param options procage.LoadOptions
---@param env table<string, string>
---@return table? context  procage.Context, and `visible`: trees that the command needs to see
---@return string? message
function M.context(options, env)
  local root, exists = disk.resolve(options.root)
  if not exists or disk.kind(root) ~= "directory" then
    return nil, ("workspace %s: no such directory"):format(options.root)
  elseif root == "/" then
    return nil, "workspace /: the whole system cannot be the workspace"
  end
  local home = options.home or env.HOME
  if not home or not path.is_absolute(home) then
    return nil, "HOME is not set to an absolute path: what is hidden in it could not be found"
  end
  home = disk.resolve(home)
  local visible, uid = path_entries(env.PATH), core.probe().uid
  table.insert(visible, 1, home)
  return {
    home = home,
    workspace = root,
    system = "linux",
    env = env,
    uid = uid,
    account_home = account_home(uid),
    tmp = own_tmp(env),
    top = top_directories(),
    git_files = user_git.files(home, env),
    visible = visible,
    missing_caches = {},
  }
end

--- mkdir -p, mode 0700, beneath a directory that exists and is the user's.
local function make_directories(name, uid)
  local parent = path.parent(name)
  if not parent then
    return nil
  end
  local found = core.lstat(parent)
  if not found and not make_directories(parent, uid) then
    return nil
  end
  found = core.lstat(parent)
  if not found or found.kind ~= "directory" or found.uid ~= uid then
    return nil
  end
  return core.make_dir(name, 448) -- 0700
end
M.make_directories = make_directories

--- A package cache: the user's own directory, no link. A missing one is made when the plan is (make_caches).
---@return string? resolved  nil: not granted
---@return string? why  when that is worth telling
local function cache(name, context)
  local found = core.lstat(name)
  if not found then
    -- The directories above are resolved: home itself may be reached by a link.
    local resolved = disk.resolve(name)
    context.missing_caches[#context.missing_caches + 1] = resolved
    return resolved
  elseif found.kind ~= "directory" then
    return nil, name .. " is a " .. found.kind
  elseif found.uid ~= context.uid then
    return nil, name .. " belongs to another user"
  end
  return (disk.resolve(name))
end

local function resolve_caches(profile, context, notices)
  local granted, refused = {}, {}
  local is_open = profile.caches.when == "write" or profile.network == "all" or type(profile.network) == "table"
  local outer = table.move(profile.write, 1, #profile.write, 1, {})
  for _, name in ipairs(path.sort_by_depth(is_open and profile.caches.trees or {})) do
    -- Beneath another writable tree it is granted already.
    if not path.tree_of(name, outer) and not disk.leads_through(name, profile.write) then
      outer[#outer + 1] = name
      local resolved, why = cache(name, context)
      if resolved then
        granted[#granted + 1] = resolved
      elseif why then
        refused[#refused + 1] = why
      end
    end
  end
  if #refused > 0 then
    notices[#notices + 1] = "procage: package caches not granted: " .. table.concat(refused, ", ")
  end
  return granted
end

--- Whether the policy gives the workspace to be written.
local function gives_workspace(profile, context)
  for _, name in ipairs(profile.write) do
    if name == context.workspace then
      return true
    end
  end
  return false
end

--- Writable trees: the workspace, when it is to be one, what the operator named, the caches.
local function resolve_write(profile, context, notices)
  local write, caches = { gives_workspace(profile, context) and context.workspace or nil }, {}
  for i, name in ipairs(profile.caches.trees) do
    caches[i] = disk.resolve(name)
  end
  for _, name in ipairs(profile.write) do
    if select(2, disk.leads_through(name, caches)) then
      return nil, ("writable %s: the way to it is a link in a package cache, which a command may have made"):format(name)
    elseif not disk.leads_through(name, write) then
      local resolved, exists = disk.resolve(name)
      if not exists then
        return nil, ("writable %s: no such file or directory"):format(name)
      end
      write[#write + 1] = resolved
    end
  end
  profile.write = write
  caches = resolve_caches(profile, context, notices)
  profile.caches = { trees = caches, when = profile.caches.when }
  for _, tree in ipairs(caches) do
    write[#write + 1] = tree
  end
  return write
end

--- Where hidden names lead. A link in home to a directory that holds the workspace (~/.docker to /srv, say) hides nothing: the
--- survey says so. Under its own name such a directory is a contradiction.
local function hidden_places(profile, context)
  local places, all = {}, disk.resolve_all(profile.hidden)
  for i, name in ipairs(profile.hidden) do
    local resolved = all[i]
    local is_hidden = not path.lies_in(context.workspace, resolved)
    if not is_hidden then
      local parent, base = path.split(path.normalise(name))
      local named = parent and path.join(disk.resolve(parent), base) or name
      is_hidden = path.is_beneath(context.workspace, named)
    end
    if is_hidden then
      places[#places + 1] = resolved
    end
  end
  return places
end

--- Hidden paths in package caches that are not there: nothing of them can be masked, and nothing is to be told of them. When
--- one appears, the plan is made anew and masks it.
---@return string[]?
local function find_missing(profile)
  local missing, caches = {}, profile.caches.trees
  -- Both are in their one spelling, as a valid profile has them; each run asks.
  for _, name in ipairs(path.beneath(profile.hidden, caches)) do
    missing[#missing + 1] = not disk.kind(name) and name or nil
  end
  return #missing > 0 and missing or nil
end

--- What is hidden wins: a writable tree in it is a contradiction that only its author can settle.
local function check_hidden(profile, context, notices)
  local kept, hidden = {}, hidden_places(profile, context)
  local around = path.resolved_tree_of(context.workspace, hidden)
  if around then
    return nil, ("workspace %s lies in %s, which is hidden"):format(context.workspace, around)
  end
  local is_any = path.any_beneath(profile.write, hidden)
  for _, tree in ipairs(profile.write) do
    local inside = is_any and path.resolved_tree_of(tree, hidden)
    if not inside then
      kept[#kept + 1] = tree
    else
      notices[#notices + 1] = ("procage: %s is not writable: it lies in %s, which is hidden"):format(tree, inside)
    end
  end
  profile.write = kept
  return true
end

--- Makes the caches that are missing; those that cannot be made are not granted.
---@param profile procage.Profile
---@param context table
function M.make_caches(profile, context)
  local refused = {}
  for _, tree in ipairs(context.missing_caches) do
    refused[tree] = not disk.kind(tree) and not make_directories(tree, context.uid) or nil
  end
  local kept = {}
  for _, tree in ipairs(profile.write) do
    if not refused[tree] then
      kept[#kept + 1] = tree
    end
  end
  profile.write = kept
end

local function resolve_list(list)
  local resolved = {}
  for _, name in ipairs(list) do
    local found, exists = disk.resolve(name)
    if exists then
      resolved[#resolved + 1] = found
    end
  end
  return resolved
end

--- Readable trees, none inside another. Where the way to one leads through a link that a command may have made, the link would
--- choose what can be read: what lies in a writable tree is readable anyway.
local function resolve_read(profile)
  local wanted = {}
  for _, name in ipairs(profile.read) do
    if not disk.leads_through(name, profile.write) then
      wanted[#wanted + 1] = name
    end
  end
  return path.outermost(resolve_list(wanted))
end

--- Those that the command needs to see wherever they lie.
local function trees_to_see(profile, context)
  local found = git.governing(profile.workspace)
  return lists.append(lists.append({}, context.visible), found and git.trees(found) or {})
end

---@param profile procage.Profile  as a policy built it; changed
---@param context table
---@return procage.Profile? profile
---@return string[]|string notices  or the message
function M.profile(profile, context)
  local notices = {}
  profile.workspace = context.workspace
  local ok, message = resolve_write(profile, context, notices)
  if ok then
    ok, message = check_hidden(profile, context, notices)
  end
  if not ok then
    return nil, message
  end
  context.write = profile.write
  profile.missing = find_missing(profile)
  if profile.read ~= "all" then
    profile.read = resolve_read(profile)
  end
  profile.sockets = resolve_list(profile.sockets)
  put_back.note(profile, trees_to_see(profile, context))
  return profile, notices
end

--- Those that may be missing, and which of them are there: of each profile, since each run asks.
local in_caches = setmetatable({}, { __mode = "k" })

local function asked_of(profile)
  local names = {}
  for _, name in ipairs(profile.hidden) do
    names[#names + 1] = path.resolved_tree_of(name, profile.caches.trees) and name or nil
  end
  return { names = names }
end

--- Whether hidden paths have appeared in package caches, or gone: then the profile has to be fitted anew, for what it says of
--- them no longer holds.
---@param profile procage.Profile  as M.profile returned it; changed
---@return boolean
function M.has_other_missing(profile)
  local asked = in_caches[profile] or asked_of(profile)
  local kinds = core.kinds(asked.names)
  in_caches[profile] = asked
  if kinds == asked.kinds then
    return false
  end
  asked.kinds = kinds
  local before = profile.missing or {}
  profile.missing = find_missing(profile)
  return table.concat(before, "\0") ~= table.concat(profile.missing or {}, "\0")
end

--- The user's state directory for procage; it need not exist.
---@param context { env: table<string, string>, home: string }
---@return string
function M.state_directory(context)
  local base = context.env.XDG_STATE_HOME
  if not base or not path.is_absolute(base) then
    base = path.join(context.home, ".local/state")
  end
  return path.join(base, "procage")
end

--- Makes it, mode 0700; nil where it is another user's or cannot be made.
---@return string? directory
function M.make_state_directory(context)
  local directory = disk.resolve(M.state_directory(context))
  local found = core.lstat(directory)
  if found then
    return found.kind == "directory" and found.uid == context.uid and directory or nil
  end
  return make_directories(directory, context.uid) and directory or nil
end

--- Where files that appeared are moved: the user's state directory, not a place that commands write.
---@return string?  nil: there is none
function M.quarantine(context)
  local wanted = path.join(M.state_directory(context), "moved")
  -- Where home is a workspace a run may have made a link of it; then what is moved stays beside its old name.
  if disk.leads_through(wanted, context.write or {}) then
    return nil
  end
  local directory = disk.resolve(wanted)
  local stamp = os.date("!%Y%m%dT%H%M%SZ")
  for i = 0, 99 do
    local target = path.join(directory, i == 0 and stamp or ("%s.%d"):format(stamp, i))
    if not disk.kind(target) then
      return make_directories(target, context.uid) and target or nil
    end
  end
  return nil
end

return M
