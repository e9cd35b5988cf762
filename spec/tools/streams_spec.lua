--- What goes in and out of a run by the program, and how it ends.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

describe("the program's streams", function()
  it("carry 64 MB out intact", function()
    local b <close> = box.new()
    local text = "import sys\nblock = bytes(range(256)) * 4096\nfor _ in range(64): sys.stdout.buffer.write(block)\n"
    b:write("workspace/out.py", text)
    local command = "exec /usr/bin/python3 out.py"
    local expected = b:run_unconfined(command .. " | sha256sum").stdout
    local line = b:cli_line({ "-q" }, command)
    assert.equal(expected, (box.shell(line .. " | sha256sum") .. "\n"))
  end)

  it("carry 10 MB of binary input intact, from a pipe and from a file", function()
    local b <close> = box.new()
    b:setup("head -c 10000000 /dev/urandom >in")
    local expected = b:setup("sha256sum <in")
    local line = b:cli_line({ "-q" }, { "sha256sum" })
    assert.equal(expected, (box.shell(("cat %s | %s"):format(b:path("workspace/in"), line))))
    assert.equal(expected, (box.shell(("%s <%s"):format(line, b:path("workspace/in")))))
    assert.equal(expected, (box.shell(("%s <%s"):format(b:cli_line({ "-q" }, "cat | sha256sum"), b:path("workspace/in")))))
  end)

  it("end when the reader goes", function()
    local b <close> = box.new()
    local output = box.shell(b:cli_line({ "-q" }, "yes") .. " | head -1")
    assert.equal("y", output)
  end)

  it("keep standard output and error apart, and in order where they are one", function()
    local b <close> = box.new()
    local result = b:cli({ "-q" }, "echo out; echo err >&2")
    assert.equal("out\n", result.stdout)
    assert.equal("err\n", result.stderr)
    local line = b:cli_line({ "-q" }, "for i in 1 2 3 4 5 6 7 8; do echo o$i; echo e$i >&2; done")
    local order = {}
    for i = 1, 8 do
      order[#order + 1] = ("o%d\ne%d"):format(i, i)
    end
    assert.equal(table.concat(order, "\n"), (box.shell(line .. " 2>&1")))
  end)

  it("may be closed", function()
    local b <close> = box.new()
    local line = b:cli_line({ "-q" }, "cat; echo done; exit 5")
    assert.equal("done\n5", (box.shell(line .. " <&-; echo $?")))
    assert.equal("5", (box.shell(line .. " >&- 2>/dev/null; echo $?")))
  end)
end)

describe("a run ends", function()
  it("with the command's status", function()
    local b <close> = box.new()
    for _, status in ipairs({ 0, 1, 2, 3, 124, 125, 126, 127, 128, 255 }) do
      local command = "exit " .. status
      assert.equal(status, b:run_unconfined(command).status)
      assert.equal(status, b:run(command).status)
      assert.equal(status, b:cli({ "-q" }, command).status)
    end
  end)

  it("with its signal, and 128 and the signal by the program", function()
    local b <close> = box.new()
    for name, number in pairs({ TERM = 15, KILL = 9, SEGV = 11, INT = 2, HUP = 1, PIPE = 13 }) do
      local command = ("ulimit -c 0; kill -%s $$; sleep 5"):format(name)
      assert.equal(number, b:run(command).signal, name)
      assert.equal(128 + number, b:cli({ "-q" }, command).status, name)
    end
  end)

  it("with 127 and 126 for what is not found and not executable, and the name", function()
    local b <close> = box.new()
    b:write("workspace/data", "no program")
    local missing = b:cli({ "-q" }, { "no-such-program" })
    assert.equal(127, missing.status)
    assert.matches("no-such-program", missing.stderr, 1, true)
    local closed = b:cli({ "-q" }, { "./data" })
    assert.equal(126, closed.status)
    assert.matches("./data", closed.stderr, 1, true)
    assert.equal(126, b:cli({ "-q" }, { "./" }).status)
  end)

  it("at its deadline, with all that it started", function()
    local b <close> = box.new()
    local result = b:cli({ "-q", "--timeout", "0.4" }, "sleep 60 & setsid sleep 60 & echo begun; sleep 60")
    assert.equal(124, result.status)
    assert.equal("begun\n", result.stdout)
  end)

  it("when the command does, whatever it has left in the background", function()
    local b <close> = box.new()
    local began = os.time()
    local outcome = b:run("sleep 60 & (setsid sleep 60 &) ; echo begun")
    assert.equal("begun\n", outcome.stdout)
    assert.is_true(os.time() - began < 10)
    assert.is_nil(outcome.signal, tool.told(outcome))
  end)
end)
