--- What is missing on a host, and what lifts it there: the report's rows by what would lift them, and the steps in full.

local paths = require("procage.paths")

local M = {}

---@class procage.doctor.Missing
---@field lift string
---@field clauses string[]
---@field effects string[]

--- The rows that are left out, tightened, or held by one lock where there could be two; grouped by their lift.
---@param report procage.Row[]
---@return procage.doctor.Missing[]
function M.missing(report)
  local list, by_lift = {}, {}
  for _, row in ipairs(report) do
    if row.lift and row.id ~= "off" then
      local entry = by_lift[row.lift]
      if not entry then
        entry = { lift = row.lift, clauses = {}, effects = {} }
        by_lift[row.lift] = entry
        list[#list + 1] = entry
      end
      local state = row.state == "enforced" and "" or row.state == "tightened" and " (tightened)" or " (left out)"
      entry.clauses[#entry.clauses + 1] = row.clause .. state
      entry.effects[#entry.effects + 1] = row.effect
    end
  end
  return list
end

---@class procage.doctor.Step
---@field what string
---@field text string  of a file, or commands

local APPARMOR = [[
abi <abi/4.0>,
include <tunables/global>

profile procage-lua %s flags=(unconfined) {
  userns,

  include if exists <local/procage-lua>
}]]

--- A path in an AppArmor profile: quoted, its glob characters escaped.
local function apparmor_path(name)
  return '"' .. name:gsub('[%[%]{}*?,"\\^]', "\\%0") .. '"'
end

--- What to write and to call here, where that takes more than the lift's one line.
---@param host procage.Host
---@param report procage.Row[]
---@return procage.doctor.Step[]
function M.steps(host, report)
  local steps = {}
  if host.apparmor_userns and not (host.userns and host.mountns) then
    steps[1] = {
      what = "/etc/apparmor.d/procage-lua (user namespaces for this program alone)",
      text = APPARMOR:format(apparmor_path(paths.program() or "/usr/local/bin/procage-lua")),
    }
    steps[2] = { what = "then", text = "sudo apparmor_parser -r /etc/apparmor.d/procage-lua" }
  end
  -- A sysctl is forgotten at the next start unless a file says it.
  local seen = {}
  for _, row in ipairs(report) do
    local setting = row.lift and row.lift:match("sysctl ([%w_.]+=%w+)")
    if setting and not seen[setting] and not host.container then
      seen[setting] = true
      steps[#steps + 1] = {
        what = "for good, " .. setting,
        text = ("echo '%s' | sudo tee /etc/sysctl.d/60-procage.conf && sudo sysctl --system"):format(setting),
      }
    end
  end
  return steps
end

---@param missing procage.doctor.Missing[]
---@param steps procage.doctor.Step[]
---@return string[]
function M.lines(missing, steps)
  if #missing == 0 then
    return { "", "Nothing is missing here." }
  end
  local lines = { "", "Missing here, and what would lift it:" }
  for _, row in ipairs(missing) do
    lines[#lines + 1] = "  " .. row.lift
    lines[#lines + 1] = "      for " .. table.concat(row.clauses, ", ")
    local seen = {}
    for _, effect in ipairs(row.effects) do
      if not seen[effect] then
        lines[#lines + 1] = "      " .. effect
      end
      seen[effect] = true
    end
  end
  for _, step in ipairs(steps) do
    lines[#lines + 1] = ""
    lines[#lines + 1] = step.what .. ":"
    for line in (step.text .. "\n"):gmatch("(.-)\n") do
      lines[#lines + 1] = line == "" and "" or "  " .. line
    end
  end
  return lines
end

return M
