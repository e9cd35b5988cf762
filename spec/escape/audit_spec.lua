--- denials = "paths" where the kernel's audit records can be read: its own word of what Landlock refused.

local box = require("spec.support.box")
local host_room = require("procage.host")

local MOUNTS = { "userns", "mountns", "netns", "ipcns", "pidns", "devpts", "mount_setattr", "nproc" }

local CONFIG = { denials = "paths", hidden = { "~/secret" } }

--- This host, or one where Landlock alone holds the files.
local function new_box(without)
  box.skip_unless("seccomp_notify")
  box.skip_unless("landlock_audit")
  local host = host_room.complete(box.host())
  for _, fact in ipairs(without) do
    host[fact] = false
  end
  local b = box.new({ config = CONFIG, host = host })
  for _, name in ipairs({ "outside/file", "outside/odd \"name\"", "outside/gone", "workspace/mine", "home/secret" }) do
    b:write(name, "x")
  end
  return b
end

local ATTACK = [[
  true >> "$OUTSIDE/file"
  true >> "$OUTSIDE/odd \"name\""
  cat ~/secret
  true > "$OUTSIDE/new"
  rm -f "$OUTSIDE/gone"
  cat mine; true >> mine; mkdir d; mv mine d
]]

local function refused_of(outcome)
  local refused = {}
  for _, access in ipairs(outcome.accesses) do
    refused[access.path] = access
  end
  return refused
end

local function denied_text(outcome)
  local lines = {}
  for i, line in ipairs(outcome.denials.denied) do
    lines[i] = line.text
  end
  return table.concat(lines, "\n")
end

describe("the kernel's audit records", function()
  it("name exactly what Landlock refused, and nothing else", function()
    local b <close> = new_box(MOUNTS)
    local outcome = b:run(ATTACK)
    local refused, count = refused_of(outcome), 0
    for _, name in ipairs({ "/outside/file", "/outside/odd \"name\"", "/home/secret", "/outside" }) do
      local access = refused[b.root .. name]
      assert.is_truthy(access, name .. " is missing: " .. denied_text(outcome))
      assert.is_true(access.is_exact)
      assert.equal(13, access.errno)
    end
    for _ in pairs(refused) do
      count = count + 1
    end
    assert.equal(4, count, denied_text(outcome))
    assert.equal("cat", refused[b.home .. "/secret"].process)
    assert.equal("audit", outcome.denials.source)
    assert.matches("exact", outcome.denials.note)
    assert.matches("write " .. b.outside .. "/file", denied_text(outcome), 1, true)
    assert.matches("create in " .. b.outside, denied_text(outcome), 1, true)
    -- The same unconfined: every one of them can be done.
    b:run_unconfined(ATTACK)
    assert.is_false(b:exists("outside/gone"))
    assert.is_true(b:exists("outside/new"))
  end)

  it("give the change that would allow it", function()
    local b <close> = new_box(MOUNTS)
    local outcome = b:run(': > "$OUTSIDE/new"')
    assert.equal("--allow-write " .. b.outside, outcome.denials.denied[1].allow)
  end)

  it("are joined by the observer where a read-only mount answers first", function()
    box.skip_unless("mountns")
    local b <close> = new_box({})
    local outcome = b:run(ATTACK)
    local refused = refused_of(outcome)
    assert.equal("audit and observer", outcome.denials.source)
    assert.equal(30, refused[b.outside .. "/file"].errno)
    assert.is_false(refused[b.outside .. "/file"].is_exact)
    assert.is_truthy(refused[b.outside .. "/new"])
    assert.is_truthy(refused[b.home .. "/secret"])
    assert.is_nil(refused[b.workspace .. "/mine"])
  end)

  it("count each refusal, or the note says that some were lost", function()
    local b <close> = new_box(MOUNTS)
    local outcome = b:run(box.python([[
import os
for i in range(2000):
    try: os.open(os.environ["OUTSIDE"] + "/file", os.O_WRONLY)
    except PermissionError: pass
]]))
    local access = refused_of(outcome)[b.outside .. "/file"]
    if outcome.accesses.lost == 0 then
      assert.equal(2000, access.count)
    else
      assert.is_true(access.count < 2000)
      assert.matches("lost", outcome.denials.note, 1, true)
    end
  end)

  it("tell nothing of another run at the same time", function()
    local b <close> = new_box(MOUNTS)
    local other <close> = new_box(MOUNTS)
    local running = assert(assert(other:policy()):start({ "/bin/sh", "-c", "sleep 0.3; : >> $OUTSIDE/file; sleep 0.3" }))
    local outcome = b:run(": >> $OUTSIDE/file; sleep 0.6")
    local refused = refused_of(outcome)
    local theirs = refused_of(assert(running:wait()))
    assert.is_truthy(refused[b.outside .. "/file"])
    assert.is_nil(refused[other.outside .. "/file"])
    assert.is_truthy(theirs[other.outside .. "/file"])
    assert.is_nil(theirs[b.outside .. "/file"])
  end)
end)
