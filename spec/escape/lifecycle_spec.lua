local box = require("spec.support.box")

local python = box.python

--- Processes whose command line has a word that only this test uses.
local function alive(word)
  return box.shell(("pgrep -f '%s[%s]' | grep -vx $$ | tr '\\n' ' '; true"):format(word:sub(1, -2), word:sub(-1)))
end

local function word()
  return ("77%07d"):format(math.random(9999999))
end

local function now()
  return tonumber((box.shell("date +%s%N"))) / 1e9
end

describe("when a run returns", function()
  local survivors = {
    { "a child in the background", "sleep @ & echo started" },
    { "a child with its own session", "setsid sleep @ & echo started" },
    { "a daemon that forked twice", "(setsid sh -c 'sleep @ & exit' &) ; sleep 0.1; echo started" },
    { "a child that ignores signals", "sh -c 'trap \"\" TERM HUP INT; sleep @; :' & sleep 0.1; echo started" },
    { "a stopped child", "sleep @ & kill -STOP $!; echo started" },
    { "a child that holds its output (FR-97)", "sleep @ & exec echo started" },
    { "a traced child", "sleep @ & echo started" },
    { "a subreaper's grandchild", python([[
import ctypes, os, subprocess
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if os.fork() == 0:
    os.setsid()
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    if os.fork() == 0:
        os.execv("/bin/sleep", ["sleep", "@"])
    os._exit(0)
import time; time.sleep(0.1)
print("started")]]) },
    { "a child that stops for init again and again", python([[
import os, time
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(0.1)
        os.execv("/usr/bin/python3", ["python3", "-I", "-c", """
import ctypes, os
libc = ctypes.CDLL(None)
while True:
    libc.ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), 23)
""", "@"])
    os._exit(0)
os.wait()
time.sleep(0.3)
print("started")]]) },
  }
  for _, survivor in ipairs(survivors) do
    it(survivor[1] .. " is dead", function()
      local mark = word()
      local function command()
        if type(survivor[2]) == "string" then
          return (survivor[2]:gsub("@", mark))
        end
        local list = {}
        for i, item in ipairs(survivor[2]) do
          list[i] = item:gsub("@", mark)
        end
        return list
      end
      local b <close> = box.new()
      local began = now()
      local outcome = b:run(command())
      assert.equal("started\n", outcome.stdout, outcome.stderr)
      assert.equal(0, outcome.status)
      assert.is_true(now() - began < 3)
      assert.equal("", alive(mark))
    end)
  end

  it("survivors would be alive without it", function()
    local mark = word()
    local b <close> = box.new()
    b:run_unconfined(("setsid sleep %s >/dev/null 2>&1 & echo started"):format(mark))
    local pid = alive(mark)
    assert.not_equal("", pid)
    box.shell("kill -KILL " .. pid)
  end)

  it("so is a chain of processes that fork and go", function()
    local mark = word()
    local b <close> = box.new()
    local helper = b:compile(([[
#include <unistd.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv)
{
	time_t end = time(0) + 6;
	int i;
	for (i = 0; i < 8; i++)
		if (fork() == 0) {
			setsid();
			while (time(0) < end)
				if (fork() != 0)
					_exit(0);
			_exit(0);
		}
	usleep(100000);
	return 0;
}
]]), "workspace/chain" .. mark)
    local began = now()
    local outcome = b:run({ helper })
    local took = now() - began
    assert.equal(0, outcome.status)
    if box.holds(outcome, "process_tree") then
      assert.is_true(took < 3, "took " .. took)
    end
    assert.equal("", alive("chain" .. mark))
  end)

  it("so is a storm of processes, after its deadline", function()
    local mark = word()
    local b <close> = box.new()
    local began = now()
    -- Bounded by itself too, for the machine's sake.
    local outcome = b:run(python(([[
import os, time
end = time.time() + 8
mark = "%s"
n = 1
for _ in range(8):
    try:
        if os.fork() == 0: n += 1
    except OSError: pass
while time.time() < end:
    time.sleep(0.5)
]]):format(mark)), { timeout_ms = 700 })
    assert.is_true(outcome.timed_out)
    assert.is_true(now() - began < 6)
    assert.equal("", alive(mark))
  end)
end)

describe("a deadline", function()
  it("ends a command that ignores SIGTERM, with what it started", function()
    local mark = word()
    local b <close> = box.new()
    local began = now()
    local outcome = b:run("trap '' TERM; echo out; sleep " .. mark .. " & while :; do sleep 0.1; done", { timeout_ms = 300 })
    assert.is_true(outcome.timed_out)
    assert.equal("out\n", outcome.stdout)
    assert.equal(9, outcome.signal)
    assert.is_true(now() - began < 5)
    assert.equal("", alive(mark))
  end)

  it("gives a command that listens the time to say what it was doing", function()
    local b <close> = box.new()
    local outcome = b:run("trap 'echo ending; exit 5' TERM; while :; do sleep 0.05; done", { timeout_ms = 300 })
    assert.is_true(outcome.timed_out)
    assert.equal("ending\n", outcome.stdout)
  end)

  it("ends a stopped command", function()
    local b <close> = box.new()
    local began = now()
    assert.is_true(b:run("kill -STOP $$", { timeout_ms = 300 }).timed_out)
    assert.is_true(now() - began < 5)
  end)

  it("is status 124 of the program", function()
    local b <close> = box.new()
    assert.equal(124, b:cli({ "-q", "--timeout", "0.3" }, "sleep 20").status)
  end)
end)

describe("the death of the host", function()
  it("by SIGKILL is the death of the run", function()
    for _, command in ipairs({ "sleep @", "trap '' TERM HUP; setsid sleep @ & while :; do sleep 1; done" }) do
      local mark = word()
      local b <close> = box.new()
      local child = b:start(b:cli_line({ "-q" }, (command:gsub("@", mark))), { is_line = true })
      assert.is_truthy(box.wait_for(5, function()
        -- One is the command itself; the host's and the shell's lines have the word too.
        return #alive(mark) > 0 and box.shell("pgrep -x sleep -f 'sleep " .. mark .. "'; true") ~= ""
      end))
      box.shell("kill -KILL " .. child.pid)
      local is_over = box.wait_for(3, function()
        return alive(mark) == ""
      end)
      assert.is_true(is_over, "alive: " .. alive(mark))
    end
  end)

  it("by a signal that it was sent ends the run and is the program's status", function()
    for signal, number in pairs({ TERM = 15, HUP = 1 }) do
      local mark = word()
      local b <close> = box.new()
      local program = b:cli_line({ "-q" }, "sleep " .. mark)
      local line = ("%s & p=$!; sleep 0.5; kill -%s $p; wait $p; echo rc=$?"):format(program, signal)
      local result = b:run_unconfined(line)
      assert.matches("rc=" .. 128 + number, result.stdout, 1, true)
      assert.equal("", alive(mark))
    end
  end)
end)

describe("the status of a command (FR-105, FR-106)", function()
  local endings = {
    { "exit 0", 0 }, { "exit 3", 3 }, { "exit 23", 23 }, { "exit 255", 255 },
    { "kill -ABRT $$", nil, 6 }, { "kill -SEGV $$", nil, 11 }, { "kill -KILL $$", nil, 9 }, { "kill -TERM $$", nil, 15 },
  }
  local variants = {
    plain = {}, ["a deadline"] = { timeout_ms = 15000 }, ["standard input"] = { stdin = "hello" },
    ["a directory"] = { cwd = "." },
  }
  local configs = { loopback = {}, ["no network"] = { network = "none" }, ["shared tmp"] = { tmp = "shared" } }

  for config_name, config in pairs(configs) do
    it("is its own with " .. config_name .. ", by the library and by the program", function()
      local b <close> = box.new({ config = config })
      for _, ending in ipairs(endings) do
        for name, options in pairs(variants) do
          local copy = {}
          for k, v in pairs(options) do
            copy[k] = v
          end
          local outcome = b:run(ending[1], copy)
          assert.equal(ending[2], outcome.status, name .. ending[1])
          assert.equal(ending[3], outcome.signal, name .. ending[1])
        end
        local args = { "-q" }
        for key, value in pairs(config) do
          table.insert(args, "--set")
          table.insert(args, key .. "=" .. value)
        end
        assert.equal(ending[2] or 128 + ending[3], b:cli(args, ending[1]).status, ending[1])
      end
    end)
  end

  it("is 127 where there is no such program, 126 where it may not be executed", function()
    local b <close> = box.new()
    b:write("workspace/text", "no program")
    assert.equal(127, b:cli({ "-q" }, { "no-such-program" }).status)
    assert.equal(127, b:cli({ "-q" }, { "./no-such-program" }).status)
    assert.equal(126, b:cli({ "-q" }, { "./text" }).status)
    assert.equal(126, b:cli({ "-q" }, { "/etc" }).status)
  end)
end)

describe("standard input", function()
  it("is at its end at once when none is given (FR-110)", function()
    local b <close> = box.new()
    local outcome = b:run("timeout 3 cat; echo rc=$?; read x || echo eof")
    assert.equal("rc=0\neof\n", outcome.stdout)
  end)

  it("is closed after the last byte that is given", function()
    local b <close> = box.new()
    local text = ("x"):rep(300000) .. "\0end"
    assert.equal(text, b:run("cat", { stdin = text }).stdout)
    assert.equal(text, b:cli({ "-q" }, "cat", { stdin = text }).stdout)
  end)

  it("that stays open does not hold up the end of the run (FR-111)", function()
    local b <close> = box.new()
    local began = now()
    local program = b:cli_line({ "-q" }, "echo hi")
    local result = b:run_unconfined("sleep 6 | { " .. program .. "; echo rc=$?; kill $(pgrep -P $$ sleep); }")
    assert.matches("hi\nrc=0", result.stdout, 1, true)
    assert.is_true(now() - began < 4)
  end)

  it("that the command does not read does not hold it up either", function()
    local b <close> = box.new()
    local outcome = b:run("echo done", { stdin = ("x"):rep(5000000) })
    assert.equal("done\n", outcome.stdout)
  end)
end)

describe("a server that is tied to its handle (FR-113)", function()
  it("goes with it, whatever it ignores", function()
    local mark = word()
    local b <close> = box.new()
    local child = b:start(
      b:cli_line({ "-q" }, ([[sh -c 'trap "" TERM HUP; while :; do sleep 1; : %s; done' & wait]]):format(mark)),
      { is_line = true }
    )
    assert.is_truthy(box.wait_for(5, function()
      return alive(mark):match("%d+ %d+ %d+")
    end))
    box.shell("kill -TERM " .. child.pid)
    assert.is_true(box.wait_for(4, function()
      return alive(mark) == ""
    end))
  end)
end)
