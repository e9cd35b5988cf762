local core = require("procage.core")
local paths = require("procage.paths")
local throwaway = require("spec.support.throwaway")
local writer = require("procage.writer")

describe("a line for a person", function()
  it("holds nothing that a terminal would obey, but our own colours", function()
    local text = writer.text({ "a\27[1A\27[2K\nb\r\7\xc2\x9b2J\x9b\u{202e}\u{2066}\u{2028}\u{2069}ü" })
    assert.equal([[a\x1b[1A\x1b[2K\nb\r\x07\u{009B}2J\x9b\u{202E}\u{2066}\u{2028}\u{2069}ü]] .. "\n", text)
  end)

  it("is one line, but for the refusal of gaps, whose own lines are indented", function()
    local function lines(message)
      local list = {}
      writer.refusal(function(line)
        list[#list + 1] = line
      end, "p: ", message)
      return list
    end
    assert.same({ "p: SANDBOX-UNAVAILABLE: a", "  b\nforged" }, lines("SANDBOX-UNAVAILABLE: a\n  b\nforged"))
    assert.same({ "p: /x: SANDBOX-UNAVAILABLE: a\n  b" }, lines("/x: SANDBOX-UNAVAILABLE: a\n  b"))
    local rows = { { clause = "x", id = "x", state = "unenforced", mechanisms = {}, effect = "a\n  forged", lift = "l" } }
    local _, message = require("procage.policy").admit(rows, {})
    assert.matches([[a\n  forged; lift: l]], message, 1, true)
  end)

  it("is written by the one function: other writers give JSON, files, a command's bytes or our own text", function()
    -- What is written without it, by file: each was looked at.
    local known = {
      ["cli.lua"] = 1, ["repl.lua"] = 5, ["writer.lua"] = 3, ["cli/doctor.lua"] = 1, ["cli/learn.lua"] = 2,
      ["cli/guard.lua"] = 2, ["cli/classify.lua"] = 1, ["cli/why.lua"] = 1, ["cli/mask.lua"] = 1, ["cli/begin.lua"] = 1,
      ["cli/probe.lua"] = 1, ["cli/run.lua"] = 2, ["cli/test.lua"] = 1, ["cli/explain.lua"] = 2,
    }
    local root, found = assert(core.real_path("/proc/self/cwd")), {}
    for name in throwaway.shell("cd lua/procage && grep -rl 'io.std[a-z]*:write' ."):gmatch("%./(%S+)") do
      local text = assert(core.read_file(root .. "/lua/procage/" .. name, 1 << 20))
      found[name] = select(2, text:gsub("io%.std%a+:write", ""))
    end
    assert.same(known, found)
  end)
end)

if not paths.program() then
  return
end

--- What the subcommands print where a repository, a policy or a name is hostile.
describe("a hostile repository", function()
  local ESCAPES = "\\027[1A\\027[2Kforged\\nread  enforced\\302\\233"

  it("writes no line of its own and moves no cursor, whatever is asked of it", function()
    local directory <close> = throwaway.directory()
    local function sh(script)
      return (throwaway.shell(("cd %s && export HOME=$PWD; procage() { %s \"$@\"; }; { %s\n} 2>&1; :"):format(
        throwaway.quote(directory.path), throwaway.quote(paths.program()), script)))
    end
    local hidden = [[printf '[sandbox]\nhidden = ["/zz\\u001b[1A\\u001b[2Kforged\\nread  enforced"]\n' > speccoder.toml; ]]
    local key = [[printf '[sandbox]\n"\\u001b]0;x\\u0007\\nforged" = 1\n' > speccoder.toml; ]]
    local script = ([[printf 'error("a\\27[2Jb\\nforged\\xc2\\x9b")' > p.lua; ]])
    local policy = [[printf 'return { help = "a\\27[2Jb\\nforged", options = { x = { type = "string", help = "a\\27[2J" } }, ]]
      .. [[profile = function() error("a\\27[2Jb\\nforged") end }' > q.lua; ]]
    for _, line in ipairs({
      hidden .. "procage explain", hidden .. "procage why read /zz", hidden .. "procage run -- false", key .. "procage explain",
      key .. "procage run -- true", key .. "procage check speccoder.toml", key .. "procage classify ls",
      "rm speccoder.toml; " .. script .. "procage explain --policy ./p.lua", "procage explain --narrow ./p.lua",
      "procage run --policy ./p.lua -- true", "procage check ./p.lua", "procage test ./p.lua",
      policy .. "procage check ./q.lua",
      "procage help run --policy ./q.lua", "procage explain --policy ./q.lua",
      "f=$(printf 'x" .. ESCAPES .. "'); procage check \"$f.toml\"; procage init \"$f.toml\"; "
        .. "procage run --cwd \"$f\" -- true; "
        .. "procage \"$f\"; procage run --\"$f\"; procage why read \"/$f\"; "
        .. "procage guard compare \"$f\"; procage \"./$f.lua\"",
    }) do
      local text = sh(line)
      assert.is_true(#text > 0, line)
      assert.is_nil(text:find("[\1-\9\11-\31\127]"), line .. "\n" .. text)
      assert.is_nil(("\n" .. text):find("\nforged") or ("\n" .. text):find("\nread  enforced"), line .. "\n" .. text)
      assert.is_truthy(utf8.len(text), line)
      assert.is_nil(text:find("\xc2\x9b", 1, true), line)
    end
  end)
end)
