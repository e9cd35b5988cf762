local box = require("spec.support.box")
local config_files = require("procage.cli.config_files")

--- As os.getenv is for the program in a box.
local function variables(b, more)
  return function(name)
    if more and more[name] then
      return more[name]
    end
    return name == "HOME" and b.home or nil
  end
end

describe("the program's configuration", function()
  it("is nothing where no file is", function()
    local b <close> = box.new()
    local found = assert(config_files.default(b.workspace, variables(b)))
    assert.same({}, found.config)
    assert.same({}, found.files)
    assert.is_nil(found.where("network"))
  end)

  it("is where the directory for it is, absolute or at home", function()
    local b <close> = box.new()
    assert.equal(b.home .. "/.config/procage/config.toml", config_files.user_file(variables(b)))
    assert.equal("/x/procage/config.toml", config_files.user_file(variables(b, { XDG_CONFIG_HOME = "/x" })))
    -- A relative one is none. Source: the XDG base directory specification.
    local relative = variables(b, { XDG_CONFIG_HOME = "x" })
    assert.equal(b.home .. "/.config/procage/config.toml", config_files.user_file(relative))
    assert.is_nil(config_files.user_file(function() end))
  end)

  it("says which file and line each key is from", function()
    local b <close> = box.new()
    local user = b:write("home/.config/procage/config.toml", [==[
[sandbox]
network = "all"
git = "commit"
hidden = ["/a",
  "/b"]
]==])
    local own = b:write("workspace/speccoder.toml", '[sandbox]\nnetwork = "off"\ngit = "write"\nhidden = [ # more\n  "/c"]\n')
    local found = assert(config_files.default(b.workspace, variables(b)))
    assert.same({ network = "none", git = "commit", hidden = { "/a", "/b", "/c" } }, found.config)
    assert.same({ user, user, own }, found.files)
    assert.equal(own .. ":2", found.where("network"))
    assert.equal(user .. ":3", found.where("git"))
    assert.equal(user .. ":5", found.where("hidden[2]"))
    assert.equal(own .. ":5", found.where("hidden[3]"))
    assert.is_nil(found.where("hidden[4]"))
    assert.is_nil(found.where("tmp"))
    assert.equal(1, #found.notices)
    assert.matches('not granted: git = "write"; to accept it: --config ' .. own, found.notices[1], 1, true)
  end)

  it("is the file that is named, and that alone", function()
    local b <close> = box.new()
    b:write("home/.config/procage/config.toml", '[sandbox]\nnetwork = "all"\n')
    local file = b:write("outside/my.json", '{"git": "write"}')
    local found = assert(config_files.named(file, file))
    assert.same({ git = "write" }, found.config)
    assert.equal(file, found.where("git"))
    assert.is_nil(found.where("network"))
    local missing, message = config_files.named("/no/such.toml", "/no/such.toml")
    assert.is_nil(missing)
    assert.matches("--config /no/such.toml: No such file", message, 1, true)
  end)
end)
