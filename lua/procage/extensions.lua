--- An operator's own mechanisms for fit: `fit.register{...}` in the system's or the user's fit.lua.
---
---     local fit = require("procage.fit")
---     fit.register({
---       clause = "metadata",
---       covers = "tightened",
---       ops = { { op = "refuse_calls", calls = { "chmod", "fchmod", ... } } },
---       effect = "no mode, owner, time or attribute can be changed, the run's own files included",
---     })
---
--- They only take away: an operation is one of a closed list, and none of these gives anything. What they claim is bounded too.
--- An alternative may say `tightened`, that more is denied than was asked, and only of clauses where procage knows which calls
--- that takes; everything else is a second lock (`also`), which claims nothing.

local check = require("procage.check")
local core = require("procage.core")
local host_facts = require("procage.host")
local lists = require("procage.list")
local mechanisms = require("procage.mechanisms")
local nearest = require("procage.nearest")
local path = require("procage.path")
local script = require("procage.script")

---@class procage.Extension
---@field clause string
---@field is_also boolean
---@field all string[]  mechanisms
---@field needs procage.Need[]
---@field calls string[]
---@field effect? string
---@field lift? string
---@field by string  file:line

local M = {}

--- Mechanisms that take away and go with any other.
local TAKING = { "landlock-scope-signal", "landlock-scope-abstract", "seccomp-sysv", "seccomp-kill-all", "seccomp-peers" }

--- Calls that must all be refused for a clause to hold by refusing calls alone, and mechanisms besides.
---@type table<string, { calls: string[], all: string[] }>
M.required = {
  signals = {
    calls = { "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal" },
    all = { "seccomp-peers", "landlock-fs" },
  },
  metadata = {
    calls = {
      "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat",
      "utimensat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr",
      "removexattrat", "file_setattr",
    },
    all = {},
  },
  device_ioctl = { calls = { "ioctl" }, all = {} },
}

-- ---- Checks -----------------------------------------------------------------------------------------------------------------

---@type procage.Check
local function need(value, key)
  local fact = type(value) == "table" and value.fact or value
  local bad = check.one_of(host_facts.facts)(fact, key)
  if bad then
    return bad
  elseif type(value) == "table" and (fact ~= "landlock_abi" or math.type(value.floor) ~= "integer") then
    return key .. ": a floor is that of landlock_abi: { fact = \"landlock_abi\", floor = 6 }"
  elseif type(value) == "string" and fact == "landlock_abi" then
    return key .. ': landlock_abi takes a floor: { fact = "landlock_abi", floor = 6 }'
  end
end

---@type procage.Check
local function call_name(value, key)
  local bad = check.text(value, key)
  local number, _, errno = nil, nil, nil
  if not bad then
    number, _, errno = core.seccomp_call(value)
  end
  -- 2: ENOENT. What this architecture never had is no mistake.
  if bad or not number and errno == 2 then
    return bad or ("%s: %s: no such system call"):format(key, value)
  end
end

---@type procage.Check
local function operation(value, key)
  if type(value) == "string" then
    if lists.has(TAKING, value) then
      return nil
    elseif mechanisms.by_name[value] then
      return ("%s: %s is no operation for others: it gives, or goes with ours alone"):format(key, value)
    end
    return ("%s: unknown operation %s%s; there are refuse_calls, %s"):format(
      key, check.show(value), nearest.hint(value, TAKING), table.concat(TAKING, ", "))
  end
  return check.record({
    { name = "op", check = check.one_of({ "refuse_calls" }), required = true },
    { name = "calls", check = check.list(call_name, 1), required = true },
  }, "key")(value, key)
end

---@param clauses procage.Clause[]
---@return procage.Check
local function registration(clauses)
  local names = {}
  for i, entry in ipairs(clauses) do
    names[i] = entry.clause
  end
  return check.record({
    { name = "clause", check = check.one_of(names), required = true },
    { name = "needs", check = check.list(need) },
    { name = "covers", check = check.one_of({ "tightened" }) },
    { name = "also", check = check.boolean },
    { name = "ops", check = check.list(operation, 1), required = true },
    { name = "effect", check = check.text },
    { name = "lift", check = check.text },
  }, "key")
end

---@param made procage.Extension
---@return string? message
local function overclaim(made)
  local required = M.required[made.clause]
  if not required then
    return ("clause: no alternative of an operator's can hold %s: also = true adds a lock"):format(made.clause)
  elseif not made.effect then
    return "effect: missing: what more is denied than was asked"
  end
  for _, name in ipairs(required.calls) do
    if not lists.has(made.calls, name) then
      return ("ops: would widen: %s is not held while %s is allowed"):format(made.clause, name)
    end
  end
end

--- Checks one call of `fit.register`.
---@param told table  what it was called with
---@param clauses procage.Clause[]
---@return procage.Extension?
---@return string? message
local function make(told, clauses)
  local bad = registration(clauses)(told, "")
  if bad then
    return nil, bad
  elseif (told.covers ~= nil) == (told.also == true) then
    return nil, 'covers: either covers = "tightened", or also = true'
  end
  local made = {
    clause = told.clause,
    is_also = told.also == true,
    all = {},
    needs = told.needs or {},
    calls = {},
    effect = told.effect,
    lift = told.lift,
  }
  for _, op in ipairs(told.ops) do
    if type(op) == "string" then
      made.all[#made.all + 1] = op
    else
      table.move(op.calls, 1, #op.calls, #made.calls + 1, made.calls)
    end
  end
  bad = not made.is_also and overclaim(made)
  if bad then
    return nil, bad
  end
  if not made.is_also then
    table.move(M.required[made.clause].all, 1, #M.required[made.clause].all, #made.all + 1, made.all)
  end
  if #made.calls > 0 then
    made.all[#made.all + 1] = "seccomp-calls"
  end
  return made
end

--- What a text registers.
---@param text string
---@param file string  the name in messages
---@param clauses procage.Clause[]
---@return procage.Extension[]?
---@return string? message  with file and line
function M.read(text, file, clauses)
  local result, message = script.run("extension", text, file)
  if not result then
    return nil, message
  end
  local list = {}
  for i, told in ipairs(result.told) do
    local made, why = make(told.arguments[1], clauses)
    if not made then
      return nil, ("%s: register: %s"):format(told.at, why)
    end
    made.by = told.at
    list[i] = made
  end
  return list
end

-- ---- Files ------------------------------------------------------------------------------------------------------------------

--- The system's; the user's lies in the same directory as his configuration.
M.SYSTEM_FILE, M.USER_FILE = "/etc/procage/fit.lua", "procage/fit.lua"

---@param home string
---@param env table<string, string>
---@return string
function M.user_file(home, env)
  local base = env.XDG_CONFIG_HOME
  return path.join(base and path.is_absolute(base) and base or path.join(home, ".config"), M.USER_FILE)
end

--- Why a file, or the directory that it lies in, is not the word of the system or of the user.
---@param file string
---@param owners table<integer, boolean>
---@return string? message
local function not_believed(file, owners)
  for _, name in ipairs({ path.parent(file), file }) do
    local found = core.lstat(name)
    local kind = name == file and "file" or "directory"
    if not found or found.kind ~= kind then
      return ("%s: a %s is expected"):format(name, kind)
    elseif not owners[found.uid] then
      return ("%s: belongs to another user"):format(name)
    elseif found.mode & 18 ~= 0 then -- 0022
      return ("%s: others than its owner can write it"):format(name)
    end
  end
end

--- What the system and the user have registered.
---@param home string
---@param env table<string, string>
---@param uid integer
---@param clauses procage.Clause[]
---@return procage.Extension[]?
---@return string? message
---@return string[]? files  that were read
function M.load(home, env, uid, clauses)
  local all, files = {}, {}
  for _, row in ipairs({
    { M.SYSTEM_FILE, { [0] = true } },
    { M.user_file(home, env), { [0] = true, [uid] = true } },
  }) do
    local file = row[1]
    if core.lstat(file) then
      local text, message = script.read_file(file)
      message = not_believed(file, row[2]) or message
      local list
      if not message then
        list, message = M.read(text or "", file, clauses)
      end
      if not list then
        return nil, message
      end
      table.move(list, 1, #list, #all + 1, all)
      files[#files + 1] = file
    end
  end
  return all, nil, files
end

return M
