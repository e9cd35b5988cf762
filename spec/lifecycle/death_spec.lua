--- Everything that a run started is dead when it returns.

local box = require("spec.support.box")
local core = require("procage.core")
local strays = require("spec.support.strays")

--- What a command line may cost beyond its own time on a busy machine.
local SLACK_MS = 15000

local function start_stray(b, mode, mark, seconds)
  return { b:path("workspace/stray"), mode, mark, tostring(seconds) }
end

describe("when the command has ended, the run is over and", function()
  for _, mode in ipairs(strays.modes) do
    it(("nothing is left of a %s"):format(mode), function()
      local b <close> = box.new()
      strays.install(b)
      local mark = strays.mark()
      local control = b:run_unconfined(start_stray(b, mode, mark, 6))
      local is_left = box.wait_for(2, function()
        -- Where somebody kills orphans by the hundred (a container's init), their beats tell that they were there.
        return strays.is_alive(b, mark) or #(b:read("workspace/" .. mark .. ".beat") or "") > 100
      end)
      strays.clear(mark)
      assert.matches("ready\n", control.stdout)
      assert.is_true(is_left, "the attack leaves nothing unconfined")

      mark = strays.mark()
      local outcome = b:run(start_stray(b, mode, mark, 25))
      assert.same({}, strays.find(mark))
      assert.is_false(strays.is_alive(b, mark))
      assert.matches("ready\n", outcome.stdout)
      assert.equal(0, outcome.status)
      assert.is_true(outcome.duration_ms < SLACK_MS, outcome.duration_ms .. " ms")
    end)
  end

  it("nothing is left of all of them at once, ten times over", function()
    local b <close> = box.new()
    strays.install(b)
    local mark = strays.mark()
    local script = {}
    for _, mode in ipairs(strays.modes) do
      script[#script + 1] = ("./stray %s %s 25 &"):format(mode, mark)
    end
    script[#script + 1] = "wait"
    for _ = 1, 10 do
      -- Time enough for a machine whose processors are all busy with the storm.
      local outcome = b:run(table.concat(script, " "), { timeout_ms = 60000 })
      assert.same({}, strays.find(mark))
      assert.is_false(strays.is_alive(b, mark))
      assert.equal(0, outcome.status)
    end
  end)

  it("its output is complete, though a background process holds the pipe", function()
    local b <close> = box.new()
    local outcome = b:run("sleep 25 & head -c 300000 /dev/zero; echo end; exit 4")
    assert.equal(4, outcome.status)
    assert.equal(("\0"):rep(300000) .. "end\n", outcome.stdout)
    assert.is_true(outcome.duration_ms < SLACK_MS)
  end)
end)

describe("who looks after the run", function()
  --- The parent of a command is its keeper: unconfined, the shell.
  local function attack(host_change, check)
    local host
    if host_change then
      host = box.host()
      local copy = {}
      for name, value in pairs(host) do
        copy[name] = value
      end
      for name, value in pairs(host_change) do
        copy[name] = value
      end
      host = copy
    end
    local b <close> = box.new({ host = host })
    strays.install(b)
    local mark = strays.mark()
    local control = b:run_unconfined(("./stray parricide %s 2; echo survived"):format(mark))
    assert.not_matches("survived", control.stdout, 1, true)
    strays.clear(mark)
    mark = strays.mark()
    local outcome = b:run(start_stray(b, "parricide", mark, 10))
    check(outcome, mark)
    strays.clear(mark)
  end

  it("cannot be stopped, starved of descriptors or killed", function()
    attack(nil, function(outcome, mark)
      assert.same({}, strays.find(mark))
      assert.is_nil(outcome.is_lost)
      assert.equal(0, outcome.status)
    end)
  end)

  it("is missed, where it can be killed, and the report says so unless a cgroup ends the run", function()
    if box.host().pidns then
      box.skip("a PID namespace: nobody in it can kill its init")
    end
    attack({ landlock_abi = 5 }, function(outcome, mark)
      assert.is_true(outcome.is_lost)
      assert.matches("init was killed", table.concat(outcome.events, "\n"), 1, true)
      if box.holds(outcome, "process_tree") then
        assert.same({}, strays.find(mark))
      end
    end)
  end)

  it("goes on when it was stopped, once the deadline has passed", function()
    if box.host().pidns then
      box.skip("a PID namespace: nobody in it can stop its init")
    end
    local host = {}
    for name, value in pairs(box.host()) do
      host[name] = value
    end
    host.landlock_abi = 5
    local b <close> = box.new({ host = host, config = { limits = { grace_ms = 100 } } })
    strays.install(b)
    local mark = strays.mark()
    local outcome = b:run(("./stray stopper %s 4; sleep 25"):format(mark), { timeout_ms = 500 })
    assert.is_true(outcome.timed_out)
    assert.is_true(outcome.duration_ms < 4000 + SLACK_MS, outcome.duration_ms .. " ms")
    assert.same({}, strays.find(mark))
  end)
end)

describe("a deadline", function()
  it("asks the command to end, who may say a last word", function()
    local b <close> = box.new()
    local outcome = b:run("trap 'echo last; exit 5' TERM; echo first; while :; do sleep 0.05; done", { timeout_ms = 300 })
    assert.is_true(outcome.timed_out)
    assert.equal(5, outcome.status)
    assert.equal("first\nlast\n", outcome.stdout)
  end)

  it("reaches a command that is stopped", function()
    local b <close> = box.new({ config = { limits = { grace_ms = 4000 } } })
    local outcome = b:run("trap 'echo last; exit 5' TERM; kill -STOP $$", { timeout_ms = 200 })
    assert.is_true(outcome.timed_out)
    assert.equal(5, outcome.status)
    assert.equal("last\n", outcome.stdout)
  end)

  it("ends everything when the grace is over, and knows what the command had used", function()
    local b <close> = box.new({ config = { limits = { grace_ms = 300 } } })
    strays.install(b)
    local mark = strays.mark()
    local outcome = b:run(
      ("trap '' TERM; ./stray storm %s 25; ./stray subreaper %s 25; while :; do :; done"):format(mark, mark),
      { timeout_ms = 700 }
    )
    assert.same({}, strays.find(mark))
    assert.is_true(outcome.timed_out)
    assert.equal(9, outcome.signal)
    assert.is_nil(outcome.is_lost)
    assert.is_true(outcome.usage.user_us + outcome.usage.system_us > 1000)
    assert.is_true(outcome.duration_ms >= 1000, outcome.duration_ms .. " ms")
    -- Without a PID namespace a storm is swept as fast as the machine lets the reaper run (docs/limits.md).
    if box.host().pidns then
      assert.is_true(outcome.duration_ms < 1000 + SLACK_MS, outcome.duration_ms .. " ms")
    end
  end)

  it("is the policy's unless the command has one of its own", function()
    local b <close> = box.new({ config = { limits = { timeout_ms = 200, grace_ms = 1 } } })
    local policy = assert(b:policy())
    assert.is_true(policy:run({ "/bin/sleep", "25" }).timed_out)
    assert.is_false(policy:run({ "/bin/sleep", "0.5", timeout_ms = 20000 }).timed_out)
  end)
end)

describe("when the host is killed", function()
  for _, mode in ipairs({ "daemon", "stopped", "subreaper", "relay", "storm" }) do
    it(("its run dies with it, a %s included"):format(mode), function()
      local b <close> = box.new()
      strays.install(b)
      local mark = strays.mark()
      local child = b:start(b:cli_line({}, ("./stray %s %s 25; sleep 25"):format(mode, mark)), {
        is_line = true,
        until_prints = "ready",
      })
      assert.is_true(strays.is_alive(b, mark))
      box.shell("kill -KILL " .. child.pid)
      local is_dead = box.wait_for(10, function()
        return not strays.is_alive(b, mark)
      end)
      assert.is_true(is_dead, "still there: " .. table.concat(strays.find(mark), " "))
    end)
  end
end)

describe("an init that has nothing to do", function()
  --- Its time on the processor so far, in clock ticks (a hundred a second).
  local function ticks(pid)
    local file = assert(io.open(("/proc/%d/stat"):format(pid)))
    local fields = file:read("a"):match("^.*%) (.*)$")
    file:close()
    local list = {}
    for field in fields:gmatch("%S+") do
      list[#list + 1] = field
    end
    return tonumber(list[12]) + tonumber(list[13]), math.tointeger(tonumber(list[2]))
  end

  for _, stdin in ipairs({ "closed", "bytes", { pipe = true } }) do
    local name = type(stdin) == "table" and "a pipe" or stdin
    it("sleeps, with standard input " .. name, function()
      local b <close> = box.new()
      local mark = strays.mark()
      local policy = assert(b:policy())
      local run <close> = assert(policy:start({ "/bin/sh", "-c", "sleep 25; : " .. mark, stdin = stdin }))
      local started = core.now_us()
      local pid = box.wait_for(5, function()
        return strays.find(mark)[1]
      end)
      local before, init = ticks(pid)
      while core.now_us() - started < 1500000 do
        run:step(100)
      end
      local spent = ticks(init)
      assert.is_number(before)
      assert.is_true(spent <= 3, ("%d ticks"):format(spent))
      run:cancel(true)
      assert.equal(9, run:wait().signal)
    end)
  end
end)
