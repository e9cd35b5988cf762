local core = require("procage.core")
local disk = require("procage.disk")
local runner = require("procage.runner")
local survey = require("procage.survey")
local throwaway = require("spec.support.throwaway")

--- A policy of a throw-away tree, and disk.read that knows `given` otherwise: name -> text, or false for what cannot be read.
local function place(given)
  local directory = throwaway.directory()
  local root = assert(core.real_path(directory.path))
  local policy = assert(runner.load("speccoder", {}, {
    root = root, home = root, env = { PATH = "/usr/bin:/bin", HOME = root }, explains = true,
  }))
  local read = disk.read
  stub(disk, "read", function(name, limit)
    if given[name] == false then
      return nil, name .. ": Permission denied"
    end
    return given[name] or read(name, limit)
  end)
  finally(function()
    disk.read:revert()
    getmetatable(directory).__close(directory)
  end)
  return policy
end

describe("where the mounts cannot be told", function()
  it("nothing is planned, and nothing is said of what a run may do", function()
    local given = {}
    local policy = place(given)
    if not policy.report then
      pending("nothing can be confined here")
    end
    assert(policy:plan())
    assert.is_true(policy:why("read", "/etc/passwd").allowed)
    given[survey.MOUNTS] = false
    local plan, message = policy:plan()
    assert.is_nil(plan)
    assert.equal("the mounts cannot be told: /proc/self/mountinfo: Permission denied", message)
    local answer, why = policy:why("read", "/etc/passwd")
    assert.is_nil(answer)
    assert.equal(message, why)
  end)

  it("a plan that was made is not kept for other mounts", function()
    local given = {}
    local policy = place(given)
    if not policy.report then
      pending("nothing can be confined here")
    end
    local first = assert(policy:plan())
    assert.equal(first, policy:plan())
    given[survey.MOUNTS] = assert(disk.read(survey.MOUNTS)) .. "99 1 0:99 / /mnt/of-the-spec rw - tmpfs none rw\n"
    assert.not_equal(first, policy:plan())
  end)
end)

describe("sockets that are bound", function()
  it("are noted where the kernel does not list them and masks are all that covers them", function()
    local policy = place({ ["/proc/net/unix"] = false })
    policy.profile.mechanisms = { "socket-masks" }
    local found = assert(survey.look(policy.profile, {}, policy.context))
    assert.matches("which sockets are bound cannot be told", table.concat(found.notices, "\n"), 1, true)
    policy.profile.mechanisms = {}
    assert.not_matches("sockets", table.concat(assert(survey.look(policy.profile, {}, policy.context)).notices, "\n"), 1, true)
  end)
end)

describe("the host's directories for temporary files", function()
  it("are told of where one of them leads elsewhere: the run's own covers it no more", function()
    local policy = place({})
    local resolve, kind = disk.resolve, disk.kind
    stub(disk, "kind", function(name)
      return name == "/var/tmp" and "link" or kind(name)
    end)
    stub(disk, "resolve", function(name)
      if name == "/var/tmp" then
        return "/usr/lib", true
      end
      return resolve(name)
    end)
    local found, other
    found = assert(survey.look(policy.profile, {}, policy.context))
    disk.resolve:revert()
    stub(disk, "resolve", function(name)
      if name == "/var/tmp" then
        return "/tmp", true
      end
      return resolve(name)
    end)
    other = assert(survey.look(policy.profile, {}, policy.context))
    disk.resolve:revert()
    disk.kind:revert()
    assert.matches("/var/tmp leads to /usr/lib", table.concat(found.notices, "\n"), 1, true)
    assert.not_matches("leads to", table.concat(other.notices, "\n"), 1, true)
  end)
end)

describe("a file that is read whole", function()
  it("is all of it, or not read", function()
    local directory <close> = throwaway.directory()
    local file = directory.path .. "/long"
    local handle = assert(io.open(file, "wb"))
    handle:write(("x"):rep(100))
    handle:close()
    assert.equal(("x"):rep(100), disk.read(file, 100))
    local text, message = disk.read(file, 99)
    assert.is_nil(text)
    assert.equal(file .. ": longer than 99 bytes", message)
  end)
end)
