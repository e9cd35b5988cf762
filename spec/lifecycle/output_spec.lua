--- Output and input: bounded, complete, in order, and live for those who want it.

local box = require("spec.support.box")

--- Resident memory of this process, in KiB.
local function resident_kib()
  local file = assert(io.open("/proc/self/status"))
  local text = file:read("a")
  file:close()
  return tonumber(text:match("VmRSS:%s*(%d+)"))
end

describe("captured output", function()
  it("keeps the head and the tail of a flood, counts the rest, and grows nothing", function()
    local b <close> = box.new({ config = { limits = { output_bytes = 100000 } } })
    local flood = "echo head; head -c 200000000 /dev/zero; echo tail"
    b:run("true")
    collectgarbage()
    local before = resident_kib()
    local outcome = b:run(flood)
    local grown = resident_kib() - before
    assert.equal(0, outcome.status)
    assert.matches("^head\n\0", outcome.stdout)
    assert.matches("\0tail\n$", outcome.stdout)
    assert.is_true(#outcome.stdout >= 100000 and #outcome.stdout <= 100002, #outcome.stdout .. " bytes")
    assert.equal(200000010, #outcome.stdout + outcome.dropped_bytes)
    assert.matches("bytes of output were dropped", table.concat(outcome.events, "\n"), 1, true)
    assert.is_true(grown < 4096, grown .. " KiB")
  end)

  it("is capped for each stream by itself", function()
    local b <close> = box.new({ config = { limits = { output_bytes = 1000 } } })
    local outcome = b:run("head -c 5000 /dev/zero; echo short >&2")
    assert.equal("short\n", outcome.stderr)
    assert.is_true(#outcome.stdout <= 1002)
    assert.equal(5000, #outcome.stdout + outcome.dropped_bytes)
  end)

  it("is right at every length around the cap, whatever the pieces", function()
    local b <close> = box.new({ config = { limits = { output_bytes = 10 } } })
    for length = 0, 30 do
      local text = ("abcdefghijklmnopqrstuvwxyz0123456789"):sub(1, length)
      local pieces = "for c in " .. text:gsub(".", "%0 ") .. "; do printf $c; sleep 0; done"
      for _, command in ipairs({ "printf %s " .. text, pieces }) do
        local outcome = b:run(command)
        local kept = length <= 12 and text or text:sub(1, 6) .. text:sub(-6)
        assert.equal(kept, outcome.stdout)
        assert.equal(length - #kept, outcome.dropped_bytes)
      end
    end
  end)

  it("is bytes, not text", function()
    local b <close> = box.new()
    local bytes = {}
    for i = 0, 255 do
      bytes[#bytes + 1] = string.char(i)
    end
    local all = table.concat(bytes)
    assert.equal(all, b:run({ "/bin/cat" }, { stdin = all }).stdout)
  end)
end)

describe("on_output", function()
  it("is told what comes while the command runs, and all of it", function()
    local b <close> = box.new()
    local told, first = { stdout = "", stderr = "" }, nil
    local outcome = assert(b:policy()):run({
      "/bin/sh", "-c", "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two >&2; head -c 300000 /dev/zero",
      on_output = function(stream, bytes)
        if not first then
          first = bytes
          b:write("workspace/go", "")
        end
        told[stream] = told[stream] .. bytes
      end,
      timeout_ms = 20000,
    })
    assert.equal(0, outcome.status)
    assert.equal("one\n", first)
    assert.equal("one\n" .. ("\0"):rep(300000), told.stdout)
    assert.equal("two\n", told.stderr)
    assert.equal(told.stdout, outcome.stdout)
  end)

  it("that raises ends the run before the error is seen", function()
    local b <close> = box.new()
    local strays = require("spec.support.strays")
    local mark = strays.mark()
    local problem = {}
    local ok, raised = pcall(function()
      return assert(b:policy()):run({
        "/bin/sh", "-c", "sleep 25 & echo x; sleep 25; : " .. mark,
        on_output = function()
          error(problem)
        end,
      })
    end)
    assert.is_false(ok)
    assert.equal(problem, raised)
    assert.same({}, strays.find(mark))
  end)

  it("holds the command up while it takes its time", function()
    local b <close> = box.new()
    local total, slept = 0, false
    local outcome = assert(b:policy()):run({
      "/bin/sh", "-c", "head -c 1000000 /dev/zero; echo >done",
      on_output = function(_, bytes)
        if not slept then
          slept = true
          box.sleep(0.3)
          assert.is_false(b:exists("workspace/done"))
        end
        total = total + #bytes
      end,
    })
    assert.equal(0, outcome.status)
    assert.equal(1000000, total)
  end)
end)

describe("a started run", function()
  it("is stepped, and waits for nobody longer than it is told", function()
    local b <close> = box.new()
    local core = require("procage.core")
    local run <close> = assert(assert(b:policy()):start({ "/bin/sleep", "25" }))
    local before = core.now_us()
    assert.same({}, run:step(0))
    assert.same({}, run:step(50))
    local spent = core.now_us() - before
    assert.is_true(spent < 2000000, spent .. " us")
    run:cancel()
    local outcome = run:wait()
    assert.equal(15, outcome.signal)
    assert.equal(15, outcome.cancelled_by)
    assert.is_nil(run:step())
    assert.equal(outcome, run:wait())
  end)

  it("is talked to", function()
    local b <close> = box.new()
    local run <close> = assert(assert(b:policy()):start({
      "/bin/sh", "-c", 'while read line; do echo "got $line"; done; echo end', stdin = { pipe = true },
    }))
    for _, word in ipairs({ "one", "two" }) do
      assert.equal(#word + 1, run:write(word .. "\n"))
      local answer = ""
      while not answer:find("\n", 1, true) do
        for _, chunk in ipairs(run:step()) do
          answer = answer .. chunk.bytes
        end
      end
      assert.equal("got " .. word .. "\n", answer)
    end
    run:close_stdin()
    assert.equal("got one\ngot two\nend\n", run:wait().stdout)
    local taken, _, code = run:write("late")
    assert.is_nil(taken)
    assert.equal(32, code)
  end)

  it("takes input as fast as the command reads it, and no faster", function()
    local b <close> = box.new()
    local run <close> = assert(assert(b:policy()):start({ "/usr/bin/wc", "-c", stdin = { pipe = true } }))
    local given, piece = 0, ("x"):rep(100000)
    while given < 5000000 do
      given = given + assert(run:write(piece))
      run:step(10)
    end
    run:close_stdin()
    assert.equal(given, tonumber(run:wait().stdout))
  end)

  it("is stopped at its second cancel, or by `now`, whatever it ignores", function()
    local b <close> = box.new({ config = { limits = { grace_ms = 60000 } } })
    for _, cancel in ipairs({
      function(run)
        run:cancel()
        run:step(50)
        run:cancel()
      end,
      function(run)
        run:cancel(true)
      end,
    }) do
      local script = "trap '' TERM; echo up; while :; do sleep 1; done"
      local run <close> = assert(assert(b:policy()):start({ "/bin/sh", "-c", script }))
      while #run:step() == 0 do
        box.sleep(0)
      end
      cancel(run)
      local outcome = run:wait()
      assert.equal(9, outcome.signal)
      assert.equal(15, outcome.cancelled_by)
      assert.is_true(outcome.duration_ms < 20000)
    end
  end)

  it("that is let go of is killed, and its private directory removed", function()
    local b <close> = box.new()
    local strays = require("spec.support.strays")
    local mark = strays.mark()
    local directory
    do
      local run = assert(assert(b:policy()):start({ "/bin/sh", "-c", "echo $TMPDIR; sleep 25; : " .. mark }))
      while not directory do
        local chunk = run:step()[1]
        directory = chunk and chunk.bytes:match("^(%S+)\n")
      end
      assert.is_true(#strays.find(mark) > 0)
      run = nil -- luacheck: ignore
    end
    collectgarbage()
    collectgarbage()
    assert.same({}, strays.find(mark))
  end)

  it("shares its policy with others that run at the time", function()
    local b <close> = box.new()
    local policy, runs = assert(b:policy()), {}
    for i = 1, 20 do
      runs[i] = assert(policy:start({ "/bin/sh", "-c", "sleep 0.2; echo " .. i .. "; exit " .. i }))
    end
    for i = 20, 1, -1 do
      local outcome = runs[i]:wait()
      assert.equal(i, outcome.status)
      assert.equal(i .. "\n", outcome.stdout)
    end
  end)
end)

describe("standard input", function()
  it("is empty, unless it is given", function()
    local b <close> = box.new()
    assert.equal("0\n", b:run("wc -c").stdout)
    assert.equal("", b:run({ "/bin/cat" }, { stdin = "" }).stdout)
  end)

  it("is a file, read by the library and not by the command", function()
    local b <close> = box.new({ config = { hidden = { "~/secret" } } })
    b:write("home/secret", ("line\n"):rep(100000))
    assert.equal("500000\n", b:run("wc -c; ls -l /proc/self/fd/0 | grep -c secret >&2", {
      stdin = { file = b:path("home/secret") },
    }).stdout)
    local outcome, message, code, detail = b:try_run("cat", { stdin = { file = b:path("home/none") } })
    assert.is_nil(outcome)
    assert.matches(b:path("home/none") .. ": ", message, 1, true)
    assert.equal(2, code)
    assert.equal("input", detail.step)
    local _, why = b:try_run("cat", { stdin = { file = b:path("home") } })
    assert.matches("directory", why, 1, true)
  end)

  it("is no FIFO, which would have to be waited for", function()
    local b <close> = box.new()
    b:setup("mkfifo fifo")
    local outcome, _, code = b:try_run("wc -c", { stdin = { file = b:path("workspace/fifo") } })
    assert.is_nil(outcome)
    assert.equal(22, code)
  end)
end)
