--- Which configuration the program believes: the one that is named, the user's own, and of the workspace's what narrows.

local box = require("spec.support.box")

local TRY = 'echo x > "$OUTSIDE/file"'

--- Whether a command wrote outside, and what the program said.
local function writes(b, args)
  b:setup("rm -f $OUTSIDE/file")
  local result = b:cli(args or {}, TRY)
  return b:exists("outside/file"), result
end

local function grant(b)
  return ('[sandbox]\nwritable = ["%s"]\n'):format(b.outside)
end

describe("procage-lua run", function()
  it("grants what a named TOML file says, and keeps that file from the command", function()
    local b <close> = box.new()
    local file = b:write("workspace/my.toml", grant(b))
    assert.is_false((writes(b)))
    assert.is_true((writes(b, { "--config", file })))
    assert.is_true((writes(b, { "--config", "my.toml" })))
    b:write("workspace/my.json", ('{"writable":["%s"]}'):format(b.outside))
    assert.is_true((writes(b, { "--config", "my.json" })))
    local result = b:cli({ "--config", "my.toml" }, "echo >> my.toml; echo >> other; ls")
    if not result.stderr:find("carve", 1, true) then
      assert.equal(grant(b), b:read("workspace/my.toml"))
    end
    assert.matches("other", result.stdout, 1, true)
  end)

  it("grants what the user's own file says, without being told", function()
    local b <close> = box.new()
    b:write("home/.config/procage/config.toml", grant(b))
    assert.is_true((writes(b)))
    -- Another file that is named is all that counts.
    b:write("outside/empty.toml", "")
    assert.is_false((writes(b, { "--config", b:path("outside/empty.toml") })))
    b.env.XDG_CONFIG_HOME = b:path("outside/xdg")
    assert.is_false((writes(b)))
    b:write("outside/xdg/procage/config.toml", grant(b))
    assert.is_true((writes(b)))
  end)

  it("shows what the workspace's file would grant, and how to accept it", function()
    local b <close> = box.new()
    local file = b:write("workspace/speccoder.toml", grant(b) .. 'network = "all"\nhidden = ["/etc/hostname"]\n')
    local got, result = writes(b)
    assert.is_false(got)
    local told = 'procage: %s may only narrow; not granted: network = "all", writable = ["%s"]; to accept it: --config %s\n'
    local line = told:format(file, b.outside, file)
    assert.matches(line, result.stderr, 1, true)
    assert.is_true((writes(b, { "--config", file })))
    assert.not_matches("may only narrow", b:cli({ "-q" }, "true").stderr, 1, true)
    -- What it takes away is taken away.
    assert.equal("", b:cli({}, "cat /etc/hostname 2>/dev/null").stdout)
  end)

  it("lets the workspace's file narrow the user's own, and the command line have the last word", function()
    local b <close> = box.new()
    local server = b:listener("tcp", 0)
    local client = box.python(([[
import socket
socket.create_connection(("127.0.0.1", %d), 2)
print("reached")]]):format(server.port))
    assert.matches("reached", b:run_unconfined(client).stdout, 1, true)
    b:write("home/.config/procage/config.toml", '[sandbox]\nnetwork = "all"\n')
    assert.matches("reached", b:cli({}, client).stdout, 1, true)
    b:write("workspace/speccoder.toml", '[sandbox]\nnetwork = "off"\n')
    assert.equal("", b:cli({}, client).stdout)
    assert.matches("reached", b:cli({ "--net", "all" }, client).stdout, 1, true)
  end)

  it("does not believe the user's own file where commands can write it", function()
    local b <close> = box.new()
    b.env.HOME, b.home = b.workspace, b.workspace
    local file = b:write("workspace/.config/procage/config.toml", grant(b))
    local got, result = writes(b)
    assert.is_false(got)
    assert.matches(file .. " may only narrow", result.stderr, 1, true)
  end)

  it("leaves no configuration that a command wrote, for the next run to believe", function()
    local b <close> = box.new()
    b.env.HOME, b.home = b.workspace, b.workspace
    b:cli({}, "mkdir -p .config/procage; echo '[sandbox]' > .config/procage/config.toml; echo '[sandbox]' > speccoder.toml")
    assert.is_false(b:exists("workspace/.config/procage/config.toml"))
    assert.is_false(b:exists("workspace/speccoder.toml"))
  end)

  it("stops at a mistake in any of them, with file and line", function()
    local b <close> = box.new()
    local bad = "[sandbox]\n\nnetwrok = 'off'\n"
    for name, args in pairs({
      ["workspace/speccoder.toml"] = {},
      ["home/.config/procage/config.toml"] = {},
      ["outside/my.toml"] = { "--config", b:path("outside/my.toml") },
    }) do
      local file = b:write(name, bad)
      local result = b:cli(args, "echo ran")
      assert.equal(2, result.status)
      assert.equal("", result.stdout)
      assert.matches(file .. ":3: sandbox.netwrok: unknown key (did you mean network?)", result.stderr, 1, true)
      b:setup("rm " .. box.quote(file))
    end
    b:symlink("/etc/passwd", "workspace/speccoder.toml")
    local result = b:cli({}, "echo ran")
    assert.equal(2, result.status)
    assert.matches("a file is expected, not a link", result.stderr, 1, true)
    assert.not_matches("root:", result.stderr, 1, true)
  end)

  it("runs plainly where nothing can confine only when whoever is believed says so in so many words", function()
    box.skip_without("strace")
    local b <close> = box.new()
    local build = os.getenv("PROCAGE_BUILD") or "build/dev"
    build = build:sub(1, 1) == "/" and build or box.shell("pwd -P") .. "/" .. build
    -- A machine with neither Landlock nor user namespaces.
    -- A sanitizer cannot look for lost memory below a tracer, and then says so by its status.
    local poor = { "env", "ASAN_OPTIONS=detect_leaks=0", build .. "/no_userns", "strace", "-f", "-qq", "-o", "/dev/null" }
    local faults = { "-e", "trace=landlock_create_ruleset", "-e", "inject=landlock_create_ruleset:error=ENOSYS" }
    table.move(faults, 1, #faults, #poor + 1, poor)
    for _, word in ipairs({ build .. "/bin/procage-lua", "run" }) do
      poor[#poor + 1] = word
    end
    local function run(args)
      local words = table.move(args, 1, #args, #poor + 1, table.move(poor, 1, #poor, 1, {}))
      return b:run_unconfined(table.move({ "--", "/bin/sh", "-c", TRY }, 1, 4, #words + 1, words))
    end
    b:write("outside/auto.toml", "[sandbox]\nmode = 'auto'\n")
    b:write("outside/silent.toml", "[sandbox]\n")
    b:write("workspace/speccoder.toml", "[sandbox]\nmode = 'auto'\n")
    for _, args in ipairs({ {}, { "--config", b:path("outside/silent.toml") }, { "--set", "mode=required" } }) do
      local result = run(args)
      assert.equal(126, result.status)
      assert.matches("SANDBOX-UNAVAILABLE: ", result.stderr, 1, true)
      assert.is_false(b:exists("outside/file"))
    end
    local result = run({ "--config", b:path("outside/auto.toml") })
    assert.equal(0, result.status, result.stderr)
    assert.matches("procage: nothing is confined: ", result.stderr, 1, true)
    assert.is_true(b:exists("outside/file"))
  end)

  it("gives the network to a command that the configuration names", function()
    local b <close> = box.new()
    local server = b:listener("tcp", 0)
    local text = ([[
import socket
socket.create_connection(("127.0.0.1", %d), 2)
print("reached")]]):format(server.port)
    b:write("workspace/client.py", text)
    b:write("outside/my.toml", '[sandbox]\nnetwork_allow = [["python3", "client.py"]]\n')
    local config = { "--config", b:path("outside/my.toml") }
    assert.matches("reached", b:cli(config, { "python3", "client.py" }).stdout, 1, true)
    assert.equal("", b:cli(config, { "python3", "./client.py" }).stdout)
    assert.equal("", b:cli({ "--net", "none", table.unpack(config) }, { "python3", "client.py" }).stdout)
    b.env.PATH = b.workspace .. "/bin:" .. b.env.PATH
    b:setup("mkdir $WS/bin && cp /usr/bin/python3 $WS/bin/python3")
    local result = b:cli(config, { "python3", "client.py" })
    assert.equal("", result.stdout)
    assert.matches("no network for python3", result.stderr, 1, true)
  end)
end)
