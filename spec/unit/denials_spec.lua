local denials = require("procage.denials")

local OWN_NETWORK = { network = "loopback", mechanisms = { "netns" } }
local HOST_NETWORK = { network = "all", mechanisms = {} }

--- A policy whose profile, built again with a change, is what `made` makes of the configuration.
local function policy_with(made)
  return {
    config = { sockets = { "/run/a.sock" } },
    fitted = OWN_NETWORK,
    again = made,
    recorded = function()
      return "calls"
    end,
  }
end

local function raw(entries)
  local list = { is_recorded = true, more = 0 }
  for i, entry in ipairs(entries) do
    list[i] = {
      call = entry.call,
      args = entry.args or { 0, 0, 0 },
      errno = entry.errno or 13,
      error = entry.error or "Permission denied",
      process = entry.process or "prog",
      address = entry.address,
      count = entry.count or 1,
    }
  end
  return list
end

local function unix(path)
  return string.pack("<I2", 1) .. path
end

local function inet(port, a, b, c, d)
  return string.pack("<I2>I2BBBB", 2, port, a, b, c, d) .. ("\0"):rep(8)
end

describe("denials", function()
  it("tell a server that is not the run's own on a loopback that is the host's, and offer that", function()
    local again = policy_with(function(config)
      return { network = "loopback", loopback = config.loopback }
    end)
    local shared = { network = "loopback", mechanisms = { "mediated-loopback" } }
    local v6 = string.pack("<I2>I2I4", 10, 5432, 0) .. ("\0"):rep(10) .. "\xff\xff\x7f\0\0\1" .. ("\0"):rep(4)
    for _, address in ipairs({ inet(5432, 127, 0, 0, 1), v6 }) do
      local line = denials.of(raw({ { call = "connect", address = address } }), shared, nil, again).denied[1]
      assert.equal("--set loopback=host", line.allow)
      assert.equal('loopback = "host"', line.config)
    end
    local far = denials.of(raw({ { call = "connect", address = inet(80, 198, 51, 100, 7) } }), shared, nil, again).denied[1]
    assert.is_nil(far.allow)
  end)

  it("offer nothing for a socket of which nobody knows what it is for, and say what there is", function()
    local again = policy_with(function(config)
      return { network = config.network }
    end)
    local line = denials.of(raw({ { call = "socket", args = { 2, 1, 0 } } }), { network = "none", mechanisms = {} }, nil, again)
      .denied[1]
    assert.equal("socket(AF_INET), for the loopback (--net loopback) or for the network (--net ports:N, --net all): \z
      Permission denied (by prog)", line.text)
    assert.is_nil(line.allow)
  end)

  for _, case in ipairs({
    { "loopback", 443, "--net ports:443" },
    { { ports = { 443 } }, 18999, "--net ports:443,18999" },
    { "none", 443, "--net ports:443" },
    -- Names are asked for with UDP.
    { { ports = { 443 } }, 53, "--net all" },
  }) do
    it("offer the port that was wanted: " .. case[3], function()
      local again = policy_with(function(config)
        return { network = config.network }
      end)
      local entries = raw({ { call = "connect", address = inet(case[2], 198, 51, 100, 7) } })
      local line = denials.of(entries, { network = case[1], mechanisms = {} }, nil, again).denied[1]
      assert.equal(case[3], line.allow)
    end)
  end

  it("name the address that could not be bound, and offer the network for one outside", function()
    local again = policy_with(function(config)
      return { network = config.network }
    end)
    local entries = raw({
      { call = "bind", address = inet(80, 192, 0, 2, 2) },
      { call = "bind", address = inet(80, 127, 0, 0, 1) },
      { call = "bind", address = unix("s") },
      { call = "listen", args = { 3, 0, 0 } },
    })
    local found = denials.of(entries, OWN_NETWORK, nil, again).denied
    assert.equal("make the Unix socket s: Permission denied (by prog)", found[1].text)
    assert.equal("bind to 192.0.2.2:80: Permission denied (by prog)", found[2].text)
    assert.equal("--net all", found[2].allow)
    assert.equal("bind to 127.0.0.1:80: Permission denied (by prog)", found[3].text)
    assert.is_nil(found[3].allow)
    assert.equal("listen without a bind before: Permission denied (by prog)", found[4].text)
  end)

  it("name the Unix socket, the program, how often, and the change that would allow it", function()
    local again = policy_with(function(config)
      return { hidden = {}, write = {}, sockets = config.sockets }
    end)
    local entries = raw({ { call = "connect", address = unix("/run/x.sock\0junk"), count = 3 } })
    local found = denials.of(entries, OWN_NETWORK, nil, again)
    assert.equal(1, #found.denied)
    local line = found.denied[1]
    assert.equal("connect to the Unix socket /run/x.sock: Permission denied (by prog), 3 times", line.text)
    assert.equal("unix", line.kind)
    assert.equal("sockets", line.clause)
    assert.equal("--set 'sockets=[\"/run/x.sock\"]'", line.allow)
    assert.equal('sockets = ["/run/x.sock"]', line.config)
  end)

  it("offer no change that the policy, built again with it, does not follow", function()
    local entries = raw({
      { call = "connect", address = unix("/run/x.sock") },
      { call = "connect", address = inet(80, 198, 51, 100, 7) },
    })
    local stubborn = policy_with(function()
      return { hidden = { "/run" }, write = {}, sockets = { "/run/x.sock" }, network = "loopback" }
    end)
    for _, line in ipairs(denials.of(entries, OWN_NETWORK, nil, stubborn).denied) do
      assert.is_nil(line.allow)
    end
    local broken = policy_with(function()
      return nil
    end)
    assert.is_nil(denials.of(entries, OWN_NETWORK, nil, broken).denied[1].allow)
    assert.is_nil(denials.of(entries, OWN_NETWORK).denied[1].allow)
  end)

  it("read addresses of each family, also cut short", function()
    assert.equal("198.51.100.7:80", denials.address_text(inet(80, 198, 51, 100, 7)))
    local six = string.pack("<I2>I2I4", 10, 443, 0) .. "\x20\x01\x0d\xb8" .. ("\0"):rep(11) .. "\1" .. ("\0"):rep(4)
    assert.equal("[2001:db8:0:0:0:0:0:1]:443", denials.address_text(six))
    assert.equal("@name", denials.address_text(unix("\0name")))
    assert.equal("an address of family nil", denials.address_text("x"))
    assert.equal("an address of family 2", denials.address_text(string.pack("<I2", 2)))
  end)

  it("escape what a command could write into a terminal", function()
    local found = denials.of(
      raw({ { call = "connect", address = unix("/\27]0;x\7"), process = "a\27b" } }),
      OWN_NETWORK
    )
    assert.is_nil(found.denied[1].text:find("%c"))
  end)

  it("count a missing route only where the run's own network is what lacks it", function()
    local entries = raw({ { call = "connect", address = inet(80, 10, 0, 0, 1), errno = 101 } })
    assert.equal(1, #denials.of(entries, OWN_NETWORK).denied)
    assert.equal(0, #denials.of(entries, HOST_NETWORK).denied)
  end)

  it("put what says most first, and list no more than ten", function()
    local entries = { { call = "bpf" } }
    for i = 1, 12 do
      entries[#entries + 1] = { call = "connect", address = unix("/s" .. i) }
    end
    local found = denials.of(raw(entries), OWN_NETWORK)
    assert.equal(10, #found.denied)
    assert.equal(3, found.more)
    assert.equal("unix", found.denied[1].kind)
  end)

  it("call a nested sandbox by its name and offer nothing for it", function()
    local found = denials.of(raw({ { call = "unshare", args = { 0x10020000, 0, 0 } } }), OWN_NETWORK)
    assert.equal("nested", found.denied[1].kind)
    assert.matches("mount, user namespace", found.denied[1].text, 1, true)
    assert.is_nil(found.denied[1].allow)
  end)

  it("say what the record cannot show, and that none was made", function()
    assert.matches("not listed", denials.of(raw({}), OWN_NETWORK).note, 1, true)
    local none = denials.of({ is_recorded = false, more = 0 }, OWN_NETWORK)
    assert.matches("not recorded", none.note, 1, true)
  end)

  it("say who told of files, and whether records were lost", function()
    local function of(accesses, recorded)
      local policy = policy_with(function() end)
      policy.recorded = function()
        return recorded or "audit"
      end
      return denials.of(raw({}), OWN_NETWORK, accesses, policy)
    end
    local exact = of({ is_recorded = true, is_audited = true, lost = 0, more = 0 })
    assert.equal("audit", exact.source)
    assert.matches("exact", exact.note, 1, true)
    assert.not_matches("lost", exact.note, 1, true)
    assert.matches("lost", of({ is_recorded = true, is_audited = true, lost = 1, more = 0 }).note, 1, true)
    local both = of({ is_recorded = true, is_audited = true, is_observed = true, lost = 0, more = 0 })
    assert.equal("audit and observer", both.source)
    assert.matches("EROFS", both.note, 1, true)
    assert.equal("observer", of({ is_recorded = true, is_observed = true, lost = 0, more = 0 }, "paths").source)
    local unread = of({ is_recorded = false, lost = 0, more = 0 })
    assert.is_nil(unread.source)
    assert.matches("could no longer be read", unread.note, 1, true)
  end)
end)
