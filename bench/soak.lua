--- Many runs in one process, many at a time, of children that fork, flood and refuse to die; says what is left of them.
---
---     lua5.4 bench/soak.lua [RUNS [AT_A_TIME]]      20000 runs, 64 at a time
---
--- Exit status 1 when a run ended otherwise than it should, something was left, or memory has a trend (soak.growth).

local core = require("procage.core")
local procage = require("procage")
local soak = require("spec.support.soak")

local SLACK_KIB = 8192
local SAMPLES = 64
local ORDER = { "descriptors", "children", "zombies", "mounts", "directories", "cgroups", "resident_kib" }

local function show(label, remains)
  local words = {}
  for i, name in ipairs(ORDER) do
    words[i] = ("%s %d"):format(name, remains[name])
  end
  print(("%-12s %s"):format(label, table.concat(words, "  ")))
  io.stdout:flush()
end

local function main(words)
  local runs = math.tointeger(tonumber(words[1] or 20000))
  local at_a_time = math.tointeger(tonumber(words[2] or 64))
  if not runs or not at_a_time or runs < 1 or at_a_time < 1 then
    io.stderr:write("usage: soak.lua [runs [at a time]]\n")
    os.exit(2)
  end
  local build = assert(os.getenv("PROCAGE_BUILD"), "PROCAGE_BUILD: the build directory")
  local root = assert(core.private_dir("/var/tmp"))
  local guard <close> = setmetatable({}, {
    __close = function()
      core.remove_tree(root)
    end,
  })
  assert(guard)
  local stray = root .. "/stray"
  local source, target = assert(io.open(build .. "/stray", "rb")), assert(io.open(stray, "wb"))
  assert(target:write(source:read("a")))
  target:close()
  source:close()
  assert(os.execute("chmod 755 '" .. stray .. "'"))

  local policy = assert(procage.policy.load("speccoder", { limits = { grace_ms = 20 } }, { root = root, home = root }))
  local problems = soak.run(policy, stray, "soak", at_a_time, at_a_time)
  local before, began = soak.remains(policy.host.cgroup), core.now_us()
  show("before", before)
  local told, samples = 0, {}
  for _, problem in ipairs(soak.run(policy, stray, "soak", runs, at_a_time, function(done)
    if done >= (#samples + 1) * runs / SAMPLES then
      samples[#samples + 1] = soak.resident_kib()
    end
    if done - told >= 1000 then
      told = done
      show(done .. " runs", soak.remains(policy.host.cgroup))
    end
  end)) do
    problems[#problems + 1] = problem
  end
  local after = soak.remains(policy.host.cgroup)
  show("after", after)
  local seconds = (core.now_us() - began) / 1e6
  print(("%d runs, %d at a time, %.0f s, %.1f a second"):format(runs, at_a_time, seconds, runs / seconds))
  for _, line in ipairs(soak.leaks(before, after)) do
    problems[#problems + 1] = "left: " .. line
  end
  problems[#problems + 1] = soak.growth(samples, SLACK_KIB)
  for _, problem in ipairs(problems) do
    print(problem)
  end
  os.exit(#problems == 0 and 0 or 1, true)
end

main(arg)
