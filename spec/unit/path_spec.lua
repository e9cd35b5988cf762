local path = require("procage.path")

describe("a path as text", function()
  it("has one spelling, and keeps its parent steps", function()
    assert.equal("/a/b", path.normalise("//a/./b//"))
    assert.equal("/", path.normalise("///"))
    assert.equal("a/b", path.normalise("./a//b/"))
    assert.equal(".", path.normalise(""))
    assert.equal("/a/../b", path.normalise("/a/../b/"))
    assert.is_true(path.has_parent_step("/a/../b"))
    assert.is_false(path.has_parent_step("/a/..b"))
  end)

  it("is plain when it is absolute, in its one spelling and without parent steps", function()
    for _, text in ipairs({ "/", "/a", "/.a", "/..a", "/a./b", "/a../b", "/a/.b", "/a/...", "/a/..b/c", "/a b" }) do
      assert.is_true(path.is_plain(text), text)
      assert.equal(text, path.normalise(text))
    end
    for _, text in ipairs({
      "", "a", ".", "./a", "a/b", "//", "/a/", "//a", "/a//b", "/.", "/..", "/./a", "/../a", "/a/.", "/a/..", "/a/./b",
      "/a/../b",
    }) do
      assert.is_false(path.is_plain(text), text)
    end
  end)

  it("is compared as it is where both were resolved", function()
    assert.is_true(path.lies_in("/srv/a/b", "/srv/a"))
    assert.is_true(path.lies_in("/srv/a", "/srv/a"))
    assert.is_true(path.lies_in("/", "/"))
    assert.is_false(path.lies_in("/srv/ab", "/srv/a"))
    assert.is_false(path.lies_in("/srv", "/srv/a"))
    assert.equal("/b", path.resolved_tree_of("/b/c", { "/a", "/b", "/b/c" }))
    assert.is_nil(path.resolved_tree_of("/bc", { "/a", "/b" }))
    assert.is_nil(path.resolved_tree_of("/b", {}))
    assert.has_error(function()
      path.resolved_tree_of("/b", { "/a", 5 })
    end)
  end)

  it("is split at its last name", function()
    assert.same({ "/a", "b" }, { path.split("/a/b") })
    assert.same({ "/", "a" }, { path.split("/a") })
    assert.same({ "a", "b" }, { path.split("a/b") })
    for _, text in ipairs({ "/", "a", "", "/a/" }) do
      assert.is_nil(path.split(text))
    end
  end)

  it("lies beneath a tree by names, not by letters", function()
    assert.is_true(path.is_beneath("/srv/a", "/srv/a"))
    assert.is_true(path.is_beneath("/srv/a/b", "/srv/a/"))
    assert.is_false(path.is_beneath("/srv/ab", "/srv/a"))
    assert.is_false(path.is_beneath("/srv", "/srv/a"))
    assert.is_true(path.is_beneath("/srv", "/"))
    assert.is_false(path.is_beneath("srv", "/"))
    assert.equal("/b", path.tree_of("/b/c", { "/a", "/b" }))
    assert.is_nil(path.tree_of("/bc", { "/a", "/b" }))
  end)

  it("of a list lies in one of the trees, or none does", function()
    local trees = { "/srv/a", "/c" }
    assert.is_true(path.any_beneath({ "/x", "/srv/a/b/d" }, trees))
    assert.is_true(path.any_beneath({ "/c" }, trees))
    assert.is_false(path.any_beneath({ "/srv/ab", "/srv", "/", "/d/c" }, trees))
    assert.is_true(path.any_beneath({ "/x" }, { "/" }))
    assert.is_false(path.any_beneath({}, { "/" }))
  end)

  it("joins, and an absolute part starts afresh", function()
    assert.equal("/a/b/c", path.join("/a/", "b", "c"))
    assert.equal("/c", path.join("/a", "b", "/c"))
  end)

  it("has a parent and a last name", function()
    assert.equal("/a", path.parent("/a/b/"))
    assert.equal("/", path.parent("/a"))
    assert.is_nil(path.parent("/"))
    assert.is_nil(path.parent("a"))
    assert.equal("b", path.basename("/a/b/"))
    assert.equal("/", path.basename("/"))
    assert.same({ "a", "b" }, path.components("/a/./b"))
  end)

  it("has home for its tilde, and no other user's", function()
    assert.equal("/home/u", path.expand_home("~", "/home/u/"))
    assert.equal("/home/u/.ssh", path.expand_home("~/.ssh", "/home/u"))
    assert.equal("~root/x", path.expand_home("~root/x", "/home/u"))
    assert.equal("/a/~", path.expand_home("/a/~", "/home/u"))
  end)

  it("is sorted with outer paths before inner ones, whatever the order given", function()
    local want = { "/", "/a", "/b", "/a/c", "/a/c/d" }
    assert.same(want, path.sort_by_depth({ "/a/c/d", "/b", "/a/c", "/", "/a" }))
    assert.same(want, path.sort_by_depth({ "/", "/a", "/a/c", "/a/c/d", "/b" }))
  end)

  it("that lie in no other are the outermost", function()
    assert.same({ "/b", "/a/c" }, path.outermost({ "/a/c/d", "/b", "/a/c", "/a/c", "/b/x/y" }))
    assert.same({ "/" }, path.outermost({ "/a", "/" }))
    assert.same({}, path.outermost({}))
  end)
end)
