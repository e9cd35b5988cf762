--- A throw-away tree and confined runs in it.
---
---     local b <close> = box.new({ config = { hidden = { "~/secret" } } })
---     b:write("home/secret", "s3cret")
---     local outcome = b:run("cat ~/secret")
---
--- The tree has workspace/ (the root of the policy), home/ (its HOME) and outside/ (neither). Commands find them as $WS, $HOME
--- and $OUTSIDE, confined or not. Whatever mode a command has given to what it made, closing the box removes all of it.

local procage = require("procage")

local M = {}

---@class procage.Box
---@field root string
---@field workspace string
---@field home string
---@field outside string
---@field env table<string, string>  what commands start with, confined or not
---@field options table
local Box = {}
Box.__index = Box

local PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

-- ---- The shell: Lua has no calls of its own for most of this ---------------------------------------------------------------

---@param word string
---@return string
local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end
M.quote = quote

---@param words string[]
---@return string
local function quote_all(words)
  local list = {}
  for i, word in ipairs(words) do
    list[i] = quote(word)
  end
  return table.concat(list, " ")
end
M.quote_all = quote_all

--- What a command prints, without its last newline.
---@param command string
---@return string output
---@return boolean ok
local function shell(command)
  local pipe = assert(io.popen("exec 2>&1; " .. command))
  local output = pipe:read("a")
  local ok = pipe:close()
  return (output:gsub("\n$", "")), ok == true
end
M.shell = shell

--- The output of a command that must succeed.
local function must(command)
  local output, ok = shell(command)
  if not ok then
    error(("%s: %s"):format(command, output), 2)
  end
  return output
end

---@param file string
---@return string?
local function read_file(file)
  local handle = io.open(file, "rb")
  if not handle then
    return nil
  end
  local text = handle:read("a")
  handle:close()
  return text
end

---@param file string
---@param text string
local function write_file(file, text)
  local handle = assert(io.open(file, "wb"))
  assert(handle:write(text))
  assert(handle:close())
end

--- A string is a shell's, a list is run as it is.
---@param command string|string[]
---@return string[]
local function argv_of(command)
  return type(command) == "table" and command or { "/bin/sh", "-c", command }
end

--- A Python program as a command.
---@param text string
---@return string[]
function M.python(text)
  return { "/usr/bin/python3", "-I", "-c", text }
end

---@param seconds number
function M.sleep(seconds)
  os.execute(("sleep %f"):format(seconds))
end

--- Asks until the answer is true, or `seconds` are over.
---@param seconds number
---@param ask fun(): any
---@return any
function M.wait_for(seconds, ask)
  local answer = ask()
  for _ = 1, math.ceil(seconds / 0.02) do
    if answer then
      return answer
    end
    M.sleep(0.02)
    answer = ask()
  end
  return answer
end

-- ---- The machine -----------------------------------------------------------------------------------------------------------

--- What this machine offers. Asked once: the probe starts a dozen children.
---@return procage.Host
function M.host()
  M.known_host = M.known_host or procage.probe()
  return M.known_host
end

--- Ends the test as pending. busted gives its words to spec files alone, so the nearest of them is asked; a test that names no
--- global has none, and then busted itself, which calls the test.
---@param reason string
local function skip(reason)
  local level = 2
  while debug.getinfo(level, "f") do
    local caller = debug.getinfo(level, "f").func
    for i = 1, debug.getinfo(caller, "u").nups do
      local name, value = debug.getupvalue(caller, i)
      if (name == "_ENV" or name == "busted") and type(value) == "table" and value.pending then
        value.pending(reason)
      end
    end
    level = level + 1
  end
  error("not in a test: " .. reason)
end
M.skip = skip

--- Pending, with the reason, unless the host has `fact`; a number is a floor for landlock_abi and the like.
---@param fact string
---@param floor? integer
function M.skip_unless(fact, floor)
  local value = M.host()[fact]
  if floor and (value or 0) < floor then
    skip(("this host has %s %s, the test needs %d"):format(fact, tostring(value), floor))
  elseif not floor and not value then
    skip("this host has no " .. fact)
  end
end

---@param program string
function M.skip_without(program)
  if not select(2, shell(("PATH=%s; command -v %s"):format(PATH, quote(program)))) then
    skip(program .. " is not installed")
  end
end

function M.is_root()
  return M.host().uid == 0
end

function M.skip_unless_root()
  if not M.is_root() then
    skip("takes root")
  end
end

--- The row of a clause, from an outcome, a policy or a report.
---@param from table
---@param clause string
---@return procage.Row
function M.report_row(from, clause)
  for _, row in ipairs(from.report or from) do
    if row.clause == clause then
      return row
    end
  end
  error("the report has no clause " .. clause, 2)
end

--- Whether the report says that a clause holds. Where it does not, the report must name the gap, or this raises.
---@param from table
---@param clause string
---@return boolean
function M.holds(from, clause)
  local row = M.report_row(from, clause)
  if row.state == "unenforced" then
    assert(row.id and row.lift, clause .. ": left out without saying which gap, or what would lift it")
    return false
  end
  return true
end

-- ---- Making a tree ----------------------------------------------------------------------------------------------------------

local function is_temporary(directory)
  for _, name in ipairs({ "/tmp", "/var/tmp", "/dev/shm" }) do
    if directory == name or directory:sub(1, #name + 1) == name .. "/" then
      return true
    end
  end
  return false
end

--- Not in /tmp unless a test says so: a run has a /tmp of its own, and what lies outside in the host's is not even there.
local function default_place()
  local home = os.getenv("HOME")
  return home and not is_temporary(home) and home or "/tmp"
end

---@class procage.BoxOptions
---@field config? table
---@field policy? string
---@field under? string  where the tree is made
---@field host? procage.Host  a poorer one than this machine is
---@field prepared? boolean|table  each run has its successor started ahead
---@field host_env? table<string, string>  of the process that runs commands, besides PATH, HOME, WS and OUTSIDE

---@param options? procage.BoxOptions
---@return procage.Box
function M.new(options)
  options = options or {}
  local root = must(
    ("umask 022; cd %s && cd -P $(mktemp -d b.XXXXXX) && chmod 755 . && mkdir workspace home outside && pwd -P"):format(
      quote(options.under or default_place())
    )
  )
  local self = setmetatable({
    root = root,
    workspace = root .. "/workspace",
    home = root .. "/home",
    outside = root .. "/outside",
    options = options,
    children = {},
    count = 0,
  }, Box)
  self.env = { PATH = PATH, HOME = self.home, WS = self.workspace, OUTSIDE = self.outside, LC_ALL = "C" }
  for name, value in pairs(options.host_env or {}) do
    self.env[name] = value
  end
  return self
end

function Box:__close()
  if self.loaded then
    self.loaded:close()
  end
  for _, child in ipairs(self.children) do
    child:stop()
  end
  -- chmod -R follows no link that it meets.
  local root = quote(self.root)
  shell(("rm -rf -- %s 2>/dev/null || { chmod -R u+rwX -- %s; rm -rf -- %s; }"):format(root, root, root))
end

---@param relative string  "workspace/a", "outside/b"
---@return string
function Box:path(relative)
  return self.root .. "/" .. relative
end

--- Writes a file, with the directories above it.
function Box:write(relative, text)
  local file = self:path(relative)
  if not pcall(write_file, file, text) then
    must("mkdir -p -- " .. quote(file:match("^(.*)/")))
    write_file(file, text)
  end
  return file
end

---@return string?
function Box:read(relative)
  return read_file(self:path(relative))
end

function Box:mkdir(relative)
  must("mkdir -p -- " .. quote(self:path(relative)))
  return self:path(relative)
end

--- `target` is written as it is: absolute, or relative to where the link stands.
function Box:symlink(target, relative)
  must(("ln -sfn -- %s %s"):format(quote(target), quote(self:path(relative))))
end

---@param mode string  as chmod(1) has it
function Box:mode(relative, mode)
  must(("chmod %s -- %s"):format(mode, quote(self:path(relative))))
end

--- Whether there is something of that name, a dangling link included.
function Box:exists(relative)
  local file = quote(self:path(relative))
  return select(2, shell(("test -e %s || test -L %s"):format(file, file)))
end

--- What stat(1) says of a name itself.
---@param format string
function Box:stat(relative, format)
  return must(("stat -c %s -- %s"):format(quote(format), quote(self:path(relative))))
end

--- Shell commands that prepare something outside, in the root of the tree; they must succeed.
function Box:setup(commands)
  return must(("cd %s && { %s\n}"):format(quote(self.workspace), self:with_env(commands)))
end

function Box:with_env(commands)
  return self:prefix() .. "/bin/sh -c " .. quote(commands)
end

--- "env -i NAME=VALUE ... "
function Box:prefix()
  local words = {}
  for name, value in pairs(self.env) do
    words[#words + 1] = name .. "=" .. value
  end
  table.sort(words)
  return "env -i " .. quote_all(words) .. " "
end

--- Compiles C, beside the workspace unless a test says where; its path.
---@param source string
---@param relative? string
function Box:compile(source, relative)
  M.skip_without("gcc")
  relative = relative or "workspace/helper"
  local text = self:write(relative .. ".c", source)
  must(("gcc -w -O1 -pthread -o %s %s"):format(quote(self:path(relative)), quote(text)))
  return self:path(relative)
end

-- ---- Running ----------------------------------------------------------------------------------------------------------------

--- Runs a shell command line and gives its ending and its output.
---@param redirect? string  comes last, so it wins
local function execute(self, command, input, redirect)
  self.count = self.count + 1
  local base = ("%s/.run-%d"):format(self.root, self.count)
  local from = "/dev/null"
  if input then
    from = base .. ".in"
    write_file(from, input)
  end
  local line = ("%s <%s >%s 2>%s %s"):format(
    command,
    quote(from),
    quote(base .. ".out"),
    quote(base .. ".err"),
    redirect or ""
  )
  local _, how, code = os.execute(line)
  local result = { stdout = read_file(base .. ".out"), stderr = read_file(base .. ".err") }
  result[how == "signal" and "signal" or "status"] = code
  for _, name in ipairs({ ".in", ".out", ".err" }) do
    os.remove(base .. name)
  end
  return result
end

---@class procage.BoxResult
---@field status? integer
---@field signal? integer
---@field stdout string
---@field stderr string

--- The same command without any confinement: what an attack does when nothing stops it. Ended after
--- 20 s, as a confined one is, unless timeout_ms says otherwise.
---@param command string|string[]
---@param options? { env?: table<string, string>, stdin?: string, cwd?: string, timeout_ms?: integer }
---@return procage.BoxResult
function Box:run_unconfined(command, options)
  options = options or {}
  local extra = {}
  for name, value in pairs(options.env or {}) do
    extra[#extra + 1] = name .. "=" .. value
  end
  return execute(
    self,
    ("cd %s && exec timeout --foreground -k 1 %d %s %s %s"):format(
      quote(options.cwd or self.workspace),
      math.ceil((options.timeout_ms or 20000) / 1000),
      self:prefix(),
      quote_all(extra),
      quote_all(argv_of(command))
    ),
    options.stdin
  )
end

--- The policy of this box, loaded when first needed: what a test has written before is there by then.
---@return procage.Policy? policy
---@return string? message
---@return any code
function Box:policy()
  if not self.loaded then
    local message, code
    self.loaded, message, code = procage.policy.load(
      self.options.policy or "speccoder",
      self.options.config or {},
      { root = self.workspace, home = self.home, env = self.env, host = self.options.host, prepared = self.options.prepared }
    )
    return self.loaded, message, code
  end
  return self.loaded
end

--- What this host enforces for this box.
---@return procage.Row[]
function Box:report()
  return assert(self:policy()).report
end

--- As the library answers: nil, message, code, detail when the command never ran.
---@param command string|string[]
---@param options? { timeout_ms?: integer, env?: table<string, string>, stdin?: string, cwd?: string }
function Box:try_run(command, options)
  local policy, message, code = self:policy()
  if not policy then
    return nil, message, code
  end
  local cmd = table.move(argv_of(command), 1, #argv_of(command), 1, {})
  for name, value in pairs(options or {}) do
    cmd[name] = value
  end
  cmd.timeout_ms = cmd.timeout_ms or 20000
  return policy:run(cmd)
end

--- Runs a command confined, in this process.
---@return procage.Outcome
function Box:run(command, options)
  local outcome, message = self:try_run(command, options)
  if not outcome then
    error("the command never ran: " .. tostring(message), 2)
  end
  return outcome
end

--- A line of shell that bounds what the next programs may take of memory, about 4 GB. A sanitizer's program has addresses for
--- terabytes of it, and a bound of its own.
---@return string
function Box.memory_limit()
  local driver = io.open((os.getenv("PROCAGE_BUILD") or "build/dev") .. "/lua_driver")
  if not driver then
    return "ulimit -v 4000000"
  end
  driver:close()
  return "export ASAN_OPTIONS=hard_rss_limit_mb=4000"
end

--- The program's own path, and the command line that starts it in this box.
---@param args string[]  options of `procage-lua run`
---@param command string|string[]
---@return string
function Box:cli_line(args, command)
  local program = (os.getenv("PROCAGE_BUILD") or "build/dev") .. "/bin/procage-lua"
  if program:sub(1, 1) ~= "/" then
    program = must("pwd -P") .. "/" .. program
  end
  return self:prefix() .. quote_all({ program, "run", "--root", self.workspace }) .. " " .. quote_all(args) .. " -- "
    .. quote_all(argv_of(command))
end

--- Runs a command confined, by the program.
---@param args string[]
---@param command string|string[]
---@param options? { stdin?: string, redirect?: string, cwd?: string }  redirect: more of the shell's, such as "3<file"
---@return procage.BoxResult
function Box:cli(args, command, options)
  options = options or {}
  return execute(
    self,
    ("cd %s && exec %s"):format(quote(options.cwd or self.workspace), self:cli_line(args, command)),
    options.stdin,
    options.redirect
  )
end

-- ---- Processes outside ------------------------------------------------------------------------------------------------------

---@class procage.BoxChild
---@field pid integer
local Child = {}
Child.__index = Child

--- Whether it runs: a zombie does not.
function Child:is_alive()
  local stat = read_file(("/proc/%d/stat"):format(self.pid))
  local state = stat and stat:match("^.*%) (%a)")
  return state ~= nil and state ~= "Z" and state ~= "X"
end

function Child:state()
  local stat = read_file(("/proc/%d/stat"):format(self.pid))
  return stat and stat:match("^.*%) (%a)")
end

--- What it has printed so far, both streams.
function Child:output()
  return read_file(self.log) or ""
end

--- Ends it and all of its session.
function Child:stop()
  if self.is_stopped then
    return
  end
  self.is_stopped = true
  -- dash knows no "--" here.
  shell(("kill -KILL -%d 2>/dev/null || kill -KILL %d 2>/dev/null"):format(self.pid, self.pid))
  M.wait_for(2, function()
    return not self:is_alive()
  end)
end

Child.__close = Child.stop

--- Starts a command outside, in a session of its own, and does not wait for it. Ended when the box is closed.
---@param command string|string[]
---@param options? { until_prints?: string, is_line?: boolean }  is_line: a shell line that has its environment already
---@return procage.BoxChild
function Box:start(command, options)
  options = options or {}
  self.count = self.count + 1
  local log = ("%s/.child-%d"):format(self.root, self.count)
  local line = options.is_line and command or self:prefix() .. quote_all(argv_of(command))
  local inner = ("echo $$ >%s.pid; exec %s"):format(quote(log), line)
  must(
    ("cd %s && { setsid sh -c %s </dev/null >%s 2>&1 & }"):format(quote(self.workspace), quote(inner), quote(log))
  )
  local pid = M.wait_for(5, function()
    return (read_file(log .. ".pid") or ""):match("^(%d+)\n")
  end)
  local child = setmetatable({ pid = assert(math.tointeger(pid), "the child did not start"), log = log }, Child)
  table.insert(self.children, child)
  local wanted = options.until_prints
  local is_ready = not wanted
    or M.wait_for(10, function()
      return child:output():find(wanted, 1, true)
    end)
  assert(is_ready, "the child did not come up: " .. child:output())
  return child
end

--- A server that notes every byte it is sent. `address` is the path of a socket, "@name" for an abstract one, or a port of
--- 127.0.0.1 (0: any; see `port`).
local SERVER = [[
import os, socket, sys
kind, address, received = sys.argv[1:4]
types = {"stream": socket.SOCK_STREAM, "dgram": socket.SOCK_DGRAM, "seqpacket": socket.SOCK_SEQPACKET,
         "tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
inet = kind in ("tcp", "udp")
s = socket.socket(socket.AF_INET if inet else socket.AF_UNIX, types[kind])
if inet:
    s.bind(("127.0.0.1", int(address)))
elif address.startswith("@"):
    s.bind(b"\0" + address[1:].encode())
else:
    os.chdir(os.path.dirname(address))
    s.bind(address if len(address) < 100 else os.path.basename(address))
    os.chmod(os.path.basename(address), 0o777)
def note(data):
    with open(received, "ab") as f:
        f.write(data)
if kind in ("dgram", "udp"):
    print("ready", s.getsockname()[1] if inet else "", flush=True)
    while True:
        note(s.recv(65536) or b"<empty>")
s.listen(64)
print("ready", s.getsockname()[1] if inet else "", flush=True)
while True:
    c, _ = s.accept()
    note(b"<connected>")
    c.settimeout(2)
    try:
        while True:
            data = c.recv(65536)
            if not data:
                break
            note(data)
    except OSError:
        pass
    c.close()
]]

---@class procage.BoxListener: procage.BoxChild
---@field port? integer
---@field address string

--- What the server has been sent; a connection is noted as "<connected>".
local function received(self)
  return read_file(self.file) or ""
end

---@param kind "stream"|"dgram"|"seqpacket"|"tcp"|"udp"
---@param address string|integer
---@return procage.BoxListener
function Box:listener(kind, address)
  self.count = self.count + 1
  local file = ("%s/.received-%d"):format(self.root, self.count)
  local child = self:start(
    { "/usr/bin/python3", "-I", "-c", SERVER, kind, tostring(address), file },
    { until_prints = "ready" }
  )
  child.file, child.received, child.address = file, received, address
  child.port = math.tointeger(child:output():match("ready (%d+)"))
  return child
end

-- ---- Attacks ----------------------------------------------------------------------------------------------------------------

---@class procage.Attack
---@field name? string
---@field box? procage.BoxOptions
---@field setup? fun(b: procage.Box)
---@field run string|string[]|fun(b: procage.Box): string|string[]
---@field options? table  of the run
---@field hurt fun(b: procage.Box, result: table): any  whether the attack came through, judged by what it left
---@field clause? string|string[]  what must hold for the attack to fail; where the report names a gap, it may come through

--- Shows that an attack works unconfined, and then that it does not confined, each in a box of its own. Where the host cannot
--- hold the clause, that the report says so.
---@param attack procage.Attack
---@return procage.Outcome
function M.attack(attack)
  do
    local b <close> = M.new(attack.box)
    if attack.setup then
      attack.setup(b)
    end
    local command = type(attack.run) == "function" and attack.run(b) or attack.run
    local control = b:run_unconfined(command, attack.options)
    if not attack.hurt(b, control) then
      error(
        ("the attack does nothing unconfined: status %s, %s%s"):format(
          tostring(control.status or control.signal),
          control.stdout,
          control.stderr
        ),
        2
      )
    end
  end
  local b <close> = M.new(attack.box)
  if attack.setup then
    attack.setup(b)
  end
  local command = type(attack.run) == "function" and attack.run(b) or attack.run
  local outcome = b:run(command, attack.options)
  local clauses = type(attack.clause) == "table" and attack.clause or { attack.clause }
  for _, clause in ipairs(clauses) do
    if not M.holds(outcome, clause) then
      return outcome
    end
  end
  if attack.hurt(b, outcome) then
    error(
      ("the attack comes through confined: status %s, %s%s"):format(
        tostring(outcome.status or outcome.signal),
        outcome.stdout,
        outcome.stderr
      ),
      2
    )
  end
  return outcome
end

return M
