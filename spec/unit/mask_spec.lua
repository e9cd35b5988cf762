local core = require("procage.core")
local mask = require("procage.mask")
local throwaway = require("spec.support.throwaway")

-- ---- Encoders of the spec's own ---------------------------------------------------------------------------------------------

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function base64(text)
  local out = {}
  for i = 1, #text, 3 do
    local a, b, c = text:byte(i, i + 2)
    local bits = a << 16 | (b or 0) << 8 | (c or 0)
    for j = 0, 3 do
      local digit = bits >> (18 - 6 * j) & 63
      out[#out + 1] = (j == 2 and not b or j == 3 and not c) and "=" or DIGITS:sub(digit + 1, digit + 1)
    end
  end
  return table.concat(out)
end

local function url_safe(text)
  return (text:gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }))
end

local function hex(text, form)
  return (text:gsub(".", function(c)
    return (form or "%02x"):format(c:byte())
  end))
end

local function wrapped(text, width)
  return (text:gsub(("."):rep(width), "%0\n"))
end

--- Each byte as it is, or percent-encoded, as `chance` has it.
local function percent(text, chance)
  return (text:gsub(".", function(c)
    if chance() then
      return (chance() and "%%%02x" or "%%%02X"):format(c:byte())
    end
    return c
  end))
end

local function masker(values)
  return assert(mask.new({ env = false, values = values }))
end

--- The text through a stream in pieces.
local function in_pieces(m, text, size_of)
  local stream, out, at = m:stream(), {}, 1
  while at <= #text do
    local size = size_of()
    out[#out + 1] = stream:feed(text:sub(at, at + size - 1))
    at = at + size
  end
  out[#out + 1] = stream:finish()
  return table.concat(out)
end

local SECRET = "hunter2/hunter+2?"

describe("a masker", function()
  local m = masker({ THE_TOKEN = SECRET })

  it("leaves the path of a file alone, whatever its variable is called", function()
    local made = assert(mask.new({ env = { AWS_CA_BUNDLE = "/etc/passwd", AWS_OTHER = "/etc/none-such" } }))
    assert.equal("/etc/passwd [redacted:AWS_OTHER]", made:text("/etc/passwd /etc/none-such"))
  end)

  it("puts a name in the place of a secret, and nothing else", function()
    assert.equal("a [redacted:THE_TOKEN] b\n", m:text("a " .. SECRET .. " b\n"))
    assert.equal("hunter2/hunter+2", m:text("hunter2/hunter+2"))
    assert.equal("", m:text(""))
    assert.equal("\0\xff[redacted:THE_TOKEN]\0", m:text("\0\xff" .. SECRET .. "\0"))
  end)

  it("finds it in base64 at each of the three alignments, standard and url-safe", function()
    for lead = 0, 3 do
      for tail = 0, 3 do
        local text = base64(("x"):rep(lead) .. SECRET .. ("y"):rep(tail))
        for _, spelling in ipairs({ text, url_safe(text) }) do
          local shown = m:text("<" .. spelling .. ">")
          assert.matches("[redacted:THE_TOKEN]", shown, 1, true)
          -- What is left says nothing of the secret: the neighbours alone, and padding.
          local left = shown:gsub("%[.-%]", ""):gsub("[<>=]", "")
          assert.is_true(#left <= (lead * 8 + 5) // 6 + (tail * 8 + 5) // 6, left)
        end
      end
    end
  end)

  it("finds it in base64 that is broken into lines, escaped or percent-encoded", function()
    for _, width in ipairs({ 64, 76 }) do
      for lead = 30, 60, 7 do
        local text = wrapped(base64(("x"):rep(lead) .. SECRET .. ("y"):rep(40)), width)
        assert.matches("[redacted:THE_TOKEN]", m:text(text), 1, true)
        assert.matches("[redacted:THE_TOKEN]", m:text((text:gsub("\n", "\r\n  "))), 1, true)
        assert.matches("[redacted:THE_TOKEN]", m:text((text:gsub("\n", "\\n"):gsub("/", "\\/"))), 1, true)
      end
    end
    local text = base64("???>>>" .. SECRET):gsub("[/+=]", { ["/"] = "%2F", ["+"] = "%2b", ["="] = "%3D" })
    assert.matches("[redacted:THE_TOKEN]", m:text(text), 1, true)
  end)

  it("finds it in hexadecimal of both letter cases, with separators and in lines", function()
    for _, spelling in ipairs({
      hex(SECRET), hex(SECRET, "%02X"), hex(SECRET, "%02x "), hex(SECRET, "%02X:"), hex(SECRET, "\\x%02x"),
      wrapped(hex(("x"):rep(20) .. SECRET), 60), (hex(SECRET):gsub("....", "%0 ")),
    }) do
      assert.matches("[redacted:THE_TOKEN]", m:text(spelling), 1, true)
    end
  end)

  it("finds it percent-encoded, also in part, and in a form", function()
    local spaced = masker({ PASS_PHRASE_PASSWORD = "correct horse battery" })
    assert.equal("q=[redacted:PASS_PHRASE_PASSWORD]&", spaced:text("q=correct+horse%20battery&"))
    assert.equal("q=[redacted:PASS_PHRASE_PASSWORD]&", spaced:text("q=correct horse+batter%79&"))
    local seed = 7
    local function chance()
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      return seed >> 16 & 1 == 1
    end
    for _ = 1, 50 do
      assert.equal("/[redacted:THE_TOKEN]/", m:text("/" .. percent(SECRET, chance) .. "/"))
    end
    -- A percent sign that begins no escape.
    assert.equal("100%[redacted:THE_TOKEN]%4", m:text("100%" .. SECRET .. "%4"))
  end)

  it("finds it escaped as JSON, C and shells write it", function()
    local quoted = masker({ Q_SECRET = 'a"b\\c/d&e\tf' })
    for _, spelling in ipairs({
      'a"b\\c/d&e\tf', 'a\\"b\\\\c/d&e\\tf', 'a\\"b\\\\c\\/d\\u0026e\\tf', "a\\u0022b\\u005cc/d\\u0026e\\u0009f",
    }) do
      assert.equal("{[redacted:Q_SECRET]}", quoted:text("{" .. spelling .. "}"))
    end
    local accent = masker({ E_SECRET = "pässwörd" })
    assert.equal("[redacted:E_SECRET]", accent:text("p\\u00e4ssw\\u00F6rd"))
  end)

  it("gives one name for secrets that overlap, that of the longest", function()
    local two = masker({ A_TOKEN = "abcdefghij", B_TOKEN = "hijklmnopqrst", C_TOKEN = "abcdefgh" })
    assert.equal("<[redacted:B_TOKEN]>", two:text("<abcdefghijklmnopqrst>"))
    assert.equal("<[redacted:A_TOKEN]>", two:text("<abcdefghij>"))
    assert.equal("<[redacted:C_TOKEN]i>", two:text("<abcdefghi>"))
    assert.equal("[redacted:C_TOKEN][redacted:C_TOKEN]", two:text("abcdefghabcdefgh"))
  end)

  it("gives the same for a text in one piece, in single bytes and in pieces of any size", function()
    local seed = 42
    local function random(n)
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      return (seed >> 8) % n
    end
    local letters = "ab%\\u0/+ \n=z"
    local function word(size)
      local out = {}
      for i = 1, size do
        local at = random(#letters) + 1
        out[i] = letters:sub(at, at)
      end
      return table.concat(out)
    end
    for _ = 1, 150 do
      local one, other = "S" .. word(8) .. "E", "T" .. word(12) .. "E"
      local many = masker({ ONE_KEY_SECRET = one, OTHER_SECRET = other })
      local parts = {}
      for i = 1, 12 do
        local secret = random(2) == 0 and one or other
        local forms = {
          secret, base64(word(random(3)) .. secret .. word(random(3))), url_safe(base64(secret)), hex(secret),
          hex(secret, "%02X:"), percent(secret, function()
            return random(2) == 0
          end), word(random(9)), secret:sub(1, 6),
        }
        parts[i] = forms[random(#forms) + 1]
      end
      local text = table.concat(parts, random(2) == 0 and "" or "|")
      local whole = many:text(text)
      assert.equal(whole, in_pieces(many, text, function()
        return 1
      end))
      assert.equal(whole, in_pieces(many, text, function()
        return 1 + random(9)
      end))
      assert.is_nil(whole:find(one, 1, true))
      assert.is_nil(whole:find(other, 1, true))
    end
  end)

  it("shows at once what begins no secret", function()
    local stream = m:stream()
    assert.equal("password: ", stream:feed("password: "))
    assert.equal("Compiling foo\n", stream:feed("Compiling foo\n"))
    assert.equal("see ", stream:feed("see hunt"))
    assert.equal("hunting\n", stream:feed("ing\n"))
    assert.equal("", stream:feed("hunter2"))
    assert.equal("hunter2", stream:finish())
  end)

  it("begins anew after finish", function()
    local stream = m:stream()
    stream:feed("hunter2/hun")
    stream:finish()
    assert.equal("ter+2?", stream:feed("ter+2?") .. stream:finish())
  end)

  it("masks the beginning of a secret where the text was cut off", function()
    local stream = m:stream()
    assert.equal("a hunter2", stream:feed("a hunter2") .. stream:finish(true))
    assert.equal("a [redacted:THE_TOKEN]", stream:feed("a hunter2/h") .. stream:finish(true))
  end)

  it("holds no more than a secret's length, whatever stands between its digits", function()
    local stream = m:stream()
    local begun = hex(SECRET):sub(1, 20)
    local shown = stream:feed(begun .. (" "):rep(100000))
    assert.is_true(#shown > 99000)
    local repeated = masker({ A_SECRET = ("a"):rep(4000) }):stream()
    local size = 0
    for _ = 1, 100 do
      size = size + #repeated:feed(("a"):rep(10000))
    end
    assert.equal("[redacted:A_SECRET]", repeated:finish())
    assert.equal(0, size)
  end)

  it("takes no secret that is short and no more than its bound", function()
    assert.same({ nil, "mask: Invalid argument", 22 }, { core.mask({ { "short", "x" } }) })
    local made, message = mask.new({ env = false, values = { BIG = ("x"):rep(300000) } })
    assert.is_nil(made)
    assert.matches("262144", message, 1, true)
    assert.has_error(function()
      core.mask({ { 1, "x" } })
    end)
  end)
end)

describe("what is masked", function()
  it("are values of variables with secret names, from eight characters on, but no plain number", function()
    local m = assert(mask.new({
      env = {
        GITHUB_TOKEN = "ghp_abcdefgh", my_password = "swordfish99", SHORT_TOKEN = "1234567", PIN_SECRET = "1234567890",
        MAX_TOKENS = "not-a-secret-1", HOME = "/home/somebody", LOG_LEVEL = "verbose-debug", A_SECRET = "  padded-value \n",
      },
    }))
    assert.same({ "A_SECRET", "GITHUB_TOKEN", "my_password" }, m.names)
    assert.equal("[redacted:GITHUB_TOKEN] [redacted:my_password] 1234567 1234567890 not-a-secret-1 <[redacted:A_SECRET]>",
      m:text("ghp_abcdefgh swordfish99 1234567 1234567890 not-a-secret-1 <padded-value>"))
  end)

  it("have the first of their names where several variables hold the same", function()
    local variables = {}
    for letter in ("QWERTYUIOPASDFGHJKLZXCVBNM"):gmatch(".") do
      variables[letter .. "_TOKEN"] = "one-and-the-same"
    end
    local made = assert(mask.new({ env = variables, values = variables }))
    assert.equal("[redacted:A_TOKEN]", made:text("one-and-the-same"))
    assert.same({ "A_TOKEN" }, made.names)
  end)

  it("are known where the kernel does not show this process its own environment", function()
    local disk = require("procage.disk")
    local read = stub(disk, "read", nil, "/proc/self/environ: Permission denied")
    finally(function()
      read:revert()
    end)
    assert.equal(os.getenv("PATH"), require("procage.environ").own().PATH)
    assert(mask.new({}))
  end)

  it("are the values that an operator names, and not those that he keeps", function()
    local env = { DEPLOY = "value-of-deploy", AWS_REGION = "eu-central-1" }
    local m = assert(mask.new({ env = env, names = { "DEP*" }, keep = { "AWS_REGION" } }))
    assert.equal("[redacted:DEPLOY] eu-central-1", m:text("value-of-deploy eu-central-1"))
  end)

  it("is the password inside an address too, as it is and as the address spells it", function()
    local m = assert(mask.new({ env = { DATABASE_URL = "postgres://u:p%40ssw0rdlong@h/db" } }))
    assert.equal("[redacted:DATABASE_URL] [redacted:DATABASE_URL] [redacted:DATABASE_URL]",
      m:text("postgres://u:p%40ssw0rdlong@h/db p%40ssw0rdlong p@ssw0rdlong"))
  end)

  it("are the lines of key files, and the values that they assign to secret names", function()
    local dir <close> = throwaway.directory()
    throwaway.write(dir.path .. "/.env", "DEBUG=1\nexport API_KEY='abcd-efgh-ijkl'\nPORT=80808080\n")
    throwaway.write(dir.path .. "/.env.example", "API_KEY=your-key-goes-here\n")
    throwaway.write(dir.path .. "/id_rsa",
      "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n-----END OPENSSH PRIVATE KEY-----\n")
    throwaway.write(dir.path .. "/conf.json", '{"token": "json-token-value", "name": "a-plain-name"}')
    local m = assert(mask.new({ env = false, root = dir.path, files = { dir.path .. "/conf.json" } }))
    assert.same({ ".env", "conf.json", "id_rsa" }, m.names)
    assert.equal("key [redacted:.env], line [redacted:.env]",
      m:text("key abcd-efgh-ijkl, line export API_KEY='abcd-efgh-ijkl'"))
    assert.equal("[redacted:conf.json] a-plain-name", m:text("json-token-value a-plain-name"))
    assert.equal("[redacted:id_rsa]", m:text("b3BlbnNzaC1rZXktdjEAAAAABG5vbmU"))
    assert.equal("-----BEGIN OPENSSH PRIVATE KEY-----", m:text("-----BEGIN OPENSSH PRIVATE KEY-----"))
    assert.equal("your-key-goes-here", m:text("your-key-goes-here"))
  end)

  it("says which key file it could not read, or refuses when it was named", function()
    local dir <close> = throwaway.directory()
    throwaway.write(dir.path .. "/big.key", ("x"):rep(70000))
    throwaway.shell("mkfifo " .. dir.path .. "/.env")
    local m = assert(mask.new({ env = false, root = dir.path }))
    assert.equal(1, #m.notes)
    assert.matches("big.key: longer than 65536 bytes", m.notes[1], 1, true)
    local made, message = mask.new({ env = false, files = { dir.path .. "/.env" } })
    assert.is_nil(made)
    assert.matches(".env", message, 1, true)
  end)

  it("is told apart from a caller's mistake", function()
    assert.has_error(function()
      mask.new({ file = { "x" } })
    end, "mask: unknown key file (did you mean files?)")
    assert.has_error(function()
      mask.new({ names = "x" })
    end, "mask: names: a table is expected")
  end)
end)

describe("an outcome", function()
  local m = masker({ THE_TOKEN = SECRET })

  it("is masked in its output, denials and notices, and its numbers stay", function()
    local shown = m:outcome({
      status = 1, stdout = SECRET, stderr = "x", timed_out = false, dropped_bytes = 0, notices = { "at " .. SECRET },
      denials = { denied = { { text = "open /" .. SECRET, count = 2 } }, more = 0 }, report = {},
    })
    assert.equal("[redacted:THE_TOKEN]", shown.stdout)
    assert.equal("x", shown.stderr)
    assert.equal(1, shown.status)
    assert.equal("at [redacted:THE_TOKEN]", shown.notices[1])
    assert.equal("open /[redacted:THE_TOKEN]", shown.denials.denied[1].text)
    assert.equal(2, shown.denials.denied[1].count)
  end)

  it("shows neither half of a line that a cut went through", function()
    local half = "first line\nx " .. SECRET:sub(1, 7)
    local other = SECRET:sub(8) .. "\nlast line\n"
    local shown = m:outcome({ stdout = half .. other, stdout_cut_at = #half, dropped_bytes = 9, report = {} })
    assert.matches("^first line\n%[redacted: .-%]\nlast line\n$", shown.stdout)
    assert.is_nil(shown.stdout:find("hunter", 1, true))
  end)

  it("is told masked as it comes", function()
    local told = {}
    local tell, finish = m:wrap_output(function(stream, bytes)
      told[#told + 1] = stream .. ":" .. bytes
    end)
    tell("stdout", "a " .. SECRET:sub(1, 5))
    tell("stderr", "e\n")
    tell("stdout", SECRET:sub(6) .. " b hun")
    finish()
    assert.same({ "stdout:a ", "stderr:e\n", "stdout:[redacted:THE_TOKEN] b ", "stdout:hun" }, told)
  end)
end)
