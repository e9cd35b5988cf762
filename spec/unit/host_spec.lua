local host = require("procage.host")
local hosts = require("spec.support.hosts")

describe("a host", function()
  it("lacks what it does not state", function()
    local h = host.complete({ landlock_abi = 3 })
    assert.equal(3, h.landlock_abi)
    assert.is_false(h.userns)
    assert.is_false(h.container)
    assert.equal(0, h.landlock_errata)
    assert.same({}, h.failures)
  end)

  it("names an unknown fact or a wrong type", function()
    local ok, why = host.validate({ landlok_abi = 3 })
    assert.is_nil(ok)
    assert.equal("landlok_abi: unknown fact (did you mean landlock_abi?)", why)
    ok, why = host.validate({ userns = 1 })
    assert.is_nil(ok)
    assert.equal("userns: expected true or false, got 1", why)
    ok, why = host.validate({ failures = { userns = { step = "x", errno = 1 } } })
    assert.is_nil(ok)
    assert.equal("failures.userns.error: missing", why)
    ok = host.validate({ container = true })
    assert.is_nil(ok)
  end)

  it("comes back from JSON as it was", function()
    for name, h in pairs(hosts) do
      assert.is_true(host.validate(h), name)
      assert.same(h, host.from_json(host.to_json(h)), name)
    end
    local h, why = host.from_json('{"userns":"yes"}')
    assert.is_nil(h)
    assert.equal('host: userns: expected true or false, got "yes"', why)
  end)

  it("names the first need that it lacks", function()
    assert.is_nil(host.lacks(hosts.full, { "userns", { fact = "landlock_abi", floor = 7 } }))
    assert.same({ "landlock_abi", 8 }, { host.lacks(hosts.full, { "userns", { fact = "landlock_abi", floor = 8 } }) })
    assert.equal("cgroup", host.lacks(hosts.full, { "cgroup" }))
  end)
end)

describe("a missing fact", function()
  local cases = {
    { "ubuntu_apparmor", "mountns", "kernel.apparmor_restrict_unprivileged_userns=1", "AppArmor profile" },
    { "docker", "userns", "Docker's default seccomp profile", "--security-opt seccomp" },
    { "docker", "netns", "Docker's default seccomp profile", "--security-opt seccomp" },
    { "docker_masked_proc", "pidns", "masks paths in /proc", "systempaths=unconfined" },
    { "rhel_no_userns", "pidns", "user.max_user_namespaces", "user.max_user_namespaces" },
    { "debian_no_userns", "userns", "kernel.unprivileged_userns_clone=0", "kernel.unprivileged_userns_clone=1" },
    { "no_landlock_no_userns", "landlock_abi", "switched off", "lsm=" },
    { "kernel_5_10", "landlock_abi", "no Landlock in this kernel", "Linux 5.13" },
    { "macos", "landlock_abi", "this is macos", "Linux" },
  }
  for _, case in ipairs(cases) do
    it(("on %s: %s is explained with its cure"):format(case[1], case[2]), function()
      local reason, lift = host.explain_missing(case[2], hosts[case[1]])
      assert.matches(case[3], reason, 1, true)
      assert.matches(case[4], lift, 1, true)
    end)
  end

  it("names the kernel that brings a Landlock ABI", function()
    local reason, lift = host.explain_missing("landlock_abi", hosts.full, 9)
    assert.equal("Landlock ABI 9 is missing (this host has 7)", reason)
    assert.equal("Linux 7.1 or newer", lift)
  end)

  it("has a reason and a cure on every host, for every fact that a mechanism needs", function()
    for _, mechanism in ipairs(require("procage.mechanisms").list) do
      for name, h in pairs(hosts) do
        local fact, floor = host.lacks(h, mechanism.needs)
        if fact then
          local reason, lift = host.explain_missing(fact, h, floor)
          assert.is_true(#reason > 0 and #lift > 0, name .. " " .. fact)
        end
      end
    end
  end)

  it("is a caller's mistake when no host has it", function()
    assert.has_error(function()
      host.explain_missing("warp_drive", hosts.full)
    end)
  end)
end)
