--- Attacks on processes and terminals outside, and by processes that stay.

local shows = require("procage.doctor.attacks.shows")
local trees = require("procage.doctor.tree")

---@type table<string, procage.doctor.Class>
local M = {}

M.signals = {
  about = "signals to a process outside",
  unclaimed = function(c)
    return c:gap("signals")
  end,
  attacks = function(t, _, add)
    local ways = {
      { "kill", "kill", 34 },
      { "tgkill", "tgkill", 35 },
      { "sigqueue", "sigqueue", 36 },
      { "pidfd", "by a pidfd", 37 },
      { "setown", "as the owner of a file", 38 },
      { "kill", "to its group", 39, "-" },
    }
    for _, way in ipairs(t.victim and ways or {}) do
      local pid = (way[4] or "") .. t.victim.pid
      add(way[2], { way[1], pid, tostring(way[3]) }, shows.came(t, t.victim.log, way[3] .. "\n"))
    end
  end,
}

M.processes = {
  about = "memory, environment, files and limits of a process outside",
  unclaimed = function(c)
    return not c:uses("signals", "landlock-fs") and c:gap("signals") or nil
  end,
  attacks = function(t, _, add)
    local victim = t.victim
    if not victim then
      return
    end
    local proc = "/proc/" .. victim.pid
    add("memory, traced", { "ptrace", victim.pid, victim.address }, shows.told(victim.memory))
    add("memory, process_vm_readv", { "vm_read", victim.pid, victim.address }, shows.told(victim.memory))
    add("memory, /proc/PID/mem", { "mem_read", victim.pid, victim.address }, shows.told(victim.memory))
    add("environment", { "variable", proc .. "/environ", "PROCAGE_DOCTOR_VICTIM" }, shows.told(victim.environment))
    add("an open file, /proc/PID/fd", { "read", ("%s/fd/%d"):format(proc, victim.fd) }, shows.told(victim.secret))
    add("an open file, pidfd_getfd", { "getfd", victim.pid, tostring(victim.fd) }, shows.told(victim.secret))
    add("its limits", { "limit", victim.pid, "333" }, function()
      return (trees.read(proc .. "/limits") or ""):find("open files%s+333%s") ~= nil
    end)
    add("its priority", { "nice", victim.pid, "13" }, function()
      local stat = trees.read(proc .. "/stat") or ""
      return stat:match("%) " .. ("%S+ "):rep(16) .. "(%S+)") == "13"
    end)
    add("its badness for the OOM killer", { "write", proc .. "/oom_score_adj", "777" }, function()
      return (trees.read(proc .. "/oom_score_adj") or ""):match("^777") ~= nil
    end)
  end,
}

M.left_behind = {
  about = "processes that outlive the run",
  unclaimed = function(c)
    return c:gap("process_tree")
  end,
  attacks = function(t, _, add)
    for _, row in ipairs({
      { "stay_session", "in a session of its own", "pd-session" },
      { "stay_daemon", "a daemon, deaf to signals", "pd-daemon" },
      { "stay_sister", "a child of its parent's", "pd-sister" },
      { "stay_subreaper", "one that takes in orphans", "pd-subreaper" },
    }) do
      add(row[2], { row[1], row[3] }, function()
        t.found = t.found or t:strays()
        for _, stray in ipairs(t.found) do
          if stray.name == row[3] then
            return true
          end
        end
        return false
      end)
    end
  end,
}

M.terminals = {
  about = "other terminals: typing into one (TIOCSTI), writing on one",
  unclaimed = shows.nothing,
  attacks = function(t, _, add)
    local terminal = t:keep("terminal")
    if terminal then
      for _, row in ipairs({ { "write", "writing" }, { "type", "typing" } }) do
        local text = trees.token()
        add(row[2], { row[1], terminal:name(), text }, shows.came(t, terminal, text))
      end
    end
  end,
}

return M
