local lists = require("policies.lists")
local path = require("procage.path")
local startup = require("procage.startup")

--- Nothing of these is on the disk, so that names stay as they are.
local HOME = "/home/pc-nobody"

local function judge(fields)
  local context = { home = HOME, workspace = HOME .. "/work", env = { PATH = "/usr/bin:/srv/pc-none/tools:bin" } }
  for key, value in pairs(fields or {}) do
    context[key] = value
  end
  return startup.new(context, lists)
end

describe("startup", function()
  it("closes what is run from a home, by name and by what lies in it", function()
    local mine = judge()
    for _, name in ipairs({
      ".bashrc", ".profile", ".zshrc", ".zshenv", ".zlogin", ".gitconfig", ".config/git/config", ".vimrc",
      ".config/nvim/init.lua",
      ".emacs", ".xprofile", ".xinitrc", ".pam_environment", ".ssh/rc", ".config/fish/config.fish",
      ".config/autostart/x.desktop",
      ".config/systemd/user/x.service", ".local/bin/ls", "bin/ls", ".local/share/applications/x.desktop",
      "Library/LaunchAgents/x.plist", ".BashRC", ".vscode/tasks.json",
    }) do
      for _, home in ipairs({ HOME, "/home/pc-other", "/Users/pc-other", "/root" }) do
        assert.is_string(mine:reason(home .. "/" .. name), home .. "/" .. name)
      end
    end
    assert.equal("others run it: bash", mine:reason(HOME .. "/.bashrc"))
    assert.equal("others run it: bash", mine:reason("/srv/homes/u/.bashrc"))
  end)

  it("closes directories of PATH and places of the system, and what holds them", function()
    local mine = judge()
    assert.equal("a directory of PATH", mine:reason("/srv/pc-none/tools/x"))
    for _, place in ipairs({
      "/etc/cron.d", "/etc/ld.so.preload", "/etc/passwd", "/usr/lib/x", "/usr/local/bin/x", "/lib64/x", "/boot/x", "/opt/x",
      "/var/spool/cron/root", "/var/lib/dpkg/info/x", "/run/x", "/root/x", "/sbin/x",
    }) do
      assert.is_string(mine:reason(place), place)
    end
    for _, tree in ipairs({ "/", "/home", HOME, "/home/pc-other", "/srv/pc-none", HOME .. "/.config", HOME .. "/.local" }) do
      assert.is_true(mine:is_above(tree), tree)
      assert.is_string(mine:reason(tree), tree)
    end
  end)

  it("leaves open what nobody runs", function()
    local mine = judge()
    for _, place in ipairs({
      HOME .. "/notes", HOME .. "/.config/app/x", HOME .. "/work/bin/x", "/srv/data/x", "/srv/bin/x", "/srv/pc-none/toolsmith",
      HOME .. "/.bashrc.d.txt", "/etcetera/x",
    }) do
      assert.is_nil(mine:reason(place), place)
    end
  end)

  it("leaves a home in a place of the system to who lives there, and no more of it", function()
    local service = judge({ home = "/var/lib/pc-ci", workspace = "/var/lib/pc-ci/work" })
    assert.is_nil(service:reason("/var/lib/pc-ci/out/x"))
    assert.is_string(service:reason("/var/lib/dpkg/x"))
    assert.is_string(service:reason("/var/lib/pc-ci/.bashrc"))
    local root = judge({ home = "/root", workspace = "/root/pc-none" })
    assert.is_nil(root:reason("/root/pc-out/x"))
    assert.is_string(root:reason("/root/.profile"))
    assert.is_string(judge({ home = "/" }):reason("/etc/x"))
    assert.is_string(judge({ home = "/etc" }):reason("/etc/x"))
    assert.is_string(judge({ home = "/opt/app/u", workspace = "/opt/app/u/w" }):reason("/opt/other/x"))
  end)

  it("takes a directory of PATH that holds the home for what stands in it directly", function()
    local mine = judge({ env = { PATH = HOME } })
    assert.equal("a directory of PATH", mine:reason(HOME .. "/tool"))
    assert.is_nil(mine:reason(HOME .. "/data/x"))
  end)

  it("follows links: of a start-up file, and of a program on PATH", function()
    local pipe = assert(io.popen("cd \"$(mktemp -d)\" && pwd -P && mkdir -p home/dots home/app tools"
      .. " && echo x > home/dots/rc && ln -s dots/rc home/.bashrc && echo x > home/app/run && ln -s ../home/app/run tools/run"
      .. " && ln -s ../home tools/home"))
    local root = pipe:read("l")
    assert.is_true(pipe:close())
    local mine = judge({ home = root .. "/home", workspace = root .. "/work", env = { PATH = root .. "/tools" } })
    assert.equal("others run it: bash", mine:reason(root .. "/home/dots/rc"))
    assert.equal("a program of PATH", mine:reason(root .. "/home/app/run"))
    assert.is_true(mine:is_above(root .. "/home/app"))
    assert.is_nil(mine:reason(root .. "/home/other/x"), "a link to the whole home says nothing")
    assert(os.execute(("rm -r '%s'"):format(root)))
  end)

  it("closes everything where the lists are missing", function()
    assert.matches("cannot be read", startup.new({ home = HOME, workspace = HOME .. "/w" }, {}):reason("/srv/data/x"))
  end)

  it("looks as many components ahead as a name of the lists has", function()
    for _, list in ipairs({ lists.handoff, lists.startup }) do
      for _, row in ipairs(list) do
        assert.is_true(#path.components((row.name:gsub("^~/", ""))) <= startup.LONGEST, row.name)
      end
    end
  end)
end)
