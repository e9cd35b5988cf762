--- Spettro's sandbox against the kernel: what its modes close, and that its answers for tools in the harness are the kernel's.

local box = require("spec.support.box")
local spettro = require("procage.spettro")
local generator = require("spec.support.random")

--- What a host without mounts leaves out. Nothing of it is accepted unless a test says so.
local GAPS = { "metadata", "stat", "carve", "process_tree", "signal_scope", "truncate", "device_ioctl" }

--- Whether this host holds everything.
local function holds_all()
  local host = box.host()
  return host.mountns and host.pidns and host.landlock_abi >= 1
end

local function load(b, options)
  options.root, options.home, options.env = b.workspace, b.home, b.env
  options.accept = options.accept or not holds_all() and GAPS or nil
  return assert(spettro.load(options))
end

local function run(sandbox, command)
  return assert(sandbox:run({ "/bin/sh", "-c", command, timeout_ms = 20000 }))
end

describe("workspace-write", function()
  it("writes the workspace, temporary directories and what is added, and nothing else", function()
    local b <close> = box.new({ host_env = { TMPDIR = "/tmp" } })
    b:mkdir("outside/added")
    b:mkdir("outside/mytmp")
    b.env.TMPDIR = b:path("outside/mytmp")
    local name = "procage-" .. b.root:match("[^.]*$")
    local writes = {
      { "$WS/x", true }, { "$WS/a/b/c", true }, { "$OUTSIDE/added/x", true }, { "/tmp/" .. name, true },
      { "$TMPDIR/x", true }, { "/dev/shm/" .. name, true }, { "/dev/null", true },
      { "$OUTSIDE/x", false }, { "~/x", false }, { "/var/tmp/" .. name, false }, { "~/.cache/x", false },
    }
    b:mkdir("home/.cache")
    b:mkdir("workspace/a/b")
    local sandbox = load(b, { mode = "workspace-write", allow_dirs = { b:path("outside/added") } })
    for _, write in ipairs(writes) do
      local command = ("f=%s; echo x >$f && { test -c $f || { cat $f && rm $f; }; }"):format(write[1])
      assert.equal(0, b:run_unconfined(command).status, write[1])
      assert.equal(write[2], run(sandbox, command).status == 0, write[1])
    end
  end)

  it("shares /tmp with the host, both ways, and says where it is", function()
    local b <close> = box.new()
    local sandbox = load(b, { mode = "workspace-write" })
    local name = "/tmp/procage-" .. b.root:match("[^.]*$")
    box.shell("echo host >" .. name)
    assert.equal("host\n\n", run(sandbox, ("cat %s && echo run >%s && echo $TMPDIR"):format(name, name)).stdout)
    assert.equal("run", box.shell(("cat %s; rm %s"):format(name, name)))
  end)

  it("reads the system and the workspace, and neither the rest nor its listing", function()
    local b <close> = box.new()
    local sandbox = load(b, { mode = "workspace-write" })
    local closed = { "ls /srv", "ls /home", "ls /mnt", "ls /" }
    for _, command in ipairs(closed) do
      assert.equal(0, b:run_unconfined(command).status, command)
      assert.is_true(run(sandbox, command).status ~= 0, command)
    end
    assert.equal(0, run(sandbox, "cat /etc/passwd /proc/self/status && ls /usr/bin /etc /dev /sys /var >/dev/null").status)
  end)

  it("hides credentials in what it reads, and drops variables that look like secrets", function()
    local b <close> = box.new({ host_env = { A_TOKEN = "S3CRET" } })
    b:write("home/.ssh/id", "S3CRET")
    local sandbox = load(b, { mode = "workspace-write", allow_read_dirs = { "~" } })
    local command = "cat ~/.ssh/id; echo $A_TOKEN"
    assert.equal("S3CRETS3CRET\n", b:run_unconfined(command).stdout)
    assert.not_matches("S3CRET", run(sandbox, command).stdout, 1, true)
  end)

  it("keeps its own manifest as it is", function()
    local b <close> = box.new()
    local manifest = b:write("workspace/spettro.agents.toml", '[runtime]\nsandbox_mode = "workspace-write"\n')
    local sandbox = load(b, { manifest = manifest })
    assert.equal("sandbox:ws", sandbox.tag)
    local outcome = run(sandbox, "echo x >x; f=spettro.agents.toml; echo >>$f; rm -f $f; echo o >o && mv o $f")
    assert.equal("x\n", b:read("workspace/x"))
    if box.report_row(outcome, "read_only").state == "enforced" then
      assert.equal('[runtime]\nsandbox_mode = "workspace-write"\n', b:read("workspace/spettro.agents.toml"))
    end
  end)

  it("refuses hand-off files that do not exist yet, when it is to", function()
    local b <close> = box.new({ policy = "workspace-write" })
    local accept = not holds_all() and { "trust_handoff", table.unpack(GAPS) } or nil
    b.options.config = { handoff_absent = "refuse", accept = accept }
    local outcome = b:run("echo x >.envrc; mkdir .vscode && echo x >.vscode/tasks.json; echo x >spettro.agents.toml; echo x >x")
    assert.equal("x\n", b:read("workspace/x"))
    if box.holds(outcome, "handoff_absent") then
      for _, name in ipairs({ ".envrc", ".vscode/tasks.json", "spettro.agents.toml" }) do
        assert.is_false(b:exists("workspace/" .. name), name)
      end
    end
  end)

  it("has no way to sockets that others bound in the shared /tmp", function()
    box.skip_without("python3")
    local b <close> = box.new()
    local directory = box.shell("mktemp -d /tmp/procage-spec.XXXXXX")
    local server = b:listener("stream", directory .. "/socket")
    local connect = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b'hello')"
    local command = ("/usr/bin/python3 -I -c %s %s/socket"):format(box.quote(connect), directory)
    assert.equal(0, b:run_unconfined(command).status)
    local sandbox = load(b, { mode = "workspace-write" })
    local before = server:received()
    assert.is_true(run(sandbox, command).status ~= 0)
    assert.is_true(run(sandbox, ("mv %s/socket %s/other; mv %s %s-away; "):format(directory, directory, directory, directory)
      .. command:gsub("/socket$", "/other")).status ~= 0)
    box.sleep(0.2)
    assert.equal(before, server:received())
    server:stop()
    box.shell(("rm -rf %s %s-away"):format(directory, directory))
  end)
end)

describe("read-only", function()
  it("does not write the workspace, wherever it lies", function()
    for _, under in ipairs({ false, "/tmp" }) do
      local b <close> = box.new({ under = under or nil })
      b:write("workspace/file", "as it was")
      -- Home lies in /tmp too there, and what is hidden in it is hidden less well.
      local accept = under and { "replace", table.unpack(holds_all() and {} or GAPS) } or nil
      local sandbox = load(b, { mode = "read-only", accept = accept })
      assert.equal("sandbox:ro", sandbox.tag)
      local attacks = {
        "echo x >file", "echo x >new", "rm file", "mv file other", "mkdir d", "ln -s x y", "truncate -s 0 file",
        "touch -t 200001010000 file", "mv ../workspace ../moved", "git init -q .",
      }
      local before = b:setup("ls -la --time-style=full-iso . && cat file")
      local first = run(sandbox, "cat file")
      assert.equal("as it was", first.stdout)
      -- Without mounts it cannot be held inside a writable /tmp, and the report says so.
      local holds = box.report_row(first, "read_only").state == "enforced"
      for _, attack in ipairs(attacks) do
        if holds and (attack:sub(1, 5) ~= "touch" or box.report_row(first, "metadata").state == "enforced") then
          run(sandbox, attack)
          assert.equal(before, b:setup("ls -la --time-style=full-iso . && cat file"), attack)
        end
      end
    end
  end)

  it("writes what is added, and temporary files", function()
    local b <close> = box.new()
    b:mkdir("outside/added")
    local sandbox = load(b, { mode = "read-only", allow_dirs = { b:path("outside/added") }, net = "none" })
    assert.equal("sandbox:ro+net:none", sandbox.tag)
    assert.equal(0, run(sandbox, "echo x >$OUTSIDE/added/x && t=$(mktemp) && echo x >$t && rm $t && echo x >/dev/null").status)
  end)
end)

describe("a host that cannot hold it all", function()
  it("runs nothing, and says what is missing", function()
    local hosts = require("spec.support.hosts")
    local b <close> = box.new()
    for _, name in ipairs({ "rhel_no_userns", "kernel_5_10" }) do
      if name == "rhel_no_userns" or holds_all() then
        local sandbox = assert(spettro.load({
          root = b.workspace, home = b.home, env = b.env, mode = "workspace-write", host = hosts[name],
        }))
        local outcome, message = sandbox:run({ "true" })
        assert.is_nil(outcome)
        assert.matches("^SANDBOX%-UNAVAILABLE: not accepted: ", message)
      end
    end
    local result = b:cli({ "--sandbox", "workspace-write" }, "echo ran")
    assert.equal(holds_all() and 0 or 126, result.status)
    assert.equal(holds_all() and "ran\n" or "", result.stdout)
  end)
end)

local CONNECT = "/usr/bin/python3 -I -c 'import socket; socket.create_connection((\"127.0.0.1\", %d), 5)'"

describe("the network", function()
  it("is confined by itself where files are not", function()
    local b <close> = box.new()
    local server <close> = b:listener("tcp", 0)
    local connect = CONNECT:format(server.port)
    local sandbox = load(b, { net = "none" })
    assert.equal("sandbox:net:none", sandbox.tag)
    assert.equal(0, run(sandbox, "echo x >$OUTSIDE/x && echo x >~/y && ls / >/dev/null").status)
    assert.equal("x\n", b:read("outside/x"))
    assert.equal(0, b:run_unconfined(connect).status)
    assert.is_true(run(sandbox, connect).status ~= 0)
    assert.is_true(sandbox:writable_path(b:path("outside/other")))
  end)

  it("is the host's unless something else is said", function()
    local b <close> = box.new()
    local server <close> = b:listener("tcp", 0)
    local connect = CONNECT:format(server.port)
    assert.equal(0, run(load(b, { mode = "read-only" }), connect).status)
  end)
end)

describe("the command's streams", function()
  it("hold the command's output and nothing of ours", function()
    local b <close> = box.new()
    local args = { "--sandbox", "workspace-write", "--sandbox-net", "none" }
    if not holds_all() then
      args[#args + 1] = '--set=accept=["' .. table.concat(GAPS, '","') .. '"]'
    end
    local command = "unshare -U true 2>/dev/null; mkdir -p .envrc; echo out; echo err >&2; exit 5"
    assert.matches("procage", b:cli({}, command).stderr, 1, true)
    local result = b:cli(args, command)
    assert.same({ "out\n", "err\n", 5 }, { result.stdout, result.stderr, result.status })
  end)
end)

describe("the command line", function()
  it("reads a manifest, and wins over it", function()
    local b <close> = box.new()
    b:write("workspace/spettro.agents.toml", '[runtime]\nsandbox_mode = "read-only"\nsandbox_net = "none"\n')
    local accept = holds_all() and {} or { '--set=accept=["' .. table.concat(GAPS, '","') .. '"]' }
    local function cli(args, command)
      for _, word in ipairs(accept) do
        args[#args + 1] = word
      end
      return b:cli(args, command)
    end
    local manifest = { "--config", "spettro.agents.toml" }
    assert.is_true(cli({ table.unpack(manifest) }, "echo x >new").status ~= 0)
    assert.is_false(b:exists("workspace/new"))
    manifest[3], manifest[4] = "--sandbox", "workspace-write"
    assert.equal(0, cli({ table.unpack(manifest) }, "echo x >new").status)
    assert.equal("x\n", b:read("workspace/new"))
    local off = b:cli({ "--sandbox", "off" }, "echo x >$OUTSIDE/x")
    assert.equal("x\n", b:read("outside/x"))
    assert.matches("nothing is confined", off.stderr, 1, true)
    assert.equal(2, b:cli({ "--sandbox", "readonly" }, "true").status)
  end)
end)

-- ---- The same answer as the kernel's --------------------------------------------------------------------------------------

local NAMES = { "a", "b", "c", "d" }

--- Directories, files and links of every kind in workspace, outside, home and added; the places to ask about.
local function make_tree(b, random)
  local places, directories = {}, {
    "workspace", "outside", "home", "added", "workspace/a", "workspace/a/b", "outside/a", "added/a", "home/.ssh",
  }
  local lines = { "cd " .. box.quote(b.root) }
  for _, directory in ipairs(directories) do
    lines[#lines + 1] = "mkdir -p " .. directory
  end
  for _ = 1, 14 do
    local at = directories[random(#directories)] .. "/" .. NAMES[random(#NAMES)]
    local target = directories[random(#directories)] .. "/" .. NAMES[random(#NAMES)]
    local makers = {
      "[ -e %s ] || echo x >%s", "mkdir -p %s", "[ -e %s ] || ln -s " .. b.root .. "/" .. target .. " %s",
      "[ -e %s ] || ln -s ../" .. target:match("[^/]*$") .. " %s", "[ -e %s ] || ln -s nowhere/deep %s",
    }
    lines[#lines + 1] = makers[random(#makers)]:gsub("%%s", at) .. " 2>/dev/null"
    places[#places + 1] = at
    places[#places + 1] = at .. "/" .. NAMES[random(#NAMES)]
    places[#places + 1] = at .. "/../" .. NAMES[random(#NAMES)]
  end
  b:setup("git init -q . && " .. table.concat(lines, "\n") .. "\ntrue")
  for _, more in ipairs({ ".git/config", ".git/new", "spettro.agents.toml", "new" }) do
    places[#places + 1] = "workspace/" .. more
  end
  for i, place in ipairs(places) do
    places[i] = b.root .. "/" .. place
  end
  for _, place in ipairs({ "/etc/passwd", "/dev/null", "/dev/zero", "/usr/bin/env", "/proc/self/comm", "/", "/tmp" }) do
    places[#places + 1] = place
  end
  return places
end

--- Tries each in the order given: 1 when it can be opened for writing or made. What was made is removed, nothing is changed.
local ASK = [[
import os, sys
answers = []
for name in sys.argv[1:]:
    real = os.path.realpath(name)
    there = os.path.lexists(real)
    above, missing = os.path.dirname(real), []
    while not os.path.lexists(above):
        missing.append(above)
        above = os.path.dirname(above)
    try:
        if ".." not in name.split("/") or os.path.isdir(name[:name.rindex("/..") + 3]):
            for directory in reversed(missing):
                os.mkdir(directory)
        if os.path.isdir(name):
            probe = os.path.join(name, "procage-probe")
            os.close(os.open(probe, os.O_WRONLY | os.O_CREAT, 0o600))
            os.unlink(probe)
        else:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600))
            if not there:
                os.unlink(real)
        answers.append("1")
    except OSError:
        answers.append("0")
    for directory in missing:
        if os.path.isdir(directory):
            os.rmdir(directory)
print(" ".join(answers))
]]

describe("writable_path", function()
  -- 2 seeds here; 100 were tried when this was written.
  it("answers as the kernel does, on generated trees", function()
    box.skip_without("python3")
    local yes, no = 0, 0
    for seed = 1, tonumber(os.getenv("PROCAGE_SEEDS") or "2") do
      for _, mode in ipairs({ "workspace-write", "read-only" }) do
        local b <close> = box.new()
        b:write("workspace/spettro.agents.toml", "")
        b:mkdir("added")
        local places = make_tree(b, generator(seed))
        local sandbox = load(b, {
          mode = mode, manifest = b:path("workspace/spettro.agents.toml"), allow_dirs = { b:path("added") },
        })
        local predicted = {}
        for i, place in ipairs(places) do
          predicted[i] = sandbox:writable_path(place)
        end
        local outcome = assert(sandbox:run({ "/usr/bin/python3", "-I", "-c", ASK, table.unpack(places) }))
        local i = 0
        for answer in outcome.stdout:gmatch("%d") do
          i = i + 1
          assert.equal(answer == "1", predicted[i], ("seed %d %s: %s"):format(seed, mode, places[i]))
          yes, no = yes + (answer == "1" and 1 or 0), no + (answer == "0" and 1 or 0)
        end
        assert.equal(#places, i, outcome.stderr)
      end
    end
    assert.is_true(yes > 20 and no > 20, ("%d %d"):format(yes, no))
  end)

  it("is what a refusal of a tool is made of", function()
    local b <close> = box.new()
    local sandbox = load(b, { mode = "read-only" })
    assert.is_true(sandbox:check("file-write", "/tmp/procage-nothing"))
    local ok, message = sandbox:check("file-edit", b:path("workspace/x"))
    assert.is_nil(ok)
    assert.equal(("file-edit: %s/x is not writable"):format(b.workspace), message)
    assert.has_error(function()
      sandbox:writable_path("relative")
    end, "writable_path: an absolute path is expected")
  end)
end)

describe("a sandbox", function()
  it("does not change once it is made", function()
    local b <close> = box.new()
    local sandbox = load(b, { mode = "read-only" })
    assert.has_error(function()
      sandbox.mode = "off"
    end, "a sandbox does not change once it is made")
    assert.is_false(getmetatable(sandbox))
    local _, fitted = sandbox:explain()
    fitted.write[#fitted.write + 1] = b.workspace
    assert.is_true(run(sandbox, "echo x >x").status ~= 0)
    assert.is_nil(sandbox.policy)
  end)
end)
