local box = require("spec.support.box")
local fold = require("procage.fold")

describe("a name is folded", function()
  it("in every letter case", function()
    assert.equal(".vscode/tasks.json", fold(".VSCode/Tasks.JSON"))
    assert.equal("", fold(""))
  end)

  it("from letters that Unicode takes for ASCII ones", function()
    assert.equal(".ssh/tasks", fold(".\u{17f}SH/Ta\u{17f}\u{212a}S"))
    assert.equal("makefile", fold("Make\u{fb01}le"))
    assert.equal("assets", fold("A\u{1e9e}et\u{17f}"))
  end)

  it("without what Unicode passes by", function()
    assert.equal(".git", fold(".g\u{200b}i\u{ad}t\u{feff}"))
    assert.equal(".envrc", fold("\u{e0001}.env\u{2064}rc"))
  end)

  it("and else stays what it is, bytes that are no text too", function()
    for _, name in ipairs({ "\u{fc}ber", "e\u{301}", "\xff\xfe", "a\xc5", "\xe2\x84", "\xc1\xbf", "\xed\xa0\x80x" }) do
      assert.equal(name, fold(name))
    end
    assert.equal("\xc5k", fold("\xc5\u{212a}"))
  end)

  it("as Python's tables of Unicode have it, letter by letter", function()
    box.skip_without("python3")
    local list = box.shell([[python3 -I -c '
import unicodedata as u
for c in range(0x80, 0x110000):
    t = u.normalize("NFD", u.normalize("NFD", chr(c)).casefold())
    if t.isascii() and not 0xd800 <= c < 0xe000: print(c, t)']])
    local count = 0
    for point, text in list:gmatch("(%d+) ([^\n]+)") do
      count = count + 1
      assert.equal(text, fold(utf8.char(tonumber(point))), ("U+%04X"):format(point))
    end
    assert.equal(13, count, list)
  end)
end)
