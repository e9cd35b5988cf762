local core = require("procage.core")
local denied_paths = require("procage.denied_paths")
local learn = require("procage.learn")
local proposal = require("procage.proposal")

local HOME = "/home/pc-nobody"

local WRITE = 0
for _, row in ipairs(core.landlock_bits().fs) do
  WRITE = row.name == "WRITE_FILE" and row.bit or WRITE
end

--- A policy as learn looks at one, of a tree that is not on the disk.
local function policy(home)
  home = home or HOME
  local workspace = home .. "/work"
  return {
    name = "p",
    context = { home = home, workspace = workspace, env = { PATH = "/usr/local/bin:/usr/bin:/srv/pc-none/tools" } },
    config = {},
    profile = { workspace = workspace, accept = {} },
    fitted = { hidden = { home .. "/.netrc", home .. "/app/key" }, read = "all", read_only = {} },
    survey = { write = { workspace, home .. "/.cache" }, protected = {},
      watch = { roots = { workspace }, names = { ".envrc" } } },
  }
end

local function accesses(names)
  local list = {}
  for i, name in ipairs(names) do
    list[i] = { path = name:gsub("^~", HOME), wanted = WRITE, refused = WRITE, errno = 13, count = 1 }
  end
  return list
end

local function learned_of(names)
  return learn.of(accesses(names), policy(), { denied = {} })
end

local RUN_BY_OTHERS = {
  "~/.bashrc", "~/.profile", "~/.zshrc", "~/.gitconfig", "~/.vimrc", "~/.xprofile", "~/.pam_environment", "~/.config/fish/x",
  "~/bin/ls", "/etc/cron.d/x", "/etc/ld.so.preload", "/etc/passwd", "/usr/lib/x", "/usr/local/bin/x", "/srv/pc-none/tools/x",
  "/home/pc-other/.bashrc", "~/.config", "~/work/.envrc",
}

describe("learn", function()
  it("proposes nothing that others run, and says why", function()
    local learned = learned_of(RUN_BY_OTHERS)
    assert.same({}, learned.write)
    assert.equal(#RUN_BY_OTHERS, #learned.left_out)
    local text = table.concat(proposal.account(learned, policy()), "\n")
    assert.matches("~/.bashrc (others run it: bash)", text, 1, true)
    assert.matches("/etc/passwd (of the system: ", text, 1, true)
    assert.matches("/srv/pc-none/tools/x (a directory of PATH)", text, 1, true)
    assert.not_matches("writable", proposal.toml(learned, policy()))
  end)

  it("widens to no directory that holds what others run, is at the top, or a home", function()
    assert.same({ HOME .. "/.cargo/x" }, learned_of({ "~/.cargo/x" }).write)
    assert.same({ HOME .. "/.config/a", HOME .. "/.config/b", HOME .. "/.config/c", HOME .. "/.config/d" },
      learned_of({ "~/.config/a", "~/.config/b", "~/.config/c", "~/.config/d" }).write)
    assert.same({ "/srv/x" }, learned_of({ "/srv/x" }).write)
    assert.same({ "/home/pc-other/x" }, learned_of({ "/home/pc-other/x" }).write)
    assert.same({ "/srv/pc-none/x" }, learned_of({ "/srv/pc-none/x" }).write)
    assert.same({ HOME .. "/app/x" }, learned_of({ "~/app/x" }).write)
  end)

  it("proposes what is meant", function()
    assert.same({ HOME .. "/.config/app", HOME .. "/other",
      "/srv/data" }, learned_of({ "~/.config/app/a/b", "~/other/c", "/srv/data/x", "/tmp/x" }).write)
    local one = policy("/tmp/pc-nobody")
    local entry = { path = "/tmp/pc-nobody/other/x", wanted = WRITE, refused = WRITE, errno = 13, count = 1 }
    assert.same({ "/tmp/pc-nobody/other" }, learn.of({ entry }, one, { denied = {} }).write)
  end)

  it("takes no longer than the paths are many", function()
    local names = {}
    for i = 1, 65536 do
      names[i] = ("~/d%d/e/f%d"):format(i % 20000, i)
    end
    local list, one = accesses(names), policy()
    for i = 1, 300 do
      one.fitted.hidden[i] = ("%s/.secret%d"):format(HOME, i)
    end
    local from = os.clock()
    assert.equal(20000, #learn.of(list, one, { denied = {} }).write)
    assert.is_true(os.clock() - from < 10, tostring(os.clock() - from))
  end)
end)

describe("hints for refused paths", function()
  it("offer no write to what others run", function()
    local one = policy()
    one.survey.protected = { HOME .. "/work/.envrc" }
    for i, found in ipairs(denied_paths.of(accesses(RUN_BY_OTHERS), one)) do
      assert.is_nil(found.denied.change, RUN_BY_OTHERS[i])
    end
    local found = denied_paths.of(accesses({ "/srv/data/x" }), one)
    assert.same({ writable = { "/srv/data" } }, found[1].denied.change)
  end)
end)
