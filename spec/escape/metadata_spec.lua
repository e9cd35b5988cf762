local box = require("spec.support.box")

--- Mode, owner, times and attributes of what lies outside; not the times of reading, nor of a directory's status.
local function marks(b)
  return box.shell(("cd %s && find . -printf '%%p %%m %%U %%G %%T@\\n' | sort; getfattr -R -d . 2>/dev/null"):format(
    box.quote(b.outside)
  ))
end

local function set_up(b)
  b:write("outside/file", "x")
  b:write("outside/dir/inner", "x")
  b:mode("outside/file", "600")
  b.before = marks(b)
end

local function is_changed(b)
  return marks(b) ~= b.before
end

local python = box.python
local ways = {
  { "the mode, by chmod", "chmod 777 $OUTSIDE/file" },
  { "the mode, by a descriptor", python("import os; os.fchmod(os.open(os.environ['OUTSIDE'] + '/file', os.O_RDONLY), 0o777)") },
  { "the mode, through /proc/self/fd", python([[
import os
fd = os.open(os.environ["OUTSIDE"] + "/file", os.O_PATH)
os.chmod("/proc/self/fd/%d" % fd, 0o777)
]]) },
  { "the mode of a directory", "chmod 777 $OUTSIDE/dir" },
  { "the set-user-ID bit", "chmod u+s $OUTSIDE/file" },
  { "times", "touch -d 2001-01-01 $OUTSIDE/file" },
  { "times, through a link", "ln -s $OUTSIDE/file l; touch -d 2001-01-01 l" },
  { "the owner, to itself with a new status", "chgrp $(id -g) $OUTSIDE/file && chmod 640 $OUTSIDE/file" },
  { "the mode, through a link", "ln -s $OUTSIDE/dir l; chmod 700 l/inner" },
}

describe("of a file outside the writable trees", function()
  for _, way in ipairs(ways) do
    it(way[1] .. " cannot be changed", function()
      box.attack({ setup = set_up, run = way[2], hurt = is_changed, clause = "metadata" })
    end)
  end

  it("an extended attribute cannot be set", function()
    box.attack({
      setup = set_up,
      run = python("import os; os.setxattr(os.environ['OUTSIDE'] + '/file', 'user.x', b'y')"),
      hurt = function(b)
        return b:run_unconfined(python([[
import os, sys
sys.exit(0 if os.listxattr(os.environ["OUTSIDE"] + "/file") else 1)
]])).status == 0
      end,
      clause = "metadata",
    })
  end)
end)

describe("a hard link", function()
  it("that was in the workspace before leads to what its file is: this is not prevented, and is said in the limits", function()
    local b <close> = box.new()
    b:write("outside/file", "x")
    b:setup("ln $OUTSIDE/file linked")
    b:run("echo y > linked")
    local limits = io.open("docs/limits.md")
    if b:read("outside/file") == "y\n" and limits then
      assert.matches("[Hh]ard link", limits:read("a"))
    end
  end)
end)
