--- Attacks on what a run might inherit from who starts it: variables, descriptors.

local env_room = require("procage.env")
local shows = require("procage.doctor.attacks.shows")
local trees = require("procage.doctor.tree")

---@type table<string, procage.doctor.Class>
local M = {}

M.env = {
  about = "secret variables of who starts the run",
  unclaimed = function(c)
    local rules = c.profile.env
    local kept = env_room.apply({ [trees.VARIABLE] = "x" }, { drop = rules.drop, keep = rules.keep })
    return not c.is_off and kept[trees.VARIABLE] and "the profile drops no variable of the name *_TOKEN" or c:gap("env")
  end,
  attacks = function(t, _, add)
    add("in its own environment", { "variable", "/proc/self/environ", trees.VARIABLE }, shows.told(t.secret))
  end,
}

M.descriptors = {
  about = "files that who starts the run has left open",
  unclaimed = shows.nothing,
  attacks = function(t, _, add)
    local file, secret = t:write(t.outside .. "/open")
    local read = t:leave_open(file, "rb")
    local written, text = t:write(t.outside .. "/open-write", ("old"):rep(20)), trees.token()
    local write = t:leave_open(written, "r+b")
    local beneath, other = t:write(t.outside .. "/open-directory/secret")
    local directory = t:leave_open(t.outside .. "/open-directory", "rb")
    add("reading", { "fd_read", tostring(read.ino) }, shows.told(secret))
    add("writing", { "fd_write", tostring(write.ino), text }, shows.holds(written, text))
    if directory and beneath then
      add("beneath a directory", { "fd_directory", tostring(directory.ino), "secret" }, shows.told(other))
    end
  end,
}

return M
