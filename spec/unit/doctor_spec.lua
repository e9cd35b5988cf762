local attacks = require("procage.doctor.attacks")
local claims_room = require("procage.doctor.claims")
local fit = require("procage.fit")
local hosts = require("procage.hosts")
local lift = require("procage.doctor.lift")
local policy = require("procage.policy")
local config = require("procage.config")

local HOME = "/home/u/made/home"

---@param host procage.Host
---@param given? table
local function fitted(host, given)
  local context = { home = HOME, workspace = "/home/u/made/workspace", system = "linux", env = {}, uid = 1000 }
  local profile = assert(policy.build_profile("speccoder", assert(config.parse(given or {})), context))
  return fit.fit(profile, host)
end

local function names_of(host, given)
  local profile, report = fitted(host, given)
  local claims = claims_room.new(assert(profile, report), report, HOME)
  local unclaimed = {}
  for _, class in ipairs(attacks.classes) do
    unclaimed[class.name] = class.unclaimed(claims)
  end
  return unclaimed, report
end

describe("doctor", function()
  it("tries whatever a full host claims", function()
    local unclaimed = names_of(hosts.full)
    for _, name in ipairs({ "hidden", "stat", "write", "metadata", "git", "handoff", "network", "sockets", "ipc" }) do
      assert.is_nil(unclaimed[name], name)
    end
    assert.matches("^allowed by the profile", unclaimed.read)
  end)

  it("names the gap of a host instead of trying it", function()
    for name, host in pairs(hosts) do
      if fitted(host) then
        local unclaimed, report = names_of(host)
        local of_clause = { truncate = "truncate", metadata = "metadata", git = "git", handoff = "handoff", stat = "stat",
          handoff_absent = "handoff_absent", left_behind = "process_tree", signals = "signals" }
        for class, clause in pairs(of_clause) do
          for _, row in ipairs(report) do
            if row.clause == clause then
              local is_named = (unclaimed[class] or ""):find(row.id or "?", 1, true) ~= nil
              assert.equal(row.state == "unenforced", is_named, name .. " " .. class)
            end
          end
        end
      end
    end
  end)

  it("does not take what the profile gives for an escape", function()
    assert.matches("network = all", names_of(hosts.full, { network = "all" }).network, 1, true)
    assert.matches("git = write", names_of(hosts.full, { git = "write" }).git, 1, true)
    assert.matches("tmp = shared", names_of(hosts.full, { tmp = "shared" }).tmp, 1, true)
  end)

  it("tries everything where nothing is confined", function()
    local unclaimed = names_of(hosts.full, { mode = "off" })
    -- build_profile leaves the mode to the runner.
    assert.is_nil(unclaimed.write)
    local profile, report = fitted(hosts.full)
    profile.unconfined = "mode = off"
    local claims = claims_room.new(profile, report, HOME)
    for _, class in ipairs(attacks.classes) do
      local reason = class.unclaimed(claims)
      assert.is_true(reason == nil or class.name == "hidden_inside", class.name)
    end
  end)
end)

describe("what lifts it", function()
  it("is an AppArmor profile for this program where AppArmor keeps namespaces from it", function()
    local _, report = fitted(hosts.ubuntu_apparmor)
    local steps = lift.steps(hosts.ubuntu_apparmor, report)
    assert.matches("/etc/apparmor.d/procage-lua", steps[1].what, 1, true)
    assert.matches("flags=(unconfined) {\n  userns,", steps[1].text, 1, true)
    assert.matches('profile procage-lua "/', steps[1].text, 1, true)
    assert.matches("apparmor_parser", steps[2].text, 1, true)
    assert.matches("kernel.apparmor_restrict_unprivileged_userns=0", steps[3].text, 1, true)
    assert.same({}, lift.steps(hosts.full, (select(2, fitted(hosts.full)))))
  end)

  it("is a sysctl for good, but not from inside a container", function()
    local _, report = fitted(hosts.rhel_no_userns)
    assert.matches("user.max_user_namespaces=15000", lift.steps(hosts.rhel_no_userns, report)[1].text, 1, true)
    _, report = fitted(hosts.docker)
    assert.same({}, lift.steps(hosts.docker, report))
    assert.matches("docker run", table.concat(lift.lines(lift.missing(report), {}), "\n"), 1, true)
  end)

  it("groups the rows that one lift would close", function()
    local _, report = fitted(hosts.docker)
    local seen = {}
    for _, row in ipairs(lift.missing(report)) do
      assert.is_nil(seen[row.lift])
      seen[row.lift] = true
    end
    assert.matches("Nothing is missing here.", table.concat(lift.lines({}, {}), ""), 1, true)
  end)
end)
