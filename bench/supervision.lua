--- What looking after a run costs: a refused call, the path observer (for an open, for a build), names that are made by the
--- broker (for one, for a build), the supervisor's memory, and two hundred runs at once.
---
---     ./dev bench supervision [--json] [--rounds N] [--seconds N]

local core = require("procage.core")
local home = require("bench.home")
local options = require("bench.options")
local procage = require("procage")
local stats = require("bench.stats")

local CALLS, SOURCES, AT_ONCE = 1000, 12, 200

local function shell(command)
  local pipe = assert(io.popen(command))
  local output = pipe:read("a")
  assert(pipe:close(), command)
  return output
end

--- A program of a dozen files, each with a header that takes a while.
local function write_sources(project)
  for i = 1, SOURCES do
    local file = assert(io.open(("%s/src/part%d.c"):format(project, i), "w"))
    file:write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <pthread.h>\n#include <netdb.h>\n")
    for j = 1, 60 do
      local line = "int f%d_%d(int a) { char b[64]; snprintf(b, sizeof(b), \"%%d\", a); return (int)strlen(b); }\n"
      file:write(line:format(i, j))
    end
    file:close()
  end
end

local BUILD = "rm -rf out && mkdir out && for f in src/part*.c; do cc -O1 -c -o out/$(basename $f .c).o $f || exit 1; done"
  .. " && ar rc out/lib.a out/*.o"

local function calls(name, what, policy)
  return {
    name = name,
    time = function()
      local outcome = assert(policy:run({ "./calls", what, tostring(CALLS) }))
      return assert(math.tointeger(tonumber(outcome.stdout)), outcome.stderr)
    end,
  }
end

local function build(name, policy)
  return {
    name = name,
    time = function()
      local start = core.now_us()
      local outcome = assert(policy:run({ "sh", "-c", BUILD }))
      assert(outcome.status == 0, outcome.stderr)
      return core.now_us() - start
    end,
  }
end

local function rss_kib(field)
  return math.tointeger(tonumber(assert(core.read_file("/proc/self/status")):match(field .. ":%s*(%d+)")))
end

--- Many that sleep, started and stepped by one thread: time to start them all, and what each takes of this process's memory.
local function at_once(policy)
  local before, start, runs = rss_kib("VmRSS"), core.now_us(), {}
  for i = 1, AT_ONCE do
    runs[i] = assert(policy:start({ "sleep", "3" }))
  end
  local started, each = core.now_us() - start, (rss_kib("VmRSS") - before) / AT_ONCE
  local failed = 0
  for _, run in ipairs(runs) do
    failed = failed + (run:wait().status == 0 and 0 or 1)
  end
  assert(failed == 0, failed .. " of them failed")
  return started, each
end

local M = {}

---@param words string[]
function M.main(words)
  local chosen = options.parse(words, { rounds = 30, seconds = 120 })
  local where = chosen.build
  local place <close> = home.new(where .. "/bench")
  local variables = options.environment(place.path)
  shell(("cp '%s/bench/calls' '%s/calls'"):format(where, place.project))
  write_sources(place.project)

  local function load(name, config)
    return assert(procage.policy.load(name, config, { root = place.project, home = place.path, env = variables }))
  end
  local off, own = load("off", {}), load("speccoder", {})
  local silent = load("speccoder", { denials = "off" })
  local observed, refusing = load("speccoder", { denials = "paths" }), load("speccoder", { handoff_absent = "refuse" })
  local cases = {
    calls("open a file, unconfined", "open", off),
    calls("open a file, confined", "open", own),
    calls("open a file, observed", "open", observed),
    calls("make a file, unconfined", "make", off),
    calls("make a file, confined", "make", own),
    calls("make a file, by the broker (handoff_absent = refuse)", "make", refusing),
    calls("a refused call, not recorded", "refused", silent),
    calls("a refused call, recorded", "refused", own),
    build("a build, unconfined", off),
    build("a build, confined", own),
    build("a build, observed", observed),
    build("a build, names made by the broker", refusing),
  }
  local rows = stats.interleave(cases, { rounds = chosen.rounds, warm = 1, budget_us = chosen.seconds * 1000000 })
  local facts = stats.facts(own)
  local started, each = at_once(own)
  local shown = stats.markdown(rows, {
    { label = "open", row = rows[1] }, { label = "make", row = rows[4] }, { label = "refused", row = rows[7] },
    { label = "build", row = rows[9] },
  })
  local text = "%s\n\nEach figure of a call is for %d of them.\n\n%s\n\n"
    .. "%d runs at once: started in %.0f ms, %.0f KiB of this process each; its peak %d KiB"
  text = text:format(stats.head(facts, rows), CALLS, shown, AT_ONCE, started / 1000, each, rss_kib("VmHWM"))
  stats.publish(chosen, "supervision", text, stats.json(facts, rows))
end

return M
