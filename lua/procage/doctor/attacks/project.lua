--- Attacks on what others run in the project: its repository, hand-off files.

local shows = require("procage.doctor.attacks.shows")
local trees = require("procage.doctor.tree")

---@type table<string, procage.doctor.Class>
local M = {}

M.git = {
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
        return shows.holds(target, text)() or shows.holds(away .. target:sub(#git + 1), text)()
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
    add("taking the directory away", { "rename", git, away }, shows.is_gone(git))
  end,
}

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

M.handoff = {
  about = "files that make someone else run code later, those that exist",
  unclaimed = function(c)
    return not c.is_off and #c.profile.handoff == 0 and "the profile names no hand-off file" or c:gap("handoff")
  end,
  attacks = function(t, c, add)
    local top, deep = handoff_names(c)
    for i, name in ipairs(top) do
      local file, text = t:write(t.workspace .. "/" .. name, "old"), trees.token()
      if i % 2 == 1 then
        add("writing " .. name, { "write", file, text }, shows.holds(file, text))
      else
        add("replacing " .. name, { "replace", file, text, t.workspace .. "/" .. text }, shows.holds(file, text))
      end
    end
    if deep then
      local file, text = t:write(t.workspace .. "/" .. deep, "old"), trees.token()
      local first, away = t.workspace .. "/" .. deep:match("^[^/]+"), t.workspace .. "/" .. text
      add("writing " .. deep, { "write", file, text }, function()
        return shows.holds(file, text)() or shows.holds(away .. file:sub(#first + 1), text)()
      end)
      add("taking the directory of " .. deep .. " away", { "rename", first, away }, shows.is_gone(first))
    end
  end,
}

M.handoff_absent = {
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
        return t.appeared[file] or shows.holds(file, text)()
      end
      if i % 2 == 1 then
        add("a new " .. name, { "create", file, text }, crossed)
      else
        add("a file renamed to " .. name, { "replace", file, text, t.workspace .. "/" .. text }, crossed)
      end
    end
  end,
}

return M
