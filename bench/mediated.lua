--- What a call costs that a supervisor judges and a broker performs, against the same call without: connects to Unix sockets
--- and to TCP servers of the run's own, and a bind with a listen.
---
---     ./dev bench mediated [--json] [--rounds N] [--seconds N]

local core = require("procage.core")
local home = require("bench.home")
local options = require("bench.options")
local procage = require("procage")
local stats = require("bench.stats")

local CALLS = 100

--- The call as a run under some policy makes it; the program measures itself.
---@return bench.Case
local function case(name, what, policy, message)
  if not policy then
    return { name = name, missing = message }
  end
  return {
    name = name,
    time = function()
      local outcome, why = policy:run({ "./calls", what, tostring(CALLS) })
      local took = outcome and math.tointeger(tonumber(outcome.stdout))
      if not took then
        error(("%s: %s"):format(name, why or outcome.stderr), 0)
      end
      return took
    end,
  }
end

--- What mediates, or nil and the reason.
local function only_with(mechanism, clause, policy, message)
  for _, row in ipairs(policy and policy.report or {}) do
    for _, name in ipairs(row.mechanisms) do
      if row.clause == clause and name == mechanism then
        return policy
      end
    end
  end
  return nil, message or ("no " .. mechanism .. " here")
end

local M = {}

---@param words string[]
function M.main(words)
  local chosen = options.parse(words, { rounds = 100, seconds = 30 })
  local build = chosen.build
  local place <close> = home.new(build .. "/bench")
  local variables = options.environment(place.path)
  -- In the workspace: the build directory may lie where the run has its own /tmp.
  assert(os.execute(("cp '%s/bench/calls' '%s/calls'"):format(build, place.project)))

  local function load(name, config, host)
    return procage.policy.load(name, config, { root = place.project, home = place.path, env = variables, host = host })
  end
  local without_netns = core.probe()
  without_netns.netns = false
  local off = assert(load("off", {}))
  local own = load("speccoder", {})
  local shared = { only_with("mediated-loopback", "network", load("speccoder", {}, without_netns)) }
  local whole = { only_with("mediated-loopback", "network", load("speccoder", { loopback = "host" })) }
  local unix = { only_with("mediated-connect", "sockets", own) }
  local cases = {
    case("TCP connects, plain", "inet", off),
    case("TCP connects, network namespace", "inet", only_with("netns", "network", own)),
    case("TCP connects, mediated, the run's own servers", "inet", table.unpack(shared, 1, 2)),
    case("TCP connects, mediated, loopback = host", "inet", table.unpack(whole, 1, 2)),
    case("Unix connects, plain", "unix", off),
    case("Unix connects, mediated", "unix", table.unpack(unix, 1, 2)),
    case("socket, bind, listen, close: plain", "listen", off),
    case("socket, bind, listen, close: mediated", "listen", table.unpack(shared, 1, 2)),
  }
  local rows = stats.interleave(cases, { rounds = chosen.rounds, warm = 2, budget_us = chosen.seconds * 1000000 })
  local facts = stats.facts(assert(own))
  local bases = {
    { label = "plain TCP", row = rows[1] }, { label = "plain Unix", row = rows[5] }, { label = "plain listen", row = rows[7] },
  }
  local head = ("%s\n\nEach figure is for %d calls."):format(stats.head(facts, rows), CALLS)
  stats.publish(chosen, "mediated", head .. "\n\n" .. stats.markdown(rows, bases), stats.json(facts, rows))
end

return M
