--- Attacks on files outside of what is listed, and in the directories for temporary files.

local core = require("procage.core")
local path = require("procage.path")
local shows = require("procage.doctor.attacks.shows")
local trees = require("procage.doctor.tree")

---@type table<string, procage.doctor.Class>
local M = {}

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
    add(name, words, shows.holds(file, text))
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
  add("taking a file away", { "rename", moved, t.workspace .. "/" .. trees.token() }, shows.is_gone(moved))
  local removed = target()
  add("removing a file", { "unlink", removed }, shows.is_gone(removed))
  local made = place .. "/directory"
  add("a new directory", { "mkdir", made }, shows.exists(made))
  local link = place .. "/planted"
  add("a new symbolic link", { "symlink", "/", link }, shows.exists(link))
end

M.read = {
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
    add("directly", { "read", file }, shows.told(secret))
    add("through a symbolic link", { "read_symlink", file, t.workspace .. "/read-link" }, shows.told(secret))
    add("through a hard link", { "read_link", file, t.workspace .. "/read-hard" }, shows.told(secret))
    add("through /proc/self/root", { "read", "/proc/self/root" .. file }, shows.told(secret))
  end,
}

M.write = {
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
      add("a new file " .. row[2], { "create", file, text }, shows.holds(file, text))
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
      add(row[1], { "write", row[2] .. name, text }, shows.holds(t.outside .. name, text))
    end
    local fifo = t:keep("fifo", t.outside .. "/fifo")
    if fifo then
      local text = trees.token()
      add("into a FIFO", { "write", t.outside .. "/fifo", text }, shows.came(t, fifo, text))
    end
  end,
}

M.truncate = {
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
}

M.metadata = {
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
}

M.put_back = {
  about = "what is put back below the run's own /tmp: writing in it, its sockets, its FIFOs",
  unclaimed = function(c)
    if not c.is_off and (c.profile.tmp == "shared" or c:may_write("/tmp")) then
      return "allowed by the profile: /tmp is the host's"
    end
    return c:gap("write")
  end,
  attacks = function(t, c, add)
    if not t.below then
      return
    end
    for _, row in ipairs({ { "write", "over a file" }, { "replace", "by a rename over it" } }) do
      local text = trees.token()
      local file = t:write(t.below .. "/" .. row[1], "old")
      add(row[2], { row[1], file, text, t.workspace .. "/" .. text }, shows.holds(file, text))
    end
    local text = trees.token()
    add("a new file", { "create", t.below .. "/new", text }, shows.holds(t.below .. "/new", text))
    if not c:gap("metadata") then
      local file = t:write(t.below .. "/mode")
      add("the mode of a file", { "chmod", file, "741" }, function()
        return core.stat(file).mode & 511 == 481 -- 0741
      end)
    end
    local fifo, word = t:keep("fifo", t.below .. "/fifo"), trees.token()
    if fifo then
      add("into a FIFO", { "write", t.below .. "/fifo", word }, shows.came(t, fifo, word))
    end
    local socket, told = not c:gap("sockets") and t:keep("stream", t.below .. "/stream"), trees.token()
    if socket then
      add("over a socket", { "unix", "stream", t.below .. "/stream", told }, shows.came(t, socket, told))
    end
  end,
}

M.tmp = {
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
        add("writing in " .. place, { "create", file, text }, shows.holds(file, text))
        local other = t:remove_later(place .. "/procage-doctor-" .. trees.token())
        local is_made, _, secret = pcall(t.write, t, other)
        if is_made and (c.is_off or c:uses("tmp", "private-tmp-mount")) then
          add("reading in " .. place, { "read", other }, shows.told(secret))
        end
      end
    end
  end,
}

return M
