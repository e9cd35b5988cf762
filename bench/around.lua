--- What is done around a run: a guard's look at a repository with many refs, masking ten mebibytes, a decision on a call.
---
---     ./dev bench around [--json] [--rounds N] [--seconds N]

local classify = require("procage.classify")
local core = require("procage.core")
local guard = require("procage.guard")
local home = require("bench.home")
local mask = require("procage.mask")
local options = require("bench.options")
local procage = require("procage")
local stats = require("bench.stats")

local REFS, DIRECTORIES = 10000, 100
local SIZE = 10 << 20

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function sh(script)
  assert(os.execute(script), script)
end

--- A repository with that many branches, loose or packed.
local function repository(path, is_packed)
  sh(("rm -rf %s && git init -q %s"):format(quote(path), quote(path)))
  sh(("cd %s && git -c user.name=n -c user.email=e commit -q --allow-empty -m x"):format(quote(path)))
  local commit = io.popen(("git -C %s rev-parse HEAD"):format(quote(path))):read("l")
  local pipe = assert(io.popen(("git -C %s update-ref --stdin"):format(quote(path)), "w"))
  for i = 1, REFS do
    pipe:write(("create refs/heads/%d/%d %s\n"):format(i % DIRECTORIES, i, commit))
  end
  assert(pipe:close())
  if is_packed then
    sh(("git -C %s pack-refs --all"):format(quote(path)))
  end
  return path
end

--- That many random letters, the same each time.
local function letters(count, seed)
  local out = {}
  for i = 1, count do
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    out[i] = string.char(33 + (seed >> 8) % 94)
  end
  return table.concat(out), seed
end

--- A log: words, paths, a hash and some base64 a line.
local function log_text()
  local line = "2026-01-01T00:00:00 INFO build: src/main.c:42 3f786850e387550fdab836ed7e6dc881de23001b "
    .. "aGVsbG8gd29ybGQgb2Y= done\n"
  return line:rep(SIZE // #line + 1):sub(1, SIZE)
end

local function masker(count)
  local values, seed = {}, 1
  for i = 1, count do
    values["SECRET_" .. i], seed = letters(40, seed)
  end
  return assert(mask.new({ env = false, values = values }))
end

local function mask_case(name, m, text)
  return {
    name = name,
    run = function()
      local stream = m:stream()
      for at = 1, #text, 65536 do
        stream:feed(text:sub(at, at + 65535))
      end
      stream:finish()
    end,
  }
end

local function guard_cases(name, path)
  local wanted = { root = path, protect = { "SPEC.md" }, in_place = true }
  local before = assert(guard.snapshot(wanted))
  return {
    name = name .. ": snapshot",
    run = function()
      assert(guard.snapshot(wanted))
    end,
  }, {
    name = name .. ": compare",
    run = function()
      assert(#guard.compare(before) == 0)
    end,
  }
end

local M = {}

---@param words string[]
function M.main(words)
  local chosen = options.parse(words, { rounds = 20, seconds = 30 })
  local build = chosen.build
  local place <close> = home.new(build .. "/bench")
  local policy = assert(procage.policy.load("speccoder", {}, {
    root = place.project, home = place.path, env = options.environment(place.path),
  }))
  local cases = {}
  local function add(...)
    for _, case in ipairs({ ... }) do
      cases[#cases + 1] = case
    end
  end
  add(guard_cases("guard, 10,000 loose refs", repository(place.path .. "/loose", false)))
  add(guard_cases("guard, 10,000 packed refs", repository(place.path .. "/packed", true)))

  local text, one, sixty = log_text(), masker(1), masker(60)
  add(mask_case("mask 10 MiB of log, 1 secret", one, text))
  add(mask_case("mask 10 MiB of log, 60 secrets", sixty, text))
  local periodic = assert(mask.new({ env = false, values = { A_SECRET = ("ab"):rep(2000) .. "c", B_SECRET = ("ab"):rep(4) } }))
  add(mask_case("mask 10 MiB of secrets in secrets", periodic, ("ab"):rep(SIZE // 2)))

  local classifier = classify.new(policy)
  for name, argv in pairs({
    ["classify ls -la"] = { "ls", "-la" },
    ["classify a line of shell with ten commands"] = {
      "sh", "-c", ("git status && cat src/a.c | wc -l; "):rep(3) .. "make test",
    },
  }) do
    add({
      name = name,
      run = function()
        classifier:classify({ tool = "command", argv = argv })
      end,
    })
  end
  table.sort(cases, function(a, b)
    return a.name < b.name
  end)
  local rows = stats.interleave(cases, { rounds = chosen.rounds, warm = 1, budget_us = chosen.seconds * 1000000 })
  local facts = stats.facts(policy)
  stats.publish(chosen, "around", stats.head(facts, rows) .. "\n\n" .. stats.markdown(rows, {}), stats.json(facts, rows))
  -- Read once more, so that a figure is never one of a text that was not masked.
  assert(sixty:text(letters(40, 1)):find("redacted", 1, true) and core.now_us() > 0)
end

return M
