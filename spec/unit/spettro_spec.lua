local policies = require("spec.support.policies")
local spettro = require("procage.spettro")
local throwaway = require("spec.support.throwaway")

--- What the command line and a manifest come to, both as settings.
local function resolve(flags, manifest, base)
  local layers = assert(spettro.layers(flags or {}, nil, base or "/"))
  if manifest then
    layers[2] = {
      settings = manifest,
      name = function(key)
        return "spettro.agents.toml: runtime." .. key
      end,
      base = base or "/",
    }
  end
  return spettro.resolve(layers, "/etc")
end

describe("Spettro's settings", function()
  it("are off and all when nobody says anything", function()
    for _, flags in ipairs({ {}, { sandbox_mode = "", sandbox_net = " " } }) do
      local found = assert(resolve(flags, { sandbox_mode = "" }))
      assert.same({ mode = "off", network = "all", writable = {}, readable = {} }, found)
      assert.is_nil(spettro.tag(found))
    end
  end)

  it("are the command line's over the manifest's, mode and network each by itself", function()
    local manifest = { sandbox_mode = "workspace-write", sandbox_net = "none" }
    local rows = {
      { {}, "workspace-write", "none", "sandbox:ws+net:none" },
      { { sandbox_mode = "off" }, "off", "none", "sandbox:net:none" },
      { { sandbox_mode = "read-only" }, "read-only", "none", "sandbox:ro+net:none" },
      { { sandbox_net = "all" }, "workspace-write", "all", "sandbox:ws" },
      { { sandbox_net = "localhost" }, "workspace-write", "loopback", "sandbox:ws+net:lo" },
      { { sandbox_mode = "full-access", sandbox_net = "all" }, "off", "all", nil },
    }
    for _, row in ipairs(rows) do
      local found = assert(resolve(row[1], manifest))
      assert.same({ row[2], row[3] }, { found.mode, found.network })
      assert.equal(row[4], spettro.tag(found))
    end
  end)

  it("take any letter case and blanks, and ports once each in order", function()
    local found = assert(resolve({ sandbox_mode = " Workspace-Write ", sandbox_net = "PORTS: 8080, 443,,8080" }))
    assert.same({ "workspace-write", { ports = { 443, 8080 } } }, { found.mode, found.network })
    assert.equal("sandbox:ws+net:443,8080", spettro.tag(found))
  end)

  it("name their mistakes, and where they stand", function()
    local rows = {
      { { sandbox_mode = "readonly" }, nil,
        '--sandbox: expected one of off, full-access, workspace-write, read-only, got "readonly" (did you mean read-only?)' },
      { { sandbox_net = "port:443" }, nil,
        '--sandbox-net: expected one of all, localhost, none, ports:443,8080, got "port:443"' },
      { { sandbox_net = "ports:0" }, nil, '--sandbox-net: expected a port, 1..65535, or ports joined by commas, got "0"' },
      { { sandbox_net = "ports:1e3" }, nil, "expected a port" },
      { { sandbox_net = "ports:," }, nil, "lists no ports" },
      { {}, { sandbox_mode = "x" }, "spettro.agents.toml: runtime.sandbox_mode: expected one of" },
      { { sandbox_allow_dirs = { "/nowhere/x" } }, nil, "--sandbox-allow-dir[1]: /nowhere/x: no such file or directory" },
      { {}, { sandbox_allow_read_dirs = { "/usr", "/etc/passwd" } },
        "spettro.agents.toml: runtime.sandbox_allow_read_dirs[2]: /etc/passwd: not a directory" },
    }
    for _, row in ipairs(rows) do
      local found, message = resolve(row[1], row[2])
      assert.is_nil(found)
      assert.matches(row[3], message, 1, true)
    end
  end)

  it("list the union of the directories, with ~ and from where they were written", function()
    local dir <close> = throwaway.directory()
    throwaway.shell("mkdir -p " .. dir.path .. "/a/b")
    local found = assert(resolve(
      { sandbox_allow_dirs = { "a", "~", dir.path .. "/a" } },
      { sandbox_allow_dirs = { "a/../a/b", "" }, sandbox_allow_read_dirs = { "/usr" } },
      dir.path
    ))
    assert.same({ dir.path .. "/a", "/etc", dir.path .. "/a/b" }, found.writable)
    assert.same({ "/usr" }, found.readable)
  end)
end)

describe("Spettro's manifest", function()
  it("gives four keys of [runtime], and its others are its own", function()
    local settings = assert(spettro.read_manifest([=[
version = 14
[runtime]
default_permission = "ask-first"
sandbox_mode = "read-only"
sandbox_net = "ports:443"
sandbox_allow_dirs = ["/data"]
sandbox_allow_read_dirs = ["~/go/pkg/mod"]
[runtime.delegation]
max_depth = 2
[[agents]]
id = "plan"
]=], "m.toml"))
    assert.same({
      sandbox_mode = "read-only", sandbox_net = "ports:443", sandbox_allow_dirs = { "/data" },
      sandbox_allow_read_dirs = { "~/go/pkg/mod" },
    }, settings)
    assert.same({}, (spettro.read_manifest("version = 3\n", "m.toml")))
  end)

  it("names its mistakes with the line", function()
    local rows = {
      { "[runtime]\n\nsandbox_mod = 'off'\n", "m.toml:3: runtime.sandbox_mod: unknown key (did you mean sandbox_mode?)" },
      { "[runtime]\nsandbox_net = 5\n", "m.toml:2: runtime.sandbox_net: expected a text, got 5" },
      { "[runtime]\nsandbox_allow_dirs = '/data'\n", "m.toml:2: runtime.sandbox_allow_dirs: expected a list, got" },
      { "[runtime]\nsandbox_allow_dirs = [1]\n", "m.toml:2: runtime.sandbox_allow_dirs[1]: expected a text, got 1" },
      { "runtime = 1\n", "m.toml:1: runtime: expected a table" },
      { "[runtime\n", "m.toml:1: " },
    }
    for _, row in ipairs(rows) do
      local settings, message = spettro.read_manifest(row[1], "m.toml")
      assert.is_nil(settings)
      assert.matches(row[2], message, 1, true)
    end
  end)
end)

describe("Spettro's flags", function()
  local options = require("procage.cli.options")
  local side = require("procage.cli.spettro")

  --- Whether words of the command line mean its policy, off at first, in place of the default.
  local function is_meant(...)
    return side.is_meant(assert(options.parse({ "run", ... })).options)
  end

  it("mean its policy, and nothing else does", function()
    assert.is_false(is_meant("--", "true"))
    assert.is_false(is_meant("--net", "none", "--allow-write", "x", "--config", "speccoder.toml", "--", "true"))
    assert.is_true(is_meant("--sandbox", "off", "--", "true"))
    assert.is_true(is_meant("--sandbox-net", "none", "--", "true"))
    assert.is_true(is_meant("--sandbox-allow-dir", "x", "--", "true"))
    assert.is_true(is_meant("--sandbox-allow-read-dir", "x", "--", "true"))
    assert.is_true(is_meant("--config", "a/spettro.agents.toml", "--", "true"))
    assert.is_true(is_meant("--policy", "spettro", "--", "true"))
  end)

  it("are not mixed with another policy", function()
    local file, message = side.file({ policy = "speccoder", sandbox = { sandbox_mode = "read-only" } }, "/", "/")
    assert.is_nil(file)
    assert.matches("these are of the policy spettro, not of speccoder", message, 1, true)
  end)
end)

describe("Spettro's policies", function()
  local function build(name, settings, fields)
    fields = fields or {}
    fields.git_files, fields.top = fields.git_files or { "/home/u/.gitconfig" }, { "/home", "/etc" }
    return assert(policies.build(name, settings, fields))
  end

  it("read the system, the workspace and what is added, accept nothing and share /tmp", function()
    for _, name in ipairs({ "read-only", "workspace-write" }) do
      local p = build(name, { network = "none", readable = { "~/go" } }, { tmp = "/mnt/tmp" })
      assert.same({
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/proc", "/sys", "/dev", "/run", "/var",
        "/home/u/src/app", "/home/u/.gitconfig", "/home/u/go",
      }, p.read, name)
      assert.same({ {}, "shared", "none", {} }, { p.accept, p.tmp, p.network, p.handoff })
      assert.equal("/home/u/src/app", p.workspace)
    end
    assert.same({ "/tmp", "/dev/shm", "/mnt/tmp" }, build("read-only", {}, { tmp = "/mnt/tmp" }).write)
    assert.same({ "/home/u/src/app", "/tmp", "/dev/shm" }, build("workspace-write").write)
    assert.same({ "/home/u/src/app" }, build("read-only").read_only)
    assert.same({}, build("workspace-write").read_only)
    assert.same({}, build("workspace-write", { handoff_absent = "move" }).handoff)
    local held = build("workspace-write", { handoff_absent = "refuse" })
    assert.is_true(#held.handoff > 50)
    assert.equal("refuse", held.handoff_absent)
    assert.equal("commit", build("workspace-write", { git = "commit" }).git)
    assert.equal("read", build("read-only", { git = "commit" }).git)
  end)

  it("are reached through spettro by its option", function()
    for _, name in ipairs({ "read-only", "workspace-write" }) do
      assert.same(build(name, { network = "all" }), build("spettro", { network = "all", options = { mode = name } }))
    end
    assert.is_string(build("spettro", { network = "all" }).unconfined)
    local p = build("spettro", { network = "none", options = { mode = "full-access" } })
    assert.same({ "all", "none", "write" }, { p.read, p.network, p.git })
    assert.same({ "/home/u/src/app", "/home", "/etc", "/dev/shm" }, p.write)
    local _, why = policies.build("spettro", { options = { mode = "readonly" } })
    assert.matches("did you mean read-only?", why, 1, true)
  end)
end)
