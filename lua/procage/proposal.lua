--- What was learned of a command (procage.learn), as a configuration or a policy script: the one in force with the least that
--- has to be added, and, as long as the command was not seen to its end, nothing taken away.

local config_room = require("procage.config")
local core = require("procage.core")
local learn = require("procage.learn")
local lists = require("procage.list")
local path = require("procage.path")
local quote = require("procage.quote")
local reports = require("procage.report")

local M = {}

--- As texts of Lua, which may be any bytes.
local function quoted(list)
  local texts = {}
  for i, item in ipairs(list) do
    -- %q breaks the line at a newline, which is right in Lua and no good to read.
    texts[i] = ("%q"):format(item):gsub("\n", "n")
  end
  return texts
end

local function shorten(tree, home)
  return home and path.lies_in(tree, home) and tree ~= home and "~" .. tree:sub(#home + 1) or tree
end

local function shortened(list, home)
  local texts = {}
  for i, tree in ipairs(list) do
    texts[i] = shorten(tree, home)
  end
  return texts
end

local function comment(lines, mark)
  local text = {}
  for i, line in ipairs(lines) do
    text[i] = mark .. (line == "" and "" or " " .. reports.printable(line))
  end
  return table.concat(text, "\n")
end

--- What was used, against what the policy grants.
---@param learned procage.Learned
---@param policy procage.Policy
---@return string[] lines
function M.account(learned, policy)
  local home, lines = policy.context.home, {}
  local function say(name, list)
    for i, text in ipairs(#list > 0 and list or { "nothing" }) do
      lines[#lines + 1] = ("%-34s %s"):format(i == 1 and name or "", text)
    end
  end
  lines[1] = ("%d paths seen under policy %s"):format(learned.files, policy.name)
  say("written outside the workspace:", shortened(learned.write, home))
  say("read outside the workspace:", shortened(learned.read, home))
  say("read, and not given by the policy:", shortened(learned.readable, home))
  say("granted to write, and written:", shortened(learned.caches, home))
  say("granted to write, and not used:", shortened(learned.unused, home))
  local left = {}
  for i, entry in ipairs(learned.left_out) do
    left[i] = ("%s (%s)"):format(shorten(entry.path, home), entry.why)
  end
  for _, text in ipairs(learned.is_whole and learned.connections or {}) do
    left[#left + 1] = text .. ": the command succeeded without"
  end
  say("wanted, and not proposed:", left)
  if policy.fitted.read == "all" then
    lines[#lines + 1] = "Everything may be read but what is hidden; a policy script (--as policy) names what is read."
  end
  return lines
end

--- What makes the trees that are not there yet, a line each.
---@param learned procage.Learned
---@return string[] lines  of a shell
function M.to_make(learned)
  local lines = {}
  for i, entry in ipairs(learned.missing) do
    lines[i] = (entry.kind == "directory" and "mkdir -p " or "touch ") .. quote.shell(entry.path)
  end
  return lines
end

--- The account, and below it what has to be made.
local function with_making(lines, learned)
  local to_make = M.to_make(learned)
  if #to_make > 0 then
    lines[#lines + 1] = "Not there yet, and to be made first:"
  end
  for _, line in ipairs(to_make) do
    lines[#lines + 1] = "    " .. line
  end
  return lines
end

local function is_same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  for key, value in pairs(a) do
    if not is_same(value, b[key]) then
      return false
    end
  end
  for key in pairs(b) do
    if a[key] == nil then
      return false
    end
  end
  return true
end

--- Both lists, each entry once, as it is spelled first.
local function joined(list, more, home)
  local all, seen = {}, {}
  for _, items in ipairs({ list, more }) do
    for _, item in ipairs(items) do
      local tree = path.expand_home(item, home)
      if not seen[tree] then
        seen[tree] = true
        all[#all + 1] = item
      end
    end
  end
  return all
end

--- Writable trees of the configuration in force: all of them as long as the command was not seen to its end.
local function kept_writable(learned, policy)
  local kept, used = {}, lists.set(learned.caches)
  for _, item in ipairs(policy.config.writable or {}) do
    local tree = core.real_path(path.expand_home(item, policy.context.home))
    if not learned.is_whole or used[tree] then
      kept[#kept + 1] = item
    end
  end
  return kept
end

--- Whether a cache of the policy's own was written: not a tree that the configuration names.
local function uses_caches(learned, policy)
  local named = {}
  for _, item in ipairs(policy.config.writable or {}) do
    named[core.real_path(path.expand_home(item, policy.context.home)) or ""] = true
  end
  for _, tree in ipairs(learned.caches) do
    if not named[tree] then
      return true
    end
  end
  return false
end

local GIT = { read = 1, commit = 2, write = 3 }

--- The configuration in force, with what was learned: given as --config it is the only one.
---@param learned procage.Learned
---@param policy procage.Policy
---@return table config  what differs from the defaults
function M.config(learned, policy)
  local home, current = policy.context.home, policy.config
  local config, defaults = {}, assert(config_room.parse({}))
  for _, key in ipairs(config_room.keys) do
    if current[key] ~= nil and not is_same(current[key], defaults[key]) then
      config[key] = current[key]
    end
  end
  config.policy = policy.name ~= defaults.policy and shorten(policy.name, home) or nil
  config.network = learned.network or current.network or defaults.network
  config.git = learned.git
  config.caches = uses_caches(learned, policy) and current.caches or "none"
  if not learned.is_whole then
    -- What it would have done next nobody knows.
    config.git = GIT[current.git or "read"] > GIT[config.git] and current.git or config.git
    config.caches = current.caches or defaults.caches
  end
  config.writable = joined(kept_writable(learned, policy), shortened(learned.write, home), home)
  config.readable = joined(current.readable or {}, shortened(learned.readable, home), home)
  return config
end

local toml_value

local function toml_list(list)
  local texts = {}
  for i, item in ipairs(list) do
    texts[i] = toml_value(item)
  end
  return ("[%s]"):format(table.concat(texts, ", "))
end

local function toml_table(value)
  local keys, texts = {}, {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  for i, key in ipairs(keys) do
    texts[i] = ("%s = %s"):format(key:find("^[%w_-]+$") and key or quote.toml(key), toml_value(value[key]))
  end
  return #texts > 0 and ("{ %s }"):format(table.concat(texts, ", ")) or "{}"
end

--- A value of a configuration; a name that is no UTF-8 cannot stand in TOML.
function toml_value(value)
  if type(value) == "table" and (#value > 0 or next(value) == nil) then
    return toml_list(value)
  elseif type(value) == "table" then
    return toml_table(value)
  elseif type(value) == "string" then
    return quote.toml(value) or '""'
  end
  return tostring(value)
end

--- Names that TOML cannot hold are for a policy script (--as policy).
local function held_by_toml(list)
  local held = {}
  for _, item in ipairs(list) do
    held[#held + 1] = utf8.len(item) and item or nil
  end
  return held
end

--- The keys that are told whatever they are, and then those that differ from the default.
local ALWAYS = { policy = 1, network = 2, git = 3, caches = 4, writable = 5, readable = 6 }

local function order_of(config)
  local keys = {}
  for _, key in ipairs(config_room.keys) do
    local value = config[key]
    local is_empty = type(value) == "table" and next(value) == nil
    keys[#keys + 1] = value ~= nil and not is_empty and key or nil
  end
  table.sort(keys, function(a, b)
    local first, second = ALWAYS[a] or 10, ALWAYS[b] or 10
    return first < second or first == second and a < b
  end)
  return keys
end

---@return string text  a speccoder.toml
function M.toml(learned, policy)
  local config = M.config(learned, policy)
  config.writable, config.readable = held_by_toml(config.writable), held_by_toml(config.readable)
  local lines = { comment(with_making(M.account(learned, policy), learned), "#") }
  table.move({ "", "[sandbox]" }, 1, 2, #lines + 1, lines)
  for _, text in ipairs(learned.network and learned.connections or {}) do
    lines[#lines + 1] = comment({ "the network: " .. text }, "#")
  end
  for _, key in ipairs(order_of(config)) do
    local value = config[key]
    if key == "network" and type(value) == "table" then
      value = value.ports
    end
    lines[#lines + 1] = ("%s = %s"):format(key, toml_value(value))
  end
  return table.concat(lines, "\n") .. "\n"
end

local SCRIPT = [==[
%s

local path = require("procage.path")
local profile = require("procage.profile")
local rows = require("policies.rows")

--- Read outside the workspace, and nothing else.
local READ = {%s}

--- Written outside the workspace.
local WRITE = {%s}

---@param config procage.Config
---@param ctx procage.Context
return function(config, ctx)
  local p = profile.new()
  local lift = rows.lift(config.lift, ctx)

  p:allow_read(path.expand_homes(READ, ctx.home))
  p:allow_read(path.expand_homes(config.readable, ctx.home))
  p:workspace(ctx.workspace)
  p:allow_write(path.expand_homes(WRITE, ctx.home))
  p:allow_write(path.expand_homes(config.writable, ctx.home))
  p:tmp("private")

  p:hidden(rows.hidden(ctx, lift))
  p:hidden(path.expand_homes(config.hidden, ctx.home))
  p:handoff(rows.handoff(lift, %q))
  p:git(%q)
  p:network(%s)
  p:env({ drop = rows.env_drop(lift, config.env.keep), set = rows.env_set() })
  p:env(config.env)
  p:limits(config.limits)

  -- Gaps that the policy it was learned under lives with.
  p:accept({%s}, config.accept)
  rows.check_lifted(lift, config.lift, ctx)
  p:lift(lift.shown)
  return p
end
]==]

local function lua_list(list)
  if #list == 0 then
    return ""
  end
  return "\n  " .. table.concat(quoted(list), ",\n  ") .. ",\n"
end

--- Where programs and their libraries are, though nobody opens a directory to start one.
local PROGRAMS = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc" }

---@return string text  a policy script
function M.script(learned, policy)
  local home = policy.context.home
  local read = {}
  for _, tree in ipairs(learned.read) do
    read[tree] = true
  end
  for _, tree in ipairs(PROGRAMS) do
    read[tree] = core.stat(tree) and true or nil
  end
  for _, tree in ipairs(learned.caches) do
    read[tree] = true
  end
  for _, tree in ipairs(learned.readable) do
    read[tree] = true
  end
  local write = table.move(learned.write, 1, #learned.write, 1, {})
  table.move(learned.caches, 1, #learned.caches, #write + 1, write)
  local network = learned.network or policy.config.network
  local text = type(network) == "table" and ("{ ports = { %s } }"):format(table.concat(network.ports, ", "))
    or ("%q"):format(network)
  local head = "--- Learned from one command: look at it before you trust it.\n---\n"
    .. comment(with_making(M.account(learned, policy), learned), "---")
  return SCRIPT:format(head, lua_list(shortened(learn.outermost(read), home)), lua_list(shortened(write, home)), learned.git,
    learned.git, text, lua_list(policy.profile.accept))
end

return M
