--- The user's own commands: more is open, and only what stands outside the project is started.

local box = require("spec.support.box")

local function new(config)
  return box.new({ policy = "own-command", config = config })
end

--- A command that is never started says so; `what` is its words.
local function refused(b, what, env, cwd)
  local outcome, message, code, detail = b:try_run(what, { env = env, cwd = cwd })
  assert.is_nil(outcome, what[1])
  assert.matches("in no absolute entry of PATH outside what commands can write: policy own-command", message, 1, true)
  assert.same({ 13, "exec" }, { code, detail.step })
end

describe("a program", function()
  it("in the project is not started, by whatever name, nor what a link leads to in it", function()
    local b <close> = new()
    b:write("workspace/bin/tool", "#!/bin/sh\necho planted\n")
    b:mode("workspace/bin/tool", "755")
    b:mkdir("outside/bin")
    b:symlink(b:path("workspace/bin/tool"), "outside/bin/linked")
    b:symlink(b:path("workspace/bin"), "outside/way")
    local ways = {
      { { "./bin/tool" } },
      { { b:path("workspace/bin/tool") } },
      { { "tool" }, { PATH = b:path("workspace/bin") .. ":/usr/bin" } },
      { { "tool" }, { PATH = "bin:/usr/bin" } },
      { { "tool" }, { PATH = b:path("outside/way") .. ":/usr/bin" } },
      { { "linked" }, { PATH = b:path("outside/bin") .. ":/usr/bin" } },
      { { b:path("outside/bin/linked") }, { PATH = b:path("outside/bin") .. ":/usr/bin" } },
    }
    for _, way in ipairs(ways) do
      local control = b:run_unconfined(way[1], { env = way[2] })
      assert.equal("planted\n", control.stdout, way[1][1])
      refused(b, way[1], way[2])
    end
    local outcome, message, code = b:try_run({ "no-such-program" })
    assert.is_nil(outcome)
    assert.same({ "no-such-program: command not found", 2 }, { message, code })
    -- An empty entry is the working directory.
    local here = { env = { PATH = ":/usr/bin" }, cwd = b:path("workspace/bin") }
    assert.equal("planted\n", b:run_unconfined({ "tool" }, here).stdout)
    refused(b, { "tool" }, { PATH = ":/usr/bin" }, "bin")
  end)

  it("outside it is: by its name, or its path in an entry of PATH", function()
    local b <close> = new()
    b:write("outside/bin/mine", "#!/bin/sh\necho mine $1\n")
    b:mode("outside/bin/mine", "755")
    local env = { PATH = b:path("outside/bin") .. ":/usr/bin:/bin" }
    assert.equal("mine x\n", b:run({ "mine", "x" }, { env = env }).stdout)
    assert.equal("mine y\n", b:run({ b:path("outside/bin/mine"), "y" }, { env = env }).stdout)
    assert.equal("sh\n", b:run({ "sh", "-c", "echo sh" }).stdout)
  end)

  it("in the project shadows none of the system", function()
    local b <close> = new()
    b:write("workspace/bin/id", "#!/bin/sh\necho planted\n")
    b:mode("workspace/bin/id", "755")
    local env = { PATH = b:path("workspace/bin") .. ":/usr/bin:/bin" }
    assert.equal("planted\n", b:run_unconfined({ "id", "-u" }, { env = env }).stdout)
    assert.matches("^%d+\n$", b:run({ "id", "-u" }, { env = env }).stdout)
  end)
end)

describe("an own command", function()
  it("commits, writes the caches and hides credentials all the same", function()
    local b <close> = new()
    b:write("home/.gitconfig", "[user]\n\tname = t\n\temail = t@example.org\n")
    b:write("home/.netrc", "S3CRET")
    b:setup("git init -q .")
    local command = "echo x >x && git add x && git commit -qm x && git config a.b c && echo y >~/.cache/y"
    local outcome = b:run({ "sh", "-c", command })
    assert.equal(0, outcome.status, outcome.stderr)
    assert.matches("x", b:setup("git log --format=%s"), 1, true)
    assert.equal("c", b:setup("git config a.b"))
    assert.not_matches("S3CRET", b:run({ "cat", b:path("home/.netrc") }).stdout, 1, true)
    assert.is_true(b:run({ "sh", "-c", "echo x >$OUTSIDE/x" }).status ~= 0)
  end)

  it("has the network of the host", function()
    local b <close> = new()
    local server <close> = b:listener("tcp", 0)
    local code = "import socket; socket.create_connection(('127.0.0.1', %d), 5).sendall(b'hello')"
    local connect = box.python(code:format(server.port))
    connect[1] = "python3"
    assert.equal(0, b:run(connect).status)
    assert.is_truthy(box.wait_for(3, function()
      return server:received():find("hello", 1, true)
    end))
  end)

  it("ends after its time", function()
    local b <close> = new({ limits = { timeout_ms = 300, grace_ms = 100 } })
    local policy = assert(b:policy())
    local outcome = assert(policy:run({ "sleep", "20" }))
    assert.is_true(outcome.timed_out)
  end)
end)
