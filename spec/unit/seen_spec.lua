local core = require("procage.core")
local seen = require("procage.seen")

describe("what was seen", function()
  local root

  before_each(function()
    root = assert(core.private_dir("/tmp"))
    assert(os.execute(("cd '%s' && mkdir a && echo x > a/file && ln -s file a/link"):format(root)))
  end)

  after_each(function()
    core.remove_tree(root)
  end)

  local function look(since_ns)
    local names = { root .. "/a", root .. "/a/file", root .. "/a", root .. "/none" }
    return seen.new(names, since_ns or core.clock_ns() + 1000000000)
  end

  --- Whether it still holds after a command in the directory.
  local function holds_after(command)
    local found = assert(look())
    assert.is_true(found:holds())
    assert(os.execute(("cd '%s' && %s"):format(root, command)))
    return found:holds()
  end

  it("holds while nothing is changed", function()
    assert.is_true(holds_after("cat a/file > /dev/null; ls a > /dev/null; touch elsewhere"))
  end)

  it("does not when a name comes, goes or is another object", function()
    assert.is_false(holds_after("touch a/new"))
    assert.is_false(holds_after("rm a/new"))
    assert.is_false(holds_after("mkdir none"))
    assert.is_false(holds_after("rmdir none"))
    assert.is_false(holds_after("cp -p a/file a/other && mv a/other a/file"))
    assert.is_false(holds_after("mv a b && cp -a b a"))
  end)

  it("does not when times and size are put back", function()
    assert.is_false(holds_after("touch -r a/file t && echo y > a/file && touch -r t a/file"))
    assert.is_false(holds_after("touch -r a t && touch a/.envrc && touch -r t a"))
  end)

  it("does not when a directory is closed", function()
    assert.is_false(holds_after("chmod 000 a"))
    assert(os.execute(("chmod 700 '%s/a'"):format(root)))
  end)

  it("is no witness when it was changed within a step of the clock", function()
    assert(os.execute(("touch '%s/a/file'"):format(root)))
    assert.is_nil(look(core.clock_ns()))
    assert.is_nil(look(core.clock_ns() - 1000000000))
  end)
end)

describe("kinds and marks of many names", function()
  it("are those of each", function()
    local root = assert(core.private_dir("/tmp"))
    assert(os.execute(("cd '%s' && touch f && mkdir d && ln -s f l && mkfifo p"):format(root)))
    local names = { root .. "/f", root .. "/d", root .. "/l", root .. "/p", root .. "/none", "/dev/null" }
    assert.equal("fdlp-v", core.kinds(names))
    local marks = core.marks(names)
    for i, name in ipairs(names) do
      assert.equal(core.mark(name) or ("\0"):rep(40), marks:sub(40 * i - 39, 40 * i))
    end
    core.remove_tree(root)
  end)
end)
