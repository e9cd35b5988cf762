--- What a run that sleeps takes of memory: the proportional set size of its processes, and what its host grows by.

local core = require("procage.core")

local M = {}

local COUNT, SECONDS = 20, "20"

--- Pages that several processes share are divided among them. Source: proc(5), /proc/PID/smaps_rollup.
---@param pid integer|"self"
---@return integer? kib
local function pss_kib(pid)
  local text = core.read_file(("/proc/%s/smaps_rollup"):format(pid))
  return text and math.tointeger(tonumber(text:match("\nPss:%s*(%d+)")))
end

--- The processes that descend from this one and are there by now.
local function descendants()
  local parents, mine = {}, {}
  local pipe = assert(io.popen("cat /proc/[0-9]*/stat 2>/dev/null"))
  for line in pipe:lines() do
    local pid, parent = line:match("^(%d+) .*%) %a (%d+)")
    parents[tonumber(pid)] = tonumber(parent)
  end
  pipe:close()
  local own = tonumber(core.read_file("/proc/self/stat"):match("^%d+"))
  for pid in pairs(parents) do
    local up = parents[pid]
    while up and up ~= own do
      up = parents[up]
    end
    mine[#mine + 1] = up and pid or nil
  end
  return mine
end

local function total_kib(pids)
  local sum, count = 0, 0
  for _, pid in ipairs(pids) do
    -- The shell and cat that listed them are gone.
    local kib = pss_kib(pid)
    sum, count = sum + (kib or 0), count + (kib and 1 or 0)
  end
  return sum, count
end

--- Starts one by a shell.
local function by_shell(argv)
  local words = {}
  for i, word in ipairs(argv) do
    words[i] = "'" .. word:gsub("'", "'\\''") .. "'"
  end
  local pipe = assert(io.popen("exec " .. table.concat(words, " ")))
  return function()
    pipe:close()
  end
end

---@param name string
---@param start fun(command: string[]): fun()  starts one, and returns what ends it
local function measure(name, start)
  local ends = {}
  -- What the first one makes and keeps is no price of each.
  start({ "/bin/true" })()
  collectgarbage()
  local before = descendants()
  local processes_before, count_before = total_kib(before)
  local host_before = pss_kib("self")
  for i = 1, COUNT do
    ends[i] = start({ "/bin/sleep", SECONDS })
  end
  -- Until all of them are where they stay.
  os.execute("sleep 1")
  local kib, count = total_kib(descendants())
  local row = {
    name = name,
    processes = math.floor((count - count_before) / COUNT + 0.5),
    pss_kib = (kib - processes_before) / COUNT,
    host_kib = (pss_kib("self") - host_before) / COUNT,
  }
  for _, finish in ipairs(ends) do
    finish()
  end
  return row
end

---@param ways { name: string, policy?: procage.Policy, argv?: fun(command: string[]): string[] }[]
---@return { name: string, processes: integer, pss_kib: number, host_kib: number }[]
function M.rows(ways)
  local rows = {}
  for i, way in ipairs(ways) do
    rows[i] = measure(way.name, function(command)
      if not way.policy then
        return by_shell(way.argv(command))
      end
      local run = assert(way.policy:start(command))
      return function()
        run:finish()
      end
    end)
  end
  return rows
end

---@return string
function M.markdown(rows)
  local lines = {
    "| a run that sleeps | processes | PSS of them, KiB | growth of the host, KiB |",
    "| --- | ---: | ---: | ---: |",
  }
  for _, row in ipairs(rows) do
    lines[#lines + 1] = ("| %s | %d | %.0f | %.0f |"):format(row.name, row.processes, row.pss_kib, row.host_kib)
  end
  return table.concat(lines, "\n")
end

return M
