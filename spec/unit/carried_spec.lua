--- A release's program carries its Lua compiled. That it is used, and only for files that say the same, shows in a copy of the
--- program in which a compiled text is another one.

local throwaway = require("spec.support.throwaway")

local program = os.getenv("PROCAGE_CARRYING")
local shell, quote = throwaway.shell, throwaway.quote

local POLICIES = { "speccoder", "spettro", "in-place", "own-command", "mcp-server", "workspace-write", "read-only" }

local function read(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read("a")
  file:close()
  return bytes
end

--- An installation of nothing but the program and the policies, and a home with a workspace.
local function install()
  local dir = throwaway.directory()
  local prefix = dir.path .. "/prefix"
  dir.policies = prefix .. "/share/lua/5.4/procage/policies"
  dir.program = prefix .. "/bin/procage-lua"
  shell(("mkdir -p %s/bin %s %s/home/project"):format(quote(prefix), quote(dir.policies), quote(dir.path)))
  shell(("cp policies/*.lua %s && cp %s %s"):format(quote(dir.policies), quote(program), quote(dir.program)))
  return dir
end

--- What a program says there.
local function say(dir, words, with)
  local command = "cd %s/home/project && HOME=%s/home %s %s"
  return shell(command:format(quote(dir.path), quote(dir.path), quote(with or dir.program), words))
end

--- Alters a text in the program where it is compiled: a policy is carried with its text as well, where it stands in quotes.
---@return integer count  of places
local function alter(dir, from, to)
  local pattern, count = '([^"])' .. from:gsub("%p", "%%%0"), 0
  local bytes = read(dir.program):gsub(pattern, function(before)
    count = count + 1
    return before .. to
  end)
  throwaway.write(dir.program, bytes)
  return count
end

local REASON, ALTERED = "certificate authority keys", "certificate authority KEYS"

describe("a program that carries its Lua", function()
  if not program then
    pending("is not built here: ctest -R unit/carried does that")
    return
  end

  it("has every module in it and reads none", function()
    local dir <close> = install()
    local bytes = read(program)
    local list = shell("cd lua && find procage -name '*.lua'")
    for file in list:gmatch("[^\n]+") do
      local name = file:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
      -- The first text of all has none before it.
      assert.truthy(bytes:find(name .. "\0", 1, true), name)
    end
    assert.matches("^procage%-lua %d", (say(dir, "version")))
    assert.matches("hidden", (say(dir, "explain")))
  end)

  it("runs what it carries, not a file", function()
    local dir <close> = install()
    shell(("cp -r lua/procage/. %s/.."):format(quote(dir.policies)))
    assert.matches("Try 'procage", (say(dir, "frobnicate")), 1, true)
    assert.is_true(alter(dir, "Try 'procage-lua", "TRY 'procage-lua") > 0)
    assert.matches("TRY 'procage", (say(dir, "frobnicate")), 1, true)
  end)

  it("uses the compiled policy of a file that says the same to the letter", function()
    local dir <close> = install()
    assert.matches(REASON, (say(dir, "explain")), 1, true)
    assert.equal(1, alter(dir, REASON, ALTERED))
    local said = say(dir, "explain")
    assert.matches(ALTERED, said, 1, true)
    assert.not_matches(REASON, said, 1, true)
  end)

  it("reads a policy that was edited", function()
    local dir <close> = install()
    alter(dir, REASON, ALTERED)
    local file = dir.policies .. "/lists.lua"
    local text = read(file)
    throwaway.write(file, text .. "-- One more line.\n")
    assert.matches(REASON, (say(dir, "explain")), 1, true)
    throwaway.write(file, (text:gsub(REASON, "edited by hand")))
    assert.matches("edited by hand", (say(dir, "explain")), 1, true)
    -- Of one length with what it was.
    throwaway.write(file, (text:gsub(REASON, REASON:upper())))
    assert.matches(REASON:upper(), (say(dir, "explain")), 1, true)
    throwaway.write(file, text)
    assert.matches(ALTERED, (say(dir, "explain")), 1, true)
  end)

  it("names an edited policy's line in its errors", function()
    local dir <close> = install()
    local file = dir.policies .. "/speccoder.lua"
    local text, count = read(file):gsub("  local p = profile.new%(%)\n", "%0  p:no_such_clause()\n")
    assert.equal(1, count)
    throwaway.write(file, text)
    local _, before = text:sub(1, text:find("no_such_clause", 1, true)):gsub("\n", "")
    assert.matches(("policies/speccoder.lua:%d:"):format(before + 1), (say(dir, "explain")), 1, true)
  end)

  it("comes to what the files come to, for every shipped policy", function()
    local dir <close> = install()
    local from_files <close> = throwaway.directory()
    shell(("cp -r %s/. %s"):format(quote(dir.path), quote(from_files.path)))
    -- The same program, and every text another one by a line of comment: all is read.
    local policies = from_files.path .. "/prefix/share/lua/5.4/procage/policies"
    shell(("for f in %s/*.lua; do echo '-- .' >>$f; done"):format(quote(policies)))
    for _, name in ipairs(POLICIES) do
      local words = "explain --json --policy " .. name
      local carried, is_well = say(dir, words)
      local read_anew = say(dir, words, from_files.path .. "/prefix/bin/procage-lua")
      assert.is_true(is_well, carried)
      -- Where a policy lies is in its own profile.
      assert.is_true(carried == read_anew:gsub(from_files.path:gsub("%p", "%%%0"), dir.path), name)
    end
  end)
end)
