local env = require("procage.env")
local fit = require("procage.fit")
local hosts = require("spec.support.hosts")
local path = require("procage.path")
local policies = require("spec.support.policies")
local policy = require("procage.policy")
local profile = require("procage.profile")

local function build(settings, fields)
  local built, why = policies.build("speccoder", settings, fields)
  assert.is_table(built, why)
  return built
end

local function refused(settings, fields)
  local built, why = policies.build("speccoder", settings, fields)
  assert.is_nil(built)
  return why
end

local function has(list, item)
  for _, entry in ipairs(list) do
    if entry == item then
      return true
    end
  end
  return false
end

describe("the speccoder policy", function()
  it("writes the workspace and package caches, and nothing else", function()
    local p = build()
    assert.same({ "/home/u/src/app" }, p.write)
    assert.equal("/home/u/src/app", p.workspace)
    assert.same({
      "/home/u/.cache", "/home/u/.npm", "/home/u/.cargo/git", "/home/u/.cargo/registry", "/home/u/.gradle/caches",
      "/home/u/.m2/repository", "/home/u/.yarn/berry/cache", "/home/u/go/pkg/mod", "/home/u/.local/share/pnpm/store",
    }, p.caches.trees)
    assert.equal("write", p.caches.when)
    assert.equal("private", p.tmp)
  end)

  it("reads everything but what is hidden", function()
    local p = build()
    assert.equal("all", p.read)
    assert.is_true(has(p.hidden, "/home/u/.ssh"))
    assert.is_false(has(p.hidden, "/etc/shadow"))
    assert.is_true(has(p.hidden, "/run/secrets"))
  end)

  it("hides for root what only root can read, and its home besides HOME", function()
    local p = build({}, { uid = 0 })
    assert.is_true(has(p.hidden, "/etc/shadow"))
    assert.is_true(has(p.hidden, "/root/.ssh"))
    assert.is_true(has(p.hidden, "/home/u/.ssh"))
  end)

  it("hides the key chain of macOS there alone", function()
    assert.is_false(has(build().hidden, "/home/u/Library/Keychains"))
    assert.is_true(has(build({}, { system = "macos" }).hidden, "/home/u/Library/Keychains"))
    assert.is_true(has(build({}, { system = "macos" }).caches.trees, "/home/u/Library/Caches"))
  end)

  it("has a loopback of its own, reads git, and sets no colour", function()
    local p = build()
    assert.equal("loopback", p.network)
    assert.equal("run", p.loopback)
    assert.equal("read", p.git)
    assert.same({ NO_COLOR = "1", CARGO_TERM_COLOR = "never", FAKEROOTDONTTRYCHOWN = "1" }, p.env.set)
    local result = env.apply({ PATH = "/bin", GH_TOKEN = "x", SSH_AUTH_SOCK = "y" }, p.env)
    assert.same({ PATH = "/bin", NO_COLOR = "1", CARGO_TERM_COLOR = "never", FAKEROOTDONTTRYCHOWN = "1" }, result)
  end)

  it("accepts the gaps of its design, and never writing, hiding, reading or the network", function()
    local p = build()
    assert.same({
      "carve", "trust_handoff", "workspace_sockets", "signal_scope", "truncate", "metadata", "stat", "replace", "process_tree",
      "device_ioctl", "limits",
    }, p.accept)
  end)

  it("runs on every host that can confine, and on no other", function()
    local p = build()
    for name, host in pairs(hosts) do
      local fitted, report = fit.fit(p, host)
      if fitted then
        for _, mode in ipairs({ "auto", "required" }) do
          assert.is_true(policy.admit(report, p.accept, mode), name)
        end
      end
    end
  end)

  it("hides as well as the best host can: no hidden path lies in a writable tree but for some in a cache", function()
    local p = profile.plain(build())
    local trees = profile.writable_trees(p)
    p.missing = {}
    for _, place in ipairs(p.hidden) do
      local tree = path.tree_of(place, trees)
      assert.is_true(tree == nil or tree == "/home/u/.cache", place)
      p.missing[#p.missing + 1] = tree and place
    end
    assert.is_true(#p.missing > 5)
    local _, report = fit.fit(p, hosts.docker)
    for _, row in ipairs(report) do
      if row.clause == "hidden" then
        assert.equal("enforced", row.state)
      end
    end
  end)

  it("is deterministic", function()
    local env_of_many = {}
    for i = 1, 50 do
      env_of_many["V" .. i] = "x"
    end
    assert.equal(profile.to_json(build({}, { env = env_of_many })), profile.to_json(build({}, { env = env_of_many })))
  end)
end)

describe("the speccoder policy follows the configuration:", function()
  it("trees", function()
    local p = build({
      writable = { "~/out", "/srv/data" },
      hidden = { "~/diary" },
      read_only = { "/home/u/src/app/vendor" },
      sockets = { "/run/nscd" },
    })
    assert.same({ "/home/u/src/app", "/home/u/out", "/srv/data" }, p.write)
    assert.is_true(has(p.hidden, "/home/u/diary"))
    assert.same({ "/home/u/src/app/vendor" }, p.read_only)
    assert.same({ "/run/nscd" }, p.sockets)
  end)

  it("network, git, tmp, limits", function()
    local p = build({ network = "ports:443", loopback = "host", git = "commit", tmp = "shared", limits = { cpu_ms = 5 } })
    assert.same({ ports = { 443 } }, p.network)
    assert.equal("host", p.loopback)
    assert.equal("commit", p.git)
    assert.equal("shared", p.tmp)
    assert.same({ cpu_ms = 5 }, p.limits)
  end)

  it("the environment, where the operator has the last word", function()
    local p = build({ env = { drop = { "MINE" }, set = { NO_COLOR = "0" }, keep = { "GH_TOKEN" } } })
    local result = env.apply({ GH_TOKEN = "x", MINE = "y" }, p.env)
    assert.same({ GH_TOKEN = "x", NO_COLOR = "0", CARGO_TERM_COLOR = "never", FAKEROOTDONTTRYCHOWN = "1" }, result)
  end)

  it("caches only while fetching, or none", function()
    assert.equal("fetch", build({ caches = "fetch" }).caches.when)
    assert.same({}, build({ caches = "none" }).caches.trees)
  end)

  it("the git directory is given up with its hooks", function()
    assert.is_true(has(build({ git = "commit" }).handoff, ".git/hooks"))
    assert.is_false(has(build({ git = "write" }).handoff, ".git/hooks"))
    assert.is_true(has(build({ git = "write" }).handoff, ".envrc"))
  end)

  it("more gaps accepted", function()
    assert.is_true(has(build({ accept = { "read" } }).accept, "read"))
  end)

  it("no write grant beneath /proc", function()
    assert.matches("no write grant beneath /proc", refused({ writable = { "/proc/sys" } }), 1, true)
  end)
end)

describe("a lift", function()
  it("re-opens the row that it names, and is recorded", function()
    local p = build({ lift = { "~/.npmrc", ".vscode/tasks.json", "AWS_*" } })
    assert.is_false(has(p.hidden, "/home/u/.npmrc"))
    assert.is_false(has(p.handoff, ".vscode/tasks.json"))
    assert.is_true(has(p.handoff, ".vscode/settings.json"))
    assert.is_false(has(p.env.drop, "AWS_*"))
    assert.same({ "/home/u/.npmrc", ".vscode/tasks.json", "AWS_*" }, p.lift)
  end)

  it("may name a hidden path in full", function()
    assert.is_false(has(build({ lift = { "/home/u/.npmrc" } }).hidden, "/home/u/.npmrc"))
  end)

  it("that names no row is a mistake", function()
    assert.matches("lift[2]: no hidden path", refused({ lift = { "~/.npmrc", "~/.npmrcc" } }), 1, true)
  end)

  for _, name in ipairs({ "~/.config/speccoder", "~/.spettro", "speccoder.toml", "ANTHROPIC_*" }) do
    it("never re-opens the harness's own " .. name, function()
      assert.matches("is the harness's own and is never lifted", refused({ lift = { name } }), 1, true)
    end)
  end

  it("is not got round by keeping a variable", function()
    assert.matches("env.keep[1]: ANTHROPIC_API_KEY", refused({ env = { keep = { "ANTHROPIC_API_KEY" } } }), 1, true)
    assert.matches("env.keep[1]: openai_api_key", refused({ env = { keep = { "openai_api_key" } } }), 1, true)
  end)

  it("is needed to work in a hidden tree", function()
    local fields = { workspace = "/home/u/.claude/plugins/x" }
    assert.matches('lift = ["/home/u/.claude"]', refused({}, fields), 1, true)
    assert.is_false(has(build({ lift = { "~/.claude" } }, fields).hidden, "/home/u/.claude"))
    assert.matches("never lifted", refused({}, { workspace = "/home/u/.local/state/speccoder/w" }), 1, true)
  end)
end)

describe("a cache that a variable moved", function()
  local moves = {
    { { CARGO_HOME = "/usr/local/cargo" }, "/usr/local/cargo/registry", "/home/u/.cargo/registry" },
    { { CARGO_HOME = "/usr/local/cargo" }, "/usr/local/cargo/git", "/home/u/.cargo/git" },
    { { npm_config_cache = "/data/npm" }, "/data/npm", "/home/u/.npm" },
    { { GOMODCACHE = "/data/mod" }, "/data/mod", "/home/u/go/pkg/mod" },
    { { GOPATH = "/data/go:/other" }, "/data/go/pkg/mod", "/home/u/go/pkg/mod" },
    { { GOPATH = "/data/go", GOMODCACHE = "/data/mod" }, "/data/mod", "/data/go/pkg/mod" },
    { { GRADLE_USER_HOME = "/data/gradle" }, "/data/gradle/caches", "/home/u/.gradle/caches" },
    { { XDG_CACHE_HOME = "/data/cache/" }, "/data/cache", "/home/u/.cache" },
    { { GOCACHE = "/data/gobuild" }, "/data/gobuild", "/data" },
  }
  for _, case in ipairs(moves) do
    it("is granted at " .. case[2], function()
      local trees = build({}, { env = case[1] }).caches.trees
      assert.is_true(has(trees, case[2]))
      assert.is_false(has(trees, case[3]))
    end)
  end

  it("to no path stays where it was", function()
    for _, value in ipairs({ "off", "relative/dir", "" }) do
      assert.is_true(has(build({}, { env = { XDG_CACHE_HOME = value } }).caches.trees, "/home/u/.cache"))
    end
  end)

  it("into another cache is not granted twice", function()
    local trees = build({}, { env = { GOCACHE = "/home/u/.cache/go", PIP_CACHE_DIR = "/home/u/.cache" } }).caches.trees
    assert.is_false(has(trees, "/home/u/.cache/go"))
  end)

  local mistakes = {
    { { XDG_CACHE_HOME = "/home/u" }, "XDG_CACHE_HOME=/home/u holds the home directory" },
    { { XDG_CACHE_HOME = "/" }, "XDG_CACHE_HOME=/ holds the home directory" },
    { { PIP_CACHE_DIR = "/usr" }, "PIP_CACHE_DIR=/usr is no cache of one program" },
    { { PIP_CACHE_DIR = "/var/tmp" }, "PIP_CACHE_DIR=/var/tmp is no cache of one program" },
    { { XDG_CACHE_HOME = "/home/u/.config" }, "which is hidden" },
    { { XDG_CACHE_HOME = "/home/u/../v" }, "is not resolved" },
    { { PIP_CACHE_DIR = "/sys/fs/x" }, "no write grant beneath /sys" },
  }
  for _, case in ipairs(mistakes) do
    it("to a place that is no cache is refused by name: " .. case[2], function()
      assert.matches(case[2], refused({}, { env = case[1] }), 1, true)
      assert.same({}, build({ caches = "none" }, { env = case[1] }).caches.trees)
    end)
  end
end)

describe("the off policy", function()
  it("confines nothing, and says so", function()
    local p = assert(policies.build("off"))
    assert.is_string(p.unconfined)
    assert.same({ "off" }, p.accept)
    local fitted, report = fit.fit(p, hosts.full)
    assert.same({}, fitted.mechanisms)
    assert.is_true(policy.admit(report, p.accept, "auto"))
  end)

  it("is refused where a sandbox is required", function()
    local p = assert(policies.build("off"))
    local _, report = fit.fit(p, hosts.full)
    local ok, message, code = policy.admit(report, p.accept, "required")
    assert.is_nil(ok)
    assert.matches("^SANDBOX%-UNAVAILABLE: ", message)
    assert.not_matches("\n", message, 1, true)
    assert.equal(fit.UNAVAILABLE, code)
  end)
end)
