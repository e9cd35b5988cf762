--- The prompt: reads Lua, an expression or statements over as many lines as they take, and prints what comes out.

local complete = require("procage.repl.complete")
local core = require("procage.core")
local environ = require("procage.environ")
local errors = require("procage.repl.errors")
local history_room = require("procage.repl.history")
local names = require("procage.repl.names")
local path = require("procage.path")
local pretty = require("procage.pretty")
local resolve = require("procage.resolve")
local writer = require("procage.writer")

local M = {}

local PROMPT, MORE = "> ", ">> "

-- ---- Chunks ----------------------------------------------------------------------------------------------------------------

--- Compiles an expression or statements. `more`: it is the beginning of something.
---@param text string
---@param name string
---@param env table
---@return function? chunk
---@return string? message
---@return boolean? more
function M.compile(text, name, env)
  local expression, unfinished = load("return " .. text, name, "t", env)
  if expression then
    return expression
  end
  local chunk, message = load(text, name, "t", env)
  if chunk then
    return chunk
  end
  return nil, message, (message:find("<eof>$") or unfinished:find("<eof>$")) ~= nil
end

-- ---- Where lines come from -------------------------------------------------------------------------------------------------

---@class procage.repl.Input
---@field read fun(self: procage.repl.Input, prompt: string): string|false|nil  false: Ctrl-C; nil: the end
---@field remember fun(self: procage.repl.Input, entry: string)
---@field columns fun(self: procage.repl.Input): integer
---@field close fun(self: procage.repl.Input)
---@field notice? string

--- Names and fields, and the words in quotes that some functions take.
local function completer(env)
  local lists = {
    { after = "%f[%w_]load%s*%(?%s*[\"']", words = names.policies },
    {
      after = "%f[%w_]why%s*%(%s*[\"']",
      words = function()
        return { "bind", "connect", "exec", "read", "write" }
      end,
    },
  }
  return function(text)
    local insert, choices = complete.complete(env, text, lists)
    if #choices > 0 then
      local shown = table.move(choices, 1, math.min(#choices, 200), 1, {})
      local more = #choices > #shown and (" … %d more"):format(#choices - #shown) or ""
      io.stdout:write("\n")
      writer.out(table.concat(shown, "  "), more)
      io.stdout:flush()
    end
    return insert, #choices > 0
  end
end

---@param line table  procage.line
---@param env table
---@param context { home: string, env: table<string, string>, uid: integer }?
---@return procage.repl.Input? input
---@return string? message
local function edited(line, env, context)
  local editor, message = line.open(history_room.MAX_ENTRIES)
  if not editor then
    return nil, message
  end
  local completes = completer(env)
  local directory = context and resolve.make_state_directory(context)
  local history = directory and history_room.open(path.join(directory, "history"), line)
  for _, entry in ipairs(history and history.entries or {}) do
    editor:remember(entry)
  end
  local input = {}
  function input:read(prompt)
    return editor:read(prompt, completes)
  end
  function input:remember(entry)
    if history and history:takes(entry) then
      editor:remember(entry)
      local kept, why = history:add(entry)
      if kept == nil then
        history = nil
        writer.err("procage-lua: the history is not kept: ", why)
      end
    end
  end
  function input:columns()
    return editor:columns()
  end
  function input:close()
    editor:close()
  end
  if not directory then
    input.notice = "the history is not kept: ~/.local/state/procage is not yours, or cannot be made"
  end
  return input
end

--- Lines as the terminal gives them.
---@return procage.repl.Input
local function plain(why)
  local input = { notice = "plain input, without editing and completion: " .. why }
  function input:read(prompt)
    io.stdout:write(prompt)
    io.stdout:flush()
    local ok, text = core.interruptible(io.stdin.read, function(message)
      return message
    end, io.stdin, "l")
    if not ok then
      io.stdout:write("\n")
      return false
    end
    return text
  end
  function input:remember() end
  function input:columns()
    return 80
  end
  function input:close() end
  return input
end

local function open_input(env, context)
  local is_found, line = pcall(require, "procage.line")
  if not is_found then
    return plain("libedit is not installed (Debian: libedit2)")
  end
  local input, message = edited(line, env, context)
  return input or plain(message)
end

-- ---- The loop --------------------------------------------------------------------------------------------------------------

---@class procage.repl.Session
---@field env table
---@field input procage.repl.Input
---@field view procage.ErrorView
---@field count integer

--- One entry, of as many lines as it takes.
---@return string|false|nil text
---@return function? chunk
---@return string? message
local function read_entry(session)
  local text = session.input:read(PROMPT)
  if not text then
    return text
  end
  session.count = session.count + 1
  local name = ("=line %d"):format(session.count)
  if text:sub(1, 1) == "=" then
    text = "return " .. text:sub(2)
  end
  while true do
    local chunk, message, more = M.compile(text, name, session.env)
    if chunk or not more then
      session.view.sources[name] = text
      return text, chunk, message
    end
    local next_line = session.input:read(MORE)
    if next_line == false then
      return false
    elseif next_line == nil then
      return text, nil, message
    end
    text = text .. "\n" .. next_line
  end
end

local function print_values(session, values)
  local shown = {}
  for i = 2, values.n do
    shown[#shown + 1] = names.text(values[i], session.input:columns())
  end
  if #shown > 0 then
    session.env._ = values[2]
    writer.each(writer.out, shown)
  end
end

local function evaluate(session, chunk)
  local values = table.pack(core.interruptible(function()
    local results = table.pack(chunk())
    -- Here, so that a long answer can be interrupted too.
    print_values(session, table.pack(true, table.unpack(results, 1, results.n)))
  end, errors.handler(session.view)))
  if not values[1] then
    io.stdout:flush()
    writer.each(writer.err, table.concat(type(values[2]) == "table" and values[2] or { tostring(values[2]) }, "\n  "))
  end
end

---@param host procage.Host
local function banner(host)
  local tier = host.userns and host.mountns and "namespaces" or "no namespaces"
  local landlock = host.landlock_abi > 0 and "Landlock ABI " .. host.landlock_abi or "no Landlock"
  return ("procage-lua %s, %s %s, %s, %s. help() lists what is ready; Ctrl-D leaves.\n"):format(
    require("procage.core").version,
    host.system,
    pretty.printable(host.kernel),
    landlock,
    tier
  )
end

--- Whose state directory; nil without a home.
local function state_place()
  local variables = environ.own() or {}
  local home = variables.HOME
  if home and path.is_absolute(home) then
    return { home = home, env = variables, uid = core.probe().uid }
  end
end

---@return integer status
function M.run()
  -- Letters beyond ASCII have a width; nothing else of the locale has a say.
  os.setlocale("", "ctype")
  local session = { count = 0 }
  local env = names.environment({
    width = function()
      return session.input:columns()
    end,
    echo = function(stream, bytes)
      local to = stream == "stderr" and io.stderr or io.stdout
      to:write(bytes)
      to:flush()
    end,
    tell = function(text)
      writer.err("procage-lua: ", text)
    end,
    interrupted = errors.INTERRUPTED,
  })
  session.env = env
  session.view = { names = env, sources = {}, describe = names.describe }
  io.stdout:write(banner(env.host))
  -- Ctrl-C between a line and what it does: nothing to end.
  core.ignore_interrupt()
  session.input = open_input(env, state_place())
  if session.input.notice then
    writer.err("procage-lua: ", session.input.notice)
  end
  while true do
    local text, chunk, message = read_entry(session)
    if text == nil then
      io.stdout:write("\n")
      break
    elseif text then
      session.input:remember(text)
      if chunk then
        evaluate(session, chunk)
      else
        writer.err(message)
      end
    end
  end
  session.input:close()
  return 0
end

return M
