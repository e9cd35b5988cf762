local box = require("spec.support.box")
local extensions = require("procage.extensions")
local fit = require("procage.fit")
local hosts = require("spec.support.hosts")

local METADATA = table.concat(extensions.required.metadata.calls, '", "')

local GOOD = ([[
local fit = require("procage.fit")
fit.register({
  clause = "metadata",
  covers = "tightened",
  ops = { { op = "refuse_calls", calls = { "%s" } } },
  effect = "no metadata can be changed",
})
fit.register({ clause = "ipc", also = true, needs = { "seccomp_filter" }, ops = { "seccomp-sysv" } })
]]):format(METADATA)

local function read(text)
  return extensions.read(text, "/etc/procage/fit.lua", fit.clauses)
end

local function fitted(host, text, profile)
  local list = assert(read(text))
  local result, report = fit.fit(profile or { read = "all", write = { "/w" } }, host, { extensions = list })
  assert(result, report)
  local rows = {}
  for _, row in ipairs(report) do
    rows[row.clause] = row
  end
  return result, rows
end

describe("fit.register", function()
  it("gives an alternative where none of ours holds the clause, by its line", function()
    local result, rows = fitted(hosts.docker, GOOD)
    assert.equal("tightened", rows.metadata.state)
    assert.equal("/etc/procage/fit.lua:2", rows.metadata.by)
    assert.equal("no metadata can be changed", rows.metadata.effect)
    assert.same({ "seccomp-calls" }, rows.metadata.mechanisms)
    assert.equal(#extensions.required.metadata.calls, #result.refuse_calls)
    for _, id in ipairs(result.unenforced) do
      assert.not_equal("metadata", id)
    end
  end)

  it("comes after ours: where one of them holds, nothing changes", function()
    local plain = select(2, fit.fit({ read = "all", write = { "/w" } }, hosts.full))
    local result, rows = fitted(hosts.full, GOOD)
    for _, row in ipairs(plain) do
      if row.clause ~= "ipc" then
        assert.same(row, rows[row.clause])
      end
    end
    assert.is_nil(result.refuse_calls)
  end)

  it("adds a second lock wherever the host has what it needs", function()
    local _, rows = fitted(hosts.full, GOOD)
    assert.equal("enforced", rows.ipc.state)
    assert.same({ "ipcns", "seccomp-sysv" }, rows.ipc.mechanisms)
    assert.equal("/etc/procage/fit.lua:8", rows.ipc.by)
    local needy = 'require("procage.fit").register({ clause = "signals", also = true, ops = { "landlock-scope-signal" } })'
    _, rows = fitted(hosts.debian12, needy)
    assert.is_nil(rows.signals.by)
  end)

  it("never makes a clause worse, on any host", function()
    local worth = { unenforced = 0, tightened = 1, enforced = 2 }
    for name, host in pairs(hosts) do
      local result, report = fit.fit({ read = "all", write = { "/w" } }, host)
      if result then
        local _, rows = fitted(host, GOOD)
        for _, row in ipairs(report) do
          assert(worth[rows[row.clause].state] >= worth[row.state], name .. " " .. row.clause)
        end
      end
    end
  end)

  local function one(fields)
    return ('\nrequire("procage.fit").register({ %s })'):format(fields)
  end
  local mistakes = {
    { one('clause = "metdata", also = true, ops = { "seccomp-sysv" }'), "did you mean metadata" },
    { one('clause = "ipc", ops = { "seccomp-sysv" }'), 'covers: either covers = "tightened", or also = true' },
    { one('clause = "ipc", also = true, covers = "tightened", ops = { "seccomp-sysv" }'), "covers: either" },
    {
      one('clause = "ipc", covers = "enforced", ops = { "seccomp-sysv" }'),
      'covers: expected one of tightened, got "enforced"',
    },
    { one('clause = "ipc", also = true, ops = {}'), "ops: expected 1 entries or more" },
    { one('clause = "ipc", also = true, ops = { "seccomp-sysvv" }'), "ops[1]: unknown operation" },
    { one('clause = "ipc", also = true, ops = { "mount-tree" }'), "ops[1]: mount-tree is no operation for others" },
    {
      one('clause = "ipc", also = true, ops = { { op = "allow_calls", calls = { "mount" } } }'),
      "ops[1].op: expected one of refuse",
    },
    {
      one('clause = "ipc", also = true, ops = { { op = "refuse_calls", calls = { "shmgett" } } }'),
      "shmgett: no such system call",
    },
    { one('clause = "ipc", also = true, needs = { "usernss" }, ops = { "seccomp-sysv" }'), "needs[1]: expected one of" },
    { one('clause = "ipc", also = true, needs = { "landlock_abi" }, ops = { "seccomp-sysv" }'), "landlock_abi takes a floor" },
    { one('clause = "ipc", also = true, ops = { "seccomp-sysv" }, always = true'), "always: unknown key" },
    {
      one('clause = "write", covers = "tightened", effect = "e", ops = { "seccomp-sysv" }'),
      "no alternative of an operator's can hold write",
    },
    {
      one('clause = "metadata", covers = "tightened", ops = { { op = "refuse_calls", calls = { "chmod" } } }'),
      "effect: missing",
    },
    { one('clause = "metadata", covers = "tightened", effect = "e", ops = { { op = "refuse_calls", calls = { "chmod" } } }'),
      "ops: would widen: metadata is not held while fchmod is allowed" },
    { '\nrequire("procage.fit").register()', "register: top level: expected a table" },
    { '\nrequire("procage.fit").regster({})', "attempt to call a nil value (field 'regster')" },
    { "\nwhile true do end", "took more than" },
  }
  for _, case in ipairs(mistakes) do
    it("names what is wrong: " .. case[2], function()
      local list, message = read(case[1])
      assert.is_nil(list)
      assert.matches("^/etc/procage/fit%.lua:2: ", message)
      assert.matches(case[2], message, 1, true)
    end)
  end
end)

describe("a file of extensions", function()
  local function load(b)
    return require("procage").policy.load("speccoder", {}, { root = b.workspace, home = b.home, env = b.env })
  end

  it("is taken from the user's own configuration", function()
    local b <close> = box.new()
    b:write("home/.config/procage/fit.lua", GOOD)
    local policy = assert(load(b))
    local by
    for _, row in ipairs(policy.report) do
      by = by or row.clause == "ipc" and row.by
    end
    assert.equal(b.home .. "/.config/procage/fit.lua:8", by)
  end)

  it("with a mistake is an error of every policy, with its line", function()
    local b <close> = box.new()
    local file = b:write("home/.config/procage/fit.lua", 'require("procage.fit").register({ clause = "x" })')
    local policy, message, code = load(b)
    assert.is_nil(policy)
    assert.matches(file .. ":1: register: clause: expected one of", message, 1, true)
    assert.equal("config", code)
  end)

  for _, case in ipairs({
    { "that others can write", "chmod 666 %s", "others than its owner can write it" },
    { "in a directory that others can write", "chmod 777 $(dirname %s)", "others than its owner can write it" },
    { "that is a link", "mv %s $OUTSIDE/f && ln -s $OUTSIDE/f %s", "a file is expected" },
  }) do
    it(case[1] .. " is not believed", function()
      local b <close> = box.new()
      local file = b:write("home/.config/procage/fit.lua", GOOD)
      b:setup((case[2]:gsub("%%s", file)))
      local policy, message = load(b)
      assert.is_nil(policy)
      assert.matches(case[3], message, 1, true)
    end)
  end

  it("that a command can write is not believed", function()
    local b <close> = box.new({ config = { writable = { "~/.config/procage" } }, policy = "speccoder" })
    b:write("home/.config/procage/fit.lua", GOOD)
    b:write("outside/p.lua", 'return function(_, c) return { read = "all", write = { c.workspace, c.home .. "/.config" } } end')
    local policy, message = require("procage").policy.load(b.outside .. "/p.lua", {}, {
      root = b.workspace, home = b.home, env = b.env,
    })
    assert.is_nil(policy)
    assert.matches("which commands write: not believed", message, 1, true)
  end)
end)
