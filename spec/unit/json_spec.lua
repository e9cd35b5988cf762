local cjson = require("cjson")
local json = require("procage.json")

describe("JSON for readers", function()
  local function text(value)
    return json.encode(value, {})
  end

  it("is UTF-8, whatever the text was", function()
    for _, case in ipairs({
      { "plain", "plain" }, { "Zoë 日本", "Zoë 日本" }, { "\xff", "\\xff" }, { "a\xc3", "a\\xc3" }, { "\xed\xa0\x80",
      "\\xed\\xa0\\x80" },
      { "é\xffé\xfe", "é\\xffé\\xfe" }, { "\\x\xff", "\\x\\xff" }, { "", "" },
    }) do
      local written = text(case[1])
      assert.is_truthy(utf8.len(written), written)
      assert.equal(case[2], cjson.decode("[" .. written .. "]")[1])
    end
  end)

  it("holds no control that a terminal obeys", function()
    local written = text("\x1b[2J\u{9b}2J\u{85}\n")
    assert.is_nil(written:find("[%c]"))
    assert.is_nil(written:find("\xc2[\x80-\x9f]"))
    assert.equal("\x1b[2J\u{9b}2J\u{85}\n", cjson.decode("[" .. written .. "]")[1])
  end)

  it("does so with keys and in lists", function()
    assert.equal('{"\\\\xff":["\\\\xfe"]}', json.encode({ ["\xff"] = { "\xfe" } }, { map = { list = true } }))
  end)

  it("is exact where it is read back", function()
    assert.equal('["/a\xff/\u{9b}"]', json.encode_exact({ "/a\xff/\u{9b}" }, { list = true }))
  end)
end)
