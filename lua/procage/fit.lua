--- What of a profile a host can hold: a fitted profile and a report. Pure: no clock, no file, no environment.
---
--- An alternative (clauses.lua) is a set of mechanisms that must all hold; the first whose needs the host meets is taken. A
--- mechanism marked `also` is a second lock: added where the host has it, its absence stated.

local clauses = require("procage.clauses")
local host_facts = require("procage.host")
local lists = require("procage.list")
local mechanisms = require("procage.mechanisms")
local path = require("procage.path")
local profiles = require("procage.profile")

---@class procage.Row
---@field clause string
---@field state "enforced"|"tightened"|"unenforced"
---@field mechanisms string[]
---@field id? string  the gap, or what was tightened
---@field reason? string
---@field effect? string  what it means for the user
---@field lift? string  what would lift it on this host
---@field guard? string  what is done in its place
---@field by? string  file:line of the operator's fit.register that it rests on

local M = {}

--- EOPNOTSUPP: the code of every refusal for want of mechanisms.
M.UNAVAILABLE = 95

--- The clauses, in the order of the report.
M.clauses = clauses

--- The first fact that a set of mechanisms lacks on this host.
---@param names string[]
---@param extra? procage.Need[]
---@param host procage.Host
---@return string? fact
---@return integer? floor
local function lacking(names, extra, host)
  for _, name in ipairs(names) do
    local fact, floor = host_facts.lacks(host, mechanisms.by_name[name].needs)
    if fact then
      return fact, floor
    end
  end
  return host_facts.lacks(host, extra or {})
end

---@param alternatives procage.Alternative[]
---@param host procage.Host
---@return procage.Alternative? chosen
---@return integer? place
local function choose(alternatives, host)
  for place, alternative in ipairs(alternatives) do
    if not lacking(alternative.all, alternative.needs, host) then
      return alternative, place
    end
  end
  return nil
end

--- The second locks that the host has, and what the absence of the others means.
---@param also procage.Also[]
---@param host procage.Host
---@return string[] names
---@return string[] notes
---@return string? lift  of the first that is absent
local function second_locks(also, host)
  local names, notes, lift = {}, {}, nil
  for _, entry in ipairs(also) do
    local fact, floor = lacking({ entry[1] }, nil, host)
    if not fact then
      names[#names + 1] = entry[1]
    else
      local _, cure = host_facts.explain_missing(fact, host, floor)
      lift = lift or cure
      notes[#notes + 1] = entry.without or ("one lock only, without " .. entry[1])
    end
  end
  return names, notes, lift
end

---@param alternative procage.Alternative
---@return "enforced"|"tightened"|"unenforced"
local function state_of(alternative)
  return alternative.gap and "unenforced" or alternative.tightened and "tightened" or "enforced"
end

--- Why the best alternative was not taken, and its cure here.
---@param row procage.Row
---@param alternatives procage.Alternative[]
---@param place integer
---@param host procage.Host
local function explain_choice(row, alternatives, place, host)
  local fact, floor = lacking(alternatives[1].all, alternatives[1].needs, host)
  if place == 1 or not fact then
    return
  end
  local reason, lift = host_facts.explain_missing(fact, host, floor)
  local is_worse = row.state ~= "enforced" or alternatives[place].effect ~= nil
  if is_worse then
    row.reason, row.lift = row.reason or reason, row.lift or lift
  end
end

--- An operator's alternatives come after those of ours that hold the clause, and before those that leave it open.
---@param clause string
---@param alternatives procage.Alternative[]
---@param extensions procage.Extension[]
---@return procage.Alternative[]
local function extended(clause, alternatives, extensions)
  local list, place = nil, #alternatives + 1
  for i = #alternatives, 1, -1 do
    place = alternatives[i].gap and i or place
  end
  for _, extension in ipairs(extensions) do
    if extension.clause == clause and not extension.is_also then
      list = list or table.move(alternatives, 1, #alternatives, 1, {})
      table.insert(list, place, {
        all = extension.all,
        needs = extension.needs,
        tightened = true,
        id = clause,
        effect = extension.effect,
        lift = extension.lift,
        by = extension.by,
        calls = extension.calls,
      })
      place = place + 1
    end
  end
  return list or alternatives
end

--- Both lists, sorted, each entry once.
local function with(list, more)
  local all = lists.joined(list, more)
  table.sort(all)
  return all
end

--- An operator's second locks, as far as the host has what they need.
---@param row procage.Row
---@param calls string[]  added to
local function add_locks(row, extensions, host, calls)
  for _, extension in ipairs(extensions) do
    if extension.clause == row.clause and extension.is_also and not lacking(extension.all, extension.needs, host) then
      row.mechanisms = with(row.mechanisms, extension.all)
      table.move(extension.calls, 1, #extension.calls, #calls + 1, calls)
      row.by = row.by and row.by .. ", " .. extension.by or extension.by
      if extension.effect then
        row.effect = row.effect and row.effect .. "; " .. extension.effect or extension.effect
      end
    end
  end
end

---@param clause string
---@param alternatives procage.Alternative[]
---@param host procage.Host
---@param extensions procage.Extension[]
---@param calls string[]  those that operators refuse; added to
---@return procage.Row
local function row_of(clause, alternatives, host, extensions, calls)
  alternatives = extended(clause, alternatives, extensions)
  local chosen, place = choose(alternatives, host)
  assert(chosen, clause .. ": no alternative holds, and the host was not refused")
  local names, notes, lift = second_locks(chosen.also or {}, host)
  table.move(chosen.all, 1, #chosen.all, #names + 1, names)
  table.sort(names)
  if chosen.effect then
    table.insert(notes, 1, chosen.effect)
  end
  local row = {
    clause = clause,
    state = state_of(chosen),
    mechanisms = names,
    id = chosen.gap or chosen.id,
    reason = chosen.reason,
    effect = #notes > 0 and table.concat(notes, "; ") or nil,
    lift = chosen.lift,
    -- What is looked after when the run is over takes somebody who is there then.
    guard = host[host_facts.SUPERVISOR] ~= false and chosen.guard or nil,
    by = chosen.by,
  }
  table.move(chosen.calls or {}, 1, #(chosen.calls or {}), #calls + 1, calls)
  add_locks(row, extensions, host, calls)
  explain_choice(row, alternatives, place, host)
  row.lift = row.lift or lift
  return row
end

--- Why no run can be confined here, or nil.
---@param host procage.Host
---@return string? message
local function refusal(host)
  if not host.seccomp_filter then
    local reason, lift = host_facts.explain_missing("seccomp_filter", host)
    return ("SANDBOX-UNAVAILABLE: %s; lift: %s"):format(reason, lift)
  end
  local no_landlock = lacking({ "landlock-fs" }, nil, host)
  local no_mounts = lacking({ "mount-tree" }, nil, host)
  if not (no_landlock and no_mounts) then
    return nil
  end
  local landlock, landlock_lift = host_facts.explain_missing(no_landlock, host, 1)
  local mounts, mounts_lift = host_facts.explain_missing(no_mounts, host)
  if landlock == mounts then
    return ("SANDBOX-UNAVAILABLE: %s; lift: %s"):format(landlock, landlock_lift)
  end
  return ("SANDBOX-UNAVAILABLE: %s, and %s; lift: %s, or %s"):format(landlock, mounts, landlock_lift, mounts_lift)
end

--- Which row shows a lift: a path was hidden, a name in capitals was a variable, any other name was a hand-off file, and
--- any other pattern one of ignored files.
---@param item string
---@return string clause
local function lifted_clause(item)
  if path.is_absolute(item) then
    return "hidden"
  end
  if item:find("^[%u%d_*?]+$") then
    return "env"
  end
  return item:find("[*?]") and "ignored" or "handoff"
end

---@param report procage.Row[]
---@param lifted string[]
local function show_lifts(report, lifted)
  for _, row in ipairs(report) do
    for _, item in ipairs(lifted) do
      if lifted_clause(item) == row.clause then
        local note = "lifted by the operator: " .. item
        row.effect = row.effect and (row.effect .. "; " .. note) or note
      end
    end
  end
end

---@param report procage.Row[]
---@return string[] mechanisms  sorted, once each
---@return string[] unenforced  gap ids in the order of the report, once each
local function collect(report)
  local names, ids, seen = {}, {}, {}
  for _, row in ipairs(report) do
    for _, name in ipairs(row.mechanisms) do
      names[#names + 1] = not seen[name] and name or nil
      seen[name] = true
    end
    -- Ids and mechanisms share no name: "limits" is a gap, "rlimits" a mechanism.
    if row.state == "unenforced" and not seen[row.id] then
      ids[#ids + 1], seen[row.id] = row.id, true
    end
  end
  table.sort(names)
  return names, ids
end

---@param profile procage.Profile
---@return procage.Profile fitted
---@return procage.Row[] report
local function fit_off(profile)
  local report = {}
  for i, entry in ipairs(clauses) do
    report[i] = {
      clause = entry.clause,
      state = "unenforced",
      mechanisms = {},
      id = "off",
      reason = profile.unconfined,
      effect = "not confined",
      lift = "another policy",
    }
  end
  profile.unenforced, profile.mechanisms = { "off" }, {}
  return profile, report
end

--- What the run really gets: a clause that was tightened is asked for as it is held, so that whoever reads the fitted
--- profile (the plan, the helper) builds the same confinement without knowing the host.
---@param fitted procage.Profile
---@param report procage.Row[]
local function tighten(fitted, report)
  for _, row in ipairs(report) do
    -- A loopback for TCP alone is a loopback; the plan knows by the mechanism.
    local is_closed = not table.concat(row.mechanisms, " "):find("mediated-loopback", 1, true)
    if row.clause == "network" and row.state == "tightened" and is_closed then
      fitted.network = "none"
    end
    if row.clause == "network" and row.state == "tightened" and fitted.loopback == "policy" then
      fitted.loopback = "run"
    end
  end
end

---@param profile procage.Profile|procage.Builder  valid
---@param host procage.Host  valid; facts that it does not state it has not
---@param options? { is_checked?: boolean, supervisor?: boolean, extensions?: procage.Extension[] }  is_checked: both come from
--- a caller that has just validated them; supervisor = false: for a process that confines itself; extensions: what operators
--- have registered
---@return procage.Profile? fitted  with `mechanisms` and `unenforced`
---@return procage.Row[]|string report  each clause exactly once; or why nothing can be confined
---@return integer? code
function M.fit(profile, host, options)
  if not (options and options.is_checked) then
    local ok, why = profiles.validate(profile)
    if not ok then
      error("profile: " .. why, 2)
    end
    ok, why = host_facts.validate(host)
    if not ok then
      error("host: " .. why, 2)
    end
  end
  local fitted, facts = profiles.plain(profile), host_facts.complete(host)
  if options and options.supervisor == false then
    facts[host_facts.SUPERVISOR] = false
  end
  if fitted.unconfined then
    return fit_off(fitted)
  end
  local message = refusal(facts)
  if message then
    return nil, message, M.UNAVAILABLE
  end
  local report, calls = {}, fitted.refuse_calls or {}
  for i, entry in ipairs(clauses) do
    report[i] = row_of(entry.clause, entry.alternatives(fitted), facts, options and options.extensions or {}, calls)
  end
  fitted.refuse_calls = #calls > 0 and with(calls, {}) or nil
  show_lifts(report, fitted.lift)
  fitted.mechanisms, fitted.unenforced = collect(report)
  -- No row chooses it: without the filter of refused calls nothing runs at all.
  fitted.mechanisms = with(fitted.mechanisms, { "seccomp-calls" })
  tighten(fitted, report)
  return fitted, report
end

return M
