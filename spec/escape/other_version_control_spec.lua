--- What version control other than git runs by itself, and files that name a tool chain by its path.

local box = require("spec.support.box")

--- What says what is run, and what makes the directory around it a repository.
local configurations = { ".hg/hgrc", ".hg/sharedpath", ".jj/repo/config.toml", ".sl/config", "_darcs/prefs/defaults" }

local function plant(name, text)
  return ("mkdir -p %s && printf '%s' > %s"):format(name:match("^(.*)/"), text, name)
end

describe("a repository that is not git's", function()
  for _, name in ipairs(configurations) do
    it("that a run makes runs nothing of the run's, at the top and further down: " .. name, function()
      for _, at in ipairs({ "", "sub/x/" }) do
        box.attack({
          run = plant(at .. name, "[hooks]\\npre-status = evil\\n"),
          hurt = function(b)
            return b:exists("workspace/" .. at .. name)
          end,
        })
      end
    end)

    it("that is there keeps what it runs: " .. name, function()
      for _, at in ipairs({ "", "sub/x/" }) do
        box.attack({
          setup = function(b)
            b:write("workspace/" .. at .. name, "good")
            b:write("workspace/" .. at .. "file", "")
          end,
          run = ("echo evil > %s%s; mv %sfile %s%s"):format(at, name, at, at, name),
          hurt = function(b)
            return b:read("workspace/" .. at .. name) ~= "good"
          end,
          clause = "handoff",
        })
      end
    end)
  end

  it("is worked with as ever beside that, and one that was cloned keeps where it came from", function()
    local b <close> = box.new()
    b:write("workspace/.hg/hgrc", "[ui]\n")
    local clone = "# example\n[paths]\ndefault = https://example.org/x\n"
    local outcome = b:run("mkdir .hg/store && echo x > .hg/store/data && " .. plant("sub/.hg/hgrc", clone:gsub("\n", "\\n")))
    assert.equal(0, outcome.status, outcome.stderr)
    assert.same({}, outcome.appeared)
    assert.equal("x\n", b:read("workspace/.hg/store/data"))
    assert.equal(clone, b:read("workspace/sub/.hg/hgrc"))
  end)
end)

describe("a file that names a tool chain", function()
  local function stays(name, text)
    local b <close> = box.new()
    local outcome = b:run(("printf '%s' > %s"):format(text:gsub("\n", "\\n"), name))
    assert.equal(0, outcome.status, outcome.stderr)
    return b:exists("workspace/" .. name)
  end

  it("stays when it names versions alone", function()
    assert.is_true(stays(".python-version", "3.12.1\n"))
    assert.is_true(stays(".python-versions", "3.13\n3.14rc2\n"))
    assert.is_true(stays(".tool-versions", "nodejs 20.1.0\n# so\npython 3.12.1 system\n"))
    assert.is_true(stays(".bazelversion", "7.1.0\n"))
  end)

  it("is moved out when it could name a path, or what uv takes for a directory", function()
    for _, case in ipairs({
      { ".python-version", "./evil\n" }, { ".python-version", "3.12\nevil\n" }, { ".tool-versions", "python path:./evil\n" },
      { ".tool-versions", "python 3.12.1\nruby ../x\n" }, { ".bazelversion", "somebody/7.0\n" },
    }) do
      assert.is_false(stays(case[1], case[2]), case[2])
    end
  end)
end)
