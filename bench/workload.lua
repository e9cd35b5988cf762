--- What a command costs while it runs, confined by the default policy against unconfined: loops of system calls, and builds.
---
---     ./dev bench workload [--json] [--rounds N] [--seconds N] [--out DIR]

local home = require("bench.home")
local options = require("bench.options")
local procage = require("procage")
local stats = require("bench.stats")

local BUDGET = 1.05

--- Times that a loop is gone through: some milliseconds each.
local LOOPS = {
  { "getpid", 100000, "getpid" },
  { "read", 20000, "read of 4 KiB" },
  { "write", 50000, "write of 27 bytes" },
  { "stat", 10000, "stat, four directories down" },
  { "open", 5000, "open and close, four directories down" },
  { "system", 5000, "open and close of a system header" },
  { "mixed", 1000, "8 × (read, write, getpid), stat, open and close" },
}

local SOURCES, FILES = 8, 2000

local MAKEFILE = [[
OBJECTS = %s
out/program: $(OBJECTS)
	cc -o $@ $(OBJECTS)
out/%%.o: src/%%.c src/parts.h
	cc -O1 -c -o $@ $<
]]

--- What is built and looked at: sources, a Makefile, a repository of many files.
local SETUP = [[
set -eu
cd "$1"
mkdir -p out tree
i=0; while [ $i -lt "$2" ]; do mkdir -p "tree/$((i / 50))"; echo $i > "tree/$((i / 50))/file-$i"; i=$((i + 1)); done
git add . && git -c user.name=n -c user.email=e commit -q -m x
]]

--- Each measures itself, from inside: what a start costs is another benchmark.
local WORK = {
  { "make, a program of 8 C files", "rm -f out/*; make -s" },
  { "20 times git status, 2,000 files", "i=0; while [ $i -lt 20 ]; do git status --short >/dev/null; i=$((i + 1)); done" },
  { "300 times /bin/true from a shell", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done" },
  { "find and grep in /usr/include", "grep -rl PROCAGE_IS_NOT_THERE /usr/include || true" },
}

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function write_file(path, text)
  local handle = assert(io.open(path, "w"))
  assert(handle:write(text))
  assert(handle:close())
end

local function set_up(build, project)
  local objects, declarations = {}, {}
  for i = 1, SOURCES do
    objects[i] = ("out/part%d.o"):format(i)
    declarations[i] = ("int part%d(int a);"):format(i)
    local lines = { '#include "parts.h"' }
    for _, header in ipairs({ "stdio.h", "stdlib.h", "string.h", "pthread.h" }) do
      lines[#lines + 1] = ("#include <%s>"):format(header)
    end
    for j = 1, 80 do
      local line = "static int f%d(int a) { char b[64]; snprintf(b, sizeof(b), \"%%d\", a); return (int)strlen(b) + %d; }"
      lines[#lines + 1] = line:format(j, i)
    end
    lines[#lines + 1] = ("int part%d(int a) { return f1(a) + f80(a); }"):format(i)
    write_file(("%s/src/part%d.c"):format(project, i), table.concat(lines, "\n") .. "\n")
  end
  write_file(project .. "/src/main.c", '#include "parts.h"\nint main(void) { return part1(1) + part2(2) == 0; }\n')
  objects[#objects + 1] = "out/main.o"
  write_file(project .. "/src/parts.h", table.concat(declarations, "\n") .. "\n")
  write_file(project .. "/Makefile", MAKEFILE:format(table.concat(objects, " ")))
  assert(os.execute(("cp %s %s"):format(quote(build .. "/bench/loops"), quote(project .. "/loops"))))
  assert(os.execute(("sh -c %s sh %s %d"):format(quote(SETUP), quote(project), FILES)))
end

---@class bench.Way  how a line of shell is run; it prints what it measured
---@field name string
---@field run fun(script: string): string

--- Unconfined, from a shell with the same environment and directory, and nothing of ours around it.
---@param project string
---@param env string[]
---@return bench.Way
local function unconfined(project, env)
  local words = {}
  for i, entry in ipairs(env) do
    words[i] = quote(entry)
  end
  local before = ("cd %s && exec env -i %s sh -c "):format(quote(project), table.concat(words, " "))
  return {
    name = "unconfined",
    run = function(script)
      local pipe = assert(io.popen(before .. quote(script) .. " </dev/null 2>&1"))
      local output = pipe:read("a")
      if not pipe:close() then
        error(output, 0)
      end
      return output
    end,
  }
end

---@param name string
---@param policy procage.Policy
---@return bench.Way
local function confined(name, policy)
  return {
    name = name,
    run = function(script)
      local outcome, message = policy:run({ "sh", "-c", script })
      if not outcome or outcome.status ~= 0 then
        error(message or outcome.stderr, 0)
      end
      return outcome.stdout
    end,
  }
end

--- One piece of work in each way, as cases that measure themselves, by the clock of the run.
local function cases_of(name, script, ways)
  local cases = {}
  for i, way in ipairs(ways) do
    cases[i] = {
      name = name,
      time = function()
        local output = way.run(script)
        return tonumber(output) or error(("%s, %s: %s"):format(name, way.name, output), 0)
      end,
    }
  end
  return cases
end

--- A line of shell that prints how many microseconds another one took.
local function timed(script)
  return ("s=$(date +%%s%%N); { %s; } >/dev/null || exit 1; e=$(date +%%s%%N); echo $(((e - s) / 1000))"):format(script)
end

local function in_rows(measured, work, ways)
  local rows = {}
  for i, name in ipairs(work) do
    local row = { name = name, budget = BUDGET, ways = {} }
    local base = measured[(i - 1) * #ways + 1]
    for j, way in ipairs(ways) do
      local found = measured[(i - 1) * #ways + j]
      row.ways[j] = {
        name = way.name,
        rounds = found.rounds,
        p10_us = found.p10_us,
        median_us = found.median_us,
        ratio = found.median_us / base.median_us,
        p10_ratio = found.p10_us / base.p10_us,
      }
    end
    rows[i] = row
  end
  return rows
end

local function markdown(rows, ways)
  local head, rule = { "work", "unconfined, µs" }, { "---", "---:" }
  for i = 2, #ways do
    table.move({ ways[i].name .. ", µs", "ratio", "of p10" }, 1, 3, #head + 1, head)
    table.move({ "---:", "---:", "---:" }, 1, 3, #rule + 1, rule)
  end
  local lines = { "| " .. table.concat(head, " | ") .. " |", "| " .. table.concat(rule, " | ") .. " |" }
  for _, row in ipairs(rows) do
    local cells = { row.name, ("%.0f"):format(row.ways[1].median_us) }
    for i = 2, #ways do
      local way = row.ways[i]
      cells[#cells + 1] = ("%.0f"):format(way.median_us)
      cells[#cells + 1] = ("%.3f"):format(way.ratio)
      cells[#cells + 1] = ("%.3f"):format(way.p10_ratio)
    end
    lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  return table.concat(lines, "\n")
end

local WAY_SHAPE = { order = { "name", "rounds", "p10_us", "median_us", "ratio", "p10_ratio" } }
local ROW_SHAPE = { order = { "name", "budget", "ways" }, fields = { ways = { list = WAY_SHAPE } } }

local M = {}

---@param words string[]
function M.main(words)
  local chosen = options.parse(words, { rounds = 60, seconds = 120 })
  local place <close> = home.new(chosen.build .. "/bench")
  local variables, env = options.environment(place.path)
  set_up(chosen.build, place.project)
  local function load(config)
    return assert(procage.policy.load("speccoder", config, { root = place.project, home = place.path, env = variables }))
  end
  local default = load({})
  local ways = { unconfined(place.project, env), confined("default policy", default) }

  local cases, work = {}, {}
  local function add(name, script)
    work[#work + 1] = name
    table.move(cases_of(name, script, ways), 1, #ways, #cases + 1, cases)
  end
  for _, loop in ipairs(LOOPS) do
    add(("%d × %s"):format(loop[2], loop[3]), ("exec ./loops %s %d"):format(loop[1], loop[2]))
  end
  for _, item in ipairs(WORK) do
    add(item[1], timed(item[2]))
  end
  local limits = { rounds = chosen.rounds, warm = 1, budget_us = chosen.seconds * 1000000 }
  local measured = stats.interleave(cases, limits)
  local rows, facts = in_rows(measured, work, ways), stats.facts(default)
  local shown = ("%s\n\n%s"):format(stats.head(facts, measured), markdown(rows, ways))
  stats.publish(chosen, "workload", shown, stats.json(facts, rows, ROW_SHAPE))
end

return M
