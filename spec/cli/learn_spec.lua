local box = require("spec.support.box")

--- `procage-lua learn`, in the workspace.
local function learn(b, args, command)
  local program = (os.getenv("PROCAGE_BUILD") or "build/dev") .. "/bin/procage-lua"
  local words = { program, "learn", "--root", b.workspace }
  table.move(args, 1, #args, #words + 1, words)
  table.move({ "--", "/bin/sh", "-c", command }, 1, 4, #words + 1, words)
  return b:run_unconfined(words)
end

local WORK = "cat $HOME/settings/a > got; echo x > $OUTSIDE/result; cat $HOME/.netrc; echo evil > .envrc;"
  .. " mkdir -p $HOME/app/deep; echo x > .git/index"

local function set_up(b)
  box.skip_unless("seccomp_notify")
  b:setup("git init -q .")
  b:write("home/settings/a", "a")
  b:write("home/.netrc", "s3cret")
  return b
end

describe("procage-lua learn", function()
  it("proposes what was written, at the directory that is meant, and no more", function()
    local b <close> = set_up(box.new())
    local result = learn(b, {}, WORK)
    assert.equal(0, result.status, result.stderr)
    local text = result.stdout
    assert.matches("\n[sandbox]\n", text, 1, true)
    assert.matches(b.outside, text:match("\nwritable = [^\n]*"), 1, true)
    assert.matches('"~/app"', text, 1, true)
    assert.matches('caches = "none"', text, 1, true)
    assert.not_matches("writable[^\n]*netrc", text)
    assert.not_matches("writable[^\n]*envrc", text)
    assert.matches("~/.netrc (hidden)", text, 1, true)
    assert.matches(".envrc (others run it: direnv, on entering the directory)", text, 1, true)
    assert.matches("~/settings", text, 1, true)
  end)

  it("proposes nothing that others run from the home or the system, and says so", function()
    local b <close> = set_up(box.new())
    b:write("home/dots/rc", "")
    b:setup("ln -s dots/rc ../home/.bashrc")
    local result = learn(b, {}, "for f in $HOME/.bashrc $HOME/.gitconfig $HOME/.profile $HOME/bin/x"
      .. " /etc/pc-none /usr/lib/pc-none; do echo evil >> $f; done; mkdir $HOME/bin; echo x > $HOME/data; true")
    assert.equal(0, result.status, result.stderr)
    local writable = result.stdout:match("\nwritable = [^\n]*")
    assert.equal('\nwritable = ["~/data"]', writable, result.stdout)
    for _, told in ipairs({
      "~/dots/rc (others run it: bash)", "~/.gitconfig (others run it: git", "~/.profile (others run it: ",
      "~/bin (others run it: ", "/etc/pc-none (of the system: ", "/usr/lib/pc-none (of the system: ",
    }) do
      assert.matches(told, result.stdout, 1, true)
    end
    assert.equal("", b:read("home/dots/rc"))
  end)

  it("proposes a configuration under which the command goes further", function()
    local b <close> = set_up(box.new())
    local work = "echo x > $OUTSIDE/result && echo done"
    local result = learn(b, { "-o", b.root .. "/learned.toml" }, work)
    assert.equal("", result.stdout)
    assert.is_false(b:exists("outside/result"))
    local line = { os.getenv("PROCAGE_BUILD") or "build/dev" }
    local run = { line[1] .. "/bin/procage-lua", "run", "-q", "--root", b.workspace }
    local before = b:run_unconfined(table.move({ "--", "sh", "-c", work }, 1, 4, #run + 1, table.move(run, 1, #run, 1, {})))
    assert.not_equal(0, before.status)
    local words = table.move({ "--config", b.root .. "/learned.toml", "--", "sh", "-c", work }, 1, 6, #run + 1, run)
    local after = b:run_unconfined(words)
    assert.equal("done\n", after.stdout, after.stderr)
    result = learn(b, { "-o", b.root .. "/learned.toml" }, work)
    assert.equal(2, result.status, "it is not overwritten")
  end)

  it("writes a policy that reads what was read, and nothing else", function()
    local b <close> = set_up(box.new())
    b:write("home/other/b", "b")
    local work = "cat $HOME/settings/a"
    local result = learn(b, { "--as", "policy", "-o", b.root .. "/learned.lua" }, work)
    assert.equal(0, result.status, result.stderr)
    local program = (os.getenv("PROCAGE_BUILD") or "build/dev") .. "/bin/procage-lua"
    local function run(command)
      return b:run_unconfined({
        program, "run", "-q", "--root", b.workspace, "--policy", b.root .. "/learned.lua", "--", "sh", "-c", command,
      })
    end
    assert.equal("a", run(work).stdout, run(work).stderr)
    local other = run("cat $HOME/other/b")
    assert.not_equal(0, other.status)
    assert.equal("", other.stdout)
  end)

  it("says that a failed command was not seen to its end", function()
    local b <close> = set_up(box.new())
    local result = learn(b, {}, "echo told; exit 3")
    assert.equal(0, result.status)
    assert.matches("told", result.stderr, 1, true)
    assert.matches("failed (3)", result.stderr, 1, true)
    assert.equal(2, learn(b, { "--as", "xml" }, "true").status)
  end)
end)
