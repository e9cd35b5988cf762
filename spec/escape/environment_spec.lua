local box = require("spec.support.box")

local secrets = {
  "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MY_API_KEY", "GITHUB_TOKEN", "NPM_TOKEN", "CLIENT_SECRET", "SECRET_KEY_BASE",
  "DB_PASSWORD", "PASSWORD", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "SSH_AUTH_SOCK", "GIT_ASKPASS",
  "SSH_ASKPASS", "my_api_key", "Github_Token",
}

local function with_secrets()
  local host_env = { EDITOR = "vi", CARGO_HOME_NOTE = "plain" }
  for _, name in ipairs(secrets) do
    host_env[name] = "value-of-" .. name
  end
  return { host_env = host_env }
end

describe("a variable that looks like a secret", function()
  it("is not in the environment of a run, by the library or the program", function()
    local b <close> = box.new(with_secrets())
    assert.matches("value-of-AWS_SESSION_TOKEN", b:run_unconfined("env").stdout, 1, true)
    for _, output in ipairs({ b:run("env").stdout, b:cli({ "-q" }, "env").stdout }) do
      assert.is_nil(output:find("value-of-", 1, true))
      assert.matches("EDITOR=vi", output, 1, true)
    end
  end)

  it("is kept when the operator says so, and no other is", function()
    local options = with_secrets()
    options.config = { env = { keep = { "NPM_TOKEN" } } }
    local b <close> = box.new(options)
    local output = b:run("env").stdout
    assert.matches("NPM_TOKEN=value-of-NPM_TOKEN", output, 1, true)
    assert.equal(1, select(2, output:gsub("value%-of%-", "")))
  end)

  it("is not in the memory of a process that the run can see", function()
    local b <close> = box.new(with_secrets())
    local outcome = b:run([[
for p in /proc/[0-9]*; do tr '\0' '\n' < $p/environ; tr '\0' ' ' < $p/cmdline; done 2>/dev/null; echo end]])
    assert.matches("end\n$", outcome.stdout)
    assert.is_nil(outcome.stdout:find("value-of-", 1, true))
  end)
end)

describe("a variable that the policy sets", function()
  it("is on no command line of ours (FR-73)", function()
    local b <close> = box.new({ config = { env = { set = { T = "value-in-no-argv" } } } })
    local outcome = b:run("echo $T; grep -la value-in-no-argv /proc/[0-9]*/cmdline 2>/dev/null | grep -v self; true")
    -- This very command's shell has the word in its own text.
    assert.matches("^value%-in%-no%-argv\n", outcome.stdout)
    local seen = b:run('w="value-in"; w="$w-no-argv"; grep -l "$w" /proc/[0-9]*/cmdline 2>/dev/null; true')
    local lines = select(2, seen.stdout:gsub("\n", ""))
    assert.is_true(lines <= 1, seen.stdout) -- grep's own
  end)

  it("wins over the caller's", function()
    local b <close> = box.new({ host_env = { NO_COLOR = "0", TMPDIR = "/var/tmp" } })
    local outcome = b:run('echo $NO_COLOR; test "$TMPDIR" != /var/tmp && echo own', { env = { TMPDIR = "/var/tmp" } })
    assert.equal("1\nown\n", outcome.stdout)
  end)
end)

describe("a variable that makes programs load code", function()
  it("does not reach what runs before the command: there is nothing to load it", function()
    box.skip_without("gcc")
    local b <close> = box.new()
    -- Where the host's own program or the init took it, it would run outside the confinement.
    local source = "__attribute__((constructor)) void f(void) "
      .. '{ unsetenv("LD_PRELOAD"); system("echo PWN >> $OUTSIDE/loaded"); }'
    b:write("workspace/evil.c", source)
    b:setup("gcc -w -shared -fPIC -o evil.so evil.c")
    local library = b:path("workspace/evil.so")
    b:run_unconfined("true", { env = { LD_PRELOAD = library } })
    assert.is_true(b:exists("outside/loaded"))
    os.remove(b:path("outside/loaded"))
    b:run("true", { env = { LD_PRELOAD = library } })
    assert.is_false(b:exists("outside/loaded"))
  end)
end)
