--- Policies: from a script and a configuration to a profile, and whether what a host leaves of it will do.
---
--- A script is text, never bytecode, and a function of its arguments: it runs in a closed state of its own (script.lua).

local check = require("procage.check")
local fit = require("procage.fit")
local later = require("procage.later")
local lists = require("procage.list")
local nearest = require("procage.nearest")
local path = require("procage.path")
local printable = require("procage.printable")
local profile = require("procage.profile")
local script = require("procage.script")

local narrow, unused = later("procage.narrow"), later("procage.unused")

---@class procage.Context
---@field home string  absolute, resolved
---@field workspace string  absolute, resolved
---@field system "linux"|"macos"|"windows"
---@field env table<string, string>  the caller's: it says where caches were moved to
---@field uid integer
---@field tmp? string  the caller's TMPDIR, resolved, when it is a directory
---@field git_files? string[]  the user's git configuration, and what it includes
---@field top? string[]  directories at the top of the file system, but those of the kernel

---@class procage.PolicyOptions: procage.ScriptOptions
---@field text? string  the script itself: then the name is one for messages
---@field given? table  what of the configuration somebody wrote: a script of one's own has to use what of it protects
---@field real_path? fun(file: string): string?, string?  where a file really is, to know whether a run could write it

---@class procage.PolicyNote
---@field field string  of the profile
---@field items any[]  the entries of a list, the keys of a table, or the word
---@field at string  file:line of the script

---@class procage.PolicySource
---@field file string
---@field notes procage.PolicyNote[]  what was asked for by which line, oldest first
---@field options procage.Declared[]
---@field values table<string, any>  of the options
---@field was_read table<string, boolean>  keys of the configuration that a script of one's own read: "hidden", "limits.cpu_ms"
---@field is_ours boolean  it ships with procage
---@field notice? string  keys that were given in vain
---@field layers? { at: string, fields: table }[]  what narrows it

local M = {}

--- Loads a script that is data and returns what it returns.
---@param text string
---@param file string  the name in messages
---@param options? procage.PolicyOptions
---@return any value
---@return string? message  with file and line
function M.load_script(text, file, options)
  local result, message = script.run("value", text, file, options)
  if not result then
    return nil, message
  end
  return result.value
end

--- A name is a shipped policy; anything with a slash or a .lua at its end is a file.
---@param name_or_file string
---@return boolean
function M.is_file(name_or_file)
  return name_or_file:find("/", 1, true) ~= nil or name_or_file:find("%.lua$") ~= nil
end

--- The policies that ship with the program.
M.shipped = {
  "speccoder", "in-place", "own-command", "mcp-server", "workspace-write", "read-only", "spettro", "off",
}

---@param name string
---@return boolean
local function is_shipped(name)
  for _, known in ipairs(M.shipped) do
    if known == name then
      return true
    end
  end
  return false
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
  elseif not options.resolve and not is_shipped(name_or_file) then
    return nil, ("no shipped policy %s%s; a script: ./%s.lua"):format(name_or_file, nearest.hint(name_or_file, M.shipped),
      name_or_file)
  end
  return (options.resolve or script.resolve)(name_or_file)
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

--- The text of a policy.
---@param name_or_file string
---@param options procage.PolicyOptions
---@return string? text
---@return string file  or the message
---@return procage.PolicyOptions options  of the script
local function read(name_or_file, options)
  if options.text then
    return options.text, name_or_file, {}
  end
  local file, message = find(name_or_file, options)
  if not file then
    return nil, message --[[@as string]]
  end
  local text, why = (options.read_file or script.read_file)(file)
  if not text then
    return nil, ("policy %s: %s"):format(name_or_file, why)
  end
  local is_ours = not M.is_file(name_or_file) and not options.resolve and not options.read_file
  return text, file, is_ours and { is_ours = true } or options
end

--- The options that a policy declares.
---@param name_or_file string
---@param options? procage.PolicyOptions
---@return procage.Declared[]? declared
---@return string? message_or_help  what the policy says of itself
function M.declared(name_or_file, options)
  local text, file, how = read(name_or_file, options or {})
  if not text then
    return nil, file
  end
  local result, message = script.run("declaration", text, file, how)
  if not result then
    return nil, message
  end
  return result.options, result.help
end

--- What a script says as a layer: fields of a profile, or all of them when it returns a builder.
---@param name_or_file string
---@param config procage.Config
---@param ctx procage.Context
---@param options? procage.PolicyOptions
---@return table? fields
---@return string? message
---@return string? file
function M.build_layer(name_or_file, config, ctx, options)
  local text, file, how = read(name_or_file, options or {})
  if not text then
    return nil, file
  end
  -- The options of the configuration are the policy's own.
  local own = {}
  for key, value in pairs(config) do
    own[key] = key ~= "options" and value or nil
  end
  local result, message = script.run("policy", text, file, how, { config = own, ctx = ctx })
  if not result then
    return nil, message
  end
  return result.profile, nil, file
end

--- What a script gave, plain and valid.
---@param result table  of script.run
---@param file string
---@return procage.Profile?
---@return string? message
---@return string[]? problems  all of them
local function checked_profile(result, file)
  if result.is_checked then
    return result.profile
  end
  local valid, why = profile.validate(result.profile)
  if not valid then
    local problems = profile.problems(result.profile)
    for i, problem in ipairs(problems) do
      problems[i] = ("%s: the profile it returned: %s"):format(file, problem)
    end
    return nil, ("%s: the profile it returned: %s"):format(file, why), problems
  end
  return profile.plain(result.profile)
end

--- Builds the profile that a policy makes of a configuration; neither argument of the caller's can be changed by it.
---@param name_or_file string
---@param config procage.Config  as config.parse returns it
---@param ctx procage.Context
---@param options? procage.PolicyOptions
---@return procage.Profile? profile  plain, valid
---@return string? message  names the file, and the line or the key path
---@return procage.PolicySource? source
---@return string[]? problems  all of a profile that is none
function M.build_profile(name_or_file, config, ctx, options)
  options = options or {}
  local text, file, how = read(name_or_file, options)
  if not text then
    return nil, file
  end
  local result, message = script.run("policy", text, file, how, { config = config, ctx = ctx })
  if not result then
    return nil, message
  end
  local built, why, problems = checked_profile(result, file)
  if not built then
    return nil, why, nil, problems
  end
  local source = {
    file = file, notes = result.notes, options = result.options, values = result.values, was_read = result.was_read,
    is_ours = how.is_ours or false,
  }
  if options.given and not how.is_ours then
    local found = unused.find(options.given, config, built, result.was_read, ctx)
    message = unused.refusal(found, file)
    if message then
      return nil, message
    end
    source.notice = unused.notice(found, file)
  end
  protect_script(built, file, options)
  return built, nil, source
end

--- Whether a run may start with what the report leaves out. `tightened` never needs to be accepted.
---@param report procage.Row[]
---@param accept string[]  gap ids
---@param mode "auto"|"required"|"off"
---@return true? ok
---@return string? message
---@return integer? code
function M.admit(report, accept, mode)
  local accepted, open, ids = lists.set(accept), {}, {}
  -- Nobody who requires a sandbox is served by a policy that is none.
  accepted.off = accepted.off and mode ~= "required"
  for _, row in ipairs(report) do
    if row.state == "unenforced" and not accepted[row.id] and mode ~= "off" then
      -- A name in one may hold a newline; only ours are lines.
      open[#open + 1] = printable(("%s (%s): %s; lift: %s"):format(
        row.id,
        row.clause,
        row.effect or row.reason or "not enforced",
        row.lift or "unknown"
      ))
      ids[#ids + 1] = not ids[row.id] and row.id ~= "off" and ('"%s"'):format(row.id) or nil
      ids[row.id] = true
      -- One line for a profile that confines nothing.
      accepted.off = accepted.off or row.id == "off"
    end
  end
  if #open == 0 then
    return true
  end
  local message = "SANDBOX-UNAVAILABLE: not accepted: " .. table.concat(open, "\n  ")
  if #ids > 0 then
    local list = table.concat(ids, ", ")
    message = ("%s\n  to live with that: accept = [%s] in the configuration, or p:accept(%s) in the policy's script"):format(
      message, list, list)
  end
  return nil, message, fit.UNAVAILABLE
end

function M.narrow(...)
  return narrow.narrow(...)
end

function M.compose(...)
  return narrow.compose(...)
end

return M
