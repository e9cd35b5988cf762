--- Files that a pattern names, and a mark of each that tells one state from another: kind, mode, content, where a link leads.
--- What a command may have put there instead (a FIFO, a device, a directory of a million names, a link to itself) neither hangs
--- nor exhausts it.

local core = require("procage.core")
local disk = require("procage.disk")
local glob = require("procage.glob")
local path = require("procage.path")

local M = {}

---@class procage.InputLimits
---@field entries integer  names that are looked at
---@field file_bytes integer  of one file
---@field total_bytes integer  of all of them

---@return procage.InputLimits
function M.default_limits()
  return { entries = 200000, file_bytes = 1 << 30, total_bytes = 4 << 30 }
end

---@class procage.Walk
---@field left integer
---@field followed table<string, boolean>  directories that a link led to
---@field found table<string, string>  name as shown -> absolute path

local ENOENT, EACCES, E2BIG, EINVAL, EFBIG, ELOOP = 2, 13, 7, 22, 27, 40

--- A walk that has grown beyond its bound ends here, whatever it was in the middle of.
local function too_many(limit)
  error({ message = ("more than %d names to look at: narrow the patterns, or raise limits.entries"):format(limit) }, 0)
end

--- Whether a pattern names this very `.git`: none reaches into it by a wildcard alone, for what matters there is looked at by
--- name, and the rest is huge and changes.
local function names_git(active)
  for _, item in ipairs(active) do
    for at in pairs(item.states) do
      local wanted = item.glob.names[at]
      if wanted and wanted.plain == ".git" then
        return true
      end
    end
  end
  return false
end

local function step_all(active, name)
  local after, is_met, only_deep = {}, false, true
  for _, item in ipairs(active) do
    local states = glob.step(item.glob, item.states, name)
    if next(states) ~= nil then
      after[#after + 1] = { glob = item.glob, states = states }
      is_met = is_met or glob.is_met(item.glob, states)
      only_deep = only_deep and glob.only_deep(item.glob, states)
    end
  end
  return after, is_met, only_deep
end

local walk

--- A directory behind a link is one of the inputs when a pattern names the link, or holds it; once, and not for `**`.
local function follow(self, directory, name, shown, after)
  local target = core.real_path(name)
  -- One that leads to where it lies shows nothing new.
  if target and not self.followed[target] and not path.lies_in(directory, target) and disk.kind(target) == "directory" then
    self.followed[target] = true
    walk(self, target, shown, after, false)
  end
end

---@param self procage.Walk
---@param directory string
---@param shown string  its name; "" for the root
---@param active { glob: procage.Glob, states: table }[]
---@param is_top boolean
function walk(self, directory, shown, active, is_top)
  local names, message, code = core.read_dir(directory, self.left)
  if not names then
    if code == E2BIG then
      too_many(self.limit)
    elseif code ~= ENOENT then
      -- Nothing in it can be told; that it is closed can.
      self.found[shown == "" and "." or shown] = directory
      self.closed[directory] = message
    end
    return
  end
  for name, kind in pairs(names) do
    self.left = self.left - 1
    if self.left < 0 then
      too_many(self.limit)
    end
    local after, is_met, only_deep = step_all(active, name)
    local is_git = glob.lower(name) == ".git"
    if #after > 0 and not (is_git and (is_top or only_deep) and not names_git(active)) then
      local inner = shown == "" and name or shown == "/" and "/" .. name or shown .. "/" .. name
      local full = directory == "/" and "/" .. name or directory .. "/" .. name
      if is_met then
        self.found[inner] = full
      end
      if kind == "directory" then
        walk(self, full, inner, after, false)
      elseif kind == "link" and (is_met or not only_deep) then
        follow(self, directory, full, inner, after)
      end
    end
  end
end

--- Patterns that share their beginning are walked together.
local function bases_of(root, home, patterns)
  local bases, order = {}, {}
  local function add(base, shown, text)
    if not bases[base] then
      bases[base] = { path = base, shown = shown, active = {} }
      order[#order + 1] = bases[base]
    end
    local compiled = glob.compile(text)
    table.insert(bases[base].active, { glob = compiled, states = glob.start(compiled) })
  end
  for _, pattern in ipairs(patterns) do
    local text = home and path.expand_home(pattern, home) or pattern
    if path.is_absolute(text) then
      -- As it is spelt, to the first wildcard: nobody lists / and /home for it.
      local plain, rest = glob.prefix(text)
      local base = "/" .. table.concat(plain, "/")
      add(disk.resolve(base), base, rest)
    else
      add(root, "", text)
    end
  end
  return order
end

--- Every file, link and directory that the patterns mean.
---@param root string  resolved; patterns without a slash before them start here
---@param patterns string[]
---@param options { home?: string, limits: procage.InputLimits }
---@return table<string, string>? found  name as shown -> absolute path
---@return string|table<string, string> message_or_closed  directories that cannot be listed -> why
function M.find(root, patterns, options)
  local limit = options.limits.entries
  local self = { left = limit, limit = limit, followed = {}, found = {}, closed = {} }
  local ok, problem = pcall(function()
    for _, base in ipairs(bases_of(root, options.home, patterns)) do
      walk(self, base.path, base.shown, base.active, base.path == root)
    end
  end)
  if not ok then
    if type(problem) == "table" then
      return nil, problem.message
    end
    error(problem, 0)
  end
  return self.found, self.closed
end

-- ---- Marks ----------------------------------------------------------------------------------------------------------------

---@class procage.Budget
---@field limits procage.InputLimits
---@field spent integer  bytes that were read

--- Size as a mark has it; nil for what is no file.
local function size_in(mark)
  return mark and math.tointeger(tonumber(mark:match("file [0-7]+ (%d+) %S+$")))
end

--- A file is compared by what it holds, read anew each time. Its times would be cheaper and prove nothing: a page that was
--- mapped and dirty before is written to without a new ctime, on tmpfs every mapped page is, and a server's file system says
--- what it likes.
---@return string? mark
---@return string? message  a bound was met
local function mark_of_file(name, facts, before, budget)
  local known = size_in(before)
  if known and known ~= facts.size then
    -- Another length is another content: it need not be read, however long it has become.
    return ("file %o %d other"):format(facts.mode, facts.size)
  elseif facts.size > budget.limits.file_bytes then
    return nil, ("%s: %d bytes are more than limits.file_bytes, %d"):format(name, facts.size, budget.limits.file_bytes)
  elseif budget.spent + facts.size > budget.limits.total_bytes then
    return nil, ("%s: more than limits.total_bytes, %d, in all"):format(name, budget.limits.total_bytes)
  end
  budget.spent = budget.spent + facts.size
  local digest, mode, code = core.digest_file(name, budget.limits.file_bytes)
  if digest then
    return ("file %o %d %s"):format(mode, facts.size, digest)
  elseif code == EACCES then
    -- Who cannot read it compares the rest: identity and times.
    return ("file %o %d unread:%d:%d:%d:%d"):format(
      facts.mode, facts.size, facts.dev, facts.ino, facts.mtime_ns, facts.ctime_ns
    )
  elseif code == EFBIG or code == ENOENT or code == ELOOP or code == EINVAL then
    return ("file %o %d changing"):format(facts.mode, facts.size)
  end
  return ("file %o %d unread:%s"):format(facts.mode, facts.size, tostring(mode))
end

--- What tells one state of a name from another, in words.
---@param name string  absolute
---@param before? string  an earlier mark: what differs from it already is not read
---@param budget procage.Budget
---@return string? mark  nil without a message: there is no such name
---@return string? message
function M.mark(name, before, budget)
  local facts, message, code = core.lstat(name)
  if not facts then
    if code == ENOENT then
      return nil
    end
    return "closed " .. tostring(message)
  elseif facts.kind == "file" then
    return mark_of_file(name, facts, before, budget)
  elseif facts.kind ~= "link" then
    return ("%s %o"):format(facts.kind, facts.mode)
  end
  local target = core.read_link(name)
  local real = core.real_path(name)
  local led = real and core.lstat(real)
  local link = ("link to %s"):format(target or "?")
  if not led then
    return link .. ", to nowhere"
  elseif led.kind ~= "file" then
    return ("%s, a %s"):format(link, led.kind)
  end
  local mark
  mark, message = mark_of_file(real, led, before, budget)
  return mark and ("%s, %s"):format(link, mark), message
end

---@param root string
---@param patterns string[]
---@param options { home?: string, limits: procage.InputLimits, before?: table<string, string>, budget?: procage.Budget }
---@return table<string, string>? marks  name as shown -> mark
---@return string? message
function M.marks(root, patterns, options)
  local found, closed = M.find(root, patterns, options)
  if not found then
    return nil, closed --[[@as string]]
  end
  local budget = options.budget or { limits = options.limits, spent = 0 }
  local marks, before = {}, options.before
  for shown, full in pairs(found) do
    local mark, message
    if before and not before[shown] then
      -- It has appeared: that is all that there is to say.
      mark = (disk.kind(full) or "gone") .. " appeared"
    else
      mark, message = M.mark(full, before and before[shown], budget)
    end
    if message then
      return nil, message
    end
    if closed[full] then
      mark = ("%s, closed: %s"):format(mark or "gone", closed[full])
    end
    marks[shown] = mark
  end
  return marks
end

return M
