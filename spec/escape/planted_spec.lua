--- What one run leaves for the next, or for the user: links, closed directories, repositories. Each by two runs of one box,
--- since the first may do what the second must not gain from.

local box = require("spec.support.box")
local procage = require("procage")

--- Runs `first` and then `second`, each under a policy of its own, as two commands of a user are.
local function twice(b, first, second, config)
  for _, command in ipairs({ first, second }) do
    local policy = assert(procage.policy.load("speccoder", config or {}, { root = b.workspace, home = b.home, env = b.env }))
    assert(policy:run({ "/bin/sh", "-c", command, timeout_ms = 20000 }))
  end
end

local function git(b, args)
  return b:run_unconfined("git -c user.name=T -c user.email=t@example.invalid " .. args)
end

describe("a repository that a run makes", function()
  it("does not keep a hook behind a directory that is closed to listing", function()
    local b <close> = box.new()
    local attack = [[
      git init -q . && printf '#!/bin/sh\ntouch "$OUTSIDE/ran"\n' > .git/hooks/pre-commit
      chmod +x .git/hooks/pre-commit && chmod 0311 .git/hooks]]
    local control <close> = box.new()
    control:run_unconfined(attack)
    git(control, "commit -q --allow-empty -m x")
    assert.is_true(control:exists("outside/ran"))
    b:run(attack)
    git(b, "commit -q --allow-empty -m x")
    assert.is_false(b:exists("outside/ran"))
  end)

  it("does not keep a remote that is a path, nor a list of remotes", function()
    for _, attack in ipairs({
      "git init -q . && git config branch.main.remote lib",
      "git init -q . && mkdir -p .git/branches && echo lib > .git/branches/origin",
    }) do
      local b <close> = box.new()
      b:run(attack)
      assert.is_false(b:exists("workspace/.git"))
    end
    local b <close> = box.new()
    b:run("git init -q . && echo a > a && git add a && git -c user.name=T -c user.email=t@e commit -qm x")
    assert.is_true(b:exists("workspace/.git"))
  end)
end)

describe("a hand-off file", function()
  it("is found behind a workspace that was closed to listing", function()
    local b <close> = box.new()
    b:run("echo evil > .envrc; chmod 0311 .")
    b:mode("workspace", "755")
    assert.is_false(b:exists("workspace/.envrc"))
  end)

  it("does not appear through a link on the way to it", function()
    local b <close> = box.new()
    b:run("mkdir x; echo '{}' > x/tasks.json; ln -s x .vscode")
    assert.is_false(b:exists("workspace/.vscode/tasks.json"))
  end)

  it("is kept where the user's own link leads to it", function()
    local b <close> = box.new()
    b:write("workspace/tools/tasks.json", "mine")
    b:symlink("tools", "workspace/.vscode")
    local control <close> = box.new()
    control:write("workspace/tools/tasks.json", "mine")
    control:run_unconfined("echo evil > tools/tasks.json")
    assert.matches("evil", control:read("workspace/tools/tasks.json"))
    local outcome = b:run("echo evil > tools/tasks.json")
    if box.holds(outcome, "handoff") then
      assert.equal("mine", b:read("workspace/tools/tasks.json"))
    end
  end)

  it("of a nested repository is kept from a run that closed the way to it before", function()
    local b <close> = box.new()
    b:setup("git init -q packages/app")
    twice(b, "chmod 0311 packages", "chmod 0755 packages; echo evil > packages/app/.git/hooks/pre-commit")
    b:setup("chmod 755 packages")
    if box.holds(b:report(), "handoff") then
      assert.is_false(b:exists("workspace/packages/app/.git/hooks/pre-commit"))
    end
  end)
end)

describe("a second run", function()
  it("is granted nothing through a link that the first put at a writable path", function()
    local b <close> = box.new()
    b:mkdir("workspace/out")
    b:mkdir("home/.config")
    for _, command in ipairs({ "rmdir out; ln -s ~/.config out", "echo x > ~/.config/x" }) do
      b:cli({ "-q", "--allow-write", b:path("workspace/out") }, command)
    end
    assert.is_false(b:exists("home/.config/x"))
  end)

  it("reads its configuration from a file that the first could not change", function()
    local b <close> = box.new()
    b:mkdir("home/shared")
    b:mkdir("home/.config")
    b:write("home/shared/pc.json", '{"writable":["~/shared"]}')
    local evil = [[echo '{"writable":["~/shared","~/.config"]}' > ~/shared/pc.json]]
    for _, command in ipairs({ evil, "echo x > ~/.config/x" }) do
      b:cli({ "-q", "--config", b:path("home/shared/pc.json") }, command)
    end
    -- Without mounts the file is writable, as any in a writable tree: gap carve, which this command line's report names.
    if box.host().mountns then
      assert.is_false(b:exists("home/.config/x"))
    end
  end)

  it("gets no file of the user's as its input through a link", function()
    local b <close> = box.new()
    b:write("home/.ssh/id", "SECRET")
    b:write("workspace/input.txt", "input")
    local policy = assert(b:policy())
    local first = assert(policy:run({ "cat", stdin = { file = b:path("workspace/input.txt") } }))
    assert.equal("input", first.stdout)
    assert(policy:run({ "sh", "-c", "rm input.txt; ln -s ~/.ssh/id input.txt" }))
    local outcome, message = policy:run({ "cat", stdin = { file = b:path("workspace/input.txt") } })
    assert.is_nil(outcome)
    assert.matches("input.txt", message, 1, true)
  end)

  it("keeps read-only what its owner made between the two", function()
    local b <close> = box.new({ config = {} })
    b.options.config = { read_only = { b:path("workspace/conf/prod.cfg") } }
    b:mkdir("workspace/conf")
    local policy = assert(b:policy())
    assert(policy:run({ "true" }))
    b:write("workspace/conf/prod.cfg", "mine")
    assert(policy:run({ "sh", "-c", "echo evil > conf/prod.cfg" }))
    if box.holds(b:report(), "read_only") then
      assert.equal("mine", b:read("workspace/conf/prod.cfg"))
    end
  end)
end)

describe("a file that a run leaves", function()
  it("is not set-user-ID", function()
    local b <close> = box.new()
    local attack = "cp /bin/true t; chmod 4755 t; chmod u+s t; chmod 755 t"
    b:run("cp /bin/true t; chmod 4755 t; python3 -c 'import os; os.chmod(\"t\", 0o4755)'; true")
    assert.is_nil(b:stat("workspace/t", "%a"):match("^4%d%d%d$"))
    local control <close> = box.new()
    control:run_unconfined("cp /bin/true t; chmod 4755 t")
    assert.equal("4755", control:stat("workspace/t", "%a"))
    assert.equal("755", (b:run(attack) and b:stat("workspace/t", "%a")))
  end)
end)

describe("a datagram pair", function()
  it("is in the run's network namespace", function()
    box.skip_unless("netns")
    box.skip_without("python3")
    local b <close> = box.new()
    local program = [[
import fcntl, socket, struct
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.send(b"x")
print(b.recv(1), len(fcntl.ioctl(a.fileno(), 0x8912, struct.pack("iL", 0, 0))))
names = [n for _, n in socket.if_nameindex()]
print(names)
]]
    local outcome = b:run(box.python(program))
    assert.matches("b'x'", outcome.stdout, 1, true)
    assert.matches("['lo']", outcome.stdout, 1, true)
  end)
end)

describe("a lease", function()
  it("on a file outside makes nobody wait", function()
    box.skip_without("python3")
    local program = [[
import fcntl, os
try:
    fcntl.fcntl(os.open(os.environ["OUTSIDE"] + "/f", os.O_RDONLY), 1024, fcntl.F_WRLCK)
    print("taken")
except OSError as e:
    print("refused")
]]
    local b <close> = box.new()
    b:write("outside/f", "x")
    assert.matches("taken", b:run_unconfined(box.python(program)).stdout, 1, true)
    assert.is_nil(b:run(box.python(program)).stdout:find("taken", 1, true))
  end)
end)
