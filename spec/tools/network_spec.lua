--- Servers and clients of the run's own on the loopback: a private one, or the host's where each address is judged.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

local function python(text)
  return { "/usr/bin/python3", "-c", text }
end

describe("a server on the loopback", function()
  for _, case in ipairs({ { "127.0.0.1", "AF_INET" }, { "::1", "AF_INET6" } }) do
    it("answers over TCP on " .. case[1], function()
      tool.works({
        run = python(([[
import socket, threading
s = socket.create_server(("%s", 0), family=socket.%s)
def serve():
    c, _ = s.accept(); c.sendall(c.recv(9).upper()); c.close()
t = threading.Thread(target=serve); t.start()
c = socket.create_connection(s.getsockname()[:2], 5); c.sendall(b"ping"); print(c.recv(9)); t.join()
]]):format(case[1], case[2])),
        prints = "^b'PING'\n$",
        unless = tool.no_loopback,
      })
    end)

    it("answers over UDP on " .. case[1], function()
      tool.works({
        run = python(([[
import socket
a = socket.socket(socket.%s, socket.SOCK_DGRAM); a.bind(("%s", 0)); a.settimeout(5)
b = socket.socket(socket.%s, socket.SOCK_DGRAM); b.settimeout(5); b.sendto(b"ping", a.getsockname())
data, back = a.recvfrom(9); a.sendto(data.upper(), back); print(b.recv(9))
]]):format(case[2], case[1], case[2])),
        prints = "^b'PING'\n$",
        unless = tool.no_datagrams,
      })
    end)
  end

  it("is reached by the mapped address too (FR-50)", function()
    tool.works({
      run = python([[
import socket as s
a = s.create_server(("127.0.0.1", 0)); c = s.socket(s.AF_INET6)
c.connect(("::ffff:127.0.0.1", a.getsockname()[1])); print("ok")
]]),
      prints = "^ok\n$",
      unless = tool.no_loopback,
    })
  end)

  it("is reached by the name localhost", function()
    tool.works({
      run = python([[
import socket as s
a = s.socket(s.AF_INET6); a.setsockopt(s.IPPROTO_IPV6, s.IPV6_V6ONLY, 0); a.bind(("::", 0)); a.listen()
for info in s.getaddrinfo("localhost", a.getsockname()[1], type=s.SOCK_STREAM):
    c = s.socket(info[0]); c.settimeout(5); c.connect(info[4]); c.close()
print("reached")
]]),
      prints = "^reached\n$",
      unless = tool.no_loopback,
    })
  end)

  it("is http.server, asked by curl", function()
    tool.works({
      needs = { "curl" },
      setup = "echo page >index.html",
      run = [[
        /usr/bin/python3 -u -m http.server --bind 127.0.0.1 0 >log 2>&1 &
        for i in $(seq 100); do grep -qE 'port|Error' log && break; sleep 0.05; done
        curl -sf "http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\) .*/\1/p' log)/"; kill $! 2>/dev/null
        cat log >&2; grep -q 'GET / HTTP' log]],
      prints = "^page\n$",
      unless = tool.no_loopback,
    })
  end)

  it("is node's, asked by node", function()
    tool.works({
      needs = { "node" },
      setup = function(b)
        b:write("workspace/s.js", [[
const http = require("http");
const server = http.createServer((request, answer) => answer.end("hello " + request.url));
server.on("error", (e) => { console.log(e.message); process.exit(1); });
server.listen(0, "127.0.0.1", () =>
  http.get({ host: "localhost", family: 4, port: server.address().port, path: "/x" }, (r) => {
    r.on("data", (d) => console.log("" + d)); r.on("end", () => server.close()); }));
]])
      end,
      run = "node s.js",
      prints = "^hello /x\n$",
      unless = {
        clause = "network",
        lacks = { "netns", "mediated-loopback" },
        effect = "servers on 127.0.0.1 cannot be started or reached",
        fails = "EACCES",
      },
    })
  end)

  it("may use the port of a server outside, where the loopback is the run's own", function()
    local b <close> = box.new()
    local outside <close> = b:listener("tcp", 0)
    local text = ([[
import socket
s = socket.create_server(("127.0.0.1", %d)); print("own")
]]):format(outside.port)
    assert.matches("Address already in use", b:run_unconfined(python(text)).stderr)
    local outcome = b:run(python(text))
    local row = box.report_row(outcome, "network")
    if tool.has(row, "netns") then
      assert.equal("own\n", outcome.stdout)
    elseif tool.has(row, "mediated-loopback") then
      assert.matches("Address already in use", outcome.stderr)
    else
      assert.matches("Permission denied", outcome.stderr)
    end
  end)
end)

describe("names and interfaces", function()
  it("are looked up in files, without the network", function()
    tool.works({ run = { "getent", "passwd", "root" }, prints = "^root:" })
    tool.works({ run = { "getent", "services", "http/tcp" }, prints = "80/tcp" })
  end)

  it("find /etc/resolv.conf where it leads (FR-49)", function()
    tool.works({ run = "cat /etc/resolv.conf >/dev/null && readlink -f /etc/resolv.conf && echo ok", prints = "ok\n$" })
  end)

  it("are listed over netlink", function()
    tool.works({
      run = python([[import socket; print([name for _, name in socket.if_nameindex()])]]),
      prints = "'lo'",
    })
  end)
end)

describe("a Unix socket", function()
  it("serves in the workspace, in TMPDIR and as a pair", function()
    tool.works({
      run = python([[
import os, socket, tempfile
for path in ("s", os.path.join(tempfile.mkdtemp(), "s")):
    a = socket.socket(socket.AF_UNIX); a.bind(path); a.listen(); b = socket.socket(socket.AF_UNIX); b.connect(path)
    c, _ = a.accept(); b.sendall(b"x"); print(c.recv(1))
x, y = socket.socketpair(); x.send(b"p"); print(y.recv(1))
]]),
      prints = "^b'x'\nb'x'\nb'p'\n$",
    })
  end)

  it("with an abstract name serves the run", function()
    tool.works({
      run = python([[
import socket
a = socket.socket(socket.AF_UNIX); a.bind("\0own"); a.listen()
b = socket.socket(socket.AF_UNIX); b.connect("\0own"); print("ok")
]]),
      prints = "^ok\n$",
      unless = {
        clause = "abstract",
        lacks = "netns",
        effect = "abstract sockets of the run itself cannot be reached",
        fails = "Permission denied",
      },
    })
  end)

  it("of datagrams is there, or the report says that it is not", function()
    tool.works({
      run = python([[
import socket
x, y = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); x.send(b"p"); print(y.recv(1))
a = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); a.bind("d"); x = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
x.sendto(b"q", "d"); print(a.recv(1))
]]),
      prints = "^b'p'\nb'q'\n$",
      unless = { clause = "sockets", effect = "Unix datagram sockets", fails = "^b'p'\n.*Socket type not supported" },
    })
  end)
end)
