local env = require("procage.env")
local lists = require("policies.lists")

local function shipped()
  local drop = {}
  for i, row in ipairs(lists.env_drop) do
    drop[i] = row.pattern
  end
  return drop
end

describe("an environment", function()
  it("loses what a pattern names, in any letter case, and nothing else", function()
    local result, dropped = env.apply(
      { GH_TOKEN = "a", gh_token = "b", TOKENS = "c", PATH = "d", ["A.B"] = "e", AxB = "f" },
      { drop = { "*_token", "a.b" }, set = {}, keep = {} }
    )
    assert.same({ TOKENS = "c", PATH = "d", AxB = "f" }, result)
    assert.same({ "A.B", "GH_TOKEN", "gh_token" }, dropped)
  end)

  it("keeps what the operator keeps, by its exact name", function()
    local result, dropped = env.apply(
      { GH_TOKEN = "a", NPM_TOKEN = "b" },
      { drop = { "*_TOKEN" }, set = {}, keep = { "GH_TOKEN" } }
    )
    assert.same({ GH_TOKEN = "a" }, result)
    assert.same({ "NPM_TOKEN" }, dropped)
  end)

  it("has last what is set, also by a name that is dropped", function()
    local result = env.apply({ A_TOKEN = "real", X = "1" }, { drop = { "*_TOKEN" }, set = { A_TOKEN = "fake", X = "2" } })
    assert.same({ A_TOKEN = "fake", X = "2" }, result)
  end)

  it("has names whose ends make no pattern's text together", function()
    -- In whatever order they come: "XTO" and "KENX" are two names.
    local result = env.apply({ XTO = "1", KENX = "2", TOKEN_A = "3" }, { drop = { "*TOKEN*" } })
    assert.same({ XTO = "1", KENX = "2" }, result)
  end)

  it("is a new table", function()
    local given = { A = "1", B_TOKEN = "2" }
    env.apply(given, { drop = { "*" } })
    assert.same({ A = "1", B_TOKEN = "2" }, given)
  end)

  it("reads no pattern of Lua in a name", function()
    assert.is_true(env.matches("a%d", "A%D"))
    assert.is_false(env.matches("a1", "a%d"))
    assert.is_true(env.matches("ab", "a?"))
    assert.is_false(env.matches("a", "a?"))
    assert.is_true(env.matches("npm_config_//registry.npmjs.org/:_authToken", "*AUTHTOKEN*"))
  end)

  local secrets = {
    "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_ORG", "GITHUB_TOKEN", "GH_TOKEN", "NPM_TOKEN", "TOKEN",
    "CI_JOB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AZURE_CLIENT_SECRET", "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_API_KEY", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "SMTP_PASS", "SSH_AUTH_SOCK", "SSH_AGENT_PID",
    "GIT_ASKPASS", "SSH_ASKPASS", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "KUBECONFIG",
    "XDG_RUNTIME_DIR", "TMUX", "DISPLAY", "WAYLAND_DISPLAY", "STRIPE_API_KEY", "STRIPE_SECRET", "APIKEY",
    "RSA_PRIVATE_KEY", "DATABASE_URL", "SENTRY_DSN", "SLACK_WEBHOOK_URL", "GITHUB_PAT", "github_token", "OP_SESSION_my",
    "DOCKER_AUTH_CONFIG_PASSWORD", "SECRET_KEY_BASE", "VAULT_ADDR", "TWINE_PASSWORD", "CARGO_REGISTRY_TOKEN",
    "npm_config__authToken", "ACTIONS_RUNTIME_TOKEN", "MY_API_KEY_2",
  }
  for _, name in ipairs(secrets) do
    it("does not pass on " .. name, function()
      assert.same({}, (env.apply({ [name] = "x" }, { drop = shipped() })))
    end)
  end

  local tools = {
    "PATH", "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "LANG", "LC_ALL", "TZ", "TMPDIR",
    "EDITOR", "PAGER", "CI", "CARGO_HOME", "RUSTUP_HOME", "RUSTFLAGS", "CARGO_NET_OFFLINE", "npm_config_cache",
    "npm_config_registry", "NODE_ENV", "NODE_OPTIONS", "NODE_PATH", "GOPATH", "GOMODCACHE", "GOFLAGS", "GOCACHE",
    "PIP_CACHE_DIR", "PIP_INDEX_URL", "PYTHONPATH", "VIRTUAL_ENV", "UV_CACHE_DIR", "JAVA_HOME", "GRADLE_USER_HOME",
    "MAVEN_OPTS", "CC", "CXX", "CFLAGS", "MAKEFLAGS", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_SESSION_TYPE", "GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "GIT_DIR",
    "GIT_EDITOR", "MAX_TOKENS", "TOKENIZERS_PARALLELISM", "MAX_TOKEN_COUNT", "PASSENGER_APP_ENV", "KEYBOARD", "SSH_CONNECTION",
    "SSH_TTY", "GPG_TTY", "COMPASS", "BYPASS", "LS_COLORS", "NO_COLOR", "INIT_CWD", "PGHOST", "PGUSER", "DEBIAN_FRONTEND",
    "HTTP_PROXY", "NIX_PATH", "HOSTNAME", "COLUMNS", "SOURCE_DATE_EPOCH", "AUTHOR", "KEY", "MONKEY", "PRIMARY_KEY_NAME",
  }
  for _, name in ipairs(tools) do
    it("passes on " .. name, function()
      assert.same({ [name] = "x" }, (env.apply({ [name] = "x" }, { drop = shipped() })))
    end)
  end

  it("takes no longer for a pattern of many stars", function()
    local begun = os.clock()
    assert.is_false(env.matches(("A"):rep(5000), ("*A"):rep(50) .. "*B"))
    assert.is_true(env.matches(("A"):rep(5000) .. "B", ("*A"):rep(50) .. "*B"))
    assert(os.clock() - begun < 1)
  end)

  for _, case in ipairs({
    { "", "*", true }, { "A", "*", true }, { "AB", "A*B", true }, { "A", "A*A", false }, { "ABA", "A*A", true },
    { "XAY", "*A*", true }, { "XY", "*A*", false }, { "AXBXC", "A*B*C", true }, { "AXC", "A?C", true }, { "AC", "A?C", false },
    { "a.b", "A.B", true }, { "aXb", "A.B", false }, { "TOKEN_X", "*_TOKEN*", false }, { "ABAB", "*AB", true },
    { "A", "", false },
    { "AA", "A*?", true }, { "A", "A*?", false },
  }) do
    it(("%s %s %s"):format(case[2], case[3] and "means" or "does not mean", case[1]), function()
      assert.equal(case[3], env.matches(case[1], case[2]))
    end)
  end

  it("drops values that give themselves away, and keeps what only looks a little like one", function()
    local rules = { drop = { "=url-password", "=private-key", "=authorization", "=token" }, keep = { "KEPT" } }
    local secret = {
      A = "http://user:pass@proxy.example.org:8080", B = "-----BEGIN OPENSSH PRIVATE KEY-----\nx", C = "ghp_0123456789abcdef",
      D = "http.extraHeader=Authorization: Basic abc", E = "Bearer abcdef", F = "AKIAIOSFODNN7EXAMPLE",
      G = "eyJhbGciOi.eyJzdWIi.x",
      H = "glpat-abc", I = "postgres://u:p@db/x",
    }
    local plain = {
      J = "http://proxy.example.org:8080", K = "https://registry.example.org:8080/@scope/pkg", L = "user@example.org",
      M = "Basic",
      N = "sk-1", O = "git@example.org:a/b.git", P = "ssh://git@example.org/x", Q = "", KEPT = "ghp_0123456789abcdef",
      R = "AKIA", S = "-----BEGIN CERTIFICATE-----",
    }
    local all = {}
    for _, list in ipairs({ secret, plain }) do
      for name, value in pairs(list) do
        all[name] = value
      end
    end
    assert.same(plain, (env.apply(all, rules)))
    assert.has_error(function()
      env.apply({}, { drop = { "=nothing" } })
    end)
  end)

  it("knows the tokens that services mark, and no word that only begins like one", function()
    -- None is anybody's: made of the alphabet.
    local few, many, hex = "abcdefghij0123456789", ("abcdefghij0123456789"):rep(4), ("0123456789abcdef"):rep(4)
    for _, value in ipairs({
      "shpat_" .. hex, "whsec_" .. few, "tskey-auth-k" .. many, "figd_" .. many, "lin_api_" .. many, "ntn_" .. many,
      "pul-" .. hex,
      "sntrys_eyJ" .. many, "gsk_" .. many, "xai-" .. many, "r8_" .. many, "nvapi-" .. many, "pplx-" .. many, "fo1_" .. many,
      "hvs.CAES" .. many, "sbp_" .. hex, "rubygems_" .. hex, "cio" .. many:sub(1, 32), "lsv2_pt_" .. hex,
      "abcdefghijklmn.atlasv1." .. many, "pscale_tkn_" .. many, "glc_eyJ" .. few, "ATATT3" .. many, "sq0csp-" .. many,
      "PMAK-" .. hex, "https://discord.com/api/webhooks/123456789012345678/" .. many, "1234567890:AA" .. many,
      "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" .. many, "https://x.example.org/c?sv=2020&sig=" .. few,
      "xoxd-" .. many, "sk-or-v1-" .. hex, "dckr_oat_" .. few, "glptt-" .. few, "GOCSPX-" .. few, "1//0" .. many, "dapi" .. hex,
      "dp.pt." .. many, "ops_ey" .. many, "EAAG" .. many, "github_pat_" .. many, "AGE-SECRET-KEY-1" .. few:upper(),
    }) do
      local left = env.apply({ X = value }, { drop = { "=token", "=private-key" } })
      assert.is_nil(left.X, value)
    end
    for _, value in ipairs({
      "/usr/bin:/bin", "glibc-2.36-build01", "pattern.txt", "secret_name", "figures", "hvac.cfg", "1234567890", "12345678:ab",
      "lin_reg", "pul-1", "xai", "shpath", "cio", "https://example.org/?signature=1", "sk_SK.UTF-8", "tskey", "rnd_seed",
      "EAARTH", "patch.0", "skip-tests", "eyJ", "hf_mirror", "npm_config", "EmptyAccountKey=", "1//2",
    }) do
      assert.equal(value, (env.apply({ X = value }, { drop = { "=token", "=private-key" } })).X)
    end
  end)
end)
