--- The Profile: what is wanted, whatever the machine. Plain data; no mechanism and no kernel is named here.
---
--- A policy script fills a builder (`profile.new()`), everybody else has the plain table (`profile.plain(builder)`):
--- a field and the method that sets it have one name, so they cannot be one object. Whatever a profile does not say is
--- taken in its strictest meaning.

local check = require("procage.check")
local nearest = require("procage.nearest")
local path = require("procage.path")

---@alias procage.Network "none"|"loopback"|"all"|{ ports: integer[] }

---@class procage.Env
---@field drop string[]  patterns of names, `*` and `?`, in any letter case
---@field set table<string, string>
---@field keep string[]  names that no pattern drops

---@class procage.Limits
---@field timeout_ms? integer
---@field output_bytes? integer
---@field memory_bytes? integer
---@field processes? integer
---@field file_bytes? integer
---@field cpu_ms? integer
---@field stdin_grace_ms? integer

---@class procage.Profile
---@field workspace? string  the first of the writable trees; the default working directory
---@field read "all"|string[]  everything not hidden, or these trees and nothing else
---@field write string[]  writable trees; they are readable too
---@field hidden string[]  no data and no listing; wins over `read` and `write`; need not exist
---@field read_only string[]  inside `write`: unwritable, cannot be renamed
---@field ignored string[]  patterns of names: such a file in a writable tree reads as empty when git ignores it
---@field git "read"|"commit"|"write"  what of the workspace's own git directory can be written
---@field handoff string[]  names of files that make someone else run code later
---@field handoff_absent "move"|"refuse"  those that do not exist: moved out when the run is dead, or not made at all
---@field caches { trees: string[], when: "write"|"fetch" }  `fetch`: writable only for a run that has the network
---@field tmp "private"|"shared"
---@field network procage.Network
---@field loopback "run"|"policy"|"host"  whose loopback `network = "loopback"` means
---@field sockets string[]  trees whose Unix sockets are reachable beside those of the writable trees
---@field env procage.Env
---@field programs "any"|"path"  what may be started: `path`: what an absolute entry of PATH outside the writable trees holds
---@field wrap "self"|"tree"  what `policy:wrap` gives unless it is told: `tree` stays as the parent of a run
---@field signals "run"  signals, ptrace and /proc reach only the run's own processes
---@field limits procage.Limits
---@field refuse_calls? string[]  system calls that are refused besides, whatever their arguments
---@field accept string[]  gap ids that the policy tolerates
---@field lift string[]  built-in refusals that the operator re-opened
---@field unconfined? string  why nothing shall be confined at all (the off policy)
---@field missing? string[]  hidden paths in package caches that do not exist, filled in by resolve
---@field put_back? string[]  trees of the host's below the run's own /tmp, likewise
---@field put_back_whole? string[]  those of them that are as they are, hidden names and all, likewise
---@field unenforced string[]  gap ids, filled in by fit
---@field mechanisms? string[]  filled in by fit
---@field tmp_path? string  only in the fitted profile given to a helper

local M = {}

---@class procage.Gap
---@field id string
---@field means string

--- What a report may leave out. The ids are stable: configurations name them.
---@type procage.Gap[]
M.gaps = {
  { id = "carve", means = "read-only or hidden trees inside a writable one are writable or readable" },
  { id = "trust_handoff", means = "hand-off files can be written, for someone else to run later" },
  { id = "workspace_sockets", means = "Unix sockets in writable trees cannot be reached: a loss of function" },
  { id = "signal_scope", means = "signals reach the user's other processes" },
  { id = "sockets", means = "Unix sockets of programs outside can be reached" },
  { id = "truncate", means = "files outside the writable trees can be cut short" },
  { id = "loopback", means = "the loopback is for TCP alone, or closed" },
  { id = "ports", means = "single ports cannot be given: the network is closed" },
  { id = "metadata", means = "mode, owner, times and xattrs can change outside the writable trees" },
  { id = "stat", means = "names and sizes of hidden files can be seen" },
  { id = "replace", means = "a hidden file is uncovered when its name is replaced from outside" },
  { id = "process_tree", means = "a process of the run may outlive it" },
  { id = "device_ioctl", means = "device files that can be opened take any ioctl" },
  { id = "limits", means = "some limits are not enforced" },
  { id = "read", means = "reading is not closed to the listed trees" },
  { id = "off", means = "nothing is confined" },
}

---@return string[]
local function gap_ids()
  local ids = {}
  for i, gap in ipairs(M.gaps) do
    ids[i] = gap.id
  end
  return ids
end

M.gap_ids = gap_ids()

--- Writing in these changes the kernel or other processes, not files: no grant, whoever asks.
local KERNEL_TREES = { "/proc", "/sys" }

---@type procage.Check
local function write_tree(value, key)
  local bad = check.path(value, key)
  if bad then
    return bad
  end
  local tree = path.tree_of(value, KERNEL_TREES)
  if tree then
    return ("%s: no write grant beneath %s, got %s"):format(key, tree, check.show(value))
  elseif value == "/" then
    return key .. ": no write grant on /: it holds /proc and /sys"
  elseif value == "/dev" then
    return key .. ": no write grant on /dev: it holds every device; name what is meant, /dev/shm"
  end
end

---@param value any
---@return boolean
local function is_string(value)
  return type(value) == "string"
end

local network_names = { "none", "loopback", "all" }
local network_word = check.one_of(network_names)
local network = check.either(
  is_string,
  function(value, key)
    local bad = network_word(value, key)
    return bad and (value:find("^ports") and bad .. "; ports are a table, { ports = { 443 } }" or bad)
  end,
  check.record({ { name = "ports", check = check.list(check.port, 1), required = true } }, "field")
)

local limit_fields = {
  { name = "timeout_ms", check = check.positive },
  { name = "output_bytes", check = check.positive },
  { name = "memory_bytes", check = check.positive },
  { name = "processes", check = check.positive },
  { name = "file_bytes", check = check.positive },
  { name = "cpu_ms", check = check.positive },
  { name = "open_files", check = check.positive },
  { name = "grace_ms", check = check.positive },
  { name = "stdin_grace_ms", check = check.positive },
}

local cache_fields = {
  { name = "trees", check = check.list(write_tree) },
  { name = "when", check = check.one_of({ "write", "fetch" }) },
}

---@type procage.Check
local function value_text(value, key)
  if value ~= "" then
    return check.text(value, key)
  end
end

local env_fields = {
  { name = "drop", check = check.list(check.text) },
  { name = "set", check = check.map(check.variable, value_text) },
  { name = "keep", check = check.list(check.variable) },
}

---@param fields procage.Field[]
---@return string[]
local function names_of(fields)
  local names = {}
  for i, field in ipairs(fields) do
    names[i] = field.name
  end
  return names
end

local LIST = { list = true }
local paths = check.list(check.path)
local ids = check.list(check.one_of(M.gap_ids))

--- Whether there is such a system call, the filter knows.
---@type procage.Check
local function call_name(value, key)
  if type(value) ~= "string" or not value:find("^[%l_][%l%d_]*$") then
    return check.mismatch(key, "the name of a system call", value)
  end
end

---@class procage.ProfileField: procage.Field
---@field shape? procage.JsonShape|true
---@field absent? any  what a profile that does not say means: the strictest

--- Every field, in the order of the JSON form.
---@type procage.ProfileField[]
local schema = {
  { name = "workspace", check = check.path },
  { name = "read", check = check.either(is_string, check.one_of({ "all" }), paths), shape = LIST, absent = {} },
  { name = "write", check = check.list(write_tree), shape = LIST, absent = {} },
  { name = "hidden", check = paths, shape = LIST, absent = {} },
  { name = "read_only", check = paths, shape = LIST, absent = {} },
  { name = "ignored", check = check.list(check.text), shape = LIST, absent = {} },
  { name = "git", check = check.one_of({ "read", "commit", "write" }), absent = "read" },
  { name = "handoff", check = check.list(check.relative_name), shape = LIST, absent = {} },
  { name = "handoff_absent", check = check.one_of({ "move", "refuse" }), absent = "move" },
  {
    name = "caches",
    check = check.record(cache_fields, "field"),
    shape = { order = names_of(cache_fields), fields = { trees = LIST } },
    absent = { trees = {}, when = "fetch" },
  },
  { name = "tmp", check = check.one_of({ "private", "shared" }), absent = "private" },
  { name = "network", check = network, shape = { order = { "ports" }, fields = { ports = LIST } }, absent = "none" },
  { name = "loopback", check = check.one_of({ "run", "policy", "host" }), absent = "run" },
  { name = "sockets", check = paths, shape = LIST, absent = {} },
  {
    name = "env",
    check = check.record(env_fields, "field"),
    shape = { order = names_of(env_fields), fields = { drop = LIST, set = { map = true }, keep = LIST } },
    absent = { drop = {}, set = {}, keep = {} },
  },
  { name = "programs", check = check.one_of({ "any", "path" }), absent = "any" },
  { name = "wrap", check = check.one_of({ "self", "tree" }), absent = "self" },
  { name = "signals", check = check.one_of({ "run" }), absent = "run" },
  {
    name = "limits",
    check = check.record(limit_fields, "field"),
    shape = { order = names_of(limit_fields) },
    absent = {},
  },
  { name = "refuse_calls", check = check.list(call_name), shape = LIST },
  { name = "accept", check = ids, shape = LIST, absent = {} },
  { name = "lift", check = check.list(check.text), shape = LIST, absent = {} },
  { name = "unconfined", check = check.text },
  { name = "missing", check = paths, shape = LIST },
  { name = "put_back", check = paths, shape = LIST },
  { name = "put_back_whole", check = paths, shape = LIST },
  { name = "unenforced", check = ids, shape = LIST, absent = {} },
  { name = "mechanisms", check = check.list(check.text), shape = LIST },
  { name = "tmp_path", check = check.path },
}

--- The names of the fields, in the order of the JSON form.
---@type string[]
M.fields = names_of(schema)

--- The names of the limits, in order.
---@type string[]
M.limits = names_of(limit_fields)

local by_name = {}
local shapes = {}
for _, field in ipairs(schema) do
  by_name[field.name] = field
  shapes[field.name] = field.shape
end
local whole = check.record(schema, "field")
local whole_shape = { order = M.fields, fields = shapes }

--- The table inside each builder. Weak: a builder that nobody holds takes its table along.
local inside = setmetatable({}, { __mode = "k" })

--- No field is a table inside tables this deep.
local MAX_DEPTH = 8

--- What is deeper is left as it is, for the checks to refuse.
---@param value any
---@param depth? integer
---@return any
local function deep_copy(value, depth)
  depth = depth or 0
  if type(value) ~= "table" or depth == MAX_DEPTH then
    return value
  end
  local copy = {}
  for key, item in pairs(value) do
    copy[key] = type(item) == "table" and deep_copy(item, depth + 1) or item
  end
  return copy
end

--- A list of names taken off a value that may be one name or a list of them.
---@param ... string|string[]
---@return string[]
local function flatten(...)
  local items = {}
  for i = 1, select("#", ...) do
    local argument = select(i, ...)
    if type(argument) == "table" then
      for _, item in ipairs(argument) do
        items[#items + 1] = item
      end
    else
      items[#items + 1] = argument
    end
  end
  return items
end

---@param text any
---@return any
local function normal(text)
  return type(text) == "string" and text ~= "" and path.normalise(text) or text
end

--- Sets a field; raises at the line of the script that asked, two calls up.
---@param self procage.Builder
---@param name string
---@param value any
---@param level? integer
local function set(self, name, value, level)
  local bad = by_name[name].check(value, name)
  if bad then
    error(bad, level or 3)
  end
  inside[self][name] = value
end

--- Adds to a list field what it does not hold yet.
---@param self procage.Builder
---@param name string
---@param items any[]
---@param is_path boolean
local function append(self, name, items, is_path)
  local list, seen = deep_copy(inside[self][name] or {}), {}
  for _, item in ipairs(list) do
    seen[item] = true
  end
  -- What was there is good; so is a list of any paths when each new one is.
  local is_good = is_path and by_name[name].check == paths
  is_path = is_path and not path.are_plain(items)
  for _, item in ipairs(items) do
    local value = item
    if is_path and not check.is_path(item) then
      value, is_good = normal(item), false
    end
    if value == nil or not seen[value] then
      list[#list + 1] = value
    end
    seen[value] = true
  end
  if is_good then
    inside[self][name] = list
  else
    set(self, name, list, 4)
  end
end

---@class procage.Builder
local methods = {}

--- `/` stands for everything.
---@param ... string|string[]
function methods:allow_read(...)
  local items = flatten(...)
  for _, item in ipairs(items) do
    if normal(item) == "/" then
      return set(self, "read", "all")
    end
  end
  if inside[self].read ~= "all" then
    append(self, "read", items, true)
  end
end

---@param ... string|string[]
function methods:allow_write(...)
  append(self, "write", flatten(...), true)
end

--- The first writable tree and the default working directory. A policy that keeps it read-only sets the field in `new`.
---@param tree string
function methods:workspace(tree)
  local list = { normal(tree) }
  for _, item in ipairs(inside[self].write) do
    if item ~= list[1] then
      list[#list + 1] = item
    end
  end
  set(self, "write", list)
  set(self, "workspace", list[1])
end

---@param ... string|string[]
function methods:hidden(...)
  append(self, "hidden", flatten(...), true)
end

---@param ... string|string[]
function methods:read_only(...)
  append(self, "read_only", flatten(...), true)
end

--- Patterns of names, `*` and `?`, in any letter case.
---@param ... string|string[]
function methods:ignored(...)
  append(self, "ignored", flatten(...), false)
end

---@param ... string|string[]
function methods:sockets(...)
  append(self, "sockets", flatten(...), true)
end

---@param ... string|string[]
function methods:handoff(...)
  append(self, "handoff", flatten(...), false)
end

---@param ... string|string[]
function methods:refuse_calls(...)
  append(self, "refuse_calls", flatten(...), false)
end

---@param ... string|string[]
function methods:accept(...)
  append(self, "accept", flatten(...), false)
end

---@param ... string|string[]
function methods:lift(...)
  append(self, "lift", flatten(...), false)
end

---@param mode "private"|"shared"
function methods:tmp(mode)
  set(self, "tmp", mode)
end

---@param want procage.Network
function methods:network(want)
  set(self, "network", deep_copy(want))
end

---@param what "move"|"refuse"
function methods:handoff_absent(what)
  set(self, "handoff_absent", what)
end

---@param whose "run"|"policy"|"host"
function methods:loopback(whose)
  set(self, "loopback", whose)
end

---@param mode "read"|"commit"|"write"
function methods:git(mode)
  set(self, "git", mode)
end

---@param which "any"|"path"
function methods:programs(which)
  set(self, "programs", which)
end

---@param form "self"|"tree"
function methods:wrap(form)
  set(self, "wrap", form)
end

---@param why string
function methods:unconfined(why)
  set(self, "unconfined", why)
end

---@param trees string[]
---@param when "write"|"fetch"|"none"
function methods:caches(trees, when)
  if when == "none" then
    return set(self, "caches", { trees = {}, when = "fetch" })
  end
  local list = {}
  for i, tree in ipairs(trees) do
    list[i] = normal(tree)
  end
  set(self, "caches", { trees = list, when = when })
end

--- Patterns and names are added to those set before; a variable set again has the later value.
---@param rules { drop?: string[], set?: table<string, string>, keep?: string[] }
function methods:env(rules)
  local env = deep_copy(inside[self].env)
  for _, key in ipairs({ "drop", "keep" }) do
    for _, item in ipairs(rules[key] or {}) do
      env[key][#env[key] + 1] = item
    end
  end
  for name, value in pairs(rules.set or {}) do
    env.set[name] = value
  end
  set(self, "env", env)
end

--- Limits are added to those set before.
---@param limits procage.Limits
function methods:limits(limits)
  local merged = deep_copy(inside[self].limits)
  for name, value in pairs(limits) do
    merged[name] = value
  end
  set(self, "limits", merged)
end

--- A method, or an error at the line that asked for another one.
---@param key any
---@return function
local function method_of(_, key)
  local method = methods[key]
  if method == nil then
    local names = {}
    for name in pairs(methods) do
      names[#names + 1] = name
    end
    table.sort(names)
    local hint = type(key) == "string" and nearest.hint(key, names) or ""
    error(("a profile's builder has no method %s%s"):format(check.show(key), hint), 2)
  end
  return method
end

--- For those that note what each line of a script asks for (noting.lua).
M.methods, M.method_of = methods, method_of

-- The metatable is apart from the methods: a policy script can reach neither, so it changes no other script's builder.
local builder_meta = { __index = method_of, __name = "procage.Builder", __metatable = false }

--- The fields of `t` and the strictest meaning of every field it does not set.
---@param t table
---@return procage.Profile
local function complete(t)
  local full = deep_copy(t)
  for _, field in ipairs(schema) do
    local value = full[field.name]
    if value == nil then
      full[field.name] = deep_copy(field.absent)
    elseif type(value) == "table" and (field.name == "env" or field.name == "caches") then
      for key, item in pairs(field.absent) do
        value[key] = value[key] == nil and deep_copy(item) or value[key]
      end
    end
  end
  return full
end

--- A builder, empty or with these fields.
---@param t? table
---@param in_place? table<string, function>  of the methods: those that note what they are told
---@return procage.Builder
function M.new(t, in_place)
  local bad = t ~= nil and whole(t, "")
  if bad then
    error("profile: " .. bad, 2)
  end
  local meta = in_place and { __index = in_place, __name = builder_meta.__name, __metatable = false } or builder_meta
  local self = setmetatable({}, meta)
  inside[self] = complete(t or {})
  return self
end

---@param value any
---@return boolean
function M.is_builder(value)
  return type(value) == "table" and inside[value] ~= nil
end

--- A copy as plain data, every field present but the optional ones.
---@param profile procage.Profile|procage.Builder
---@return procage.Profile
function M.plain(profile)
  return complete(inside[profile] or profile)
end

---@param profile any  plain or a builder
---@return true? ok
---@return string? message  names the key path
function M.validate(profile)
  local bad = whole(M.is_builder(profile) and inside[profile] or profile, "")
  if bad then
    return nil, bad
  end
  return true
end

--- Everything that is wrong with a profile, each named by its key path.
---@param profile any
---@return string[]
function M.problems(profile)
  return check.problems(whole, M.is_builder(profile) and inside[profile] or profile, "")
end

--- Every tree that some run of this profile may write.
---@param profile procage.Profile
---@return string[]
function M.writable_trees(profile)
  local trees = {}
  for _, list in ipairs({ profile.write or {}, profile.caches and profile.caches.trees or {} }) do
    table.move(list, 1, #list, #trees + 1, trees)
  end
  return trees
end

--- Lists are arrays even when empty; the keys come in the order of `profile.fields`.
---@param profile procage.Profile|procage.Builder  valid
---@return string
function M.to_json(profile)
  -- Here alone: scripts build profiles where there is no JSON.
  return require("procage.json").encode_exact(M.plain(profile), whole_shape)
end

---@param text string
---@return procage.Profile?
---@return string? message
function M.from_json(text)
  local value, message = require("procage.json").decode(text)
  if message then
    return nil, "profile: " .. message
  end
  local ok, why = M.validate(value)
  if not ok then
    return nil, "profile: " .. why
  end
  return complete(value)
end

return M
