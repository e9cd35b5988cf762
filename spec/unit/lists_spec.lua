local check = require("procage.check")
local lists = require("policies.lists")
local path = require("procage.path")

--- The list, and the key that names a row in it.
local named = { hidden = "path", handoff = "name", env_drop = "pattern", env_set = "name", startup = "name",
  system = "path" }

describe("the lists", function()
  for list, key in pairs(named) do
    it(("name each row of %s once, with a reason"):format(list), function()
      local seen = {}
      for _, row in ipairs(lists[list]) do
        assert.is_string(row[key])
        assert.is_nil(seen[row[key]], row[key])
        seen[row[key]] = true
        assert.is_true(#(row.reason or row.runs) > 0, row[key])
      end
    end)
  end

  it("hold paths that are resolved once home is known", function()
    for _, list in ipairs({ lists.hidden, lists.caches }) do
      for _, row in ipairs(list) do
        if row.path then
          assert.is_nil(check.path(path.expand_home(row.path, "/home/u"), row.path))
        end
        assert.is_string(row.reason)
      end
    end
  end)

  it("hold hand-off names that are below a root", function()
    for _, row in ipairs(lists.handoff) do
      assert.is_nil(check.relative_name(row.name, row.name))
    end
  end)

  it("hide nothing inside a cache but what says so, and cache nothing that is hidden", function()
    for _, hidden in ipairs(lists.hidden) do
      for _, cache in ipairs(lists.caches) do
        if cache.path then
          local is_inside = path.is_beneath(hidden.path, cache.path)
          assert.equal(hidden.in_cache == true and cache.path == "~/.cache", is_inside, hidden.path)
          assert.is_false(path.is_beneath(cache.path, hidden.path), cache.path)
        end
      end
    end
  end)

  it("cache no tree with programs, start-up scripts or credentials", function()
    local never = {
      "~/.cargo/bin", "~/.cargo/env", "~/.cargo/credentials.toml", "~/.cargo/config.toml", "~/.local/bin",
      "~/.local/share/uv", "~/.local/share/pnpm/pnpm", "~/go/bin", "~/.gradle/init.d", "~/.gradle/wrapper",
      "~/.m2/settings.xml", "~/.npmrc", "~/.config", "~/.bashrc", "~/.rustup",
    }
    for _, row in ipairs(lists.caches) do
      for _, place in ipairs(never) do
        assert.is_false(row.path ~= nil and path.is_beneath(place, row.path), tostring(row.path))
      end
    end
  end)

  it("give no variable a value that is not text", function()
    for _, row in ipairs(lists.env_set) do
      assert.is_string(row.value)
    end
  end)

  local promised = {
    hidden = {
      "~/.ssh", "~/.aws", "~/.azure", "~/.gnupg", "~/.netrc", "~/.docker", "~/.kube", "~/.npmrc", "~/.pypirc",
      "~/.git-credentials", "~/.password-store", "~/.config/gh", "~/.config/gcloud", "~/.cargo/credentials",
      "~/.cargo/credentials.toml", "~/.terraform.d", "~/.config/op", "~/.vault-token", "~/.gradle/gradle.properties",
      "~/.m2/settings.xml", "~/.bash_history", "~/.mozilla", "~/.local/state/speccoder", "/etc/shadow", "/var/crash",
      "~/.config/Code/User/History", "~/.config/JetBrains", "~/.cursor-server/data", "~/.gitcookies", "~/.config/incus",
      "~/.local/share/klipper", "~/.tmux/resurrect", "~/.config/zsh/.zsh_history", "~/.mcp-auth", "/etc/apt/auth.conf.d",
      "/var/lib/systemd/coredump", "/var/log/journal", "/sys/firmware/qemu_fw_cfg",
    },
    handoff = {
      ".git", ".git/hooks", ".git/config", ".claude", ".agents", ".codex", ".gemini", ".opencode", ".cursor", ".kiro",
      ".mcp.json", "opencode.json", ".envrc", ".bashrc", ".vscode/tasks.json", ".idea", ".husky",
      ".pre-commit-config.yaml", ".npmrc", ".yarnrc", ".yarnrc.yml", "speccoder.toml", "spettro.agents.toml",
      "rust-toolchain", "rust-toolchain.toml", "mise.toml", "mise.local.toml", ".mise.local.toml", ".config/mise",
      ".hg/hgrc", ".jj/repo/config.toml", ".tool-versions", ".RData", ".octaverc", "tools/bazel", "gradle/wrapper",
      "lefthook.toml", ".lefthook", ".kilocode", ".pi", ".envrc.local", ".emacs.desktop", ".vim/coc-settings.json",
      ".vscode/c_cpp_properties.json", ".pdbrc", ".Rprofile", ".irbrc", ".gdbinit", ".lldbinit", ".iex.exs", ".mvn",
    },
    caches = {
      "~/.cargo/registry", "~/.cargo/git", "~/.cache", "~/.npm", "~/go/pkg/mod", "~/.gradle/caches", "~/.m2/repository",
      "~/.local/share/pnpm/store", "~/Library/Caches",
    },
  }
  for list, names in pairs(promised) do
    it("hold what is promised: " .. list, function()
      local has = {}
      for _, row in ipairs(lists[list]) do
        has[row.path or row.name or ""] = true
      end
      for _, name in ipairs(names) do
        assert.is_true(has[name], name)
      end
    end)
  end

  it("never lift the harness's own keys and configuration", function()
    local own = {}
    for _, list in ipairs({ lists.hidden, lists.handoff, lists.env_drop }) do
      for _, row in ipairs(list) do
        own[row.path or row.name or row.pattern] = row.never_lift
      end
    end
    for _, name in ipairs({ "~/.config/speccoder", "~/.spettro", "speccoder.toml", "spettro.agents.toml", "ANTHROPIC_*" }) do
      assert.is_true(own[name], name)
    end
    assert.is_nil(own["~/.npmrc"])
  end)
end)
