--- Lines of shell made by chance, with a program in them that is denied: where a real shell runs it, classify has said so.

local classify = require("procage.classify")
local core = require("procage.core")
local runner = require("procage.runner")
local throwaway = require("spec.support.throwaway")

local LINES = 150

local random = require("spec.support.random")(20240611)

local function pick(list)
  return list[random(#list)]
end

--- A word as one may write it.
local function spelled(word)
  local at = random(#word)
  local head, tail = word:sub(1, at), word:sub(at + 1)
  return pick({
    word, word, word, "'" .. word .. "'", '"' .. word .. '"', head .. "''" .. tail, head .. '""' .. tail,
    head .. "\\\n" .. tail,
    word:sub(1, at - 1) .. "\\" .. word:sub(at), head .. "$Z" .. tail,
    "$'" .. word:gsub(".", function(letter)
      return random(2) == 1 and ("\\x%02x"):format(letter:byte()) or letter
    end) .. "'",
  })
end

local function denied()
  return spelled("sudo") .. pick({ "", " x", " 'a b'", " >/dev/null", " 2>&1" })
end

local function harmless()
  return pick({
    "true", "echo a", "echo 'x;y'", 'echo "a (b"', "echo a#b", "X=1", "X='a b'", "[ 1 = 1 ]", "[[ a == a ]]", "echo $((1+2))",
    "echo ${X:-z}", "cat <<E\ntext ' \" (\nE\n", "echo \"it's\"", "echo 'say \"hi\"'", "echo \\(", "# comment ' \" \n:",
    "echo $(echo a)", "echo `echo a`", "echo {a,b}", "case a in a) :;; esac", "f() { :; }", "echo \"$(echo \")\")\"",
  })
end

local function quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- Forms that hold a line. `%s` is it; `%q` the same in quotes; `%d` the denied command alone.
local FORMS = {
  "%h; %s", "%h && %s", "%h\n%s", "%h | %s", "%h & %s", "%s | cat", "( %s )", "{ %s; }", "! %s", "false || %s",
  "if true; then %s; fi", "if %s; then :; fi", "for q in a; do %s; done", "while %s; do break; done",
  "until %s; do break; done",
  "case a in a) %s ;; esac", "case a in (b) :;; a) %s ;; esac", "f() { %s; }; f", "function f { %s; }; f", "echo $(%s)",
  'echo "$(%s)"', "cat <(%s)", "eval %q", "sh -c %q", "bash -c %q", "trap %q EXIT", "bash <<'E'\n%s\nE\n",
  "cat <<E\n$(%d)\nE\n",
  "command %d", "exec %d", "env A=b %d", "nice -n 1 %d", "timeout 5 %d", "xargs %d </dev/null", "V=sudo; $V", "V='sudo x'; $V",
  "bash -c '\"$@\"' _ %d", "V=true; V=sudo; $V", "set -- sudo x; \"$@\"", "f() { \"$@\"; }; f %d",
}

local function line_of(depth)
  if depth == 0 then
    return denied()
  end
  return (pick(FORMS):gsub("%%(.)", function(what)
    if what == "h" then
      return harmless()
    elseif what == "d" then
      return denied()
    end
    local inner = line_of(depth - 1)
    return what == "q" and quoted(inner) or inner
  end))
end

describe("a line of shell", function()
  it("that runs a denied program in a real shell is denied", function()
    if throwaway.shell("command -v bash") == "" then
      pending("no bash")
      return
    end
    local directory <close> = throwaway.directory()
    local place = assert(core.real_path(directory.path))
    throwaway.shell(("cd %s && mkdir bin ws home && printf '#!/bin/sh\\n: > %s/ran\\n' > bin/sudo && chmod +x bin/sudo"):format(
      quoted(place), place
    ))
    local policy = assert(runner.load("speccoder", {}, {
      root = place .. "/ws", home = place .. "/home", explains = true,
      env = { PATH = "/usr/bin:/bin", HOME = place .. "/home" },
    }))
    local classifier = classify.new(policy)
    local ran = 0
    for _ = 1, LINES do
      local line = line_of(random(4))
      throwaway.write(place .. "/line", line)
      throwaway.shell(("cd %s/ws && PATH=../bin:$PATH timeout 5 bash -c \"$(cat ../line)\" </dev/null"):format(quoted(place)))
      if os.remove(place .. "/ran") then
        ran = ran + 1
        local decision = classifier:classify({ tool = "command", argv = { "bash", "-c", line } })
        assert.equal("denied", decision.decision, line)
      end
    end
    -- It bites: most of them do run it.
    assert.is_true(ran > LINES / 2, tostring(ran))
  end)
end)
