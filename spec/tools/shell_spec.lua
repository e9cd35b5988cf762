--- Shells and the small programs that scripts are made of.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

local function bash(script)
  return { "bash", "-c", script }
end

describe("a shell", function()
  it("has here documents, process substitution, arrays, traps and subshells", function()
    tool.works({
      run = bash([[
        cat <<END
here
END
        cat <<<string; diff <(echo a) <(echo a) && echo same; a=(1 2 3); echo "${#a[@]}"
        trap 'echo trapped' EXIT; (exit 3) || echo $?; echo a | { read x; echo $x; }; printf '%s\n' {x,y}z
        echo out > >(cat); wait]]),
      prints = "^here\nstring\nsame\n3\n3\na\nxz\nyz\n",
    })
  end)

  it("controls jobs", function()
    tool.works({
      run = bash([[
        set -m; sleep 30 & p=$!; kill -STOP $p; sleep 0.2; jobs | grep -c Stopped; grep State /proc/$p/status
        kill -CONT $p; kill $p; while kill -0 $p 2>/dev/null; do sleep 0.02; done; wait $p; echo $?
        (sleep 0.05; exit 4) & wait $!; echo $?]]),
      prints = "^1\nState:\tT.*\n143\n4\n$",
    })
  end)

  it("signals its own processes and groups, and times out commands", function()
    tool.works({
      run = bash([[
        trap 'echo usr1' USR1; kill -USR1 $$; timeout 0.1 sleep 5; echo $?; timeout -s KILL 0.1 sleep 5; echo $?
        setsid sh -c 'kill -0 $$ && echo leader'; nohup true 2>/dev/null; echo $?]]),
      prints = "^usr1\n124\n137\nleader\n0\n$",
    })
  end)

  it("passes an argument list and an environment of two megabytes in all", function()
    tool.works({
      run = bash([[
        big=$(printf '%0100000d' 0); args=(); for i in {1..12}; do args+=("$big"); done
        export A=$big B=$big C=$big; /bin/echo "${args[@]}" | wc -c; env | grep -c '^[ABC]=']]),
      prints = "^1200012\n3\n$",
    })
  end)

  it("starts with the longest argument that a program can have", function()
    local b <close> = box.new()
    local long = ("x"):rep(128 * 1024 - 1)
    assert.equal(#long .. "\n", b:run({ "/bin/sh", "-c", "echo ${#1}", "sh", long }).stdout)
    local outcome, message, errno = b:try_run({ "/bin/echo", long .. "x" })
    assert.is_nil(outcome)
    assert.equal(7, errno, message) -- E2BIG, as a shell would say
  end)

  it("finds no signal blocked or ignored, whatever the caller's are", function()
    local b <close> = box.new()
    local command = { "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status" }
    assert.matches("^SigBlk:\t0+\nSigIgn:\t0+\n$", b:run(command).stdout)
    -- Ignored signals are inherited: without a sandbox they reach the command.
    local ignoring = "trap '' HUP USR1 PIPE; exec " .. b:cli_line({ "-q" }, command)
    assert.matches("^SigBlk:\t0+\nSigIgn:\t0+$", (box.shell(ignoring)))
  end)
end)

describe("the usual programs", function()
  it("look at the system", function()
    tool.works({
      run = [[
        set -e; test "$(nproc)" -ge 1; ps -e >/dev/null; ps -o pid= -p $$ | grep -q "$$"; df . >/dev/null; df -h / >/dev/null
        stat -f . >/dev/null; uname -a >/dev/null; id >/dev/null; date >/dev/null; uptime >/dev/null; free >/dev/null
        find /usr/bin -name env; ls ~ >/dev/null; ls / | grep -c etc; du -s . >/dev/null; cat /proc/self/comm; lscpu >/dev/null
        cat /proc/meminfo /proc/cpuinfo /proc/mounts /proc/version /proc/sys/kernel/ostype >/dev/null
        head -c 4 /dev/urandom | wc -c; test -c /dev/zero; hostname >/dev/null; who >/dev/null; echo done]],
      prints = "^/usr/bin/env\n1\ncat\n4\ndone\n$",
    })
  end)

  it("find what they need: locales, time zones, magic numbers, manuals", function()
    tool.works({
      needs = { "file", "locale" },
      run = "locale >/dev/null && LC_ALL=C.UTF-8 sh -c 'printf ä | wc -m' && TZ=UTC date -d @0 +%Z && "
        .. "file /bin/sh | grep -c link",
      prints = "^1\nUTC\n1\n$",
    })
    tool.works({
      needs = { "man" },
      setup = [[printf '.TH T 1\n.SH NAME\nt \\- words of a page\n' >t.1]],
      run = "MANPAGER=cat man -l ./t.1",
      prints = "words of a page",
    })
  end)

  it("edit, search, sort and compare", function()
    tool.works({
      run = [[
        seq 100000 | sort -R | sort -n | tail -1; seq 9 >f; sed -i s/5/five/ f; grep -c five f; awk '{s+=$1} END {print s}' f
        split -n 2 f part; cat part* | cmp - f && diff -u f /dev/null | grep -c '^-'; xargs -P 2 -n 1 echo <f | wc -l
        printf 'a\n' | tee t | cat; patch -s <<'END'
--- t
+++ t
@@ -1 +1 @@
-a
+b
END
        cat t; mktemp -d | grep -c .; truncate -s 3 t; stat -c %s t]],
      prints = "^100000\n1\n40\n10\n9\na\nb\n1\n3\n$",
    })
  end)

  it("ask for nobody's password: sudo and su are refused", function()
    local b <close> = box.new()
    for _, program in ipairs({ "su", "sudo" }) do
      local there = select(2, box.shell("command -v " .. program))
      if there then
        local outcome = b:run(program .. " -n true 2>&1 || " .. program .. " nobody -c true")
        assert.not_equal(0, outcome.status, program)
        assert.is_nil(outcome.signal)
      end
    end
  end)
end)

describe("the init of a run", function()
  it("sleeps while the command does", function()
    local b <close> = box.new()
    -- The parent of a run's command is its init: user and system time in ticks of 10 ms.
    local outcome = b:run([[sleep 1; sed 's/.*) //' /proc/$PPID/stat | cut -d' ' -f12,13]])
    local user, system = outcome.stdout:match("^(%d+) (%d+)\n$")
    assert.is_truthy(user, tool.told(outcome))
    assert.is_true(tonumber(user) + tonumber(system) <= 5, outcome.stdout)
  end)
end)
