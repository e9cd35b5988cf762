--- Writes the flat Plan that core/plan.h describes: operations in order and one block of text.

local core = require("procage.core")

local M = {}

local pack = string.pack

local OP = "<I4I4I4I4I4I4i8"

---@class procage.Flat
---@field private ops string[]  an operation or several each
---@field private count integer
---@field private text string[]
---@field private size integer
---@field private seen table<string, integer>
local Flat = {}
Flat.__index = Flat

local MAGIC, VERSION, UNCONFINED = 0x4c504350, 1, 0x80000000
local TEXT_RUN = 0x80000000

--- Codes in the order of enum pc_op_code, counted from 0.
local NAMES = {
  "landlock_handle", "landlock_hide", "landlock_path", "landlock_port", "socket_tree", "socket_hidden", "loopback", "name_root",
  "name_absent", "path_absent",
  "namespaces", "join", "map_ids", "lo_up",
  "mount_private", "tree_clone", "tree_set", "tree_attach", "mount_set", "remount_read_only", "tmpfs", "proc", "devpts",
  "make_dir", "make_file", "make_link", "pin_link", "remove", "landlock_late",
  "drop_capabilities", "no_new_privs",
  "new_session", "rlimit", "chdir", "landlock_restrict", "seccomp",
}

local CODES = {}
for i, name in ipairs(NAMES) do
  CODES[name] = i - 1
end

local FLAGS = { optional = 1, recursive = 2, notify = 4, fleeting = 8 }

--- Texts that differ from run to run, in the order of enum pc_run_text.
M.run_text = { directory = 0, tmp = 1, var_tmp = 2, shm = 3, cwd = 4 }
for name, index in pairs(M.run_text) do
  M.run_text[name] = { run = TEXT_RUN | index }
end

---@return procage.Flat
function M.new()
  return setmetatable({ ops = {}, count = 0, text = {}, size = 0, seen = {} }, Flat)
end

--- A text's place in the block; equal texts share one.
---@param value string|table
---@return integer
function Flat:reference(value)
  if type(value) == "table" then
    return value.run
  end
  local at = self.seen[value]
  if not at then
    if value:find("\0", 1, true) then
      error("a NUL byte inside a text")
    end
    at = self.size
    self.seen[value] = at
    self.text[#self.text + 1] = value .. "\0"
    self.size = self.size + #value + 1
  end
  return at
end

--- A block of bytes on an 8-byte boundary.
---@param bytes string
---@return integer
function Flat:bytes(bytes)
  local pad = -self.size % 8
  self.text[#self.text + 1] = ("\0"):rep(pad) .. bytes
  local at = self.size + pad
  self.size = at + #bytes
  return at
end

---@param value string|table|integer|nil
local function argument(self, value)
  if value == nil or math.type(value) == "integer" then
    return value or 0
  end
  return self:reference(value)
end

---@class procage.FlatOp
---@field a? string|table|integer
---@field b? string|table|integer
---@field slot? integer
---@field value? integer
---@field optional? boolean
---@field recursive? boolean
---@field notify? boolean
---@field fleeting? boolean

---@param name string  an operation of core/plan.h
---@param op? procage.FlatOp
function Flat:add(name, op)
  op = op or {}
  local code = CODES[name] or error(name)
  local flags = (op.optional and FLAGS.optional or 0) | (op.recursive and FLAGS.recursive or 0)
    | (op.notify and FLAGS.notify or 0) | (op.fleeting and FLAGS.fleeting or 0)
  local a, b = argument(self, op.a), argument(self, op.b)
  self.ops[#self.ops + 1] = pack(OP, code, flags, a, b, op.slot or 0, 0, op.value or 0)
  self.count = self.count + 1
end

--- Landlock rules, of which a plan has hundreds; as Flat:add("landlock_path") for each path, but equal texts stand twice.
---@param rules procage.Rule[]
function Flat:rules(rules)
  local ops, texts, count = core.flat_rules(rules, self.size)
  self.ops[#self.ops + 1], self.text[#self.text + 1] = ops, texts
  self.count, self.size = self.count + count, self.size + #texts
end

---@param is_unconfined? boolean  says on purpose that nothing is confined
---@return string
function Flat:encode(is_unconfined)
  -- The block ends in NUL whatever came last, so that every text in it is ended.
  local text = table.concat(self.text) .. "\0"
  local version = is_unconfined and VERSION | UNCONFINED or VERSION
  return string.pack("<I4I4I4I4", MAGIC, version, self.count, #text) .. table.concat(self.ops) .. text
end

return M
