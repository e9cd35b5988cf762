--- Runners: which commands get the network, and what a narrower runner keeps.

local box = require("spec.support.box")
local core = require("procage.core")
local procage = require("procage")

--- Reaches a server outside, and says so.
local function client(port)
  return box.python(([[
import socket
s = socket.create_connection(("127.0.0.1", %d), 2)
print("reached")
]]):format(port))
end

---@return procage.Runner
local function runner(b, config, options)
  options = options or {}
  options.home, options.env = b.home, b.env
  return assert(procage.runner(b.workspace, config, options))
end

local function reaches(r, argv, options)
  local outcome = assert(r:run(argv, options))
  return outcome.stdout:find("reached", 1, true) ~= nil, outcome
end

local function with(argv, more)
  local copy = table.move(argv, 1, #argv, 1, {})
  for key, value in pairs(more) do
    copy[key] = value
  end
  return copy
end

describe("a runner whose runs are started ahead", function()
  it("takes them, and ends what waits with itself", function()
    local function children()
      return core.read_file("/proc/thread-self/children"):gsub("%s+$", "")
    end
    local b <close> = box.new()
    local r <close> = runner(b, {}, { prepared = true })
    local start, starts, taken = core.start, 0, 0
    core.start = function(plan, specification) -- luacheck: ignore 122
      starts, taken = starts + 1, taken + (specification.spare and 1 or 0)
      return start(plan, specification)
    end
    for _ = 1, 20 do -- mounts of other tests have plans made anew
      starts, taken = 0, 0
      assert(r:prepare())
      local outcome = assert(r:run({ "/bin/sh", "-c", "echo x >$OUTSIDE/x; echo ran", env = { OUTSIDE = b:path("outside") } }))
      assert.equal("ran\n", outcome.stdout)
      if starts == 1 and taken == 1 then
        break
      end
    end
    core.start = start -- luacheck: ignore 122
    assert.same({ 1, 1 }, { starts, taken })
    assert.is_false(b:exists("outside/x"))
    assert(r:prepare())
    assert.not_equal("", (children()))
    r:close()
    assert.equal("", (children()))
  end)

  it("says which of its options is of no use", function()
    local b <close> = box.new()
    assert.has_error(function()
      runner(b, {}, { prepared = "yes" })
    end)
  end)
end)

describe("a runner gives the network", function()
  it("to the call that was approved, and to none after it", function()
    local b <close> = box.new()
    local command = client(b:listener("tcp", 0).port)
    assert.matches("reached", b:run_unconfined(command).stdout, 1, true)
    local r <close> = runner(b, {})
    assert.is_false((reaches(r, command)))
    assert.is_true((reaches(r, command, { network = true })))
    assert.is_false((reaches(r, command)))
    assert.is_false((reaches(r, command, { network = false })))
  end)

  it("to exactly the words of network_allow", function()
    local b <close> = box.new()
    local command = client(b:listener("tcp", 0).port)
    local r <close> = runner(b, { network = "off", network_allow = { command } })
    assert.is_true((reaches(r, command)))
    assert.is_false((reaches(r, with(command, { [#command + 1] = "more" }))))
    assert.is_false((reaches(r, { command[1], "-I", "-c", command[4] .. "\n" })))
    assert.is_false((reaches(r, { "/bin/sh", "-c", 'exec "$@"', "sh", table.unpack(command) })))
  end)

  it("to what begins with the words of network_allow_prefix", function()
    local b <close> = box.new()
    local command = client(b:listener("tcp", 0).port)
    local r <close> = runner(b, { network_allow_prefix = { { command[1], "-I" } } })
    assert.is_true((reaches(r, command)))
    assert.is_false((reaches(r, { command[1], "-c", command[4] })))
  end)

  it("never to a file of the workspace with an allowed name", function()
    local b <close> = box.new({ host_env = { PATH = "bin:/usr/bin:/bin" } })
    local command = client(b:listener("tcp", 0).port)
    command[1] = "python3"
    b.env.PATH = "bin:/usr/bin:/bin"
    local r <close> = runner(b, { network_allow = { command } })
    assert.is_true((reaches(r, command)))
    -- What a command could plant: the same program under another's eyes.
    b:setup("mkdir $WS/bin && cp /usr/bin/python3 $WS/bin/python3")
    local got, outcome = reaches(r, command)
    assert.is_false(got)
    local why = "no network for python3: .*/workspace/bin/python3 lies in .*/workspace, where commands write"
    assert.matches(why, outcome.notices[1])
    -- Elsewhere, but not what the operator's own PATH means.
    b:setup("mkdir -p $OUTSIDE/bin && cp /usr/bin/python3 $OUTSIDE/bin/python3")
    got, outcome = reaches(r, with(command, { env = { PATH = b.outside .. "/bin:/usr/bin" } }))
    assert.is_false(got)
    assert.matches("the configuration means /usr/bin/python3", outcome.notices[1], 1, true)
  end)

  it("never by a link that a command could have made, wherever it leads", function()
    local b <close> = box.new()
    local command = client(b:listener("tcp", 0).port)
    table.remove(command, 1)
    table.insert(command, 1, "grep")
    b.env.PATH = b.workspace .. "/node_modules/.bin:" .. b.outside .. "/bin:/usr/bin:/bin"
    b:setup("mkdir -p $OUTSIDE/bin && ln -s $(command -v python3) $OUTSIDE/bin/grep")
    -- The user's own link is his to make: so the words reach the network where nothing is planted.
    assert.is_true((reaches(runner(b, { network_allow = { command } }), command)))
    b:setup("rm $OUTSIDE/bin/grep")
    b:run("mkdir -p node_modules/.bin && ln -s $(command -v python3) node_modules/.bin/grep")
    assert.is_true(b:exists("workspace/node_modules/.bin/grep"))
    local got, outcome = reaches(runner(b, { network_allow = { command } }), command)
    assert.is_false(got)
    assert.matches("no network for grep: here it is .*python3.*, and the configuration means .*/grep", outcome.notices[1])
    -- Nor by a directory of PATH that one has made a link.
    b:run("rm -r node_modules/.bin && mkdir n && ln -s $(dirname $(command -v python3)) node_modules/.bin")
    command[1] = "python3"
    local r = runner(b, { network_allow = { command } })
    assert.is_true((reaches(r, command)))
    b.env.PATH = b.workspace .. "/node_modules/.bin"
    r = runner(b, { network_allow = { command } })
    got, outcome = reaches(r, command)
    assert.is_false(got)
    assert.matches("nothing that lies outside what commands write", outcome.notices[1], 1, true)
  end)

  it("by the program too", function()
    local b <close> = box.new()
    local command = client(b:listener("tcp", 0).port)
    local r <close> = runner(b, { network_allow = { command } })
    for _, tree in ipairs({ true, false }) do
      local wrapped <close> = assert(r:wrap(command, { tree = tree }))
      assert.matches("reached", b:run_unconfined(wrapped.argv).stdout, 1, true)
      local other <close> = assert(r:wrap(with(command, { [#command + 1] = "more" }), { tree = tree }))
      assert.not_matches("reached", b:run_unconfined(other.argv).stdout, 1, true)
    end
  end)
end)

describe("a runner's scratch directory", function()
  it("is written by its commands, and gone with it", function()
    local b <close> = box.new()
    local directory
    do
      local r <close> = runner(b, {})
      directory = assert(r:scratch())
      assert.equal(0, assert(r:run({ "/bin/sh", "-c", 'echo one > "$1/file"', "sh", directory })).status)
      assert.equal("one\n", assert(r:run({ "cat", directory .. "/file" })).stdout)
      assert.equal("one\n", b:run_unconfined({ "cat", directory .. "/file" }).stdout)
      -- Another runner's commands have no business there.
      local other <close> = runner(b, {})
      assert(other:run({ "/bin/sh", "-c", 'echo two > "$1/file"', "sh", directory }))
      assert.equal("one\n", b:run_unconfined({ "cat", directory .. "/file" }).stdout)
    end
    assert.not_equal(0, b:run_unconfined({ "ls", directory }).status)
  end)
end)

describe("a narrowed runner", function()
  it("writes and reads less, also by a policy that knows nothing of it", function()
    local b <close> = box.new()
    b:write("workspace/golden", "gold\n")
    b:write("workspace/secret", "s3cret\n")
    b:write("outside/open.lua", [[
local profile = require("procage.profile")
return function(_, ctx)
  local p = profile.new()
  p:allow_read("/")
  p:workspace(ctx.workspace)
  p:accept("carve", "trust_handoff", "workspace_sockets", "signal_scope", "truncate", "metadata", "stat", "replace",
    "process_tree", "device_ioctl", "limits")
  return p
end
]])
    local command = { "/bin/sh", "-c", "echo changed > golden; cat secret; echo fine > other; cat other" }
    for _, name in ipairs({ "speccoder", b:path("outside/open.lua") }) do
      b:write("workspace/golden", "gold\n")
      local whole <close> = runner(b, { policy = name })
      assert.equal("s3cret\nfine\n", assert(whole:run(command)).stdout)
      assert.equal("changed\n", b:read("workspace/golden"))
      b:write("workspace/golden", "gold\n")
      local r <close> = assert(whole:carve({ b:path("workspace/golden") }, { b:path("workspace/secret") }))
      if box.holds(r:explain(), "read_only") then
        assert.equal("fine\n", assert(r:run(command)).stdout)
        assert.equal("gold\n", b:read("workspace/golden"))
      else
        assert.matches("carve", r.notice, 1, true)
      end
    end
  end)
end)

describe("a command that is unsandboxed by nature", function()
  it("is shown with the reason, and then runs plainly", function()
    local b <close> = box.new()
    local shown = {}
    local r <close> = runner(b, { mode = "required" }, {
      on_notice = function(text)
        shown[#shown + 1] = text
      end,
    })
    local command = { "/bin/sh", "-c", 'echo x > "$OUTSIDE/file" && echo $1', "sh" }
    assert.not_equal(0, assert(r:run(command)).status)
    assert.same({}, shown)
    local outcome = assert(r:run(with(command, { unsandboxed = "talks to a\ndaemon", on_output = function()
      assert.equal(1, #shown)
    end })))
    assert.equal(0, outcome.status)
    assert.equal("x\n", b:read("outside/file"))
    assert.matches("procage: unsandboxed: /bin/sh %-c .*: talks to a\\ndaemon", shown[1])
    assert.matches("nothing is confined: unsandboxed: talks to", outcome.notices[1], 1, true)
    -- The next one is confined as before.
    assert.not_equal(0, assert(r:run(command)).status)
    local narrow <close> = assert(r:carve({}, {}))
    local refused, message = narrow:run(with(command, { unsandboxed = "no" }))
    assert.is_nil(refused)
    assert.matches("a narrowed runner runs nothing unsandboxed", message, 1, true)
  end)
end)
