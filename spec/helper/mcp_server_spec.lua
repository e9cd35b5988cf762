--- A tool server as a harness starts it: what `wrap` gives for the policy mcp-server, talked to on pipes and let go of.

local box = require("spec.support.box")

local function new(config)
  return box.new({ policy = "mcp-server", config = config })
end

--- A harness: starts the words that wrap gives, says `lines` one by one, waiting for an answer to each, then does `last`
--- ("close": closes the server's input; "crash": dies by SIGKILL; "stuck": says more than a pipe holds, and dies).
local HARNESS = [[
import json, os, signal, subprocess, sys, time
argv, lines, last = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
for line in lines:
    p.stdin.write((line + "\n").encode())
    print("answer", p.stdout.readline().decode().strip(), flush=True)
if last == "close":
    began = time.time()
    p.stdin.close()
    status = p.wait(20)
    print("ended", status, "in time" if time.time() - began < 3 else "late", flush=True)
    sys.exit(0)
if last == "stuck":
    os.set_blocking(p.stdin.fileno(), False)
    try:
        while True:
            p.stdin.write(b"x" * 4096) or time.sleep(0.2)
            if time.time() > float(sys.argv[4]): break
    except BlockingIOError:
        pass
os.kill(os.getpid(), signal.SIGKILL)
]]

local function json_list(words)
  local quoted = {}
  for i, word in ipairs(words) do
    quoted[i] = '"' .. word:gsub('[\\"]', "\\%0"):gsub("\n", "\\n"):gsub("\t", "\\t") .. '"'
  end
  return "[" .. table.concat(quoted, ",") .. "]"
end

--- Answers each line, and says in a file that it is alive.
local SERVER = [[
trap "" TERM HUP INT
(while :; do date +%s%N >$WS/pulse; sleep 0.1; done) &
while read -r line; do echo "$line, heard"; done
while :; do sleep 1; done
]]

local function has_pulse(b)
  local before = b:read("workspace/pulse")
  box.sleep(0.5)
  return b:read("workspace/pulse") ~= before
end

describe("a tool server", function()
  before_each(function()
    box.skip_without("python3")
  end)

  local function talk(b, server, lines, last)
    local wrapped <close> = assert(assert(b:policy()):wrap({ "/bin/sh", "-c", server }))
    assert.equal("--tree", wrapped.argv[3], "the form that looks after it, without being asked for")
    return b:run_unconfined({
      "/usr/bin/python3", "-I", "-c", HARNESS, json_list(wrapped.argv), json_list(lines), last, tostring(os.time() + 2),
    })
  end

  it("is talked to on its standard streams, and confined", function()
    local b <close> = new()
    b:write("home/.ssh/id", "S3CRET")
    local server = [[while read -r line; do cat ~/.ssh/id 2>/dev/null; touch $OUTSIDE/x 2>/dev/null; echo "$line, heard"; done]]
    local result = talk(b, server, { "one", "two" }, "close")
    assert.equal("answer one, heard\nanswer two, heard\nended 0 in time\n", result.stdout, result.stderr)
    assert.is_false(b:exists("outside/x"))
  end)

  it("that does not go when its input ends is ended, with all that it started", function()
    local b <close> = new()
    local result = talk(b, SERVER, { "one" }, "close")
    assert.matches("answer one, heard\nended 137 in time\n", result.stdout, 1, true)
    assert.is_false(has_pulse(b))
  end)

  it("does not outlive a harness that crashes, though it never reads on", function()
    for _, last in ipairs({ "crash", "stuck" }) do
      local b <close> = new()
      local server = last == "stuck" and SERVER:gsub("while read[^\n]*\n", "read -r line; echo heard\n") or SERVER
      talk(b, server, { "one" }, last)
      assert.is_truthy(box.wait_for(0.9, function()
        return b:exists("workspace/pulse")
      end))
      assert.is_truthy(box.wait_for(5, function()
        return not has_pulse(b)
      end), last)
    end
  end)

  it("has no deadline, and another form when it is asked for", function()
    local b <close> = new({ limits = { timeout_ms = 1 } })
    local policy = assert(b:policy())
    assert.is_nil(policy.fitted.limits.timeout_ms)
    local wrapped <close> = assert(policy:wrap({ "true" }, { tree = false }))
    assert.is_true(wrapped.argv[3] ~= "--tree")
    local other = box.new({})
    local plain <close> = assert(assert(other:policy()):wrap({ "true" }))
    assert.is_true(plain.argv[3] ~= "--tree")
    other:__close()
  end)
end)

describe("a run that is to end with its standard input", function()
  it("has its time to finish, from the last that it read", function()
    local b <close> = box.new({ config = { limits = { stdin_grace_ms = 1500 } } })
    local outcome = b:run("cat; sleep 0.3; echo done", { stdin = "x\n" })
    assert.equal("x\ndone\n", outcome.stdout)
    assert.equal(0, outcome.status)
    outcome = b:run("cat; sleep 20; echo done", { stdin = "x\n" })
    assert.equal("x\n", outcome.stdout)
    assert.equal(15, outcome.signal)
    assert.is_false(outcome.timed_out)
    -- Without any there is none to end.
    outcome = b:run("sleep 2; echo done")
    assert.equal("done\n", outcome.stdout)
  end)
end)
