--- What a run writes for git to read is judged as git reads it: indexes, `.git` files, paths that we cannot name.

local box = require("spec.support.box")

--- Helpers of the plants, run where the plant is: nothing is odd in what `repository` makes, `evil` has a program run.
local PLANTS = [[
import hashlib, os, shutil, struct, subprocess
DEEP = "d1/d2/d3/d4/d5/d6/evil"
def repository(at):
    os.makedirs(at, exist_ok=True)
    subprocess.check_call(["git", "init", "-q", at])
def evil(at):
    repository(at)
    subprocess.check_call(["git", "-C", at, "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-q",
                           "--allow-empty", "-m", "x"])
    with open(at + "/.git/config", "a") as config:
        config.write('[core]\n\tfsmonitor = "touch %s/ran; false"\n' % os.environ["OUTSIDE"])
    return subprocess.check_output(["git", "-C", at, "rev-parse", "HEAD"]).decode().strip()
def entry(name, mode=0o160000, length=0, oid="11" * 20):
    head = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + bytes.fromhex(oid)
    head += struct.pack(">H", min(len(name) + length, 0xfff))
    size = len(head) + len(name) + length
    return head + name + b"\0" * (8 - size % 8 + length)
def index(at, entries, version=2):
    data = b"DIRC" + struct.pack(">II", version, len(entries)) + b"".join(entries)
    with open(at, "wb") as file:
        file.write(data + hashlib.sha1(data).digest())
def enter(name=DEEP, **more):
    repository("sub")
    oid = evil("sub/" + DEEP)
    index("sub/.git/index", [entry(name.encode(), oid=oid, **more)])
def module(tree=None):
    repository("z")
    os.makedirs("z/.git/modules")
    repository("x")
    shutil.move("x/.git", "z/.git/modules/x")
    os.rmdir("x")
    os.mkdir("sub")
    if tree:
        with open("z/.git/modules/x/config", "a") as config:
            config.write("\tworktree = %s\n" % tree)
def pointer(text):
    with open("sub/.git", "wb") as file:
        file.write(text)
]]

local ways = {
  { "an index: a mode with other bits below", "enter(mode=0o160001)" },
  { "an index: a mode with other bits above", "enter(mode=0o1160000)" },
  { "an index: a name that ends before its length", "enter(length=3)" },
  { "an index: a name with two slashes", "enter('d1/' + DEEP[2:])" },
  { "an index: a name with a dot", "enter('./' + DEEP)" },
  { "an index: a name with a step up", "enter('d1/../' + DEEP)" },
  { "an index: a name that ends with a slash", "enter(DEEP + '/')" },
  { "an index: a path that is too long for us, and not for git", [[
left = 4093 - len(os.path.realpath(".")) - len("/sub/")
parts = []
while left > 0:
    size = left if left <= 200 else 199 if left == 201 else 200
    parts.append("x" * size)
    left -= size + 1
repository("sub")
evil("e")
index("sub/.git/index", [entry("/".join(parts).encode())])
here = os.getcwd()
os.chdir("sub")
for part in parts:
    os.mkdir(part)
    os.chdir(part)
os.makedirs(".git/objects")
os.makedirs(".git/refs/heads")
shutil.copy(here + "/e/.git/HEAD", ".git/HEAD")
shutil.copy(here + "/e/.git/config", ".git/config")]] },
  { "a .git file: a line behind the first", [[
module()
os.mkdir("z/.git/modules/x\n")
evil("node_modules/e")
pointer(b"gitdir: ../z/.git/modules/x\n/../../../../node_modules/e/.git\n")]] },
  { "a .git file: what lies behind a NUL", [[
module()
evil("node_modules/e")
pointer(b"gitdir: ../node_modules/e/.git\0/../../../z/.git/modules/x\n")]] },
  { "a .git file: a submodule's directory that names another tree", [[
module("../../../t")
oid = evil("z/t/" + DEEP)
index("z/.git/modules/x/index", [entry(DEEP.encode(), oid=oid)])
pointer(b"gitdir: ../z/.git/modules/x\n")]] },
}

describe("what a run has written for git is read as git reads it", function()
  setup(function()
    box.skip_without("git")
    box.skip_without("python3")
  end)

  for _, way in ipairs(ways) do
    it(way[1], function()
      box.attack({
        run = box.python(PLANTS .. way[2]),
        hurt = function(b)
          b:run_unconfined("cd sub && git status")
          return b:exists("outside/ran")
        end,
      })
    end)
  end

  it("and what is well-formed stays: of any version, with extensions, of SHA-256, with a submodule", function()
    local b <close> = box.new()
    local made = b:run([[
      g() { git -c user.name=T -c user.email=t@example.invalid -c protocol.file.allow=always "$@"; }
      for form in "update-index --index-version 4" "update-index --split-index" "update-index --untracked-cache" status; do
        name=r-${form##*-}; name=${name%% *}
        git init -q $name && cd $name && mkdir -p a/b && echo x > a/b/c && echo y > a/b/d && g add . && g $form >/dev/null
        g commit -qm x; cd ..
      done
      git init -q --object-format=sha256 r-sha && cd r-sha && echo x > a && g add a && g commit -qm x && cd ..
      git init -q whole && cd whole && g submodule --quiet add $WS/r-status lib && g commit -qm x
      git config submodule.lib.url https://example.org/x.git && git -C lib config remote.origin.url https://example.org/x.git]])
    assert.equal(0, made.status, made.stderr)
    -- A split index leaves a file of its own, which no plain repository has.
    assert.equal(1, #made.appeared)
    assert.matches("r%-index/%.git$", made.appeared[1].path)
  end)
end)
