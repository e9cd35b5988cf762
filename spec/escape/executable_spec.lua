--- The file that was looked at is the one that runs, or nothing does.

local box = require("spec.support.box")
local procage = require("procage")

--- A box with workspace/tool, which prints "good", and the file that its name means now.
local function with_tool(text)
  local b = box.new()
  b:write("workspace/tool", text or "#!/bin/sh\necho good\n")
  b:mode("workspace/tool", "755")
  local resolved, executable = procage.resolve_executable("./tool", b.workspace, b.env)
  assert.equal(b:path("workspace/tool"), resolved)
  return b, executable
end

local function run(b, argv, executable)
  argv.executable = executable
  return assert(b:policy()):run(argv)
end

describe("a program that was chosen", function()
  it("runs, by the name that it was called by", function()
    local b <close> = box.new()
    local _, executable = procage.resolve_executable("cat", "/", b.env)
    local outcome = assert(run(b, { "cat", "/proc/self/cmdline" }, executable))
    assert.equal("cat\0/proc/self/cmdline\0", outcome.stdout)
  end)

  local replacements = {
    ["replaced by another file"] = "echo '#!/bin/sh\necho bad' > $WS/new; chmod 755 $WS/new; mv $WS/new $WS/tool",
    ["written anew"] = "echo '#!/bin/sh\necho bad' > $WS/tool",
    ["replaced by a link"] = "mv $WS/tool $WS/old; cp $WS/old $WS/other; ln -s other $WS/tool",
  }
  for what, command in pairs(replacements) do
    it("does not run when it was " .. what .. " meanwhile", function()
      local b <close>, executable = with_tool()
      assert.equal("good\n", assert(run(b, { "./tool" }, executable)).stdout)
      b:setup(command)
      -- Whoever goes by the name alone gets what is there now.
      assert.is_table(run(b, { "./tool" }))
      local outcome, message, _, detail = run(b, { "./tool" }, executable)
      assert.is_nil(outcome)
      assert.equal("exec", detail.step)
      assert.matches("replaced or changed", message, 1, true)
    end)
  end

  it("does not run when its compiled file was replaced", function()
    local b <close> = box.new()
    b:setup("cp /bin/echo $WS/tool")
    local _, executable = procage.resolve_executable("./tool", b.workspace, b.env)
    assert.equal("good\n", assert(run(b, { "./tool", "good" }, executable)).stdout)
    b:setup("cp /bin/cat $WS/new && mv $WS/new $WS/tool")
    assert.is_nil((run(b, { "./tool", "good" }, executable)))
  end)

  it("runs as a script without #! does from a shell", function()
    local b <close>, executable = with_tool("echo $0 $1\n")
    assert.equal(b:path("workspace/tool") .. " x\n", assert(run(b, { "./tool", "x" }, executable)).stdout)
  end)

  it("is the one that its link led to, wherever that leads now", function()
    local b <close> = with_tool()
    b:symlink(b:path("workspace/tool"), "workspace/link")
    local resolved, executable = procage.resolve_executable("./link", b.workspace, b.env)
    assert.equal(b:path("workspace/tool"), resolved)
    b:write("workspace/evil", "#!/bin/sh\necho bad\n")
    b:setup("chmod 755 $WS/evil; ln -sfn evil $WS/link")
    assert.equal("bad\n", assert(run(b, { "./link" })).stdout)
    assert.equal("good\n", assert(run(b, { "./link" }, executable)).stdout)
  end)

  it("is that one through the program too", function()
    local b <close>, executable = with_tool()
    for _, tree in ipairs({ true, false }) do
      local wrapped <close> = assert(assert(b:policy()):wrap({ "./tool" }, { tree = tree, executable = executable }))
      assert.equal("good\n", b:run_unconfined(wrapped.argv).stdout)
    end
    b:setup("echo 'echo bad' >> $WS/tool")
    for _, tree in ipairs({ true, false }) do
      local wrapped <close> = assert(assert(b:policy()):wrap({ "./tool" }, { tree = tree, executable = executable }))
      local result = b:run_unconfined(wrapped.argv)
      assert.equal("", result.stdout)
      assert.equal(126, result.status)
      assert.matches("replaced or changed", result.stderr, 1, true)
    end
  end)
end)
