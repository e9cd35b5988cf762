local pretty = require("procage.pretty")

describe("a pretty value", function()
  it("is spelt the same whatever order its keys were set in", function()
    local a, b = {}, {}
    for i = 1, 50 do
      a["k" .. i] = i
      b["k" .. 51 - i] = 51 - i
    end
    assert.equal(pretty.format(a, { items = 60 }), pretty.format(b, { items = 60 }))
  end)

  it("has its list first, then numbers, strings by byte, booleans", function()
    local text = pretty.format({ 10, 20, [true] = 5, b = 3, B = 2, [2.5] = 1, ["a b"] = 4, ["end"] = 6 })
    assert.equal('{ 10, 20, [2.5] = 1, B = 2, ["a b"] = 4, b = 3, ["end"] = 6, [true] = 5 }', text)
  end)

  it("ends at a cycle, and shows twice what is there twice", function()
    local t = { name = "t" }
    t.self, t.list = t, { t }
    local shared = { 1 }
    t.x, t.y = shared, shared
    assert.equal('{ list = { <table above> }, name = "t", self = <table above>, x = { 1 }, y = { 1 } }', pretty.format(t))
  end)

  it("is bounded in depth, items, text and number", function()
    local deep = {}
    for _ = 1, 1000 do
      deep = { deep }
    end
    assert.equal("{ { { { { { … } } } } } }", pretty.format(deep))
    local long = {}
    for i = 1, 1000 do
      long[i] = i
    end
    assert.equal("{ 1, 2, 3, … 997 more }", pretty.format(long, { items = 3 }))
    assert.equal("{ a = 1, l = { 1, … 999 more } }", pretty.format({ a = 1, l = long }, { listed = 1 }))
    assert.equal('"xxxxx" … 1000 bytes', pretty.format(("x"):rep(1000), { text = 5 }))
    local wide = {}
    for i = 1, 300 do
      wide[i] = long
    end
    assert.is_true(#pretty.format(wide, { items = 300 }) < 40000)
  end)

  it("holds nothing that a terminal would obey", function()
    local text = pretty.format({ ["\27]0;x\7"] = "\27[2J\n\r\0\x9b\xff \u{9b}\u{202e}\u{2066}", "ü€𝄞" })
    assert.is_nil(text:find("%c"))
    assert.is_nil(text:find("\u{9b}", 1, true))
    assert.is_nil(text:find("\u{202e}", 1, true))
    assert.matches("ü€𝄞", text, 1, true)
    assert.matches([["\x1b[2J\n\r\x00\x9b\xff \u{009B}\u{202E}\u{2066}"]], text, 1, true)
  end)

  it("does not cut a character in two", function()
    assert.equal('"éé" … 20 bytes', pretty.format(("é"):rep(10), { text = 5 }))
  end)

  it("breaks lines that are too wide", function()
    local text = pretty.format({ a = ("x"):rep(40), b = ("y"):rep(40) }, { width = 60 })
    assert.equal('{\n  a = "' .. ("x"):rep(40) .. '",\n  b = "' .. ("y"):rep(40) .. '"\n}', text)
  end)

  it("runs nothing of a table's", function()
    local trap = setmetatable({}, {
      __index = function()
        error("run")
      end,
      __pairs = function()
        error("run")
      end,
      __len = function()
        error("run")
      end,
      __tostring = function()
        error("run")
      end,
    })
    rawset(trap, "x", 1)
    assert.equal("{ x = 1 }", pretty.format(trap))
  end)

  it("has no address in it", function()
    assert.is_nil(pretty.format({ print, io.stdout, coroutine.create(print), function() end }):find("0x"))
  end)

  it("is brief for a message", function()
    assert.equal('{ 1, { … } }', pretty.brief({ 1, { { 2 } } }):gsub("{ { … } }", "{ … }"))
    assert.is_true(utf8.len(pretty.brief({ ("é"):rep(100) }, 30)) <= 30)
  end)
end)
