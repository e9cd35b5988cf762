--- Where doctor attacks: a throw-away tree with a workspace, a home and what lies beside them; and all that it keeps there for
--- a run to reach. One for the control, one for the confined run, of the same shape.

local core = require("procage.core")
local path = require("procage.path")

local M = {}

--- The variable that looks secret, in doctor's environment.
M.VARIABLE = "PROCAGE_DOCTOR_TOKEN"

---@class procage.doctor.Tree
---@field root string
---@field workspace string
---@field home string
---@field outside string  neither: nothing of it is the run's
---@field programs string  an entry of PATH
---@field below? string  an entry of PATH too, below /tmp
---@field mark string  a word of the helper's command line
---@field is_control boolean
---@field appeared table<string, true>  hand-off files that the run made and that were moved away
---@field secret string  the value of the variable that looks secret
local Tree = {}
Tree.__index = Tree

--- Words that nobody can guess, each used once: what carries one has come from where it was.
local random <const> = "/dev/urandom"

---@return string
function M.token()
  local handle <close> = assert(io.open(random, "rb"))
  return "pd" .. handle:read(10):gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end)
end

---@param word string
---@return string
function M.quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end
local quote = M.quote

--- mkdir -p
function Tree:make_directory(name)
  local parent = path.parent(name)
  if not core.lstat(name) then
    if parent then
      self:make_directory(parent)
    end
    assert(core.make_dir(name))
  end
  return name
end

--- Writes a file that doctor owns; default: a new token.
---@param name string
---@param text? string
---@return string name
---@return string text
function Tree:write(name, text)
  text = text or M.token()
  self:make_directory(assert(path.parent(name)))
  local handle <close> = assert(io.open(name, "wb"))
  assert(handle:write(text))
  return name, text
end

--- What a file holds now; nil: it is not there.
---@param name string
---@return string?
function M.read(name)
  local text = core.read_file(name)
  return text
end

--- Something outside, kept until the tree is closed; nil where this machine has it not.
---@param kind string  core.outside
---@param address? string
---@param text? string
---@return table? object
function Tree:keep(kind, address, text)
  local object = core.outside(kind, address or "", text or "")
  if object then
    self.kept[#self.kept + 1] = object
    self.seen[object] = ""
  end
  return object
end

--- Whether a text has come to it.
function Tree:has_come(object, text)
  self.seen[object] = self.seen[object] .. object:look()
  return self.seen[object]:find(text, 1, true) ~= nil
end

--- A process of doctor's own outside, to be attacked: it keeps a secret in its memory and one in its environment, a file open,
--- and writes down the signals that come.
---@param program string
---@return table? victim  {pid, address, memory, environment, fd, secret, log}
function Tree:start_victim(program)
  local held, secret = self:write(self.outside .. "/held")
  local fifo = self.root .. "/victim"
  local log = self:keep("fifo", fifo)
  if not log then
    return nil
  end
  local victim = { memory = M.token(), environment = M.token(), fd = 9, secret = secret, log = log }
  -- The shell stays, to say that there is no victim: a FIFO that this process holds open has no end.
  local pipe = io.popen(
    ("(cd %s && PROCAGE_DOCTOR_VICTIM=%s exec %s __victim 9<%s >%s) 2>/dev/null || echo failed >%s"):format(
      quote(self.outside),
      victim.environment,
      quote(program),
      quote(held),
      quote(fifo),
      quote(fifo)
    ),
    "w"
  )
  if not pipe then
    return nil
  end
  pipe:setvbuf("no")
  pipe:write(victim.memory)
  self.pipes[#self.pipes + 1] = pipe
  -- It opens the FIFO, and says where it is.
  local handle <close> = assert(io.open(fifo, "r"))
  local line = handle:read("l") or ""
  local pid, address = line:match("^pid (%d+) address (%d+)$")
  if not pid then
    return nil
  end
  victim.pid, victim.address = pid, address
  return victim
end

--- Processes with this tree's mark in their command line.
---@return { pid: string, name: string }[]
function Tree:strays()
  local found = {}
  for name in pairs(core.read_dir("/proc") or {}) do
    local words = name:find("^%d+$") and core.read_file("/proc/" .. name .. "/cmdline")
    if words and words:find(self.mark, 1, true) then
      found[#found + 1] = { pid = name, name = (core.read_file("/proc/" .. name .. "/comm") or ""):gsub("\n", "") }
    end
  end
  return found
end

--- Ends what has come through, and everything that is kept; the files go with the directory.
function Tree:close()
  local pids = {}
  for _, stray in ipairs(self:strays()) do
    pids[#pids + 1] = stray.pid
  end
  if #pids > 0 then
    os.execute("kill -KILL " .. table.concat(pids, " ") .. " 2>/dev/null")
  end
  for _, pipe in ipairs(self.pipes) do
    pipe:close()
  end
  for _, handle in ipairs(self.handles) do
    handle:close()
  end
  for _, object in ipairs(self.kept) do
    object:close()
  end
  for _, name in ipairs(self.files) do
    os.remove(name)
  end
  if self.below then
    core.remove_tree(self.below)
  end
end

--- A file elsewhere that is removed when the tree is closed; whoever makes it.
function Tree:remove_later(name)
  self.files[#self.files + 1] = name
  return name
end

--- A descriptor that a started process inherits.
---@return table? file  as core.stat has it
function Tree:leave_open(name, mode)
  local handle = io.open(name, mode)
  if not handle then
    return nil
  end
  self.handles[#self.handles + 1] = handle
  return core.stat(name)
end

---@param root string  made, empty
---@param is_control boolean
---@return procage.doctor.Tree
function M.new(root, is_control)
  local self = setmetatable({
    root = root,
    workspace = root .. "/workspace",
    home = root .. "/home",
    outside = root .. "/outside",
    programs = root .. "/programs",
    is_control = is_control,
    mark = M.token(),
    secret = M.token(),
    kept = {},
    seen = {},
    pipes = {},
    handles = {},
    files = {},
    appeared = {},
  }, Tree)
  local below = "/tmp/procage-doctor-" .. M.token()
  -- For a while nobody's but this user's; where /tmp refuses, what lies below it is not attacked.
  self.below = core.make_dir(below, 448) and below or nil -- 0700
  for _, name in ipairs({ root, self.workspace, self.home, self.outside, self.programs }) do
    self:make_directory(name)
  end
  return self
end

return M
