--- Calls that somebody else performs: whoever is slow, gone or in a race holds up nobody else, and nothing outside is reached.

local box = require("spec.support.box")

local python = box.python

--- A server with a full backlog and one that answers, both of the run; a thousand threads wait for the first.
local THOUSAND = [[
import os, resource, socket, threading, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
full = socket.socket(socket.AF_UNIX); full.bind("full"); full.listen(0)
live = socket.socket(socket.AF_UNIX); live.bind("live"); live.listen(8)
waiting = []
def wait():
    s = socket.socket(socket.AF_UNIX); waiting.append(s)
    try: s.connect("full")
    except OSError: pass
threading.stack_size(64 * 1024)
for i in range(COUNT):
    threading.Thread(target=wait, daemon=True).start()
time.sleep(1.5)
began = time.time()
socket.socket(socket.AF_UNIX).connect("live")
print("connected", len(waiting), time.time() - began < 5, flush=True)
time.sleep(60)
]]

describe("a thousand connections that wait for a full backlog", function()
  it("hold up neither another one, nor the deadline, nor the host", function()
    local b <close> = box.new()
    local code = THOUSAND:gsub("COUNT", "1000")
    local outcome = b:run(python(code), { timeout_ms = 12000 })
    if box.report_row(outcome, "sockets").id == "unix" then
      return assert.not_equal(0, outcome.status)
    end
    assert.is_true(outcome.timed_out, outcome.stderr)
    assert.equal("connected 1000 True\n", outcome.stdout)
    assert.is_true(outcome.duration_ms < 25000, outcome.duration_ms .. " ms")
  end)
end)

--- Connections that are made at once, and those that have to wait: nothing tells them apart but the time that they take.
local WAITS = [[
import errno, fcntl, os, socket, struct, threading, time
def timed(s, at):
    began = time.time()
    try: s.connect(at); how = "ok"
    except OSError as e: how = errno.errorcode[e.errno]
    return how, time.time() - began
def modes(s):
    return fcntl.fcntl(s, fcntl.F_GETFL), s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16)
def sock(timeout=None):
    s = socket.socket(FAMILY)
    if timeout: s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, timeout))
    return s
server = sock(); server.bind(ADDRESS); at = server.getsockname(); server.listen(0)
first = sock(250000); before = modes(first)
print("at once", timed(first, at)[0], modes(first) == before)
held = [first] # and the backlog is full
timid = sock(250000); how, took = timed(timid, at); print("timid", how, 0.2 < took < 10)
hasty = sock(); hasty.setblocking(False); how, took = timed(hasty, at); print("hasty", how, took < 5)
def accept():
    time.sleep(0.7)
    while True: held.append(server.accept()[0])
threading.Thread(target=accept, daemon=True).start()
patient = sock(); before = modes(patient); how, took = timed(patient, at)
print("patient", how, took > 0.3, modes(patient) == before, patient.getpeername() == at)
]]

describe("a connection to a full backlog", function()
  local function try(family, address)
    local b <close> = box.new()
    local code = WAITS:gsub("FAMILY", "socket." .. family):gsub("ADDRESS", address)
    local control = b:run_unconfined(python(code))
    os.remove(b:path("workspace/full"))
    local outcome = b:run(python(code))
    return control, outcome
  end

  it("waits as it would without anybody between, and leaves the socket as it was: Unix", function()
    local control, outcome = try("AF_UNIX", '"full"')
    assert.matches("^at once ok True\ntimid EAGAIN True\nhasty EAGAIN True\npatient ok True True True\n$", control.stdout)
    if box.report_row(outcome, "sockets").id == "unix" then
      return assert.not_equal(0, outcome.status)
    end
    assert.equal(control.stdout, outcome.stdout, outcome.stderr)
  end)

  it("waits as it would without anybody between, and leaves the socket as it was: TCP", function()
    local control, outcome = try("AF_INET", '("127.0.0.1", 0)')
    assert.matches(
      "^at once ok True\ntimid EINPROGRESS True\nhasty EINPROGRESS True\npatient ok True True True\n$",
      control.stdout
    )
    local row = box.report_row(outcome, "network")
    local mechanisms = " " .. table.concat(row.mechanisms, " ") .. " "
    if not mechanisms:find(" netns ", 1, true) and not mechanisms:find(" mediated-loopback ", 1, true) then
      return assert.not_equal(0, outcome.status)
    end
    assert.equal(control.stdout, outcome.stdout, outcome.stderr)
  end)
end)

--- Connects again and again to a name that leads to its own server and, in between, to one outside.
local FLIP = [[
import os, socket, threading, time
own = os.path.join(os.getcwd(), "own.sock"); outside = os.environ["OUTSIDE"] + "/o.sock"
server = socket.socket(socket.AF_UNIX); server.bind(own); server.listen(64)
end = time.time() + 2
def accept():
    while True: server.accept()[0].close()
def flip():
    n = 0
    while time.time() < end:
        for target in (own, outside):
            n += 1
            os.symlink(target, "way%d" % (n % 2)); os.rename("way%d" % (n % 2), "way")
os.symlink(own, "way")
threading.Thread(target=accept, daemon=True).start()
threading.Thread(target=flip, daemon=True).start()
reached = 0
while time.time() < end:
    s = socket.socket(socket.AF_UNIX)
    try: s.connect("way"); s.send(b"PWN"); reached += 1
    except OSError: pass
    s.close()
print(reached > 20)
]]

describe("a name that is turned elsewhere while it is used", function()
  it("leads to no socket outside", function()
    box.attack({
      setup = function(b)
        b.server = b:listener("stream", b:path("outside/o.sock"))
      end,
      run = python(FLIP),
      hurt = function(b)
        box.sleep(0.15)
        return b.server:received() ~= ""
      end,
      clause = "sockets",
    })
  end)

  it("is not waited for when it is a FIFO", function()
    local b <close> = box.new()
    local outcome = b:run(python([[
import os, socket
os.mkfifo("f")
try: socket.socket(socket.AF_UNIX).connect("f")
except OSError as e: print(e.errno)
]]), { timeout_ms = 5000 })
    assert.is_nil(outcome.timed_out or nil)
    assert.matches("^%d+\n$", outcome.stdout)
  end)
end)

--- Connects some thousand times to an address in its memory that another thread writes all the time: that of its own server,
--- and that of one outside.
local REWRITE = [[
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
static struct sockaddr_un address = { AF_UNIX }, own = { AF_UNIX }, outside = { AF_UNIX };
static volatile int over;
static void *rewrite(void *x)
{
	while (!over) {
		memcpy(address.sun_path, outside.sun_path, sizeof(own.sun_path));
		__asm__ volatile("" ::: "memory");
		memcpy(address.sun_path, own.sun_path, sizeof(own.sun_path));
		__asm__ volatile("" ::: "memory");
	}
	return 0;
}
int main(int argc, char **argv)
{
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), own_reached = 0;
	time_t end = time(0) + 2;
	pthread_t thread;
	strcpy(own.sun_path, argv[1]);
	strcpy(outside.sun_path, argv[2]);
	if (bind(server, (void *)&own, sizeof(own)) || listen(server, 1000))
		return 2;
	pthread_create(&thread, 0, rewrite, 0);
	while (time(0) <= end) {
		int s = socket(AF_UNIX, SOCK_STREAM, 0), c;
		if (connect(s, (void *)&address, sizeof(address)) == 0)
			send(s, "PWN", 3, MSG_NOSIGNAL);
		close(s);
		while ((c = accept(server, 0, 0)) >= 0) {
			own_reached++;
			close(c);
		}
	}
	over = 1;
	pthread_join(thread, 0);
	return own_reached ? 0 : 3;
}
]]

describe("an address that another thread rewrites while it is used (FR-78)", function()
  it("leads to no socket outside, and to the run's own", function()
    local outcome = box.attack({
      setup = function(b)
        b.server = b:listener("stream", b:path("outside/o.sock"))
        b:compile(REWRITE)
      end,
      run = "./helper $WS/own.sock $OUTSIDE/o.sock",
      hurt = function(b)
        box.sleep(0.15)
        return b.server:received() ~= ""
      end,
      clause = "sockets",
    })
    if box.report_row(outcome, "sockets").id ~= "unix" then
      assert.equal(0, outcome.status, outcome.stderr)
    end
  end)
end)

--- Kills every process that has the same parent as the command: the broker is init's child too.
local KILL_SIBLINGS = [[
import os, signal, time
for name in os.listdir("/proc"):
    if not name.isdigit() or int(name) == os.getpid(): continue
    try:
        with open("/proc/%s/stat" % name) as f: parent = int(f.read().rsplit(")", 1)[1].split()[1])
        if parent == os.getppid(): open("done", "w").close(); os.kill(int(name), HOW)
    except OSError: pass
import socket
s = socket.socket(socket.AF_UNIX); s.bind("own"); s.listen(1)
c = socket.socket(socket.AF_UNIX); c.connect("own"); print("connected", flush=True)
time.sleep(20)
]]

describe("the broker of a run", function()
  --- Where signals reach it: no PID namespace, no scope.
  local function attack(how, timeout_ms)
    if box.host().pidns then
      box.skip("a PID namespace: its init's children cannot be told apart from outside the namespace")
    end
    box.skip_unless("seccomp_notify")
    local host = {}
    for name, value in pairs(box.host()) do
      host[name] = value
    end
    host.landlock_abi = math.min(5, host.landlock_abi)
    local b <close> = box.new({ host = host })
    local code = KILL_SIBLINGS:gsub("HOW", "signal." .. how)
    local outcome = b:run(python(code), { timeout_ms = timeout_ms })
    assert.is_true(b:exists("workspace/done"), "it was not found: " .. outcome.stderr)
    return outcome
  end

  it("that is killed ends the run", function()
    local outcome = attack("SIGKILL", 10000)
    assert.not_matches("connected", outcome.stdout)
    assert.is_true(outcome.is_broker_lost)
    assert.is_false(outcome.timed_out)
    assert.matches("broker was killed", table.concat(outcome.events, "\n"))
  end)

  it("that is stopped performs nothing, and the deadline holds", function()
    local outcome = attack("SIGSTOP", 1000)
    assert.not_matches("connected", outcome.stdout)
    assert.is_true(outcome.timed_out)
    assert.is_true(outcome.duration_ms < 8000, outcome.duration_ms .. " ms")
  end)
end)

describe("a run inside a run", function()
  it("names what it cannot have a second time, and holds", function()
    box.skip_unless("seccomp_notify")
    local build, source = os.getenv("PROCAGE_BUILD") or "build/dev", box.shell("pwd -P")
    build = build:find("^/") and build or source .. "/" .. build
    -- A checkout below /var/tmp is not there for a run that has one of its own.
    local b <close> = box.new({ config = { readable = { source, build } } })
    b:write("home/secret", "s3cret")
    local program = build .. "/bin/procage-lua"
    local inner = ("%s run --set 'hidden=[\"~/secret\"]' --json -- sh -c 'echo in; echo x > %s/x; cat %s/secret'"):format(
      box.quote(program),
      b.outside,
      b.home
    )
    local outcome = b:run(inner)
    assert.is_false(b:exists("outside/x"))
    assert.is_nil(outcome.stdout:find("s3cret", 1, true))
    if outcome.status == 126 then
      -- Without Landlock nothing is left for the inner one to use.
      assert.is_truthy(outcome.stderr:find("SANDBOX-UNAVAILABLE", 1, true))
    else
      assert.is_truthy(outcome.stdout:find('"stdout":"in', 1, true))
      assert.is_truthy(outcome.stdout:find('"clause":"sockets","state":"tightened","mechanisms":["seccomp-no-unix"]', 1, true))
    end
  end)
end)

--- Connects, fills the connection, and is killed in the middle of a call about it: whoever has the last descriptor waits until
--- all is sent, which nobody reads, or until SO_LINGER is over.
local LINGER = [[
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in server, nobody;

static int fill(void)
{
	static const char bytes[65536];
	const struct linger linger = { 1, 12 };
	int s = socket(AF_INET, SOCK_STREAM, 0), small = 4096;

	setsockopt(s, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	if (connect(s, (struct sockaddr *)&server, sizeof(server)) < 0)
		exit(0);
	fcntl(s, F_SETFL, O_NONBLOCK);
	while (write(s, bytes, sizeof(bytes)) > 0)
		;
	setsockopt(s, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return s;
}

int main(void)
{
	int l = socket(AF_INET, SOCK_STREAM, 0), small = 4096, i;
	socklen_t size = sizeof(server);

	server.sin_family = nobody.sin_family = AF_INET;
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	nobody.sin_addr.s_addr = htonl(0x0a000001);
	setsockopt(l, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (bind(l, (struct sockaddr *)&server, size) < 0 || listen(l, 4096) < 0)
		return 3;
	getsockname(l, (struct sockaddr *)&server, &size);
	puts("up");
	fflush(stdout);
	for (i = 0;; i++) {
		const struct timespec moment = { 0, 20000 + i * 1337 % 200000 };
		int s = fill();
		pid_t child = fork();

		/* Who is killed between two children leaves one. */
		if (child == 0)
			alarm(5);
		while (child == 0)
			connect(s, (struct sockaddr *)&nobody, sizeof(nobody));
		close(s);
		nanosleep(&moment, NULL);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}
]]

describe("a connection that lingers", function()
  it("holds up neither the deadline nor the host", function()
    local b <close> = box.new()
    local program = b:compile(LINGER)
    local control = b:run_unconfined({ program }, { timeout_ms = 1000 })
    assert.equal("up\n", control.stdout, control.stderr)
    local outcome = b:run({ program }, { timeout_ms = 2500 })
    assert.is_true(outcome.duration_ms < 8000, outcome.duration_ms .. " ms")
    if outcome.stdout == "up\n" then
      assert.is_true(outcome.timed_out or outcome.status == 0, outcome.stderr)
    end
  end)
end)
