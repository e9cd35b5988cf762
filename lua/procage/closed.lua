--- What a script sees. Runs first in the closed state that core.script makes, with its tools and plain data, and gives plain
--- data back; never `require`d elsewhere.
---
--- A script has no function here whose answer depends on anything but its arguments: no address in a text, no order of a hash,
--- no clock. Nor one that a limit does not reach: no pcall, which would go on after one; no coroutine, whose instructions
--- nobody counts; no metatable, whose __gc runs uncounted and whose __close runs after an error; no load.

---
--- Nor does a script share a table with our own code: what is used here is taken into locals before the script is read, and
--- each side has libraries of its own.

local tools, data = ...

tools.name(data.file)

local spend, where = tools.spend, tools.where
local raw_next, raw_tostring, raw_load, raw_pairs, raw_tonumber = next, tostring, load, pairs, tonumber
-- An error of one of these names it by the name that it is called by here.
local format, rep, move, unpack, codes = string.format, string.rep, table.move, table.unpack, utf8.codes
local raw_sort, raw_error, pack = table.sort, error, table.pack
local assert, ipairs, rawget, rawset, select, setmetatable = assert, ipairs, rawget, rawset, select, setmetatable
local type = type
local tointeger, LARGEST = math.tointeger, math.maxinteger

--- Level 0 is a message that begins with no line, for it names a key; the line of an operator's script that led there comes
--- last. Any other error of ours is told with the script's.
local function error(message, level)
  if level == 0 then
    local at = not data.is_ours and type(message) == "string" and where(data.source) or nil
    tools.bare()
    raw_error(at and format("%s (%s)", message, at) or message, 0)
  end
  raw_error(message, (level or 1) + 1)
end

-- ---- Libraries --------------------------------------------------------------------------------------------------------------

--- Tables of the configuration that notice what is read of them: each holds a key once that was read, and this fills in the
--- rest where all of it is looked at.
local watched = {}

local function fill_in(t)
  local fill = type(t) == "table" and watched[t]
  if fill then
    fill()
  end
end

--- The keys of a table, numbers first, each kind sorted: the order of a hash changes from state to state.
local function ordered_keys(t)
  fill_in(t)
  local numbers, texts, keys = {}, {}, {}
  for key in raw_next, t do
    local kind = type(key)
    if kind == "number" then
      numbers[#numbers + 1] = key
    elseif kind == "string" then
      texts[#texts + 1] = key
    elseif kind == "boolean" then
      keys[#keys + 1] = key
    else
      error(("pairs: a key that is a %s has no place in an order"):format(kind), 3)
    end
  end
  if #keys == 2 then
    keys[1], keys[2] = false, true
  end
  for _, list in ipairs({ numbers, texts }) do
    -- Keys are distinct, so what comparing them takes is bounded by the memory that they fill.
    raw_sort(list)
    move(list, 1, #list, #keys + 1, keys)
  end
  return keys
end

--- Walks the keys that there are when it begins; one that is gone when its turn comes is left out.
local function ordered_pairs(t)
  if type(t) ~= "table" then
    error(("bad argument #1 to 'pairs' (table expected, got %s)"):format(type(t)), 2)
  end
  local keys, i = ordered_keys(t), 0
  return function()
    repeat
      i = i + 1
    until keys[i] == nil or t[keys[i]] ~= nil
    local key = keys[i]
    if key ~= nil then
      return key, t[key]
    end
  end, t, nil
end

--- Whether there is anything in it, and what: the first of ordered_pairs, or the one after a key.
local function ordered_next(t, after)
  local keys = ordered_keys(t)
  if after == nil then
    return keys[1], t[keys[1]]
  end
  for i, key in ipairs(keys) do
    if key == after then
      return keys[i + 1], keys[i + 1] ~= nil and t[keys[i + 1]] or nil
    end
  end
  error("next: the key is not in the table", 2)
end

local PLAIN = { ["nil"] = true, boolean = true, number = true, string = true }

local function plain_tostring(value)
  return PLAIN[type(value)] and raw_tostring(value) or type(value)
end

local function plain_format(text, ...)
  if type(text) == "string" and text:gsub("%%%%", ""):find("%%[-+ #0%d.]*p") then
    error("format: %p shows an address, another one in each run", 2)
  end
  spend(type(text) == "string" and #text // 16 or 0)
  local arguments = pack(...)
  for i = 1, arguments.n do
    if not PLAIN[type(arguments[i])] then
      arguments[i] = type(arguments[i])
    end
  end
  return format(text, unpack(arguments, 1, arguments.n))
end

local function in_order(a, b)
  return a < b
end

--- Merges list[low..middle] and list[middle+1..high].
local function merge(list, spare, low, middle, high, less)
  local left, right = low, middle + 1
  for i = low, high do
    local takes_right = left > middle or right <= high and less(list[right], list[left])
    spare[i] = takes_right and list[right] or list[left]
    if takes_right then
      right = right + 1
    else
      left = left + 1
    end
  end
  for i = low, high do
    list[i] = spare[i]
  end
end

local function sort_part(list, spare, low, high, less)
  if low < high then
    local middle = (low + high) // 2
    sort_part(list, spare, low, middle, less)
    sort_part(list, spare, middle + 1, high, less)
    merge(list, spare, low, middle, high, less)
  end
end

--- Stable, and in Lua, so that every comparison is counted; an order that contradicts itself gives some order.
local function sort(list, less)
  if type(list) ~= "table" then
    error(("bad argument #1 to 'sort' (table expected, got %s)"):format(type(list)), 2)
  end
  sort_part(list, {}, 1, #list, less or in_order)
end

-- Errors of a function tell the name of the variable that it was called by: so each has a wrapper with its own.
local CHARGED = [[
local NAME, spend, type = ...
return function(a, b, ...)
  spend(((type(a) == "string" and #a or 0) + (type(b) == "string" and #b or 0)) // 16 + (type(a) == "table" and #a // 8 or 0))
  return NAME(a, b, ...)
end]]

--- A function in C that walks texts without making one, or a list, pays for their length.
---@param library table
---@param ... string  names of its functions
local function charge(library, ...)
  -- What ships is not counted, and each of these would be compiled in vain.
  if data.is_ours then
    return
  end
  for _, name in ipairs({ ... }) do
    local chunk = assert(raw_load(CHARGED:gsub("NAME", name), "@procage/closed.lua", "t", {}))
    library[name] = chunk(library[name], spend, type)
  end
end

--- What a function in C takes for a whole number: 2.0 and "2" too.
local function whole(value)
  return tointeger(raw_tonumber(value) or nil)
end

--- How many numbers lie between two; those far apart would wrap around.
local function span(first, last)
  first, last = whole(first), whole(last)
  if not first or not last or last <= first then
    return 0
  end
  return last - first < 0 and LARGEST or last - first
end

--- Each letter pays for what is skipped to find it.
local function charged_codes(text, ...)
  local following, letters, first = codes(text, ...)
  return function(_, at)
    local position, code = following(letters, at)
    spend(((position or #letters) - (whole(at) or 0)) // 16)
    return position, code
  end, letters, first
end

local function close_libraries(strings, tables, numbers, letters)
  strings.dump, numbers.random, numbers.randomseed = nil, nil, nil
  charge(strings, "byte", "pack", "packsize", "unpack")
  charge(letters, "len", "offset", "codepoint")
  letters.codes = charged_codes
  charge(tables, "concat", "insert", "remove")
  -- Nothing repeated costs no memory, and takes as long as it is told to.
  strings.rep = function(text, count, between)
    if text == "" and (between == nil or between == "") then
      return ""
    end
    return rep(text, count, between)
  end
  strings.format = plain_format
  tables.sort = sort
  tables.move = function(from, first, last, ...)
    spend(span(first, last))
    return move(from, first, last, ...)
  end
  tables.unpack = function(list, first, last)
    spend(span(first == nil and 1 or first, last == nil and type(list) == "table" and #list or last))
    return unpack(list, first, last)
  end
end

-- ---- The environment --------------------------------------------------------------------------------------------------------

local TRUSTED = {
  ["procage.profile"] = true, ["procage.path"] = true, ["procage.check"] = true, ["procage.nearest"] = true,
  ["procage.declared"] = true, ["procage.noting"] = true,
}

local loaded = {}

--- A table of its own, down to the deepest: what a script does to one is its own affair. No table of ours holds itself.
local function copy(value)
  if type(value) ~= "table" then
    return value
  end
  local copied = {}
  for key, item in raw_next, value do
    copied[key] = copy(item)
  end
  return copied
end

close_libraries(string, table, math, utf8)

--- What our own modules have, which no script can reach; methods of texts are in it.
local own = {
  error = error, tostring = plain_tostring,
  assert = assert, ipairs = ipairs, next = next, pairs = raw_pairs, rawget = rawget, select = select,
  setmetatable = setmetatable, tonumber = raw_tonumber, type = type,
  string = copy(string), table = copy(table), math = copy(math),
}
getmetatable("").__index = own.string

--- Our own modules, from the same text as outside.
local function require_own(name)
  if loaded[name] == nil then
    local code = TRUSTED[name] and data.trusted[name]
    if not code then
      error(("%s: not in a closed state"):format(name), 2)
    end
    -- procage.path has its parts in C from us.
    loaded[name] = assert(raw_load(code, "@procage/" .. name:match("[^.]*$") .. ".lua", "bt", own))(name, tools)
  end
  return loaded[name]
end
own.require = require_own

--- What builders were told, and by which line.
local notes = {}

--- What a script has of procage.profile: builders that note, and copies of the lists.
local function observe(profile)
  local seen = copy(profile)
  seen.new, notes = require_own("procage.noting").builders(profile, { where = where, pairs = ordered_pairs, fill_in = fill_in })
  seen.methods, seen.method_of, seen.to_json, seen.from_json = nil, nil, nil, nil
  return seen
end

local run_text
local loading = {}

local function require_shipped(name, level)
  if loading[name] then
    error(("policies.%s requires itself"):format(name), level)
  end
  local key = "policies." .. name
  if loaded[key] == nil then
    local file = data.shipped[name]
    if not file then
      local told = "require: %s is read before the script runs: its name must stand in the text of who requires it"
      error(told:format(key), level)
    elseif not file.text then
      error(file.message, level)
    end
    loading[name] = true
    loaded[key] = run_text(file.text, file.file, file.code)
    loading[name] = nil
  end
  return loaded[key]
end

--- Modules for one kind of script: the recorders of extensions and tests.
local special = {}

local function script_require(name)
  if special[name] then
    return special[name]
  elseif name == "procage.path" then
    loaded.seen_path = loaded.seen_path or copy(require_own(name))
    return loaded.seen_path
  elseif name == "procage.profile" then
    if not loaded.observed then
      loaded.observed = observe(require_own(name))
    end
    return loaded.observed
  end
  local shipped = type(name) == "string" and name:match("^policies%.([%w_-]+)$")
  if not shipped then
    error(
      ("require reaches procage.profile, procage.path and policies.*, not %s"):format(
        type(name) == "string" and format("%q", name) or type(name)
      ),
      2
    )
  end
  return require_shipped(shipped, 2)
end

local env = {
  _VERSION = _VERSION,
  error = error, ipairs = ipairs, rawequal = rawequal, rawlen = rawlen, rawset = rawset, select = select,
  type = type,
  rawget = function(t, key)
    fill_in(t)
    return rawget(t, key)
  end,
  math = copy(math), string = copy(string), table = copy(table), utf8 = copy(utf8),
  pairs = ordered_pairs, next = ordered_next, tostring = plain_tostring, tonumber = tonumber,
  require = script_require,
  assert = function(value, message, ...)
    if value then
      return value, message, ...
    end
    error(message == nil and "assertion failed!" or message, 2)
  end,
}
charge(env, "tonumber")
env._G = env

--- A text is compiled in C, where no hook fires: piece by piece, so that the clock is looked at in between.
local PIECE_BYTES = 512

local function compile(text, name)
  local at = 1
  return raw_load(function()
    local piece = text:sub(at, at + PIECE_BYTES - 1)
    at = at + PIECE_BYTES
    spend(2 * #piece)
    return piece
  end, "@" .. name, "t", env)
end

--- `code`: the same compiled, where it is the program's own.
function run_text(text, file, code)
  -- A first line that starts with # is the shell's, as for lua(1).
  local body = text:gsub("^#[^\n]*", "", 1)
  -- Sources that begin with procage/ are ours.
  local name = file:find("^procage/") and "./" .. file or file
  local chunk, message
  if code then
    chunk, message = raw_load(code, "@" .. name, "b", env)
  else
    chunk, message = compile(body, name)
  end
  if not chunk then
    -- What is nested too deep is told without a line.
    message = (message:find(":%d+: ") or message:sub(1, #name) == name) and message or name .. ": " .. message
    error(message, 0)
  end
  local value = chunk()
  if value == nil then
    error(file .. ": returns nothing", 0)
  end
  return value
end

-- ---- What comes back --------------------------------------------------------------------------------------------------------

local MAX_DEPTH = 24

local function key_path(at, key)
  return type(key) == "string" and (at == "" and key or at .. "." .. key) or ("%s[%s]"):format(at, plain_tostring(key))
end

--- A copy without metatables, or nil: something in it cannot leave.
local function quick_copy(value, depth)
  fill_in(value)
  local result = {}
  for key, item in raw_next, value do
    local kind = type(item)
    if kind == "table" then
      item = depth < MAX_DEPTH and quick_copy(item, depth + 1) or nil
    elseif not PLAIN[kind] then
      item = nil
    end
    if item == nil or not PLAIN[type(key)] then
      return nil
    end
    result[key] = item
  end
  return result
end

--- The same with a message that says where: thousands of texts are not worth the spelling, until something is wrong.
local function careful_copy(value, at, depth)
  if PLAIN[type(value)] then
    return value
  elseif type(value) ~= "table" then
    error(("%s: %s: a %s is no plain data"):format(data.file, at == "" and "top level" or at, type(value)), 0)
  elseif depth > MAX_DEPTH then
    error(("%s: %s: tables inside tables, more than %d deep"):format(data.file, at, MAX_DEPTH), 0)
  end
  local result = {}
  fill_in(value)
  for key, item in raw_next, value do
    if not PLAIN[type(key)] then
      error(("%s: %s: a key that is a %s is no plain data"):format(data.file, at, type(key)), 0)
    end
    result[key] = careful_copy(item, key_path(at, key), depth + 1)
  end
  return result
end

--- A copy without metatables, of what can leave.
local function plain(value, at, depth)
  return type(value) == "table" and quick_copy(value, depth) or careful_copy(value, at, depth)
end

local kinds = {}

--- A list, for one.
function kinds.value()
  return { value = plain(run_text(data.text, data.file, data.code), "", 0) }
end

--- A policy is a function, or a table of one and the options that it takes.
local function policy_of(value)
  if type(value) == "function" then
    return value, {}
  elseif type(value) ~= "table" or type(value.profile) ~= "function" then
    error(
      ("%s: returns %s, expected a function of (config, ctx), or { options = {...}, profile = function }"):format(
        data.file,
        PLAIN[type(value)] and plain_tostring(value) or "a " .. type(value)
      ),
      0
    )
  end
  for key in ordered_pairs(value) do
    if key ~= "options" and key ~= "profile" and key ~= "help" then
      local hint = require_own("procage.nearest").hint(plain_tostring(key), { "options", "profile", "help" })
      error(("%s: %s: unknown key of a policy%s"):format(data.file, plain_tostring(key), hint), 0)
    end
  end
  local options = plain(value.options or {}, "options", 0)
  local bad = raw_next(options) ~= nil and require_own("procage.declared").check(options)
  if bad then
    error(("%s: %s"):format(data.file, bad), 0)
  end
  return value.profile, options, type(value.help) == "string" and value.help or nil
end

function kinds.declaration()
  local _, options, help = policy_of(run_text(data.text, data.file, data.code))
  return { options = options, help = help }
end

--- Tables of the configuration whose keys are read one by one.
local PARTS = { env = true, limits = true, options = true }

--- A table with what `values` has, which notes in `was_read` the keys that a script reads.
local function watch(values, was_read, prefix)
  local seen = {}
  local function take(_, key)
    local value = values[key]
    if value == nil or type(key) ~= "string" then
      return value
    end
    was_read[prefix .. key] = true
    if prefix == "" and PARTS[key] then
      value = watch(value, was_read, key .. ".")
    end
    values[key] = nil
    seen[key] = value
    return value
  end
  watched[seen] = function()
    for key in raw_next, values do
      take(seen, key)
    end
  end
  return setmetatable(seen, { __index = take, __newindex = function(t, key, value)
    values[key] = nil
    rawset(t, key, value)
  end })
end

function kinds.policy()
  local make, options = policy_of(run_text(data.text, data.file, data.code))
  local config, ctx = data.config, data.ctx
  local given, values, bad = config.options or {}, {}, nil
  if raw_next(options) ~= nil or raw_next(given) ~= nil then
    values, bad = require_own("procage.declared").values(options, given, ctx.home)
  end
  if bad then
    error(("%s: %s"):format(data.file, bad), 0)
  end
  -- A copy: what the script does to it changes neither the defaults nor what is told of the values.
  config.options = plain(values, "", 0)
  local was_read = {}
  local built = make(data.is_ours and config or watch(config, was_read, ""), ctx)
  local profile = loaded["procage.profile"]
  local told = type(built) == "table" and notes[built] or {}
  if profile and profile.is_builder(built) then
    built = profile.plain(built)
  end
  return { profile = plain(built, "", 0), notes = told, options = options, values = values, was_read = was_read }
end

--- A script that only tells things to a recorder: what was told, with its lines.
local function recorder(told)
  return function(kind)
    return function(...)
      told[#told + 1] = { kind = kind, at = where(), arguments = plain(pack(...), kind, 0) }
    end
  end
end

--- fit.register{...}, for an operator's own alternatives.
function kinds.extension()
  local told = {}
  special["procage.fit"] = { register = recorder(told)("register") }
  run_text(data.text .. "\nreturn true", data.file)
  return { told = told }
end

--- An operator's tests (policy_test.lua).
function kinds.tests()
  local told = {}
  local record = recorder(told)
  env.allows, env.denies = {}, {}
  for _, op in ipairs({ "read", "write", "exec", "connect", "bind" }) do
    env.allows[op], env.denies[op] = record("allows." .. op), record("denies." .. op)
  end
  for _, word in ipairs({ "gap", "no_gap", "policy", "config", "file", "directory", "socket" }) do
    env[word] = record(word)
  end
  local known = {}
  for _, name in ipairs(data.host_names) do
    known[name] = name
  end
  -- A misspelt host would be nil, and the gap this machine's.
  env.hosts = setmetatable({}, {
    __index = function(_, name)
      local hint = require_own("procage.nearest").hint(plain_tostring(name), data.host_names)
      return known[name] or error(("hosts.%s: no such host%s"):format(plain_tostring(name), hint), 2)
    end,
  })
  run_text(data.text .. "\nreturn true", data.file)
  return { told = told }
end

return kinds[data.kind]()
