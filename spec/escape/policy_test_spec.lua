--- The tests of a policy, put to the kernel: what it says is told, whichever way it differs from what the test wants.

local box = require("spec.support.box")
local policy_test = require("procage.policy_test")

--- What the kernel said to each question of a file of tests, by its text.
local function try(b, body)
  local file = b:write("outside/real_test.lua", body)
  local results = assert(policy_test.run(file, { root = b.workspace, home = b.home, env = b.env, real = true }))
  local said = {}
  for _, result in ipairs(results) do
    local text = result.text
    assert.is_nil(said[text], text .. ": asked twice")
    said[text] = result.real
    said[text .. " (why)"] = result.real_why
  end
  return said, results
end

--- Asks everything both as it is and the other way round.
local function both(questions)
  local lines = {}
  for _, question in ipairs(questions) do
    lines[#lines + 1] = ("allows.%s(%q)"):format(question[1], question[2])
    lines[#lines + 1] = ("denies.%s(%q)"):format(question[1], question[2])
  end
  return table.concat(lines, "\n")
end

local FILES = 'file("~/.ssh/id", "key")\nfile("a", "a")\nsocket("./s.sock")\nsocket("~/s.sock")\n'

--- A port where nobody listens.
local function free_port()
  local core = require("procage.core")
  local server <close> = assert(core.outside("tcp", "", ""))
  return tostring(server:number())
end

local function assert_said(said, op, target, is_allowed)
  local yes, no = ("allows %s %s"):format(op, target), ("denies %s %s"):format(op, target)
  assert.equal(is_allowed and "passed" or "failed", said[yes], yes .. ": " .. tostring(said[yes .. " (why)"]))
  assert.equal(is_allowed and "failed" or "passed", said[no], no .. ": " .. tostring(said[no .. " (why)"]))
end

describe("the kernel's word on a policy", function()
  it("is told of files and programs, a wrong allow and a wrong deny", function()
    local b <close> = box.new()
    local program = b:write("outside/program", "#!/bin/sh\necho ran >>" .. b.outside .. "/ran\n")
    b:mode("outside/program", "755")
    local questions = {
      { "read", "~/.ssh/id", false }, { "read", "a", true }, { "read", "/usr", true },
      { "write", "a", true }, { "write", "new", true }, { "write", ".", true },
      { "write", "~/new", false }, { "write", "~/.ssh", false },
      { "exec", "/bin/sh", true }, { "exec", program, true },
    }
    local said = try(b, FILES .. both(questions))
    for _, question in ipairs(questions) do
      assert_said(said, question[1], question[2], question[3])
    end
    assert.is_false(b:exists("outside/ran"))
    assert.equal("", box.shell("ls " .. b.home))
  end)

  it("is told of a program that may not be started", function()
    local b <close> = box.new()
    b:write("outside/program", "#!/bin/sh\n")
    b:mode("outside/program", "755")
    local program = b.outside .. "/program"
    local said = try(b, ("config({ hidden = { %q } })\n"):format(b.outside) .. both({ { "exec", program } }))
    assert_said(said, "exec", program, false)
  end)

  it("is told of sockets", function()
    local b <close> = box.new()
    local port = free_port()
    local questions = {
      { "connect", "./s.sock" }, { "connect", "~/s.sock" }, { "connect", "@procage-none-" .. port },
      { "connect", "127.0.0.1:" .. port }, { "connect", "198.51.100.7:443" }, { "bind", "./new.sock" }, { "bind", port },
    }
    local _, results = try(b, FILES .. both(questions))
    local allowed = {}
    for _, result in ipairs(results) do
      -- What this host can hold is for the model to say; here they agree.
      assert.equal(result.passed and "passed" or "failed", result.real, result.text .. ": " .. result.real_why)
      local wanted, rest = result.text:match("^(%a+) (.*)$")
      if wanted == "allows" then
        allowed[rest] = result.passed
      end
    end
    assert.is_false(allowed["connect ~/s.sock"])
    assert.is_false(allowed["connect 198.51.100.7:443"])
    assert.is_false(allowed["connect @procage-none-" .. port])
  end)

  it("is told of the network where it is the host's, and nothing is sent", function()
    local b <close> = box.new()
    local port = free_port()
    local said = try(b, 'config({ network = "all" })\n' .. both({
      { "connect", "127.0.0.1:" .. port }, { "connect", "198.51.100.7:443" }, { "bind", port },
    }))
    assert_said(said, "connect", "127.0.0.1:" .. port, true)
    assert_said(said, "connect", "198.51.100.7:443", true)
    assert_said(said, "bind", port, true)
    said = try(b, 'config({ network = "none" })\n' .. both({
      { "connect", "127.0.0.1:" .. port }, { "connect", "198.51.100.7:443" }, { "bind", port },
    }))
    assert_said(said, "connect", "127.0.0.1:" .. port, false)
    assert_said(said, "connect", "198.51.100.7:443", false)
    assert_said(said, "bind", port, false)
  end)

  it("says what could not be tried, and why", function()
    local b <close> = box.new()
    box.shell("mkfifo " .. b.workspace .. "/fifo")
    local said = try(b, both({ { "read", "fifo" }, { "read", "none" }, { "bind", "80" }, { "exec", "none" } }))
    for _, text in ipairs({ "allows read fifo", "allows read none", "allows bind 80", "denies exec none" }) do
      assert.equal("not tried", said[text], text)
    end
    assert.matches("without doing something", said["allows read fifo (why)"])
    assert.matches("ports below 1024", said["allows bind 80 (why)"])
  end)

  it("holds for policies that read what they list alone, and that start programs of PATH alone", function()
    local b <close> = box.new()
    local is_root = box.shell("id -u") == "0"
    for _, name in ipairs({ "read-only", "workspace-write", "own-command" }) do
      local body = ('policy(%q)\nallows.read("/etc/passwd")\nallows.exec("/bin/sh")\n'):format(name)
        .. 'denies.write("/etc/passwd")'
      local file = b:write("outside/real_test.lua", body)
      local results, message = policy_test.run(file, { root = b.workspace, home = b.home, env = b.env, real = true })
      if not results then
        -- A host that holds none of it runs nothing.
        assert.matches("SANDBOX%-UNAVAILABLE", message)
      end
      for _, result in ipairs(results or {}) do
        local is_ours = not is_root and result.text == "denies write /etc/passwd"
        assert.equal(is_ours and "not tried" or "passed", result.real, name .. ": " .. result.text .. ": " .. result.real_why)
      end
    end
  end)
end)
