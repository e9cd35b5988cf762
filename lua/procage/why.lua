--- Why a run may do something or may not: what decides, which line of which policy or configuration says so, and the smallest
--- change that would alter it. A change is offered only after the policy was built again with it and asked the same.

local core = require("procage.core")
local disk = require("procage.disk")
local ignored = require("procage.ignored")
local json = require("procage.json")
local model = require("procage.model")
local path = require("procage.path")
local remedy = require("procage.remedy")
local shipped = require("procage.shipped")
local startup = require("procage.startup")

---@class procage.WhyChange
---@field flag string  what is typed
---@field line string  of the configuration

---@class procage.Why
---@field op procage.Operation
---@field target string
---@field path? string  where the target really is, when that is elsewhere
---@field allowed boolean
---@field clause string  `permissions` and `exists` are no clauses of the profile
---@field item? string  the entry of the profile that decides
---@field reason? string  of a row of the shipped lists
---@field note? string
---@field from string[]  what says so: "speccoder.lua:58", "hidden[1] of the configuration"
---@field state? "enforced"|"tightened"|"unenforced"
---@field mechanisms string[]
---@field change? procage.WhyChange
---@field no_change? string  why none is offered

local M = {}

-- ---- What says so -----------------------------------------------------------------------------------------------------------

--- The fields of the profile that a clause is about.
local FIELDS = {
  read = { "read", "write" }, write = { "write", "caches" }, hidden = { "hidden" }, read_only = { "read_only" },
  git = { "git" }, handoff = { "handoff" }, handoff_absent = { "handoff" }, tmp = { "tmp" },
  network = { "network", "loopback" },
  sockets = { "sockets", "write" }, stat = { "hidden" }, ignored = { "ignored" }, off = { "unconfined" },
}

--- Lists of the configuration that policies take entries from.
local CONFIG_LISTS = { "hidden", "writable", "readable", "read_only", "sockets" }

--- Words of the configuration that policies hand on.
local CONFIG_WORDS = { network = true, loopback = true, git = true, tmp = true }

local function add(list, text)
  for _, known in ipairs(list) do
    if known == text then
      return
    end
  end
  list[#list + 1] = text
end

--- An entry as it is spelled, or as it was resolved.
local function is_same(item, wanted)
  return item == wanted
    or type(item) == "string" and path.is_absolute(item) and (path.normalise(item) == wanted or (disk.resolve(item)) == wanted)
end

---@param policy procage.Policy
---@param verdict procage.Verdict
---@return string[]
local function sources(policy, verdict)
  local from, source = {}, policy.source
  for _, key in ipairs(verdict.item and CONFIG_LISTS or {}) do
    for place, item in ipairs(policy.config and policy.config[key] or {}) do
      local is_meant = is_same(path.expand_home(item, policy.context.home), verdict.item)
      if is_meant and not (key == "hidden" and verdict.allowed) then
        local name = ("%s[%d]"):format(key, place)
        add(from, policy.key_source and policy.key_source(name) or name .. " of the configuration")
      end
    end
  end
  local exact, all = {}, {}
  for _, field in ipairs(FIELDS[verdict.clause] or {}) do
    local at = CONFIG_WORDS[field] and policy.key_source and policy.key_source(field)
    if at then
      add(from, at)
    end
    for _, note in ipairs(source and source.notes or {}) do
      if note.field == field and note.at then
        add(all, note.at)
        for _, item in ipairs(verdict.item and note.items or {}) do
          if is_same(item, verdict.item) then
            add(exact, note.at)
          end
        end
      end
    end
  end
  for _, layer in ipairs(source and source.layers or {}) do
    for _, field in ipairs(FIELDS[verdict.clause] or {}) do
      if layer.fields[field] ~= nil then
        add(from, layer.at)
      end
    end
  end
  for _, at in ipairs(#exact > 0 and exact or all) do
    add(from, at)
  end
  if #from == 0 and source and FIELDS[verdict.clause] then
    add(from, source.file .. ", which does not say: the strictest is meant")
  end
  return from
end

-- ---- What would alter it ----------------------------------------------------------------------------------------------------

--- A change as remedy has it, or one entry taken out of a list: { key, index }.
---@class procage.WhyTry
---@field change? table
---@field without? { key: string, index: integer }

local function altered(config, try)
  if try.change then
    return remedy.merged(config, try.change)
  end
  local result = json.plain(config)
  table.remove(result[try.without.key], try.without.index)
  return result
end

--- What the model says under another configuration; nil when there is no such policy.
local function ask_again(policy, try, op, target)
  local profile, context = policy.again(altered(policy.config, try))
  return remedy.judged(policy, profile, context, op, target)
end

--- Too much to be offered for one file: everything, a top directory, the whole home.
local function is_too_wide(name, home)
  return #path.components(name) < 2 or path.is_beneath(home, name)
end

local function place_of(object)
  return object.kind == "absent" and path.parent(object.path) or object.path
end

--- The place to open for writing, and why nobody is offered it.
local function place_to_write(policy, object)
  local place, judge = place_of(object), startup.of(policy)
  local is_wide = is_too_wide(place, policy.context.home)
  return place, judge:reason(object.path) or not is_wide and judge:reason(place) or nil
end

--- Entries of a configuration's list that name the item.
local function without(policy, key, item)
  local tries = {}
  for index, text in ipairs(policy.config[key]) do
    if is_same(path.expand_home(text, policy.context.home), item) then
      tries[#tries + 1] = { without = { key = key, index = index } }
    end
  end
  return tries
end

local function widen_network(policy, op, object)
  local network, tries = policy.config.network, {}
  if network == "none" then
    tries[1] = { change = { network = "loopback" } }
  end
  for _, change in ipairs(remedy.network(network, op == "connect" and object.port or nil)) do
    tries[#tries + 1] = { change = change }
  end
  return tries
end

--- What might allow it, smallest first.
local ALLOW = {
  write = function(policy, _, object)
    local place, why = place_to_write(policy, object)
    if why or is_too_wide(place, policy.context.home) then
      local wide = "all of %s would be opened: make a directory for it alone, which --allow-write then names"
      return {}, why or wide:format(place)
    elseif object.kind == "absent" and not core.stat(place) then
      return {}, ("%s is not there: make it, and --allow-write names it"):format(place)
    end
    return { { change = { writable = { place } } } }
  end,
  read = function(policy, _, object)
    return is_too_wide(object.path, policy.context.home) and {} or { { change = { readable = { object.path } } } }
  end,
  tmp = function(policy, op, object)
    local key = (op == "write" or op == "bind") and "writable" or "readable"
    local place, why = place_of(object), nil
    if key == "writable" then
      place, why = place_to_write(policy, object)
    end
    if why then
      return {}, why
    end
    return #path.components(place) < 2 and {} or { { change = { [key] = { place } } } }
  end,
  hidden = function(policy, _, _, verdict)
    return without(policy, "hidden", verdict.item)
  end,
  read_only = function(policy, _, _, verdict)
    return without(policy, "read_only", verdict.item)
  end,
  git = function()
    local tries = {}
    for i, change in ipairs(remedy.git()) do
      tries[i] = { change = change }
    end
    return tries
  end,
  handoff = function(_, _, _, verdict)
    local tries = verdict.item and { { change = { lift = { verdict.item } } } } or {}
    if verdict.item and verdict.item:lower():find("^%.git/") then
      tries[#tries + 1] = { change = { git = "write" } }
    end
    return tries
  end,
  network = function(policy, op, object)
    return widen_network(policy, op, object)
  end,
  sockets = function(_, _, object)
    return object.path and { { change = { sockets = { object.path } } } } or {}
  end,
}
ALLOW.handoff_absent = ALLOW.handoff

--- What might refuse it.
local function refusals(op, object)
  if object.kind == "inet" then
    return { { change = { network = "none" } } }
  elseif not object.path or op == "connect" then
    return {}
  elseif op == "write" or op == "bind" then
    return object.kind == "absent" and {} or { { change = { read_only = { object.path } } } }
  end
  return { { change = { hidden = { object.path } } } }
end

--- How a person makes the change.
local function spell(try)
  if try.without then
    local text = ("take entry %d out of %s"):format(try.without.index, try.without.key)
    return { flag = text, line = text }
  end
  local flag, line = remedy.spell(try.change)
  return { flag = flag, line = line }
end

---@param answer procage.Why
local function find_change(policy, answer, op, target, object, verdict)
  if not policy.again then
    answer.no_change = "the profile was given, not made by a policy"
    return
  end
  local tries, closed
  if verdict.allowed then
    tries = refusals(op, object)
  else
    local of = ALLOW[verdict.clause]
    if of then
      tries, closed = of(policy, op, object, verdict)
    end
    tries = tries or {}
  end
  for _, try in ipairs(tries) do
    if ask_again(policy, try, op, target) == not verdict.allowed then
      answer.change = spell(try)
      return
    end
  end
  if closed then
    answer.no_change = closed
  elseif not verdict.allowed and verdict.clause == "hidden" and not answer.reason then
    answer.no_change = "it is hidden by what says so above: it opens where that is taken out"
  elseif not verdict.allowed and (verdict.clause == "hidden" or verdict.clause == "ignored") then
    answer.no_change = "it is hidden: credentials are never offered"
  elseif not verdict.allowed and (verdict.clause == "permissions" or verdict.clause == "exists") then
    answer.no_change = "no policy has a say in it"
  else
    answer.no_change = "no single change was found that would"
  end
end

-- ---- Answers ----------------------------------------------------------------------------------------------------------------

--- By which pattern of the list a file that git ignores reads as empty, and why it is there.
local function ignored_reason(policy, verdict)
  local pattern = ignored.pattern_of(path.basename(verdict.item), policy.fitted.ignored)
  local lists, file = shipped.lists()
  local row = pattern and shipped.ignored_row(lists, pattern)
  return pattern and (row and ("%s, %s"):format(pattern, row.reason) or pattern), row and file
end

--- Why a hidden path or a hand-off name is on its list.
local function list_reason(policy, verdict)
  if verdict.item and verdict.clause == "ignored" then
    return ignored_reason(policy, verdict)
  elseif not verdict.item or verdict.allowed then
    return nil
  elseif verdict.clause == "hidden" then
    local lists, file = shipped.lists()
    local row = shipped.hidden_row(lists, verdict.item, policy.context.home)
    return row and row.reason, row and file
  elseif verdict.clause == "handoff" or verdict.clause == "handoff_absent" then
    local lists, file = shipped.lists()
    local row = shipped.handoff_row(lists, verdict.item)
    return row and "others run it: " .. row.runs, row and file
  end
end

--- A path as a person writes it: `~` is the policy's home, and the rest lies in its workspace.
local function absolute(policy, op, target)
  local is_path = op == "read" or op == "write" or op == "exec" or target:find("^[~./]") ~= nil
  if not is_path or target == "" then
    return target
  end
  return path.join(policy.profile.workspace, path.expand_home(target, policy.context.home))
end

---@param policy procage.Policy
---@param op procage.Operation
---@param target string  a path, from the workspace; for connect and bind also @NAME, PORT, ADDRESS:PORT
---@return procage.Why? answer
---@return string? message
function M.ask(policy, op, target)
  local view, message = policy:view()
  if not view then
    return nil, message
  end
  target = absolute(policy, op, target)
  local object
  object, message = model.object(view, op, target)
  if not object then
    return nil, message
  end
  local verdict = model.judge(view, op, object)
  local answer = {
    op = op,
    target = target,
    path = object.path ~= target and object.path or nil,
    allowed = verdict.allowed,
    clause = verdict.clause,
    item = verdict.item,
    note = verdict.note,
    from = sources(policy, verdict),
    mechanisms = {},
  }
  local file
  answer.reason, file = list_reason(policy, verdict)
  if file then
    table.insert(answer.from, file)
  end
  for _, row in ipairs(policy.report) do
    if row.clause == verdict.clause then
      answer.state, answer.mechanisms = row.state, row.mechanisms
    end
  end
  find_change(policy, answer, op, target, object, verdict)
  return answer
end

--- For people.
---@param answer procage.Why
---@return string[] lines
function M.lines(answer)
  local lines = { ("%s %s: %s"):format(answer.op, answer.target, answer.allowed and "allowed" or "not allowed") }
  local function row(name, text)
    lines[#lines + 1] = ("  %-9s %s"):format(name, text)
  end
  if answer.path then
    row("which is", answer.path)
  end
  local what = answer.item and answer.item ~= answer.path and answer.item ~= answer.target and ": " .. answer.item or ""
  row("clause", answer.clause .. what .. (answer.reason and (" (%s)"):format(answer.reason) or ""))
  if answer.note then
    row("", answer.note)
  end
  for i, text in ipairs(answer.from) do
    row(i == 1 and "from" or "", text)
  end
  if answer.state then
    row("held by", #answer.mechanisms > 0 and table.concat(answer.mechanisms, ", ") .. ": " .. answer.state or answer.state)
  end
  local alter = answer.allowed and "to refuse" or "to allow"
  row(alter, answer.change and answer.change.flag or "nothing is offered: " .. answer.no_change)
  return lines
end

return M
