--- procage-lua explain: what a policy comes to on this machine, or on another one that was probed or written down.

local hosts = require("procage.host")
local json = require("procage.json")
local procage = require("procage")
local profiles = require("procage.profile")
local report = require("procage.cli.report")
local setup = require("procage.cli.setup")

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

--- What the profile comes to, field by field, where the report speaks of mechanisms.
---@param fitted procage.Profile
---@return string
local function profile_text(fitted)
  local function list(items)
    return #items > 0 and table.concat(items, " ") or "nothing"
  end
  local network = fitted.network
  if type(network) == "table" then
    network = "TCP connections to port " .. table.concat(network.ports, ", ")
  end
  local rows = {
    { "workspace", fitted.workspace },
    { "read", type(fitted.read) == "table" and list(fitted.read) or "everything that is not hidden" },
    { "write", list(fitted.write) },
    { "caches", ("%s (writable: %s)"):format(list(fitted.caches.trees), fitted.caches.when) },
    { "hidden", list(fitted.hidden) },
    { "hand-off", list(fitted.handoff) },
    { "git", fitted.git },
    { "network", network },
    { "lifted", #fitted.lift > 0 and list(fitted.lift) or nil },
  }
  local lines = {}
  for _, row in ipairs(rows) do
    if row[2] then
      local head = ("  %-15s "):format(row[1])
      lines[#lines + 1] = head .. report.wrap(row[2], report.WIDTH, (" "):rep(#head))
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

---@param request procage.cli.Request
---@return integer status
return function(request)
  local chosen = request.options
  local function fail(status, message)
    io.stderr:write("procage-lua: ", message, "\n")
    return status
  end

  local made, message, status = setup.load(chosen)
  if not made then
    return fail(status, message)
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

  if chosen.json then
    -- The parts write themselves: each knows its own order of keys.
    io.stdout:write(
      ('{"policy":%s,"host":%s,"profile":%s,"report":%s}\n'):format(
        json.encode(chosen.policy or "speccoder", {}),
        hosts.to_json(host),
        profiles.to_json(fitted),
        json.encode(rows, report.SHAPE)
      )
    )
    return 0
  end
  io.stdout:write(("Policy %s on %s\n\n"):format(chosen.policy or "speccoder", host_line(host)))
  io.stdout:write(profile_text(fitted), "\n", report.text(rows))
  return 0
end
