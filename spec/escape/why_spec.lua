--- What `why` says is what a command meets: generated trees and operations, asked of the model and tried by one confined
--- process.

local box = require("spec.support.box")
local json = require("procage.json")
local model = require("procage.model")
local procage = require("procage")

--- Tries each operation, undoes what it did, and says 1 or 0 for each. A directory counts as read when it shows something.
local TRY = [[
import json, os, socket, sys
def read(p):
    if os.path.isdir(p):
        return len(os.listdir(p)) > 0
    with open(p, "rb") as f:
        return len(f.read(1)) >= 0
def write(p):
    if os.path.isdir(p):
        p += "/.tried"
    if os.path.exists(p):
        os.close(os.open(p, os.O_WRONLY | os.O_APPEND))
    else:
        real = os.path.realpath(p)
        os.close(os.open(p, os.O_WRONLY | os.O_CREAT, 0o600))
        os.unlink(real)
    return True
def execute(p):
    pid = os.fork()
    if pid == 0:
        try:
            os.execv(p, [p])
        finally:
            os._exit(99)
    return os.waitpid(pid, 0)[1] == 0
def at(p, f):
    # The address of a socket holds 108 bytes.
    d = os.open(os.path.dirname(p), os.O_PATH)
    os.fchdir(d)
    os.close(d)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        f(s, os.path.basename(p))
    finally:
        s.close()
        os.chdir("/")
    return True
def connect(p):
    return at(p, lambda s, n: s.connect(n))
def bind(p):
    def f(s, n):
        s.bind(n)
        os.unlink(n)
    return at(p, f)
OPS = {"read": read, "write": write, "exec": execute, "connect": connect, "bind": bind}
answers = []
for op, p in json.load(sys.stdin):
    try:
        answers.append(1 if OPS[op](p) else 0)
    except OSError:
        answers.append(0)
print(json.dumps(answers))
]]

---@param list { [1]: string, [2]: string }[]
local function asked(list)
  return json.encode(list, { list = { list = true } })
end

local function answers(outcome)
  local list = {}
  for digit in (outcome.stdout:match("%[(.*)%]") or error(outcome.stdout .. outcome.stderr)):gmatch("[01]") do
    list[#list + 1] = digit == "1"
  end
  return list
end

--- A source of numbers of its own: the same seed, the same tree, on every machine.
local function generator(seed)
  local state = seed
  return function(n)
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return (state >> 8) % n + 1
  end
end

local NAMES = { "a", "b.txt", "src", "data", ".hidden", "x y", "Makefile", ".envrc", ".npmrc", ".vscode", "lib" }

--- Files, directories and links in workspace, home and outside.
local function grow(b, pick)
  local directories, nodes = { b.workspace, b.home, b.outside, b.workspace .. "/sub" }, {}
  b:mkdir("workspace/sub")
  for i = 1, 40 do
    local name = directories[pick(#directories)] .. "/" .. NAMES[pick(#NAMES)] .. (pick(2) == 1 and "" or tostring(i))
    local relative, kind = name:sub(#b.root + 2), pick(5)
    if not b:exists(relative) then
      if kind == 1 then
        b:mkdir(relative)
        b:write(relative .. "/inner", "i")
        directories[#directories + 1] = name
        nodes[#nodes + 1] = name .. "/inner"
      elseif kind == 2 and #nodes > 0 then
        b:symlink(nodes[pick(#nodes)], relative)
      else
        b:write(relative, "#!/bin/sh\nexit 0\n")
        b:mode(relative, pick(4) == 1 and "644" or "755")
      end
      nodes[#nodes + 1] = name
    end
  end
  return nodes, directories
end

--- What else there is to ask for: credentials, repositories, hand-off names that are not there, caches, what everybody has.
local function known_places(b)
  b:write("home/.ssh/id", "k")
  b:write("home/.netrc", "k")
  b:write("home/.netrc~", "k")
  b:write("home/.cache/pip/x", "c")
  b:write("workspace/.envrc", "e")
  b:write("workspace/.vscode/tasks.json", "{}")
  b:symlink("../home/.ssh/id", "workspace/to-key")
  b:symlink("../outside", "workspace/to-outside")
  b:symlink("nowhere", "workspace/dangling")
  b:setup("git init -q . && git init -q sub/repo && mkdir -p .git/hooks && echo x >.git/hooks/x")
  local places = { "/etc/passwd", "/usr/bin/env", "/dev/null", "/dev/full", "/etc", "/usr", "/proc/self/status", "/etc/none" }
  for _, relative in ipairs({
    "home/.ssh/id", "home/.ssh", "home/.netrc", "home/.netrc~", "home/.cache/pip/x", "home/.cache", "home/none", "home",
    "workspace/.envrc", "workspace/.vscode/tasks.json", "workspace/to-key", "workspace/to-outside", "workspace/dangling",
    "workspace/.git/HEAD", "workspace/.git/config", "workspace/.git/hooks/x", "workspace/.git/none", "workspace/.git",
    "workspace/sub/repo/.git/HEAD", "workspace/sub/repo/.git/config", "workspace/sub/repo/.git/hooks/none", "workspace/none",
    "workspace/.husky", "workspace/sub/.envrc", "outside/none", "workspace", "outside",
  }) do
    places[#places + 1] = b:path(relative)
  end
  return places
end

--- Operations that make sense of a place; only scripts of ours and env(1) are started.
local function operations(b, place, list)
  list[#list + 1] = { "read", place }
  list[#list + 1] = { "write", place }
  if place:sub(1, #b.root) == b.root and not b:exists(place:sub(#b.root + 2) .. "/.") or place == "/usr/bin/env" then
    list[#list + 1] = { "exec", place }
  end
end

---@param seed integer
---@param config table
---@param host? procage.Host
---@param policy_text? string  a policy of its own
local function check_agreement(seed, config, host, policy_text)
  local temporary <close> = box.new({ under = "/tmp" })
  temporary:write("outside/file", "t")
  local b <close> = box.new({ config = config, host = host })
  local pick = generator(seed)
  local places = known_places(b)
  local nodes, directories = grow(b, pick)
  config.hidden, config.read_only, config.readable = {}, {}, {}
  for _ = 1, 3 do
    table.insert(config.hidden, nodes[pick(#nodes)])
    table.insert(config.read_only, nodes[pick(#nodes)])
  end
  if seed % 2 == 0 then
    config.readable[1] = temporary.outside
  end
  if policy_text then
    b.options.policy = b:write("policy.lua", policy_text)
    config.writable = { b.outside }
  end
  local inside = b:listener("stream", b.workspace .. "/in.sock")
  local outside = b:listener("stream", b.outside .. "/out.sock")
  local list = { { "connect", inside.address }, { "connect", outside.address } }
  for _, place in ipairs(places) do
    operations(b, place, list)
  end
  for _, place in ipairs(nodes) do
    operations(b, place, list)
  end
  for _, directory in ipairs(directories) do
    list[#list + 1] = { "bind", directory .. "/new.sock" }
    list[#list + 1] = { "write", directory .. "/new" }
  end
  for _, place in ipairs({ temporary.outside .. "/file", temporary.outside .. "/new", "/tmp/procage-why-none" }) do
    operations(b, place, list)
  end

  local control = answers(b:run_unconfined(box.python(TRY), { stdin = asked(list), timeout_ms = 60000 }))
  local policy, message = b:policy()
  assert(policy, message)
  -- Caches are made by the first run.
  b:run({ "/bin/true" })
  local view = assert(policy:view())
  local verdicts = {}
  for i, item in ipairs(list) do
    verdicts[i] = select(2, model.allows(view, item[1], item[2]))
  end
  local outcome = b:run(box.python(TRY), { stdin = asked(list), timeout_ms = 60000 })
  local confined, wrong, denied, shown = answers(outcome), {}, 0, 0
  for i, item in ipairs(list) do
    local verdict = verdicts[i]
    -- What fails unconfined too (an executable text that is no program) says nothing of what is allowed.
    if verdict.allowed ~= confined[i] and (control[i] or confined[i]) then
      local told = ("%s %s, %s"):format(verdict.clause, tostring(verdict.item), tostring(verdict.note))
      wrong[#wrong + 1] = ("%s %s: why says %s (%s), the kernel %s; unconfined %s"):format(
        item[1], item[2], verdict.allowed, told, confined[i], control[i])
    end
    if not verdict.allowed then
      denied = denied + 1
      shown = shown + (control[i] and 1 or 0)
    end
  end
  assert(#wrong == 0, ("seed %d:\n%s"):format(seed, table.concat(wrong, "\n")))
  -- Refusals that nobody was kept from would show nothing.
  assert(shown > 20, ("seed %d: of %d denied only %d could be done unconfined"):format(seed, denied, shown))
end

describe("why agrees with the kernel", function()
  for seed = 1, 3 do
    it("on a generated tree, seed " .. seed, function()
      check_agreement(seed, { git = ({ "read", "commit", "write" })[seed], network = seed % 2 == 0 and "none" or "loopback" })
    end)
  end

  --- Reads what a program needs, the workspace and one of the generated places; everything else is closed.
  it("where reading is closed too", function()
    check_agreement(5, { git = "read" }, nil, [[
local profile = require("procage.profile")
return function(config, ctx)
  local p = profile.new()
  p:allow_read("/usr", "/bin", "/lib", "/lib64", "/etc/passwd", "/proc", ctx.home .. "/.cache", config.writable)
  p:workspace(ctx.workspace)
  p:allow_write(config.writable)
  p:hidden(config.hidden)
  p:read_only(config.read_only)
  p:handoff(".envrc")
  p:tmp("shared")
  p:accept("carve", "trust_handoff", "stat", "replace", "metadata", "truncate", "signal_scope", "process_tree", "device_ioctl",
    "limits", "read")
  return p
end]])
  end)

  it("where hand-off names that are not there are refused", function()
    check_agreement(7, { git = "read", handoff_absent = "refuse" })
  end)

  --- Facts taken away from this machine, so that other mechanisms hold the clauses.
  local poorer = {
    { "without Landlock", { landlock_abi = 0 }, needs = "mountns" },
    { "without mounts", { userns = false, mountns = false, netns = false, ipcns = false, pidns = false } },
    { "without a supervisor of connections", { seccomp_notify = false } },
  }
  for i, case in ipairs(poorer) do
    it(case[1], function()
      local host = procage.probe()
      if case.needs and not host[case.needs] then
        return pending("this machine has no " .. case.needs)
      end
      for fact, value in pairs(case[2]) do
        host[fact] = value
      end
      check_agreement(10 + i, { git = "commit" }, host)
    end)
  end
end)
