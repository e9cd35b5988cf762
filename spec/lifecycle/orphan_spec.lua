--- A host that is killed before its command was executed: the command never runs (FR-101).
---
--- spec/support/orphan.c holds the processes between the host and the command at one system call after another, by ptrace(2),
--- kills the host there and lets them go on. The calls before init's exec are those that make namespaces and mounts and drop
--- capabilities; the last ones of all are those of the command's own process, after everything that it may do has been changed.

local box = require("spec.support.box")

local orphan = (os.getenv("PROCAGE_BUILD") or "build/dev") .. "/orphan"
if orphan:sub(1, 1) ~= "/" then
  orphan = box.shell("pwd -P") .. "/" .. orphan
end

--- A sanitizer looks for leaks by ptrace, too, and a process has one tracer.
local OPTIONS = { host_env = { ASAN_OPTIONS = "detect_leaks=0" } }

--- `line`: a shell line that has its environment already, and starts the host.
local function try(b, line, is_plain, cwd)
  local command = ("exec %s %s%s -- %s"):format(
    box.quote(orphan),
    is_plain and "--plain " or "",
    box.quote(b:path("workspace/ran")),
    line
  )
  local result = b:run_unconfined(command, { timeout_ms = 120000, cwd = cwd })
  if result.status == 77 then
    box.skip(result.stderr)
  end
  return result
end

local function assert_held(result)
  assert.equal(0, result.status, result.stdout .. result.stderr)
  local tried, reached = result.stdout:match("^(%d+) points of %d+, (%d+) reached\n$")
  -- Which points of a start are reached before the host is dead is a matter of scheduling; the command's process alone has
  -- fewer.
  assert.is_true(tonumber(tried) > 30 and tonumber(reached) > 12, result.stdout)
end

describe("a command whose host is killed before it is executed", function()
  it("runs all the same where nobody sees to it", function()
    local b <close> = box.new(OPTIONS)
    local result = try(b, "/bin/sh -c '/usr/bin/touch ran; :'", true)
    assert.equal(1, result.status, result.stderr)
    assert.matches("^executed though its host was dead", result.stdout)
  end)

  it("never runs, of `procage-lua run`", function()
    local b <close> = box.new(OPTIONS)
    assert_held(try(b, b:cli_line({ "-q" }, { "/usr/bin/touch", "ran" })))
  end)

  it("never runs, of a host that has started the run ahead", function()
    local b <close> = box.new(OPTIONS)
    local ok, message, code = assert(b:policy()):prepare()
    if not ok and code == 95 then
      box.skip(message)
    end
    local interpreter = arg[-1] or "lua5.4"
    for i = -1, -20, -1 do
      interpreter = arg[i] or interpreter
    end
    local file = b:write("outside/host.lua", ([[
package.path, package.cpath = %q, %q
local policy = assert(require("procage").policy.load("speccoder", {}, { root = %q, home = %q }))
assert(policy:prepare())
assert(policy:run({ "/usr/bin/touch", "ran" }))
policy:close()
]]):format(package.path, package.cpath, b.workspace, b.home))
    -- The modules' path may be relative to where the tests run.
    assert_held(try(b, box.quote_all({ interpreter, file }), false, box.shell("pwd -P")))
  end)

  it("never runs, of the parent of a wrapped tree", function()
    local b <close> = box.new(OPTIONS)
    local argv = assert(assert(b:policy()):wrap({ "/usr/bin/touch", "ran" }, { tree = true })).argv
    assert_held(try(b, box.quote_all(argv)))
  end)
end)
