--- TCP on the host's loopback, judged address by address: what the run's own servers and clients can do there, and what they
--- cannot reach. On a host that could give a network namespace, as if it could not.

local box = require("spec.support.box")
local hosts = require("procage.host")

local python = box.python

--- This machine without its network namespaces.
local function shared_host()
  local host = hosts.complete(box.host())
  host.netns = false
  return host
end

---@param config? table
---@return procage.BoxOptions
local function shared(config)
  return { config = config, host = shared_host() }
end

local function is_mediated(from)
  return table.concat(box.report_row(from, "network").mechanisms, " "):find("mediated-loopback", 1, true) ~= nil
end

local function skip_unless_mediated(b)
  if not is_mediated(b:report()) then
    box.skip("this host has no notifications, or does not tell who listens")
  end
end

--- What must work in the run as it does outside.
local function works(text, prints)
  local b <close> = box.new(shared())
  skip_unless_mediated(b)
  local control = b:run_unconfined(python(text))
  assert.equal(prints, control.stdout, control.stderr)
  local outcome = b:run(python(text))
  assert.equal(prints, outcome.stdout, outcome.stderr)
end

--- "import socket" and what most tests use.
local BASICS = [[
import errno, os, select, socket, struct, sys, threading, time
def serve(family, address, only6=False):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6: s.setsockopt(41, socket.IPV6_V6ONLY, only6)
    s.bind(address); s.listen(16)
    def answer():
        while True:
            try: c, _ = s.accept()
            except OSError: return
            c.sendall(b"hi"); c.close()
    threading.Thread(target=answer, daemon=True).start()
    return s
def fetch(address, family=None):
    if family is None:
        with socket.create_connection(address, 5) as c: return c.recv(9)
    with socket.socket(family) as c:
        c.settimeout(5); c.connect(address); return c.recv(9)
def errno_of(act):
    try: act()
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
    return "ok"
]]

describe("on a shared loopback the run's own", function()
  it("servers are reached by every name of theirs", function()
    works(BASICS .. [[
for family, bound, only6, names in (
        (2, "127.0.0.1", False, ("127.0.0.1", "::ffff:127.0.0.1", "localhost", "0.0.0.0")),
        (2, "127.0.0.7", False, ("127.0.0.7",)),
        (2, "0.0.0.0", False, ("127.0.0.1", "127.0.1.1", "localhost", "::ffff:127.0.0.1", "0.0.0.0")),
        (10, "::1", False, ("::1", "::")),
        (10, "::", False, ("::1", "127.0.0.1", "127.0.1.1", "localhost", "::", "::ffff:127.0.0.1")),
        (10, "::", True, ("::1",)),
        (10, "::ffff:127.0.0.1", False, ("127.0.0.1", "::ffff:127.0.0.1"))):
    s = serve(family, (bound, 0), only6)
    port = s.getsockname()[1]
    print(bound, port > 0, [fetch((name, port)) for name in names] == [b"hi"] * len(names))
]], ("127.0.0.1 True True\n127.0.0.7 True True\n0.0.0.0 True True\n::1 True True\n:: True True\n:: True True\n"
      .. "::ffff:127.0.0.1 True True\n"))
  end)

  it("servers of Python's http.server and asyncio answer", function()
    works(BASICS .. [[
import asyncio, http.server, urllib.request
for bind in ("127.0.0.1", "0.0.0.0", "::"):
    class Server(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in bind else socket.AF_INET
        def server_bind(self):
            if ":" in bind: self.socket.setsockopt(41, socket.IPV6_V6ONLY, 0)
            super().server_bind()
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200); self.end_headers(); self.wfile.write(b"page")
        def log_message(self, *words): pass
    server = Server((bind, 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("127.0.0.1", "localhost"):
        print(bind, urllib.request.urlopen("http://%s:%d/" % (name, server.server_port), timeout=5).read())
async def main():
    async def echo(reader, writer):
        writer.write(await reader.readline()); await writer.drain(); writer.close()
    server = await asyncio.start_server(echo, "localhost", 0)
    async def ask(i):
        reader, writer = await asyncio.open_connection(*server.sockets[i % len(server.sockets)].getsockname()[:2])
        writer.write(b"%d\n" % i); return int(await reader.readline())
    print(sorted(await asyncio.gather(*map(ask, range(60)))) == list(range(60)))
asyncio.run(main())
]], ("%s b'page'\n%s b'page'\n"):rep(3):gsub("%%s", (function()
      local names, i = { "127.0.0.1", "127.0.0.1", "0.0.0.0", "0.0.0.0", "::", "::" }, 0
      return function()
        i = i + 1
        return names[i]
      end
    end)()) .. "True\n")
  end)

  it("connections that are not waited for arrive, and fail, as the kernel has it", function()
    works(BASICS .. [[
s = serve(2, ("127.0.0.1", 0))
c = socket.socket(); c.setblocking(False)
print(errno.errorcode[c.connect_ex(s.getsockname())])
select.select([], [c], [], 5); print(c.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
print(errno.errorcode[c.connect_ex(s.getsockname()) or c.connect_ex(s.getsockname())])
# A backlog that is full: who comes too late waits, a second or so, and is not lost.
def fill():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(0)
    return s, socket.create_connection(s.getsockname())
full, _first = fill(); w = socket.socket(); w.setblocking(False); w.connect_ex(full.getsockname())
other, _second = fill(); blocked = []
t = threading.Thread(target=lambda: blocked.append(socket.create_connection(other.getsockname(), None))); t.start()
print(len(select.select([], [w], [], 0.1)[1]), errno.errorcode[w.connect_ex(full.getsockname())], blocked)
got = [s.accept() for s in (full, other, full, other)]
t.join(); select.select([], [w], [], 5)
print(w.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), len(blocked))
]], "EINPROGRESS\n0\nEISCONN\n0 EALREADY []\n0 1\n")
  end)

  it("sockets are disconnected, and bound, by AF_UNSPEC", function()
    works(BASICS .. [[
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(name, s, address):
    return 0 if getattr(libc, name)(s.fileno(), address, len(address)) == 0 else errno.errorcode[ctypes.get_errno()]
a, b = serve(2, ("127.0.0.1", 0)), serve(2, ("127.0.0.1", 0))
c = socket.socket(); c.connect(a.getsockname()); print(c.recv(2))
print(errno_of(lambda: c.connect(b.getsockname())))
print(call("connect", c, struct.pack("=H", 0) + bytes(14)))
c.connect(b.getsockname()); print(c.recv(2))
w = socket.socket()
print(call("bind", w, struct.pack("=HHI", 0, 0, 0x0100007f) + bytes(8)))
print(call("bind", w, struct.pack("=HHI", 0, 0, 0) + bytes(8)), w.getsockname()[1] > 0)
print(call("bind", w, struct.pack("=HHI", 2, 0, 0) + bytes(8)), call("connect", w, b"\0"), call("bind", w, b"\2\0"))
w.listen(); c = socket.create_connection(("127.0.0.1", w.getsockname()[1]), 5); print("reached")
]], "b'hi'\nEISCONN\n0\nb'hi'\nEAFNOSUPPORT\n0 True\nEINVAL EINVAL EINVAL\nreached\n")
  end)

  it("connections may be hundreds at once", function()
    works(BASICS .. [[
s = socket.create_server(("127.0.0.1", 0), backlog=2000)
barrier, made = threading.Barrier(700), []
def connect():
    barrier.wait(); made.append(errno_of(lambda: socket.create_connection(s.getsockname(), 10)))
threads = [threading.Thread(target=connect) for _ in range(700)]
for t in threads: t.start()
for t in threads: t.join()
print(len(made), set(made))
]], "700 {'ok'}\n")
  end)

  it("servers restart on their port while clients come, and are inherited", function()
    works(BASICS .. [[
first = socket.create_server(("127.0.0.1", 0)); at = first.getsockname(); first.close()
stop = []
def knock():
    while not stop:
        errno_of(lambda: socket.create_connection(at, 5).close())
clients = [threading.Thread(target=knock) for _ in range(2)]
for t in clients: t.start()
for _ in range(30):
    s = socket.create_server(at); s.accept()[0].close(); s.shutdown(2); s.close()
stop.append(1)
for t in clients: t.join()
print("restarted", errno_of(lambda: socket.create_connection(at, 5)))
s = socket.create_server(at)
if os.fork() == 0:
    if os.fork() == 0:
        s.accept()[0].sendall(b"child")
    os._exit(0)
os.wait(); c = socket.create_connection(at, 5); s.close(); print(c.recv(9))
]], "restarted ECONNREFUSED\nb'child'\n")
  end)

  it("Unix sockets get the mode and the place that the caller's umask and directory give", function()
    works(BASICS .. [[
import tempfile
at = tempfile.mkdtemp(dir="."); os.chdir(at); os.umask(0o027)
s = socket.socket(socket.AF_UNIX); s.bind("s"); s.listen()
print(oct(os.stat("../" + at + "/s").st_mode))
c = socket.socket(socket.AF_UNIX); c.connect("s"); c.sendall(b"x"); print(s.accept()[0].recv(1))
print(errno_of(lambda: socket.socket(socket.AF_UNIX).bind("s")), errno_of(lambda: socket.socket(socket.AF_UNIX).bind("no/s")))
print(socket.if_nameindex()[0][1])
]], "0o140750\nb'x'\nEADDRINUSE ENOENT\nlo\n")
  end)

  it("servers may be as many as the limit, and one more when one has gone", function()
    local b <close> = box.new(shared())
    skip_unless_mediated(b)
    local outcome = b:run(python(BASICS .. [[
kept = []
def more():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); kept.append(s)
for i in range(256): more()
print(errno_of(more)); kept.pop(0).close(); time.sleep(0.3)
print(errno_of(more)); print(errno_of(more))
socket.create_connection(kept[100].getsockname(), 5)
]]))
    assert.equal("ENOBUFS\nok\nENOBUFS\n", outcome.stdout, outcome.stderr)
  end)
end)

--- A client of a server outside; `address` comes first.
local function client(port, how)
  return python(BASICS .. ("address = ('127.0.0.1', %d)\n"):format(port) .. how)
end

--- Besides those of network_spec. Each sends a mark of its own.
local ways = {
  { "the wildcard address", "s = socket.create_connection(('0.0.0.0', address[1]), 2); s.sendall(mark)" },
  { "the IPv6 wildcard, mapped", [[
s = socket.socket(10); s.bind(("::ffff:127.0.0.1", 0)); s.connect(("::", address[1])); s.sendall(mark)]] },
  { "MSG_FASTOPEN in sendmsg", "s = socket.socket(); s.sendmsg([mark], [], 0x20000000, address)" },
  { "TCP_FASTOPEN_CONNECT", [[
s = socket.socket(); errno_of(lambda: s.setsockopt(6, 30, 1)); s.connect(address); s.send(mark)]] },
  { "a socket that was connected to the run's own", [[
own = serve(2, ("127.0.0.1", 0)); s = socket.create_connection(own.getsockname(), 2); s.recv(9)
ctypes.CDLL(None).connect(s.fileno(), bytes(16), 16); s.connect(address); s.sendall(mark)]] },
  { "a server of the run's on the same port elsewhere", [[
own = serve(2, ("127.0.0.2", address[1])); s = socket.create_connection(address, 2); s.sendall(mark)]] },
  { "a shared port", [[
own = socket.socket(); own.setsockopt(1, socket.SO_REUSEADDR, 1)
errno_of(lambda: own.setsockopt(1, socket.SO_REUSEPORT, 1)); errno_of(lambda: own.bind(address))
s = socket.create_connection(address, 2); s.sendall(mark)]] },
}

local function is_reached(b)
  box.sleep(0.15)
  return b.server:received() ~= ""
end

--- All of them, one after the other.
local function try_all(port)
  local parts = { "import ctypes" }
  for i, way in ipairs(ways) do
    parts[#parts + 1] = ("mark = b'<%d>'\ntry:\n  %s\nexcept OSError: pass"):format(i, way[2]:gsub("\n", "\n  "))
  end
  return client(port, table.concat(parts, "\n"))
end

describe("on a shared loopback a server outside", function()
  it("is not reached by wildcards, Fast Open, sockets and ports of the run's own", function()
    do
      local b <close> = box.new()
      local server = b:listener("tcp", 0)
      b:run_unconfined(try_all(server.port))
      for i, way in ipairs(ways) do
        assert.is_truthy(box.wait_for(2, function()
          return server:received():find(("<%d>"):format(i), 1, true)
        end), way[1] .. " reaches nobody unconfined")
      end
    end
    local b <close> = box.new(shared())
    local server = b:listener("tcp", 0)
    b:run(try_all(server.port))
    box.sleep(0.15)
    assert.equal("", server:received())
  end)

  it("is named, with what would allow it", function()
    local b <close> = box.new(shared())
    skip_unless_mediated(b)
    local server = b:listener("tcp", 0)
    local outcome = b:run(client(server.port, "socket.create_connection(address, 2)"))
    local line = outcome.denials.denied[1]
    assert.matches(("connect to 127.0.0.1:%d: Permission denied"):format(server.port), line.text, 1, true)
    assert.equal("--set loopback=host", line.allow)
  end)

  it("is not reached when the address changes between look and use", function()
    -- 6,000 connects; unconfined one of the first few arrives.
    box.attack({
      box = shared(),
      setup = function(b)
        b.server = b:listener("tcp", 0)
        b:compile([[
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static struct sockaddr_in address;
static volatile int over;
static unsigned short own_port, other_port;
static void *flip(void *x)
{
	while (!over) {
		*(volatile unsigned short *)&address.sin_port = other_port;
		*(volatile unsigned short *)&address.sin_port = own_port;
	}
	return 0;
}
int main(int argc, char **argv)
{
	int server = socket(AF_INET, SOCK_STREAM, 0), i;
	socklen_t size = sizeof(address);
	pthread_t thread;
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(server, (void *)&address, size) || listen(server, 1000) || getsockname(server, (void *)&address, &size))
		return 2;
	own_port = address.sin_port;
	other_port = htons(atoi(argv[1]));
	pthread_create(&thread, 0, flip, 0);
	fcntl(server, F_SETFL, O_NONBLOCK);
	for (i = 0; i < 6000 && !over; i++) {
		struct sockaddr_in peer;
		int s = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(s, (void *)&address, size) == 0)
			send(s, "PWN", 3, MSG_NOSIGNAL);
		if (getpeername(s, (void *)&peer, &size) == 0 && peer.sin_port == other_port)
			over = 1;
		close(s);
		while ((s = accept(server, 0, 0)) >= 0)
			close(s);
	}
	over = 1;
	pthread_join(thread, 0);
	return 0;
}
]])
      end,
      run = function(b)
        return ("timeout 4 ./helper %d"):format(b.server.port)
      end,
      hurt = is_reached,
      clause = "network",
    })
  end)
end)

--- A program outside that wants a port for itself, tries all the time, and notes what it is sent.
local TAKER = [[
import socket, sys, time
port, received = int(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
s, until = None, time.time() + float(sys.argv[3])
while time.time() < until and s is None:
    try:
        t = socket.socket(); t.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        t.bind(("127.0.0.1", port)); t.listen(64); s = t
    except OSError:
        time.sleep(0.0002)
if s is None: sys.exit()
s.settimeout(0.2)
open(received + ".up", "w").close()
while time.time() < until:
    try: c, _ = s.accept()
    except OSError: continue
    c.settimeout(0.2)
    try: data = c.recv(99)
    except OSError: data = b""
    open(received, "ab").write(data); c.close()
]]

local function free_port()
  return tonumber((box.shell([[/usr/bin/python3 -I -c '
import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])']])))
end

--- The command is started when the taker runs; it sends PWN to whoever is at the port and is not itself.
local function taken(seconds, text)
  return {
    box = shared(),
    setup = function(b)
      b.port = free_port()
      b:write("workspace/port", tostring(b.port))
      b:start({
        "/bin/sh", "-c", ("until test -e go; do sleep 0.01; done; exec /usr/bin/python3 -I -c %s %d %s %s"):format(
          box.quote(TAKER), b.port, b:path("outside/taken"), seconds),
      })
    end,
    run = python(BASICS .. "at = ('127.0.0.1', int(open('port').read())); until = time.time() + 1.9\n"
      .. "def is_over(): return time.time() > until or os.path.exists(os.environ['OUTSIDE'] + '/taken')\n" .. text),
    hurt = function(b)
      box.sleep(0.2)
      return (b:read("outside/taken") or ""):find("PWN", 1, true) ~= nil
    end,
    clause = "network",
  }
end

describe("on a shared loopback a program outside that takes over a port of the run's", function()
  it("is not reached by a connection that waited in a full backlog", function()
    -- The kernel tries the connection again after one second, and after three.
    box.attack(taken(3, [[
s = socket.socket(); s.setsockopt(1, socket.SO_REUSEADDR, 1); s.bind(at); s.listen(0)
waiting = []
for _ in range(8):
    w = socket.socket(); w.setblocking(False); w.connect_ex(at); waiting.append(w)
time.sleep(0.1)
waiting = list(filter(lambda w: not select.select([], [w], [], 0)[1], waiting))
s.close(); open("go", "w").close()
while not is_over():
    for w in select.select([], waiting, [], 0.001)[1]:
        if errno_of(lambda: w.send(b"PWN")) != "ok": waiting.remove(w)
]]))
  end)

  it("is not reached when it comes between look and connect", function()
    -- The server is closed and opened again some thousand times while two threads connect.
    box.attack(taken(3, [[
open("go", "w").close()
def knock():
    while not is_over():
        c = socket.socket(); c.settimeout(0.5)
        if errno_of(lambda: c.connect(at)) == "ok": errno_of(lambda: c.send(b"PWN"))
        c.close()
for _ in range(2): threading.Thread(target=knock).start()
while not is_over():
    try:
        s = socket.socket(); s.setsockopt(1, socket.SO_REUSEADDR, 1); s.bind(at); s.listen(64)
    except OSError: time.sleep(0.0005)
    time.sleep(0.0005); s.close()
]]))
  end)

  it("is not reached at a port that the run has bound and does not listen on", function()
    box.attack(taken(3, [[
s = socket.socket(); s.setsockopt(1, socket.SO_REUSEADDR, 1); s.bind(at)
open("go", "w").close(); time.sleep(0.6)
c = socket.create_connection(at, 1); c.send(b"PWN")
]]))
  end)

  it("cannot listen beside the run, and has the port when the run has ended", function()
    local b <close> = box.new(shared())
    skip_unless_mediated(b)
    local port = free_port()
    local probe = ([[
import socket
s = socket.socket()
for option in (2, 15): s.setsockopt(1, option, 1)
try: s.bind(("%%s", %d)); s.listen(); print("taken")
except OSError as e: print(e.strerror)
]]):format(port)
    local run <close> = assert(b:policy():start({
      "/usr/bin/python3", "-I", "-c", BASICS .. ([[
s = socket.socket(); s.setsockopt(1, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", %d)); s.listen()
open("up", "w").close(); time.sleep(0.5); s.shutdown(2); s.close(); open("down", "w").close(); time.sleep(9)
]]):format(port),
    }))
    for _, name in ipairs({ "up", "down" }) do
      assert.is_truthy(box.wait_for(5, function()
        run:step(10)
        return b:exists("workspace/" .. name)
      end))
      for _, address in ipairs({ "127.0.0.1", "0.0.0.0" }) do
        assert.equal("Address already in use\n", b:run_unconfined(python(probe:format(address))).stdout)
      end
    end
    run:cancel(true)
    run:wait()
    assert.equal("taken\n", b:run_unconfined(python(probe:format("127.0.0.1"))).stdout)
  end)
end)

--- An address of this machine that is no loopback's.
local function outer_address()
  local address = box.shell([[/usr/bin/python3 -I -c '
import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.connect(("192.0.2.1", 9)); print(s.getsockname()[0])' 2>/dev/null]])
  if not address:find("^%d+%.%d+%.%d+%.%d+$") or address:find("^127%.") then
    box.skip("this machine has no address but the loopback's")
  end
  return address
end

for _, whose in ipairs({ "run", "host" }) do
  describe("with loopback = " .. whose, function()
    local config = { loopback = whose }

    it("no socket has or reaches an address outside of the loopback", function()
      local address = outer_address()
      local b <close> = box.new(shared(config))
      skip_unless_mediated(b)
      local text = BASICS .. ([[
outer = %q
print(errno_of(lambda: socket.socket().bind((outer, 0))))
print(errno_of(lambda: socket.socket(10).bind(("::ffff:" + outer, 0))))
print(errno_of(lambda: socket.create_connection((outer, 1), 2)))
print(errno_of(lambda: socket.socket(10).connect(("::ffff:" + outer, 1))))
print(errno_of(lambda: socket.socket().listen()))
print(errno_of(lambda: socket.socket().setsockopt(0, 15, 1)))
print(errno_of(lambda: socket.socket().setsockopt(1, 25, b"lo\0")))
]]):format(address)
      assert.equal("ok\nok\nECONNREFUSED\nECONNREFUSED\nok\nok\nok\n", b:run_unconfined(python(text)).stdout)
      local outcome = b:run(python(text))
      assert.equal(("EACCES\n"):rep(5) .. "ENOPROTOOPT\nEPERM\n", outcome.stdout, outcome.stderr)
    end)

    it("a wildcard server is not reached from outside of the loopback, and is from within", function()
      local address = outer_address()
      local ask = [[/usr/bin/python3 -I -c '
import socket; print(socket.create_connection(("%s", %s), 2).recv(9))' 2>/dev/null]]
      local server = BASICS .. [[
for family, any in ((2, "0.0.0.0"), (10, "::")):
    s = serve(family, (any, 0)); print(s.getsockname()[1], file=open("port%d" % family, "w"))
open("up", "w").close(); time.sleep(8)
]]
      local function ports(b, turn)
        assert.is_truthy(box.wait_for(5, function()
          turn()
          return b:exists("workspace/up")
        end))
        return { (b:read("workspace/port2"):match("%d+")), (b:read("workspace/port10"):match("%d+")) }
      end
      do
        local b <close> = box.new()
        b:start(python(server))
        for _, port in ipairs(ports(b, function() end)) do
          assert.equal("b'hi'", (box.shell(ask:format(address, port))))
        end
      end
      local b <close> = box.new(shared(config))
      skip_unless_mediated(b)
      local run <close> = assert(b:policy():start(python(server)))
      for _, port in ipairs(ports(b, function() run:step(10) end)) do
        assert.equal("", (box.shell(ask:format(address, port))))
        assert.equal("b'hi'", (box.shell(ask:format("127.0.0.1", port))))
      end
    end)

    it("there are no datagrams and no other protocols", function()
      local b <close> = box.new(shared(config))
      skip_unless_mediated(b)
      local outcome = b:run(python(BASICS .. [[
print(errno_of(lambda: socket.socket(type=socket.SOCK_DGRAM)), errno_of(lambda: socket.socket(10, socket.SOCK_DGRAM)),
      errno_of(lambda: socket.socket(proto=262)), errno_of(lambda: socket.socket(2, 3, 6)))
]]))
      assert.equal("EACCES EACCES EACCES EACCES\n", outcome.stdout, outcome.stderr)
      assert.matches("no UDP", box.report_row(outcome, "network").effect, 1, true)
    end)
  end)
end

describe("the host's loopback, when it is asked for", function()
  it("is reached, and so is the run from there, with namespaces and without", function()
    local b <close> = box.new({ config = { loopback = "host" } })
    skip_unless_mediated(b)
    local server = b:listener("tcp", 0)
    local outcome = b:run(client(server.port, [[
for way in (address, ("::ffff:127.0.0.1", address[1]), ("0.0.0.0", address[1])):
    socket.create_connection(way, 5).sendall(b"hello")
own = serve(10, ("::", 0)); print(fetch(("::1", own.getsockname()[1])), fetch(("127.0.1.1", own.getsockname()[1])))
]]))
    assert.equal("b'hi' b'hi'\n", outcome.stdout, outcome.stderr)
    assert.is_truthy(box.wait_for(2, function()
      return server:received() == ("<connected>hello"):rep(3)
    end))
  end)

  it("does not open abstract sockets of programs outside", function()
    box.attack({
      box = { config = { loopback = "host" } },
      setup = function(b)
        b.server = b:listener("stream", "@procage-loopback-" .. tostring({}):match("0x(%x+)"))
      end,
      run = function(b)
        return python(([[
import socket
s = socket.socket(socket.AF_UNIX); s.connect("\0" + %q[1:]); s.send(b"PWN")]]):format(b.server.address))
      end,
      hurt = is_reached,
      clause = "abstract",
    })
  end)
end)
