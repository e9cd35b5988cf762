--- Secrets in output: values of variables with secret names, and lines of key files, become `[redacted:NAME]`, in the spellings
--- that programs print them in. The search is core/mask.c; here is what is searched for.
---
---     local masker = assert(mask.new({ home = home, root = root }))
---     local shown = masker:outcome(policy:run({ "make" }))
---     local stream = masker:stream()          -- as it comes: feed(bytes), and finish() at the end
---
--- Sources of the spellings: RFC 4648 (base64, base16), RFC 3986 2.1 (percent-encoding), RFC 8259 7 (JSON strings).

local core = require("procage.core")
local disk = require("procage.disk")
local env = require("procage.env")
local environ = require("procage.environ")
local inputs = require("procage.inputs")
local list = require("procage.list")
local nearest = require("procage.nearest")
local path = require("procage.path")
local shipped = require("procage.shipped")

local M = {}

---@class procage.MaskOptions
---@field env? table<string, string>|false  variables; default: this process's; false: none
---@field names? string[]  patterns of further variables
---@field keep? string[]  names of variables that are shown all the same
---@field values? table<string, string>  name -> secret
---@field files? string[]  key files; each must be there
---@field home? string  known key files are looked for here
---@field root? string  and here

---@class procage.Masker
---@field names string[]  what is masked, sorted
---@field notes string[]  what is not, and why
local Masker = {}
Masker.__index = Masker

--- Shorter ones are words, and would be masked all over the output.
M.min_bytes = 8

local MAX_FILE, MAX_FILES = 65536, 256
local E2BIG = 7

-- ---- What is secret -------------------------------------------------------------------------------------------------------

local function trim(text)
  return text:match("^%s*(.-)%s*$")
end

local function is_number(text)
  return text:find("^[+-]?%d+$") ~= nil or text:find("^[+-]?%d+%.%d*$") ~= nil
end

--- The name as it is shown: no bracket, no control character.
local function shown_as(name)
  return ("[redacted:%s]"):format((name:gsub("[^%w_./-]", "_")))
end

local function decode_percent(text)
  return (text:gsub("%%(%x%x)", function(digits)
    return string.char(tonumber(digits, 16))
  end))
end

--- One line of secret text, and the password in it where it is an address.
local function add(self, name, text)
  local secret = trim(text)
  if #secret < M.min_bytes or is_number(secret) or secret:find("^%-%-%-%-%-[A-Z0-9 ]+%-%-%-%-%-$") then
    return
  end
  if not self.seen[secret] then
    self.seen[secret] = true
    self.pairs[#self.pairs + 1] = { secret, shown_as(name) }
    self.named[name] = true
  end
  local password = secret:match("^%a[%w+.-]*://[^/@:]*:([^/@]+)@")
  if password and password ~= secret then
    add(self, name, password)
    add(self, name, decode_percent(password))
  end
end

--- A text of several lines as a whole too: its lines may be short.
local function add_lines(self, name, text)
  add(self, name, text)
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    add(self, name, line)
  end
end

local function is_secret_name(self, name)
  for _, pattern in ipairs(self.patterns) do
    if env.matches(name, pattern) then
      return true
    end
  end
  return false
end

local function unquote(text)
  local value = trim(text):gsub("[,;]$", "")
  return value:match('^"(.*)"$') or value:match("^'(.*)'$") or value
end

--- What a line assigns to a secret name: a program prints the value, not the line.
local function add_assigned(self, name, line)
  for key, value in line:gmatch('"([%w_.-]+)"%s*:%s*"([^"]*)"') do
    if is_secret_name(self, key) then
      add(self, name, value)
    end
  end
  local key, value = line:match("^%s*(.-)%s*=%s*(.*)$")
  if not key then
    key, value = line:match("^%s*([%w_.-]+)%s*:%s*(.*)$")
  end
  key = key and key:gsub("^export%s+", "")
  if key and is_secret_name(self, key) then
    add(self, name, unquote(value))
  end
  for word in line:gmatch("password%s+(%S+)") do
    add(self, name, word)
  end
end

--- The lines of a key file. What is no text has none.
---@return boolean? ok
---@return string? message
local function add_file(self, name, file)
  local text, is_cut = core.read_file(file, MAX_FILE)
  if not text then
    return nil, tostring(is_cut)
  elseif is_cut then
    return nil, ("%s: longer than %d bytes"):format(file, MAX_FILE)
  elseif text:find("\0", 1, true) then
    return nil, file .. ": no text"
  end
  for line in (text .. "\n"):gmatch("([^\r\n]*)\r?\n") do
    add(self, name, line)
    add_assigned(self, name, line)
  end
  return true
end

--- Key files that are known by name, those that there are.
---@return string[]? files
---@return string? message
local function known_files(options)
  local wanted, unwanted = {}, {}
  for _, row in ipairs(shipped.load("lists").key_files) do
    local base = row.path:sub(1, 2) == "~/" and options.home or options.root
    if base then
      table.insert(row.unless and unwanted or wanted, row.path)
    end
  end
  local limits = inputs.default_limits()
  local where = { home = options.home, limits = limits }
  local root = options.root and (disk.resolve(options.root)) or "/"
  local found, message = inputs.find(root, wanted, where)
  if not found then
    return nil, message --[[@as string]]
  end
  local left_out = inputs.find(root, unwanted, where) or {}
  local files = {}
  for _, full in pairs(found) do
    files[full] = true
  end
  for _, full in pairs(left_out) do
    files[full] = nil
  end
  local regular = {}
  for full in pairs(files) do
    local facts = core.stat(full)
    if facts and facts.kind == "file" then
      regular[#regular + 1] = core.real_path(full) or full
    end
  end
  table.sort(regular)
  return regular
end

-- ---- Options --------------------------------------------------------------------------------------------------------------

local KEYS = {
  env = "table", names = "table", keep = "table", values = "table", files = "table", home = "string", root = "string",
}

local function check_options(options)
  local known = list.keys(KEYS)
  for key, value in pairs(options) do
    if not KEYS[key] then
      error(("mask: unknown key %s%s"):format(tostring(key), nearest.hint(tostring(key), known)), 3)
    elseif type(value) ~= KEYS[key] and not (key == "env" and value == false) then
      error(("mask: %s: a %s is expected"):format(key, KEYS[key]), 3)
    end
  end
end

--- Where a file lies is no secret, whatever the name of the variable: AWS_CA_BUNDLE.
local function is_path(text)
  return path.is_absolute(text) and not text:find("\0", 1, true) and core.stat(text) ~= nil
end

--- Of equal texts under two names the first by name is shown, whatever the order of a table.
local function add_variables(self, options)
  local kept, variables = list.set(options.keep or {}), options.env
  if variables == nil then
    variables = environ.own()
  end
  for _, name in ipairs(list.keys(variables or {})) do
    if not kept[name] and is_secret_name(self, name) and not is_path(variables[name]) then
      add_lines(self, name, variables[name])
    end
  end
  for _, name in ipairs(list.keys(options.values or {})) do
    add_lines(self, name, options.values[name])
  end
end

---@param options? procage.MaskOptions
---@return procage.Masker?
---@return string? message  a key file cannot be read, or there is too much to mask
function M.new(options)
  options = options or {}
  check_options(options)
  local self = setmetatable({ seen = {}, pairs = {}, named = {}, patterns = {}, names = {}, notes = {} }, Masker)
  for _, row in ipairs(shipped.load("lists").env_drop) do
    table.insert(self.patterns, row.pattern)
  end
  list.append(self.patterns, options.names or {})
  add_variables(self, options)
  for _, file in ipairs(options.files or {}) do
    local ok, message = add_file(self, path.basename(file), file)
    if not ok then
      return nil, "mask: " .. message
    end
  end
  if options.home or options.root then
    local files, why = known_files(options)
    if not files then
      return nil, "mask: " .. why
    end
    for i, file in ipairs(files) do
      local ok, message = nil, ("%s: more than %d key files"):format(file, MAX_FILES)
      if i <= MAX_FILES then
        ok, message = add_file(self, path.basename(file), file)
      end
      if not ok then
        self.notes[#self.notes + 1] = "not masked: " .. message
      end
    end
  end
  -- In one order, whatever that of a table was.
  table.sort(self.pairs, function(a, b)
    return a[2] .. a[1] < b[2] .. b[1]
  end)
  local made, message, code = core.mask(self.pairs)
  if not made then
    if code == E2BIG then
      message = "more than 262144 bytes of secrets: leave some files out"
    end
    return nil, "mask: " .. message
  end
  self.mask = made
  self.names = list.keys(self.named)
  -- Nobody needs the plain texts any more.
  self.seen, self.pairs, self.named = nil, nil, nil
  return self
end

-- ---- Masking --------------------------------------------------------------------------------------------------------------

--- For output as it comes. `feed` gives what can be shown by now: all but what may be the beginning of a secret.
---@return { feed: fun(self: any, bytes: string): string, finish: fun(self: any, is_cut?: boolean): string }
function Masker:stream()
  return self.mask:stream()
end

---@param text string
---@return string
function Masker:text(text)
  local stream = self.mask:stream()
  return stream:feed(text) .. stream:finish()
end

--- Of the line that a cut goes through no more than its other half is known: neither half is shown.
local function around_cut(text, cut)
  local head = text:sub(1, cut):match("^(.*\n)[^\n]*$") or ""
  local tail = text:sub(cut + 1):match("^[^\n]*\n(.*)$") or ""
  return head, tail
end

local function masked_stream(self, text, cut)
  if not text then
    return nil
  elseif not cut then
    return self:text(text)
  end
  local head, tail = around_cut(text, cut)
  return self:text(head) .. "[redacted: the lines around what was dropped]\n" .. self:text(tail)
end

--- A copy of any data, its texts masked; keys stay.
local function masked(self, value)
  if type(value) == "string" then
    return self:text(value)
  elseif type(value) ~= "table" then
    return value
  end
  local copy = {}
  for key, item in pairs(value) do
    copy[key] = masked(self, item)
  end
  return copy
end

--- An outcome as it may be shown: output, denials, notices and what else is text. A copy; the report is the same.
---@param outcome procage.Outcome
---@return procage.Outcome
function Masker:outcome(outcome)
  local copy = {}
  for key, value in pairs(outcome) do
    if key == "stdout" or key == "stderr" then
      copy[key] = masked_stream(self, value, outcome[key .. "_cut_at"])
    elseif key == "report" then
      copy[key] = value
    else
      copy[key] = masked(self, value)
    end
  end
  copy.stdout_cut_at, copy.stderr_cut_at = nil, nil
  return copy
end

--- A function for `on_output` that tells another one what may be shown; and one to call at the end.
---@param on_output fun(stream: "stdout"|"stderr", bytes: string)
---@return fun(stream: "stdout"|"stderr", bytes: string) on_output
---@return fun() finish
function Masker:wrap_output(on_output)
  local streams = { stdout = self.mask:stream(), stderr = self.mask:stream() }
  local function tell(name, bytes)
    if bytes ~= "" then
      on_output(name, bytes)
    end
  end
  return function(name, bytes)
    tell(name, streams[name]:feed(bytes))
  end, function()
    tell("stdout", streams.stdout:finish())
    tell("stderr", streams.stderr:finish())
  end
end

--- The masker that a run with `mask = true` gets: what its caller's environment, home and workspace hold.
---@param policy procage.Policy
---@param extra? table<string, string>  variables that the command is given
---@return procage.Masker?
---@return string? message
function M.of_policy(policy, extra)
  local variables = {}
  for _, source in ipairs({ policy.caller_env, policy.fitted.env.set, extra or {} }) do
    for name, value in pairs(source) do
      variables[name] = value
    end
  end
  return M.new({ env = variables, home = policy.context.home, root = policy.profile.workspace })
end

return M
