local cjson = require("cjson")
local fit = require("procage.fit")
local hosts = require("spec.support.hosts")
local report = require("procage.report")

local wish = { workspace = "/w", read = "all", write = { "/w" }, hidden = { "/h/.ssh" }, network = "loopback" }

local function report_on(name)
  local _, rows = assert(fit.fit(wish, hosts[name]))
  return rows
end

describe("a report", function()
  it("is text with one aligned line a clause and what there is to say below it", function()
    local lines = report.lines({
      { clause = "write", state = "enforced", mechanisms = { "landlock-fs", "mount-tree" } },
      {
        clause = "stat",
        state = "unenforced",
        mechanisms = {},
        id = "stat",
        reason = "no mounts",
        effect = "names can be seen",
        lift = "mounts",
      },
      { clause = "git", state = "unenforced", mechanisms = {}, id = "carve", guard = "looked at" },
    })
    assert.same({
      "write  enforced            landlock-fs + mount-tree",
      "stat   unenforced          -",
      "    reason  no mounts",
      "    effect  names can be seen",
      "    lift    mounts",
      "git    unenforced (carve)  -",
      "    guard   looked at",
    }, lines)
  end)

  it("has a summary of one line: how many gaps, which, and where more is told", function()
    local gap = { clause = "git", state = "unenforced", mechanisms = {}, id = "carve" }
    local rows = { gap, { clause = "read_only", state = "unenforced", mechanisms = {}, id = "carve" },
      { clause = "stat", state = "unenforced", mechanisms = {}, id = "stat" },
      { clause = "write", state = "enforced", mechanisms = {} } }
    assert.equal("procage: 3 gaps on this machine: carve, stat; what each means: -v, or procage-lua explain",
      report.summary(rows))
    assert.matches("^procage: 1 gap on this machine: carve;", report.summary({ gap }))
    assert.is_nil(report.summary({ rows[4] }))
    assert.equal("procage: nothing is confined: so", report.summary({ { clause = "write", state = "unenforced", id = "off",
      reason = "so", mechanisms = {} } }))
  end)

  it("has one notice of one line for each gap, with its lift", function()
    for name in pairs(hosts) do
      local fitted, rows = fit.fit(wish, hosts[name])
      if fitted then
        local gaps = 0
        for _, row in ipairs(rows) do
          gaps = gaps + (row.state == "unenforced" and 1 or 0)
        end
        local notices = report.notices(rows)
        assert.equal(gaps, #notices, name)
        for _, line in ipairs(notices) do
          assert.matches("^procage: gap [%l_]+.*: .+; lift: .+$", line)
          assert.not_matches("\n", line, 1, true)
        end
      end
    end
  end)

  it("names the clause of a gap that several share", function()
    local text = table.concat(report.notices(report_on("docker")), "\n")
    assert.matches("procage: gap carve (git): ", text, 1, true)
    assert.matches("procage: gap stat: ", text, 1, true)
    assert.not_matches("tightened", text, 1, true)
  end)

  it("tells what was tightened when asked", function()
    local text = table.concat(report.notices(report_on("docker"), { tightened = true }), "\n")
    assert.matches("procage: tightened loopback (network): TCP to the run's own servers, but no UDP", text, 1, true)
  end)

  it("of no confinement is one notice", function()
    local _, rows = fit.fit({ unconfined = "policy off" }, hosts.full)
    assert.same({ "procage: nothing is confined: policy off" }, report.notices(rows))
  end)

  it("obeys no control character", function()
    local rows = { { clause = "x", state = "unenforced", mechanisms = {}, id = "x", lift = "y" } }
    rows[1].effect = "a\27[2Jb\nc\xc2\x9bd\x9be\u{202e}"
    assert.matches([[a\x1b[2Jb\nc\u{009B}d\x9be\u{202E}]], report.notices(rows)[1], 1, true)
    assert.matches([[a\x1b[2Jb\nc\u{009B}d\x9be\u{202E}]], report.lines(rows)[2], 1, true)
  end)

  it("has one JSON form, mechanisms a list even when empty", function()
    local text = report.to_json({
      { lift = "l", id = "x", mechanisms = {}, state = "unenforced", clause = "c" },
      { clause = "d", state = "enforced", mechanisms = { "m" } },
    })
    assert.equal(
      '[{"clause":"c","state":"unenforced","mechanisms":[],"id":"x","lift":"l"},'
        .. '{"clause":"d","state":"enforced","mechanisms":["m"]}]',
      text
    )
    assert.same(report_on("full"), cjson.decode(report.to_json(report_on("full"))))
  end)
end)
