--- Many runs in one process, many at a time, of children that fork, flood and refuse to die; says what is left of them.
---
---     ./dev bench soak [RUNS [AT_A_TIME]]      20000 runs, 64 at a time
---
--- Exit status 1 when a run ended otherwise than it should, something was left, or the heap has a trend (soak.growth).

local core = require("procage.core")
local procage = require("procage")
local soak = require("spec.support.soak")
local throwaway = require("spec.support.throwaway")

local M = {}

--- Of 20,000 runs, half of which lie between the two quarters that are compared, this is some 25 bytes a run.
local SLACK_BYTES = 256 << 10
local ROUNDS = 64
local ORDER = { "descriptors", "children", "zombies", "mounts", "directories", "cgroups", "resident_kib" }

local function show(label, remains, heap)
  local words = {}
  for i, name in ipairs(ORDER) do
    words[i] = ("%s %d"):format(name, remains[name])
  end
  print(("%-12s heap %d  %s"):format(label, heap, table.concat(words, "  ")))
  io.stdout:flush()
end

local function check_words(words)
  local runs = math.tointeger(tonumber(words[1] or 20000))
  local at_a_time = math.tointeger(tonumber(words[2] or 64))
  if not runs or not at_a_time or runs < 1 or at_a_time < 1 or #words > 2 then
    io.stderr:write("usage: ./dev bench soak [runs [at a time]]\n")
    os.exit(2)
  end
  return runs, at_a_time
end

--- In rounds, between which no run is under way: what is left is then left.
---@return string[] problems
local function run_rounds(policy, stray, runs, at_a_time, heap_bytes)
  local problems = soak.run(policy, stray, "soak", 2 * at_a_time, at_a_time)
  local before, samples = soak.remains(policy.host.cgroup), {}
  show("before", before, heap_bytes())
  for round = 1, ROUNDS do
    local first, last = (round - 1) * runs // ROUNDS, round * runs // ROUNDS
    table.move(soak.run(policy, stray, "soak", last - first, at_a_time), 1, 20, #problems + 1, problems)
    local remains = soak.remains(policy.host.cgroup)
    samples[round] = heap_bytes()
    show(last .. " runs", remains, samples[round])
    for _, line in ipairs(soak.leaks(before, remains)) do
      problems[#problems + 1] = ("left after %d runs: %s"):format(last, line)
    end
  end
  problems[#problems + 1] = soak.growth(samples, SLACK_BYTES)
  return problems
end

---@param words string[]
function M.main(words)
  local runs, at_a_time = check_words(words)
  local build = assert(os.getenv("PROCAGE_BUILD"), "PROCAGE_BUILD: the build directory")
  local plain = assert(package.loadlib(build .. "/bench/plain.so", "luaopen_plain"))()
  local root <close> = throwaway.directory()
  throwaway.shell(("install -m 755 %s %s"):format(throwaway.quote(build .. "/stray"), throwaway.quote(root.path)))
  local policy =
    assert(procage.policy.load("speccoder", { limits = { grace_ms = 20 } }, { root = root.path, home = root.path }))
  local began = core.now_us()
  local problems = run_rounds(policy, root.path .. "/stray", runs, at_a_time, plain.heap_bytes)
  local seconds = (core.now_us() - began) / 1e6
  print(("%d runs, %d at a time, %.0f s, %.1f a second"):format(runs, at_a_time, seconds, runs / seconds))
  for _, problem in ipairs(problems) do
    print(problem)
  end
  print(#problems == 0 and "nothing is left" or "something is left")
  return #problems == 0
end

return M
