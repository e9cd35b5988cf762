--- `./dev bench [NAME] [options]`: which benchmark it is, and what there is.

local options = require("bench.options")

local BENCHES = {
  { "spawn", "what it costs to start a command, by every way (the default)" },
  { "load", "what comes before the first run: modules, probe, policy, fit, plan; the program from end to end" },
  { "workload", "what a command costs while it runs: loops of system calls, a build, git status" },
  { "mediated", "what a mediated call costs" },
  { "around", "what is done around a run: the guard, masks, classification" },
  { "soak", "no benchmark: [RUNS [AT_A_TIME]] in one process, and what is left of them (docs/checking.md)" },
  { "supervision", "refusals, the path observer, mediated names, memory, many runs at once" },
}

local function usage()
  local lines = { "Usage: ./dev bench [NAME] [--json] [--rounds N] [--seconds N] [--out DIR]", "" }
  for _, bench in ipairs(BENCHES) do
    lines[#lines + 1] = ("   %-13s%s"):format(bench[1], bench[2])
  end
  lines[#lines + 1] = ""
  table.move({
    "Each prints Markdown, or JSON with --json, and writes NAME.md and NAME.json (and spawn.svg) into DIR, build/bench.",
    "It ends after so many rounds or seconds. On a machine with other work: chrt -f 10 ./dev bench ...",
  }, 1, 2, #lines + 1, lines)
  return table.concat(lines, "\n")
end

local function main(words)
  local name, first = "spawn", 1
  if words[1] and not words[1]:find("^%-%-") then
    name, first = words[1], 2
  elseif words[1] == "--help" then
    name = "help"
  end
  if name == "help" then
    print(usage())
    return
  end
  for _, bench in ipairs(BENCHES) do
    if bench[1] == name then
      options.check_build(name)
      if require("bench." .. name).main(table.move(words, first, #words, 1, {})) == false then
        os.exit(1, true)
      end
      return
    end
  end
  io.stderr:write(("bench: unknown benchmark '%s'\n%s\n"):format(name, usage()))
  os.exit(2)
end

main(arg)
