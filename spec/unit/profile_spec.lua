local profile = require("procage.profile")

local function example()
  return {
    workspace = "/w",
    read = "all",
    write = { "/w" },
    hidden = { "/h/.ssh" },
    read_only = {},
    ignored = { "*.pem" },
    git = "commit",
    handoff = { ".envrc", ".vscode/tasks.json" },
    handoff_absent = "move",
    caches = { trees = { "/h/.cache" }, when = "write" },
    tmp = "private",
    network = { ports = { 443, 8080 } },
    loopback = "run",
    sockets = {},
    env = { drop = { "*_TOKEN" }, set = { B = "2", A = "" }, keep = { "GH_TOKEN" } },
    programs = "path",
    wrap = "tree",
    signals = "run",
    limits = { cpu_ms = 5, timeout_ms = 600000 },
    accept = { "stat" },
    lift = { "/h/.npmrc" },
    unenforced = {},
  }
end

local function message(t)
  local ok, why = profile.validate(t)
  assert.is_nil(ok)
  return why
end

describe("a profile", function()
  it("comes back from JSON as it was", function()
    local text = profile.to_json(example())
    assert.same(example(), profile.from_json(text))
    assert.equal(text, profile.to_json(assert(profile.from_json(text))))
  end)

  it("is spelt in one order, lists as arrays even when empty", function()
    assert.equal(
      '{"workspace":"/w","read":"all","write":["/w"],"hidden":["/h/.ssh"],"read_only":[],'
        .. '"ignored":["*.pem"],"git":"commit",'
        .. '"handoff":[".envrc",".vscode/tasks.json"],"handoff_absent":"move",'
        .. '"caches":{"trees":["/h/.cache"],"when":"write"},"tmp":"private",'
        .. '"network":{"ports":[443,8080]},"loopback":"run","sockets":[],'
        .. '"env":{"drop":["*_TOKEN"],"set":{"A":"","B":"2"},"keep":["GH_TOKEN"]},'
        .. '"programs":"path","wrap":"tree","signals":"run","limits":{"timeout_ms":600000,"cpu_ms":5},'
        .. '"accept":["stat"],"lift":["/h/.npmrc"],"unenforced":[]}',
      profile.to_json(example())
    )
  end)

  it("keeps any byte of a path", function()
    local t = { write = { '/w/a"b\\/\n\240\159\166\128/\\' } }
    assert.same(t.write, profile.from_json(profile.to_json(t)).write)
  end)

  it("takes JSON null for absent, and absent for the strictest meaning", function()
    local p = assert(profile.from_json('{"network":null,"env":{"drop":null},"caches":{"trees":["/c"]}}'))
    assert.equal("none", p.network)
    assert.equal("private", p.tmp)
    assert.equal("read", p.git)
    assert.same({}, p.read)
    assert.same({ drop = {}, set = {}, keep = {} }, p.env)
    assert.equal("fetch", p.caches.when)
  end)

  it("says what is no JSON", function()
    local p, why = profile.from_json("{")
    assert.is_nil(p)
    assert.matches("^profile: not JSON", why)
    p, why = profile.from_json("3")
    assert.is_nil(p)
    assert.matches("top level: expected a table, got 3", why, 1, true)
    p, why = profile.from_json('{"hidden":[null,"/a"]}')
    assert.is_nil(p)
    assert.matches("without holes", why, 1, true)
  end)

  local mistakes = {
    { { wirte = {} }, "wirte: unknown field (did you mean write?)" },
    { { env = { dorp = {} } }, "env.dorp: unknown field (did you mean drop?)" },
    { { limits = { timeout = 1 } }, "limits.timeout: unknown field (did you mean timeout_ms?)" },
    { { network = { port = { 1 } } }, "network.port: unknown field (did you mean ports?)" },
    { { accept = { "carv" } }, '(did you mean carve?)' },
    { { workspace = "w" }, 'workspace: expected an absolute path, got "w"' },
    { { hidden = { "/a", "b" } }, 'hidden[2]: expected an absolute path, got "b"' },
    { { hidden = { "~/.ssh" } }, "hidden[1]: expected an absolute path" },
    { { write = { "/a\0b" } }, "write[1]: holds a NUL byte" },
    { { write = { "/a/../b" } }, "write[1]: expected a resolved path, without .." },
    { { write = { "/a//b/" } }, 'write[1]: expected "/a/b"' },
    { { write = { "" } }, "write[1]: expected a text" },
    { { write = "/a" }, 'write: expected a list, got "/a"' },
    { { write = { "/a", nil, "/b" } }, "write: expected a list without holes" },
    { { write = { x = "/a" } }, 'write: expected a list without holes, got the key "x"' },
    { { write = { "/proc" } }, "write[1]: no write grant beneath /proc" },
    { { write = { "/w", "/sys/fs" } }, "write[2]: no write grant beneath /sys" },
    { { write = { "/" } }, "write[1]: no write grant on /" },
    { { caches = { trees = { "/proc/self" } } }, "caches.trees[1]: no write grant beneath /proc" },
    { { caches = { when = "always" } }, "caches.when: expected one of write, fetch" },
    { { read = "some" }, "read: expected one of all" },
    { { read = 3 }, "read: expected a list, got 3" },
    { { network = "loopbak" }, "(did you mean loopback?)" },
    { { network = { ports = {} } }, "network.ports: expected 1 entries or more" },
    { { network = { ports = { 0 } } }, "network.ports[1]: expected a port, 1..65535, got 0" },
    { { network = { ports = { 443, 65536 } } }, "network.ports[2]: expected a port" },
    { { network = { ports = { "443" } } }, 'network.ports[1]: expected a port, 1..65535, got "443"' },
    { { network = {} }, "network.ports: missing" },
    { { handoff = { "/etc/x" } }, "handoff[1]: expected a name" },
    { { handoff = { "../x" } }, "handoff[1]: expected a name" },
    { { env = { set = { ["A=B"] = "x" } } }, "env.set.A=B: expected a variable's name" },
    { { env = { set = { A = 1 } } }, "env.set.A: expected a text, got 1" },
    { { env = { set = { A = "x\0y" } } }, "env.set.A: holds a NUL byte" },
    { { limits = { cpu_ms = 0 } }, "limits.cpu_ms: expected a positive whole number, got 0" },
    { { limits = { cpu_ms = 1.5 } }, "limits.cpu_ms: expected a positive whole number, got 1.5" },
    { { git = false }, "git: expected one of read, commit, write, got false" },
    { { signals = "host" }, "signals: expected one of run" },
  }
  for _, case in ipairs(mistakes) do
    it("names the mistake: " .. case[2], function()
      assert.matches(case[2], message(case[1]), 1, true)
    end)
  end

  it("shows a mistaken value on one line", function()
    assert.matches('"a\\x0ab\\x1b"', message({ tmp = "a\nb\27" }), 1, true)
  end)
end)

describe("a builder", function()
  it("adds trees once, in one spelling, the workspace first", function()
    local p = profile.new()
    p:allow_write("/c/", "/c")
    p:workspace("/w//x/")
    p:allow_write({ "/d", "/w/x" })
    local plain = profile.plain(p)
    assert.equal("/w/x", plain.workspace)
    assert.same({ "/w/x", "/c", "/d" }, plain.write)
  end)

  it("reads everything once / is granted", function()
    local p = profile.new()
    p:allow_read("/usr")
    assert.same({ "/usr" }, profile.plain(p).read)
    p:allow_read("/")
    p:allow_read("/bin")
    assert.equal("all", profile.plain(p).read)
  end)

  it("sets every other field", function()
    local p = profile.new({ git = "write" })
    p:hidden("/h")
    p:read_only("/r")
    p:sockets("/s")
    p:handoff(".envrc", ".envrc")
    p:accept("stat")
    p:lift("x")
    p:tmp("shared")
    p:network({ ports = { 1 } })
    p:loopback("host")
    p:git("commit")
    p:caches({ "/c/" }, "write")
    p:env({ drop = { "A*" }, set = { X = "1" } })
    p:env({ drop = { "B*" }, keep = { "AB" }, set = { X = "2" } })
    p:limits({ cpu_ms = 1 })
    p:limits({ processes = 2 })
    local plain = profile.plain(p)
    assert.same({ ".envrc" }, plain.handoff)
    assert.same({ drop = { "A*", "B*" }, set = { X = "2" }, keep = { "AB" } }, plain.env)
    assert.same({ cpu_ms = 1, processes = 2 }, plain.limits)
    assert.same({ trees = { "/c" }, when = "write" }, plain.caches)
    assert.equal("commit", plain.git)
    assert.is_true(profile.validate(p))
    assert.equal(profile.to_json(plain), profile.to_json(p))
  end)

  it("raises at the line that was wrong", function()
    local p = profile.new()
    local chunk = assert(load("local p = ...\np:allow_write('relative')", "@script.lua"))
    local ok, why = pcall(chunk, p)
    assert.is_false(ok)
    assert.matches('^script.lua:2: write%[1%]: expected an absolute path, got "relative"', why)
    chunk = assert(load("local p = ...\n\np:network('offf')", "@script.lua"))
    ok, why = pcall(chunk, p)
    assert.is_false(ok)
    assert.matches("^script.lua:3: network: ", why)
  end)

  it("is not changed through a plain copy", function()
    local p = profile.new({ write = { "/w" } })
    profile.plain(p).write[1] = "/etc"
    assert.same({ "/w" }, profile.plain(p).write)
  end)

  it("gives no way to the methods of other builders", function()
    assert.is_false(getmetatable(profile.new()))
  end)
end)
