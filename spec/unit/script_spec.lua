local config = require("procage.config")
local policies = require("spec.support.policies")
local policy = require("procage.policy")
local scripts = require("procage.script")

--- A policy that exists only here.
local function script(body)
  return policy.build_profile("p", assert(config.parse()), policies.context(), {
    resolve = function(name)
      return "/policies/" .. name .. ".lua"
    end,
    read_file = function(file)
      return file == "/policies/p.lua" and body or nil, file .. ": No such file or directory"
    end,
  })
end

--- What a script says of itself, through the one field of a profile that is any text.
local function says(expression)
  local p, why = script(("return function() return { unconfined = tostring(%s) } end"):format(expression))
  return p and p.unconfined or why
end

describe("a script in a closed state", function()
  -- Fewer than are shipped: these tests use them all up.
  local shipped = scripts.limits
  setup(function()
    scripts.limits = { bytes = shipped.bytes, steps = 2000000, ms = 1000 }
  end)
  teardown(function()
    scripts.limits = shipped
  end)

  -- As many entries as it takes for Lua to find a length of 2^62.
  local ENDLESS = "local t = { [5] = 1, [9] = 1 } for i = 0, 62 do t[1 << i] = 1 end assert(#t > 1 << 60) "

  -- Each would take minutes, or the memory of the machine, if nothing stopped it.
  local bombs = {
    { "a loop", "while true do end", "took more than 2000000 steps" },
    {
      "paths looked at as text",
      'local path, long = require("procage.path"), ("/a"):rep(1 << 20) for i = 1, 500 do path.normalise(long) end',
      "took more than 2000000 steps",
    },
    {
      "a list of trees looked through",
      'local path, trees = require("procage.path"), {} for i = 1, 4000 do trees[i] = "/x" end'
        .. ' for i = 1, 1000 do path.resolved_tree_of("/a", trees) end',
      "took more than 2000000 steps",
    },
    { "moving nothing, counted in texts", 'table.move({}, "1", tostring(1 << 50), 2)', "took more than" },
    { "moving nothing, counted in floats", "table.move({}, 1.0, 2.0 ^ 50, 2)", "took more than" },
    { "moving nothing, math.type replaced", "math.type = error table.move({}, 1, 1 << 50, 2)", "took more than" },
    {
      "unpacking, what it uses replaced",
      "math.max, math.tointeger = error, error while true do table.unpack({}, 1, 100000) end",
      "took more than",
    },
    { "joining a list that looks endless", ENDLESS .. "table.concat(t)", "took more than" },
    { "inserting into a list that looks endless", ENDLESS .. "table.insert(t, 1, 1)", "took more than" },
    { "sorting a list that looks endless", ENDLESS .. "table.sort(t)", { "took more than", "compare number with nil" } },
    {
      "trees of a list that looks endless",
      ENDLESS .. 'require("procage.profile").writable_trees({ write = t })',
      "took more",
    },
    {
      "letters of no letter",
      'local f, s = utf8.codes("a" .. ("\\x80"):rep(1 << 21)) while true do f(s, 1) end',
      "took more than",
    },
    { "a set of many letters", '(("x"):rep(1 << 20)):find("[" .. ("a"):rep(1 << 20) .. "]")', "took more than" },
    { "a set of many letters at a border", '(("x"):rep(1 << 20)):find("%f[" .. ("a"):rep(1 << 20) .. "]")', "took more than" },
    { "nothing put in many times", '(("x"):rep(1 << 20)):gsub("x(y*)", ("%1"):rep(1 << 20))', "took more than" },
    { "a pattern of nothing", 'while true do (("x"):rep(1 << 20)):gsub("", "") end', "took more than" },
    { "repeating what was found", '(("a"):rep(1 << 20) .. "b" .. ("a"):rep(1 << 20)):find("(a*)b%1c")', "took more than" },
    { "a long pattern that is none", 'local s = ("a"):rep(1 << 20) while true do ("x"):find(s) end', "took more than" },
    { "a text read as a number", 'local s = (" "):rep(1 << 21) .. "1" while true do local n = s + 1 end', "took more than" },
    {
      "living at the limit of memory",
      'local t for i = 1, 300000 do t = { t } end for i = 1, 1e9 do local u = ("x"):rep(1 << 20) .. i end',
      { "took more than", "bytes of memory" },
    },
    { "a list in itself", 'local t = {} t[1] = t require("procage.profile").new():hidden(t)', "hidden[1]: expected a text" },
    { "a map in itself", 'local t = {} t.a = t require("procage.profile").new():limits(t)', "limits.a: unknown" },
    {
      "a field in itself",
      'local t = {} t.a = t require("procage.profile").new():env({ set = t })',
      "env.set.a: expected a text",
    },
    { "a network in itself", 'local t = {} t.a = t require("procage.profile").new():network(t)', "network.a: unknown field" },
    { "a profile in itself", 'local t = {} t.read = { t } return require("procage.profile").plain(t)', "more than 24 deep" },
    {
      "joining without end",
      'require("procage.path").join("/", table.unpack({}, 1, 1e6))',
      { "too many results", "took more" },
    },
    { "a message without end", 'error(("x"):rep(1 << 21))', "xxx" },
    { "a loop of jumps", "::again:: goto again", "took more than" },
    { "a numeric loop", "for i = 1, math.maxinteger do end", "took more than" },
    { "recursion", "local function f() return 1 + f() end f()", { "stack overflow", "bytes of memory" } },
    { "recursion through gsub", 'local function f() return (("x"):gsub("x", f)) end f()', "C stack overflow" },
    { "tail calls", "local function f() return f() end f()", "took more than" },
    { "a huge text", '("x"):rep(1 << 40)', { "resulting string too large", "bytes of memory" } },
    { "many large texts", 'while true do local s = ("x"):rep(1 << 21) end', "took more than" },
    { "a text that doubles", 'local s = "x" while true do s = s .. s end', "bytes of memory" },
    { "a table that grows", "local t = {} for i = 1, math.maxinteger do t[i] = {} end", "bytes of memory" },
    { "nothing, repeated", 'for i = 1, 1e9 do local s = (""):rep(1 << 62) end', "took more than" },
    { "a pattern that backtracks", '(("a"):rep(40)):find(("a*"):rep(20) .. "b")', "took more than" },
    { "a lazy pattern", '(("a"):rep(5000)):match(".-.-.-.-b")', "took more than" },
    { "a pattern in gsub", '(("a"):rep(3000)):gsub("(.-)(.-)(.-)b", "")', "took more than" },
    { "a pattern in gmatch", 'for _ in (("a"):rep(3000)):gmatch(".-.-.-b") do end', "took more than" },
    { "a nested pattern", '(("x"):rep(400)):find(("(x"):rep(300))', { "pattern too complex", "too many captures" } },
    { "a plain search", 'while true do (("a"):rep(1 << 20)):find(("a"):rep(1 << 10) .. "b", 1, true) end', "took more than" },
    { "moving nothing", "table.move({}, 1, 1 << 60, 2)", "took more than" },
    { "moving from end to end", "table.move({}, math.mininteger, math.maxinteger - 1, 0)", { "took more", "too many" } },
    { "unpacking", "while true do table.unpack({}, 1, 100000) end", "took more than" },
    { "inserting in front", "local t = {} for i = 1, 1e7 do table.insert(t, 1, i) end", "took more than" },
    { "a comparison that never ends", "table.sort({ 1, 2 }, function() while true do end end)", "took more than" },
    { "sorting for ever", "local t = {} for i = 1, 1e5 do t[i] = -i end while true do table.sort(t) end", "took more than" },
    { "a wide format", '("%99999d"):format(1)', "invalid conversion" },
    { "formats for ever", 'while true do local s = ("%99d"):format(1) end', "took more than" },
    { "bytes of a long text", 'local s = ("x"):rep(100000) while true do s:byte(1, -1) end', "took more than" },
    { "packing", 'while true do ("x"):rep(100):unpack(("b"):rep(100)) end', { "took more than", "invalid" } },
    { "a table walked", "local t = {} for i = 1, 1e4 do t[i] = i end while true do next(t) end", "took more than" },
    { "numbers read", 'local s = ("1"):rep(1 << 20) while true do tonumber(s) end', "took more than" },
    { "letters counted", 'local s = ("1"):rep(1 << 20) while true do utf8.len(s) end', "took more than" },
    { "an error in an error", "error(setmetatable)", "raised nothing" },
    { "an error that is a table", "error({ 1 })", "raised a table" },
    { "an error that is a function", "error(print or error)", "raised a function" },
    { "a failed assertion", 'assert(false, "no such thing")', "no such thing" },
    { "a failed assertion without words", "assert(nil)", "assertion failed!" },
    { "a callback for ever", '("x"):rep(9):gsub(".", function() while true do end end)', "took more than" },
    { "a goto out of a for", "for _ in pairs({ 1 }) do for _ = 1, 1e12 do end end", "took more than" },
    { "deep tables", "local t = {} for i = 1, 1e3 do t = { t } end return t", "tables inside tables" },
  }
  for _, case in ipairs(bombs) do
    it("is stopped, and told where: " .. case[1], function()
      local begun = os.clock()
      local p, why = script("\nreturn function()\n" .. case[2] .. "\nend")
      assert.is_nil(p)
      local wanted, found = type(case[3]) == "table" and case[3] or { case[3] }, false
      for _, text in ipairs(wanted) do
        found = found or why:find(text, 1, true) ~= nil
      end
      assert(found, why)
      if not why:find("more than 24 deep", 1, true) then
        assert.matches("^/policies/p%.lua:3: ", why)
      end
      assert(os.clock() - begun < 10, ("took %.1f s"):format(os.clock() - begun))
    end)
  end

  it("shares no table with what watches it", function()
    local p, why = script([[
      local path, profile = require("procage.path"), require("procage.profile")
      for _, library in ipairs({ string, table, math, utf8, path, profile.gaps[1], profile.gap_ids, profile.fields }) do
        for key in pairs(library) do library[key] = nil end
      end
      profile.is_builder, profile.plain, profile.validate = nil, nil, nil
      local new = profile.new
      local basic = { "type", "ipairs", "pairs", "next", "select", "error", "assert", "tostring", "tonumber", "rawget" }
      for _, key in ipairs(basic) do
        _G[key] = nil
      end
      return function(config, ctx)
        local p = new()
        p:accept("carve")
        p:hidden("/a//b", { "/c" })
        p.hidden, p.plain = nil, nil
        return p
      end]])
    assert(p, why)
    assert.same({ "/a/b", "/c" }, p.hidden)
    assert.same({ "carve" }, p.accept)
  end)

  it("may not change what is told of its options", function()
    local result = assert(scripts.run("policy", [[
      return {
        options = { { name = "list", type = "list", default = { "a" }, help = "h" } },
        profile = function(config) config.options.list[1] = "b" config.options = nil return {} end,
      }]], "p.lua", nil, { config = {}, ctx = { home = "/home/u" } }))
    assert.same({ "a" }, result.values.list)
    assert.same({ "a" }, result.options[1].default)
  end)

  it("gives back no more than it may hold, however often it names one text", function()
    local body = 'local s, t = ("x"):rep(1 << 20), {} for i = 1, %d do t[i] = s end return t'
    assert.equal(30, #assert(scripts.run("value", body:format(30), "v.lua")).value)
    local result, why = scripts.run("value", body:format(2000), "v.lua")
    assert.is_nil(result)
    assert.equal("v.lua: gives back more than 33554432 bytes", why)
  end)

  it("is read in bounded time", function()
    local names = {}
    for i = 1, 190 do
      names[i] = "a" .. i
    end
    local level = "local function f() local " .. table.concat(names, ",") .. " "
    local begun, before = os.clock(), scripts.limits
    scripts.limits = { bytes = before.bytes, steps = shipped.steps, ms = 500 }
    local result, why = scripts.run("value", level:rep(60) .. ("x=x "):rep(240000) .. ("end "):rep(60), "v.lua")
    scripts.limits = before
    assert.is_nil(result)
    assert.equal("v.lua: took more than 500 ms of processor time", why)
    assert(os.clock() - begun < 3)
  end)

  it("shows no address of a key", function()
    assert.equal("table: unknown field", says([[(function()
      local _, why = require("procage.profile").validate({ [{}] = 1 })
      return why
    end)()]]))
  end)

  it("cannot go on after a limit: there is nothing that catches one", function()
    for _, name in ipairs({ "pcall", "xpcall", "coroutine", "setmetatable", "getmetatable", "debug", "collectgarbage" }) do
      assert.equal("nil", says(name), name)
    end
    assert.matches("/policies/p.lua:1: attempt to call a nil value", says("getmetatable('')"), 1, true)
  end)

  it("that is nested without end is refused when it is read", function()
    local p, why = script("return " .. ("{"):rep(1000) .. ("}"):rep(1000))
    assert.is_nil(p)
    assert.matches("^/policies/p.lua: .*overflow", why)
    p, why = script(("("):rep(100000))
    assert.is_nil(p)
    assert.matches("^/policies/p.lua: .*overflow", why)
  end)

  it("is never bytecode, whatever it begins with", function()
    for _, text in ipairs({ "\27Lua", string.dump(function() end), "#!x\n\27Lua" }) do
      local p, why = script(text)
      assert.is_nil(p)
      assert.matches("/policies/p.lua", why, 1, true)
    end
  end)

  it("shows no address", function()
    for _, expression in ipairs({ "{}", "print or next", "require('procage.profile').new()" }) do
      assert.not_matches("0x", says(expression), 1, true)
    end
    assert.equal("table", says('("%s"):format({})'))
    assert.matches("%%p shows an address", says('("%p"):format({})'))
    assert.matches("%%p shows an address", says('("%%%-20p"):format({})'))
    assert.equal("%p", says('("%%p"):format()'))
  end)

  it("walks a table in one order, in every state", function()
    local body = [[
      local t = { z = 1, a = 2, [10] = 3, [2] = 4, [true] = 5, m = 6, ["10"] = 7, [1.5] = 8 }
      for i = 1, 40 do t["k" .. i] = i end
      return function()
        local seen = {}
        for key, value in pairs(t) do seen[#seen + 1] = tostring(key) .. "=" .. tostring(value) end
        return { unconfined = table.concat(seen, " ") }
      end]]
    local first = assert(script(body)).unconfined
    assert.matches("^true=5 1.5=8 2=4 10=3 10=7 a=2 k1=1 k10=10", first)
    for _ = 1, 5 do
      assert.equal(first, assert(script(body)).unconfined)
    end
    assert.matches("a key that is a table has no place", says("pairs({ [{}] = 1 })"))
  end)

  it("may take entries away from what it walks", function()
    assert.equal("2", says([[(function()
      local t, n = { a = 1, b = 2, c = 3 }, 0
      for key in pairs(t) do n = n + 1; t.b = nil end
      return n
    end)()]]))
  end)

  it("knows first and next entries", function()
    assert.equal("nil", says("next({})"))
    assert.equal("a", says("next({ b = 1, a = 2 })"))
    assert.equal("b", says("next({ b = 1, a = 2 }, 'a')"))
    assert.equal("nil", says("next({ b = 1, a = 2 }, 'b')"))
  end)

  it("sorts, with an order that contradicts itself too", function()
    assert.equal("1 2 3", says([[(function() local t = { 3, 1, 2 } table.sort(t) return table.concat(t, " ") end)()]]))
    assert.equal("3 2 1", says(
      [[(function() local t = { 3, 1, 2 } table.sort(t, function(a, b) return a > b end) return table.concat(t, " ") end)()]]
    ))
    assert.equal("100", says([[(function()
      local t = {} for i = 1, 100 do t[i] = i end
      table.sort(t, function() return true end)
      return #t
    end)()]]))
  end)

  -- One a line.
  local same = [==[
    ("hello world"):find("o w")
    ("hello"):find("l", 1, true)
    ("hello"):find("")
    ("hello"):find("", 10)
    ("hello"):find("xyz")
    ("hello"):match("^(h)(.-)(l+)")
    ("  x "):match("^%s*(.-)%s*$")
    ("key = v"):match("(%w+)%s*=%s*(%w+)")
    ("f(a(b)c)d"):match("%b()")
    ("THE (quick) fox"):find("%((%a+)%)")
    ("THE (quick) fox"):gsub("%f[%a]%a+", "w")
    ("hello"):match("()ll()")
    ("abab"):match("^(ab)%1$")
    ("hello"):gsub("l", { l = "L" })
    ("hello"):gsub("l", "%0%0")
    ("hello"):gsub("", "-")
    ("abc"):gsub("%w", "%%%0")
    ("hello"):gsub("(h)(e)", "%2%1", 1)
    ("a,b,,c"):gsub(",", ";", 2)
    ("hello"):gsub("x*", "-")
    ("[x]"):find("[]]")
    ("a-z"):match("[a%-z]+")
    ("x^y"):match("[%^x]+")
    ("abc"):match("[^b]+")
    ("A1_"):match("[%w_]+")
    ("hello"):find("l", -2)
    ("hello"):match(".-$")
    ("a.b"):match("%.")
    ("aXb"):gsub("%u", string.lower)
    ("hello"):sub(2, 3)
    ("x"):rep(3, ",")
    ("abc"):byte(1, -1)
    ("%5.2f|%-5s|%q"):format(1.5, "a", "b\n")
    ("2024-01-02"):match("(%d+)-(%d+)-(%d+)")
    ("abc"):find("b", nil, true)
    ("a\0b"):find("\0")
    ("a+b"):find("+", 1, true)
    ("ab"):gsub("(a)(b)", "%1%2%1")
    ("%d"):gsub("%%d", "x")
    ("abc"):match("a(.*)c")
    ("äö"):len()
    utf8.len("äö")
    select("#", table.unpack({ 1, 2, nil, 4 }, 1, 4))
    table.concat({ 1, 2, 3 }, ", ")
    tonumber("0x10")
    tonumber("z", 36)
    table.concat(table.move({ 1, 2, 3 }, 2, 3, 1))
    string.pack("<i4", 100):byte(1, -1)
    #table.pack(("a b c"):gsub("%s", ""))
    ("x = 1, y = 2"):gsub("(%w+) = (%w+)", "%2 = %1")
    ("abc"):gsub("b", function() end)
  ]==]
  it("has Lua's own texts and tables, with the answers that Lua gives", function()
    for expression in same:gmatch("%s*([^\n]+)\n") do
      local answers = table.pack(assert(load("return " .. expression))())
      for i = 1, answers.n do
        answers[i] = tostring(answers[i])
      end
      local told = says(([[(function(...)
        local list = table.pack(...)
        for i = 1, list.n do list[i] = tostring(list[i]) end
        return table.concat(list, "\1", 1, list.n)
      end)(%s)]]):format(expression))
      assert.equal(table.concat(answers, "\1"), told, expression)
    end
  end)

  it("matches generated patterns as Lua does", function()
    local state = tonumber(os.getenv("PROCAGE_SEED") or "11")
    local function pick(list)
      state = (state * 1103515245 + 12345) & 0x7fffffff
      return list[(state >> 8) % #list + 1]
    end
    local items = { "a", "b", ".", "%a", "%d", "%s", "%W", "[ab]", "[^a]", "[a-c]", "%.", "()", "(a)", "(.b)", "%f[%w]", "%b()",
      "%1", "[%d_]", "^", "$", "-", "]" }
    local signs = { "", "", "", "*", "+", "-", "?" }
    local letters = { "a", "b", "c", "1", " ", ".", "(", ")", "_", "\0" }
    local cases, wanted = {}, {}
    while #cases < 600 do
      local pattern, text = pick({ "", "", "^" }), ""
      for _ = 1, pick({ 1, 2, 3, 4, 5 }) do
        pattern = pattern .. pick(items) .. pick(signs)
      end
      for _ = 1, pick({ 0, 1, 3, 6, 9, 12 }) do
        text = text .. pick(letters)
      end
      local ok, answer = pcall(function()
        local list, each = table.pack(text:find(pattern, 1)), {}
        for k = 1, list.n do
          list[k] = tostring(list[k])
        end
        for item in text:gmatch(pattern) do
          each[#each + 1] = tostring(item)
        end
        local changed, count = text:gsub(pattern, "<%0>")
        return table.concat(list, "|", 1, list.n) .. "\n" .. table.concat(each, "|") .. "\n" .. changed .. count
      end)
      if ok then
        cases[#cases + 1], wanted[#wanted + 1] = ("{ %q, %q }"):format(text, pattern), answer
      end
    end
    local result, why = scripts.run("value", ([[
local answers = {}
for i, case in ipairs({ %s }) do
  local text, pattern = case[1], case[2]
  local list, each = table.pack(text:find(pattern, 1)), {}
  for k = 1, list.n do list[k] = tostring(list[k]) end
  for item in text:gmatch(pattern) do each[#each + 1] = tostring(item) end
  local changed, count = text:gsub(pattern, "<%%0>")
  answers[i] = table.concat(list, "|", 1, list.n) .. "\n" .. table.concat(each, "|") .. "\n" .. changed .. count
end
return answers]]):format(table.concat(cases, ",\n")), "cases.lua")
    assert(result, why)
    for i, answer in ipairs(wanted) do
      assert.equal(answer, result.value[i], cases[i])
    end
  end)

  for _, pattern in ipairs({ "%", "[a", "[]", "[^]", "(", "(()", ")", "%b", "%bx", "%f", "%1", "(%1)", "[%", "[a-", "a**" }) do
    it("is told about a pattern as Lua tells it: " .. pattern, function()
      local ok, theirs = pcall(string.match, "aaa", pattern)
      local ours = says(("(%q):match(%q)"):format("aaa", pattern))
      if ok then
        assert.equal(tostring(theirs), ours)
      else
        assert.equal(theirs:gsub("^[^:]*:%d+: ", ""), (ours:gsub("^[^:]*:%d+: ", "")))
      end
    end)
  end

  it("compares texts by their bytes, whatever the caller's locale says", function()
    local before = os.setlocale()
    os.setlocale("C.UTF-8")
    assert.equal("true", says([["Z" < "a"]]))
    os.setlocale(before)
  end)

  it("gives back plain data or an error that names the key", function()
    local p, why = script("return function() return { write = { '/w', print } , env = { set = { A = error } } } end")
    assert.is_nil(p)
    assert.matches("/policies/p.lua: env.set.A: a function is no plain data", why, 1, true)
    p, why = script("return function() local t = {} t.t = t return t end")
    assert.is_nil(p)
    assert.matches("tables inside tables", why, 1, true)
  end)

  it("takes nothing of one state into the next", function()
    assert(script("string.rep = nil; x = 1; table.sort = nil; return function() return {} end"))
    assert.equal("nil function function", says("tostring(x) .. ' ' .. type(string.rep) .. ' ' .. type(table.sort)"))
  end)

  it("leaves its caller's state as it was, a thousand times", function()
    -- What a finalizer was called for goes with the collection after it.
    collectgarbage()
    collectgarbage()
    local before = collectgarbage("count")
    for _ = 1, 100 do
      script("return function() error('x') end")
    end
    collectgarbage()
    collectgarbage()
    assert(collectgarbage("count") - before < 200)
  end)

  it("is named in full, however long its name", function()
    local file = "/" .. ("long/"):rep(40) .. "p.lua"
    local bodies = { "x = = 1", "return nil + 1", "error('no')", "return function() while true do end end" }
    for _, body in ipairs(bodies) do
      local _, why = policy.build_profile(file, assert(config.parse()), policies.context(), {
        read_file = function()
          return body
        end,
      })
      assert.equal(file .. ":1: ", why:sub(1, #file + 4), why)
    end
  end)

  it("names the modules that it requires in its text", function()
    local p, why = script([[return function() return require("policies." .. "lists") end]])
    assert.is_nil(p)
    assert.matches("/policies/p.lua: require: policies.lists is read before the script runs", why, 1, true)
  end)

  it("notes which line asked for what", function()
    local body = [[
local profile = require("procage.profile")
return function(config, ctx)
  local p = profile.new()
  p:allow_write(ctx.workspace)
  p:hidden({ "/a", "/b" }, "/c")
  p:network("none")
  p:limits({ cpu_ms = 5 })
  return p
end]]
    local built, _, source = policy.build_profile("/x/p.lua", assert(config.parse()), policies.context(), {
      read_file = function()
        return body
      end,
    })
    assert.same({ "/a", "/b", "/c" }, built.hidden)
    assert.same({
      { field = "write", items = { "/home/u/src/app" }, at = "/x/p.lua:4" },
      { field = "hidden", items = { "/a", "/b", "/c" }, at = "/x/p.lua:5" },
      { field = "network", items = { "none" }, at = "/x/p.lua:6" },
      { field = "limits", items = { "cpu_ms" }, at = "/x/p.lua:7" },
    }, source.notes)
  end)
end)
