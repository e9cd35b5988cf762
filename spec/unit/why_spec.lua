local box = require("spec.support.box")
local why = require("procage.why")

--- What why answers in a box; made without a kernel's help but for the probe.
local function ask(b, op, target)
  local policy = assert(b:policy())
  return assert(policy:why(op, target))
end

--- A tree with something of each kind.
local function grown(config)
  local b = box.new({ config = config })
  b:write("workspace/a", "x")
  b:write("workspace/.envrc", "x")
  b:write("workspace/golden", "x")
  b:write("home/.ssh/id", "k")
  b:write("home/notes", "n")
  b:write("outside/f", "o")
  b:setup("git init -q .")
  return b
end

describe("why", function()
  it("names the clause, the entry, its reason and the line that asked for it", function()
    local b <close> = grown()
    local answer = ask(b, "read", b.home .. "/.ssh/id")
    assert.is_false(answer.allowed)
    assert.equal("hidden", answer.clause)
    assert.equal(b.home .. "/.ssh", answer.item)
    assert.matches("private keys", answer.reason, 1, true)
    assert.matches("speccoder%.lua:%d+$", answer.from[1])
    assert.matches("lists%.lua$", answer.from[2])
  end)

  it("offers nothing for credentials", function()
    local b <close> = grown()
    local answer = ask(b, "read", b.home .. "/.ssh/id")
    assert.is_nil(answer.change)
    assert.matches("credentials are never offered", answer.no_change, 1, true)
  end)

  it("offers the change that was tried, and it does what it says", function()
    local b <close> = grown()
    local answer = ask(b, "write", b.outside .. "/f")
    assert.equal("--allow-write " .. b.outside .. "/f", answer.change.flag)
    assert.equal(("writable = [%q]"):format(b.outside .. "/f"), answer.change.line)
    b.options.config, b.loaded = { writable = { b.outside .. "/f" } }, nil
    assert.is_true(ask(b, "write", b.outside .. "/f").allowed)
  end)

  it("offers no write to what others run", function()
    local b <close> = grown()
    b:mkdir("home/.config")
    for name, reason in pairs({
      ["/etc/cron.d/x"] = "of the system: ", ["/usr/lib/x"] = "of the system: ", [b.home .. "/.bashrc"] = "bash",
      [b.home .. "/.config/git/config"] = "git: ", [b.home .. "/.config"] = "which others run",
    }) do
      local answer = ask(b, "write", name)
      assert.is_false(answer.allowed)
      assert.is_nil(answer.change, name)
      assert.matches(reason, answer.no_change, 1, true)
    end
  end)

  local changes = {
    { "write", "workspace/.envrc", "handoff", "--lift .envrc" },
    { "write", "workspace/.git/HEAD", "git", "--git commit" },
    { "write", "workspace/.git/hooks", "handoff", "--lift .git/hooks", "--git write" },
    { "write", "outside/new", "write", "--allow-write " },
    { "write", "home/notes", "write", "--allow-write " },
  }
  for _, case in ipairs(changes) do
    it(("offers the smallest for %s %s"):format(case[1], case[2]), function()
      local b <close> = grown()
      local answer = ask(b, case[1], b:path(case[2]))
      assert.is_false(answer.allowed)
      assert.equal(case[3], answer.clause)
      local flag = answer.change and answer.change.flag or answer.no_change
      assert(flag:find(case[4], 1, true) or case[5] and flag:find(case[5], 1, true), flag)
    end)
  end

  it("names the entry of the configuration that decides, and takes it out", function()
    local b <close> = grown()
    b.options.config = { hidden = { b.outside }, read_only = { "/nothing", b.workspace .. "/golden" } }
    local hidden, kept = ask(b, "read", b.outside .. "/f"), ask(b, "write", b.workspace .. "/golden")
    assert.equal("hidden[1] of the configuration", hidden.from[1])
    assert.equal("take entry 1 out of hidden", hidden.change.flag)
    assert.equal("read_only[2] of the configuration", kept.from[1])
    assert.equal("take entry 2 out of read_only", kept.change.flag)
  end)

  it("never offers a whole home or a top directory", function()
    local b <close> = grown()
    for _, target in ipairs({ b.home, "/etc", "/procage-none" }) do
      local answer = ask(b, "write", target)
      assert.is_false(answer.allowed)
      assert.is_nil(answer.change, target)
    end
  end)

  it("tells a network by address and port", function()
    local b <close> = grown({ network = "none" })
    local answer = ask(b, "connect", "198.51.100.7:443")
    assert.is_false(answer.allowed)
    assert.equal("network", answer.clause)
    assert.matches("^%-%-net ", answer.change.flag)
    assert.is_false(ask(b, "bind", "8080").allowed)
    b.options.config, b.loaded = { network = "all" }, nil
    local open = ask(b, "connect", "198.51.100.7:443")
    assert.is_true(open.allowed)
    assert.equal("--net none", open.change.flag)
  end)

  it("says what would refuse what is allowed", function()
    local b <close> = grown()
    assert.equal(("--set 'read_only=[\"%s\"]'"):format(b.workspace .. "/a"), ask(b, "write", b.workspace .. "/a").change.flag)
    assert.equal(("--set 'hidden=[\"%s\"]'"):format(b.outside .. "/f"), ask(b, "read", b.outside .. "/f").change.flag)
  end)

  it("tells what no policy has a say in", function()
    local b <close> = grown()
    assert.equal("exists", ask(b, "read", b.outside .. "/none").clause)
    b:mode("outside/f", "000")
    local answer = ask(b, "read", b.outside .. "/f")
    assert.equal("permissions", answer.clause)
    assert.equal("no policy has a say in it", answer.no_change)
  end)

  it("follows links, and says where they lead", function()
    local b <close> = grown()
    b:symlink("../home/.ssh/id", "workspace/key")
    local answer = ask(b, "read", b.workspace .. "/key")
    assert.equal("hidden", answer.clause)
    assert.equal(b.home .. "/.ssh/id", answer.path)
  end)

  it("takes paths from the workspace and from home", function()
    local b <close> = grown()
    local policy = assert(b:policy())
    assert.equal(b.workspace .. "/a", policy:why("write", "./a").target)
    assert.is_true(policy:why("write", "a").allowed)
    assert.equal("hidden", require("procage").why(policy, "read", "~/.ssh/id").clause)
  end)

  it("refuses what is no target", function()
    local b <close> = grown()
    local policy = assert(b:policy())
    for _, case in ipairs({ { "read", "" }, { "connect", "host" }, { "connect", "1.2.3.4:99999" }, { "raed", "/x" } }) do
      local answer, message = policy:why(case[1], case[2])
      assert.is_nil(answer)
      assert.matches("expected", message, 1, true)
    end
  end)

  it("names the pattern by which a file that git ignores reads as empty", function()
    local b <close> = grown()
    b:write("workspace/.env.local", "K=1")
    b:write("workspace/.gitignore", ".env.local\n")
    local procage = require("procage")
    local policy = assert(procage.policy.load("in-place", {}, { root = b.workspace, home = b.home, env = b.env }))
    for op, is_allowed in pairs({ read = true, write = false, exec = false }) do
      local answer = assert(policy:why(op, b.workspace .. "/.env.local"))
      -- Without mounts nothing makes it empty, and the report says so.
      if answer.clause == "ignored" then
        assert.equal(is_allowed, answer.allowed, op)
        assert.equal(".env*, keys and passwords of services", answer.reason)
        assert.matches("in%-place%.lua:%d+$", answer.from[1])
        assert.matches("lists%.lua$", answer.from[2])
      end
    end
    local ignored = require("procage.ignored")
    assert.equal(".env*", ignored.pattern_of(".ENV", { "*.pem", ".env*" }))
    assert.is_nil(ignored.pattern_of("env", { "*.pem", ".env*" }))
  end)

  it("reads as lines", function()
    local b <close> = grown()
    local text = table.concat(why.lines(ask(b, "read", b.home .. "/.ssh/id")), "\n")
    assert.matches("^read " .. b.home:gsub("%p", "%%%0") .. "/%.ssh/id: not allowed\n  clause    hidden: ", text)
    assert.matches("\n  to allow  nothing is offered: ", text, 1, true)
  end)

  it("says what has to be there before anything can be offered", function()
    local b <close> = grown()
    local answer = ask(b, "write", b.home .. "/loose")
    local wide = "all of %s would be opened: make a directory for it alone, which --allow-write then names"
    assert.equal(wide:format(b.home), answer.no_change)
    answer = ask(b, "write", b.home .. "/absent/dir/file")
    assert.equal(b.home .. "/absent/dir is not there: make it, and --allow-write names it", answer.no_change)
  end)

  it("answers for a policy of the operator's own", function()
    local b <close> = grown()
    local file = b:write("outside/p.lua", [[
local profile = require("procage.profile")
return function(config, ctx)
  local p = profile.new()
  p:allow_read("/usr")
  p:workspace(ctx.workspace)
  return p
end]])
    b.options.policy, b.loaded = file, nil
    local policy = b:policy()
    if not policy then
      return pending("this machine cannot hold it")
    end
    local answer = assert(policy:why("read", b.outside .. "/f"))
    assert.is_false(answer.allowed)
    assert.same({ file .. ":4", file .. ":5" }, answer.from)
    assert.equal("no single change was found that would", answer.no_change)
    assert.same({ file .. ", which does not say: the strictest is meant" }, policy:why("connect", "1.2.3.4:5").from)
  end)
end)
