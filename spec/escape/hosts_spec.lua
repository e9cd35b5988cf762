--- Every poorer host than this one: what its report claims is held by the real kernel, and what it does not claim has a name.

local box = require("spec.support.box")
local hosts = require("procage.host")

--- The facts taken away, one set a host. What rests on a fact goes with it.
local TAKEN = {
  { name = "this host", without = {} },
  { name = "no network namespace", without = { "netns" } },
  { name = "no PID namespace", without = { "pidns" } },
  { name = "no IPC namespace", without = { "ipcns" } },
  { name = "no devpts", without = { "devpts" } },
  { name = "no mount_setattr", without = { "mount_setattr" } },
  { name = "no mounts", without = { "mountns", "pidns", "devpts", "mount_setattr" } },
  { name = "no notifications", without = { "seccomp_notify" } },
  {
    name = "no user namespace",
    without = { "userns", "mountns", "netns", "ipcns", "pidns", "devpts", "mount_setattr" },
  },
}

local function poorer(abi, without)
  local host = hosts.complete(box.host())
  host.landlock_abi = math.min(abi, host.landlock_abi)
  for _, fact in ipairs(without) do
    host[fact] = false
  end
  return host
end

local ATTACK = [[
  cat ~/.ssh/id ~/link
  echo PWN > "$OUTSIDE/new"
  echo PWN >> "$OUTSIDE/kept"
  rm -f "$OUTSIDE/gone"; mv "$OUTSIDE/moved" "$OUTSIDE/away"; ln "$OUTSIDE/kept" ./hard
  mkdir "$OUTSIDE/dir"; ln -s x "$OUTSIDE/sym"
  chmod 777 "$OUTSIDE/mode"
  truncate -s 0 "$OUTSIDE/cut"
  echo inside > made; cat made
  mkdir -p a/b && mv a/b c && rmdir c && echo tree
]]

local function prepare(b)
  b:write("home/.ssh/id", "SECRET")
  b:symlink(".ssh/id", "home/link")
  for _, name in ipairs({ "kept", "gone", "moved", "mode", "cut" }) do
    b:write("outside/" .. name, "keep")
  end
  b:mode("outside/mode", "644")
end

--- A sign for each thing that the attack does outside.
local function signs(b)
  return {
    new = b:exists("outside/new"),
    kept = b:read("outside/kept") ~= "keep",
    gone = not b:exists("outside/gone"),
    moved = not b:exists("outside/moved"),
    dir = b:exists("outside/dir"),
    sym = b:exists("outside/sym"),
  }
end

describe("the control", function()
  it("shows that each part of the attack works unconfined", function()
    local b <close> = box.new()
    prepare(b)
    local result = b:run_unconfined(ATTACK)
    assert.matches("SECRET", result.stdout, 1, true)
    for name, happened in pairs(signs(b)) do
      assert.is_true(happened, name)
    end
    assert.equal("777", b:stat("outside/mode", "%a"))
    assert.equal("", b:read("outside/cut"))
  end)
end)

for abi = 0, box.host().landlock_abi do
  for _, taken in ipairs(TAKEN) do
    describe(("Landlock ABI %d, %s:"):format(abi, taken.name), function()
      it("what is claimed holds, and what is not has a name", function()
        local b <close> = box.new({ host = poorer(abi, taken.without) })
        prepare(b)
        local outcome, message = b:try_run(ATTACK)
        if not outcome then
          -- Nothing to confine with, or a gap that the policy does not live with: then nothing ran.
          assert.matches("^SANDBOX%-UNAVAILABLE", message)
          assert.is_false(signs(b).new)
          return
        end
        assert.is_true(box.holds(outcome, "write"))
        for name, happened in pairs(signs(b)) do
          assert.is_false(happened, name)
        end
        assert.is_nil(outcome.stdout:find("SECRET", 1, true))
        if box.holds(outcome, "metadata") then
          assert.equal("644", b:stat("outside/mode", "%a"))
        end
        if box.holds(outcome, "truncate") then
          assert.equal("keep", b:read("outside/cut"))
        end
        assert.matches("inside", outcome.stdout, 1, true)
        if abi ~= 1 then -- ABI 1 refuses every rename across directories
          assert.matches("tree", outcome.stdout, 1, true)
        end
      end)
    end)
  end
end
