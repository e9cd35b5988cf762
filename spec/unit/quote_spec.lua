local quote = require("procage.quote")
local toml = require("procage.toml")

local names = { "a b", "it's", '"', "$(touch x)", "`x`", "a\nb", "\\", "-rf", "#", "\27[31m", "ü", "]==]", "~/x", "%s", "!" }

describe("a text that others read", function()
  it("is one word of a shell's line", function()
    for _, name in ipairs(names) do
      local pipe = assert(io.popen("printf %s " .. quote.shell(name)))
      -- A tilde at the beginning is meant: it is how home is written.
      assert.equal((name:gsub("^~", os.getenv("HOME"))), pipe:read("a"))
      pipe:close()
    end
    assert.equal("~/a-b_c.d/e", quote.shell("~/a-b_c.d/e"))
  end)

  it("is a string of TOML, or none", function()
    for _, name in ipairs(names) do
      local parsed = assert(toml.parse("a = " .. quote.toml(name), "t"))
      assert.equal(name, (parsed.value or parsed).a)
    end
    assert.is_nil(quote.toml("\255"))
  end)
end)
