--- On a volume that folds letter case, every spelling of a protected name is protected (FR-74).
---
--- Such a volume is a tmpfs with `casefold` (Linux 6.13, CONFIG_UNICODE), which root can mount. Where root has made one
--- already, PROCAGE_FOLDING names a directory in it that folds (`chattr +F`) and that everybody may write.

local box = require("spec.support.box")

local place, mounted, why

--- Whether two spellings lead to one file there. A long s is an s, and a soft hyphen nothing, to who folds as Unicode has it.
local function folds(directory)
  local quoted = box.quote(directory)
  return box.shell(("d=$(mktemp -d %s/f.XXXXXX) && echo yes >$d/As && cat $d/a\u{17f}; rm -rf -- $d"):format(quoted)) == "yes"
end

lazy_setup(function()
  place = os.getenv("PROCAGE_FOLDING")
  if place then
    return
  end
  if not box.is_root() then
    why = "only root can mount a volume that folds letter case; PROCAGE_FOLDING may name a directory in one"
    return
  end
  local directory = box.shell("mktemp -d " .. box.quote((os.getenv("HOME") or "/tmp") .. "/folding.XXXXXX"))
  local said, ok = box.shell("mount -t tmpfs -o casefold,mode=755 procage-folding " .. box.quote(directory))
  if not ok then
    os.remove(directory)
    why = "no volume that folds letter case can be made here: " .. said:match("[^\n]*")
    return
  end
  mounted = directory
  place = directory .. "/f"
  box.shell(("mkdir -m 777 %s && chattr +F %s"):format(box.quote(place), box.quote(place)))
end)

lazy_teardown(function()
  if mounted then
    box.shell(("umount %s && rmdir %s"):format(box.quote(mounted), box.quote(mounted)))
  end
end)

--- A box in it, or the test is pending.
local function new(config, options)
  if not place then
    box.skip(why)
  end
  assert.is_true(folds(place), place .. " does not fold letter case")
  options = options or {}
  options.under, options.config = place, config
  return options
end

--- What unconfined prints a secret prints none confined, and nothing that is writable has it.
local function hides(on_disk, spellings)
  for _, spelling in ipairs(spellings) do
    it(("%s, as %s"):format(on_disk, spelling), function()
      box.attack({
        box = new({ hidden = { "~/.ssh" } }),
        setup = function(b)
          b:write("home/" .. on_disk .. "/id", "s3cret")
        end,
        run = ("cat %s/id; ls %s"):format("$HOME/" .. spelling, "$HOME/" .. spelling),
        hurt = function(_, result)
          return result.stdout:find("s3cret", 1, true)
        end,
        clause = "hidden",
      })
    end)
  end
end

describe("a hidden directory on a volume that folds letter case has nothing to read in", function()
  hides(".ssh", { ".ssh", ".SSH", ".\u{17f}\u{17f}h", ".s\u{ad}sh" })
  hides(".SSH", { ".ssh", ".SSH", ".Ssh" })
  hides(".\u{17f}sh", { ".ssh", ".\u{17f}sh" })
end)

--- What is there keeps its content.
local function keeps(name, setup, attack, config)
  it(("%s against: %s"):format(name, attack), function()
    box.attack({
      box = new(config),
      setup = function(b)
        b:write("workspace/x", "evil")
        setup(b)
      end,
      run = attack,
      hurt = function(b)
        return b:read("workspace/" .. name) ~= "good"
      end,
      clause = name:find("^%.git/") and "git" or "handoff",
    })
  end)
end

local function written(name)
  return function(b)
    b:write("workspace/" .. name, "good")
  end
end

local function with_git(b)
  b:setup("git init -q . && mkdir -p .git/hooks && printf good >.git/hooks/pre-commit")
end

describe("what is protected on such a volume keeps its content:", function()
  keeps(".envrc", written(".envrc"), "echo evil > .ENVRC; mv -f x .EnvRC")
  keeps(".mcp.json", written(".mcp.json"), "echo evil > .mcp.j\u{17f}on; mv -f x .MCP.JSON")
  keeps(".envrc", written(".Envrc"), "echo evil > .envrc; rm -f .ENVRC; echo evil > .envrc")
  keeps(".vscode/tasks.json", written(".vscode/tasks.json"), "mv .VSCODE old; mkdir .vscode; echo evil > .vscode/tasks.json")
  keeps(".git/hooks/pre-commit", with_git, "mv -f x .GIT/HOOKS/pre-commit")
  keeps(".git/hooks/pre-commit", with_git, "rm -rf .Git; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit")
end)

--- Names that do not exist yet, in spellings that lead to them.
local SPELLINGS = {
  { ".envrc", ".ENVRC" }, { ".mcp.json", ".mcp.j\u{17f}on" }, { ".npmrc", ".np\u{ad}mrc" },
  { ".vscode/tasks.json", ".v\u{17f}code/ta\u{17f}\u{212a}s.json" }, { ".git", ".G\u{200b}it" },
}

describe("a hand-off file that did not exist on such a volume", function()
  for _, pair in ipairs(SPELLINGS) do
    local name, spelling = pair[1], pair[2]
    local make = ("mkdir -p $(dirname %s); echo evil > %s; cat %s"):format(spelling, spelling, name)

    it(("is moved out after the run, made as %s"):format(spelling), function()
      local options = new({})
      do
        local control <close> = box.new(options)
        control:run_unconfined(make)
        if control:read("workspace/" .. name) ~= "evil\n" then
          box.skip("this kernel does not fold " .. spelling)
        end
      end
      local b <close> = box.new(options)
      local outcome = b:run(make)
      assert.equal("evil\n", outcome.stdout)
      assert.is_false(b:exists("workspace/" .. name), name)
      assert.is_truthy((outcome.appeared or {})[1])
    end)

    it(("is not made as %s where none is to be"):format(spelling), function()
      box.skip_unless("seccomp_notify")
      local options = new({ handoff_absent = "refuse" })
      local b <close> = box.new(options)
      local outcome = b:run(make)
      assert.is_false(b:exists("workspace/" .. name), outcome.stderr)
      assert.equal("", outcome.stdout)
      assert.matches("ermission denied", outcome.stderr)
    end)
  end
end)
