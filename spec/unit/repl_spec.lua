local complete = require("procage.repl.complete")
local errors = require("procage.repl.errors")
local history = require("procage.repl.history")
local names = require("procage.repl.names")
local repl = require("procage.repl")

describe("completion", function()
  local class = { __index = { run = print, ready = 1, rest = print } }
  local env = setmetatable({
    hosts = { docker = {}, docker_old = {}, ["not a name"] = 1 },
    p = setmetatable({ profile = { limits = { { deep = 1 } } } }, class),
    trap = setmetatable({}, {
      __index = function()
        error("called")
      end,
    }),
  }, { __index = _G })

  ---@param text string
  local function candidates(text)
    local _, found = complete.candidates(env, text)
    return found
  end

  it("finds names, fields and keywords", function()
    assert.same({ "hosts" }, candidates("x = hos"))
    assert.same({ "docker", "docker_old" }, candidates("fit(p, hosts."))
    assert.same({ "select", "setmetatable" }, candidates("print(se"))
    assert.same({ "local" }, candidates("loca"))
    assert.same({ "deep" }, candidates("p.profile.limits[1]."))
  end)

  it("offers methods alone after a colon", function()
    assert.same({ "rest", "run" }, candidates("p:r"))
    assert.same({ "ready", "rest", "run" }, candidates("p.r"))
    assert.same({ "find", "format" }, (function()
      env.text = "x"
      return candidates("text:f")
    end)())
  end)

  it("offers nothing where nothing is known, and calls nothing", function()
    assert.same({}, candidates("nope.x"))
    assert.same({}, candidates("trap.x"))
    assert.same({}, candidates("f()."))
  end)

  it("puts in what all candidates share, and shows them where that is nothing", function()
    assert.same({ "ts", {} }, { complete.complete(env, "hos") })
    assert.same({ "ocker", {} }, { complete.complete(env, "hosts.d") })
    assert.same({ "", { "docker", "docker_old" } }, { complete.complete(env, "hosts.docker") })
  end)

  it("knows words in quotes", function()
    local lists = {
      {
        after = "load%(\"",
        words = function()
          return { "off", "speccoder" }
        end,
      },
    }
    assert.same({ "eccoder", {} }, { complete.complete(env, 'p = load("sp', lists) })
  end)

  it("finds Lua's names behind the ready ones", function()
    local _, found = complete.candidates(names.environment(), "tos")
    assert.same({ "tostring" }, found)
  end)
end)

describe("a chunk", function()
  it("is an expression, or statements, or the beginning of some", function()
    local env = {}
    assert.equal(2, repl.compile("1 + 1", "=x", env)())
    assert(repl.compile("a = 7", "=x", env))()
    assert.equal(7, env.a)
    for _, text in ipairs({ "for i = 1, 2 do", "f(", "x = {", "function f()", "return function()", "s = [[a", "1 +" }) do
      local chunk, _, more = repl.compile(text, "=x", env)
      assert.is_nil(chunk, text)
      assert.is_true(more, text)
    end
    local _, message, more = repl.compile("x = = 1", "=x", env)
    assert.is_false(more)
    assert.matches("x:1: unexpected symbol", message)
  end)
end)

describe("the history", function()
  it("keeps any text on one line", function()
    for _, text in ipairs({ "a", "for\n  x\nend", "a\\nb", "\\", "\\\\n\n\\r\r" }) do
      assert.is_nil(history.encode(text):find("\n"))
      assert.equal(text, history.decode(history.encode(text)))
    end
  end)

  it("is bounded, and shortened once it has grown to twice its bound", function()
    local file = os.tmpname()
    local handle <close> = assert(io.open(file, "w"))
    for i = 1, 2 * history.MAX_ENTRIES + 1 do
      handle:write("entry ", i, "\n")
    end
    handle:flush()
    local written
    local opened = history.open(file, {
      replace = function(_, text)
        written = text
      end,
      append = function() end,
    })
    os.remove(file)
    assert.equal(history.MAX_ENTRIES, #opened.entries)
    assert.equal(("entry %d"):format(2 * history.MAX_ENTRIES + 1), opened.entries[history.MAX_ENTRIES])
    assert.equal(history.MAX_ENTRIES, select(2, written:gsub("\n", "\n")))
  end)

  it("keeps neither blanks, nor what begins with one, nor the same twice, nor a paste", function()
    local opened = history.open("/nonexistent", {
      append = function()
        return true
      end,
    })
    assert.is_true(opened:add("x"))
    for _, text in ipairs({ "", "  ", " secret", "x", ("y"):rep(20000) }) do
      assert.is_false(opened:add(text))
    end
    assert.same({ "x" }, opened.entries)
  end)
end)

describe("an error", function()
  ---@param text string
  ---@param env? table
  local function told(text, env)
    env = setmetatable(env or {}, { __index = _G })
    local handler = errors.handler({ names = env, sources = { ["=x"] = text }, describe = names.describe })
    local _, lines = xpcall(assert(load(text, "=x", "t", env)), handler)
    return table.concat(lines, "\n")
  end

  it("comes with the value that caused it", function()
    assert.matches("n = { 1, 2 }", told("local n = { 1, 2 }\nreturn n + 1"), 1, true)
    assert.matches("t = true", told("t = true\nreturn t.x.y"), 1, true)
    assert.matches('up = "x\\x1b"', told("local up = 'x\\27'\nlocal function f() return up() end\nf()"), 1, true)
    assert.matches("argument 2 of rep = {}", told("return string.rep('x', {})"), 1, true)
    assert.matches("argument 1 of rep = {}", told("return ('x'):rep({})"), 1, true)
  end)

  it("says which field is missing where, and which is near", function()
    local text = told("return p.profle.read", { p = { profile = {} } })
    assert.matches("p.profle is nil (did you mean profile?)", text, 1, true)
    assert.matches("p = { profile = {} }", text, 1, true)
    assert.matches("p:rum is nil (did you mean run?)", told("p:rum()", { p = { run = print } }), 1, true)
    assert.matches("hsots = nil (did you mean hosts?)", told("return hsots.docker", { hosts = {} }), 1, true)
  end)

  it("may be any value", function()
    assert.equal('error: { code = 7, text = "\\x1b" }', told("error({ code = 7, text = '\\27' })"))
    assert.equal("error: nil", told("error()"))
  end)

  it("holds nothing that a terminal would obey", function()
    assert.is_nil(told("error('\\27[2J')"):find("\27", 1, true))
  end)
end)

describe("the ready names", function()
  local env = names.environment()

  it("have a load that tells a policy from a program", function()
    assert.equal(0.5, env.load("return 1/2")())
    assert.equal(3, env.load("return ...", "=x", "t", {})(3))
    assert.is_nil((env.load("x = = 1")))
    local ok, message = pcall(env.load, "specoder")
    assert.is_false(ok)
    assert.matches("did you mean speccoder?", message, 1, true)
    ok, message = pcall(env.load, "speccoder", {}, { rot = "/" })
    assert.is_false(ok)
    assert.matches("unknown option rot (did you mean root?)", message, 1, true)
    ok, message = pcall(env.load, "speccoder", { netwrk = "none" })
    assert.is_false(ok)
    assert.matches("netwrk", message, 1, true)
    assert.is_nil(rawget(_G, "hosts"))
  end)

  it("fit a policy to a machine that is not here", function()
    local p = env.load("speccoder")
    local report, fitted = env.fit(p.profile, env.hosts.ubuntu_apparmor)
    assert.equal("read", report[1].clause)
    assert.is_table(fitted.unenforced)
    assert.matches("AppArmor", names.text(report, 100), 1, true)
    assert.equal("network", env.diff(p.profile, env.load("speccoder", { network = "none" }).profile)[1].path)
    assert.equal("no difference", names.text(env.diff(p, p), 100))
  end)

  it("refuse a wrong value and show it", function()
    local _, message = pcall(env.fit, 7)
    assert.matches("not 7", message, 1, true)
    _, message = pcall(env.run, 7)
    assert.matches("not 7", message, 1, true)
    _, message = pcall(env.run, { "true", policy = {} })
    assert.matches("policy: a policy or its name is expected, not {}", message, 1, true)
  end)

  it("name each other in help", function()
    local help = require("procage.repl.help")
    local overview = help.text(false, nil, env)
    for _, name in ipairs({ "host", "hosts", "load", "fit", "run", "diff", "why", "pp", "help", "procage" }) do
      assert.matches("\n  " .. name .. " ", overview, 1, true)
      assert.is_true(#help.text(true, name, env) > 40)
    end
    assert.equal(help.text(true, "run", env), help.text(true, env.run, env))
    assert.matches("carve", help.text(true, "carve", env), 1, true)
    for _, row in ipairs(require("procage.clauses")) do
      assert.matches("clause " .. row.clause, help.text(true, row.clause, env), 1, true)
    end
    assert.matches("clause network", help.text(true, "network", env), 1, true)
    assert.matches("did you mean network?", help.text(true, "netwrk", env), 1, true)
    -- Not the tables that policies share.
    local policies = "in-place|mcp-server|off|own-command|read-only|speccoder|spettro|workspace-write"
    assert.equal(policies, table.concat(names.policies(), "|"))
  end)
end)
