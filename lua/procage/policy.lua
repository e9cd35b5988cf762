--- Policies: from a script and a configuration to a profile, and whether what a host leaves of it will do.
---
--- A script is text, never bytecode, and sees no more than it needs to be a function of its arguments: no files, no clock,
--- no loading. `require` reaches procage.profile, procage.path and what is shipped beside it in policies/.

local check = require("procage.check")
local fit = require("procage.fit")
local json = require("procage.json")
local path = require("procage.path")
local profile = require("procage.profile")

---@class procage.Context
---@field home string  absolute, resolved
---@field workspace string  absolute, resolved
---@field system "linux"|"macos"|"windows"
---@field env table<string, string>  the caller's: it says where caches were moved to
---@field uid integer

---@class procage.PolicyOptions
---@field resolve? fun(name: string): string?, string?  the file of a shipped policy, or nil and why
---@field read_file? fun(file: string): string?, string?
---@field real_path? fun(file: string): string?, string?  where a file really is, to know whether a run could write it

local M = {}

--- A policy longer than this is no policy that anybody reads.
local MAX_BYTES = 1 << 20

---@param file string
---@return string? text
---@return string? message
local function read_file(file)
  local handle, message = io.open(file, "rb")
  if not handle then
    return nil, message
  end
  local text, why = handle:read(MAX_BYTES + 1)
  handle:close()
  if why then
    return nil, ("%s: %s"):format(file, why)
  elseif text and #text > MAX_BYTES then
    return nil, ("%s: longer than %d bytes"):format(file, MAX_BYTES)
  end
  return text or ""
end

--- Where the shipped policies are is known to procage.paths alone.
---@param name string
---@return string? file
---@return string? message
local function resolve(name)
  local directory, message = require("procage.paths").policies()
  if not directory then
    return nil, message
  end
  return directory .. "/" .. name .. ".lua"
end

--- Functions of the base library that depend on their arguments alone. No getmetatable: it leads to tables that every
--- script shares. No pcall: a script has nothing to catch, and a bound on its steps must not be caught.
local base_names = {
  "assert", "error", "ipairs", "next", "pairs", "rawequal", "rawget", "rawlen", "rawset", "select", "tonumber", "tostring",
  "type",
}

--- Library functions that are left out, with the reason.
local left_out = {
  ["string.dump"] = "makes bytecode",
  ["math.random"] = "a policy is a function of its arguments",
  ["math.randomseed"] = "a policy is a function of its arguments",
}

---@param name string
---@param library table
---@return table copy  changed by a script, it changes nothing here
local function copy_library(name, library)
  local copy = json.plain(library)
  for key in pairs(library) do
    if left_out[name .. "." .. key] then
      copy[key] = nil
    end
  end
  return copy
end

--- What a script may require by name, each time as a copy of its own.
local modules = { ["procage.profile"] = profile, ["procage.path"] = path }

local load_text

---@param options procage.PolicyOptions
---@param loading table<string, boolean>  files being loaded: a circle is an error, not a hang
---@return fun(name: string): any
local function script_require(options, loading)
  return function(name)
    if modules[name] then
      return copy_library(name, modules[name])
    end
    local shipped = type(name) == "string" and name:match("^policies%.([%w_-]+)$")
    if not shipped then
      error(("require reaches procage.profile, procage.path and policies.*, not %s"):format(check.show(name)), 2)
    elseif loading[shipped] then
      error(("policies.%s requires itself"):format(shipped), 2)
    end
    loading[shipped] = true
    local file, message = (options.resolve or resolve)(shipped)
    local text
    if file then
      text, message = (options.read_file or read_file)(file)
    end
    local value
    if text then
      value, message = load_text(text, file, options, loading)
    end
    loading[shipped] = nil
    if value == nil then
      error(message, 2)
    end
    return value
  end
end

---@param options procage.PolicyOptions
---@param loading table<string, boolean>
---@return table
local function environment(options, loading)
  local env = { require = script_require(options, loading), _VERSION = _VERSION }
  for _, name in ipairs(base_names) do
    env[name] = _G[name]
  end
  for name, library in pairs({ string = string, table = table, math = math, utf8 = utf8 }) do
    env[name] = copy_library(name, library)
  end
  env._G = env
  return env
end

--- An error raised with a table has no text of its own.
---@param where string
---@param value any
---@return string
local function error_text(where, value)
  if type(value) == "string" then
    return value
  end
  return ("%s: raised %s"):format(where, check.show(value))
end

---@param text string
---@param file string
---@param options procage.PolicyOptions
---@param loading table<string, boolean>
---@return any value
---@return string? message  with file and line
function load_text(text, file, options, loading)
  -- A first line that starts with # is the shell's, as for lua(1).
  local body = text:gsub("^#[^\n]*", "", 1)
  local chunk, message = load(body, "@" .. file, "t", environment(options, loading))
  if not chunk then
    return nil, message
  end
  local ok, value = pcall(chunk)
  if not ok then
    return nil, error_text(file, value)
  elseif value == nil then
    return nil, file .. ": returns nothing"
  end
  return value
end

--- Loads a script and returns what it returns.
---@param text string
---@param file string  the name in messages
---@param options? procage.PolicyOptions
---@return any value
---@return string? message  with file and line
function M.load_script(text, file, options)
  return load_text(text, file, options or {}, {})
end

--- A name is a shipped policy; anything with a slash or a .lua at its end is a file.
---@param name_or_file string
---@return boolean
function M.is_file(name_or_file)
  return name_or_file:find("/", 1, true) ~= nil or name_or_file:find("%.lua$") ~= nil
end

---@param name_or_file string
---@param options procage.PolicyOptions
---@return string? file
---@return string? message
local function find(name_or_file, options)
  if M.is_file(name_or_file) then
    return name_or_file
  elseif not name_or_file:find("^[%w_-]+$") then
    return nil, ("policy %s: neither the name of a shipped policy nor a file"):format(check.show(name_or_file))
  end
  return (options.resolve or resolve)(name_or_file)
end

--- The script's own file, where the run could write it, decides the next run.
---@param built procage.Profile
---@param file string
---@param options procage.PolicyOptions
local function protect_script(built, file, options)
  file = options.real_path and options.real_path(file) or file
  if path.is_absolute(file) and not path.has_parent_step(file) then
    local own = path.normalise(file)
    if path.tree_of(own, profile.writable_trees(built)) and not path.tree_of(own, built.read_only) then
      table.insert(built.read_only, own)
    end
  end
end

--- Calls a policy with a configuration; neither argument of the caller's can be changed by it.
---@param make fun(config: procage.Config, ctx: procage.Context): procage.Profile|procage.Builder
---@param file string
---@param config procage.Config
---@param ctx procage.Context
---@return procage.Profile?
---@return string? message
local function call(make, file, config, ctx)
  local ok, built = pcall(make, json.plain(config), json.plain(ctx))
  if not ok then
    return nil, error_text(file, built)
  end
  local valid, why = profile.validate(built)
  if not valid then
    return nil, ("%s: the profile it returned: %s"):format(file, why)
  end
  return profile.plain(built)
end

--- Builds the profile that a policy makes of a configuration.
---@param name_or_file string
---@param config procage.Config  as config.parse returns it
---@param ctx procage.Context
---@param options? procage.PolicyOptions
---@return procage.Profile? profile  plain, valid
---@return string? message  names the file, and the line or the key path
function M.build_profile(name_or_file, config, ctx, options)
  options = options or {}
  local file, message = find(name_or_file, options)
  if not file then
    return nil, message
  end
  local text, why = (options.read_file or read_file)(file)
  if not text then
    return nil, ("policy %s: %s"):format(name_or_file, why)
  end
  local make
  make, message = load_text(text, file, options, {})
  if make == nil then
    return nil, message
  elseif type(make) ~= "function" then
    return nil, ("%s: returns %s, expected a function of (config, ctx)"):format(file, check.show(make))
  end
  local built
  built, message = call(make, file, config, ctx)
  if not built then
    return nil, message
  end
  protect_script(built, file, options)
  return built
end

---@param list string[]
---@return table<string, boolean>
local function set_of(list)
  local set = {}
  for _, item in ipairs(list) do
    set[item] = true
  end
  return set
end

--- Whether a run may start with what the report leaves out. `tightened` never needs to be accepted.
---@param report procage.Row[]
---@param accept string[]  gap ids
---@param mode "auto"|"required"|"off"
---@return true? ok
---@return string? message
---@return integer? code
function M.admit(report, accept, mode)
  local accepted, open = set_of(accept), {}
  -- Nobody who requires a sandbox is served by a policy that is none.
  accepted.off = accepted.off and mode ~= "required"
  for _, row in ipairs(report) do
    if row.state == "unenforced" and not accepted[row.id] and mode ~= "off" then
      open[#open + 1] = ("%s (%s): %s; lift: %s"):format(
        row.id,
        row.clause,
        row.effect or row.reason or "not enforced",
        row.lift or "unknown"
      )
      -- One line for a profile that confines nothing.
      accepted.off = accepted.off or row.id == "off"
    end
  end
  if #open == 0 then
    return true
  end
  return nil, "SANDBOX-UNAVAILABLE: not accepted: " .. table.concat(open, "\n  "), fit.UNAVAILABLE
end

return M
