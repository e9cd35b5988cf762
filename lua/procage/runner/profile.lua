--- The profile that a policy makes of a configuration: the script's, what its layers leave of it, what the caller adds, and all
--- of it where it really is on this disk.

local config_room = require("procage.config")
local core = require("procage.core")
local disk = require("procage.disk")
local json = require("procage.json")
local list = require("procage.list")
local path = require("procage.path")
local policy = require("procage.policy")
local resolve = require("procage.resolve")

local M = {}

local ENOENT = 2

--- One more layer over a profile.
---@param layer { name: string, policy: string }
---@return procage.Profile?
---@return string? message
---@return { at: string, fields: table }? said
local function add_layer(profile, layer, checked, context)
  local fields, message, file = policy.build_layer(path.expand_home(layer.policy, context.home), checked, context)
  if not fields then
    return nil, message
  end
  local narrowed
  narrowed, message = policy.narrow(profile, fields)
  if not narrowed then
    return nil, ("%s (%s layer): %s"):format(file, layer.name, message)
  end
  return narrowed, nil, { at = ("%s (%s layer)"):format(file, layer.name), fields = fields }
end

--- What the policy's script gives, and what its layers leave of that.
---@return procage.Profile?
---@return string|procage.PolicySource source  or the message
---@return procage.Profile? wide  the script's alone, where there are layers
local function build(name, checked, options, context, given)
  local profile, message, source = policy.build_profile(path.expand_home(name, context.home), checked, context, {
    text = options.text,
    given = given,
    real_path = not options.text and core.real_path or nil,
  })
  if not profile then
    return nil, message
  end
  local layers = options.layers or {}
  if #layers > 0 and (profile.unconfined or checked.mode == "off") then
    local what = checked.mode == "off" and "mode" or "policy " .. name
    return nil, what .. ": would widen: off, and there are layers that narrow"
  end
  local wide = #layers > 0 and json.plain(profile) or nil
  for _, layer in ipairs(layers) do
    local said
    profile, message, said = add_layer(profile, layer, checked, context)
    if not profile then
      return nil, message
    end
    source.layers = source.layers or {}
    table.insert(source.layers, said)
  end
  return profile, source, wide
end

--- The layers were compared as they are spelt. A link in a tree of the base may lead out of it: compared again where everything
--- really is.
---@param wide procage.Profile  the base alone, not resolved yet
---@param profile procage.Profile  resolved
---@return string? message
local function widened(wide, profile, options, caller)
  local resolved, message = resolve.profile(wide, assert(resolve.context(options, caller)))
  if not resolved then
    return message --[[@as string]]
  end
  local trees = {}
  for _, field in ipairs({ "read", "write", "sockets" }) do
    trees[field] = profile[field]
  end
  local _, why = policy.narrow(resolved, trees)
  return why and "layers, where their paths really lead: " .. why
end

--- The line of an operator's script that asked for something.
---@param source procage.PolicySource
---@param is_meant fun(item: any): boolean?
---@param field? string
---@return string  " (file:line)", or nothing
local function line_of(source, is_meant, field)
  for _, note in ipairs(source.is_ours and {} or source.notes or {}) do
    for _, item in ipairs((field == nil or note.field == field) and note.at and note.items or {}) do
      if is_meant(item) then
        return (" (%s)"):format(note.at)
      end
    end
  end
  return ""
end

--- What this disk has against a profile, with the line that named the path.
local function with_line(message, source)
  return message .. line_of(source, function(item)
    local place = type(item) == "string" and path.is_absolute(item) and path.normalise(item)
    return place and (message:find(" " .. place .. ":", 1, true) or message:find(" in " .. place .. ",", 1, true)) ~= nil
  end)
end

--- A name that is no system call's would be refused in silence, by nothing.
---@return string? message
local function unknown_call(profile, source)
  for i, call in ipairs(profile.refuse_calls or {}) do
    if select(3, core.seccomp_call(call)) == ENOENT then
      local at = line_of(source, function(item)
        return item == call
      end, "refuse_calls")
      return ("%s: the profile it returned: refuse_calls[%d]: %s: no such system call%s"):format(source.file, i, call, at)
    end
  end
end

--- What the caller and the configuration say besides, whatever the script makes of it.
local function add_options(profile, checked, options, context)
  for _, key in ipairs({ "read_only", "hidden", "write" }) do
    list.append(profile[key], options[key] or {})
  end
  -- A readable tree beneath a directory that the private tmp covers is put back.
  for _, tree in ipairs(checked.readable) do
    table.insert(context.visible, path.expand_home(tree, context.home))
  end
  if checked.mode == "off" and not profile.unconfined then
    profile.unconfined = "mode = off"
  end
end

--- Somebody asked for the host's own temporary directory, and nothing lets it be written.
---@return string? notice
local function no_tmp(profile, checked, context)
  if checked.tmp ~= "shared" or profile.tmp ~= "shared" or profile.unconfined then
    return nil
  end
  for _, tree in ipairs({ "/tmp", context.tmp }) do
    if path.resolved_tree_of(disk.resolve(tree), profile.write) then
      return nil
    end
  end
  return 'procage: tmp = "shared" gives no temporary directory to write in: writable = ["/tmp"] does'
end

--- A word that lifts a hand-off name, and not the hidden path of the same name at home.
---@return string? notice
local function half_lifted(profile, checked, context)
  for _, word in ipairs(checked.lift) do
    local place = not word:find("^[/~]") and path.join(context.home, word)
    if place and list.has(profile.hidden, place) then
      return ("procage: lift %s: the hand-off name alone, ~/%s stays hidden (did you mean ~/%s?)"):format(word, word, word)
    end
  end
end

--- The profile, resolved on this disk.
---@param name string  a shipped policy or a file
---@param checked procage.Config
---@param options procage.LoadOptions
---@param caller table<string, string>  the caller's environment
---@param given? table  what of the configuration somebody wrote
---@return procage.Profile?
---@return table|string context  or the message
---@return string[]? notices
---@return procage.PolicySource? source
function M.make(name, checked, options, caller, given)
  local context, message = resolve.context(options, caller)
  if not context then
    return nil, message
  end
  local profile, source, wide = build(name, checked, options, context, given)
  if not profile then
    return nil, source
  end
  message = unknown_call(profile, source)
  if message then
    return nil, message
  end
  add_options(profile, checked, options, context)
  local notices
  profile, notices = resolve.profile(profile, context)
  if not profile then
    return nil, with_line(notices, source)
  end
  if source.notice then
    table.insert(notices, 1, source.notice)
  end
  notices[#notices + 1] = no_tmp(profile, checked, context)
  notices[#notices + 1] = half_lifted(profile, checked, context)
  message = wide and widened(wide, profile, options, caller)
  if message then
    return nil, message
  end
  return profile, context, notices, source
end

--- For remedies: the profile as it would be under another configuration, nil when there would be none.
---@return fun(config: table): procage.Profile?
function M.remaker(name, options, caller)
  return function(config)
    local checked = config_room.parse(config)
    if not checked then
      return nil
    end
    return M.make(name, checked, options, caller)
  end
end

return M
