--- procage-lua doctor, on this machine.

local box = require("spec.support.box")
local json = require("procage.json")

local function program()
  local build = os.getenv("PROCAGE_BUILD") or "build/dev"
  return (build:sub(1, 1) == "/" and build or box.shell("pwd -P") .. "/" .. build) .. "/bin/procage-lua"
end

local function doctor(b, args)
  return b:run_unconfined(table.move(args, 1, #args, 3, { program(), "doctor" }), { timeout_ms = 60000 })
end

---@return table answer
---@return table<string, table> classes
local function answer_of(result)
  local answer = assert(json.decode(result.stdout), result.stderr)
  local classes = {}
  for _, class in ipairs(answer.classes) do
    classes[class.class] = class
  end
  return answer, classes
end

--- What doctor leaves. Others may be at work: what is theirs is gone in a while.
local function left(b)
  local found
  box.wait_for(20, function()
    found = box.shell((
      "find %s/.local/state/procage /tmp /var/tmp /dev/shm /etc -maxdepth 1 -name 'procage-*' -newer %s 2>/dev/null"
      .. " | grep -e doctor -e %s; pgrep -f -- '__(victim|attack) .*%s'; true"
    ):format(
      box.quote(b.home),
      box.quote(b:path("outside/before")),
      box.quote(b.home),
      b.root
    ))
    return found == ""
  end)
  return found
end

describe("doctor", function()
  it("finds nothing that comes through the default policy in any way that works outside, and leaves nothing", function()
    local b <close> = box.new()
    b:write("outside/before", "")
    b:write("workspace/Makefile", "all:")
    b:write("home/.ssh/id", "key")
    local before = box.shell(("cd %s && find workspace home -printf '%%p %%s %%T@ %%m\\n' | sort"):format(box.quote(b.root)))
    local result = doctor(b, { "--json" })
    local answer, classes = answer_of(result)
    for _, class in ipairs(answer.classes) do
      for _, try in ipairs(class.tries) do
        assert.not_equal("crossed", try.state, class.class .. ": " .. try.name)
      end
    end
    assert.equal(0, answer.crossed)
    assert.equal(0, result.status)
    assert.is_true(answer.attacks > 100)
    -- Of those that every host of ours holds, each was tried, and each other says why it was not.
    for _, name in ipairs({ "hidden", "write", "network", "sockets", "abstract", "env", "descriptors", "processes", "ipc" }) do
      assert.equal("refused", classes[name].state, name .. ": " .. tostring(classes[name].reason))
    end
    for _, class in ipairs(answer.classes) do
      if class.state == "not tried" then
        local reason = class.reason
        assert.is_truthy(
          reason:find("^allowed by the profile") or reason:find("^the report names this gap") or reason:find("^the profile ")
            or reason:find("^none of these works outside here either"),
          class.class .. ": " .. reason
        )
      end
    end
    local tried = {}
    for _, name in ipairs({ "hidden", "write", "sockets", "processes", "descriptors", "network" }) do
      for _, try in ipairs(classes[name].tries) do
        tried[name .. ": " .. try.name] = try.state
      end
    end
    for _, name in ipairs({
      "hidden: ~/.ssh",
      "hidden: in a directory, through a symbolic link",
      "hidden: in a directory, through /proc/self/root",
      "hidden: in a directory, moved into the workspace",
      "write: over a file, beside the workspace",
      "write: through a symbolic link, beside the workspace",
      "write: by a rename over it, beside the workspace",
      "write: a new file in the home directory",
      "write: through another process's directory",
      "write: into a FIFO",
      "sockets: stream",
      "sockets: dgram, from one of a pair",
      "processes: environment",
      "descriptors: reading",
      "network: TCP",
      "network: UDP",
    }) do
      assert.equal("refused", tried[name], name)
    end
    assert.equal("", left(b))
    b:setup("rm -rf ~/.local")
    local after = box.shell(("cd %s && find workspace home -printf '%%p %%s %%T@ %%m\\n' | sort"):format(box.quote(b.root)))
    -- The home directory itself has had .local made and removed in it.
    assert.equal((before:gsub("home %d+ [%d.]+ ", "home ")), (after:gsub("home %d+ [%d.]+ ", "home ")))
  end)

  it("says what comes through where nothing is confined, and exits 1", function()
    local b <close> = box.new()
    b:write("outside/before", "")
    local result = doctor(b, { "--policy", "off", "--json" })
    local answer, classes = answer_of(result)
    assert.equal(1, result.status)
    for _, name in ipairs({
      "hidden", "stat", "read", "write", "truncate", "metadata", "git", "handoff", "tmp", "network", "sockets", "abstract",
      "env", "signals", "processes", "setuid", "terminals", "ipc",
    }) do
      assert.equal("crossed", classes[name].state, name .. ": " .. tostring(classes[name].reason))
    end
    assert.is_true(answer.crossed > 50)
    assert.equal("", left(b))
  end)

  it("takes the policy's own options, and tells what they allow from an escape", function()
    local b <close> = box.new({ config = {} })
    b:write("workspace/c.toml", '[sandbox]\nwritable = ["~/out"]\nnetwork = "all"\n')
    local result = doctor(b, { "--config", "c.toml", "--git", "write", "--json" })
    local _, classes = answer_of(result)
    assert.equal(0, result.status)
    assert.matches("network = all", classes.network.reason, 1, true)
    assert.matches("git = write", classes.git.reason, 1, true)
    assert.equal("refused", classes.sockets.state)
  end)

  it("attacks the shipped policies, also one that starts programs of PATH alone", function()
    local b <close> = box.new()
    local _, classes = answer_of(doctor(b, { "--policy", "own-command", "--json" }))
    assert.equal("refused", classes.hidden.state, classes.hidden.reason)
    assert.matches("network = all", classes.network.reason, 1, true)
    local result = doctor(b, { "--policy", "in-place", "--json" })
    if result.status ~= 126 then
      _, classes = answer_of(result)
      assert.not_equal("crossed", classes.ignored.state)
      if box.host().mountns then
        assert.equal("refused", classes.ignored.state, classes.ignored.reason)
      end
    end
  end)

  it("attacks a profile that reads listed trees alone", function()
    local b <close> = box.new()
    b:write(
      "outside/strict.lua",
      [[
local profile = require("procage.profile")
return function(config, ctx)
  local p = profile.new()
  p:allow_read("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/proc")
  p:workspace(ctx.workspace)
  p:accept("trust_handoff", "carve", "metadata", "stat", "process_tree", "signal_scope", "truncate", "device_ioctl", "limits")
  return p
end]]
    )
    local _, classes = answer_of(doctor(b, { "--policy", b:path("outside/strict.lua"), "--json" }))
    assert.equal("refused", classes.read.state, classes.read.reason)
    assert.equal("refused", classes.write.state)
    assert.matches("hides nothing", classes.hidden.reason, 1, true)
  end)

  it("prints a line a class, and what is missing", function()
    local b <close> = box.new()
    local result = doctor(b, { "--root", b:path("outside") })
    assert.equal(0, result.status)
    assert.matches("\nrefused +hidden +reading hidden files: %d+ attacks", result.stdout)
    assert.matches("\nnot tried +read +reading outside the listed trees: allowed by the profile", result.stdout)
    assert.matches("classes refused, 0 crossed", result.stdout, 1, true)
    assert.matches("issing here", result.stdout, 1, true)
    assert.equal("", box.shell("ls -A " .. box.quote(b:path("outside"))))
    assert.equal("", box.shell("ls -A " .. box.quote(b.home)))
  end)

  it("says what is wrong with its words", function()
    local b <close> = box.new()
    assert.equal(2, doctor(b, { "--jsn" }).status)
    local result = doctor(b, { "--policy", "nope" })
    assert.equal(2, result.status)
    assert.matches("nope", result.stderr, 1, true)
    result = doctor(b, { "--root", "nowhere" })
    assert.equal(2, result.status)
    assert.matches("nowhere: No such file or directory", result.stderr, 1, true)
  end)

  it("is a function of the module too", function()
    local b <close> = box.new()
    local options = { policy = "speccoder", config = { network = "none" }, base = b.outside, env = b.env }
    local result = assert(require("procage").doctor(options))
    assert.equal(0, result.crossed)
    assert.is_true(result.tried > 100)
    assert.equal("none", result.policy.profile.network)
    assert.equal("", box.shell("ls -A " .. box.quote(b.outside)))
  end)
end)
