--- Spettro's sandbox: from four settings, on the command line and in spettro.agents.toml, to a policy that never changes again,
--- with a tag for a header and the answer to "may this file be written" for tools that run in the harness itself.
---
---     local sandbox = assert(spettro.load({ root = "/srv/project", manifest = "/srv/project/spettro.agents.toml" }))
---     sandbox:run({ "make" })
---     sandbox:check("file-write", "/etc/passwd")   --> nil, "file-write: /etc/passwd is not writable"

local check = require("procage.check")
local core = require("procage.core")
local disk = require("procage.disk")
local environ = require("procage.environ")
local json = require("procage.json")
local model = require("procage.model")
local nearest = require("procage.nearest")
local path = require("procage.path")
local policies = require("procage.runner")
local toml = require("procage.toml")

local M = {}

--- The file that Spettro keeps its settings in, and its table.
M.FILE, M.TABLE = "spettro.agents.toml", "runtime"

---@class procage.SpettroSettings  as the operator wrote them
---@field sandbox_mode? string
---@field sandbox_net? string
---@field sandbox_allow_dirs? string[]
---@field sandbox_allow_read_dirs? string[]

local KEYS = { "sandbox_mode", "sandbox_net", "sandbox_allow_dirs", "sandbox_allow_read_dirs" }

local MODES = { "off", "full-access", "workspace-write", "read-only" }
local NETS = { "all", "localhost", "none", "ports:443,8080" }

---@class procage.SpettroResolved
---@field mode "off"|"workspace-write"|"read-only"
---@field network procage.Network
---@field writable string[]  absolute
---@field readable string[]

-- ---- The settings, pure but for the directories --------------------------------------------------------------------------

local function trimmed(text)
  return text:lower():match("^%s*(.-)%s*$")
end

---@param text string
---@param key string
---@return string? mode
---@return string? message
local function read_mode(text, key)
  local mode = trimmed(text)
  local bad = check.one_of(MODES)(mode, key)
  if bad then
    return nil, bad
  end
  return mode == "full-access" and "off" or mode
end

---@param text string
---@param key string
---@return procage.Network? network
---@return string? message
local function read_net(text, key)
  local net = trimmed(text)
  local list = net:match("^ports:(.*)$")
  if not list then
    local bad = check.one_of(NETS)(net, key)
    if bad then
      return nil, bad
    end
    return net == "localhost" and "loopback" or net
  end
  local ports, seen = {}, {}
  for item in (list .. ","):gmatch("([^,]*),") do
    item = item:match("^%s*(.-)%s*$")
    local port = item:find("^%d+$") and math.tointeger(tonumber(item))
    if item ~= "" and (not port or port < 1 or port > 65535) then
      return nil, check.mismatch(key, "a port, 1..65535, or ports joined by commas", item)
    elseif port and not seen[port] then
      ports[#ports + 1], seen[port] = port, true
    end
  end
  if #ports == 0 then
    return nil, ("%s: %s lists no ports"):format(key, check.show(text))
  end
  table.sort(ports)
  return { ports = ports }
end

--- A directory as it is named: absolute, and there.
---@param text string
---@param key string
---@param base string  what a relative one starts from
---@param home string
---@return string? directory
---@return string? message
local function read_directory(text, key, base, home)
  local named = path.join(base, path.expand_home(text, home))
  if path.has_parent_step(named) then
    -- Only the disk knows where it leads.
    named = core.real_path(named) or named
  end
  local resolved, exists = disk.resolve(named)
  if not exists then
    return nil, ("%s: %s: no such file or directory"):format(key, text)
  elseif disk.kind(resolved) ~= "directory" then
    return nil, ("%s: %s: not a directory"):format(key, text)
  end
  return named
end

---@class procage.SpettroLayer
---@field settings procage.SpettroSettings
---@field name fun(key: string): string  what messages call a key
---@field base string  what relative directories start from

--- The union of what the layers list, each directory once.
local function directories(layers, key, home)
  local found, seen = {}, {}
  for _, layer in ipairs(layers) do
    for i, text in ipairs(layer.settings[key] or {}) do
      if text:find("%S") then
        local directory, message = read_directory(text, ("%s[%d]"):format(layer.name(key), i), layer.base, home)
        if not directory then
          return nil, message
        end
        found[#found + 1] = not seen[directory] and directory or nil
        seen[directory] = true
      end
    end
  end
  return found
end

--- The first layer that says anything of a key; an empty text says nothing.
local function first(layers, key, read, absent)
  for _, layer in ipairs(layers) do
    local text = layer.settings[key]
    if text and text:find("%S") then
      return read(text, layer.name(key))
    end
  end
  return absent
end

--- Mode and network, each by itself: the first layer that says it, else off and all. Directories are the union.
---@param layers procage.SpettroLayer[]  the command line, then the manifest
---@param home string
---@return procage.SpettroResolved? resolved
---@return string? message
function M.resolve(layers, home)
  local mode, message = first(layers, "sandbox_mode", read_mode, "off")
  local network, writable, readable
  if mode then
    network, message = first(layers, "sandbox_net", read_net, "all")
  end
  if network then
    writable, message = directories(layers, "sandbox_allow_dirs", home)
  end
  if writable then
    readable, message = directories(layers, "sandbox_allow_read_dirs", home)
  end
  if not readable then
    return nil, message
  end
  return { mode = mode, network = network, writable = writable, readable = readable }
end

local SHORT_MODES = { ["workspace-write"] = "ws", ["read-only"] = "ro" }

--- What is shown in a header: `sandbox:ws+net:none`; nil where nothing is confined.
---@param resolved procage.SpettroResolved
---@return string?
function M.tag(resolved)
  local network = resolved.network
  local parts = { SHORT_MODES[resolved.mode] }
  if type(network) == "table" then
    parts[#parts + 1] = "net:" .. table.concat(network.ports, ",")
  elseif network ~= "all" then
    parts[#parts + 1] = network == "loopback" and "net:lo" or "net:" .. network
  end
  return #parts > 0 and "sandbox:" .. table.concat(parts, "+") or nil
end

--- What the policy `spettro` is loaded with.
---@param resolved procage.SpettroResolved
---@return table
function M.configuration(resolved)
  return {
    options = { mode = resolved.mode },
    network = resolved.network,
    writable = resolved.writable,
    readable = resolved.readable,
  }
end

-- ---- The manifest --------------------------------------------------------------------------------------------------------

local text_list = check.list(check.type("string", "a text"))
local key_checks = {
  sandbox_mode = check.type("string", "a text"),
  sandbox_net = check.type("string", "a text"),
  sandbox_allow_dirs = text_list,
  sandbox_allow_read_dirs = text_list,
}

--- Our keys of [runtime]; the others are Spettro's own. One that begins like ours and is none is a mistake: it would confine
--- nothing in silence.
---@param text string
---@param source string  the file
---@return procage.SpettroSettings? settings
---@return string? message  with the line
---@return (fun(key: string): string)? name  what messages call a key
function M.read_manifest(text, source)
  local value, mark = toml.parse(text, source)
  if not value then
    return nil, mark --[[@as string]]
  end
  ---@cast mark procage.TomlMark
  local runtime = value[M.TABLE]
  if runtime == nil then
    runtime = {}
  elseif mark.items[M.TABLE].kind ~= "table" then
    return nil, ("%s:%d: %s: expected a table"):format(source, mark.items[M.TABLE].line, M.TABLE)
  end
  local function name(key)
    return ("%s:%d: %s.%s"):format(source, toml.find(mark, M.TABLE .. "." .. key).line, M.TABLE, key)
  end
  local names, settings = {}, {}
  for key in pairs(runtime) do
    names[#names + 1] = key
  end
  table.sort(names)
  for _, key in ipairs(names) do
    local bad
    if key_checks[key] then
      bad = key_checks[key](runtime[key], name(key))
      settings[key] = runtime[key]
    elseif key:find("^sandbox") then
      bad = ("%s: unknown key%s"):format(name(key), nearest.hint(key, KEYS))
    end
    if bad then
      return nil, bad
    end
  end
  return settings, nil, name
end

---@param file string
---@param base string
---@return procage.SpettroLayer?
---@return string? message
local function manifest_layer(file, base)
  local handle, message = io.open(file, "rb")
  if not handle then
    return nil, message
  end
  local text, why = handle:read("a")
  handle:close()
  if not text then
    return nil, ("%s: %s"):format(file, why)
  end
  local settings, bad, name = M.read_manifest(text, file)
  if not settings then
    return nil, bad
  end
  return { settings = settings, name = name, base = base }
end

--- The layers of a command line and a manifest.
---@param flags procage.SpettroSettings
---@param manifest? string  a file
---@param cwd string
---@return procage.SpettroLayer[]?
---@return string? message
function M.layers(flags, manifest, cwd)
  local flag_names = {
    sandbox_mode = "--sandbox",
    sandbox_net = "--sandbox-net",
    sandbox_allow_dirs = "--sandbox-allow-dir",
    sandbox_allow_read_dirs = "--sandbox-allow-read-dir",
  }
  local layers = {
    {
      settings = flags,
      name = function(key)
        return flag_names[key]
      end,
      base = cwd,
    },
  }
  if manifest then
    local layer, message = manifest_layer(manifest, path.parent(manifest) or "/")
    if not layer then
      return nil, message
    end
    layers[2] = layer
  end
  return layers
end

-- ---- The sandbox ---------------------------------------------------------------------------------------------------------

--- What is inside each sandbox: nobody else reaches it, so nothing of a sandbox changes once it is made.
local inside = setmetatable({}, { __mode = "k" })

---@class procage.SpettroSandbox
---@field tag? string
---@field mode "off"|"workspace-write"|"read-only"
local methods = {}

--- As policy:run; nothing of the sandbox is written to the command's streams.
---@param cmd table
function methods:run(cmd)
  return inside[self].policy:run(cmd)
end

---@param cmd table
function methods:start(cmd)
  return inside[self].policy:start(cmd)
end

---@param argv string[]
---@param options? table
function methods:wrap(argv, options)
  return inside[self].policy:wrap(argv, options)
end

---@return procage.Row[] report
---@return procage.Profile fitted  copies
function methods:explain()
  local report, fitted = inside[self].policy:explain()
  return json.plain(report), json.plain(fitted)
end

--- Whether a command of this sandbox could write a file, or make it and the directories that are missing: links followed, the
--- disk as it is now.
---@param file string  absolute
---@return boolean
function methods:writable_path(file)
  local own = inside[self]
  if type(file) ~= "string" or not path.is_absolute(file) or file:find("\0", 1, true) then
    error("writable_path: an absolute path is expected", 2)
  elseif own.policy.profile.unconfined then
    return true
  end
  local view = own.policy:view()
  return view ~= nil and model.allows(view, "write", file) == true
end

--- For a tool that runs in the harness: nil and what it answers, when a file is not writable.
---@param tool string
---@param file string
---@return true? ok
---@return string? message
function methods:check(tool, file)
  if self:writable_path(file) then
    return true
  end
  return nil, ("%s: %s is not writable"):format(tool, file)
end

--- The harness's own backstop (confine.lua), with the trees of this sandbox.
---@param options? { writable?: string[] }
function methods:confine_parent(options)
  return require("procage.confine").parent(inside[self].policy.profile, options)
end

local sandbox_meta = {
  __name = "procage.SpettroSandbox",
  __metatable = false,
  __index = function(self, key)
    if methods[key] then
      return methods[key]
    end
    local own = inside[self]
    return own.shown[key]
  end,
  __newindex = function()
    error("a sandbox does not change once it is made", 2)
  end,
}

local load_types = {
  root = "string", manifest = "string", mode = "string", net = "string", allow_dirs = "table", allow_read_dirs = "table",
  accept = "table", home = "string", env = "table", cwd = "string", host = "table",
}

---@class procage.SpettroOptions
---@field root string
---@field manifest? string  a file
---@field mode? string  this and the next three: what the command line says
---@field net? string
---@field allow_dirs? string[]
---@field allow_read_dirs? string[]
---@field cwd? string  what directories of the command line start from; default: the root
---@field accept? string[]
---@field home? string
---@field env? table<string, string>
---@field host? procage.Host

--- Makes the sandbox of a session.
---@param options procage.SpettroOptions
---@return procage.SpettroSandbox?
---@return string? message
---@return any code
function M.load(options)
  for key, value in pairs(options) do
    if not load_types[key] then
      error(("spettro.load: unknown option %s"):format(tostring(key)), 2)
    elseif type(value) ~= load_types[key] then
      error(("spettro.load: %s: a %s is expected"):format(key, load_types[key]), 2)
    end
  end
  if not options.root then
    error("spettro.load: root, the workspace, is missing", 2)
  end
  local env = options.env or environ.own()
  local layers, message = M.layers({
    sandbox_mode = options.mode,
    sandbox_net = options.net,
    sandbox_allow_dirs = options.allow_dirs,
    sandbox_allow_read_dirs = options.allow_read_dirs,
  }, options.manifest, options.cwd or options.root)
  local resolved
  if layers then
    resolved, message = M.resolve(layers, options.home or env.HOME or "/")
  end
  if not resolved then
    return nil, message, "config"
  end
  local config = M.configuration(resolved)
  config.accept = options.accept
  local policy, why, code = policies.load("spettro", config, {
    root = options.root,
    home = options.home,
    env = env,
    host = options.host,
    -- A command that could write it would decide the next session.
    read_only = { options.manifest },
  })
  if not policy then
    return nil, why, code
  end
  local sandbox = setmetatable({}, sandbox_meta)
  inside[sandbox] = { policy = policy, shown = { tag = M.tag(resolved), mode = resolved.mode } }
  return sandbox
end

return M
