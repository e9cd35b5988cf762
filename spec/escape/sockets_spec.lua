local box = require("spec.support.box")

local python = box.python

local function send(kind, address, how)
  return python(([[
import os, socket
address = %q
if address.startswith("@"):
    address = "\0" + address[1:]
else:
    os.chdir(os.path.dirname(address)); address = os.path.basename(address)
kind = socket.%s
%s
]]):format(address, kind, how))
end

local reached = function(b)
  box.sleep(0.15)
  return b.server:received() ~= ""
end

local connect = "s = socket.socket(socket.AF_UNIX, kind); s.connect(address); s.send(b'PWN')"

local places = {
  { "where nobody would look (FR-58)", "outside/deep/daemon.sock" },
  { "of a container engine in home (FR-58)", "home/.local/share/containers/podman.sock" },
  { "in a directory of its own", "outside/s" },
}

describe("a socket of a program outside", function()
  for _, place in ipairs(places) do
    it(place[1] .. " is not reached by connect", function()
      box.attack({
        setup = function(b)
          b:mkdir(place[2]:match("^(.*)/"))
          b.server = b:listener("stream", b:path(place[2]))
        end,
        run = function(b)
          return send("SOCK_STREAM", b.server.address, connect)
        end,
        hurt = reached,
        clause = "sockets",
      })
    end)
  end

  -- What stands at the name at the time of the run counts; gaps are named by the report.
  local datagram_ways = {
    ["sendto"] = "socket.socket(socket.AF_UNIX, kind).sendto(b'PWN', address)",
    ["sendmsg"] = "socket.socket(socket.AF_UNIX, kind).sendmsg([b'PWN'], [], 0, address)",
    ["connect"] = connect,
    ["sendto from one of a pair (FR-59)"] = "a, _ = socket.socketpair(socket.AF_UNIX, kind); a.sendto(b'PWN', address)",
    ["connect from one of a pair (FR-59)"] = [[
a, _ = socket.socketpair(socket.AF_UNIX, kind); a.connect(address); a.send(b'PWN')]],
    ["sendmmsg"] = [[
import ctypes
libc = ctypes.CDLL(None)
class iovec(ctypes.Structure): _fields_ = [("base", ctypes.c_char_p), ("len", ctypes.c_size_t)]
class msghdr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint), ("iov", ctypes.POINTER(iovec)),
                ("iovlen", ctypes.c_size_t), ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t),
                ("flags", ctypes.c_int)]
class mmsghdr(ctypes.Structure): _fields_ = [("hdr", msghdr), ("len", ctypes.c_uint)]
name = b"\1\0" + address.encode() + b"\0"
buffer = ctypes.create_string_buffer(name, len(name))
m = mmsghdr(msghdr(ctypes.cast(buffer, ctypes.c_void_p), len(name), ctypes.pointer(iovec(b"PWN", 3)), 1, None, 0, 0), 0)
s = socket.socket(socket.AF_UNIX, kind)
libc.sendmmsg(s.fileno(), ctypes.byref(m), 1, 0)]],
  }
  for name, how in pairs(datagram_ways) do
    it("is not sent a datagram by " .. name, function()
      box.attack({
        setup = function(b)
          b.server = b:listener("dgram", b:path("outside/dg"))
        end,
        run = function(b)
          return send("SOCK_DGRAM", b.server.address, how)
        end,
        hurt = reached,
        clause = "sockets",
      })
    end)
  end

  it("is not reached through another name", function()
    local links = { "ln -s $OUTSIDE/s alias", "ln -s /proc/self/root$OUTSIDE/s alias", "ln -s $OUTSIDE d; ln -s d/s alias" }
    for _, way in ipairs(links) do
      box.attack({
        setup = function(b)
          b.server = b:listener("seqpacket", b:path("outside/s"))
        end,
        run = way .. [[ && exec /usr/bin/python3 -I -c '
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect("alias"); s.send(b"PWN")']],
        hurt = reached,
        clause = "sockets",
      })
    end
  end)

  it("that is bound while the run lasts is not reached, or the report says that it can be", function()
    local b <close> = box.new()
    b:start("while ! test -e $WS/ready; do sleep 0.02; done; exec /usr/bin/python3 -I -c '" .. [[
import os, socket
os.chdir(os.environ["OUTSIDE"])
s = socket.socket(socket.AF_UNIX); s.bind("late"); s.listen()
open(os.environ["WS"] + "/go", "w").close()
c, _ = s.accept(); open("got", "wb").write(c.recv(10))
]] .. "'")
    local outcome = b:run([[touch ready; for i in 1 2 3 4 5 6 7 8 9; do test -e go && break; sleep 0.1; done
cd $OUTSIDE && exec /usr/bin/python3 -I -c 'import socket; s = socket.socket(1); s.connect("late"); s.send(b"PWN")']])
    assert.is_true(b:exists("workspace/go"))
    box.sleep(0.1)
    if box.holds(outcome, "sockets") then
      assert.is_nil(b:read("outside/got"))
    end
  end)
end)

describe("an abstract socket of a program outside", function()
  local function name()
    return "@procage-test-" .. tostring({}):match("0x(%x+)")
  end

  for kind, how in pairs({ stream = connect, dgram = "socket.socket(socket.AF_UNIX, kind).sendto(b'PWN', address)" }) do
    it("is not reached, " .. kind, function()
      box.attack({
        setup = function(b)
          b.server = b:listener(kind, name())
        end,
        run = function(b)
          return send(kind == "stream" and "SOCK_STREAM" or "SOCK_DGRAM", b.server.address, how)
        end,
        hurt = reached,
        clause = "abstract",
      })
    end)
  end

  it("is not reached with the whole network", function()
    box.attack({
      box = { config = { network = "all" } },
      setup = function(b)
        b.server = b:listener("stream", name())
      end,
      run = function(b)
        return send("SOCK_STREAM", b.server.address, connect)
      end,
      hurt = reached,
      clause = "abstract",
    })
  end)
end)

describe("the sockets of a run", function()
  it("work among themselves, in the workspace and in TMPDIR", function()
    local b <close> = box.new()
    local outcome = b:run(python([[
import os, socket, threading
for address in ("own.sock", os.environ["TMPDIR"] + "/s"):
    s = socket.socket(socket.AF_UNIX); s.bind(address); s.listen()
    threading.Thread(target=lambda: s.accept()[0].sendall(b"x")).start()
    c = socket.socket(socket.AF_UNIX); c.connect(address); print(c.recv(1))
a, b = socket.socketpair(); a.send(b"pair"); print(b.recv(4))
]]))
    assert.equal(("b'x'\n"):rep(2) .. "b'pair'\n", outcome.stdout, outcome.stderr)
  end)

  it("work by an abstract name, where they have a network namespace", function()
    box.skip_unless("netns")
    local b <close> = box.new()
    local outcome = b:run(python([[
import socket
s = socket.socket(socket.AF_UNIX); s.bind("\0procage-own"); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect("\0procage-own"); c.send(b"x"); print(s.accept()[0].recv(1))
]]))
    assert.equal("b'x'\n", outcome.stdout, outcome.stderr)
  end)
end)

describe("an abstract name that a run takes", function()
  it("is not found by programs outside", function()
    box.attack({
      setup = function(b)
        b.name = "procage-squat-" .. math.random(1 << 30)
        b.client = b:start(python(([[
import socket, time
for _ in range(400):
    try: socket.socket(socket.AF_UNIX).connect("\0%s"); print("fooled", flush=True); break
    except OSError: time.sleep(0.02)]]):format(b.name)))
      end,
      run = function(b)
        return python(([[
import socket
s = socket.socket(socket.AF_UNIX); s.settimeout(1); s.bind("\0%s"); s.listen(); s.accept()]]):format(b.name))
      end,
      hurt = function(b)
        return box.wait_for(0.5, function()
          return b.client:output():find("fooled", 1, true)
        end)
      end,
      clause = "abstract",
    })
  end)
end)
