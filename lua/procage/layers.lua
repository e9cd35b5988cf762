--- One configuration over another, of which the second is not trusted: it may narrow what the first one gives, and what it
--- would give besides is told, not given. Pure: two tables in, one table and a list out.

local config_room = require("procage.config")

local M = {}

-- ---- Values as a person would write them ----------------------------------------------------------------------------------

local write

---@param value table
---@return string
local function write_table(value)
  if #value > 0 or next(value) == nil then
    local items = {}
    for i, item in ipairs(value) do
      items[i] = write(item)
    end
    return "[" .. table.concat(items, ", ") .. "]"
  end
  local keys, members = {}, {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  for i, key in ipairs(keys) do
    local name = key:find("^[%w_-]+$") and key or write(key)
    members[i] = ("%s = %s"):format(name, write(value[key]))
  end
  return "{ " .. table.concat(members, ", ") .. " }"
end

--- In TOML's spelling, on one line.
---@param value any
---@return string
function write(value)
  if type(value) == "table" then
    return write_table(value)
  elseif type(value) == "string" then
    return '"' .. value:gsub('[%c"\\\127]', function(c)
      return ("\\u%04x"):format(c:byte())
    end) .. '"'
  end
  return tostring(value)
end

-- ---- Which of two gives less ----------------------------------------------------------------------------------------------

--- The words of a key, from what gives least to what gives most.
---@type table<string, string[]>
local ladders = {
  mode = { "required", "auto", "off" },
  loopback = { "run", "policy", "host" },
  git = { "read", "commit", "write" },
  caches = { "none", "fetch", "write" },
  tmp = { "private", "shared" },
  handoff_absent = { "refuse", "move" },
  -- What is recorded is not what is allowed; but nobody is to be kept in the dark by a file that he did not write.
  denials = { "paths", "calls", "off" },
}

---@param list any[]
---@param item any
---@return integer?
local function index_of(list, item)
  for i, entry in ipairs(list) do
    if entry == item then
      return i
    end
  end
  return nil
end

---@param wanted procage.Network
---@param given procage.Network
---@return boolean
local function is_less_network(wanted, given)
  if wanted == "none" or given == "all" then
    return true
  elseif type(wanted) ~= "table" or type(given) ~= "table" then
    return wanted == given
  end
  for _, port in ipairs(wanted.ports) do
    if not index_of(given.ports, port) then
      return false
    end
  end
  return true
end

--- Lists whose entries take away; the entries of every other list give.
local taking_lists = { hidden = true, read_only = true }
local giving_lists = {
  writable = true,
  readable = true,
  sockets = true,
  accept = true,
  lift = true,
  network_allow = true,
  network_allow_prefix = true,
}

--- Of two of these nobody can tell which gives less.
local incomparable = { policy = true, options = true }

--- Whether it was thought about what narrows a key; for the tests.
---@param key string
---@return boolean
function M.knows(key)
  local is_list = taking_lists[key] or giving_lists[key]
  return ladders[key] ~= nil or is_list or incomparable[key] or key == "network" or key == "limits" or key == "env"
end

--- What holds where a limit is not set, by the library or by the strictest of the shipped policies (own-command, mcp-server).
local absent_limits = { grace_ms = 2000, output_bytes = 1 << 20, timeout_ms = 600000, stdin_grace_ms = 1000 }

-- ---- Narrowing --------------------------------------------------------------------------------------------------------------

---@param list any[]
---@param more any[]
---@return any[]
local function joined(list, more)
  local all = table.move(list, 1, #list, 1, {})
  return table.move(more, 1, #more, #all + 1, all)
end

--- Entries that the first configuration does not have; compared as they are written.
---@param wanted any[]
---@param given any[]
---@return any[]
local function new_entries(wanted, given)
  local known, new = {}, {}
  for _, entry in ipairs(given) do
    known[write(entry)] = true
  end
  for _, entry in ipairs(wanted) do
    if not known[write(entry)] then
      new[#new + 1] = entry
    end
  end
  return new
end

---@param wanted table<string, integer>
---@param given table<string, integer>
---@return table<string, integer> merged
---@return table<string, integer> more
local function narrow_limits(wanted, given)
  local merged, more = {}, {}
  for name, value in pairs(given) do
    merged[name] = value
  end
  for name, value in pairs(wanted) do
    local bound = given[name] or absent_limits[name]
    if not bound or value <= bound then
      merged[name] = value
    else
      more[name] = value
    end
  end
  return merged, more
end

---@param wanted procage.Env
---@param given procage.Env
---@return procage.Env merged
---@return table more
local function narrow_env(wanted, given)
  local more = { set = {} }
  for name, value in pairs(wanted.set or {}) do
    if given.set[name] ~= value then
      more.set[name] = value
    end
  end
  more.set = next(more.set) and more.set or nil
  local keep = new_entries(wanted.keep or {}, given.keep)
  more.keep = #keep > 0 and keep or nil
  return { drop = joined(given.drop, wanted.drop or {}), set = given.set, keep = given.keep }, more
end

--- One key: what holds of it now, and what is left out of it, if anything.
---@param key string
---@param wanted any
---@param given any  complete
---@return any merged
---@return any? more
local function narrow_key(key, wanted, given)
  if ladders[key] then
    local is_less = index_of(ladders[key], wanted) <= index_of(ladders[key], given)
    return is_less and wanted or given, not is_less and wanted or nil
  elseif key == "network" then
    local is_less = is_less_network(wanted, given)
    return is_less and wanted or given, not is_less and (type(wanted) == "table" and wanted.ports or wanted) or nil
  elseif taking_lists[key] then
    return joined(given, wanted)
  elseif giving_lists[key] then
    local new = new_entries(wanted, given)
    return given, #new > 0 and new or nil
  elseif key == "limits" or key == "env" then
    local merged, more = (key == "env" and narrow_env or narrow_limits)(wanted, given)
    return merged, next(more) and more or nil
  end
  return given, write(wanted) ~= write(given) and wanted or nil
end

--- A configuration narrowed by another.
---@param base table  trusted, checked; left as it is
---@param extra table  not trusted, checked; left as it is
---@return table config
---@return string[] refused  what `extra` would give, as a person would write it
function M.narrow(base, extra)
  local given = assert(config_room.parse(base))
  local wanted = assert(config_room.parse(extra))
  local config, refused = {}, {}
  for key, value in pairs(base) do
    config[key] = value
  end
  for _, key in ipairs(config_room.keys) do
    if extra[key] ~= nil then
      local merged, more = narrow_key(key, wanted[key], given[key])
      -- What is said again is not said: `mode = "auto"` in so many words means more than the default (cli/setup.lua).
      if write(merged) ~= write(given[key]) then
        config[key] = merged
      end
      if more ~= nil then
        refused[#refused + 1] = ("%s = %s"):format(key, write(more))
      end
    end
  end
  return config, refused
end

M.write = write

return M
