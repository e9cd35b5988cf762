--- Keys of the configuration that somebody gave and a policy's script did not read.
---
--- Where the profile says the same without, nothing is missed. Where a key asked for protection and the profile gives more, the
--- operator would believe in what is not there: that is an error. What else was not read is told.

local path = require("procage.path")
local list = require("procage.list")

local M = {}

--- What the program does with a key, whatever the script makes of it.
local OURS = list.set({ "mode", "policy", "network_allow", "network_allow_prefix", "denials" })

--- Words from what gives least to what gives most.
local LADDERS = {
  git = { "read", "commit", "write" },
  loopback = { "run", "policy", "host" },
  handoff_absent = { "refuse", "move" },
  tmp = { "private", "shared" },
  caches = { "none", "fetch", "write" },
}

--- Keys whose parts are keys of their own.
local PARTS = { env = true, limits = true, options = true }

local function place_in(ladder, word)
  for i, known in ipairs(ladder) do
    if known == word then
      return i
    end
  end
  return 0
end

--- Whether a profile opens anything of a tree, or something in it.
local function opens(trees, place)
  return trees == "all" or path.tree_of(place, trees) ~= nil or path.any_beneath(trees, { place })
end

--- Whether any entry holds for the profile by another way than the key.
local function each(items, ctx, is_good)
  for _, item in ipairs(items) do
    if not is_good(path.normalise(path.expand_home(item, ctx.home))) then
      return false
    end
  end
  return true
end

local function is_in(name)
  return function(value, built, ctx)
    return each(value, ctx, function(place)
      return path.tree_of(place, built[name]) ~= nil
    end)
  end
end

--- Of keys that take away: whether the profile takes that away anyway.
local HELD = {
  hidden = function(value, built, ctx)
    return each(value, ctx, function(place)
      return path.tree_of(place, built.hidden) ~= nil
        or not (opens(built.read, place) or opens(built.write, place) or opens(built.caches.trees, place))
    end)
  end,
  read_only = function(value, built, ctx)
    return each(value, ctx, function(place)
      return path.tree_of(place, built.read_only) ~= nil
        or not (opens(built.write, place) or opens(built.caches.trees, place))
    end)
  end,
  ["env.drop"] = function(value, built)
    for _, pattern in ipairs(value) do
      if not list.has(built.env.drop, pattern) then
        return false
      end
    end
    return true
  end,
}

--- Of keys that give: whether the profile gives that anyway.
local GIVEN = {
  writable = is_in("write"),
  sockets = is_in("sockets"),
  readable = function(value, built, ctx)
    return built.read == "all" or is_in("read")(value, built, ctx)
  end,
  accept = function(value, built)
    for _, id in ipairs(value) do
      if not list.has(built.accept, id) then
        return false
      end
    end
    return true
  end,
}

local function is_same_network(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  return table.concat(a.ports, ",") == table.concat(b.ports, ",")
end

--- Whether what was built gives no more than what was given.
local function is_no_wider_network(built, given)
  if built == "none" or given == "all" then
    return true
  elseif type(built) ~= "table" or type(given) ~= "table" then
    return built == given
  end
  for _, port in ipairs(built.ports) do
    if not list.has(given.ports, port) then
      return false
    end
  end
  return true
end

--- nil: nothing is missed; "less": protection that was asked for is missing; "more": what was given is not.
---@return "less"|"more"?
local function missed(key, value, built, ctx)
  if HELD[key] then
    return not HELD[key](value, built, ctx) and "less" or nil
  elseif GIVEN[key] then
    return not GIVEN[key](value, built, ctx) and "more" or nil
  elseif LADDERS[key] then
    local word = built[key]
    if key == "caches" then
      word = #word.trees == 0 and "none" or word.when
    end
    local has, wants = place_in(LADDERS[key], word), place_in(LADDERS[key], value)
    return has > wants and "less" or has < wants and "more" or nil
  elseif key == "network" then
    return not is_no_wider_network(built.network, value) and "less" or not is_same_network(built.network, value) and "more"
      or nil
  end
  local limit = key:match("^limits%.(.*)")
  if limit then
    local has = built.limits[limit]
    return (not has or has > value) and "less" or has < value and "more" or nil
  end
  return "more"
end

--- The keys that were given, those of tables one by one: `limits.cpu_ms`.
---@param given table
---@return string[] keys  sorted
local function keys_of(given)
  local keys = {}
  for key, value in pairs(given) do
    if PARTS[key] and type(value) == "table" then
      for part in pairs(value) do
        keys[#keys + 1] = key .. "." .. part
      end
    elseif not OURS[key] then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys)
  return keys
end

local function value_of(config, key)
  local table_, part = key:match("^(%l+)%.(.*)$")
  if table_ then
    return config[table_][part]
  end
  return config[key]
end

local function is_empty(value)
  return type(value) == "table" and next(value) == nil
end

---@class procage.Unused
---@field less string[]  keys that ask for protection, which the profile does not have
---@field more string[]  others

--- What was given in vain.
---@param given table  what somebody wrote, before it is completed
---@param config procage.Config
---@param built procage.Profile  of the script alone
---@param was_read table<string, boolean>  keys that the script read
---@param ctx procage.Context
---@return procage.Unused
function M.find(given, config, built, was_read, ctx)
  local found = { less = {}, more = {} }
  local is_off = built.unconfined or config.mode == "off"
  for _, key in ipairs(is_off and {} or keys_of(given)) do
    local value = value_of(config, key)
    local of = not (was_read[key] or value == nil or is_empty(value)) and missed(key, value, built, ctx)
    if of then
      table.insert(found[of], key)
    end
  end
  return found
end

--- How a script takes a key, for what it is told.
local TAKES = {
  hidden = "p:hidden(path.expand_homes(config.hidden, ctx.home))",
  read_only = "p:read_only(path.expand_homes(config.read_only, ctx.home))",
  ["env.drop"] = "p:env({ drop = config.env.drop })",
  caches = 'p:caches(rows.caches(ctx, hidden), config.caches), unless that is "none"',
}

local function taken_by(key)
  local limit = key:match("^limits%.")
  return TAKES[key] or limit and "p:limits(config.limits)" or ("p:%s(config.%s)"):format(key, key)
end

--- The error: protection was asked for that nobody gets.
---@param found procage.Unused
---@param file string
---@return string?
function M.refusal(found, file)
  if #found.less == 0 then
    return nil
  end
  return ("%s: this policy does not use what would protect more: %s; take it in (%s), or leave the key out"):format(file,
    table.concat(found.less, ", "), taken_by(found.less[1]))
end

---@param found procage.Unused
---@param file string
---@return string?
function M.notice(found, file)
  return #found.more > 0 and ("procage: this policy does not use: %s (%s)"):format(table.concat(found.more, ", "), file) or nil
end

return M
