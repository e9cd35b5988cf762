--- Attacks on what is hidden: files, their names and sizes, in the home directory and in writable trees.

local core = require("procage.core")
local path = require("procage.path")
local profiles = require("procage.profile")
local shows = require("procage.doctor.attacks.shows")
local trees = require("procage.doctor.tree")

---@type table<string, procage.doctor.Class>
local M = {}

--- What is hidden where nothing is, so that `off` has something to cross.
local WELL_KNOWN = { ".ssh", ".npmrc" }

--- The hidden paths beneath the made home, relative, without those inside another.
---@param c procage.doctor.Claims
---@param wants_inside boolean  those in writable trees, which a mask alone keeps
local function find_hidden(c, wants_inside)
  local names = {}
  local trees_of_run = profiles.writable_trees(c.profile)
  local sorted = table.move(c.profile.hidden, 1, #c.profile.hidden, 1, {})
  table.sort(sorted)
  local last
  for _, name in ipairs(sorted) do
    local is_nested = last and path.is_beneath(name, last)
    local is_inside = path.resolved_tree_of(name, trees_of_run) ~= nil
    if name ~= c.home and path.is_beneath(name, c.home) and not is_nested and is_inside == wants_inside then
      names[#names + 1] = name:sub(#c.home + 2)
    end
    last = is_nested and last or name
  end
  if c.is_off and not wants_inside then
    return WELL_KNOWN
  end
  return names
end

--- The same, found once: there are hundreds, and several classes ask.
local function hidden_names(c, wants_inside)
  c.hidden[wants_inside] = c.hidden[wants_inside] or find_hidden(c, wants_inside)
  return c.hidden[wants_inside]
end

--- Makes each, by turns a directory with a file and a file: a profile does not say which it is. The files, and the first of
--- each.
local function make_hidden(t, names)
  local files, first_directory, first_file = {}, nil, nil
  for i, relative in ipairs(names) do
    local name = t.home .. "/" .. relative
    local is_directory = i % 2 == 1
    -- What another has made on its way stays a directory.
    local made = not core.lstat(name) and pcall(t.write, t, is_directory and name .. "/secret" or name, "")
    if made then
      local file, secret = t:write(is_directory and name .. "/secret" or name)
      files[#files + 1] = { file = file, secret = secret, relative = relative, top = name }
      first_directory = first_directory or is_directory and files[#files]
      first_file = first_file or not is_directory and files[#files]
    end
  end
  return files, first_directory, first_file
end

local function hidden_attacks(t, names, add)
  local files, directory, file = make_hidden(t, names)
  for _, each in ipairs(files) do
    add("~/" .. each.relative, { "read", each.file }, shows.told(each.secret))
  end
  for _, each in ipairs({ directory or file, directory and file or nil }) do
    local what = each == directory and "in a directory" or "a file"
    local link = ("%s/link-%d"):format(t.workspace, each == directory and 1 or 2)
    add(what .. ", through a symbolic link", { "read_symlink", each.file, link }, shows.told(each.secret))
    add(what .. ", through a hard link", { "read_link", each.file, link .. "-hard" }, shows.told(each.secret))
    add(what .. ", through /proc/self/root", { "read", "/proc/self/root" .. each.file }, shows.told(each.secret))
    local beside = "/proc/self/cwd/../home" .. each.file:sub(#t.home + 1)
    add(what .. ", through /proc/self/cwd", { "read", beside }, shows.told(each.secret))
    add(what .. ", through a path descriptor", { "read_fd", each.file }, shows.told(each.secret))
    add(what .. ", through io_uring", { "read_uring", each.file }, shows.told(each.secret))
    add(what .. ", by file handle", { "read_handle", each.file, t.workspace }, shows.told(each.secret))
    add(what .. ", in another mount namespace", { "unmask", each.top, each.file }, shows.told(each.secret))
    add(what .. ", without its mask", { "unmask_direct", each.top, each.file }, shows.told(each.secret))
    if t.victim then
      local root = ("/proc/%s/root"):format(t.victim.pid)
      add(what .. ", through another process's root", { "read", root .. each.file }, shows.told(each.secret))
      add(what .. ", by chroot", { "chroot", root, each.file }, shows.told(each.secret))
      add(what .. ", in another process's mounts", { "setns", ("/proc/%s/ns/mnt"):format(t.victim.pid), each.file },
        shows.told(each.secret))
    end
  end
  if directory then
    local mobile, secret = t:write(directory.top .. "/moved")
    add("in a directory, moved into the workspace", { "read_rename", mobile, t.workspace .. "/moved" }, shows.told(secret))
    add("in a directory, in a copy of the mounts", { "open_tree", directory.top, "secret" }, shows.told(directory.secret))
  end
end

M.hidden = {
  about = "reading hidden files",
  unclaimed = function(c)
    if #hidden_names(c, false) == 0 then
      return "the profile hides nothing below the home directory"
    end
    -- The row is of the worse case, inside a writable tree.
    return not c:uses("hidden", "landlock-fs") and not c:uses("hidden", "mask") and c:gap("hidden") or nil
  end,
  attacks = function(t, c, add)
    hidden_attacks(t, hidden_names(c, false), add)
  end,
}

M.hidden_inside = {
  about = "reading hidden files inside writable trees",
  unclaimed = function(c)
    if c.is_off or #hidden_names(c, true) == 0 then
      return "the profile hides nothing inside its writable trees"
    end
    return not c:uses("hidden", "mask") and c:gap("hidden") or nil
  end,
  attacks = function(t, c, add)
    for _, each in ipairs(make_hidden(t, hidden_names(c, true))) do
      add("~/" .. each.relative, { "read", each.file }, shows.told(each.secret))
    end
  end,
}

--- Names that the profile's patterns mean.
local function ignored_names(c)
  local names = {}
  for i, pattern in ipairs(c.is_off and { ".env", "*.pem" } or c.profile.ignored) do
    if i <= 8 then
      names[i] = pattern:gsub("[*?]", "x")
    end
  end
  return names
end

M.ignored = {
  about = "files in the workspace that git ignores and that look like credentials",
  unclaimed = function(c)
    if not c.is_off and #c.profile.ignored == 0 then
      return "the profile lets ignored files be read"
    end
    return not c:uses("ignored", "mask") and c:gap("ignored") or nil
  end,
  attacks = function(t, c, add)
    local place = t:make_directory(t.workspace .. "/ignoring")
    t:write(place .. "/.git/HEAD", "ref: refs/heads/main\n")
    t:write(place .. "/.git/config", "[core]\n\tbare = false\n")
    t:make_directory(place .. "/.git/objects")
    t:make_directory(place .. "/.git/refs")
    local names = ignored_names(c)
    t:write(place .. "/.gitignore", table.concat(names, "\n") .. "\n")
    for i, name in ipairs(names) do
      local file, secret = t:write(place .. "/" .. name)
      add("reading " .. name, { "read", file }, shows.told(secret))
      if i == 1 then
        local link = t.workspace .. "/ignored-link"
        add("reading " .. name .. " through a symbolic link", { "read_symlink", file, link }, shows.told(secret))
        add("reading " .. name .. " through a hard link", { "read_link", file, link .. "-hard" }, shows.told(secret))
        add("reading " .. name .. " without its mask", { "unmask", file, file }, shows.told(secret))
        -- Last: the others need it where it is.
        add("reading " .. name .. ", renamed", { "read_rename", file, link .. "-moved" }, shows.told(secret))
      end
    end
  end,
}

M.stat = {
  about = "names and sizes of hidden files",
  unclaimed = function(c)
    return #hidden_names(c, false) == 0 and "the profile hides nothing below the home directory" or c:gap("stat")
  end,
  attacks = function(t, c, add)
    local names = hidden_names(c, false)
    local directory, name = t.home .. "/" .. names[1], trees.token()
    t:write(directory .. "/" .. name)
    add("names in a directory", { "list", directory }, shows.told(name))
    for _, relative in ipairs(names) do
      local found = core.lstat(t.home .. "/" .. relative)
      if found and found.kind == "file" then
        add("the size of a file", { "size", t.home .. "/" .. relative }, shows.told(("size=%d;"):format(found.size)))
        break
      end
    end
  end,
}

return M
