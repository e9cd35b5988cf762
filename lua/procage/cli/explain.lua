--- procage-lua explain: what a policy comes to on this machine, or on another one that was probed or written down.

local answers = require("procage.answers")
local declared = require("procage.declared")
local hosts = require("procage.host")
local path_text = require("procage.path")
local policy_room = require("procage.policy")
local procage = require("procage")
local reports = require("procage.report")
local setup = require("procage.cli.setup")
local shipped = require("procage.shipped")
local writer = require("procage.writer")

---@return procage.Host? host
---@return string? message
local function host_of(file)
  if not file then
    return procage.probe()
  end
  local handle, message = io.open(file, "r")
  if not handle then
    return nil, "--host " .. message
  end
  local text = handle:read("a") or ""
  handle:close()
  local host
  host, message = hosts.from_json(text)
  if not host then
    return nil, ("--host %s: %s"):format(file, message)
  end
  return host
end

---@param host procage.Host
---@return string
local function host_line(host)
  local tier = host.userns and host.mountns and "namespaces" or "no namespaces"
  local landlock = host.landlock_abi > 0 and "Landlock ABI " .. host.landlock_abi or "no Landlock"
  return ("%s %s, %s, %s"):format(host.system, host.kernel, landlock, tier)
end

--- The row of an entry that stands for the same name in another home (the account's own, where HOME is another).
local function row_of_tail(entry, rows)
  for _, row in ipairs(rows or {}) do
    local tail = row.path and row.path:match("^~(/.+)$")
    if tail and entry:sub(-#tail) == tail then
      return row
    end
  end
end

--- Lines for entries of the profile that come from a shipped list: the name that --lift takes, and the reason.
---@param entries string[]  the profile's
---@param rows table[]  the list's
---@param name_of fun(row: table): string  the row's name for --lift
---@param entry_of fun(row: table): string  how the profile spells it
---@param reason string  key of the reason
local function add_reasons(lines, entries, rows, name_of, entry_of, reason)
  local by_entry = {}
  for _, row in ipairs(rows or {}) do
    by_entry[entry_of(row)] = row
  end
  for _, entry in ipairs(entries) do
    local row = by_entry[entry]
    local told = row or row_of_tail(entry, rows)
    local note = told and told[reason] or "named by the policy or its configuration"
    if row and row.never_lift then
      note = note .. " (never lifted)"
    end
    lines[#lines + 1] = (("  %-34s %s"):format(row and name_of(row) or entry, note):gsub("%s+$", ""))
  end
end

---@param items string[]
---@return string
local function list(items)
  return #items > 0 and table.concat(items, " ") or "nothing"
end

--- What was asked for, in the Profile's words.
---@param fitted procage.Profile
---@param config procage.Config
---@return string[] lines
local function profile_lines(fitted, config)
  local network = fitted.network
  if type(network) == "table" then
    network = "TCP connections to port " .. table.concat(network.ports, ", ")
  elseif network == "loopback" and fitted.loopback == "host" then
    network = "loopback, this machine's"
  elseif network == "loopback" and fitted.loopback == "policy" then
    network = "loopback, common to the runs of this policy"
  end
  local rows = {
    { "workspace", fitted.workspace },
    { "read", type(fitted.read) == "table" and list(fitted.read) or "everything that is not hidden" },
    { "write", list(fitted.write) },
    { "git", fitted.git },
    { "network", network },
    { "lifted", list(fitted.lift) },
  }
  local allowed = {}
  for _, entry in ipairs(config.network_allow) do
    allowed[#allowed + 1] = table.concat(entry, " ")
  end
  for _, entry in ipairs(config.network_allow_prefix) do
    allowed[#allowed + 1] = table.concat(entry, " ") .. " ..."
  end
  if #allowed > 0 then
    table.insert(rows, 6, { "all of it", "for: " .. table.concat(allowed, "; ") })
  end
  local lines = {}
  for i, row in ipairs(rows) do
    lines[i] = ("  %-10s %s"):format(row[1], row[2] or "none")
  end
  return lines
end

---@param fitted procage.Profile
---@param home string
---@return string[] lines
local function list_lines(fitted, home)
  local lists, lines = shipped.lists(), {}
  lines[#lines + 1] = "Hidden: no data, no listing (--lift NAME re-opens one)"
  add_reasons(lines, fitted.hidden, lists.hidden, function(row)
    return row.path
  end, function(row)
    return path_text.expand_home(row.path, home)
  end, "reason")
  lines[#lines + 1] = ""
  lines[#lines + 1] = "Hand-off files: not written by the command, for someone else would run them (--lift NAME)"
  add_reasons(lines, fitted.handoff, lists.handoff, function(row)
    return row.name
  end, function(row)
    return row.name
  end, "runs")
  lines[#lines + 1] = ""
  if #fitted.ignored > 0 then
    lines[#lines + 1] = "Files that read as empty where git ignores them (--lift NAME)"
    add_reasons(lines, fitted.ignored, lists.ignored, function(row)
      return row.pattern
    end, function(row)
      return row.pattern
    end, "reason")
    lines[#lines + 1] = ""
  end
  lines[#lines + 1] = "Variables that are dropped (--env NAME=VALUE sets one)"
  add_reasons(lines, fitted.env.drop, lists.env_drop, function(row)
    return row.pattern
  end, function(row)
    return row.pattern
  end, "reason")
  return lines
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local chosen = request.options
  local function fail(status, message)
    writer.refusal(writer.err, "procage-lua: ", message)
    return status
  end

  local made, message, status = setup.load(chosen)
  if not made then
    return fail(status, message)
  end
  for _, notice in ipairs(made.notices) do
    writer.err(notice)
  end
  local host
  host, message = host_of(chosen.host_file)
  if not host then
    return fail(2, message)
  end
  local rows, fitted = made.policy:explain(host)
  if not rows then
    return fail(126, fitted)
  end

  -- Gaps that the policy does not tolerate: then `run` says this and does not run.
  local _, refusal = policy_room.admit(rows, fitted.accept, made.policy.mode)

  if chosen.json then
    io.stdout:write(answers.of_policy(made.policy, host, fitted, rows, refusal), "\n")
    return 0
  end
  local lines = { ("Policy %s on %s"):format(made.policy.name, host_line(host)), "" }
  local function add(more)
    table.move(more, 1, #more, #lines + 1, lines)
    lines[#lines + 1] = ""
  end
  if fitted.unconfined then
    lines[2] = "NOTHING is confined: " .. reports.printable(fitted.unconfined)
    lines[3] = ""
  else
    add(profile_lines(fitted, made.policy.config))
  end
  local source = made.policy.source
  if source and #source.options > 0 then
    lines[#lines] = "Options of the policy (--option NAME=VALUE)"
    add(declared.lines(source.options, source.values))
  end
  add(reports.lines(rows))
  if refusal then
    local told = {}
    writer.refusal(function(line)
      told[#told + 1] = line
    end, "Such a run is refused: ", refusal)
    add(told)
  end
  local more = fitted.unconfined and {} or list_lines(fitted, made.policy.context.home)
  table.move(more, 1, #more, #lines + 1, lines)
  local written, why = io.stdout:write(writer.text(lines))
  if not written or not io.stdout:flush() then
    return fail(125, "output is lost: " .. (why or "cannot be written"))
  end
  return 0
end
