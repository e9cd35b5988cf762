--- Shipped policies run in our own state: making a closed one, filling and emptying it takes three times as long as they do.
---
--- Only a text whose digest is one of those that this procage was built with runs here, and only when all that it requires is
--- such a text too: it is as much ours as this file is, whoever could have written the policies' directory meanwhile. What a
--- closed state promises of it holds here as well. It has nothing whose answer depends on more than its arguments; it is given
--- copies, and gives a builder whose fields were checked one by one; texts compare as in the C locale. How much it takes
--- depends on the configuration alone, and one that is large is left to the closed state, which counts. So is one that holds a
--- mistake: it runs there again, from the beginning, and is told of as ever. A script of somebody else never comes here.

local core = require("procage.core")
local declared = require("procage.declared")
local noting = require("procage.noting")
local path = require("procage.path")
local profile = require("procage.profile")

local M = {}

local getinfo = debug and debug.getinfo

--- No configuration that somebody writes by hand has as many entries.
local MAX_ENTRIES = 5000

--- What a policy has beside `require`. No pairs: an order of a hash is no answer. The libraries are only read.
local BASE = {
  assert = assert, error = error, ipairs = ipairs, math = math, select = select, string = string, table = table,
  tonumber = tonumber, tostring = tostring, type = type,
}

---@class procage.ShippedText
---@field file string
---@field text? string
---@field code? string  the same compiled

--- What was loaded, by file: a shipped policy changes nothing of its own once it is there (own_script_spec.lua).
---@type table<string, { text: string, value: any }>
local loaded = {}

--- The lines of these are a script's: their chunks' sources.
---@type table<string, boolean>
local sources = {}

--- file:line of the innermost line that is a policy's.
local function where()
  local level = 2
  local frame = getinfo(level, "Sl")
  while frame do
    if sources[frame.source] then
      return ("%s:%d"):format(frame.source:sub(2), frame.currentline)
    end
    level = level + 1
    frame = getinfo(level, "Sl")
  end
  return nil
end

local function sorted_pairs(t)
  local keys = {}
  for key in pairs(t) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  local i = 0
  return function()
    i = i + 1
    return keys[i], t[keys[i]]
  end
end

--- A copy of plain data, a config or a context; raises where there is more than `left` says.
local function copy(value, left)
  left.count = left.count - 1
  if left.count < 0 then
    error("left to the closed state")
  elseif type(value) ~= "table" then
    return value
  end
  local copied = {}
  for key, item in pairs(value) do
    copied[key] = copy(item, left)
  end
  return copied
end

local new, notes = noting.builders(profile, { where = where, pairs = sorted_pairs, fill_in = type })

--- What `require` reaches beside other policies.
local MODULES = { ["procage.path"] = path, ["procage.profile"] = { new = new } }

local load_policy

--- The environment of one file: what it requires is what lay beside it when it was read.
---@param shipped table<string, procage.ShippedText>
local function environment(shipped)
  local env = { require = function(name)
    local entry = shipped[name:match("^policies%.([%w_-]+)$")]
    return MODULES[name] or entry and load_policy(entry, shipped) or error(name .. ": not read")
  end }
  for name, value in pairs(BASE) do
    env[name] = value
  end
  return env
end

--- What a policy's file returns.
---@param entry procage.ShippedText
---@param shipped table<string, procage.ShippedText>
---@return any value
function load_policy(entry, shipped)
  local known = loaded[entry.file]
  if known and known.text == entry.text then
    return known.value
  end
  local source = "@" .. entry.file
  local chunk = assert(load(core.carried_policy(entry.text, source) or entry.text, source, nil, environment(shipped)))
  sources[source] = true
  local value = chunk()
  loaded[entry.file] = { text = entry.text, value = value }
  return value
end

---@param entry procage.ShippedText
---@return boolean
local function is_shipped(entry)
  local known = loaded[entry.file]
  return entry.text ~= nil and (known and known.text == entry.text or core.is_shipped_policy(entry.text))
end

--- As closed.lua has it of a policy.
local function build(entry, shipped, config, ctx)
  local left = { count = MAX_ENTRIES }
  config, ctx = copy(config, left), copy(ctx, left)
  local made = load_policy(entry, shipped)
  local make = type(made) == "table" and made.profile or made
  local options = type(made) == "table" and made.options or {}
  assert(not declared.check(options))
  local values = assert(declared.values(options, config.options or {}, ctx.home))
  config.options = copy(values, left)
  local builder = make(config, ctx)
  assert(profile.is_builder(builder))
  return {
    profile = profile.plain(builder),
    notes = notes[builder] or {},
    options = copy(options, left),
    values = values,
    was_read = {},
    is_checked = true,
  }
end

---@param entry procage.ShippedText  the policy
---@param shipped table<string, procage.ShippedText>  what it requires, and they do, by name
---@param config procage.Config
---@param ctx procage.Context
---@return table? result  as a closed state's, with `is_checked`; nil: left to that
function M.run(entry, shipped, config, ctx)
  if not getinfo or not is_shipped(entry) then
    return nil
  end
  for _, each in pairs(shipped) do
    if not is_shipped(each) then
      return nil
    end
  end
  local ok, result = core.in_plain_locale(build, entry, shipped, config, ctx)
  return ok and result or nil
end

return M
