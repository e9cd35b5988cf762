local core = require("procage.core")
local handoff = require("procage.handoff")

describe("the names that are looked for", function()
  local root

  before_each(function()
    root = assert(core.private_dir("/tmp"))
  end)

  after_each(function()
    core.remove_tree(root)
  end)

  local function found(names)
    local list = {}
    for i, entry in ipairs(handoff.find(root, names)) do
      list[i] = entry.path:sub(#root + 2) .. " " .. entry.kind
    end
    return list
  end

  local function run(script)
    assert(os.execute(("cd '%s' && %s"):format(root, script)))
  end

  it("are found in any letter case, in the order of the names", function()
    run("mkdir .VSCode && touch .VSCode/Tasks.JSON MAKEFILE makefile")
    local names = { "Makefile", ".vscode/tasks.json", "x" }
    assert.same({ "MAKEFILE file", "makefile file", ".VSCode/Tasks.JSON file" }, found(names))
  end)

  it("are found once, beneath and above another of them", function()
    run("mkdir -p a/b && touch a/b/c")
    assert.same({ "a/b directory", "a/b/c file" }, found({ "a/b", "a/b/c", "A/B" }))
  end)

  it("are found as the link that stands on their way", function()
    run("mkdir real && touch real/config && ln -s real .cargo && ln -s nowhere whole")
    assert.same({ ".cargo link", "whole link" }, found({ ".cargo/config", "whole" }))
  end)

  it("are no part of a file, and not what only begins like one", function()
    run("touch a ab && mkdir b")
    assert.same({}, found({ "a/b", "b/c", "abc" }))
  end)
end)
