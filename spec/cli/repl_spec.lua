--- The prompt, at a real terminal.

local box = require("spec.support.box")

--- Starts argv at a pseudo-terminal, types each {text, until}, waits until that was printed since, and prints all that came
--- back and the exit status.
local DRIVER = [[
import json, os, pty, select, signal, sys, time
script, argv = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(argv[0], argv)
seen, mark = b"", 0
def read(seconds, until):
    global seen, mark
    end = time.time() + seconds
    while time.time() < end:
        at = seen.find(until.encode(), mark) if until else -1
        if at >= 0:
            mark = at + len(until.encode())
            return
        if select.select([fd], [], [], 0.05)[0]:
            try:
                data = os.read(fd, 65536)
            except OSError:
                return
            if not data:
                return
            seen += data
    if until:
        sys.stdout.write("\n!! never came: %r\n" % until)
read(20, "> ")
for text, until in script:
    # Typed while lines are the terminal's own, the end of input is no key.
    end = time.time() + 8
    while text == "\x04" and not seen.endswith(b"> ") and time.time() < end:
        read(0.1, None)
    os.write(fd, text.encode())
    read(8, until)
read(3, None)
sys.stdout.write(seen.decode(errors="replace"))
sys.stdout.flush()
signal.alarm(10)
print("\nstatus", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
]]

local function program()
  local build = os.getenv("PROCAGE_BUILD") or "build/dev"
  return (build:sub(1, 1) == "/" and build or box.shell("pwd -P") .. "/" .. build) .. "/bin/procage-lua"
end

---@param b procage.Box
---@param steps string  JSON, [[text, until], ...]
---@param line? string  a shell line in place of the program
local function session(b, steps, line)
  b:write("outside/driver.py", DRIVER)
  local result = b:run_unconfined({
    "python3", b:path("outside/driver.py"), steps, "/bin/sh", "-c", line or "exec " .. box.quote(program()),
  }, { env = { TERM = "xterm", LC_ALL = "C.UTF-8" }, timeout_ms = 60000 })
  assert.equal("", result.stderr)
  assert.not_matches("!! never came", result.stdout, 1, true)
  assert.is_nil(result.signal)
  return result.stdout
end

describe("the prompt", function()
  before_each(function()
    box.skip_without("python3")
  end)

  it("evaluates, completes, prints tables, and keeps a history of mode 600", function()
    local b <close> = box.new()
    local seen = session(b, [=[
      [["6*7\n", "42"], ["p = loa\t('specc\t') print('loa'..'ded')\n", "loaded"],
       ["p.profile.netw\t\n", "\"loopback\""],
       ["for i = 1, 2 do\n", ">> "], ["print('line', i)\n", ">> "], ["end\n", "line\t2"],
       ["{ b = 1, a = { '\\27[31m' }, print }\n", "}"],
       ["fit(p.profile, hosts.ubuntu_apparmor)\n", "AppArmor"],
       ["\u001b[A\u001b[A\n", "a = {"], ["\u0004", null]]
    ]=])
    assert.matches([[{ <function, in C>, a = { "\x1b[31m" }, b = 1 }]], seen, 1, true)
    assert.matches("status 0", seen, 1, true)
    assert.equal("600", b:stat("home/.local/state/procage/history", "%a"))
    local kept = b:read("home/.local/state/procage/history")
    assert.matches("6*7\np = load('speccoder') print('loa'..'ded')\np.profile.network\n", kept, 1, true)
    assert.matches("\nfor i = 1, 2 do\\nprint('line', i)\\nend\n", kept, 1, true)
    -- The next one has it, whatever mode someone has given to it.
    b:mode("home/.local/state/procage/history", "644")
    seen = session(b, [=[[["\u001b[A\n", "in C>"], ["\u0004", null]]]=])
    assert.matches("status 0", seen, 1, true)
    assert.equal("600", b:stat("home/.local/state/procage/history", "%a"))
  end)

  it("drops the line on Ctrl-C, and stays", function()
    local b <close> = box.new()
    local seen = session(b, [=[
      [["os.exit(9) --", "os.exit(9)"], ["\u0003", "^C"], ["for i = 1, 2 do\n", ">> "], ["\u0003", "> "],
       ["'still'..'here'\n", "stillhere"], ["print('lo'..'op') while true do end\n", "loop"],
       ["\u0003", "interrupted"], ["1+1\n", "2"],
       ["\u0004", null]]
    ]=])
    assert.matches("status 0", seen, 1, true)
  end)

  it("is stopped by Ctrl-Z, and goes on where it was", function()
    box.skip_without("bash")
    local b <close> = box.new()
    local steps = [=[
      [["PROGRAM\n", "leaves."], ["", "> "], ["1+", "1+"], ["\u001a", "Stopped"], ["fg\n", "1+"], ["5\n", "6"],
       ["\u0004", "sh> "], ["exit\n", null]]
    ]=]
    local seen = session(b, (steps:gsub("PROGRAM", program())), "PS1='sh> ' exec bash --norc -i")
    assert.matches("status 0", seen, 1, true)
  end)

  it("ends a run on Ctrl-C, and stays", function()
    local b <close> = box.new()
    local seen = session(b, [=[
      [["load('speccoder') _ = nil\n", "> "], ["o = run{'sh', '-c', 'echo be$((1+1))gun; exec sleep 60'}\n", "be2gun"],
       ["\u0003", "ended by Ctrl-C"], ["o.signal\n", "15"], ["run'exit 3'\n", "status 3"], ["\u0004", null]]
    ]=])
    assert.matches("status 0", seen, 1, true)
  end)

  it("shows the value that caused an error", function()
    local b <close> = box.new()
    local seen = session(b, [=[
      [["t = { profile = 1 }\n", "> "], ["t.profle.x\n", "did you mean profile?"],
       ["error{ code = 7 }\n", "error: { code = 7 }"],
       ["load('specoder')\n", "did you mean speccoder?"], ["x = = 1\n", "unexpected symbol"], ["\u0004", null]]
    ]=])
    assert.matches("t = { profile = 1 }", seen, 1, true)
    assert.matches("status 0", seen, 1, true)
  end)

  it("takes plain lines where the editing library is missing, and says so", function()
    local b <close> = box.new()
    -- A program with nothing beside it but its Lua files.
    local prefix = program():match("^(.*)/bin/")
    b:setup("mkdir -p copy/bin copy/share/lua/5.4; cp -L " .. box.quote(program()) .. " copy/bin/")
    b:setup(("cp -RL %s/share/lua/5.4/procage copy/share/lua/5.4/"):format(box.quote(prefix)))
    b:setup(("cp -R %s/policies copy/share/lua/5.4/procage/"):format(box.quote(box.shell("pwd -P"))))
    local seen = session(
      b,
      [=[[["1+\n", ">> "], ["1\n", "2"], ["os.exit(9) --", "exit"], ["\u0003", "> "],
          ["print('lo'..'op') while true do end\n", "loop"],
          ["\u0003", "interrupted"], ["'still'..'here'\n", "stillhere"], ["\u0004", null]]]=],
      "exec ./copy/bin/procage-lua"
    )
    assert.matches("plain input", seen, 1, true)
    assert.matches("status 0", seen, 1, true)
  end)
end)

describe("a script", function()
  local function run(b, args, options)
    return b:run_unconfined(table.move(args, 1, #args, 2, { program() }), options)
  end

  it("comes from a file, a word, or standard input, with its arguments", function()
    local b <close> = box.new()
    b:write("workspace/a.lua", "#!/usr/bin/env procage-lua\nprint(#arg, arg[1], hosts.docker.container, ...)\n")
    assert.equal("2\tx\tdocker\tx\t-y\n", run(b, { "a.lua", "x", "-y" }).stdout)
    assert.equal("1\tx\tdocker\tx\n", run(b, { "./a.lua", "x" }).stdout)
    assert.equal("2\t-q\n", run(b, { "-e", "print(1 + 1, ...)", "-q" }).stdout)
    assert.equal("x\n", run(b, { "-", "x" }, { stdin = "print(...)" }).stdout)
    assert.equal("7\n", run(b, {}, { stdin = "print(7)" }).stdout)
  end)

  it("is not taken for a subcommand, nor a subcommand for it", function()
    local b <close> = box.new()
    b:write("workspace/probe", "print('script')")
    assert.equal("script\n", run(b, { "./probe" }).stdout)
    assert.not_matches("script", run(b, { "probe" }).stdout, 1, true)
    local result = run(b, { "prob" })
    assert.equal(2, result.status)
    assert.matches("did you mean probe?", result.stderr, 1, true)
  end)

  it("runs commands confined", function()
    local b <close> = box.new()
    b:write("home/.ssh/id", "s3cret")
    local result = run(b, { "-e", "print(io.open(os.getenv('HOME') .. '/.ssh/id'):read()) pp(run'cat ~/.ssh/id; exit 7')" })
    assert.equal(1, select(2, result.stdout:gsub("s3cret", "")))
    assert.matches("status [17]", result.stdout)
  end)

  it("fails with a message and a status that says which failure", function()
    local b <close> = box.new()
    local function fails(status, message, args, options)
      local result = run(b, args, options)
      assert.equal(status, result.status)
      assert.matches(message, result.stderr, 1, true)
    end
    b:write("workspace/f.lua", "local t = { 1 }\nlocal function f() return t.x.y end\nf()")
    fails(1, "t = { 1 }", { "f.lua" })
    fails(1, "called from line 3", { "f.lua" })
    fails(2, "near '='", { "-e", "x = = 1" })
    fails(2, "a chunk of Lua is missing", { "-e" })
    fails(2, "./nope.lua: No such file", { "./nope.lua" })
    fails(2, "attempt to load a binary chunk", { "-" }, { stdin = string.dump(function() end) })
    fails(2, "a subcommand is missing", {})
    fails(2, "a subcommand is missing", {}, { stdin = "\n" })
    fails(5, "", { "-e", "os.exit(5)" })
  end)
end)
