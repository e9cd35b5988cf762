--- The program, from outside: what it prints where, and what it exits with.

local cjson = require("cjson")
local box = require("spec.support.box")

--- The answer of a run with --json.
local function answer_of(b, args, command, options)
  local result = b:cli({ "--json", table.unpack(args) }, command, options)
  assert.equal("\n", result.stdout:sub(-1), "the answer is one line: " .. result.stdout .. result.stderr)
  return cjson.decode(result.stdout), result
end

--- The program with any words, not only `run`.
local function program(b, words, env)
  local path = (os.getenv("PROCAGE_BUILD") or "build/dev") .. "/bin/procage-lua"
  if path:sub(1, 1) ~= "/" then
    path = box.shell("pwd -P") .. "/" .. path
  end
  return b:run_unconfined({ path, table.unpack(words) }, { env = env })
end

describe("procage-lua run exits with", function()
  local cases = {
    { "the command's own status", {}, "exit 7", 7 },
    { "0 when the command does", {}, "true", 0 },
    { "128 and the signal that ended the command", {}, "kill -SEGV $$", 139 },
    { "124 when the time is over, whatever the command makes of it", { "--timeout", "0.3" }, "trap '' TERM; sleep 20", 124 },
    { "127 for a program that is not found", {}, { "no-such-program" }, 127 },
    { "127 for a path that is not there", {}, { "./no/such/program" }, 127 },
    { "126 for a file that is not executable", {}, { "/etc/passwd" }, 126 },
    { "126 for a directory", {}, { "/etc" }, 126 },
    { "2 for an unknown option", { "--nte", "all" }, "true", 2 },
    { "2 for a bad value", { "--net", "some" }, "true", 2 },
    { "2 for an unknown configuration key", { "--set", "netwrok=all" }, "true", 2 },
    { "2 for an unknown policy", { "--policy", "spec" }, "true", 2 },
    { "2 for a policy script that fails", { "--policy", "./broken.lua" }, "true", 2 },
    { "2 for a configuration file that is not there", { "--config", "none.json" }, "true", 2 },
    { "2 for a configuration that is no JSON", { "--config", "broken.json" }, "true", 2 },
    { "2 for a writable tree that is not there", { "--allow-write", "no/such/tree" }, "true", 2 },
    { "2 for a lift of nothing", { "--lift", "~/.no-such-row" }, "true", 2 },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local b <close> = box.new()
      b:write("workspace/broken.lua", "return function() error('no') end")
      b:write("workspace/broken.json", "{")
      local result = b:cli(case[2], case[3])
      assert.equal(case[4], result.status, result.stderr)
      if case[4] == 2 or case[4] == 126 or case[4] == 127 then
        assert.matches("procage%-lua: ", result.stderr)
        assert.equal("", result.stdout)
      end
    end)
  end

  it("2 for an empty line, and shows where help is", function()
    local b <close> = box.new()
    local result = program(b, {})
    assert.equal(2, result.status)
    assert.matches("procage-lua help", result.stderr, 1, true)
  end)

  it("130 or 143 for SIGINT or SIGTERM, when everything that it started is dead", function()
    for signal, status in pairs({ INT = 130, TERM = 143 }) do
      local b <close> = box.new()
      local line = b:cli_line({ "-q" }, "echo up; sleep 77 & sleep 77")
      -- A background job of a shell ignores SIGINT; setsid and a fresh env do not change that.
      local starter = box.python(([[
import os, signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(%q, shell=True, stdout=subprocess.PIPE, restore_signals=True)
p.stdout.readline()
os.kill(p.pid, signal.SIG%s)
print(p.wait())
]]):format("exec " .. line, signal))
      local result = b:run_unconfined(starter)
      assert.equal(tostring(status), result.stdout:match("%-?%d+"), result.stderr)
    end
  end)
end)

describe("procage-lua run", function()
  it("passes both streams on, each to its own", function()
    local b <close> = box.new()
    local result = b:cli({ "-q" }, "echo out; echo err >&2")
    assert.equal("out\n", result.stdout)
    assert.equal("err\n", result.stderr)
  end)

  it("passes output on as it comes, not at the end", function()
    local b <close> = box.new()
    local child = b:start(b:cli_line({ "-q" }, "echo first; sleep 20"), { is_line = true, until_prints = "first" })
    assert.is_true(child:is_alive())
  end)

  it("passes every byte on", function()
    local b <close> = box.new()
    local result = b:cli({ "-q" }, [[printf '\000\377\r\n']])
    assert.equal("\0\255\r\n", result.stdout)
  end)

  it("gives the command a pipe or a file as its standard input", function()
    local b <close> = box.new()
    assert.equal("from a file", b:cli({ "-q" }, { "cat" }, { stdin = "from a file" }).stdout)
    local piped = b:setup("printf piped | " .. b:cli_line({ "-q" }, { "cat" }))
    assert.equal("piped", piped)
  end)

  it("never gives the command a terminal", function()
    box.skip_without("script")
    local b <close> = box.new()
    local line = b:cli_line({ "-q" }, "tty; test -t 0 || test -t 1 || test -t 2 || echo none")
    local result = b:run_unconfined({ "script", "-qec", line, "/dev/null" })
    assert.matches("not a tty", result.stdout, 1, true)
    assert.matches("none", result.stdout, 1, true)
  end)

  it("says the gaps in one line on standard error, each in its own with -v, and nothing with -q", function()
    local b <close> = box.new()
    local loud, told, quiet = b:cli({}, "true"), b:cli({ "-v" }, "true"), b:cli({ "-q" }, "true")
    local gaps = 0
    for _, row in ipairs(b:report()) do
      local is_gap = row.state == "unenforced"
      gaps = gaps + (is_gap and 1 or 0)
      if is_gap then
        assert.matches(row.id, loud.stderr, 1, true)
        assert.matches("gap " .. row.id, told.stderr, 1, true)
        assert.matches(row.effect, told.stderr, 1, true)
        assert.not_matches(row.effect, loud.stderr, 1, true)
      end
    end
    if gaps > 0 then
      assert.matches("^procage: " .. gaps .. " gaps? on this machine: [^\n]*procage%-lua explain\n$", loud.stderr)
    end
    assert.equal("", quiet.stderr)
    -- Nothing is kept from who reads JSON.
    assert.equal(gaps, select(2, table.concat(answer_of(b, {}, "true").notices, "\n"):gsub("procage: gap ", "")))
  end)

  it("says by which limit a command was ended", function()
    local b <close> = box.new()
    local cpu = b:cli({ "--set", "limits.cpu_ms=1000" }, "while :; do :; done")
    assert.matches("ended by the limit of processor time: limits.cpu_ms = 1000\n", cpu.stderr, 1, true)
    local file = b:cli({ "--set", "limits.file_bytes=100" }, { "dd", "if=/dev/zero", "of=x", "bs=1000", "count=1" })
    assert.matches("ended by the limit of a file's size: limits.file_bytes = 100\n", file.stderr, 1, true)
    local answer = answer_of(b, { "--timeout", "0.3" }, "sleep 20")
    assert.equal("timeout_ms", answer.limit.limit)
    assert.matches("^ended by the time limit", answer.limit.text)
  end)

  it("says whom to ask what decides: of a refusal, and of a file that was moved", function()
    local b <close> = box.new()
    local result = b:cli({}, "echo x > .envrc; exit 1")
    assert.matches("procage-lua why write " .. b.workspace .. "/.envrc\n", result.stderr, 1, true)
    local why = program(b, { "why", "write", b.workspace .. "/.envrc" })
    assert.matches("hand-off name", why.stdout, 1, true)
    assert.not_matches("procage-lua why", b:cli({ "-q" }, "echo x > .envrc; exit 1").stderr, 1, true)
    local refused = b:cli({}, box.python("import socket; socket.create_connection(('198.51.100.7', 443))"))
    if refused.stderr:find("refused: connect to", 1, true) then
      assert.matches("procage-lua why connect 198.51.100.7:443\n", refused.stderr, 1, true)
    end
  end)

  it("starts where the user is when that is in the root, else in the root", function()
    local b <close> = box.new()
    b:mkdir("workspace/sub")
    assert.equal(b.workspace .. "/sub\n", b:cli({ "-q" }, { "pwd" }, { cwd = b.workspace .. "/sub" }).stdout)
    assert.equal(b.workspace .. "\n", b:cli({ "-q" }, { "pwd" }, { cwd = b.outside }).stdout)
  end)

  it("takes paths of options relative to where the user is", function()
    local b <close> = box.new()
    b:mkdir("outside/tree")
    local result = b:cli({ "-q", "--allow-write", "../outside/tree" }, 'echo x >"$OUTSIDE/tree/f" && cat "$OUTSIDE/tree/f"')
    assert.equal("x\n", result.stdout, result.stderr)
  end)

  it("passes --env on, also when the name looks secret, and no other secret", function()
    local b <close> = box.new({ host_env = { MY_TOKEN = "inherited" } })
    local result = b:cli({ "-q", "--env", "OTHER_TOKEN=given=1" }, 'echo "${MY_TOKEN-unset} $OTHER_TOKEN"')
    assert.equal("unset given=1\n", result.stdout)
  end)

  it("reads its configuration from a file, and lets options win over it", function()
    local b <close> = box.new()
    b:write("outside/c.json", '{"env": {"set": {"A": "file", "B": "file"}}, "limits": {"timeout_ms": 300}}')
    local args = { "-q", "--config", b:path("outside/c.json"), "--env", "A=option" }
    assert.equal("option file\n", b:cli(args, 'echo "$A $B"').stdout)
    assert.equal(124, b:cli(args, "sleep 20").status)
  end)

  it("names the file, the key and the nearest name in a wrong configuration", function()
    local b <close> = box.new()
    b:write("outside/c.json", '{"writeable": ["/srv"]}')
    local result = b:cli({ "--config", b:path("outside/c.json") }, "true")
    assert.equal(2, result.status)
    assert.matches("outside/c.json: writeable: unknown key (did you mean writable?)", result.stderr, 1, true)
  end)

  it("does not let the command change the configuration that it was started with", function()
    local b <close> = box.new()
    b:write("workspace/c.json", "{}")
    local policy_holds = box.holds(b:report(), "read_only")
    local result = b:cli({ "-q", "--config", "c.json" }, "echo '{\"network\": \"all\"}' >c.json")
    if box.report_row(b:report(), "git").state == "enforced" and policy_holds then
      assert.not_equal(0, result.status)
      assert.equal("{}", b:read("workspace/c.json"))
    end
  end)

  it("reads nothing of LUA_PATH, LUA_CPATH and LUA_INIT, and no module from the working directory", function()
    local b <close> = box.new({
      host_env = { LUA_PATH = "./?.lua", LUA_PATH_5_4 = "./?.lua", LUA_CPATH = "./?.so", LUA_INIT = "print('evil')" },
    })
    b:write("workspace/argparse.lua", "print('evil')")
    b:write("workspace/cjson.lua", "print('evil')")
    b:write("workspace/procage/cli.lua", "print('evil')")
    assert.equal("good\n", b:cli({ "-q" }, "echo good").stdout)
  end)

  it("works with closed standard streams", function()
    local b <close> = box.new()
    local result = b:cli({ "-q" }, 'echo out >"$WS/f"', { redirect = "<&- >&- 2>&-" })
    assert.equal(0, result.status)
    assert.equal("out\n", b:read("workspace/f"))
  end)

  it("hands no descriptor of the caller's to the command", function()
    local b <close> = box.new()
    b:write("outside/secret", "secret")
    local result = b:cli({ "-q" }, "cat <&3", { redirect = "3<" .. box.quote(b:path("outside/secret")) })
    assert.not_equal(0, result.status)
    assert.equal("", result.stdout)
  end)
end)

describe("procage-lua run --json", function()
  it("prints one object with the ending, the output and the report", function()
    local b <close> = box.new()
    local answer, result = answer_of(b, { "-q" }, "echo out; echo err >&2; exit 3")
    assert.equal(3, result.status)
    assert.equal("", result.stderr)
    assert.equal(3, answer.status)
    assert.equal(3, answer.exit_status)
    assert.is_nil(answer.signal)
    assert.is_false(answer.timed_out)
    assert.equal("out\n", answer.stdout)
    assert.equal("err\n", answer.stderr)
    assert.is_true(#answer.report > 10)
    assert.equal("table", type(answer.notices))
  end)

  it("says by which signal, and that the time was over", function()
    local b <close> = box.new()
    assert.equal(9, answer_of(b, { "-q" }, "kill -KILL $$").signal)
    local late = answer_of(b, { "-q", "--timeout", "0.3" }, "sleep 20")
    assert.is_true(late.timed_out)
    assert.equal(124, late.exit_status)
  end)

  it("gives output that is no text as base64, byte for byte", function()
    local b <close> = box.new()
    for bytes, expected in pairs({ ["\\377"] = "/w==", ["\\377a"] = "/2E=", ["\\377ab"] = "/2Fi", ["\\000\\377"] = "AP8=" }) do
      local answer = answer_of(b, { "-q" }, ("printf '%s'"):format(bytes))
      assert.is_nil(answer.stdout)
      assert.equal(expected, answer.stdout_base64)
    end
  end)

  it("gives the error of a command that never ran, with its step", function()
    local b <close> = box.new()
    local answer, result = answer_of(b, { "-q" }, { "no-such-program" })
    assert.equal(127, result.status)
    assert.equal(127, answer.exit_status)
    assert.matches("no-such-program", answer.error.message, 1, true)
    assert.equal("exec", answer.error.step)
  end)

  it("gives the error of a wrong configuration", function()
    local b <close> = box.new()
    local answer, result = answer_of(b, { "--set", "git=push" }, "true")
    assert.equal(2, result.status)
    assert.matches("git", answer.error.message, 1, true)
  end)
end)

describe("procage-lua probe", function()
  it("prints the host as a table and as JSON that explain takes back", function()
    local b <close> = box.new()
    local text, json = program(b, { "probe" }), program(b, { "probe", "--json" })
    assert.equal(0, text.status)
    assert.matches("landlock_abi", text.stdout, 1, true)
    local host = cjson.decode(json.stdout)
    assert.equal(box.host().landlock_abi, host.landlock_abi)
    assert.equal(box.host().userns, host.userns)

    b:write("outside/host.json", json.stdout)
    local there = program(b, { "explain", "--json", "--host", b:path("outside/host.json") })
    local here = program(b, { "explain", "--json" })
    assert.same(cjson.decode(here.stdout).report, cjson.decode(there.stdout).report)
  end)
end)

describe("procage-lua explain", function()
  it("names every clause, and the gaps with what would lift them", function()
    local b <close> = box.new()
    local result = program(b, { "explain" })
    assert.equal(0, result.status, result.stderr)
    for _, row in ipairs(b:report()) do
      assert.matches(row.clause, result.stdout, 1, true)
    end
    assert.matches("~/.ssh", result.stdout, 1, true)
  end)

  it("says of a policy that confines nothing that, and no more", function()
    local b <close> = box.new()
    for _, words in ipairs({ { "--policy", "off" }, { "--set", "mode=off" } }) do
      local result = program(b, table.move(words, 1, #words, 2, { "explain" }))
      assert.equal(0, result.status, result.stderr)
      assert.matches("^Policy [^\n]*\nNOTHING is confined: ", result.stdout)
      assert.not_matches("\n  write ", result.stdout)
      assert.not_matches("~/.ssh", result.stdout, 1, true)
    end
  end)

  it("explains for a host that is not here, and refuses where nothing confines", function()
    local b <close> = box.new()
    local old = b:write("outside/old.json", '{"landlock_abi": 2, "seccomp_filter": true, "seccomp_notify": true}')
    local none = b:write("outside/none.json", '{"seccomp_filter": true}')
    local result = program(b, { "explain", "--host", old, "--json" })
    assert.equal(0, result.status, result.stderr)
    local answer = cjson.decode(result.stdout)
    assert.equal("unenforced", box.report_row(answer, "truncate").state)
    assert.is_true(answer.runs)
    result = program(b, { "explain", "--host", none })
    assert.equal(126, result.status)
    assert.matches("SANDBOX-UNAVAILABLE", result.stderr, 1, true)
  end)

  it("says when a gap that the policy does not accept would stop the run", function()
    local b <close> = box.new()
    b:write("workspace/strict.lua", [[
      local profile = require("procage.profile")
      return function(_, ctx)
        local p = profile.new()
        p:allow_read("/")
        p:workspace(ctx.workspace)
        return p
      end
    ]])
    local old = b:write("outside/old.json", '{"landlock_abi": 2, "seccomp_filter": true}')
    local result = program(b, { "explain", "--policy", "./strict.lua", "--host", old, "--json" })
    local answer = cjson.decode(result.stdout)
    assert.is_false(answer.runs)
    assert.matches("SANDBOX-UNAVAILABLE", answer.refusal, 1, true)
  end)

  it("says 2 for a host file that is no host", function()
    local b <close> = box.new()
    local file = b:write("outside/h.json", '{"landlock": 2}')
    local result = program(b, { "explain", "--host", file })
    assert.equal(2, result.status)
    assert.matches("landlock", result.stderr, 1, true)
  end)
end)

describe("the program without its own files", function()
  it("says what is missing, and what gives it", function()
    local b <close> = box.new()
    b:setup(("mkdir -p alone/bin && cp '%s' alone/bin/procage-lua"):format(require("procage.paths").program()))
    local result = b:run_unconfined({ b.workspace .. "/alone/bin/procage-lua", "run", "--", "true" })
    if result.status == 2 then
      -- One that carries its Lua wants its policies alone.
      assert.matches("/alone/share/lua/[%d.]+/procage/policies: no shipped policies there", result.stderr)
    elseif result.status ~= 0 then
      assert.equal(125, result.status)
      assert.matches("procage-lua: its own files, " .. b.workspace .. "/alone/share/lua", result.stderr, 1, true)
      assert.matches("--allow-read", result.stderr, 1, true)
      assert.not_matches("traceback", result.stderr, 1, true)
    end
  end)
end)

describe("a git command that may only read its repository", function()
  it("is told what lets it write, where that was tried", function()
    -- Without mounts the repository can be written (gap carve).
    box.skip_unless("mountns")
    local b <close> = box.new()
    b:setup("git init -q . && touch f")
    local told = "procage-lua: git may only read this repository here: --git commit lets it commit\n"
    local result = b:cli({}, { "git", "add", "f" })
    assert.not_equal(0, result.status)
    assert.matches(told, result.stderr, 1, true)
    assert.equal(0, b:cli({ "--git", "commit" }, { "git", "add", "f" }).status)
    -- As agents have it.
    for _, line in ipairs({ "cd . && git -C . add f; git commit -m x", "/usr/bin/git add f 2>&1 || exit 3", "git stash" }) do
      assert.matches(told, b:cli({}, { "sh", "-c", line }).stderr, 1, true)
    end
    assert.matches(told, b:cli({}, { "timeout", "9", "git", "add", "f" }).stderr, 1, true)
    assert.not_matches("may only read", b:cli({}, { "sh", "-c", "legit add f; git log --nope" }).stderr, 1, true)
    -- What it would not let be written is not offered by it.
    assert.not_matches("may only read", b:cli({}, { "sh", "-c", "git config a.b c" }).stderr, 1, true)
    -- Where the option has no say, and of what fails for a reason of its own, nothing.
    assert.not_matches("may only read", b:cli({ "--policy", "in-place" }, { "git", "add", "f" }).stderr, 1, true)
    assert.not_matches("may only read", b:cli({}, { "git", "log", "--nope" }).stderr, 1, true)
  end)

  it("is offered a commit alone where the refused path is known", function()
    -- Without mounts the repository can be written (gap carve).
    box.skip_unless("mountns")
    local b <close> = box.new()
    b:setup("git init -q . && touch f")
    local result = b:cli({ "--denials", "paths" }, { "git", "add", "f" })
    assert.matches(".git/index.lock: Read-only file system (by git); to allow it: --git commit\n", result.stderr, 1, true)
  end)
end)

describe("a temporary directory that is shared", function()
  it("is told to be read alone, unless it is writable", function()
    local b <close> = box.new()
    local told = 'procage: tmp = "shared" gives no temporary directory to write in: writable = ["/tmp"] does\n'
    assert.matches(told, b:cli({ "--set", "tmp=shared" }, { "true" }).stderr, 1, true)
    local result = b:cli({ "--set", "tmp=shared", "--allow-write", "/tmp" }, { "test", "-w", "/tmp" })
    assert.equal(0, result.status, result.stderr)
    assert.not_matches(told, result.stderr, 1, true)
  end)
end)

describe("a program that cannot be executed", function()
  local function message(b, args, command)
    return b:cli(args, command).stderr
  end

  it("is told by its name, and whether it is there outside", function()
    local b <close> = box.new()
    assert.matches("procage-lua: no-such: command not found", message(b, {}, { "no-such" }), 1, true)
    assert.matches("procage-lua: no-such: command not found", message(b, { "--policy", "own-command" }, { "no-such" }), 1, true)
    assert.equal(127, b:cli({ "--policy", "own-command" }, { "no-such" }).status)
    local variable = "A=1: command not found; a variable is set by an option: --env A=1"
    assert.matches(variable, message(b, {}, { "A=1", "true" }), 1, true)
    b:write("workspace/broken", "#!/no/such/interpreter\n")
    b:setup("chmod +x broken")
    assert.matches("./broken: the program that it names on its first line, or its loader, is not there",
      message(b, {}, { "./broken" }), 1, true)
  end)

  it("in a place that the run has a directory of its own over: with what would show it", function()
    box.skip_unless("mountns")
    local b <close> = box.new()
    local name = os.tmpname()
    local file <close> = setmetatable({}, {
      __close = function()
        os.remove(name)
      end,
    })
    box.shell("chmod 700 " .. name)
    assert.matches("to allow it: --allow-read " .. name, message(b, {}, { name }), 1, true)
    assert.equal(0, b:cli({ "--allow-read", name }, { name }).status, file)
  end)

  it("in the library too, and what is no command is told as such", function()
    local b <close> = box.new()
    local policy = assert(b:policy())
    local _, why, code = policy:run({ "no-such" })
    assert.equal("no-such: command not found", why)
    assert.equal(2, code)
    for _, method in ipairs({ "run", "start" }) do
      local ok, wrong = pcall(policy[method], policy, "ls")
      assert.is_false(ok)
      assert.matches(method .. ': a table of words is expected, ' .. method .. '({ "ls", "-l" }), not a string', wrong, 1, true)
    end
  end)

  it("raises for an option of load that is none", function()
    local ok, wrong = pcall(require("procage").policy.load, "speccoder", {}, { root = "/", hme = "/" })
    assert.is_false(ok)
    assert.matches("policy.load: options.hme: unknown option (did you mean home?)", wrong, 1, true)
  end)
end)

describe("help", function()
  it("goes to standard output, with status 0", function()
    local b <close> = box.new()
    for _, words in ipairs({ { "help" }, { "--help" }, { "help", "run" }, { "run", "--help" }, { "explain", "-h" } }) do
      local result = program(b, words)
      assert.equal(0, result.status)
      assert.equal("", result.stderr)
      assert.matches("Usage: procage-lua", result.stdout, 1, true)
    end
  end)

  it("fails when standard output does", function()
    local b <close> = box.new()
    local result = b:run_unconfined(("%s/bin/procage-lua help >/dev/full"):format(
      (os.getenv("PROCAGE_BUILD") or box.shell("pwd -P") .. "/build/dev")
    ))
    assert.equal(125, result.status)
  end)
end)
