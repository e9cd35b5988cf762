--- The files that the words of a command may name: those that it changes, those that it reads, and those that a word of which
--- nobody knows what it is may lead to.

local core = require("procage.core")
local disk = require("procage.disk")
local glob = require("procage.glob")
local list = require("procage.list")
local path = require("procage.path")

local M = {}

local MAX_GLOB = 4096

--- A longer name is none: the kernel takes no more at once.
local MAX_PATH = 4096

--- A command that starts elsewhere is about elsewhere.
---@param self procage.ClassifyCommand
---@param ctx table
function M.check_cwd(self, ctx)
  for _, cwd in ipairs(ctx.cwds) do
    local real = #cwd <= MAX_PATH and (disk.resolve(cwd)) or "/"
    if not path.resolved_tree_of(real, self.write) and not self.files:is_scratch(real) then
      self:add("ask", "outside", "it starts outside of the workspace", real)
    end
  end
end

--- The names in one directory that a pattern stands for.
local function add_matching(places, place, part, compiled)
  for name in pairs(core.read_dir((disk.resolve(place)), MAX_GLOB) or {}) do
    -- A leading dot is written, never matched.
    if (name:sub(1, 1) ~= "." or part:sub(1, 1) == ".") and glob.matches(compiled, name) then
      places[#places + 1] = path.join(place, name)
    end
  end
end

--- What an unquoted pattern of a shell becomes: the names that there are.
---@return string[]? names  nil: too many
local function expand(text, cwd)
  local places = { text:sub(1, 1) == "/" and "/" or cwd }
  for _, part in ipairs(path.components(text)) do
    local next_places = {}
    local compiled = part:find("[*?%[]") and glob.compile(part, true)
    for _, place in ipairs(places) do
      if compiled then
        add_matching(next_places, place, part, compiled)
      else
        next_places[#next_places + 1] = path.join(place, part)
      end
      if #next_places > MAX_GLOB then
        return nil
      end
    end
    places = next_places
  end
  table.sort(places)
  return places
end

--- The absolute names that a word may mean, from each directory that the command may be in.
---@param self procage.ClassifyCommand
---@param text string
---@param has_glob? boolean
---@param ctx table
---@return string[]
function M.names(self, text, has_glob, ctx)
  local names = {}
  local expanded = path.expand_home(text:gsub("^file://", ""):gsub("^~%+/", "./"), self.home)
  for _, cwd in ipairs(ctx.cwds) do
    names[#names + 1] = path.join(cwd, expanded)
    local more = has_glob and expand(expanded, cwd)
    if has_glob and not more then
      self:add("ask", "unknowable", "a pattern that stands for more names than are looked at", text)
    end
    list.append(names, more or {})
  end
  return names
end

local function add_all(self, found)
  for _, item in ipairs(found) do
    self:add(item.decision, item.rule, item.reason, item.object)
  end
end

--- A file that a command changes. `must_exist`: the word may be no file at all.
---@param self procage.ClassifyCommand
---@param op "write"|"delete"
---@param word procage.Word
---@param ctx table
---@param must_exist? boolean
function M.look_file(self, op, word, ctx, must_exist)
  if word.is_dynamic then
    self:add("ask", "unknowable", "which file it changes is known only when it runs", word.text)
  elseif word.text ~= "" and #word.text <= MAX_PATH and not word.text:find("\0", 1, true) then
    for _, name in ipairs(M.names(self, word.text, word.has_glob, ctx)) do
      if not must_exist or disk.kind((disk.resolve(path.parent(name) or "/"))) and disk.kind(name) then
        add_all(self, (self.files:look(op, name, true)))
      end
    end
  end
end

--- Texts in a word that may name a file: --file=x, -fx, @x, host:x.
local function parts_of(text)
  local parts = { text }
  local function add(part)
    if part and part ~= "" and part ~= text then
      parts[#parts + 1] = part
    end
  end
  add(text:match("=(.*)$"))
  add(text:match("^%-%a(.+)$"))
  add(text:match("^@(.+)$"))
  add(text:match("=@(.+)$"))
  add(text:match("^%-%a@(.+)$"))
  if text:find(",", 1, true) and #text < 4096 then
    for part in (text:match("=(.*)$") or text):gmatch("[^,]+") do
      add(part)
    end
  end
  add(text:match(":([^:]+)$"))
  add(text:match("^([^:]+):"))
  return parts
end

local function look_read_name(self, name)
  local real, exists = disk.resolve(name)
  if exists or disk.kind(path.normalise(name)) then
    add_all(self, (self.files:look("read", name, true)))
  elseif path.tree_of(real, self.files.profile.hidden) then
    self:add("denied", "hidden", "the policy hides it", real)
  end
end

--- A word that may name a file which is read: one that is there, or that the policy hides.
---@param self procage.ClassifyCommand
---@param word procage.Word
---@param ctx table
function M.look_read(self, word, ctx)
  for _, part in ipairs(parts_of(word.text)) do
    if #part <= MAX_PATH and not part:find("[\n\0]") then
      for _, name in ipairs(M.names(self, part, word.has_glob, ctx)) do
        look_read_name(self, name)
      end
    end
  end
end

--- The texts in a word of which nobody knows what it is: each part of it that may be a name.
local function guesses(text, is_glued)
  local short = text:sub(1, MAX_PATH)
  local parts = { text:sub(1, 1) ~= "-" and text or nil }
  for part in short:gmatch("[^=,:]+") do
    parts[#parts + 1] = part
  end
  for at in short:gmatch("()[=,:]") do
    parts[#parts + 1] = text:sub(at + 1)
  end
  -- -MFname, -ofname: where the option ends, only the program knows.
  for i = 3, is_glued and math.min(#text, 64) or 0 do
    parts[#parts + 1] = text:sub(i)
  end
  return parts
end

--- Whatever a word may mean that leads to a protected file counts as written.
---@param self procage.ClassifyCommand
---@param text string
---@param ctx table
---@param is_glued? boolean
function M.look_hidden_write(self, text, ctx, is_glued)
  local seen = {}
  for _, part in ipairs(guesses(text, is_glued)) do
    local is_name = part ~= "" and not seen[part] and #part <= MAX_PATH and not part:find("[\n\0]")
    seen[part] = true
    for _, name in ipairs(is_name and M.names(self, part, false, ctx) or {}) do
      for _, item in ipairs((self.files:look("write", name, true))) do
        -- That it lies elsewhere tells nothing: it may be no file at all.
        if item.decision == "denied" and item.rule ~= "outside" then
          self:add(item.decision, item.rule, item.reason, item.object)
        end
      end
    end
  end
end

return M
