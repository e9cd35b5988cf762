local core = require("procage.core")
local git_config = require("procage.git_config")
local glob = require("procage.glob")

local function matches(pattern, path, is_exact)
  return glob.matches(glob.compile(pattern, is_exact), path)
end

describe("a pattern", function()
  it("means a path, and a directory with all that is in it", function()
    assert.is_true(matches("a/b", "a/b"))
    assert.is_true(matches("a/b", "a/b/c/d"))
    assert.is_true(matches("./a//b/", "a/b"))
    assert.is_false(matches("a/b", "a"))
    assert.is_false(matches("a/b", "x/a/b"))
    assert.is_false(matches("a/b", "a/bc"))
  end)

  it("has wildcards within a name", function()
    assert.is_true(matches("*.md", "x.md"))
    assert.is_true(matches("*.md", ".md"))
    assert.is_false(matches("*.md", "d/x.md"))
    assert.is_true(matches("a*b*c", "aXbYbZc"))
    assert.is_false(matches("a*b*c", "aXbYbZ"))
    assert.is_true(matches("?[a-c][!x]", "1b2"))
    assert.is_false(matches("?[a-c][!x]", "1bx"))
    assert.is_true(matches("[]x]", "]"))
    assert.is_true(matches("[a", "[a"))
    assert.is_true(matches("\\*", "*"))
    assert.is_false(matches("\\*", "x"))
  end)

  it("has ** for any number of directories", function()
    for _, path in ipairs({ "x", "a/x", "a/b/x", "a/x/y" }) do
      assert.is_true(matches("**/x", path), path)
    end
    assert.is_true(matches("a/**/b/**/c", "a/1/b/2/3/c"))
    assert.is_true(matches("a/**/b", "a/b"))
    assert.is_false(matches("a/**/b", "b"))
    assert.is_true(matches("a/**", "a/x/y"))
    assert.is_true(matches("**", "anything/at/all"))
  end)

  it("does not count the letter case, also where Unicode folds to ASCII, unless it must", function()
    assert.is_true(matches("SPEC.md", "spec.MD"))
    assert.is_true(matches("spec", "\xc5\xbfpec"))
    assert.is_true(matches("ok", "o\xe2\x84\xaa"))
    assert.is_false(matches("SPEC.md", "spec.MD", true))
    assert.is_true(matches("SPEC.md", "SPEC.md", true))
  end)

  it("takes time in proportion to its length and the name's", function()
    local pattern = glob.compile(("a*"):rep(60) .. "b")
    local deep = glob.compile(("**/a/"):rep(40) .. "b")
    local start = core.now_us()
    assert.is_false(glob.matches(pattern, ("a"):rep(250)))
    assert.is_false(glob.matches(deep, ("a/"):rep(500)))
    assert.is_true(core.now_us() - start < 1000000)
  end)
end)

describe("git's configuration", function()
  local function parse(text)
    local list = {}
    for i, setting in ipairs(git_config.parse(text)) do
      list[i] = setting.key .. "=" .. setting.value
    end
    return list
  end

  it("is read as git reads it: letter case, quotes, escapes, comments, continued lines", function()
    assert.same({
      "core.hookspath=a b", "core.bare=true", "branch.Main \"x\".remote=o#1", "alias.l=log --oneline", "a.b=x y", "c.d=",
      "old.style.k=v",
    }, parse(table.concat({
      "\xef\xbb\xbf[CORE] hooksPath = a b   ; comment",
      "\tBare",
      '[branch "Main \\"x\\""]',
      '\tremote = "o#1" # comment',
      "[alias]",
      "l = log \\",
      "--oneline",
      '[a]\r',
      'b = "x \\',
      'y"\r',
      "[c]",
      "d =",
      "[Old.Style]",
      "k=v",
      "no setting at all !",
    }, "\n")))
  end)

  it("that is broken neither raises nor hangs", function()
    for _, text in ipairs({ "[", "[a", "[a]\nb", "[a]\nb = \"x", "=", "[a]\nb = \\", "\0\0", ("["):rep(10000) }) do
      parse(text)
    end
  end)
end)
