--- Attacks on the kernel and what it keeps for all: namespaces, keys, IPC, settings, devices.

local core = require("procage.core")
local path = require("procage.path")
local shows = require("procage.doctor.attacks.shows")
local trees = require("procage.doctor.tree")

---@type table<string, procage.doctor.Class>
local M = {}

local function bind_attacks(t, add)
  for _, row in ipairs({ { "bind", "a bind mount" }, { "clone", "a bind mount, by clone" } }) do
    local text = trees.token()
    local file = t:write(t.outside .. "/" .. text, "old")
    local place = t:make_directory(t.workspace .. "/mount-" .. row[1])
    add(row[2], { row[1], t.outside, place, text, text }, shows.holds(file, text))
  end
end

M.namespaces = {
  about = "namespaces and mounts that would open what is closed",
  unclaimed = function(c)
    return not c.is_off and c:may_write(path.parent(c.home) .. "/outside") and "allowed by the profile" or nil
  end,
  attacks = function(t, _, add)
    bind_attacks(t, add)
    local file, text = t:write(t.outside .. "/remount", "old"), trees.token()
    add("a tree made writable again", { "remount", file, text }, shows.holds(file, text))
  end,
}

M.setuid = {
  about = "set-user-ID programs, capabilities and device nodes left in the workspace",
  unclaimed = shows.nothing,
  attacks = function(t, _, add)
    for _, row in ipairs({ { "setuid", "by chmod" }, { "setuid_open", "made with the bit and filled" } }) do
      local file = t.workspace .. "/" .. row[1]
      add(row[2], { row[1], file }, function()
        local found = core.lstat(file)
        return found ~= nil and found.size > 0 and found.mode & 2048 ~= 0 -- S_ISUID
      end)
    end
    local device = t.workspace .. "/device"
    add("a device node", { "device", device }, shows.exists(device))
    local capable = t.workspace .. "/capable"
    add("a file with capabilities", { "capability", capable }, shows.opened, true)
  end,
}

M.keys = {
  about = "the kernel's keyrings",
  unclaimed = shows.nothing,
  attacks = function(t, _, add)
    local name, secret = "procage-doctor:" .. trees.token(), trees.token()
    local key = t:keep("key", name, secret)
    if key then
      local text = trees.token()
      add("reading a key by number", { "key_read", tostring(key:number()) }, shows.told(secret))
      add("finding a key", { "key_search", name }, shows.told(secret))
      add("changing a key", { "key_update", tostring(key:number()), text }, shows.came(t, key, text))
    end
  end,
}

M.ipc = {
  about = "System V and POSIX IPC of programs outside",
  unclaimed = function(c)
    return c:gap("ipc")
  end,
  attacks = function(t, _, add)
    local secret = trees.token()
    local shared, messages, semaphore = t:keep("shm", "", secret), t:keep("msg"), t:keep("sem")
    local name = "/procage-doctor-" .. trees.token()
    local queue = t:keep("mq", name)
    if shared then
      local text = trees.token()
      add("reading shared memory", { "shm_read", tostring(shared:number()) }, shows.told(secret))
      local other = t:keep("shm", "", "old")
      add("writing shared memory", { "shm_write", tostring(other:number()), text }, shows.came(t, other, text))
    end
    if messages then
      local text = trees.token()
      add("a message queue", { "msg_send", tostring(messages:number()), text }, shows.came(t, messages, text))
    end
    if semaphore then
      add("a semaphore", { "sem_set", tostring(semaphore:number()), "321" }, shows.came(t, semaphore, "value=321;"))
    end
    if queue then
      local text = trees.token()
      add("a POSIX message queue", { "mq_send", name, text }, shows.came(t, queue, text))
    end
  end,
}

local SETTINGS = {
  "/proc/sys/kernel/core_pattern",
  "/proc/sys/kernel/modprobe",
  "/proc/sys/kernel/hostname",
  "/proc/sysrq-trigger",
  "/proc/sys/vm/drop_caches",
  "/sys/kernel/uevent_helper",
  "/sys/power/state",
  "/sys/fs/cgroup/cgroup.procs",
}

M.kernel = {
  about = "settings of the kernel, opened to be written and closed again",
  unclaimed = shows.nothing,
  attacks = function(_, _, add)
    for _, name in ipairs(SETTINGS) do
      add(name, { "open_write", name }, shows.opened, true)
    end
  end,
}

--- Devices whose opening changes nothing: no watchdog, no tape.
local DEVICES = {
  "kmsg", "mem", "port", "kvm", "fuse", "net/tun", "loop-control", "mapper/control", "vhost-net", "vhost-vsock",
}
local DISKS = { "^sd%l$", "^vd%l$", "^xvd%l$", "^nvme%d+n%d+$", "^mmcblk%d+$", "^dm%-%d+$", "^loop0$" }

M.devices = {
  about = "device nodes, opened to be read and closed again",
  unclaimed = shows.nothing,
  attacks = function(_, _, add)
    local names = table.move(DEVICES, 1, #DEVICES, 1, {})
    for name, kind in pairs(core.read_dir("/dev") or {}) do
      for _, pattern in ipairs(kind == "block" and DISKS or {}) do
        if name:find(pattern) then
          names[#names + 1] = name
        end
      end
    end
    table.sort(names)
    for i = 1, math.min(#names, 24) do
      add("/dev/" .. names[i], { "open_read", "/dev/" .. names[i] }, shows.opened, true)
    end
  end,
}

return M
