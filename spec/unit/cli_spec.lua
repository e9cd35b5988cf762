local options = require("procage.cli.options")
local values = require("procage.cli.values")

local function parse(...)
  return options.parse({ ... })
end

describe("the command line", function()
  it("gives everything after -- to the command, options and all", function()
    local request = assert(parse("run", "--net", "none", "--", "make", "--json", "-q", "--"))
    assert.same({ "make", "--json", "-q", "--" }, request.argv)
    assert.equal("none", request.options.network)
    assert.is_false(request.options.json)
    assert.is_false(request.options.quiet)
  end)

  it("takes the first word that is no option as the command", function()
    local request = assert(parse("run", "-q", "ls", "--json", "-l"))
    assert.same({ "ls", "--json", "-l" }, request.argv)
    assert.is_true(request.options.quiet)
    assert.is_false(request.options.json)
  end)

  it("keeps empty words and words with spaces or line breaks", function()
    local request = assert(parse("run", "--", "printf", "", "a b", "c\nd"))
    assert.same({ "printf", "", "a b", "c\nd" }, request.argv)
  end)

  it("runs a command named like an option only after --", function()
    local request = assert(parse("run", "--", "--json"))
    assert.same({ "--json" }, request.argv)
  end)

  it("collects options that may be repeated, in order", function()
    local request = assert(parse("run", "--allow-write", "b", "--allow-write=a", "--lift", "x", "--lift", "y", "--", "true"))
    assert.same({ "b", "a" }, request.options.allow_write)
    assert.same({ "x", "y" }, request.options.lift)
    assert.same({}, request.options.allow_read)
  end)

  it("splits NAME=VALUE at the first equals sign", function()
    local request = assert(parse("run", "--set", "limits.cpu_ms=5", "--env", "A=b=c", "--env", "E=", "--", "true"))
    assert.same({ { key = "limits.cpu_ms", value = "5" } }, request.options.set)
    assert.same({ { key = "A", value = "b=c" }, { key = "E", value = "" } }, request.options.env)
  end)

  it("refuses what is not NAME=VALUE", function()
    for _, flag in ipairs({ "--set", "--env" }) do
      for _, value in ipairs({ "A", "=b", "" }) do
        local request, message = parse("run", flag .. "=" .. value, "--", "true")
        assert.is_nil(request)
        assert.matches(flag, message, 1, true)
      end
    end
  end)

  it("takes a value that begins with a dash only behind an equals sign", function()
    assert.equal("-dir", assert(parse("run", "--root=-dir", "true")).options.root)
    local request, message = parse("run", "--root", "--", "true")
    assert.is_nil(request)
    assert.matches("option '--root' needs an argument", message, 1, true)
  end)

  it("refuses an option without its argument at the end of the line", function()
    local request, message = parse("run", "--net")
    assert.is_nil(request)
    assert.matches("option '--net' needs an argument", message, 1, true)
  end)

  it("lets the last of an option given twice win, so that a script's defaults can be overridden", function()
    local request = assert(parse("run", "--net", "none", "--net", "all", "--", "true"))
    assert.equal("all", request.options.network)
  end)

  it("names the nearest known option", function()
    for wrong, right in pairs({
      ["--nte"] = "--net",
      ["--allow-wirte"] = "--allow-write",
      ["--polcy"] = "--policy",
      ["--time-out"] = "--timeout",
      ["--jsn=1"] = "--json",
    }) do
      local request, message = parse("run", wrong, "--", "true")
      assert.is_nil(request)
      assert.matches(("unknown option '%s' (did you mean %s?)"):format(wrong:match("^[^=]+"), right), message, 1, true)
    end
  end)

  it("names no option when none is near", function()
    local request, message = parse("run", "--frobnicate", "--", "true")
    assert.is_nil(request)
    assert.equal("run: unknown option '--frobnicate'", message)
  end)

  it("names the nearest subcommand", function()
    local request, message = parse("rnu", "--", "true")
    assert.is_nil(request)
    assert.equal("unknown subcommand 'rnu' (did you mean run?)", message)
  end)

  it("says where a command belongs", function()
    local told = "; a command to run comes after run: procage-lua run -- %s"
    assert.equal("unknown subcommand 'env'" .. told:format("env"), select(2, parse("env")))
    -- A program's name may be near a subcommand's.
    assert.equal("unknown subcommand 'tesc' (did you mean test?)", select(2, parse("tesc")))
    assert.equal("unknown subcommand 'tee' (did you mean test?)" .. told:format("tee"), select(2, parse("tee")))
    assert.matches("(did you mean ports:443,80?)", select(2, parse("run", "--net", "443,80", "--", "true")), 1, true)
    assert.matches("(did you mean loopback?)", select(2, parse("run", "--net", "lopback", "--", "true")), 1, true)
  end)

  it("refuses a run without a command", function()
    assert.is_nil((parse("run")))
    assert.is_nil((parse("run", "--")))
    assert.is_nil((parse("run", "-q", "--")))
  end)

  it("refuses words that a subcommand does not take", function()
    local request, message = parse("probe", "--json", "extra")
    assert.is_nil(request)
    assert.equal("probe: unexpected argument 'extra'", message)
    assert.is_nil((parse("explain", "--timeout", "3")))
  end)

  it("shows the help of the subcommand it was asked in, whatever else was there", function()
    for _, name in ipairs({ "run", "probe", "explain", "help", "version" }) do
      for _, flag in ipairs({ "--help", "-h" }) do
        local request = assert(parse(name, flag))
        assert.equal("help", request.command)
        assert.equal(name, request.topic)
      end
      local text = options.help(name)
      assert.matches("Usage: procage-lua " .. name, text, 1, true)
      assert.matches("Examples:", text, 1, true)
    end
    assert.equal("help", assert(parse("--help")).command)
    assert.equal("version", assert(parse("--version")).command)
  end)

  it("does not take --help of the command for its own", function()
    local request = assert(parse("run", "git", "--help"))
    assert.equal("run", request.command)
    assert.same({ "git", "--help" }, request.argv)
  end)

  it("lists every option in the help", function()
    local text = options.help("run")
    for _, flag in ipairs({
      "--policy",
      "--config",
      "--root",
      "--net",
      "--allow-write",
      "--allow-read",
      "--git",
      "--lift",
      "--set",
      "--env",
      "--timeout",
      "--json",
      "--quiet",
    }) do
      assert.matches(flag, text, 1, true)
    end
  end)
end)

describe("--net", function()
  it("takes the words of the Profile", function()
    assert.equal("none", values.network("none"))
    assert.equal("loopback", values.network("loopback"))
    assert.equal("all", values.network("all"))
    assert.same({ ports = { 443, 8080 } }, values.network("ports:443,8080"))
    assert.same({ ports = { 1, 65535 } }, values.network("ports:1,65535"))
  end)

  it("refuses anything else by name", function()
    local wrong = { "", "off", "NONE", "ports", "ports:", "ports:0", "ports:65536", "ports:1,", "ports:0x50", "ports:-1" }
    for _, text in ipairs(wrong) do
      local network, message = values.network(text)
      assert.is_nil(network)
      assert.matches("--net: ", message, 1, true)
    end
  end)
end)

describe("--timeout", function()
  it("takes seconds and gives milliseconds", function()
    assert.equal(60000, values.timeout("60"))
    assert.equal(1500, values.timeout("1.5"))
    assert.equal(250, values.timeout(".25"))
    assert.equal(1, values.timeout("0.0001"))
    assert.equal("integer", math.type(values.timeout("1.5")))
  end)

  it("refuses zero, signs, words and what no clock holds", function()
    for _, text in ipairs({ "", "0", "0.0", "-1", "+1", "1e3", "0x10", "inf", "nan", "5m", "1.", "99999999999" }) do
      local timeout_ms, message = values.timeout(text)
      assert.is_nil(timeout_ms)
      assert.matches("--timeout: ", message, 1, true)
    end
  end)
end)

describe("--git", function()
  it("takes the three modes and nothing else", function()
    for _, mode in ipairs({ "read", "commit", "write" }) do
      assert.equal(mode, values.git(mode))
    end
    local git, message = values.git("push")
    assert.is_nil(git)
    assert.matches("--git: 'push'", message, 1, true)
  end)
end)
