--- What the rules of classify say of files, by their names. How they are applied: classify_rules.lua.

---@class procage.PathRule
---@field id string
---@field decision "denied"|"ask"
---@field change? boolean  for calls that write, delete or rename; absent: for those that read too
---@field patterns string[]  from the workspace, in any letter case; `**/` anywhere, also outside of it
---@field unless? string[]  not these
---@field existed? boolean  only what was there before the session
---@field reason string

--- Beside these: the caller's protected inputs, and the policy's own hidden, read-only and hand-off paths.
---@type procage.PathRule[]
return {
  {
    id = "git-directory",
    decision = "denied",
    change = true,
    patterns = { "**/.git", "**/*.git/hooks", "**/*.git/config" },
    reason = "git runs what stands in its directory, and history is kept there",
  },
  {
    id = "spec",
    decision = "denied",
    change = true,
    patterns = {
      "SPEC.md", "SPECS.md", "SPECIFICATION.md", "SPEC", "specs", "**/*.spec.md", "**/SPEC.md", ".speccoder", "**/.speccoder",
    },
    reason = "the specification says what the work is; whoever does the work does not change it",
  },
  {
    id = "verification",
    decision = "denied",
    change = true,
    patterns = {
      "verify", "verify.*", "verification", "verification.*", "acceptance", "acceptance.*", "**/*.verify.*",
      "**/*.acceptance.*",
    },
    reason = "verification judges the work; whoever does the work does not change it",
  },
  {
    id = "agent-config",
    decision = "denied",
    change = true,
    patterns = {
      "**/.claude", "**/.codex", "**/.gemini", "**/.cursor", "**/.opencode", "**/.mcp.json", "**/.agents", "**/.aider*",
      "**/.continue", "**/.windsurf", "**/.roo", "**/.clinerules", "**/.kiro", "**/.goose", "**/.qwen", "**/.amazonq",
      "**/.github/copilot", "**/.github/hooks", "**/opencode.json*", "**/crush.json", "**/.crush.json", "speccoder.toml",
      "spettro.agents.toml", "**/.procage",
    },
    reason = "the configuration of agents: it decides what later calls may do, and names programs that they start",
  },
  {
    id = "secret-file",
    decision = "denied",
    patterns = {
      "**/.env", "**/.env.*", "**/*.env", "**/.envrc.local", "**/*.pem", "**/*.key", "**/*.p12", "**/*.pfx", "**/*.jks",
      "**/*.keystore", "**/*.kdbx", "**/*.ppk", "**/id_rsa*", "**/id_ecdsa*", "**/id_ed25519*", "**/id_dsa*", "**/.netrc",
      "**/_netrc", "**/.npmrc", "**/.pypirc", "**/.pgpass", "**/.git-credentials", "**/.htpasswd", "**/.vault-token",
      "**/credentials", "**/credentials.json", "**/credentials.toml", "**/secrets.y*ml", "**/secrets.json", "**/secrets.toml",
      "**/secret.y*ml", "**/*service-account*.json", "**/*service_account*.json", "**/terraform.tfstate*", "**/*.tfvars",
      "**/.dockercfg", "**/.docker/config.json", "**/kubeconfig", "**/.kube/config", "**/.aws/config", "**/.ssh",
      "**/.gnupg", "**/master.key", "**/*.asc.key",
    },
    unless = {
      "**/.env.example", "**/.env.sample", "**/.env.template", "**/.env.dist", "**/.env.defaults", "**/*.pub",
      "**/example.env", "**/sample.env", "**/credentials/*.rs", "**/credentials/*.go", "**/credentials/*.py",
      "**/credentials/*.ts", "**/credentials/*.js", "**/credentials/*.java",
    },
    reason = "its name says that it holds a secret; what is read goes to the model",
  },
  {
    id = "process-files",
    decision = "denied",
    patterns = {
      "**/proc/*/environ", "**/proc/*/mem", "**/proc/*/root", "**/proc/*/cwd", "**/proc/*/fd", "**/proc/*/map_files",
      "**/proc/*/task/*/environ", "**/proc/*/task/*/fd", "**/proc/*/task/*/mem", "**/proc/*/task/*/root",
      "**/proc/*/task/*/cwd", "**/proc/kcore", "**/proc/kmsg", "**/dev/mem", "**/dev/kmem", "**/dev/port",
    },
    reason = "the inside of a process, or a way to files under another name",
  },
  {
    id = "agent-context",
    decision = "ask",
    change = true,
    patterns = {
      "**/AGENTS.md", "**/AGENT.md", "**/CLAUDE.md", "**/CLAUDE.local.md", "**/GEMINI.md", "**/QWEN.md", "**/CODEX.md",
      "**/CONVENTIONS.md", "**/.cursorrules", "**/.windsurfrules", "**/.goosehints", "**/.github/copilot-instructions.md",
      "**/.github/instructions", "**/.github/prompts", "**/.github/chatmodes", "**/llms.txt", "**/.rules",
    },
    reason = "agents read it as instructions, in this session and in later ones",
  },
  {
    id = "manifest",
    decision = "ask",
    change = true,
    patterns = {
      "**/package.json", "**/package-lock.json", "**/npm-shrinkwrap.json", "**/yarn.lock", "**/pnpm-lock.yaml",
      "**/pnpm-workspace.yaml", "**/bun.lock", "**/bun.lockb", "**/deno.json*", "**/deno.lock", "**/Cargo.toml",
      "**/Cargo.lock", "**/go.mod", "**/go.sum", "**/go.work", "**/pyproject.toml", "**/poetry.lock", "**/uv.lock",
      "**/pdm.lock", "**/Pipfile", "**/Pipfile.lock", "**/setup.py", "**/setup.cfg", "**/requirements*.txt",
      "**/requirements/*.txt", "**/constraints*.txt", "**/environment.y*ml", "**/Gemfile", "**/Gemfile.lock", "**/*.gemspec",
      "**/composer.json", "**/composer.lock", "**/pom.xml", "**/build.gradle*", "**/settings.gradle*", "**/gradle.lockfile",
      "**/gradle/wrapper", "**/gradle/libs.versions.toml", "**/*.csproj", "**/packages.config", "**/packages.lock.json",
      "**/mix.exs", "**/mix.lock", "**/rebar.config", "**/Package.swift", "**/Package.resolved", "**/Podfile*",
      "**/pubspec.y*ml", "**/pubspec.lock", "**/*.rockspec", "**/flake.nix", "**/flake.lock", "**/Dockerfile*",
      "**/docker-compose*.y*ml", "**/compose.y*ml", "**/conanfile.*", "**/vcpkg.json", "**/CPANfile", "**/stack.yaml*",
      "**/*.cabal",
    },
    reason = "dependencies: code of others that is fetched and run",
  },
  {
    id = "workflow",
    decision = "ask",
    change = true,
    patterns = {
      "**/.github/workflows", "**/.gitlab-ci.yml", "**/.circleci", "**/Jenkinsfile", "**/azure-pipelines.yml", "**/.ci",
    },
    reason = "it runs on another machine, with that machine's secrets, once it is pushed",
  },
  {
    id = "test",
    decision = "ask",
    change = true,
    existed = true,
    patterns = {
      "**/test", "**/tests", "**/__tests__", "**/testdata", "**/spec/**/*_spec.*", "**/*_spec.*", "**/*.spec.*", "**/*.test.*",
      "**/*_test.*", "**/test_*.*", "**/*Test.java", "**/*Tests.java", "**/*Test.kt", "**/*Tests.cs", "**/*Test.php",
      "**/conftest.py", "**/__snapshots__",
    },
    reason = "a test that was there before: changing it may hide what it would have shown",
  },
}
