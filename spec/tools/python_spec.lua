--- Python runs unchanged: environments, tests, processes, shared memory, databases.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

--- A program in a file, as multiprocessing's spawn method wants it.
local function program(text)
  return function(b)
    b:write("workspace/program.py", text)
  end
end

local run = { "/usr/bin/python3", "program.py" }

describe("python", function()
  it("makes a virtual environment and installs a wheel without an index", function()
    if not select(2, box.shell("/usr/bin/python3 -c 'import ensurepip, venv'")) then
      return pending("python3-venv is not installed")
    end
    tool.works({
      needs = { "python3" },
      setup = program([[
import zipfile
with zipfile.ZipFile("greet-1.0-py3-none-any.whl", "w") as z:
    z.writestr("greet.py", "def main():\n    print('hello from a wheel')\n")
    z.writestr("greet-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n")
    z.writestr("greet-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("greet-1.0.dist-info/entry_points.txt", "[console_scripts]\ngreet = greet:main\n")
    z.writestr("greet-1.0.dist-info/RECORD", "")
]]),
      run = "set -e; /usr/bin/python3 program.py; /usr/bin/python3 -m venv env; . env/bin/activate; "
        .. "pip install -q --no-index ./greet-1.0-py3-none-any.whl; greet",
      options = { timeout_ms = 90000 },
      prints = "hello from a wheel\n$",
    })
  end)

  it("runs unittest", function()
    tool.works({
      setup = function(b)
        b:write("workspace/test_it.py", [[
import tempfile, unittest, os
class T(unittest.TestCase):
    def test_tmp(self):
        with tempfile.TemporaryDirectory() as d:
            self.assertTrue(os.path.isdir(d))
    def test_sum(self):
        self.assertEqual(sum([1, 2]), 3)
]])
      end,
      run = "/usr/bin/python3 -m unittest -v 2>&1 && ls __pycache__",
      prints = "Ran 2 tests",
    })
  end)

  it("forks, spawns, and talks over pipes and a manager's socket", function()
    tool.works({
      setup = program([[
import multiprocessing as mp, subprocess, asyncio, concurrent.futures as cf
def f(c):
    c.send("child"); c.close()
if __name__ == "__main__":
    for how in ("fork", "spawn"):
        ctx = mp.get_context(how)
        a, b = ctx.Pipe()
        p = ctx.Process(target=f, args=(b,)); p.start(); print(how, a.recv()); p.join(); assert p.exitcode == 0
    print(subprocess.run(["cat"], input=b"x" * 200000, capture_output=True).stdout.count(b"x"))
    async def main():
        p = await asyncio.create_subprocess_exec("echo", "async", stdout=-1)
        print((await p.communicate())[0])
    asyncio.run(main())
    with cf.ThreadPoolExecutor(4) as e: print(sum(e.map(len, ["a", "bb"])))
]]),
      run = run,
      prints = "^fork child\nspawn child\n200000\nb'async\\n'\n3\n$",
    })
  end)

  it("uses multiprocessing pools, queues, locks and managers", function()
    tool.works({
      setup = program([[
import multiprocessing as mp
def square(x): return x * x
if __name__ == "__main__":
    with mp.Pool(2) as pool: print(pool.map(square, range(4)))
    q = mp.Queue(); p = mp.Process(target=q.put, args=(5,)); p.start(); print(q.get()); p.join()
    with mp.Manager() as m:
        d = m.dict(); d["a"] = 1; print(dict(d))
    with mp.Lock(): print("locked")
]]),
      run = run,
      prints = "^%[0, 1, 4, 9%]\n5\n{'a': 1}\nlocked\n$",
      unless = tool.no_shared_memory,
    })
  end)

  it("shares memory by name, and the name is the run's own (FR-02)", function()
    local b <close> = box.new()
    tool.works({
      setup = program([[
from multiprocessing import shared_memory as s
m = s.SharedMemory("procagedemo", True, 64); m.buf[0] = 7
n = s.SharedMemory("procagedemo"); print(n.size >= 64, n.buf[0]); n.close(); m.close(); m.unlink()
]]),
      run = run,
      prints = "^True 7\n$",
      unless = tool.no_shared_memory,
    })
    b:run(box.python("from multiprocessing import shared_memory as s; s.SharedMemory('procageleft', True, 64)"))
    assert.is_false((select(2, box.shell("test -e /dev/shm/procageleft"))))
  end)

  it("maps files shared, anonymous memory and memfds (FR-02)", function()
    tool.works({
      setup = program([[
import mmap, os
with open("m", "w+b") as f:
    f.truncate(4096); a = mmap.mmap(f.fileno(), 4096); b = mmap.mmap(f.fileno(), 4096); a[0:2] = b"hi"; print(b[0:2])
m = mmap.mmap(-1, 4096)
if os.fork() == 0:
    m[0] = 9; os._exit(0)
os.wait(); print(m[0])
fd = os.memfd_create("x"); os.write(fd, b"mem"); print(os.pread(fd, 3, 0), os.listdir("/proc/self/fd") != [])
]]),
      run = run,
      prints = "^b'hi'\n9\nb'mem' True\n$",
    })
  end)

  it("keeps a sqlite database with a write-ahead log", function()
    tool.works({
      setup = program([[
import sqlite3, subprocess, sys
c = sqlite3.connect("d.db"); print(c.execute("pragma journal_mode=wal").fetchone()[0])
c.execute("create table t (a)"); c.execute("insert into t values (1)"); c.commit()
other = "import sqlite3; c = sqlite3.connect('d.db'); c.execute('insert into t values (2)'); c.commit()"
subprocess.run([sys.executable, "-c", other], check=True)
print(c.execute("select sum(a) from t").fetchone()[0])
]]),
      run = run,
      prints = "^wal\n3\n$",
    })
  end)

  it("locks files by flock and by record, also against another process", function()
    tool.works({
      needs = { "flock" },
      setup = program([[
import fcntl, os, subprocess
f = open("l", "w"); fcntl.flock(f, fcntl.LOCK_EX)
print(subprocess.run(["flock", "-n", "l", "true"]).returncode)
g = open("r", "w"); fcntl.lockf(g, fcntl.LOCK_EX)
if os.fork() == 0:
    try: fcntl.lockf(open("r", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB); os._exit(0)
    except OSError: os._exit(3)
print(os.waitstatus_to_exitcode(os.wait()[1]))
]]),
      run = run,
      prints = "^1\n3\n$",
    })
  end)

  it("is told of changes by inotify", function()
    tool.works({
      setup = program([[
import ctypes, os, struct
c = ctypes.CDLL(None); fd = c.inotify_init1(0); assert c.inotify_add_watch(fd, b".", 0x100) > 0
open("made", "w").close()
wd, mask, cookie, size = struct.unpack("iIII", (data := os.read(fd, 4096))[:16]); print(data[16:16 + size].rstrip(b"\0"))
]]),
      run = run,
      prints = "^b'made'\n$",
    })
  end)

  it("falls back where a system call is unknown (FR-37)", function()
    tool.works({
      setup = program([[
import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.syscall(1023), ctypes.get_errno())
]]),
      run = run,
      prints = "^%-1 38\n$",
    })
  end)
end)
