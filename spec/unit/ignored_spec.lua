local ignored = require("procage.ignored")
local throwaway = require("spec.support.throwaway")
local user_git = require("procage.user_git")
local git = require("procage.git")
local generator = require("spec.support.random")

local quote, shell = throwaway.quote, throwaway.shell

--- git, in a repository of a test, with no configuration but the test's.
local function run_git(home, at, words)
  local output, ok = shell(
    ("cd %s && env -i PATH=/usr/bin:/bin HOME=%s GIT_CONFIG_NOSYSTEM=1 git %s"):format(quote(at), quote(home), words)
  )
  assert.is_true(ok, output)
  return output
end

local function make(base, files)
  local made = {}
  for name in pairs(files) do
    made[quote((base .. "/" .. name):match("^(.*)/"))] = true
  end
  local directories = {}
  for directory in pairs(made) do
    directories[#directories + 1] = directory
  end
  shell("mkdir -p -- " .. table.concat(directories, " "))
  for name, text in pairs(files) do
    throwaway.write(base .. "/" .. name, text)
  end
end

--- What is found beneath `repository`, relative to it.
local function find(repository, options)
  options.trees = { repository }
  local found = assert(ignored.find(options))
  local names = {}
  for i, name in ipairs(found.files) do
    names[i] = name:sub(#repository + 2)
  end
  return names, found
end

--- Every file that git says it ignores.
local function git_answers(home, repository)
  local output = shell(
    ("cd %s && find . -name .git -prune -o -type f -printf '%%P\\0' | env -i PATH=/usr/bin:/bin HOME=%s GIT_CONFIG_NOSYSTEM=1"
      .. " git check-ignore -z --stdin | tr '\\0' '\\n' | LC_ALL=C sort"):format(quote(repository), quote(home))
  )
  local names = {}
  for name in output:gmatch("[^\n]+") do
    names[#names + 1] = name
  end
  return names
end

-- ---- Trees and rules made up from a seed ----------------------------------------------------------------------------------

--- Small, so that rules and names meet often.
local NAMES = { "a", "b", "ab", "a.b", ".a", "a b", "b ", "[a]", "#a", "!a", "a\\b", "foo", "bar", "foo.bar", "x-y", "A" }
local ATOMS = {
  "a", "b", "ab", "*", "**", "?", "[ab]", "[!a]", "[^b]", "[a-f]", "[[:alpha:]]", "[]a]", "\\a", "\\*", "\\[a\\]", "foo", "bar",
  ".",
  "*.b", "\\#a", "\\!a", "a\\ ", "b\\ ", "[", "[a", "x-y", "[x-y-]*", "\\", "A", "[[:upper:]]", "[[:nope:]]", "***",
}

local function pick(random, list)
  return list[random(#list)]
end

local function make_rule(random)
  local parts = {}
  for i = 1, random(3) do
    parts[i] = pick(random, ATOMS) .. (random(3) == 1 and pick(random, ATOMS) or "")
  end
  local text = table.concat(parts, "/")
  local before = { "", "", "", "/", "!", "!", "!/", "#", " ", "**/" }
  local after = { "", "", "", "/", "/**", " ", "  ", "\t", "\r", "/*", "//" }
  return pick(random, before) .. text .. pick(random, after)
end

local function make_rules(random)
  local lines = {}
  for i = 1, random(6) do
    lines[i] = make_rule(random)
  end
  return table.concat(lines, "\n") .. (random(2) == 1 and "\n" or "")
end

local function make_tree(random)
  local files, directories = {}, { "" }
  for _ = 1, 6 do
    directories[#directories + 1] = pick(random, directories) .. pick(random, NAMES) .. "/"
  end
  for _, directory in ipairs(directories) do
    for _ = 1, 4 do
      files[directory .. pick(random, NAMES) .. ".f"] = ""
      files[directory .. pick(random, NAMES)] = ""
    end
    if random(2) == 1 then
      files[directory .. ".gitignore"] = make_rules(random)
    end
  end
  -- A name cannot be a file and a directory.
  for _, directory in ipairs(directories) do
    files[directory:sub(1, -2)] = nil
    for name in pairs(files) do
      if directory ~= "" and name == directory:sub(1, -2) then
        files[name] = nil
      end
    end
  end
  return files
end

describe("ignored files", function()
  -- 24 seeds here; 4,000 were tried when this was written.
  it("are those that git ignores, on generated trees and rules", function()
    local total = 0
    for seed = 1, tonumber(os.getenv("PROCAGE_SEEDS") or "24") do
      local dir <close> = throwaway.directory()
      local home, repository = dir.path .. "/home", dir.path .. "/r"
      shell(("mkdir -p %s/.config/git %s"):format(home, repository))
      local random = generator(seed)
      local files = make_tree(random)
      make(repository, files)
      run_git(home, repository, "init -q")
      make(repository, { [".git/info/exclude"] = make_rules(random) })
      make(home, { ["global-ignore"] = make_rules(random), [".gitconfig"] = "[core]\n\texcludesFile = ~/global-ignore\n" })
      local expected = git_answers(home, repository)
      local found = find(repository, { patterns = { "*" }, excludes_file = user_git.excludes_file(home, {}) })
      assert.same(expected, found, "seed " .. seed)
      total = total + #found
    end
    assert.is_true(total > 100, "rules and names hardly ever meet")
  end)

  it("are looked for by rules of every level, in a subdirectory too", function()
    local dir <close> = throwaway.directory()
    local home = dir.path .. "/home"
    shell("mkdir -p " .. home)
    local r = dir.path .. "/r"
    make(r, {
      [".gitignore"] = ".env\n/only-here.key\nsecrets/\n",
      ["sub/.gitignore"] = "*.pem\n!good.pem\n",
      [".env"] = "", ["sub/.env"] = "", ["sub/bad.pem"] = "", ["sub/good.pem"] = "", ["sub/only-here.key"] = "",
      ["secrets/deep/prod.key"] = "", ["plain.key"] = "",
    })
    run_git(home, r, "init -q")
    local patterns = { ".env*", "*.pem", "*.key" }
    assert.same({ ".env", "secrets/deep/prod.key", "sub/.env", "sub/bad.pem" }, (find(r, { patterns = patterns })))
    assert.same({ ".env", "bad.pem" }, (find(r .. "/sub", { patterns = patterns })))
  end)

  it("are not those that are committed, when the index can be believed", function()
    for _, version in ipairs({ 2, 3, 4 }) do
      local dir <close> = throwaway.directory()
      local home, r = dir.path .. "/home", dir.path .. "/r"
      shell("mkdir -p " .. home)
      make(r, { [".gitignore"] = "*.key\n", ["a.key"] = "", ["dir/b.key"] = "", ["dir/c.key"] = "", ["dir/later.key"] = "" })
      run_git(home, r, "init -q")
      run_git(home, r, "add -f a.key dir/b.key")
      -- An entry that is only intended has more flags, and makes version 3.
      run_git(home, r, "add -f -N dir/later.key")
      run_git(home, r, "update-index --index-version " .. version)
      local repository = git.governing(r)
      assert.same({ "dir/c.key" }, (find(r, { patterns = { "*.key" }, trusted = repository })), version)
      assert.same(4, #find(r, { patterns = { "*.key" } }), "an index that is not believed")
    end
  end)

  it("stay found although a rule brings them back, or a repository is made around them", function()
    local dir <close> = throwaway.directory()
    local r = dir.path .. "/r"
    make(r, { [".gitignore"] = ".env\n", ["sub/.env"] = "" })
    run_git(dir.path, r, "init -q")
    local _, found = find(r, { patterns = { ".env" } })
    make(r, { [".gitignore"] = ".env\n!.env\n" })
    assert.is_false(ignored.is_fresh(found))
    assert.same({}, (find(r, { patterns = { ".env" } })))
    assert.same({ "sub/.env" }, (find(r, { patterns = { ".env" }, known = found.files })))
    make(r, { [".gitignore"] = ".env\n" })
    run_git(dir.path, r, "init -q sub")
    assert.same({ "sub/.env" }, (find(r, { patterns = { ".env" } })))
  end)

  it("of a tree that packages fill are looked for at its top, when the tree is ignored", function()
    local dir <close> = throwaway.directory()
    local r = dir.path .. "/r"
    make(r, {
      [".gitignore"] = "node_modules\n*.pem\n",
      ["node_modules/.npmrc"] = "", ["node_modules/p/test/k.pem"] = "",
      ["vendor/p/k.pem"] = "",
    })
    run_git(dir.path, r, "init -q")
    assert.same({ "node_modules/.npmrc", "vendor/p/k.pem" }, (find(r, { patterns = { "*.pem", ".npmrc" } })))
  end)

  it("are the file that a link leads to", function()
    local dir <close> = throwaway.directory()
    local r = dir.path .. "/r"
    make(r, { [".gitignore"] = ".env\n", ["config/real"] = "" })
    shell(("ln -s config/real %s/.env; ln -s nowhere %s/config/.env"):format(r, r))
    run_git(dir.path, r, "init -q")
    assert.same({ "config/real" }, (find(r, { patterns = { ".env" } })))
  end)

  it("of any letter case count, and names that only look alike do not", function()
    local dir <close> = throwaway.directory()
    local r = dir.path .. "/r"
    make(r, { [".gitignore"] = "*\n", [".ENV"] = "", [".env.local"] = "", ["env"] = "", ["a.keys"] = "", ["A.KEY"] = "" })
    run_git(dir.path, r, "init -q")
    assert.same({ ".ENV", ".env.local", "A.KEY" }, (find(r, { patterns = { ".env*", "*.key" } })))
  end)

  it("of a tree that is too large are an error, not an oversight", function()
    local dir <close> = throwaway.directory()
    make(dir.path, { ["a/1/x"] = "", ["b/2/x"] = "" })
    local before = ignored.max_directories
    ignored.max_directories = 3
    local found, message = ignored.find({ trees = { dir.path }, patterns = { "x" } })
    ignored.max_directories = before
    assert.is_nil(found)
    assert.matches("more than 3 directories", message, 1, true)
  end)

  it("may lie in a directory that cannot be listed: it is told of, the tree itself too", function()
    local core = require("procage.core")
    local dir <close> = throwaway.directory()
    make(dir.path, { [".gitignore"] = "*.key\n", ["a.key"] = "", ["sub/b.key"] = "" })
    local read = core.read_dir
    finally(function()
      core.read_dir = read
    end)
    for _, shut in ipairs({ dir.path, dir.path .. "/sub" }) do
      core.read_dir = function(name, ...)
        if name == shut then
          return nil, name .. ": Permission denied", 13
        end
        return read(name, ...)
      end
      local found = assert(ignored.find({ trees = { dir.path }, patterns = { "*.key" } }))
      assert.same({ shut }, found.closed)
    end
  end)

  it("do not take for ever, whatever the rules are", function()
    local dir <close> = throwaway.directory()
    local r, deep = dir.path, ("d/"):rep(20)
    local slow = ("**/"):rep(40) .. "*b*b*b*"
    make(r, { [".gitignore"] = slow .. "x\n!" .. slow .. "y\n", [deep .. ("b"):rep(200)] = "" })
    local started = os.clock()
    assert.equal(1, #find(r, { patterns = { "b*" } }), "one that cannot be told is ignored")
    assert.is_true(os.clock() - started < 2)
  end)
end)

describe("the user's git configuration", function()
  it("names every file that git opens, without an end where files include each other", function()
    local dir <close> = throwaway.directory()
    local home = dir.path
    make(home, {
      [".gitconfig"] = "[include]\n path = one\n[includeIf \"onbranch:x\"]\n path = ~/two\n",
      one = "[include]\n path = .gitconfig\n", two = "[core]\n excludesFile = /somewhere\n",
      [".config/git/ignore"] = "",
    })
    local found = user_git.files(home, {})
    if found[1] == "/etc/gitconfig" then
      table.remove(found, 1)
    end
    assert.same({ home .. "/.gitconfig", home .. "/one", home .. "/two", home .. "/.config/git/ignore" }, found)
    assert.equal(home .. "/.config/git/ignore", user_git.excludes_file(home, {}), "on a condition only")
  end)
end)

describe("a pattern of names", function()
  it("means what it says, told by the whole name, by its ending or letter by letter", function()
    local patterns = { ".env*", "*.pem", "*.tfstate.*", "secrets.y*ml", "credentials.json", "id_rsa?", "*key*" }
    for name, pattern in pairs({
      [".env"] = ".env*", [".ENV.local"] = ".env*", ["a.pem"] = "*.pem", [".pem"] = "*.pem", ["a.b.PEM"] = "*.pem",
      ["x.tfstate.backup"] = "*.tfstate.*", ["secrets.yaml"] = "secrets.y*ml", ["Secrets.yml"] = "secrets.y*ml",
      ["Credentials.JSON"] = "credentials.json", ["id_rsa2"] = "id_rsa?", ["monkeys"] = "*key*",
    }) do
      assert.equal(pattern, ignored.pattern_of(name, patterns), name)
    end
    for _, name in ipairs({
      "env", "a.pem.txt", "pem", "apem", "x.tfstate", "secrets.xml", "credentialsxjson", "id_rsa", "ke.y",
    }) do
      assert.is_nil(ignored.pattern_of(name, patterns), name)
    end
  end)
end)
