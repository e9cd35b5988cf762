local box = require("spec.support.box")

--- Everything about the protected tree that another could notice.
local function state(b, name)
  return box.shell(
    ("cd %s && find %s -printf '%%p %%y %%m %%n %%l\\n' | sort; find %s -type f -exec cat {} + | cksum"):format(
      box.quote(b.workspace),
      name,
      name
    )
  )
end

local function set_up(b)
  b:write("workspace/p/bin/rg", "good")
  b:write("workspace/p/bin/deep/er/file", "good")
  b:write("workspace/x", "evil")
  b.options.config = { read_only = { b:path("workspace/p/bin") } }
  b.before = state(b, "p/bin")
end

local function is_changed(b)
  return state(b, "p/bin") ~= b.before
end

local ways = {
  { "written", "echo evil > p/bin/rg" },
  { "appended to", "echo evil >> p/bin/deep/er/file" },
  { "added to", "echo evil > p/bin/new" },
  { "deleted", "rm -rf p/bin" },
  { "renamed away and replaced (FR-66)", "mv p/bin p/old && mkdir p/new && echo evil > p/new/rg && mv p/new p/bin" },
  { "renamed away with its parent", "mv p q && mkdir -p p/bin && echo evil > p/bin/rg" },
  { "replaced by a rename over a file in it (FR-65)", "mv -f x p/bin/rg" },
  { "given a linked file", "ln x p/bin/new" },
  { "given a second name for one of its files", "ln p/bin/rg second && echo evil > second" },
  { "given another mode", "chmod 4777 p/bin/rg" },
  { "swapped with another directory", box.python([[
import ctypes, os
os.mkdir("other")
open("other/rg", "w").write("evil")
ctypes.CDLL(None).renameat2(-100, b"other", -100, b"p/bin", 2)
]]) },
  { "swapped with another directory together with its parent", box.python([[
import ctypes, os
os.makedirs("other/bin")
open("other/bin/rg", "w").write("evil")
ctypes.CDLL(None).renameat2(-100, b"other", -100, b"p", 2)
]]) },
  { "replaced by a link", "rm -rf p/bin; ln -s /tmp p/bin" },
  { "reached through /proc/self/root", "echo evil > /proc/self/root$WS/p/bin/rg" },
  { "reached through a link", "ln -s p/bin l; echo evil > l/rg" },
  { "made by a descriptor of its parent", box.python([[
import os
fd = os.open("p", os.O_RDONLY)
os.rename("bin", "gone", src_dir_fd=fd, dst_dir_fd=fd)
]]) },
}

describe("a read-only tree inside a writable one", function()
  for _, way in ipairs(ways) do
    it("cannot be " .. way[1], function()
      box.attack({ setup = set_up, run = way[2], hurt = is_changed, clause = "read_only" })
    end)
  end

  it("leaves what lies beside it writable, and no trace on the disk", function()
    local b <close> = box.new()
    set_up(b)
    local outcome = b:run("echo a > p/beside && mkdir p/dir && mv p/dir p/dir2 && cat p/bin/rg && echo b > q")
    assert.equal("good", outcome.stdout)
    assert.equal("a\n", b:read("workspace/p/beside"))
    assert.is_false(is_changed(b))
    assert.equal("beside\nbin\ndir2", box.shell("ls " .. box.quote(b:path("workspace/p"))))
  end)

  it("can be a single file", function()
    box.attack({
      setup = function(b)
        b:write("workspace/f", "good")
        b:write("workspace/x", "evil")
        b.options.config = { read_only = { b:path("workspace/f") } }
      end,
      run = "echo evil > f; mv -f x f; ln -sf x f; rm -f f; echo evil > f",
      hurt = function(b)
        return b:read("workspace/f") ~= "good"
      end,
      clause = "read_only",
    })
  end)

  it("keeps a policy script in the workspace from the commands that it confines", function()
    local b <close> = box.new()
    b:write("workspace/policy.lua", [[
local profile = require("procage.profile")
return function(config, ctx)
  local p = profile.new()
  p:allow_read("/")
  p:workspace(ctx.workspace)
  p:network("none")
  p:accept({ "carve", "sockets", "metadata", "process_tree", "stat", "trust_handoff" })
  return p
end
]])
    b.options.policy = b:path("workspace/policy.lua")
    local outcome = b:run("echo 'return nil' > policy.lua; rm -f policy.lua")
    if box.holds(outcome, "read_only") then
      assert.matches("procage.profile", b:read("workspace/policy.lua"), 1, true)
    end
  end)
end)
