--- A loopback that the runs of one loaded policy have in common: they meet on it, and nobody else does.

local box = require("spec.support.box")
local core = require("procage.core")
local procage = require("procage")

local python = box.python

--- Listens on a TCP, a UDP and an abstract address, prints the port, and answers until its input ends.
local SERVER = python([[
import socket, sys, threading
t = socket.socket(); t.bind(("127.0.0.1", 0)); t.listen()
u = socket.socket(type=socket.SOCK_DGRAM); u.bind(t.getsockname())
a = socket.socket(socket.AF_UNIX); a.bind("\0procage-%d" % t.getsockname()[1]); a.listen()
def streams(s):
    while True: s.accept()[0].sendall(b"served")
def datagrams():
    while True: u.sendto(b"served", u.recvfrom(10)[1])
for f, a in ((streams, (t,)), (streams, (a,)), (datagrams, ())):
    threading.Thread(target=f, args=a, daemon=True).start()
print(t.getsockname()[1], flush=True)
sys.stdin.read()
]])

--- Prints which of the three answer.
local function client(port)
  return python(([[
import socket
def tcp():
    return socket.create_connection(("127.0.0.1", %d), 8).recv(10)
def udp():
    s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(8); s.connect(("127.0.0.1", %d)); s.send(b"x")
    return s.recv(10)
def abstract():
    s = socket.socket(socket.AF_UNIX); s.settimeout(8); s.connect("\0procage-%d")
    return s.recv(10)
for f in tcp, udp, abstract:
    try:
        print(f.__name__ if f() == b"served" else "?", end=" ")
    except OSError: pass
]]):format(port, port, port))
end

---@param b procage.Box
---@param loopback string
---@param options? table
---@param limits? table
local function load(b, loopback, options, limits)
  local all = { root = b.workspace, home = b.home, env = b.env }
  for key, value in pairs(options or {}) do
    all[key] = value
  end
  return assert(procage.policy.load("speccoder", { loopback = loopback, limits = limits }, all))
end

--- A box, and a policy whose loopback its runs have in common.
local function shared(options, limits)
  local b = box.new()
  local policy = load(b, "policy", options, limits)
  local row = box.report_row(policy, "network")
  if row.state ~= "enforced" then
    assert.equal("tightened", row.state)
    assert.equal("run", policy.fitted.loopback)
    policy:close()
    b:__close()
    box.skip("no loopback here that runs have in common: " .. row.reason)
  end
  b.loaded = policy
  return b, policy
end

--- What a run prints, until it has printed this.
local function hear(run, last)
  local text = ""
  while not text:find(last, 1, true) do
    for _, chunk in ipairs(assert(run:step(10000), "the command has ended")) do
      text = text .. chunk.bytes
    end
  end
  return text
end

--- A server that has its port, in a run of the policy.
local function serve(policy)
  local run = assert(policy:start({ stdin = { pipe = true }, table.unpack(SERVER) }))
  local text = hear(run, "\n")
  return run, assert(math.tointeger(tonumber(text:match("^(%d+)\n"))), text)
end

local function finish(run)
  run:close_stdin()
  local outcome = run:wait()
  assert.equal(0, outcome.status, outcome.stderr)
end

local function output(policy, command)
  local outcome = assert(policy:run(type(command) == "table" and command or { "/bin/sh", "-c", command }))
  return (outcome.stdout:gsub("%s+$", "")), outcome
end

local function in_text(text)
  local found = {}
  for name, number in text:gmatch("(%w+):%[(%d+)%]") do
    found[name] = number
  end
  return found
end

--- Which namespaces a command of the policy is in.
local function namespaces(policy)
  return in_text((output(policy, "readlink /proc/self/ns/*")))
end

--- The processes of this one that keep namespaces.
local function keepers()
  local found = {}
  for number in core.read_file("/proc/thread-self/children"):gmatch("%d+") do
    if core.read_file(("/proc/%s/comm"):format(number)) == "procage-holder\n" then
      found[#found + 1] = number
    end
  end
  return found
end

local function is_dead(number)
  local state = core.read_file(("/proc/%s/stat"):format(number))
  return not state or state:match("%) Z ") ~= nil
end

describe("a loopback that the runs of a policy have in common", function()
  it("is where they reach each other's servers", function()
    local _ <close>, policy = shared()
    local run, port = serve(policy)
    assert.equal("tcp udp abstract", output(policy, client(port)))
    finish(run)
    -- Control: what ends with the server.
    assert.equal("", output(policy, client(port)))
  end)

  it("is no other policy's, nor that of another load of the same, nor of runs that have their own", function()
    local b <close>, policy = shared()
    local again <close> = load(b, "policy")
    local own <close> = load(b, "run")
    local run, port = serve(policy)
    for _, other in ipairs({ again, own }) do
      assert.equal("", output(other, client(port)))
    end
    finish(run)
    run, port = serve(own)
    assert.equal("", output(own, client(port)))
    assert.equal("", output(policy, client(port)))
    finish(run)
  end)

  it("is not the host's: neither reaches the other", function()
    local b <close>, policy = shared()
    local run, port = serve(policy)
    assert.equal("", b:run_unconfined(client(port)).stdout)
    finish(run)

    local file = b:write("outside/server.py", SERVER[4])
    local child = b:start(("cd %s; mkfifo hold; exec python3 -I %s <>hold >port"):format(b.outside, file))
    port = box.wait_for(5, function()
      return tonumber(b:read("outside/port"))
    end)
    assert.is_truthy(port)
    assert.equal("tcp udp abstract ", b:run_unconfined(client(port)).stdout)
    assert.equal("", output(policy, client(port)))
    child:stop()
  end)

  it("leaves each run its processes, IPC objects, mounts and temporary files", function()
    local _ <close>, policy = shared()
    local script = "echo mine >/tmp/file; readlink /proc/self/ns/*; echo up; cat"
    local run = assert(policy:start({ "/bin/sh", "-c", script, stdin = { pipe = true } }))
    local one = in_text(hear(run, "up\n"))
    -- While that one goes on: a number of a namespace that is gone may come again.
    local other = namespaces(policy)
    assert.equal(one.net, other.net)
    for _, name in ipairs({ "mnt", "ipc", "pid" }) do
      assert.not_equal(one[name], other[name], name)
    end
    assert.equal("", output(policy, "cat /tmp/file 2>/dev/null; pgrep -x cat"))
    finish(run)
  end)

  it("keeps the number of processes each run's own", function()
    local _ <close>, policy = shared(nil, { processes = 20 })
    local forks = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; echo done; kill $(jobs -p)"
    assert.equal("done", output(policy, forks))
    local run = assert(policy:start({ "/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 9 & done; echo up; cat",
      stdin = { pipe = true } }))
    hear(run, "up\n")
    local text, outcome = output(policy, forks)
    assert.equal("done", text, outcome.stderr)
    run:cancel(true)
    run:wait()
  end)

  it("is of an ordinary start and of one that was made ahead", function()
    local _ <close>, policy = shared({ prepared = true })
    local first = namespaces(policy)
    for _ = 1, 5 do
      assert.equal(first.net, namespaces(policy).net)
    end
    local run, port = serve(policy)
    assert.equal("tcp udp abstract", output(policy, client(port)))
    finish(run)
  end)
end)

describe("the process that keeps it", function()
  it("has nothing: no capability, no mount, no descriptor but what it ends by", function()
    local _ <close>, policy = shared()
    output(policy, "true")
    local found = keepers()
    assert.equal(1, #found)
    local status = core.read_file(("/proc/%s/status"):format(found[1]))
    for _, name in ipairs({ "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" }) do
      assert.equal(0, tonumber(status:match(name .. ":%s*(%x+)"), 16))
    end
    assert.equal("1", status:match("NoNewPrivs:%s*(%d)"))
    if box.is_root() then -- it is not dumpable: nobody else may look
      assert.equal("tmpfs / tmpfs", core.read_file(("/proc/%s/mounts"):format(found[1])):match("^%S+ %S+ %S+"))
      assert.equal(2, select(2, box.shell(("ls /proc/%s/fd"):format(found[1])):gsub("%d+", "")))
    else
      assert.is_nil(core.read_file(("/proc/%s/environ"):format(found[1])))
    end
  end)

  it("is not to be seen or killed by a run", function()
    local _ <close>, policy = shared()
    output(policy, "true")
    local number = assert(keepers()[1])
    local attack = "cat /proc/[0-9]*/comm | grep holder; kill -9 %s 2>/dev/null && echo killed"
    assert.equal("", output(policy, attack:format(number)))
    assert.equal(number, keepers()[1])
  end)

  it("ends by itself when no run is in it for a while, and not before", function()
    local _ <close>, policy = shared({ loopback_wait_ms = 300 })
    local run, port = serve(policy)
    local number = assert(keepers()[1])
    box.sleep(0.8)
    assert.is_false(is_dead(number))
    assert.equal("tcp udp abstract", output(policy, client(port)))
    finish(run)
    assert.is_true(box.wait_for(5, function()
      return is_dead(number)
    end))
    local again = namespaces(policy)
    assert.equal(again.net, namespaces(policy).net)
    assert.not_equal(number, keepers()[1])
  end)

  it("ends with the policy, whose runs go on", function()
    local _ <close>, policy = shared()
    local run, port = serve(policy)
    local number = assert(keepers()[1])
    policy:close()
    assert.is_true(is_dead(number))
    -- Another one, with nobody of before in it.
    assert.equal("", output(policy, client(port)))
    assert.equal(1, #keepers())
    finish(run)
  end)

  it("is made anew when somebody outside has killed it", function()
    local _ <close>, policy = shared()
    local before = namespaces(policy)
    local run, port = serve(policy)
    local number = keepers()[1]
    os.execute("kill -9 " .. number)
    assert.is_true(box.wait_for(5, function()
      return is_dead(number)
    end))
    local after = namespaces(policy)
    -- The server is still in the one of before.
    assert.not_equal(before.net, after.net)
    assert.equal(after.net, namespaces(policy).net)
    assert.equal("", output(policy, client(port)))
    finish(run)
  end)

  it("has its end seen when it comes just before a run: the run gets another", function()
    local _ <close>, policy = shared()
    output(policy, "true")
    local use, number = policy.holder:use(), keepers()[1]
    os.execute("kill -9 " .. number)
    assert.is_true(box.wait_for(5, function()
      return is_dead(number)
    end))
    -- Taken while it was there: what joins finds nobody, and nothing is run in the host's network.
    local holder = policy.holder
    policy.holder = { use = function()
      return use
    end, close = function()
      holder:close()
    end }
    local net = assert(namespaces(policy).net)
    assert.is_falsy(box.shell("readlink /proc/self/ns/net"):find(net, 1, true))
    assert.equal("userdata", type(policy.holder))
    assert.not_equal(holder, policy.holder)
  end)

  it("goes with a policy that nobody holds any more", function()
    local b <close> = shared()
    local policy = load(b, "policy")
    output(policy, "true")
    local number = assert(keepers()[1])
    policy = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    assert.is_true(is_dead(number))
  end)
end)
