--- One profile over another: what lies below may only take away. Pure.
---
--- The layer on top says what it wants in the fields of a profile; what it does not say stays as it was. Where it would give
--- more than the base gives, nothing is composed: the message names the clause, and what of it.

local check = require("procage.check")
local env = require("procage.env")
local lists = require("procage.list")
local path = require("procage.path")
local profiles = require("procage.profile")

local M = {}

-- ---- Which of two gives less ------------------------------------------------------------------------------------------------

--- Words from what gives least to what gives most.
local LADDERS = {
  git = { "read", "commit", "write" },
  tmp = { "private", "shared" },
  loopback = { "run", "policy", "host" },
  programs = { "path", "any" },
  handoff_absent = { "refuse", "move" },
}

local function place_in(ladder, word)
  for i, known in ipairs(ladder) do
    if known == word then
      return i
    end
  end
  return #ladder + 1
end

local function first_outside(list, trees)
  for _, item in ipairs(list) do
    if not path.tree_of(item, trees) then
      return item
    end
  end
  return nil
end

local function first_new(list, known)
  local set = {}
  for _, item in ipairs(known) do
    set[item] = true
  end
  for _, item in ipairs(list) do
    if not set[item] then
      return item
    end
  end
  return nil
end

local function network_text(network)
  return type(network) == "table" and "ports " .. table.concat(network.ports, ", ") or network
end

--- What of a network is more than another: nil when nothing is.
local function more_network(base, wanted)
  if base == "all" or wanted == "none" then
    return nil
  elseif type(base) == "table" and type(wanted) == "table" then
    local port = first_new(wanted.ports, base.ports)
    return port and ("port %d"):format(port)
  end
  return base ~= wanted and network_text(wanted) or nil
end

--- Trees that the base lets be written by some run.
local function writable(base)
  return profiles.writable_trees(base)
end

-- ---- Rules ------------------------------------------------------------------------------------------------------------------

--- For each field: the base's value, the layer's and the whole base in; the composed value out, or nil and what would be more.
---@type table<string, fun(base: any, wanted: any, whole: procage.Profile): any, string?>
local rules = {}

for field, ladder in pairs(LADDERS) do
  rules[field] = function(base, wanted)
    if place_in(ladder, wanted) > place_in(ladder, base) then
      return nil, ("%s, the base gives %s"):format(wanted, base)
    end
    return wanted
  end
end

for _, field in ipairs({ "hidden", "read_only", "ignored", "handoff" }) do
  rules[field] = lists.joined
end

for _, field in ipairs({ "accept", "lift" }) do
  rules[field] = function(base, wanted)
    local new = first_new(wanted, base)
    if new then
      return nil, ("%s, which the base does not have"):format(check.show(new))
    end
    return wanted
  end
end

function rules.workspace(base, wanted, whole)
  if wanted ~= base and not path.tree_of(wanted, writable(whole)) then
    return nil, wanted .. " is not writable in the base"
  end
  return wanted
end

function rules.read(base, wanted, whole)
  if base == "all" then
    return wanted
  elseif wanted == "all" then
    return nil, "everything, the base reads " .. (base[1] and table.concat(base, ", ") or "nothing")
  end
  local outside = first_outside(wanted, lists.joined(base, writable(whole)))
  if outside then
    return nil, outside .. " is not readable in the base"
  end
  return wanted
end

function rules.write(base, wanted, whole)
  local outside = first_outside(wanted, lists.joined(base, writable(whole)))
  if outside then
    return nil, outside .. " is not writable in the base"
  end
  return wanted
end

function rules.sockets(base, wanted, whole)
  local outside = first_outside(wanted, lists.joined(base, whole.write))
  if outside then
    return nil, outside .. " is not reachable in the base"
  end
  return wanted
end

function rules.caches(base, wanted, whole)
  local trees, when = wanted.trees or base.trees, wanted.when or base.when
  local outside = first_outside(trees, writable(whole))
  if outside then
    return nil, outside .. " is no cache of the base"
  elseif when == "write" and base.when == "fetch" and #trees > 0 then
    return nil, "writable always, in the base only with the network"
  end
  return { trees = trees, when = when }
end

function rules.network(base, wanted)
  local more = more_network(base, wanted)
  if more then
    return nil, ("%s, the base gives %s"):format(more, network_text(base))
  end
  return wanted
end

local function is_dropped(name, whole)
  for _, pattern in ipairs(whole.env.drop) do
    if env.matches(name, pattern) then
      return first_new({ name }, whole.env.keep) ~= nil
    end
  end
  return false
end

--- The names of a map, sorted: which of two mistakes is told must not depend on `pairs`.
local function names_of(map)
  local names = {}
  for name in pairs(map) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

function rules.env(base, wanted, whole)
  local kept = first_new(wanted.keep or {}, base.keep)
  if kept then
    return nil, ("keeps %s, which the base may drop"):format(kept)
  end
  local set = {}
  for name, value in pairs(base.set) do
    set[name] = value
  end
  for _, name in ipairs(names_of(wanted.set or {})) do
    if set[name] == nil and is_dropped(name, whole) then
      return nil, ("sets %s, which the base drops"):format(name)
    elseif set[name] ~= nil and set[name] ~= wanted.set[name] then
      return nil, ("sets %s, which the base has set"):format(name)
    end
    set[name] = wanted.set[name]
  end
  return { drop = lists.joined(base.drop, wanted.drop or {}), set = set, keep = wanted.keep or base.keep }
end

function rules.limits(base, wanted)
  local limits = {}
  for name, value in pairs(base) do
    limits[name] = value
  end
  for _, name in ipairs(names_of(wanted)) do
    if base[name] and wanted[name] > base[name] then
      return nil, ("%s = %d, the base gives %d"):format(name, wanted[name], base[name])
    end
    limits[name] = wanted[name]
  end
  return limits
end

function rules.signals(_, wanted)
  return wanted
end

function rules.refuse_calls(base, wanted)
  return lists.joined(base or {}, wanted)
end

--- Which form a command is started in gives it nothing.
rules.wrap = rules.signals

function rules.unconfined(base, wanted)
  if not base then
    return nil, "nothing would be confined"
  end
  return wanted
end

--- What fit fills in is nobody's to ask for.
for _, field in ipairs({ "missing", "put_back", "put_back_whole", "unenforced", "mechanisms", "tmp_path" }) do
  rules[field] = function(base, wanted)
    if type(wanted) == "table" and #wanted == 0 then
      return base
    end
    return nil, "is filled in by fit"
  end
end

-- ---- Composing --------------------------------------------------------------------------------------------------------------

--- The base narrowed by a layer.
---@param base procage.Profile|procage.Builder  valid
---@param extra table  fields of a profile, those that the layer has something to say of; or a builder, which says all
---@return procage.Profile? narrowed
---@return string? message  names the clause and what of it would be more
function M.narrow(base, extra)
  local ok, why = profiles.validate(base)
  if not ok then
    error("narrow: base: " .. why, 2)
  end
  if profiles.is_builder(extra) then
    extra = profiles.plain(extra)
  end
  ok, why = profiles.validate(extra)
  if not ok then
    return nil, why
  end
  local whole = profiles.plain(base)
  -- What confines nothing gives everything; the layer is then the profile.
  if whole.unconfined then
    local result = profiles.plain(extra)
    result.accept = extra.accept or {}
    return result
  end
  local result = profiles.plain(base)
  for _, field in ipairs(profiles.fields) do
    if extra[field] ~= nil then
      local rule = rules[field]
      if not rule then
        return nil, field .. ": no layer may speak of it"
      end
      local value, more = rule(whole[field], extra[field], whole)
      if value == nil then
        return nil, ("%s: would widen: %s"):format(field, more)
      end
      result[field] = value
    end
  end
  -- A default working directory that is no longer written would be granted all the same.
  local was_written = whole.workspace ~= nil and path.tree_of(whole.workspace, whole.write) ~= nil
  if was_written and not path.tree_of(result.workspace, result.write) then
    result.workspace = result.write[1]
  end
  return result
end

---@class procage.Layer
---@field name string  "system", "user", "project", "command": for messages
---@field profile table  as `narrow` takes it; the first is the base

--- The fields that a layer may speak of.
M.rules = rules

--- Layers from the widest to the narrowest.
---@param layers procage.Layer[]
---@return procage.Profile? profile
---@return string? message  names the layer too
function M.compose(layers)
  if not layers[1] then
    error("compose: no layer", 2)
  end
  local ok, why = profiles.validate(layers[1].profile)
  if not ok then
    return nil, ("%s: %s"):format(layers[1].name, why)
  end
  local result = profiles.plain(layers[1].profile)
  for i = 2, #layers do
    local narrowed, message = M.narrow(result, layers[i].profile)
    if not narrowed then
      return nil, ("%s: %s"):format(layers[i].name, message)
    end
    result = narrowed
  end
  return result
end

return M
