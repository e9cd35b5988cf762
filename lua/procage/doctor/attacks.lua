--- The attacks: what is tried, on what of doctor's own, and how it shows outside that it came through.
---
--- Each is made twice, once for the control and once for the confined run, on targets of their own. A class says when a profile
--- or a report does not claim it.

local core = require("procage.core")
local env_room = require("procage.env")
local path = require("procage.path")
local profiles = require("procage.profile")
local trees = require("procage.doctor.tree")

local M = {}

---@class procage.doctor.Attack
---@field class string
---@field name string
---@field words string[]  for the helper: what to do, and six words at most
---@field crossed fun(answer: procage.doctor.Answer): boolean
---@field by_word? boolean  nothing happens outside: the helper's own word decides

---@class procage.doctor.Answer
---@field result integer  0, an errno, minus a signal
---@field told string  what was read

---@class procage.doctor.Class
---@field name string
---@field about string
---@field unclaimed fun(c: procage.doctor.Claims): string?  why it is not tried
---@field attacks fun(t: procage.doctor.Tree, c: procage.doctor.Claims, add: function)

--- The profile and its report, as the classes ask them.
---@class procage.doctor.Claims
---@field profile procage.Profile  fitted
---@field rows table<string, procage.Row>
---@field is_off boolean  nothing is confined, so everything is tried
---@field home string  of the confined tree
---@field hidden table<boolean, string[]>  what hidden_names has found
local Claims = {}
Claims.__index = Claims
M.Claims = Claims

---@param profile procage.Profile
---@param report procage.Row[]
---@param home string
---@return procage.doctor.Claims
function M.claims(profile, report, home)
  local rows = {}
  for _, row in ipairs(report) do
    rows[row.clause] = row
  end
  return setmetatable({
    profile = profile,
    rows = rows,
    home = home,
    is_off = profile.unconfined ~= nil,
    hidden = {},
  }, Claims)
end

---@param clause string
---@param mechanism string
---@return boolean
function Claims:uses(clause, mechanism)
  for _, name in ipairs(self.rows[clause].mechanisms) do
    if name == mechanism then
      return true
    end
  end
  return false
end

--- A gap that the report names.
---@param clause string
---@return string?
function Claims:gap(clause)
  local row = self.rows[clause]
  if self.is_off or row.state ~= "unenforced" then
    return nil
  end
  return ("the report names this gap, %s%s"):format(row.id, row.guard and "; " .. row.guard or "")
end

--- Whether the profile lets a path be written.
function Claims:may_write(name)
  return path.resolved_tree_of(name, profiles.writable_trees(self.profile)) ~= nil
end

function Claims:may_read(name)
  return self.profile.read == "all" or path.resolved_tree_of(name, self.profile.read) ~= nil or self:may_write(name)
end

-- ---- How it shows ----------------------------------------------------------------------------------------------------------

--- What was read holds the secret, which nobody told the helper.
local function told(secret)
  return function(answer)
    return answer.told:find(secret, 1, true) ~= nil
  end
end

local function holds(name, text)
  return function()
    return (trees.read(name) or ""):find(text, 1, true) ~= nil
  end
end

local function exists(name)
  return function()
    return core.lstat(name) ~= nil
  end
end

local function is_gone(name)
  return function()
    return core.lstat(name) == nil
  end
end

local function came(t, object, text)
  return function()
    return t:has_come(object, text)
  end
end

local function opened(answer)
  return answer.result == 0
end

-- ---- Files -----------------------------------------------------------------------------------------------------------------

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
    add("~/" .. each.relative, { "read", each.file }, told(each.secret))
  end
  for _, each in ipairs({ directory or file, directory and file or nil }) do
    local what = each == directory and "in a directory" or "a file"
    local link = ("%s/link-%d"):format(t.workspace, each == directory and 1 or 2)
    add(what .. ", through a symbolic link", { "read_symlink", each.file, link }, told(each.secret))
    add(what .. ", through a hard link", { "read_link", each.file, link .. "-hard" }, told(each.secret))
    add(what .. ", through /proc/self/root", { "read", "/proc/self/root" .. each.file }, told(each.secret))
    local beside = "/proc/self/cwd/../home" .. each.file:sub(#t.home + 1)
    add(what .. ", through /proc/self/cwd", { "read", beside }, told(each.secret))
    add(what .. ", through a path descriptor", { "read_fd", each.file }, told(each.secret))
    add(what .. ", through io_uring", { "read_uring", each.file }, told(each.secret))
    add(what .. ", by file handle", { "read_handle", each.file, t.workspace }, told(each.secret))
    add(what .. ", in another mount namespace", { "unmask", each.top, each.file }, told(each.secret))
    add(what .. ", without its mask", { "unmask_direct", each.top, each.file }, told(each.secret))
    if t.victim then
      local root = ("/proc/%s/root"):format(t.victim.pid)
      add(what .. ", through another process's root", { "read", root .. each.file }, told(each.secret))
      add(what .. ", by chroot", { "chroot", root, each.file }, told(each.secret))
      add(what .. ", in another process's mounts", { "setns", ("/proc/%s/ns/mnt"):format(t.victim.pid), each.file },
        told(each.secret))
    end
  end
  if directory then
    local mobile, secret = t:write(directory.top .. "/moved")
    add("in a directory, moved into the workspace", { "read_rename", mobile, t.workspace .. "/moved" }, told(secret))
    add("in a directory, in a copy of the mounts", { "open_tree", directory.top, "secret" }, told(directory.secret))
  end
end

--- Attacks that write `text` to a file, each on one of its own in `place`.
local function write_attacks(t, place, add)
  local count = 0
  local function target(text)
    count = count + 1
    return (t:write(("%s/file-%d"):format(place, count), text or "old"))
  end
  local function try(name, words, is_new)
    local text = trees.token()
    local file = is_new and ("%s/new-%s"):format(place, text) or target()
    for i, word in ipairs(words) do
      words[i] = ({ FILE = file, TEXT = text, NAME = t.workspace .. "/" .. text, PLACE = place })[word] or word
    end
    add(name, words, holds(file, text))
  end
  try("over a file", { "write", "FILE", "TEXT" })
  try("a new file", { "create", "FILE", "TEXT" }, true)
  try("through a symbolic link", { "write_symlink", "FILE", "TEXT", "NAME" })
  try("through a hard link", { "write_link", "FILE", "TEXT", "NAME" })
  try("through a descriptor opened to read", { "write_fd", "FILE", "TEXT" })
  try("by a rename over it", { "replace", "FILE", "TEXT", "NAME" })
  try("by an exchange of names", { "exchange", "FILE", "TEXT", "NAME" })
  try("by a second name of a file of its own", { "link_out", "FILE", "TEXT", "NAME" }, true)
  try("by a file without a name", { "tmpfile", "FILE", "TEXT", "PLACE" }, true)
  try("by a writable mount", { "remount", "FILE", "TEXT" })
  local moved = target()
  add("taking a file away", { "rename", moved, t.workspace .. "/" .. trees.token() }, is_gone(moved))
  local removed = target()
  add("removing a file", { "unlink", removed }, is_gone(removed))
  local made = place .. "/directory"
  add("a new directory", { "mkdir", made }, exists(made))
  local link = place .. "/planted"
  add("a new symbolic link", { "symlink", "/", link }, exists(link))
end

local function bind_attacks(t, add)
  for _, row in ipairs({ { "bind", "a bind mount" }, { "clone", "a bind mount, by clone" } }) do
    local text = trees.token()
    local file = t:write(t.outside .. "/" .. text, "old")
    local place = t:make_directory(t.workspace .. "/mount-" .. row[1])
    add(row[2], { row[1], t.outside, place, text, text }, holds(file, text))
  end
end

-- ---- Classes ---------------------------------------------------------------------------------------------------------------

---@type procage.doctor.Class[]
M.classes = {}

---@param made procage.doctor.Class
local function class(made)
  M.classes[#M.classes + 1] = made
end

local function always() end

class({
  name = "hidden",
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
})

class({
  name = "hidden_inside",
  about = "reading hidden files inside writable trees",
  unclaimed = function(c)
    if c.is_off or #hidden_names(c, true) == 0 then
      return "the profile hides nothing inside its writable trees"
    end
    return not c:uses("hidden", "mask") and c:gap("hidden") or nil
  end,
  attacks = function(t, c, add)
    for _, each in ipairs(make_hidden(t, hidden_names(c, true))) do
      add("~/" .. each.relative, { "read", each.file }, told(each.secret))
    end
  end,
})

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

class({
  name = "ignored",
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
      add("reading " .. name, { "read", file }, told(secret))
      if i == 1 then
        local link = t.workspace .. "/ignored-link"
        add("reading " .. name .. " through a symbolic link", { "read_symlink", file, link }, told(secret))
        add("reading " .. name .. " through a hard link", { "read_link", file, link .. "-hard" }, told(secret))
        add("reading " .. name .. " without its mask", { "unmask", file, file }, told(secret))
        -- Last: the others need it where it is.
        add("reading " .. name .. ", renamed", { "read_rename", file, link .. "-moved" }, told(secret))
      end
    end
  end,
})

class({
  name = "stat",
  about = "names and sizes of hidden files",
  unclaimed = function(c)
    return #hidden_names(c, false) == 0 and "the profile hides nothing below the home directory" or c:gap("stat")
  end,
  attacks = function(t, c, add)
    local names = hidden_names(c, false)
    local directory, name = t.home .. "/" .. names[1], trees.token()
    t:write(directory .. "/" .. name)
    add("names in a directory", { "list", directory }, told(name))
    for _, relative in ipairs(names) do
      local found = core.lstat(t.home .. "/" .. relative)
      if found and found.kind == "file" then
        add("the size of a file", { "size", t.home .. "/" .. relative }, told(("size=%d;"):format(found.size)))
        break
      end
    end
  end,
})

class({
  name = "read",
  about = "reading outside the listed trees",
  unclaimed = function(c)
    if not c.is_off and c:may_read(path.parent(c.home) .. "/outside") then
      local why = c.profile.read == "all" and "it reads everything that is not hidden" or "it is listed"
      return "allowed by the profile: " .. why
    end
    return c:gap("read")
  end,
  attacks = function(t, _, add)
    local file, secret = t:write(t.outside .. "/secret")
    add("directly", { "read", file }, told(secret))
    add("through a symbolic link", { "read_symlink", file, t.workspace .. "/read-link" }, told(secret))
    add("through a hard link", { "read_link", file, t.workspace .. "/read-hard" }, told(secret))
    add("through /proc/self/root", { "read", "/proc/self/root" .. file }, told(secret))
  end,
})

class({
  name = "write",
  about = "writing outside: beside the workspace, in the home directory, in /etc",
  unclaimed = function(c)
    return not c.is_off and c:may_write(path.parent(c.home) .. "/outside") and "allowed by the profile" or c:gap("write")
  end,
  attacks = function(t, _, add)
    write_attacks(t, t:make_directory(t.outside .. "/files"), function(name, words, crossed)
      add(name .. ", beside the workspace", words, crossed)
    end)
    for _, row in ipairs({ { t.home, "in the home directory" }, { "/etc", "in /etc" } }) do
      local text = trees.token()
      local file = t:remove_later(row[1] .. "/procage-doctor-" .. text)
      add("a new file " .. row[2], { "create", file, text }, holds(file, text))
    end
    local through = {
      { "through /proc/self/root", "/proc/self/root" .. t.outside },
      { "through ..", t.workspace .. "/../outside" },
    }
    if t.victim then
      through[3] = { "through another process's root", ("/proc/%s/root"):format(t.victim.pid) .. t.outside }
      through[4] = { "through another process's directory", ("/proc/%s/cwd"):format(t.victim.pid) }
    end
    for i, row in ipairs(through) do
      local text = trees.token()
      local name = ("/through-%d"):format(i)
      t:write(t.outside .. name, "old")
      add(row[1], { "write", row[2] .. name, text }, holds(t.outside .. name, text))
    end
    local fifo = t:keep("fifo", t.outside .. "/fifo")
    if fifo then
      local text = trees.token()
      add("into a FIFO", { "write", t.outside .. "/fifo", text }, came(t, fifo, text))
    end
  end,
})

class({
  name = "truncate",
  about = "cutting files outside short",
  unclaimed = function(c)
    return c:gap("truncate")
  end,
  attacks = function(t, _, add)
    for _, row in ipairs({ { "truncate", "by name" }, { "open_truncate", "by opening" } }) do
      local file = t:write(t.outside .. "/" .. row[1], "kept")
      add(row[2], { row[1], file }, function()
        return trees.read(file) == ""
      end)
    end
  end,
})

class({
  name = "metadata",
  about = "mode and times of files outside",
  unclaimed = function(c)
    return c:gap("metadata")
  end,
  attacks = function(t, _, add)
    for _, row in ipairs({ { "chmod", "the mode" }, { "fchmod", "the mode, of an open file" } }) do
      local file = t:write(t.outside .. "/" .. row[1])
      add(row[2], { row[1], file, "741" }, function()
        return core.stat(file).mode & 511 == 481 -- 0741
      end)
    end
    local file = t:write(t.outside .. "/times")
    add("the times", { "times", file }, function()
      return core.stat(file).mtime_ns == 1000000000
    end)
  end,
})

class({
  name = "git",
  about = "hooks and configuration of the workspace's repository",
  unclaimed = function(c)
    return not c.is_off and c.profile.git == "write" and "allowed by the profile: git = write" or c:gap("git")
  end,
  attacks = function(t, c, add)
    local git = t.workspace .. "/.git"
    local function file(name, text)
      return (t:write(git .. "/" .. name, text))
    end
    file("HEAD", "ref: refs/heads/main\n")
    file("objects/info/keep", "")
    file("refs/heads/keep", "")
    file("info/exclude", "old")
    file("hooks/pre-commit", "old")
    file("hooks/commit-msg", "old")
    file("config", "[core]\n\tbare = false\n")
    -- Taken away at the end: that is looked at where it went, too.
    local away = t.workspace .. "/" .. trees.token()
    local function try(name, words, target)
      local text = trees.token()
      words[#words + 1] = text
      words[#words + 1] = t.workspace .. "/" .. text
      add(name, words, function()
        return holds(target, text)() or holds(away .. target:sub(#git + 1), text)()
      end)
    end
    try("writing the configuration", { "write", git .. "/config" }, git .. "/config")
    try("replacing a hook", { "replace", git .. "/hooks/commit-msg" }, git .. "/hooks/commit-msg")
    try("a new worktree configuration", { "create", git .. "/config.worktree" }, git .. "/config.worktree")
    try("writing a hook", { "write", git .. "/hooks/pre-commit" }, git .. "/hooks/pre-commit")
    try("a new hook", { "create", git .. "/hooks/post-checkout" }, git .. "/hooks/post-checkout")
    try("writing info/exclude", { "write", git .. "/info/exclude" }, git .. "/info/exclude")
    if c.is_off or c.profile.git == "read" then
      try("a new object", { "create", git .. "/objects/new" }, git .. "/objects/new")
    end
    -- Last: the others need it where it is.
    add("taking the directory away", { "rename", git, away }, is_gone(git))
  end,
})

--- Names of the profile's list: some at the top, one in a directory.
local function handoff_names(c)
  local top, deep = {}, nil
  for _, name in ipairs(c.is_off and { ".envrc", ".vscode/tasks.json" } or c.profile.handoff) do
    if not name:find("^%.git") then
      if name:find("/", 1, true) then
        deep = deep or name
      elseif #top < 5 then
        top[#top + 1] = name
      end
    end
  end
  return top, deep
end

class({
  name = "handoff",
  about = "files that make someone else run code later, those that exist",
  unclaimed = function(c)
    return not c.is_off and #c.profile.handoff == 0 and "the profile names no hand-off file" or c:gap("handoff")
  end,
  attacks = function(t, c, add)
    local top, deep = handoff_names(c)
    for i, name in ipairs(top) do
      local file, text = t:write(t.workspace .. "/" .. name, "old"), trees.token()
      if i % 2 == 1 then
        add("writing " .. name, { "write", file, text }, holds(file, text))
      else
        add("replacing " .. name, { "replace", file, text, t.workspace .. "/" .. text }, holds(file, text))
      end
    end
    if deep then
      local file, text = t:write(t.workspace .. "/" .. deep, "old"), trees.token()
      local first, away = t.workspace .. "/" .. deep:match("^[^/]+"), t.workspace .. "/" .. text
      add("writing " .. deep, { "write", file, text }, function()
        return holds(file, text)() or holds(away .. file:sub(#first + 1), text)()
      end)
      add("taking the directory of " .. deep .. " away", { "rename", first, away }, is_gone(first))
    end
  end,
})

class({
  name = "handoff_absent",
  about = "files that make someone else run code later, new ones",
  unclaimed = function(c)
    return not c.is_off and #c.profile.handoff == 0 and "the profile names no hand-off file" or c:gap("handoff_absent")
  end,
  attacks = function(t, c, add)
    local place = t:make_directory(t.workspace .. "/fresh")
    t:write(place .. "/.git/HEAD", "ref: refs/heads/main\n")
    t:make_directory(place .. "/.git/objects")
    t:make_directory(place .. "/.git/refs")
    for i, name in ipairs((handoff_names(c))) do
      local file, text = place .. "/" .. name, trees.token()
      local function crossed()
        return t.appeared[file] or holds(file, text)()
      end
      if i % 2 == 1 then
        add("a new " .. name, { "create", file, text }, crossed)
      else
        add("a file renamed to " .. name, { "replace", file, text, t.workspace .. "/" .. text }, crossed)
      end
    end
  end,
})

class({
  name = "tmp",
  about = "the host's /tmp, /var/tmp and /dev/shm",
  unclaimed = function(c)
    return not c.is_off and c.profile.tmp == "shared" and "allowed by the profile: tmp = shared" or nil
  end,
  attacks = function(t, c, add)
    for _, place in ipairs({ "/tmp", "/var/tmp", "/dev/shm" }) do
      -- What lies in a tree that is put back is the run's to see.
      if not path.is_beneath(t.root, place) then
        local text = trees.token()
        local file = t:remove_later(place .. "/procage-doctor-" .. text)
        add("writing in " .. place, { "create", file, text }, holds(file, text))
        local other = t:remove_later(place .. "/procage-doctor-" .. trees.token())
        local is_made, _, secret = pcall(t.write, t, other)
        if is_made and (c.is_off or c:uses("tmp", "private-tmp-mount")) then
          add("reading in " .. place, { "read", other }, told(secret))
        end
      end
    end
  end,
})

class({
  name = "network",
  about = "TCP, UDP as DNS has it, IPv4 and IPv6, to listeners on this machine",
  unclaimed = function(c)
    if c.is_off then
      return nil
    elseif c.profile.network == "all" or c.profile.loopback == "host" and c.profile.network == "loopback" then
      return "allowed by the profile: network = "
        .. (c.profile.network == "all" and "all" or "loopback, the host's")
    end
    return c:gap("network")
  end,
  attacks = function(t, _, add)
    local ways = {
      tcp = { { "tcp", "TCP" }, { "fastopen", "TCP Fast Open" }, { "mptcp", "MPTCP" }, { "uring_tcp", "TCP by io_uring" } },
      tcp6 = { { "tcp", "TCP over IPv6" } },
      udp = { { "udp", "UDP" }, { "udp_connect", "UDP, connected, as DNS" } },
      udp6 = { { "udp", "UDP over IPv6" } },
    }
    for _, kind in ipairs({ "tcp", "tcp6", "udp", "udp6" }) do
      local listener = t:keep(kind)
      for _, way in ipairs(listener and ways[kind] or {}) do
        local text = trees.token()
        local host = kind:find("6") and "::1" or "127.0.0.1"
        add(way[2], { way[1], host, tostring(listener:number()), text }, came(t, listener, text))
      end
    end
  end,
})

class({
  name = "families",
  about = "raw and packet sockets, vsock, netlink",
  unclaimed = always,
  attacks = function(t, _, add)
    local udp, packet, vsock, netlink = t:keep("udp"), t:keep("packet"), t:keep("vsock"), t:keep("netlink")
    if udp then
      local text = trees.token()
      add("a raw socket", { "raw", "127.0.0.1", tostring(udp:number()), text }, came(t, udp, text))
    end
    if packet then
      local text = trees.token()
      add("a packet socket", { "packet", text }, came(t, packet, text))
    end
    local text = trees.token()
    if vsock then
      add("vsock", { "vsock", tostring(vsock:number()), text }, came(t, vsock, text))
    end
    if netlink then
      add("netlink, to a process", { "netlink", tostring(netlink:number()), text }, came(t, netlink, text))
    end
  end,
})

class({
  name = "sockets",
  about = "Unix sockets of programs outside, by path",
  unclaimed = function(c)
    local outside = path.parent(c.home) .. "/outside"
    if not c.is_off and (c:may_write(outside) or path.resolved_tree_of(outside, c.profile.sockets)) then
      return "allowed by the profile"
    end
    return c:gap("sockets")
  end,
  attacks = function(t, _, add)
    for _, kind in ipairs({ "stream", "seqpacket", "dgram" }) do
      local name = ("%s/%s"):format(t.outside, kind:sub(1, 2))
      local listener = t:keep(kind, name)
      local function try(told_as, words)
        local text = trees.token()
        for i, word in ipairs(words) do
          words[i] = word == "TEXT" and text or word
        end
        add(told_as, words, came(t, listener, text))
      end
      if listener then
        try(kind, { "unix", kind, name, "TEXT" })
        try(kind .. ", through a symbolic link", { "unix_link", kind, name, "TEXT", t.workspace .. "/s-" .. kind })
        try(kind .. ", through /proc/self/root", { "unix", kind, "/proc/self/root" .. name, "TEXT" })
      end
      if listener and kind == "dgram" then
        try("dgram, by sendto", { "unix_sendto", name, "TEXT" })
        try("dgram, by sendmsg", { "unix_sendmsg", name, "TEXT" })
        try("dgram, from one of a pair", { "unix_pair", name, "TEXT" })
      elseif listener and kind == "stream" then
        try("stream, by io_uring", { "uring_unix", name, "TEXT" })
      end
    end
  end,
})

class({
  name = "abstract",
  about = "abstract Unix sockets of programs outside",
  unclaimed = function(c)
    return c:gap("abstract")
  end,
  attacks = function(t, _, add)
    for _, kind in ipairs({ "stream", "dgram" }) do
      local name = "@procage-doctor-" .. trees.token()
      local listener = t:keep(kind, name)
      if listener then
        local text = trees.token()
        add(kind, { "unix", kind, name, text }, came(t, listener, text))
      end
      if listener and kind == "dgram" then
        local text = trees.token()
        add("dgram, from one of a pair", { "unix_pair", name, text }, came(t, listener, text))
      end
    end
  end,
})

--- The variable that looks secret, in doctor's environment.
M.VARIABLE = "PROCAGE_DOCTOR_TOKEN"

class({
  name = "env",
  about = "secret variables of who starts the run",
  unclaimed = function(c)
    local rules = c.profile.env
    local kept = env_room.apply({ [M.VARIABLE] = "x" }, { drop = rules.drop, keep = rules.keep })
    return not c.is_off and kept[M.VARIABLE] and "the profile drops no variable of the name *_TOKEN" or c:gap("env")
  end,
  attacks = function(t, _, add)
    add("in its own environment", { "variable", "/proc/self/environ", M.VARIABLE }, told(t.secret))
  end,
})

class({
  name = "signals",
  about = "signals to a process outside",
  unclaimed = function(c)
    return c:gap("signals")
  end,
  attacks = function(t, _, add)
    local ways = {
      { "kill", "kill", 34 },
      { "tgkill", "tgkill", 35 },
      { "sigqueue", "sigqueue", 36 },
      { "pidfd", "by a pidfd", 37 },
      { "setown", "as the owner of a file", 38 },
      { "kill", "to its group", 39, "-" },
    }
    for _, way in ipairs(t.victim and ways or {}) do
      local pid = (way[4] or "") .. t.victim.pid
      add(way[2], { way[1], pid, tostring(way[3]) }, came(t, t.victim.log, way[3] .. "\n"))
    end
  end,
})

class({
  name = "processes",
  about = "memory, environment, files and limits of a process outside",
  unclaimed = function(c)
    return not c:uses("signals", "landlock-fs") and c:gap("signals") or nil
  end,
  attacks = function(t, _, add)
    local victim = t.victim
    if not victim then
      return
    end
    local proc = "/proc/" .. victim.pid
    add("memory, traced", { "ptrace", victim.pid, victim.address }, told(victim.memory))
    add("memory, process_vm_readv", { "vm_read", victim.pid, victim.address }, told(victim.memory))
    add("memory, /proc/PID/mem", { "mem_read", victim.pid, victim.address }, told(victim.memory))
    add("environment", { "variable", proc .. "/environ", "PROCAGE_DOCTOR_VICTIM" }, told(victim.environment))
    add("an open file, /proc/PID/fd", { "read", ("%s/fd/%d"):format(proc, victim.fd) }, told(victim.secret))
    add("an open file, pidfd_getfd", { "getfd", victim.pid, tostring(victim.fd) }, told(victim.secret))
    add("its limits", { "limit", victim.pid, "333" }, function()
      return (trees.read(proc .. "/limits") or ""):find("open files%s+333%s") ~= nil
    end)
    add("its priority", { "nice", victim.pid, "13" }, function()
      local stat = trees.read(proc .. "/stat") or ""
      return stat:match("%) " .. ("%S+ "):rep(16) .. "(%S+)") == "13"
    end)
    add("its badness for the OOM killer", { "write", proc .. "/oom_score_adj", "777" }, function()
      return (trees.read(proc .. "/oom_score_adj") or ""):match("^777") ~= nil
    end)
  end,
})

class({
  name = "descriptors",
  about = "files that who starts the run has left open",
  unclaimed = always,
  attacks = function(t, _, add)
    local file, secret = t:write(t.outside .. "/open")
    local read = t:leave_open(file, "rb")
    local written, text = t:write(t.outside .. "/open-write", ("old"):rep(20)), trees.token()
    local write = t:leave_open(written, "r+b")
    local beneath, other = t:write(t.outside .. "/open-directory/secret")
    local directory = t:leave_open(t.outside .. "/open-directory", "rb")
    add("reading", { "fd_read", tostring(read.ino) }, told(secret))
    add("writing", { "fd_write", tostring(write.ino), text }, holds(written, text))
    if directory and beneath then
      add("beneath a directory", { "fd_directory", tostring(directory.ino), "secret" }, told(other))
    end
  end,
})

class({
  name = "namespaces",
  about = "namespaces and mounts that would open what is closed",
  unclaimed = function(c)
    return not c.is_off and c:may_write(path.parent(c.home) .. "/outside") and "allowed by the profile" or nil
  end,
  attacks = function(t, _, add)
    bind_attacks(t, add)
    local file, text = t:write(t.outside .. "/remount", "old"), trees.token()
    add("a tree made writable again", { "remount", file, text }, holds(file, text))
  end,
})

class({
  name = "setuid",
  about = "set-user-ID programs, capabilities and device nodes left in the workspace",
  unclaimed = always,
  attacks = function(t, _, add)
    for _, row in ipairs({ { "setuid", "by chmod" }, { "setuid_open", "made with the bit and filled" } }) do
      local file = t.workspace .. "/" .. row[1]
      add(row[2], { row[1], file }, function()
        local found = core.lstat(file)
        return found ~= nil and found.size > 0 and found.mode & 2048 ~= 0 -- S_ISUID
      end)
    end
    local device = t.workspace .. "/device"
    add("a device node", { "device", device }, exists(device))
    local capable = t.workspace .. "/capable"
    add("a file with capabilities", { "capability", capable }, opened, true)
  end,
})

class({
  name = "keys",
  about = "the kernel's keyrings",
  unclaimed = always,
  attacks = function(t, _, add)
    local name, secret = "procage-doctor:" .. trees.token(), trees.token()
    local key = t:keep("key", name, secret)
    if key then
      local text = trees.token()
      add("reading a key by number", { "key_read", tostring(key:number()) }, told(secret))
      add("finding a key", { "key_search", name }, told(secret))
      add("changing a key", { "key_update", tostring(key:number()), text }, came(t, key, text))
    end
  end,
})

class({
  name = "terminals",
  about = "other terminals: typing into one (TIOCSTI), writing on one",
  unclaimed = always,
  attacks = function(t, _, add)
    local terminal = t:keep("terminal")
    if terminal then
      for _, row in ipairs({ { "write", "writing" }, { "type", "typing" } }) do
        local text = trees.token()
        add(row[2], { row[1], terminal:name(), text }, came(t, terminal, text))
      end
    end
  end,
})

class({
  name = "left_behind",
  about = "processes that outlive the run",
  unclaimed = function(c)
    return c:gap("process_tree")
  end,
  attacks = function(t, _, add)
    for _, row in ipairs({
      { "stay_session", "in a session of its own", "pd-session" },
      { "stay_daemon", "a daemon, deaf to signals", "pd-daemon" },
      { "stay_sister", "a child of its parent's", "pd-sister" },
      { "stay_subreaper", "one that takes in orphans", "pd-subreaper" },
    }) do
      add(row[2], { row[1], row[3] }, function()
        t.found = t.found or t:strays()
        for _, stray in ipairs(t.found) do
          if stray.name == row[3] then
            return true
          end
        end
        return false
      end)
    end
  end,
})

class({
  name = "ipc",
  about = "System V and POSIX IPC of programs outside",
  unclaimed = function(c)
    return c:gap("ipc")
  end,
  attacks = function(t, _, add)
    local secret = trees.token()
    local shared, messages, semaphore = t:keep("shm", "", secret), t:keep("msg"), t:keep("sem")
    local name = "/procage-doctor-" .. trees.token()
    local queue = t:keep("mq", name)
    if shared then
      local text = trees.token()
      add("reading shared memory", { "shm_read", tostring(shared:number()) }, told(secret))
      local other = t:keep("shm", "", "old")
      add("writing shared memory", { "shm_write", tostring(other:number()), text }, came(t, other, text))
    end
    if messages then
      local text = trees.token()
      add("a message queue", { "msg_send", tostring(messages:number()), text }, came(t, messages, text))
    end
    if semaphore then
      add("a semaphore", { "sem_set", tostring(semaphore:number()), "321" }, came(t, semaphore, "value=321;"))
    end
    if queue then
      local text = trees.token()
      add("a POSIX message queue", { "mq_send", name, text }, came(t, queue, text))
    end
  end,
})

local SETTINGS = {
  "/proc/sys/kernel/core_pattern",
  "/proc/sys/kernel/modprobe",
  "/proc/sys/kernel/hostname",
  "/proc/sysrq-trigger",
  "/proc/sys/vm/drop_caches",
  "/sys/kernel/uevent_helper",
  "/sys/power/state",
  "/sys/fs/cgroup/cgroup.procs",
}

class({
  name = "kernel",
  about = "settings of the kernel, opened to be written and closed again",
  unclaimed = always,
  attacks = function(_, _, add)
    for _, name in ipairs(SETTINGS) do
      add(name, { "open_write", name }, opened, true)
    end
  end,
})

--- Devices whose opening changes nothing: no watchdog, no tape.
local DEVICES = {
  "kmsg", "mem", "port", "kvm", "fuse", "net/tun", "loop-control", "mapper/control", "vhost-net", "vhost-vsock",
}
local DISKS = { "^sd%l$", "^vd%l$", "^xvd%l$", "^nvme%d+n%d+$", "^mmcblk%d+$", "^dm%-%d+$", "^loop0$" }

class({
  name = "devices",
  about = "device nodes, opened to be read and closed again",
  unclaimed = always,
  attacks = function(_, _, add)
    local names = table.move(DEVICES, 1, #DEVICES, 1, {})
    for name, kind in pairs(core.read_dir("/dev") or {}) do
      for _, pattern in ipairs(kind == "block" and DISKS or {}) do
        if name:find(pattern) then
          names[#names + 1] = name
        end
      end
    end
    table.sort(names)
    for i = 1, math.min(#names, 24) do
      add("/dev/" .. names[i], { "open_read", "/dev/" .. names[i] }, opened, true)
    end
  end,
})

return M
