--- What an operator registers is there in the run, and nothing that the run could do before is left out of the report.

local box = require("spec.support.box")
local extensions = require("procage.extensions")
local procage = require("procage")

local REGISTER = ([[
require("procage.fit").register({
  clause = "metadata",
  covers = "tightened",
  ops = { { op = "refuse_calls", calls = { "%s" } } },
  effect = "no metadata can be changed",
})
]]):format(table.concat(extensions.required.metadata.calls, '", "'))

--- Each way to change a file's metadata that python has; says which came through.
local CHANGE = box.python([[
import os
p = os.environ["OUTSIDE"] + "/f"
d = os.open(os.path.dirname(p), os.O_PATH)
f = os.open(p, os.O_RDONLY)
def t(name, g):
    try:
        g()
        print(name)
    except OSError:
        pass
t("chmod", lambda: os.chmod(p, 0o640))
t("fchmod", lambda: os.fchmod(f, 0o640))
t("fchmodat", lambda: os.chmod("f", 0o640, dir_fd=d))
t("chown", lambda: os.chown(p, os.getuid(), os.getgid()))
t("fchown", lambda: os.fchown(f, os.getuid(), os.getgid()))
t("lchown", lambda: os.lchown(p, os.getuid(), os.getgid()))
t("utime", lambda: os.utime(p, (1, 1)))
t("setxattr", lambda: os.setxattr(p, "user.a", b"b"))
]])

describe("an operator's alternative", function()
  it("closes what this host leaves open", function()
    local host = procage.probe()
    for _, fact in ipairs({ "userns", "mountns", "netns", "ipcns", "pidns" }) do
      host[fact] = false
    end
    local b <close> = box.new({ host = host })
    b:write("outside/f", "x")
    assert.matches("chmod\nfchmod\nfchmodat\nchown\nfchown\nlchown\nutime", b:run_unconfined(CHANGE).stdout, 1, true)
    local open = b:run(CHANGE)
    assert.is_false(box.holds(open, "metadata"))
    assert.matches("chmod", open.stdout, 1, true)

    b:write("home/.config/procage/fit.lua", REGISTER)
    b.loaded = nil
    local closed = b:run(CHANGE)
    assert.equal("", closed.stdout)
    assert.equal(0, closed.status)
    for _, row in ipairs(closed.report) do
      if row.clause == "metadata" then
        assert.equal("tightened", row.state)
        assert.equal(b.home .. "/.config/procage/fit.lua:1", row.by)
      end
    end
  end)

  it("holds for a command that another runtime starts", function()
    local b <close> = box.new()
    b:write("home/.config/procage/fit.lua", [[
require("procage.fit").register({
  clause = "signals", also = true, ops = { { op = "refuse_calls", calls = { "getpgid" } } },
})]])
    local command = box.python([[
import os
try:
    os.getpgid(0)
    print("came through")
except OSError as e:
    print(e.errno)
]])
    assert.matches("came through", b:run_unconfined(command).stdout, 1, true)
    assert.equal("1\n", b:run(command).stdout)
    local wrapped, message = assert(b:policy()):wrap(command)
    if not wrapped then
      return pending(message)
    end
    local result = b:run_unconfined(wrapped.argv, { env = wrapped.env })
    assert.equal("1\n", result.stdout, result.stderr)
  end)
end)
