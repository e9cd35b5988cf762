local box = require("spec.support.box")

local python = box.python

--- Sends to a server outside, in each way there is; the address and port come first.
local function client(kind, port, how)
  return python(([[
import socket
address = ("127.0.0.1", %d)
%s
]]):format(port, how))
end

local tcp_ways = {
  connect = "s = socket.create_connection(address, 2); s.sendall(b'PWN')",
  ["MSG_FASTOPEN"] = "s = socket.socket(); s.sendto(b'PWN', 0x20000000, address)",
  ["a non-blocking connect"] = [[
import select
s = socket.socket(); s.setblocking(False); s.connect_ex(address); select.select([], [s], [], 2); s.send(b'PWN')]],
  ["IPv6 with a mapped address"] = [[
s = socket.socket(socket.AF_INET6); s.settimeout(2); s.connect(("::ffff:127.0.0.1", address[1])); s.sendall(b'PWN')]],
  ["bit 32 set in the family"] = [[
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.syscall(ctypes.c_long(41), ctypes.c_long((1 << 32) | 2), ctypes.c_long((1 << 32) | 1), ctypes.c_long(0))
if fd < 0: raise OSError(ctypes.get_errno(), "socket")
s = socket.socket(fileno=fd); s.settimeout(2); s.connect(address); s.sendall(b'PWN')]],
}

--- What was sent has had its time to arrive.
local function arrived(b)
  box.sleep(0.1)
  return b.server:received() ~= ""
end

describe("a server on the host's loopback", function()
  for _, network in ipairs({ "loopback", "none" }) do
    for name, how in pairs(tcp_ways) do
      it(("is not reached over TCP by %s with network = %s (FR-79)"):format(name, network), function()
        box.attack({
          box = { config = { network = network } },
          setup = function(b)
            b.server = b:listener("tcp", 0)
          end,
          run = function(b)
            return client("tcp", b.server.port, how)
          end,
          hurt = arrived,
          clause = "network",
        })
      end)
    end

    it("is not reached over UDP with network = " .. network, function()
      box.attack({
        box = { config = { network = network } },
        setup = function(b)
          b.server = b:listener("udp", 0)
        end,
        run = function(b)
          return client("udp", b.server.port, "socket.socket(type=socket.SOCK_DGRAM).sendto(b'PWN', address)")
        end,
        hurt = arrived,
        clause = "network",
      })
    end)
  end

  it("is not reached over MPTCP", function()
    box.attack({
      setup = function(b)
        b.server = b:listener("tcp", 0)
        if b:run_unconfined(python("import socket; socket.socket(proto=262)")).status ~= 0 then
          box.skip("this kernel has no MPTCP")
        end
      end,
      run = function(b)
        return client("tcp", b.server.port, "s = socket.socket(proto=262); s.settimeout(2); s.connect(address); s.send(b'PWN')")
      end,
      hurt = arrived,
      clause = "network",
    })
  end)
end)

describe("a run's own loopback", function()
  local serve = [[
import socket, threading
t = socket.socket(); t.bind(("127.0.0.1", 0)); t.listen()
threading.Thread(target=lambda: t.accept()[0].sendall(b"tcp")).start()
print(socket.create_connection(t.getsockname(), 2).recv(10))
u = socket.socket(type=socket.SOCK_DGRAM); u.bind(("127.0.0.1", 0))
socket.socket(type=socket.SOCK_DGRAM).sendto(b"udp", u.getsockname())
print(u.recv(10))
]]

  it("serves TCP and UDP, or the report says that it cannot", function()
    local b <close> = box.new()
    local outcome = b:run(python(serve))
    if box.report_row(outcome, "network").state == "enforced" then
      assert.equal("b'tcp'\nb'udp'\n", outcome.stdout, outcome.stderr)
    else
      assert.equal("tightened", box.report_row(outcome, "network").state)
      assert.not_equal(0, outcome.status)
    end
  end)

  it("is not the loopback of another run, nor reached from outside", function()
    local b <close> = box.new()
    if box.report_row(b:report(), "network").state ~= "enforced" then
      box.skip("no private loopback here")
    end
    local server = python([[
import os, socket, time
t = socket.socket(); t.bind(("127.0.0.1", 14227)); t.listen()
open("up", "w").close()
time.sleep(2)
]])
    local child = b:start(b:cli_line({ "-q" }, server), { is_line = true })
    assert.is_truthy(box.wait_for(5, function()
      return b:exists("workspace/up")
    end))
    local connect = python("import socket; socket.create_connection(('127.0.0.1', 14227), 1); print('reached')")
    assert.equal("", b:run_unconfined(connect).stdout)
    assert.equal("", b:run(connect).stdout)
    child:stop()
  end)

  it("is closed with network = none", function()
    local b <close> = box.new({ config = { network = "none" } })
    assert.equal(0, b:run_unconfined(python(serve)).status)
    local outcome = b:run(python(serve))
    assert.is_true(box.holds(outcome, "network"))
    assert.equal("", outcome.stdout)
  end)
end)

describe("a family of sockets that no build needs", function()
  local families = { PACKET = 17, ALG = 38, VSOCK = 40, KEY = 15, BLUETOOTH = 31, TIPC = 30, RDS = 21, SMC = 43, XDP = 44,
    QIPCRTR = 42, CAN = 29, IB = 27 }

  it("cannot be opened, with whatever network", function()
    for _, network in ipairs({ "none", "loopback", "all" }) do
      local b <close> = box.new({ config = { network = network } })
      local outcome = b:run(python(([[
import socket
families = %q
for word in families.split():
    name, number = word.split("=")
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(int(number), kind)
            print("opened", name)
        except OSError:
            pass
for protocol in range(1, 23):
    try:
        socket.socket(16, 3, protocol)
        print("opened netlink", protocol)
    except OSError:
        pass
socket.socket(16, 3, 0)
print("route")
]]):format((function()
        local words = {}
        for name, number in pairs(families) do
          words[#words + 1] = name .. "=" .. number
        end
        return table.concat(words, " ")
      end)())))
      assert.equal("route\n", outcome.stdout, network .. outcome.stderr)
    end
  end)

  it("was there to be refused", function()
    local b <close> = box.new()
    local control = b:run_unconfined(python([[
import socket
for family, kind in ((38, 5), (40, 1), (16, 3)):
    try:
        socket.socket(family, kind, 9 if family == 16 else 0)
        print("opened")
    except OSError:
        pass
]]))
    if control.stdout == "" then
      box.skip("this kernel has none of them")
    end
  end)
end)

describe("a list of ports", function()
  local function with_server(way, is_listed)
    return {
      setup = function(b)
        b.server = b:listener("tcp", 0)
        b.options.config = { network = { ports = { is_listed and b.server.port or 1 } } }
      end,
      run = function(b)
        return client("tcp", b.server.port, way)
      end,
      hurt = arrived,
      clause = "network",
    }
  end

  for name, how in pairs(tcp_ways) do
    it("keeps every other port closed to " .. name, function()
      box.attack(with_server(how, false))
    end)
  end

  it("keeps UDP closed, and listening without bind", function()
    local b <close> = box.new({ config = { network = { ports = { 1 } } } })
    local server = b:listener("udp", 0)
    local outcome = b:run(client("udp", server.port, [[
for act in (lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b'PWN', address), lambda: socket.socket().listen(),
            lambda: socket.socket().bind(("127.0.0.1", 0)), lambda: socket.socket(proto=262)):
    try:
        act()
        print("done")
    except OSError:
        pass
]]))
    assert.is_true(box.holds(outcome, "network"))
    assert.equal("", outcome.stdout)
    box.sleep(0.1)
    assert.equal("", server:received())
  end)

  it("opens the ports in it, or is tightened by name", function()
    local b <close> = box.new()
    local server = b:listener("tcp", 0)
    b.options.config = { network = { ports = { server.port } } }
    local outcome = b:run(client("tcp", server.port, "s = socket.create_connection(address, 2); s.sendall(b'hello')"))
    box.sleep(0.1)
    if box.report_row(outcome, "network").state == "enforced" then
      assert.equal("<connected>hello", server:received())
    else
      assert.equal("ports", box.report_row(outcome, "network").id)
      assert.equal("", server:received())
    end
  end)
end)

describe("a run in a run", function()
  it("that has listed ports alone reaches no other, whatever the outer one may reach", function()
    local tree = box.shell("pwd -P")
    local build = box.shell(("cd %q && pwd -P"):format(os.getenv("PROCAGE_BUILD") or "build/dev"))
    local b <close> = box.new({ config = { network = "all", readable = { tree, build } } })
    local server = b:start(python([[
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(8)
print("at", s.getsockname()[1], flush=True)
while True: s.accept()[0].close()]]), { until_prints = "at " })
    local connect = python(([[
import socket
try:
    socket.create_connection(("127.0.0.1", %s), 5)
    print("reached")
except OSError:
    print("refused")]]):format(server:output():match("at (%d+)")))
    assert.equal("reached\n", b:run_unconfined(connect).stdout)
    local inner = { build .. "/bin/procage-lua", "run", "--net", "ports:1", "--" }
    table.move(connect, 1, #connect, #inner + 1, inner)
    local outcome = b:run(inner)
    assert.equal("refused\n", outcome.stdout, outcome.stderr)
  end)
end)
