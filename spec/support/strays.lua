--- Processes that would outlive a run (stray.c), and whether one has.

local box = require("spec.support.box")
local core = require("procage.core")

local M = {}

M.modes = {
  "daemon", "stopped", "traced", "writer", "subreaper", "sister", "vforks", "leaderless", "relay", "storm",
}

local function read(file)
  local handle = io.open(file, "rb")
  local text = handle and handle:read("a")
  if handle then
    handle:close()
  end
  return text
end

--- Puts the program into a box's workspace, as "stray".
---@param b procage.Box
function M.install(b)
  local program = (os.getenv("PROCAGE_BUILD") or "build/dev") .. "/stray"
  local target = b:write("workspace/stray", assert(read(program), program .. ": build first"))
  b:mode("workspace/stray", "755")
  return target
end

--- A word that is in no other command line.
function M.mark()
  M.count = (M.count or 0) + 1
  return ("stray-%d-%d"):format(core.now_us(), M.count)
end

--- Whether a process has it in its command line and still runs, by one thread at least: a zombie leader has neither.
local function runs(pid, mark)
  for tid in pairs(core.read_dir(("/proc/%s/task"):format(pid)) or {}) do
    local base = ("/proc/%s/task/%s/"):format(pid, tid)
    local state = (read(base .. "stat") or ""):match("^.*%) (%a)")
    if state and state ~= "Z" and state ~= "X" and (read(base .. "cmdline") or ""):find(mark, 1, true) then
      return true
    end
  end
  return false
end

---@param mark string
---@return integer[]
function M.find(mark)
  local found = {}
  for name in pairs(assert(core.read_dir("/proc"))) do
    if name:find("^%d+$") and runs(name, mark) then
      found[#found + 1] = math.tointeger(tonumber(name))
    end
  end
  return found
end

--- Whether there is any life in a box: a process to be seen, or a beat of those that are too quick for that.
---@param b procage.Box
---@param mark string
function M.is_alive(b, mark)
  if #M.find(mark) > 0 then
    return true
  end
  local before = #(b:read("workspace/" .. mark .. ".beat") or "")
  box.sleep(0.1)
  return #(b:read("workspace/" .. mark .. ".beat") or "") > before or #M.find(mark) > 0
end

--- Kills what is left of a control, and waits for those that were not caught to end by themselves.
---@param mark string
function M.clear(mark)
  return box.wait_for(20, function()
    local found = M.find(mark)
    if #found > 0 then
      box.shell("kill -KILL " .. table.concat(found, " "))
    end
    return #found == 0
  end)
end

return M
