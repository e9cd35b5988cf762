local fit = require("procage.fit")
local hosts = require("spec.support.hosts")
local hosts_room = require("procage.host")
local mechanisms = require("procage.mechanisms")
local profile = require("procage.profile")

local CLAUSES = {
  "read", "write", "truncate", "metadata", "device_ioctl", "hidden", "stat", "read_only", "ignored", "git", "handoff",
  "handoff_absent", "tmp", "network", "sockets", "abstract", "env", "signals", "ipc", "process_tree", "limits",
}

--- A profile that asks something of every clause, with these fields changed.
local function wanting(fields)
  local t = {
    workspace = "/w",
    read = "all",
    write = { "/w" },
    hidden = { "/h/.ssh" },
    read_only = { "/w/vendor" },
    handoff = { ".envrc" },
    network = "loopback",
    limits = { timeout_ms = 1, file_bytes = 1, processes = 1 },
  }
  for key, value in pairs(fields or {}) do
    t[key] = value
  end
  return profile.plain(t)
end

local wishes = {
  wanting(),
  wanting({ network = "none" }),
  wanting({ network = "all" }),
  wanting({ network = { ports = { 443 } } }),
  wanting({ loopback = "host" }),
  wanting({ loopback = "policy" }),
  wanting({ read = { "/usr" } }),
  wanting({ hidden = { "/w/.env" } }),
  wanting({ ignored = { ".env" } }),
  wanting({ hidden = {}, read_only = {}, handoff = {}, limits = {} }),
  wanting({ git = "write", tmp = "shared" }),
  wanting({ write = {}, workspace = "/w" }),
  wanting({ limits = { memory_bytes = 1 } }),
  wanting({ limits = { memory_bytes = 1, processes = 1, open_files = 1, grace_ms = 1 } }),
}

---@return table<string, procage.Row>
local function rows(want, host)
  local fitted, report = fit.fit(want, host)
  assert.is_table(fitted, report)
  local by_clause = {}
  for _, row in ipairs(report) do
    by_clause[row.clause] = row
  end
  return by_clause, fitted
end

describe("fit", function()
  it("reports each clause exactly once, in one order, on every host that can confine", function()
    for name, host in pairs(hosts) do
      for _, want in ipairs(wishes) do
        local fitted, report = fit.fit(want, host)
        if fitted then
          local clauses = {}
          for i, row in ipairs(report) do
            clauses[i] = row.clause
          end
          assert.same(CLAUSES, clauses, name)
        end
      end
    end
  end)

  it("names reason, effect and lift of everything that it does not enforce", function()
    for name, host in pairs(hosts) do
      for _, want in ipairs(wishes) do
        local fitted, report = fit.fit(want, host)
        for _, row in ipairs(fitted and report or {}) do
          if row.state ~= "enforced" then
            local at = name .. " " .. row.clause
            assert.is_string(row.reason, at)
            assert.is_string(row.effect, at)
            assert.is_string(row.lift, at)
            assert.is_true(row.state == "tightened" or row.id ~= nil, at)
          end
        end
      end
    end
  end)

  it("gives a row without mechanisms a reason", function()
    for _, want in ipairs(wishes) do
      for _, row in pairs((rows(want, hosts.full))) do
        assert.is_true(#row.mechanisms > 0 or row.reason ~= nil, row.clause)
      end
    end
  end)

  it("uses a mechanism only for a clause that it covers, and only where the host has it", function()
    local lacks = require("procage.host").lacks
    for name, host in pairs(hosts) do
      for _, want in ipairs(wishes) do
        local fitted, report = fit.fit(want, host)
        for _, row in ipairs(fitted and report or {}) do
          for _, used in ipairs(row.mechanisms) do
            local mechanism = mechanisms.by_name[used]
            assert.is_string(mechanism.covers[row.clause], used .. " for " .. row.clause)
            assert.is_nil(lacks(host, mechanism.needs), used .. " on " .. name)
          end
        end
      end
    end
  end)

  it("lists the mechanisms of all rows once, sorted, with the filter that is always there", function()
    local _, fitted = rows(wanting(), hosts.docker)
    assert.same({
      "environment", "landlock-fs", "landlock-scope-abstract", "landlock-scope-signal", "library", "mediated-connect",
      "mediated-loopback", "private-tmp", "reaper", "rlimits", "seccomp-calls", "seccomp-families", "seccomp-peers",
      "seccomp-sysv",
    }, fitted.mechanisms)
  end)

  it("lists gap ids once", function()
    local _, fitted = rows(wanting(), hosts.gvisor)
    assert.same({
      "truncate", "metadata", "device_ioctl", "stat", "carve", "trust_handoff", "signal_scope", "process_tree",
      "limits",
    }, fitted.unenforced)
  end)

  it("changes neither profile nor host", function()
    local want, host = wanting(), require("procage.host").complete(hosts.gvisor)
    local before = profile.to_json(want)
    fit.fit(want, host)
    assert.equal(before, profile.to_json(want))
    assert.same(hosts.gvisor, host)
  end)

  it("gives a fitted profile that is a valid profile, also through JSON", function()
    local _, fitted = rows(wanting(), hosts.docker)
    assert.is_true(profile.validate(fitted))
    assert.same(fitted, profile.from_json(profile.to_json(fitted)))
  end)

  it("takes a builder, and a host written in one line", function()
    local p = profile.new()
    p:allow_read("/")
    assert.is_table((fit.fit(p, { landlock_abi = 1, seccomp_filter = true })))
  end)

  it("raises on a profile or a host that is none", function()
    assert.has_error(function()
      fit.fit({ reed = "all" }, hosts.full)
    end, "profile: reed: unknown field (did you mean read?)")
    assert.has_error(function()
      fit.fit(wanting(), { userns = "yes" })
    end, 'host: userns: expected true or false, got "yes"')
  end)
end)

describe("fit refuses", function()
  for _, name in ipairs({ "no_landlock_no_userns", "no_seccomp", "macos" }) do
    it("on " .. name .. ", and says why and what would lift it", function()
      local fitted, message, code = fit.fit(wanting(), hosts[name])
      assert.is_nil(fitted)
      assert.matches("^SANDBOX%-UNAVAILABLE: .+; lift: .+", message)
      assert.equal(fit.UNAVAILABLE, code)
    end)
  end

  it("a host without any fact", function()
    assert.is_nil((fit.fit(wanting(), {})))
  end)
end)

describe("a better host", function()
  local RANK = { enforced = 3, tightened = 2, unenforced = 1 }
  local FLAGS = { "userns", "mountns", "netns", "netns_join", "ipcns", "pidns", "seccomp_filter", "seccomp_notify" }
  local TOP_ABI = 12

  ---@return procage.Host
  local function host_of(abi, bits, has_diag)
    local host = { landlock_abi = abi, tcp_diag = has_diag ~= false }
    for i, flag in ipairs(FLAGS) do
      host[flag] = bits & (1 << (i - 1)) ~= 0
    end
    return host
  end

  --- clause -> rank; 0 for all where nothing can be confined.
  local function ranks(want, abi, bits, has_diag)
    local fitted, report = fit.fit(want, host_of(abi, bits, has_diag))
    local result = {}
    for i, clause in ipairs(CLAUSES) do
      result[i] = fitted and assert(RANK[report[i].state], clause) or 0
    end
    return result
  end

  local function assert_no_worse(worse, better, where)
    for i, clause in ipairs(CLAUSES) do
      if better[i] < worse[i] then
        error(("%s: %s falls from %d to %d"):format(where, clause, worse[i], better[i]))
      end
    end
  end

  it("never enforces less for telling who listens", function()
    for number, want in ipairs(wishes) do
      for _, abi in ipairs({ 0, 6, 9 }) do
        for bits = 0, (1 << #FLAGS) - 1 do
          local where = ("wish %d abi %d bits %x + tcp_diag"):format(number, abi, bits)
          assert_no_worse(ranks(want, abi, bits, false), ranks(want, abi, bits, true), where)
        end
      end
    end
  end)

  -- Each host against those with one fact more: every other pair follows from a chain of such steps.
  for number, want in ipairs(wishes) do
    it(("never enforces less of wish %d"):format(number), function()
      local table_of = {}
      for abi = 0, TOP_ABI do
        for bits = 0, (1 << #FLAGS) - 1 do
          table_of[abi << #FLAGS | bits] = ranks(want, abi, bits)
        end
      end
      for abi = 0, TOP_ABI do
        for bits = 0, (1 << #FLAGS) - 1 do
          local here = table_of[abi << #FLAGS | bits]
          local where = ("abi %d bits %x"):format(abi, bits)
          for i = 0, #FLAGS - 1 do
            assert_no_worse(here, table_of[abi << #FLAGS | bits | 1 << i], where .. " + " .. FLAGS[i + 1])
          end
          if abi < TOP_ABI then
            assert_no_worse(here, table_of[(abi + 1) << #FLAGS | bits], where .. " + abi")
          end
        end
      end
    end)
  end
end)

describe("the clause", function()
  --- clause, host, fields, state, id, mechanisms
  local cases = {
    { "read", "full", {}, "enforced", nil, "landlock-fs mount-tree" },
    { "read", "docker", {}, "enforced", nil, "landlock-fs" },
    { "read", "kernel_5_10", {}, "enforced", nil, "mask mount-tree" },
    { "read", "kernel_5_10", { read = { "/usr" } }, "unenforced", "read", "" },
    { "read", "gvisor", { read = { "/usr" } }, "enforced", nil, "landlock-fs" },
    { "write", "full", {}, "enforced", nil, "landlock-fs mount-tree" },
    { "write", "kernel_5_10", {}, "enforced", nil, "mount-tree" },
    { "truncate", "full", {}, "enforced", nil, "landlock-fs mount-tree" },
    { "truncate", "debian12", {}, "enforced", nil, "mount-tree" },
    { "truncate", "debian_no_userns", {}, "unenforced", "truncate", "" },
    { "metadata", "debian12", {}, "enforced", nil, "mount-tree" },
    { "metadata", "docker", {}, "unenforced", "metadata", "" },
    { "device_ioctl", "docker", {}, "enforced", nil, "landlock-fs" },
    { "device_ioctl", "ubuntu_apparmor", {}, "unenforced", "device_ioctl", "" },
    { "hidden", "full", {}, "enforced", nil, "landlock-fs mask" },
    { "hidden", "docker", {}, "enforced", nil, "landlock-fs" },
    { "hidden", "kernel_5_10", {}, "unenforced", "replace", "mask" },
    { "hidden", "full", { hidden = { "/w/.env" } }, "unenforced", "replace", "landlock-fs mask" },
    { "hidden", "docker", { hidden = { "/w/.env" } }, "unenforced", "carve", "landlock-fs" },
    { "hidden", "full", { hidden = {} }, "enforced", nil, "" },
    { "stat", "full", {}, "enforced", nil, "mask" },
    { "stat", "docker", {}, "unenforced", "stat", "" },
    { "read_only", "full", {}, "enforced", nil, "bind-read-only" },
    { "read_only", "docker", {}, "unenforced", "carve", "" },
    { "read_only", "docker", { read_only = { "/elsewhere" } }, "enforced", nil, "" },
    { "read_only", "docker", { read_only = {}, hidden = { "/w/.env" } }, "unenforced", "carve", "" },
    { "read_only", "docker", { read_only = { "/c/x" }, caches = { trees = { "/c" } } }, "unenforced", "carve", "" },
    { "ignored", "full", { ignored = { ".env" } }, "unenforced", "replace", "mask" },
    { "ignored", "docker", { ignored = { ".env" } }, "unenforced", "carve", "" },
    { "ignored", "docker", {}, "enforced", nil, "" },
    { "git", "full", {}, "enforced", nil, "bind-read-only" },
    { "git", "docker", { git = "commit" }, "unenforced", "carve", "" },
    { "git", "docker", { git = "write" }, "enforced", nil, "" },
    { "git", "docker", { write = { "/other" } }, "enforced", nil, "" },
    { "handoff", "full", {}, "enforced", nil, "bind-read-only" },
    { "handoff", "docker", {}, "unenforced", "trust_handoff", "" },
    { "handoff", "docker", { handoff = {} }, "enforced", nil, "" },
    { "handoff_absent", "full", {}, "unenforced", "trust_handoff", "" },
    { "handoff_absent", "new", { handoff = {} }, "enforced", nil, "" },
    { "tmp", "full", {}, "enforced", nil, "private-tmp private-tmp-mount" },
    { "tmp", "docker", {}, "enforced", nil, "private-tmp" },
    { "tmp", "full", { tmp = "shared" }, "enforced", nil, "" },
    { "network", "full", { network = "none" }, "enforced", nil, "netns seccomp-families" },
    { "network", "docker", { network = "none" }, "enforced", nil, "seccomp-families" },
    { "network", "full", {}, "enforced", nil, "netns seccomp-families" },
    { "network", "docker", {}, "tightened", "loopback", "mediated-loopback seccomp-families" },
    { "network", "gvisor", {}, "tightened", "loopback", "seccomp-families" },
    { "network", "nested", {}, "tightened", "loopback", "seccomp-families" },
    { "network", "full", { loopback = "host" }, "tightened", "loopback", "mediated-loopback seccomp-families" },
    { "network", "docker", { loopback = "host" }, "tightened", "loopback", "mediated-loopback seccomp-families" },
    { "network", "gvisor", { loopback = "host" }, "tightened", "loopback", "seccomp-families" },
    { "network", "full", { loopback = "policy" }, "enforced", nil, "netns netns-join seccomp-families" },
    { "network", "docker", { loopback = "policy" }, "tightened", "loopback", "mediated-loopback seccomp-families" },
    { "network", "gvisor", { loopback = "policy" }, "tightened", "loopback", "seccomp-families" },
    { "network", "full", { loopback = "policy", network = "none" }, "enforced", nil, "netns seccomp-families" },
    { "abstract", "full", { loopback = "policy" }, "enforced", nil, "netns netns-join" },
    { "abstract", "docker", { loopback = "policy" }, "enforced", nil, "landlock-scope-abstract" },
    { "abstract", "full", { loopback = "host" }, "enforced", nil, "landlock-scope-abstract" },
    { "network", "full", { network = { ports = { 1 } } }, "enforced", nil, "landlock-net seccomp-net-ports" },
    { "network", "debian12", { network = { ports = { 1 } } }, "tightened", "ports", "netns seccomp-families" },
    { "network", "full", { network = "all" }, "enforced", nil, "" },
    { "sockets", "new", {}, "enforced", nil, "landlock-unix socket-masks" },
    { "sockets", "full", {}, "tightened", "unix_datagram", "mediated-connect socket-masks" },
    { "sockets", "docker", {}, "tightened", "unix_datagram", "mediated-connect" },
    { "network", "nested", { network = { ports = { 1 } } }, "tightened", "ports", "seccomp-families" },
    { "sockets", "nested", {}, "tightened", "unix", "seccomp-no-unix" },
    { "abstract", "full", {}, "enforced", nil, "netns" },
    { "abstract", "debian12", {}, "enforced", nil, "netns" },
    { "abstract", "debian12", { network = "all" }, "tightened", "abstract", "mediated-connect" },
    { "abstract", "docker", {}, "enforced", nil, "landlock-scope-abstract" },
    { "abstract", "gvisor", {}, "tightened", "abstract", "mediated-connect" },
    { "abstract", "nested", {}, "enforced", nil, "landlock-scope-abstract" },
    { "abstract", "nested_old", {}, "tightened", "unix", "seccomp-no-unix" },
    { "abstract", "nested_old", { network = "all" }, "tightened", "unix", "seccomp-no-unix" },
    { "env", "gvisor", {}, "enforced", nil, "environment" },
    { "signals", "full", {}, "enforced", nil, "landlock-scope-signal pidns" },
    { "signals", "docker", {}, "enforced", nil, "landlock-scope-signal seccomp-peers" },
    { "signals", "kernel_5_10", {}, "enforced", nil, "pidns" },
    { "signals", "gvisor", {}, "unenforced", "signal_scope", "landlock-fs seccomp-kill-all seccomp-peers" },
    { "ipc", "full", {}, "enforced", nil, "ipcns" },
    { "ipc", "docker", {}, "tightened", nil, "seccomp-sysv" },
    { "process_tree", "full", {}, "enforced", nil, "pidns" },
    { "process_tree", "docker_masked_proc", {}, "unenforced", "process_tree", "reaper" },
    { "process_tree", "delegated", {}, "enforced", nil, "cgroup-kill landlock-fs reaper" },
    { "limits", "full", {}, "enforced", nil, "library nproc rlimits" },
    { "limits", "debian12", {}, "unenforced", "limits", "library rlimits" },
    { "limits", "delegated", {}, "enforced", nil, "cgroup-pids library rlimits" },
    { "limits", "delegated", { limits = { memory_bytes = 1 } }, "enforced", nil, "cgroup-memory" },
    { "limits", "full", { limits = { memory_bytes = 1 } }, "unenforced", "limits", "" },
    { "limits", "full", { limits = { memory_bytes = 1, processes = 1 } }, "unenforced", "limits", "nproc" },
    { "limits", "full", { limits = { open_files = 1 } }, "enforced", nil, "rlimits" },
    { "limits", "full", { limits = { grace_ms = 1 } }, "enforced", nil, "library" },
    { "limits", "full", { limits = { cpu_ms = 1 } }, "enforced", nil, "rlimits" },
    { "limits", "full", { limits = { timeout_ms = 1 } }, "enforced", nil, "library" },
    { "limits", "full", { limits = {} }, "enforced", nil, "" },
  }
  for _, case in ipairs(cases) do
    local clause, name, fields, state, id, used = table.unpack(case, 1, 6)
    it(("%s on %s is %s by %s"):format(clause, name, id or state, used == "" and "nothing" or used), function()
      local row = rows(wanting(fields), hosts[name])[clause]
      assert.equal(state, row.state)
      assert.equal(id, row.id)
      assert.equal(used, table.concat(row.mechanisms, " "))
    end)
  end

  it("write names the FIFO that a mount leaves writable, and the renames that ABI 1 refuses", function()
    assert.matches("FIFO", rows(wanting(), hosts.kernel_5_10).write.effect, 1, true)
    assert.matches("EXDEV", rows(wanting(), hosts.gvisor).write.effect, 1, true)
    assert.is_nil(rows(wanting(), hosts.full).write.effect)
  end)

  it("hidden states that its second lock is absent, and what would bring it", function()
    local row = rows(wanting(), hosts.docker).hidden
    assert.matches("not invisible", row.effect, 1, true)
    assert.matches("--security-opt", row.lift, 1, true)
  end)

  it("handoff_absent says what is done in its place", function()
    local row = rows(wanting(), hosts.full).handoff_absent
    assert.equal("moved out of the tree and reported once the run is dead", row.guard)
  end)

  it("network, tightened, is asked for as it is held", function()
    local _, fitted = rows(wanting(), hosts.gvisor)
    assert.equal("none", fitted.network)
    for _, name in ipairs({ "docker", "full" }) do
      _, fitted = rows(wanting(), hosts[name])
      assert.equal("loopback", fitted.network)
    end
  end)

  it("a loopback that runs have in common is each run's own where they cannot enter it, and says so", function()
    local want = wanting({ loopback = "policy" })
    local by_clause, fitted = rows(want, hosts.full)
    assert.equal("policy", fitted.loopback)
    assert.matches("runs of this loaded policy", by_clause.network.effect, 1, true)
    assert.matches("other runs", by_clause.abstract.effect, 1, true)

    local poorer = hosts_room.complete(hosts.full)
    poorer.netns_join = false
    by_clause, fitted = rows(want, poorer)
    assert.equal("run", fitted.loopback)
    assert.equal("netns seccomp-families", table.concat(by_clause.network.mechanisms, " "))
    assert.equal("tightened", by_clause.network.state)
    assert.matches("of its own", by_clause.network.effect, 1, true)
    assert.matches("entering of network namespaces", by_clause.network.reason, 1, true)
    assert.equal("netns", table.concat(by_clause.abstract.mechanisms, " "))
    assert.is_nil(by_clause.abstract.effect)

    local alone, report = fit.fit(want, hosts.full, { supervisor = false })
    assert.equal("run", alone.loopback)
    for _, row in ipairs(report) do
      assert.is_falsy(table.concat(row.mechanisms, " "):find("netns-join", 1, true), row.clause)
    end
    for _, name in ipairs({ "docker", "gvisor" }) do
      assert.equal("run", select(2, rows(want, hosts[name])).loopback)
    end
  end)

  it("network names UDP, and who else is on a loopback that is not the run's alone", function()
    local row = rows(wanting(), hosts.docker).network
    assert.matches("no UDP", row.effect, 1, true)
    assert.matches("other programs of this machine", row.effect, 1, true)
    row = rows(wanting({ loopback = "host" }), hosts.full).network
    assert.matches("no UDP", row.effect, 1, true)
    assert.equal('network = "all"', row.lift)
    assert.matches("SOCK_DIAG", rows(wanting({ loopback = "host" }), hosts.gvisor).network.reason, 1, true)
  end)

  it("that was lifted shows by what", function()
    local by_clause = rows(wanting({ lift = { "/h/.npmrc", ".idea", "AWS_*" } }), hosts.full)
    assert.matches("lifted by the operator: /h/.npmrc", by_clause.hidden.effect, 1, true)
    assert.matches("lifted by the operator: .idea", by_clause.handoff.effect, 1, true)
    assert.matches("lifted by the operator: AWS_*", by_clause.env.effect, 1, true)
  end)
end)

describe("fit for a process that confines itself", function()
  local SELF = { supervisor = false }

  local function self_rows(want, host)
    local fitted, report = fit.fit(want, host, SELF)
    local by_clause = {}
    for _, row in ipairs(report) do
      by_clause[row.clause] = row
    end
    return by_clause, fitted
  end

  it("uses nothing that takes a supervisor, on no host", function()
    for name, host in pairs(hosts) do
      for _, want in ipairs(wishes) do
        local fitted = fit.fit(want, host, SELF)
        for _, used in ipairs(fitted and fitted.mechanisms or {}) do
          for _, need in ipairs(mechanisms.by_name[used].needs) do
            assert.is_true(need ~= "supervisor", name .. " " .. used)
          end
        end
      end
    end
  end)

  it("names the gaps of that form, and the form that has them not", function()
    local by_clause, fitted = self_rows(wanting({ limits = { timeout_ms = 1, cpu_ms = 1 } }), hosts.full)
    assert.equal("process_tree", by_clause.process_tree.id)
    assert.same({}, by_clause.process_tree.mechanisms)
    assert.matches("outlives", by_clause.process_tree.effect, 1, true)
    assert.matches("tree = true", by_clause.process_tree.lift, 1, true)
    assert.is_nil(by_clause.process_tree.guard)
    assert.equal("limits", by_clause.limits.id)
    assert.same({ "rlimits" }, by_clause.limits.mechanisms)
    assert.equal("not enforced: timeout_ms", by_clause.limits.effect)
    assert.same({ "trust_handoff", "process_tree", "limits" }, fitted.unenforced)
  end)

  it("closes Unix sockets instead of leaving them open", function()
    local row = self_rows(wanting(), hosts.full).sockets
    assert.equal("tightened", row.state)
    assert.equal("unix", row.id)
    assert.equal("enforced", self_rows(wanting(), hosts.new).sockets.state)
  end)

  it("never enforces more than with a supervisor", function()
    local RANK = { enforced = 3, tightened = 2, unenforced = 1 }
    for name, host in pairs(hosts) do
      for _, want in ipairs(wishes) do
        local fitted, report = fit.fit(want, host)
        local _, poorer = fit.fit(want, host, SELF)
        for i, row in ipairs(fitted and report or {}) do
          assert.is_true(RANK[poorer[i].state] <= RANK[row.state], name .. " " .. row.clause)
        end
      end
    end
  end)
end)

describe("a profile that confines nothing", function()
  it("leaves every clause out, by name, on every host", function()
    for _, host in pairs(hosts) do
      local fitted, report = fit.fit({ unconfined = "policy off" }, host)
      assert.same({ "off" }, fitted.unenforced)
      assert.same({}, fitted.mechanisms)
      assert.equal(#CLAUSES, #report)
      for _, row in ipairs(report) do
        assert.same({ "unenforced", "off", "policy off" }, { row.state, row.id, row.reason })
      end
    end
  end)
end)
