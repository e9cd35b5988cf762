local declared = require("procage.declared")

local OPTIONS = {
  { name = "level", type = "integer", default = 3, help = "how strict" },
  { name = "fast", type = "boolean", default = false, help = "whether" },
  { name = "style", type = "choice", choices = { "a", "b" }, default = "a", help = "which" },
  { name = "trees", type = "paths", default = {}, help = "where" },
  { name = "words", type = "list", default = { "x" }, help = "what" },
  { name = "place", type = "path", default = "~", help = "where" },
  { name = "title", type = "text", help = "a name" },
}

describe("declared options", function()
  it("are accepted as they are documented", function()
    assert.is_nil(declared.check(OPTIONS))
  end)

  local mistakes = {
    { { 1 }, "options[1]: expected a table, got 1" },
    { { { name = "a b", type = "text", help = "h" } }, "options[1].name: expected a name of letters, digits and _" },
    { { { name = "a", type = "txt", help = "h" } }, 'got "txt" (did you mean text?)' },
    { { { name = "a", type = "text" } }, "options[1].help: missing" },
    { { { name = "a", type = "text", help = "h", defualt = 1 } }, "options[1].defualt: unknown key (did you mean default?)" },
    { { { name = "a", type = "integer", default = "1", help = "h" } }, "options[1].default: expected a whole number" },
    { { { name = "a", type = "choice", help = "h" } }, "options[1].choices: goes with the type choice" },
    { { { name = "a", type = "text", choices = { "x" }, help = "h" } }, "options[1].choices: goes with the type choice" },
    {
      { { name = "a", type = "text", help = "h" }, { name = "a", type = "text", help = "h" } },
      "options[2].name: a is declared twice",
    },
    { { a = 1 }, "options: expected a list without holes" },
  }
  for _, case in ipairs(mistakes) do
    it("are told what is wrong with them: " .. case[2], function()
      assert.matches(case[2], declared.check(case[1]), 1, true)
    end)
  end

  it("have their defaults where nothing is given, and paths without ~", function()
    assert.same(
      { level = 3, fast = false, style = "a", trees = {}, words = { "x" }, place = "/home/u", title = "t" },
      declared.values(OPTIONS, { title = "t" }, "/home/u")
    )
    assert.same({ "/home/u/x", "/y" }, declared.values(OPTIONS, { title = "t", trees = { "~/x", "/y/" } }, "/home/u").trees)
  end)

  local wrong = {
    { {}, "options.title: missing: a name" },
    { { title = "t", levl = 1 }, "options.levl: unknown option (did you mean level?); this policy takes level, fast" },
    { { title = "t", level = 1.5 }, "options.level: expected a whole number, got 1.5" },
    { { title = "t", fast = "yes" }, "options.fast: expected true or false" },
    { { title = "t", style = "c" }, "options.style: expected one of a, b" },
    { { title = "t", trees = { "x" } }, "options.trees[1]: expected an absolute path" },
    { { title = "t", place = "/a/../b" }, "options.place: expected a path without .." },
  }
  for _, case in ipairs(wrong) do
    it("name what is wrong with a value: " .. case[2], function()
      local values, message = declared.values(OPTIONS, case[1], "/home/u")
      assert.is_nil(values)
      assert.matches(case[2], message, 1, true)
    end)
  end

  it("say so when a policy takes none", function()
    assert.matches("this policy takes no options", select(2, declared.values({}, { a = 1 }, "/")), 1, true)
  end)

  it("read words of a command line by their types", function()
    local words = {
      { key = "level", value = "-4" }, { key = "fast", value = "true" }, { key = "trees", value = "/a" },
      { key = "trees", value = "/b" }, { key = "title", value = "12" },
    }
    assert.same({ level = -4, fast = true, trees = { "/a", "/b" }, title = "12" }, declared.read_words(OPTIONS, words))
    for _, case in ipairs({ { "level", "4x" }, { "fast", "yes" }, { "level", "" } }) do
      assert.is_nil((declared.read_words(OPTIONS, { { key = case[1], value = case[2] } })))
    end
    assert.matches("did you mean level", select(2, declared.read_words(OPTIONS, { { key = "levl", value = "1" } })), 1, true)
  end)

  it("are shown with type, help and default, or with what they are", function()
    local lines = declared.lines(OPTIONS)
    assert.matches("level=<integer>%s+how strict %(default: 3%)", lines[1])
    assert.matches("style=<a|b>%s+which %(default: a%)", lines[3])
    assert.matches("title=<text>%s+a name %(must be given%)", lines[7])
    assert.matches("how strict %(is 5%)", declared.lines(OPTIONS, { level = 5 })[1])
  end)
end)
