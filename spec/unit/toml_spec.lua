--- TOML as the standard's own cases have it, and as Python's reader does.

local cjson = require("cjson")
local core = require("procage.core")
local toml = require("procage.toml")

local CASES = "/usr/share/gocode/src/github.com/BurntSushi/toml/internal/toml-test/tests"
local PACKAGE = "golang-github-burntsushi-toml-dev is not installed"

local function read(file)
  local handle = assert(io.open(file, "rb"))
  local text = handle:read("a")
  handle:close()
  return text
end

--- Files below a folder of the cases; none when they are not installed.
local function cases(folder)
  local list = {}
  local pipe = assert(io.popen(("find %s/%s -name '*.toml' 2>/dev/null | LC_ALL=C sort"):format(CASES, folder)))
  for name in pipe:lines() do
    -- Of TOML 1.1.
    if not name:find("valid/string/escape%-esc%.toml$") then
      list[#list + 1] = name
    end
  end
  pipe:close()
  return list
end

-- ---- One spelling for both sides ---------------------------------------------------------------------------------------

local function number_text(value)
  if value ~= value then
    return "nan"
  elseif value == math.huge or value == -math.huge then
    return value > 0 and "inf" or "-inf"
  end
  return ("%.17g"):format(value)
end

--- Whole microseconds, for Python has no more, and UTC as Z.
local function date_text(text)
  text = text:upper():gsub("^(%d+%-%d+%-%d+) ", "%1T"):gsub("[+-]00:00$", "Z")
  return (text:gsub("%.(%d+)", function(digits)
    digits = digits:sub(1, 6):gsub("0+$", "")
    return digits ~= "" and "." .. digits or ""
  end))
end

local function spell(kind, text)
  if kind == "float" then
    local infinite = text:sub(1, 1) == "-" and -math.huge or math.huge
    return number_text(tonumber(text) or text:find("nan", 1, true) and 0 / 0 or infinite)
  elseif kind == "integer" then
    return ("%d"):format(math.tointeger(tonumber(text)))
  elseif kind ~= "string" and kind ~= "bool" then
    return date_text(text)
  end
  return text
end

--- A value as the cases' JSON has it, both sides through this: {type, value}, lists, objects.
local function ours(value, mark)
  if not mark.items then
    local text = type(value) == "table" and value.text or mark.kind == "float" and number_text(value) or tostring(value)
    return { "=" .. mark.kind, spell(mark.kind, text) }
  end
  local copy = {}
  for key, item in pairs(value) do
    copy[key] = ours(item, mark.items[key])
  end
  return next(copy) and { mark.kind, copy } or { "empty" }
end

local function theirs(json)
  if type(json.type) == "string" and type(json.value) == "string" then
    return { "=" .. json.type, spell(json.type, json.value) }
  end
  local copy = {}
  for key, item in pairs(json) do
    copy[key] = theirs(item)
  end
  -- Decoded JSON does not tell an empty list from an empty object.
  return next(copy) and { copy[1] and "array" or "table", copy } or { "empty" }
end

describe("TOML", function()
  it("is read as the standard's cases have it", function()
    local files = cases("valid")
    if #files == 0 then
      pending(PACKAGE)
    end
    for _, file in ipairs(files) do
      local value, mark = toml.parse(read(file), file)
      assert.is_table(value, mark)
      assert.same(theirs(cjson.decode(read((file:gsub("toml$", "json"))))), ours(value, mark), file)
    end
    assert.is_true(#files >= 99)
  end)

  it("is refused as the standard's cases have it, with the line", function()
    local files = cases("invalid")
    if #files == 0 then
      pending(PACKAGE)
    end
    for _, file in ipairs(files) do
      local value, message, line = toml.parse(read(file), "case")
      assert.is_nil(value, file)
      assert.matches("^case:%d+: .", message, nil, file)
      assert.is_true(line >= 1)
    end
    assert.is_true(#files >= 234)
  end)

  it("says where each value stands", function()
    local _, mark = assert(toml.parse([==[
a.b = 1

[sandbox]
network = "all"
writable = [
  "~/x",
  "/y",
]
"x.y" = { z = 1 }
]==]))
    local lines = {}
    for i, key in ipairs({ "a.b", "sandbox", "sandbox.network", "sandbox.writable[2]", "sandbox.writable[9]" }) do
      lines[i] = toml.find(mark, key).line
    end
    assert.same({ 1, 3, 4, 7, 5 }, lines)
    assert.equal(9, toml.find(mark, "sandbox.x.y.z").line)
    assert.equal(3, toml.find(mark, "sandbox.netwrok").line)
    assert.equal("integer", toml.find(mark, "sandbox.x.y.z").kind)
  end)

  it("keeps the types apart", function()
    local value = assert(toml.parse("i = 1\nf = 1.0\nb = true\nd = 1979-05-27\ns = '1979-05-27'\nn = \"a\\u0000b\"\n"))
    assert.equal("integer", math.type(value.i))
    assert.equal("float", math.type(value.f))
    assert.is_true(value.b)
    assert.is_table(value.d)
    assert.equal("1979-05-27", tostring(value.d))
    assert.equal(value.s, value.d.text)
    assert.equal("a\0b", value.n)
    local _, mark = assert(toml.parse("l = []\nt = {}\n"))
    assert.equal("array", mark.items.l.kind)
    assert.equal("table", mark.items.t.kind)
  end)

  it("is refused, not a crash, when it is too much of anything", function()
    local many = ("a."):rep(130000)
    for what, text in pairs({
      ["too many dots outside of strings"] = many .. "b = 1",
      -- A string that ends with quotes of its own hides nothing behind it.
      ["too many dots"] = 'x = [""""a"""", ' .. many,
      ["nested too deeply"] = ("a."):rep(300) .. "b = 1",
      ["maximum nested value depth"] = "x = " .. ("["):rep(100000),
      ["longer than 262144 bytes"] = ("#"):rep(262145),
    }) do
      local value, message = toml.parse(text, "f")
      assert.is_nil(value)
      assert.matches(what, message, 1, true)
    end
    -- In strings and comments they cost nothing.
    local dots = ("."):rep(9000)
    assert.is_table((toml.parse(('x = "%s" # %s\ny = \'\'\'\n%s\'\'\'\n'):format(dots, dots, dots))))
    assert.is_table((toml.parse("x = " .. ("["):rep(200) .. ("]"):rep(200))))
    assert.is_table((toml.parse(("#"):rep(262144))))
  end)

  it("refuses letters of every alphabet where a bare key would begin, and keeps them in strings", function()
    -- One of the parser's own tables has holes there.
    for code = 0x80, 0x10ffff do
      if (code < 0x600 or code % 97 == 0) and (code < 0xd800 or code > 0xdfff) then
        local letter = utf8.char(code)
        local value = toml.parse(letter .. "x = 1\n")
        -- White space and line ends of Unicode's are none of TOML's.
        assert.is_nil(value, ("U+%04X"):format(code))
        assert.is_nil((toml.parse("x = " .. letter .. "\n")))
        assert.equal(letter, assert(toml.parse(('"%s" = "%s"\n'):format(letter, letter)))[letter])
      end
    end
  end)

  it("is text: another type is the caller's mistake", function()
    assert.error(function()
      core.toml(3)
    end)
  end)
end)

-- ---- Python's reader -----------------------------------------------------------------------------------------------------

local PYTHON = [[
import json, sys
try:
    import tomllib
except ImportError:
    sys.exit(77)
import datetime as d

def tag(v):
    if isinstance(v, dict):
        return {k: tag(x) for k, x in v.items()}
    if isinstance(v, list):
        return [tag(x) for x in v]
    if isinstance(v, bool):
        return {"type": "bool", "value": "true" if v else "false"}
    if isinstance(v, int):
        if not -2**63 <= v < 2**63:
            raise OverflowError
        return {"type": "integer", "value": str(v)}
    if isinstance(v, float):
        return {"type": "float", "value": repr(v)}
    if isinstance(v, d.datetime):
        return {"type": "datetime" if v.tzinfo else "datetime-local", "value": v.isoformat()}
    if isinstance(v, d.date):
        return {"type": "date-local", "value": v.isoformat()}
    if isinstance(v, d.time):
        return {"type": "time-local", "value": v.isoformat()}
    return {"type": "string", "value": v}

for text in json.load(open(sys.argv[1])):
    try:
        print(json.dumps(tag(tomllib.loads(text))))
    except OverflowError:
        print("null")
    except (ValueError, RecursionError):
        print("null")
]]

--- Texts that are nearly right: pieces of good ones, cut, doubled and mixed, the same every time.
local function mutants(count)
  local seed = 20261130
  local function random(n)
    seed = (seed * 1103515245 + 12345) & 0x7fffffff
    return (seed >> 8) % n + 1
  end
  local lines = {}
  local text = [==[
[sandbox]
network = "all"
network_allow = [["cargo", "fetch"], ["npm", "ci"]]
writable = ["~/out", '/srv/x', """a
b""", ]
limits = { timeout_ms = 1_000, cpu_ms = 0x1F }
a.b.c = 1
a.b.d = -0
"quoted key" = 1e3
'literal' = +1.5e-7
[[list]]
d1 = 1979-05-27T07:32:00Z
d2 = 1979-05-27 00:32:00.999999
d3 = 1979-05-27
d4 = 07:32:00
[[list]]
[list.sub]
x = inf
y = -nan
z = 0b1101 # comment
[a.x]
s = "tab\t quote\" \u00e9 \U0001F600"
m = '''
one''two'''
e = []
f = {}
g = [ 1, 2.0, "three", [4], {five = 5} ]
]==]
  for line in text:gmatch("[^\n]*\n") do
    lines[#lines + 1] = line
  end
  local marks = { ".", "=", "[", "]", "{", "}", ",", '"', "'", "\n", "#", "_", "0", "-", "1", "e", " ", "\\", "T", ":", "a" }
  local list = {}
  for i = 1, count do
    local picked = {}
    for j = 1, random(6) do
      picked[j] = lines[random(#lines)]
    end
    local made = table.concat(picked)
    for _ = 1, random(3) - 1 do
      local at = random(#made)
      local mark = marks[random(#marks)]
      made = made:sub(1, at - 1) .. mark .. made:sub(at + random(2) - 1)
    end
    list[i] = made
  end
  return list
end

describe("a TOML text of any kind", function()
  it("is read or refused as Python's reader does it", function()
    local texts = mutants(3000)
    local script, input = os.tmpname(), os.tmpname()
    local handle = assert(io.open(script, "w"))
    handle:write(PYTHON)
    handle:close()
    handle = assert(io.open(input, "w"))
    handle:write(cjson.encode(texts))
    handle:close()
    local pipe = assert(io.popen(("python3 -I %s %s 2>/dev/null"):format(script, input)))
    local answers = {}
    for line in pipe:lines() do
      answers[#answers + 1] = line
    end
    local _, _, status = pipe:close()
    os.remove(script)
    os.remove(input)
    if status == 77 or status == 127 then
      pending("no Python with tomllib (3.11)")
    end
    assert.equal(#texts, #answers)
    local good = 0
    for i, text in ipairs(texts) do
      local value, mark = toml.parse(text)
      if answers[i] == "null" then
        assert.is_nil(value, "accepted: " .. text)
      else
        assert.is_table(value, ("refused: %s\n%s"):format(text, mark))
        assert.same(theirs(cjson.decode(answers[i])), ours(value, mark), text)
        good = good + 1
      end
    end
    -- Neither side is exercised by the other alone.
    assert.is_true(good > 300 and good < 2700, tostring(good))
  end)
end)
