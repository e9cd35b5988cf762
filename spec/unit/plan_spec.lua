--- Who tells of refused files: the kernel's audit records where they can be read, the observer for what they miss.

local plan = require("procage.plan")

local HOST = { seccomp_notify = true, landlock_audit = true }

describe("what is recorded", function()
  it("is the kernel's own word where the host lets it be read", function()
    assert.equal("audit", plan.recorded("paths", HOST))
    assert.equal("paths", plan.recorded("paths", { seccomp_notify = true, landlock_audit = false }))
  end)

  it("is no more than was asked for", function()
    assert.equal("calls", plan.recorded("calls", HOST))
    assert.equal("off", plan.recorded("off", HOST))
  end)

  it("is every access where every one is wanted: the kernel tells of refusals alone", function()
    assert.equal("paths", plan.recorded("paths", HOST, nil, "all"))
  end)

  it("is nothing without somebody to look after the run", function()
    assert.equal("off", plan.recorded("paths", HOST, false))
    assert.equal("off", plan.recorded("paths", { landlock_audit = true }))
  end)
end)

describe("files are told of", function()
  local function watch(recorded, ...)
    return plan.file_watch({ mechanisms = { ... } }, recorded)
  end

  it("by the kernel alone where Landlock alone refuses them", function()
    assert.same({ audit = true, observer = false }, watch("audit", "landlock-fs"))
  end)

  it("by both where mounts and masks refuse some", function()
    assert.same({ audit = true, observer = true }, watch("audit", "landlock-fs", "mount-tree"))
    assert.same({ audit = true, observer = true }, watch("audit", "landlock-fs", "mask"))
  end)

  it("by the observer where Landlock refuses none of them", function()
    assert.same({ audit = false, observer = true }, watch("audit", "mount-tree"))
    assert.same({ audit = false, observer = true }, watch("paths", "landlock-fs", "mount-tree"))
  end)

  it("by nobody where it is not asked for", function()
    assert.same({ audit = false, observer = false }, watch("calls", "landlock-fs", "mount-tree"))
    assert.same({ audit = false, observer = false }, watch("off", "landlock-fs"))
  end)
end)
