--- Lists that the shipped policies share: data, a reason a row. `explain` shows them; an operator re-opens a row by its name
--- (`lift`), but for those that say `never_lift`: the harness's own keys and configuration, which no run has business with.
--- A path starts with `~/` for home; `system` restricts a row to one system.

local M = {}

---@class procage.HiddenRow
---@field path string
---@field reason string
---@field system? string
---@field never_lift? boolean
---@field root_only? boolean  for runs of root: to others the mode closes it

--- No data and no listing. Credentials first of all: what can be used against somebody else's machine. None lies in a cache
--- below: inside a writable tree a path can be hidden less well, and every report would say so. Nor ~/.gitconfig: git
--- must find its identity. Nor NuGet.Config: dotnet stops at an empty one.
---@type procage.HiddenRow[]
M.hidden = {
  -- Keys and signatures
  { path = "~/.ssh", reason = "private keys; known_hosts says where they open" },
  { path = "~/.gnupg", reason = "private keys, and the socket of the agent that holds them unlocked" },
  { path = "~/.pki", reason = "certificates and their keys, of browsers and of Java" },
  { path = "~/.config/sops", reason = "age keys that open every secret of a repository" },
  { path = "~/.config/age", reason = "age keys" },
  { path = "~/.minisign", reason = "signing keys" },
  { path = "~/.step", reason = "certificate authority keys" },
  -- Clouds
  { path = "~/.aws", reason = "access keys and session tokens" },
  { path = "~/.azure", reason = "access and refresh tokens" },
  { path = "~/.config/gcloud", reason = "access and refresh tokens, service account keys" },
  { path = "~/.boto", reason = "access keys" },
  { path = "~/.s3cfg", reason = "access keys" },
  { path = "~/.config/rclone", reason = "keys of every remote" },
  { path = "~/.oci", reason = "API keys of Oracle's cloud" },
  { path = "~/.aliyun", reason = "access keys" },
  { path = "~/.bluemix", reason = "tokens of IBM's cloud" },
  { path = "~/.config/doctl", reason = "access token" },
  { path = "~/.config/hcloud", reason = "access token" },
  { path = "~/.config/scw", reason = "access keys" },
  { path = "~/.config/linode-cli", reason = "access token" },
  { path = "~/.config/configstore", reason = "tokens of firebase and other node programs" },
  { path = "~/.fly", reason = "access token" },
  { path = "~/.netlify", reason = "access token" },
  { path = "~/.config/netlify", reason = "access token" },
  { path = "~/.vercel", reason = "access token" },
  { path = "~/.local/share/com.vercel.cli", reason = "access token" },
  { path = "~/.wrangler", reason = "access and refresh tokens" },
  { path = "~/.config/.wrangler", reason = "access and refresh tokens" },
  { path = "~/.railway", reason = "access token" },
  { path = "~/.supabase", reason = "access token" },
  { path = "~/.databricks", reason = "token cache" },
  { path = "~/.databrickscfg", reason = "access token" },
  { path = "~/.snowflake", reason = "connection passwords" },
  -- Infrastructure
  { path = "~/.kube", reason = "cluster credentials" },
  { path = "~/.docker", reason = "registry logins; contexts that reach other daemons" },
  { path = "~/.config/containers/auth.json", reason = "registry logins" },
  { path = "~/.config/helm", reason = "registry logins" },
  { path = "~/.terraform.d", reason = "tokens; plug-ins that terraform runs" },
  { path = "~/.terraformrc", reason = "tokens" },
  { path = "~/.pulumi", reason = "access token and passphrases" },
  { path = "~/.vault-token", reason = "token" },
  { path = "~/.config/argocd", reason = "tokens" },
  { path = "~/.chef", reason = "client keys" },
  { path = "~/.ansible/vault", reason = "vault passwords" },
  -- Code hosts
  { path = "~/.git-credentials", reason = "passwords in plain text" },
  { path = "~/.config/git/credentials", reason = "passwords in plain text" },
  { path = "~/.config/gh", reason = "access token" },
  { path = "~/.config/glab-cli", reason = "access token" },
  { path = "~/.config/hub", reason = "access token" },
  { path = "~/.config/tea", reason = "access token" },
  { path = "~/.config/github-copilot", reason = "access token" },
  { path = "~/.netrc", reason = "passwords in plain text" },
  { path = "~/.authinfo", reason = "passwords in plain text" },
  { path = "~/.authinfo.gpg", reason = "passwords" },
  -- Package registries
  { path = "~/.npmrc", reason = "publishing tokens" },
  { path = "~/.yarnrc.yml", reason = "publishing tokens" },
  { path = "~/.config/pnpm/rc", reason = "publishing tokens" },
  { path = "~/.pypirc", reason = "publishing passwords" },
  { path = "~/.config/pypoetry/auth.toml", reason = "publishing passwords" },
  { path = "~/.local/share/uv/credentials", reason = "index passwords" },
  { path = "~/.cargo/credentials", reason = "publishing token" },
  { path = "~/.cargo/credentials.toml", reason = "publishing token" },
  { path = "~/.gem/credentials", reason = "publishing key" },
  { path = "~/.local/share/gem/credentials", reason = "publishing key" },
  { path = "~/.bundle/config", reason = "registry passwords" },
  { path = "~/.composer/auth.json", reason = "registry passwords" },
  { path = "~/.config/composer/auth.json", reason = "registry passwords" },
  { path = "~/.gradle/gradle.properties", reason = "registry passwords and signing keys" },
  { path = "~/.m2/settings.xml", reason = "registry passwords" },
  { path = "~/.m2/settings-security.xml", reason = "the key to the passwords" },
  { path = "~/.hex/hex.config", reason = "publishing key" },
  { path = "~/.huggingface", reason = "access token" },
  { path = "~/.kaggle", reason = "API key" },
  -- Databases
  { path = "~/.pgpass", reason = "passwords" },
  { path = "~/.pg_service.conf", reason = "passwords" },
  { path = "~/.my.cnf", reason = "passwords" },
  { path = "~/.mylogin.cnf", reason = "passwords, barely veiled" },
  { path = "~/.dbt", reason = "warehouse passwords" },
  -- Password stores
  { path = "~/.password-store", reason = "passwords" },
  { path = "~/.config/op", reason = "session of the password store" },
  { path = "~/.op", reason = "session of the password store" },
  { path = "~/.config/Bitwarden CLI", reason = "the password store" },
  { path = "~/.config/Bitwarden", reason = "the password store" },
  { path = "~/.config/keepassxc", reason = "paths and keys of password stores" },
  { path = "~/.local/share/keyrings", reason = "the desktop's key rings" },
  { path = "~/.local/share/kwalletd", reason = "the desktop's wallet" },
  { path = "~/.config/kwalletrc", reason = "the desktop's wallet" },
  { path = "~/.gnome2/keyrings", reason = "the desktop's key rings" },
  { path = "~/.local/share/gopass", reason = "passwords" },
  { path = "~/.config/gopass", reason = "passwords" },
  { path = "~/Library/Keychains", reason = "the key chain", system = "macos" },
  -- Browsers and mail: cookies are logins
  { path = "~/.mozilla", reason = "cookies and stored passwords" },
  { path = "~/.config/google-chrome", reason = "cookies and stored passwords" },
  { path = "~/.config/chromium", reason = "cookies and stored passwords" },
  { path = "~/.config/BraveSoftware", reason = "cookies and stored passwords" },
  { path = "~/.config/microsoft-edge", reason = "cookies and stored passwords" },
  { path = "~/.config/vivaldi", reason = "cookies and stored passwords" },
  { path = "~/.config/opera", reason = "cookies and stored passwords" },
  { path = "~/.librewolf", reason = "cookies and stored passwords" },
  { path = "~/.var/app", reason = "data of Flatpak programs: browsers, mail, password stores" },
  { path = "~/snap", reason = "data of snap programs: browsers, mail, password stores" },
  { path = "~/.thunderbird", reason = "mail and its passwords" },
  { path = "~/.config/evolution", reason = "mail and its passwords" },
  { path = "~/.local/share/evolution", reason = "mail" },
  { path = "~/.mutt", reason = "mail passwords" },
  { path = "~/.msmtprc", reason = "mail passwords" },
  { path = "~/.config/Slack", reason = "session cookies" },
  { path = "~/.config/discord", reason = "session tokens" },
  { path = "~/.config/Signal", reason = "messages and their key" },
  { path = "~/Library/Cookies", reason = "session cookies", system = "macos" },
  { path = "~/Library/Mail", reason = "mail", system = "macos" },
  { path = "~/Library/Messages", reason = "messages", system = "macos" },
  { path = "~/Library/Safari", reason = "cookies and history", system = "macos" },
  { path = "~/Library/Application Support/Google/Chrome", reason = "cookies and stored passwords", system = "macos" },
  { path = "~/Library/Application Support/Firefox", reason = "cookies and stored passwords", system = "macos" },
  { path = "~/Library/Application Support/com.apple.TCC", reason = "privacy grants", system = "macos" },
  -- Histories: secrets get typed
  { path = "~/.bash_history", reason = "secrets typed on a command line" },
  { path = "~/.zsh_history", reason = "secrets typed on a command line" },
  { path = "~/.histfile", reason = "secrets typed on a command line" },
  { path = "~/.zsh_sessions", reason = "secrets typed on a command line" },
  { path = "~/.local/share/fish/fish_history", reason = "secrets typed on a command line" },
  { path = "~/.local/share/atuin", reason = "secrets typed on a command line" },
  { path = "~/.python_history", reason = "secrets typed at a prompt" },
  { path = "~/.node_repl_history", reason = "secrets typed at a prompt" },
  { path = "~/.irb_history", reason = "secrets typed at a prompt" },
  { path = "~/.psql_history", reason = "passwords typed at a prompt" },
  { path = "~/.mysql_history", reason = "passwords typed at a prompt" },
  { path = "~/.sqlite_history", reason = "data typed at a prompt" },
  { path = "~/.rediscli_history", reason = "passwords typed at a prompt" },
  { path = "~/.mongodb", reason = "history of the shell: passwords typed at a prompt" },
  { path = "~/.viminfo", reason = "lines copied from files that may be secret" },
  -- Other agents: keys, and conversations with everything that was pasted into them
  { path = "~/.claude", reason = "credentials and conversations" },
  { path = "~/.claude.json", reason = "credentials and keys of tool servers" },
  { path = "~/.codex", reason = "credentials and conversations" },
  { path = "~/.gemini", reason = "credentials and conversations" },
  { path = "~/.config/opencode", reason = "keys of tool servers" },
  { path = "~/.local/share/opencode", reason = "credentials and conversations" },
  { path = "~/.cursor", reason = "keys of tool servers" },
  { path = "~/.config/Cursor", reason = "session tokens" },
  { path = "~/.codeium", reason = "credentials" },
  { path = "~/.continue", reason = "keys" },
  { path = "~/.aider.conf.yml", reason = "keys" },
  { path = "~/.config/goose", reason = "keys" },
  { path = "~/.qwen", reason = "credentials" },
  { path = "~/.config/io.datasette.llm", reason = "keys" },
  { path = "~/.config/openai", reason = "keys" },
  { path = "~/.config/anthropic", reason = "keys" },
  -- The harness itself
  { path = "~/.config/speccoder", reason = "the harness's configuration and keys", never_lift = true },
  { path = "~/.local/state/speccoder", reason = "the harness's state: it decides later runs", never_lift = true },
  { path = "~/.local/share/speccoder", reason = "the harness's data: it decides later runs", never_lift = true },
  { path = "~/.spettro", reason = "the harness's configuration and keys", never_lift = true },
  { path = "~/.config/spettro", reason = "the harness's configuration and keys", never_lift = true },
  { path = "~/.config/procage", reason = "the operator's own policies", never_lift = true },
  -- The system. Root reads these even without capabilities, for it owns them; to others their mode closes them, and no rule
  -- is spent. Other users' homes are closed to both.
  { path = "/etc/shadow", reason = "password hashes", root_only = true },
  { path = "/etc/gshadow", reason = "password hashes", root_only = true },
  { path = "/etc/shadow-", reason = "password hashes, the copy before the last change", root_only = true },
  { path = "/etc/gshadow-", reason = "password hashes, the copy before the last change", root_only = true },
  { path = "/etc/security/opasswd", reason = "old password hashes", root_only = true },
  { path = "/etc/sudoers", reason = "who may become root, and how", root_only = true },
  { path = "/etc/sudoers.d", reason = "who may become root, and how", root_only = true },
  { path = "/etc/ssl/private", reason = "private keys", root_only = true },
  { path = "/etc/pki/tls/private", reason = "private keys", root_only = true },
  { path = "/etc/letsencrypt", reason = "private keys and account keys", root_only = true },
  { path = "/etc/ssh/ssh_host_rsa_key", reason = "the key that the machine proves itself with", root_only = true },
  { path = "/etc/ssh/ssh_host_ecdsa_key", reason = "the key that the machine proves itself with", root_only = true },
  { path = "/etc/ssh/ssh_host_ed25519_key", reason = "the key that the machine proves itself with", root_only = true },
  { path = "/etc/krb5.keytab", reason = "the machine's Kerberos keys", root_only = true },
  { path = "/etc/NetworkManager/system-connections", reason = "passwords of networks", root_only = true },
  { path = "/etc/wireguard", reason = "private keys", root_only = true },
  { path = "/etc/openvpn", reason = "private keys", root_only = true },
  { path = "/etc/ipsec.secrets", reason = "private keys", root_only = true },
  { path = "/etc/ppp", reason = "passwords of networks", root_only = true },
  { path = "/etc/kubernetes", reason = "cluster credentials", root_only = true },
  { path = "/etc/rancher", reason = "cluster credentials", root_only = true },
  { path = "/var/lib/kubelet", reason = "secrets of every pod of the node", root_only = true },
  { path = "/var/lib/rancher", reason = "cluster credentials", root_only = true },
  { path = "/var/lib/docker", reason = "file systems and environments of every container", root_only = true },
  { path = "/var/lib/containerd", reason = "file systems of every container", root_only = true },
  { path = "/var/lib/containers", reason = "file systems and secrets of every container", root_only = true },
  { path = "/var/lib/cloud", reason = "user data of the machine: passwords and tokens", root_only = true },
  { path = "/var/lib/sss/db", reason = "cached password hashes", root_only = true },
  { path = "/var/lib/sss/secrets", reason = "secrets of services", root_only = true },
  { path = "/var/lib/samba/private", reason = "password hashes", root_only = true },
  { path = "/var/lib/private", reason = "data of services that asked for it to be private", root_only = true },
  { path = "/var/backups", reason = "copies of password hashes", root_only = true },
  { path = "/var/spool/cron", reason = "what other users run, with passwords on the line", root_only = true },
  { path = "/run/secrets", reason = "secrets of this container; the cluster's service account token" },
  { path = "/var/run/secrets", reason = "the cluster's service account token" },
  { path = "/run/credentials", reason = "secrets of services" },
  { path = "/run/user", reason = "sockets and secrets of the user's session" },
  { path = "/sys/kernel/debug", reason = "the kernel's inside" },
  { path = "/sys/kernel/tracing", reason = "what other processes do" },
  { path = "/sys/kernel/security", reason = "the security modules' state" },
  { path = "/sys/fs/pstore", reason = "memory of a crashed kernel", root_only = true },
}

---@class procage.CacheRow
---@field path? string  nil: only where a variable says
---@field moved_by? { env: string, below?: string, is_list?: boolean }[]  the first that is set wins
---@field reason string
---@field system? string

--- Package caches that a build writes. Never a tree with programs, start-up scripts or credentials: not ~/.cargo (bin,
--- env, credentials), not ~/.gradle (init.d, wrapper), not ~/.local/share/pnpm and ~/.local/share/uv (programs on PATH).
--- A tree that is missing is made, so only the usual ones have a path; the others count where a variable names them.
---@type procage.CacheRow[]
M.caches = {
  {
    path = "~/.cargo/registry",
    moved_by = { { env = "CARGO_HOME", below = "registry" } },
    reason = "cargo downloads and unpacks crates",
  },
  {
    path = "~/.cargo/git",
    moved_by = { { env = "CARGO_HOME", below = "git" } },
    reason = "cargo clones dependencies",
  },
  {
    path = "~/.cache",
    moved_by = { { env = "XDG_CACHE_HOME" } },
    reason = "pip, uv, go-build, yarn, ccache, bazel and most others keep theirs here",
  },
  {
    path = "~/.npm",
    moved_by = { { env = "npm_config_cache" }, { env = "NPM_CONFIG_CACHE" } },
    reason = "npm downloads packages",
  },
  {
    path = "~/.local/share/pnpm/store",
    moved_by = { { env = "npm_config_store_dir" }, { env = "XDG_DATA_HOME", below = "pnpm/store" } },
    reason = "pnpm's store of packages",
  },
  {
    path = "~/.yarn/berry/cache",
    moved_by = { { env = "YARN_CACHE_FOLDER" }, { env = "YARN_GLOBAL_FOLDER", below = "cache" } },
    reason = "yarn downloads packages",
  },
  {
    path = "~/go/pkg/mod",
    moved_by = { { env = "GOMODCACHE" }, { env = "GOPATH", below = "pkg/mod", is_list = true } },
    reason = "go downloads modules",
  },
  {
    path = "~/.gradle/caches",
    moved_by = { { env = "GRADLE_USER_HOME", below = "caches" } },
    reason = "gradle downloads artefacts",
  },
  { path = "~/.m2/repository", reason = "maven downloads artefacts" },
  { path = "~/Library/Caches", reason = "most programs keep theirs here", system = "macos" },
  { moved_by = { { env = "GOCACHE" } }, reason = "go's compiled packages" },
  { moved_by = { { env = "PIP_CACHE_DIR" } }, reason = "pip downloads packages" },
  { moved_by = { { env = "UV_CACHE_DIR" } }, reason = "uv downloads packages" },
  { moved_by = { { env = "POETRY_CACHE_DIR" } }, reason = "poetry downloads packages" },
  { moved_by = { { env = "BUN_INSTALL_CACHE_DIR" } }, reason = "bun downloads packages" },
  { moved_by = { { env = "DENO_DIR" } }, reason = "deno downloads modules" },
  { moved_by = { { env = "COMPOSER_CACHE_DIR" } }, reason = "composer downloads packages" },
  { moved_by = { { env = "NUGET_PACKAGES" } }, reason = "nuget downloads packages" },
  { moved_by = { { env = "CCACHE_DIR" } }, reason = "ccache's objects" },
  { moved_by = { { env = "SCCACHE_DIR" } }, reason = "sccache's objects" },
}

---@class procage.HandoffRow
---@field name string  below a repository's root
---@field runs string  who runs it, and when
---@field git? boolean  given up with git = "write"
---@field never_lift? boolean

--- Files that make someone else run code later, without asking to run the project: by entering the directory, opening it,
--- calling git or an agent in it, or installing. Not here, since somebody chooses to run them: Makefile, package.json,
--- build.rs, scripts. Nor .github/workflows and their like: they run on another machine, after a push. Nor text that
--- agents only read (CLAUDE.md, AGENTS.md, .cursorrules), nor .gitattributes and .gitmodules, which name drivers and
--- commands that only .git/config can define, nor .env and .tool-versions, which many builds write and nobody runs.
---@type procage.HandoffRow[]
M.handoff = {
  -- git. `.git` is the file of a linked worktree or submodule: the directory's parts have rows of their own.
  { name = ".git", runs = "every git command, in the repository that the file names", git = true },
  { name = ".git/hooks", runs = "git, at commit, checkout, merge and push", git = true },
  { name = ".git/config", runs = "git: core.fsmonitor, filters, aliases, pagers, at any command", git = true },
  { name = ".git/config.worktree", runs = "git, as .git/config", git = true },
  { name = ".git/commondir", runs = "git: names the directory whose config it reads", git = true },
  { name = ".gitconfig", runs = "git, where the tree is somebody's home" },
  { name = ".husky", runs = "git, whose hooks it holds" },
  { name = ".pre-commit-config.yaml", runs = "pre-commit, at the next commit" },
  { name = ".lefthook.yml", runs = "lefthook, at the next commit" },
  { name = "lefthook.yml", runs = "lefthook, at the next commit" },
  { name = ".lefthook-local.yml", runs = "lefthook, at the next commit" },
  { name = "lefthook-local.yml", runs = "lefthook, at the next commit" },
  { name = ".overcommit.yml", runs = "overcommit, at the next commit" },
  -- Agents: hooks, tool servers, permissions
  { name = ".claude", runs = "Claude Code: hooks, tool servers, commands" },
  { name = ".agents", runs = "agents: hooks and skills" },
  { name = ".codex", runs = "Codex: tool servers, rules" },
  { name = ".gemini", runs = "Gemini CLI: tool servers, hooks" },
  { name = ".opencode", runs = "opencode: plug-ins, tool servers" },
  { name = "opencode.json", runs = "opencode: tool servers, permissions" },
  { name = "opencode.jsonc", runs = "opencode: tool servers, permissions" },
  { name = ".mcp.json", runs = "agents start the tool servers that it names" },
  { name = ".cursor", runs = "Cursor: tool servers, hooks" },
  { name = ".kiro", runs = "Kiro: hooks, tool servers" },
  { name = ".windsurf", runs = "Windsurf: workflows, hooks" },
  { name = ".roo", runs = "Roo Code: tool servers, modes" },
  { name = ".clinerules", runs = "Cline: hooks and workflows" },
  { name = ".continue", runs = "Continue: tool servers" },
  { name = ".aider.conf.yml", runs = "aider: lint and test commands" },
  { name = ".amazonq", runs = "Amazon Q: tool servers, hooks" },
  { name = ".augment", runs = "Augment: tool servers, commands" },
  { name = ".trae", runs = "Trae: tool servers" },
  { name = ".junie", runs = "Junie: tool servers" },
  { name = ".factory", runs = "Factory: hooks, tool servers" },
  { name = ".goose", runs = "goose: extensions" },
  { name = ".qwen", runs = "Qwen Code: tool servers" },
  { name = ".crush.json", runs = "Crush: tool servers" },
  { name = "crush.json", runs = "Crush: tool servers" },
  { name = ".github/copilot", runs = "Copilot: tool servers and set-up on this machine" },
  { name = ".github/hooks", runs = "Copilot: hooks on this machine" },
  -- Entering the directory
  { name = ".envrc", runs = "direnv, on entering the directory" },
  { name = ".direnv", runs = "direnv sources what it cached" },
  { name = ".mise.toml", runs = "mise, on entering the directory" },
  { name = "mise.toml", runs = "mise, on entering the directory" },
  { name = ".mise", runs = "mise: its configuration and tasks" },
  { name = ".autoenv", runs = "autoenv, on entering the directory" },
  -- Opening it
  { name = ".vscode/tasks.json", runs = "VS Code, on opening the folder" },
  { name = ".vscode/settings.json", runs = "VS Code: paths of programs that it starts" },
  { name = ".vscode/launch.json", runs = "VS Code, when the debugger is started" },
  { name = ".vscode/mcp.json", runs = "VS Code starts the tool servers that it names" },
  { name = ".vscode/extensions.json", runs = "VS Code offers to install what it names" },
  { name = ".idea", runs = "JetBrains: run configurations, start-up tasks" },
  { name = ".run", runs = "JetBrains: run configurations" },
  { name = ".fleet", runs = "Fleet: run configurations" },
  { name = ".zed", runs = "Zed: tasks, paths of language servers" },
  { name = ".nova", runs = "Nova: tasks" },
  { name = ".helix", runs = "Helix: paths of language servers" },
  { name = ".vs", runs = "Visual Studio: start-up tasks" },
  { name = ".devcontainer", runs = "the editor builds and starts the container; initializeCommand runs on the host" },
  { name = ".devcontainer.json", runs = "the editor, as .devcontainer" },
  { name = ".exrc", runs = "vi, where exrc is set" },
  { name = ".vimrc", runs = "vim, where exrc is set or the tree is somebody's home" },
  { name = ".nvimrc", runs = "neovim, where exrc is set" },
  { name = ".nvim.lua", runs = "neovim, where exrc is set" },
  { name = ".dir-locals.el", runs = "Emacs, on opening a file" },
  { name = ".gdbinit", runs = "gdb, on starting in the directory" },
  { name = ".lldbinit", runs = "lldb, on starting in the directory" },
  -- Shells and terminals, where the tree is somebody's home
  { name = ".profile", runs = "the login shell" },
  { name = ".bashrc", runs = "bash" },
  { name = ".bash_profile", runs = "bash, at login" },
  { name = ".bash_login", runs = "bash, at login" },
  { name = ".bash_logout", runs = "bash, at logout" },
  { name = ".bash_aliases", runs = "bash, from .bashrc" },
  { name = ".zshenv", runs = "zsh, also for scripts" },
  { name = ".zshrc", runs = "zsh" },
  { name = ".zprofile", runs = "zsh, at login" },
  { name = ".zlogin", runs = "zsh, at login" },
  { name = ".zlogout", runs = "zsh, at logout" },
  { name = ".config/fish", runs = "fish" },
  { name = ".inputrc", runs = "readline: macros that type commands" },
  { name = ".tmux.conf", runs = "tmux" },
  { name = ".screenrc", runs = "screen" },
  { name = ".ssh", runs = "ssh: ProxyCommand; sshd: authorized_keys" },
  { name = ".config/autostart", runs = "the desktop, at login" },
  { name = ".config/systemd", runs = "the user's systemd, at login" },
  -- Package managers
  { name = ".npmrc", runs = "npm and pnpm: registries, script shell, at the next install" },
  { name = ".yarnrc", runs = "yarn: yarn-path is run in place of yarn" },
  { name = ".yarnrc.yml", runs = "yarn: yarnPath and plug-ins are run" },
  { name = ".pnpmfile.cjs", runs = "pnpm, at the next install" },
  { name = "bunfig.toml", runs = "bun: preloads, at any command" },
  { name = ".cargo/config.toml", runs = "cargo: linkers, runners and wrappers, at any command" },
  { name = ".cargo/config", runs = "cargo, as .cargo/config.toml" },
  -- Our own inputs
  { name = "speccoder.toml", runs = "the harness: what later runs may do", never_lift = true },
  { name = "spettro.agents.toml", runs = "the harness: what later runs may do", never_lift = true },
  { name = ".config/procage", runs = "procage: what later runs may do, where the tree is somebody's home", never_lift = true },
  { name = ".procage", runs = "procage: policies of later runs", never_lift = true },
}

---@class procage.IgnoredRow
---@field pattern string  of a file's name: `*` and `?`, in any letter case
---@field reason string

--- Files in the tree that hold somebody's credentials when git ignores them: nobody commits them, so no build of another
--- machine needs what is in them. Committed ones of the same names are examples and tests.
---@type procage.IgnoredRow[]
M.ignored = {
  { pattern = ".env*", reason = "keys and passwords of services" },
  { pattern = "*.pem", reason = "private keys" },
  { pattern = "*.key", reason = "private keys" },
  { pattern = "id_rsa*", reason = "SSH keys" },
  { pattern = "id_dsa*", reason = "SSH keys" },
  { pattern = "id_ecdsa*", reason = "SSH keys, those of hardware tokens too" },
  { pattern = "id_ed25519*", reason = "SSH keys, those of hardware tokens too" },
  { pattern = "*.ppk", reason = "SSH keys of PuTTY" },
  { pattern = ".netrc", reason = "passwords in plain text" },
  { pattern = "_netrc", reason = "passwords in plain text" },
  { pattern = ".npmrc", reason = "publishing tokens" },
  { pattern = ".pypirc", reason = "publishing passwords" },
}

---@class procage.EnvDropRow
---@field pattern string  `*` and `?`, in any letter case
---@field reason string
---@field never_lift? boolean

--- Variables that a run does not get. Not those that make a loader or an interpreter run code (LD_PRELOAD, NODE_OPTIONS):
--- inside, that code is confined like the rest. A pattern ends where the name must, so that MAX_TOKENS,
--- TOKENIZERS_PARALLELISM, GIT_AUTHOR_NAME, PASSENGER_APP_ENV or a KEY alone stay.
---@type procage.EnvDropRow[]
M.env_drop = {
  -- The harness's own
  { pattern = "ANTHROPIC_*", reason = "the harness's keys and where they are used", never_lift = true },
  { pattern = "OPENAI_*", reason = "the harness's keys and where they are used", never_lift = true },
  { pattern = "SPECCODER_*", reason = "the harness's configuration", never_lift = true },
  { pattern = "SPETTRO_*", reason = "the harness's configuration", never_lift = true },
  -- Secrets by the form of their name
  { pattern = "*_API_KEY", reason = "a key" },
  { pattern = "*_API_KEY_*", reason = "a key, numbered or of a stage" },
  { pattern = "API_KEY", reason = "a key" },
  { pattern = "*APIKEY*", reason = "a key" },
  { pattern = "*_APP_KEY", reason = "a key" },
  { pattern = "*ACCESS_KEY*", reason = "a key" },
  { pattern = "*ACCOUNT_KEY", reason = "a key" },
  { pattern = "*PRIVATE_KEY*", reason = "a key" },
  { pattern = "*SIGNING_KEY*", reason = "a key" },
  { pattern = "*ENCRYPTION_KEY*", reason = "a key" },
  { pattern = "*MASTER_KEY", reason = "a key" },
  { pattern = "*DEPLOY_KEY", reason = "a key" },
  { pattern = "*SERVICE_KEY", reason = "a key" },
  { pattern = "*SSH_KEY", reason = "a key" },
  { pattern = "*LICENSE_KEY", reason = "a key" },
  { pattern = "*TOKEN", reason = "a token" },
  { pattern = "*_TOKEN_FILE", reason = "where a token lies" },
  { pattern = "*AUTHTOKEN*", reason = "a token: npm's //registry/:_authToken" },
  { pattern = "*_PAT", reason = "a personal access token" },
  { pattern = "*_JWT", reason = "a token" },
  { pattern = "*_JWT_V?", reason = "a token of the build service" },
  { pattern = "*SECRET*", reason = "a secret" },
  { pattern = "*PASSWORD*", reason = "a password" },
  { pattern = "*PASSWD*", reason = "a password" },
  { pattern = "*PASSPHRASE*", reason = "a password" },
  { pattern = "*_PASS", reason = "a password" },
  { pattern = "*_PW", reason = "a password" },
  { pattern = "*_PWD", reason = "a password; PWD and OLDPWD have no underscore before it" },
  { pattern = "PGPASSFILE", reason = "where a password lies" },
  { pattern = "*CREDENTIAL*", reason = "credentials" },
  { pattern = "*_CREDS", reason = "credentials" },
  { pattern = "*_AUTH", reason = "credentials" },
  { pattern = "*_COOKIE", reason = "a session" },
  { pattern = "*_DSN", reason = "an address with a password in it" },
  { pattern = "*CONNECTION_STRING", reason = "an address with a password in it" },
  { pattern = "*DATABASE_URL", reason = "an address with a password in it" },
  { pattern = "*MONGO*_UR?", reason = "an address with a password in it" },
  { pattern = "*REDIS_URL", reason = "an address with a password in it" },
  { pattern = "*AMQP_URL", reason = "an address with a password in it" },
  { pattern = "*WEBHOOK_URL", reason = "whoever knows it may post" },
  -- Clouds and services
  { pattern = "AWS_*", reason = "keys, and the profile and endpoint that lead to them" },
  { pattern = "AZURE_*", reason = "keys and tenants" },
  { pattern = "GCP_*", reason = "keys" },
  { pattern = "GEMINI_*", reason = "keys" },
  { pattern = "HF_TOKEN*", reason = "a token" },
  { pattern = "VAULT_*", reason = "the secret store and the way in" },
  { pattern = "OP_SESSION_*", reason = "an open password store" },
  { pattern = "BW_SESSION", reason = "an open password store" },
  { pattern = "ACTIONS_RUNTIME_*", reason = "the build service's own interface, with its token" },
  { pattern = "ACTIONS_ID_TOKEN_*", reason = "makes tokens in the name of the build" },
  { pattern = "KUBECONFIG", reason = "where cluster credentials lie" },
  { pattern = "KRB5CCNAME", reason = "where Kerberos tickets lie" },
  -- Programs that hand out secrets
  { pattern = "SSH_AUTH_SOCK", reason = "the agent that signs with the user's keys" },
  { pattern = "SSH_AGENT_PID", reason = "the agent that signs with the user's keys" },
  { pattern = "GPG_AGENT_INFO", reason = "the agent that signs with the user's keys" },
  { pattern = "GIT_ASKPASS", reason = "a program that answers with passwords" },
  { pattern = "SSH_ASKPASS", reason = "a program that answers with passwords" },
  { pattern = "SUDO_ASKPASS", reason = "a program that answers with passwords" },
  { pattern = "VSCODE_GIT_*", reason = "the editor's socket and program that answer with passwords" },
  { pattern = "GNOME_KEYRING_*", reason = "the desktop's key rings" },
  -- Sockets outside: who can reach one has a program outside act for it
  { pattern = "DBUS_*", reason = "the session bus starts programs outside" },
  { pattern = "XDG_RUNTIME_DIR", reason = "the directory of the session's sockets" },
  { pattern = "DOCKER_HOST", reason = "a daemon that is root" },
  { pattern = "CONTAINER_HOST", reason = "a daemon that starts containers" },
  { pattern = "TMUX", reason = "types into the user's terminals" },
  { pattern = "TMUX_PANE", reason = "types into the user's terminals" },
  { pattern = "STY", reason = "screen: types into the user's terminals" },
  { pattern = "KITTY_LISTEN_ON", reason = "types into the user's terminals" },
  { pattern = "WEZTERM_UNIX_SOCKET", reason = "types into the user's terminals" },
  { pattern = "ALACRITTY_SOCKET", reason = "opens terminals" },
  { pattern = "DISPLAY", reason = "reads the screen and the keyboard, types" },
  { pattern = "XAUTHORITY", reason = "opens the display" },
  { pattern = "WAYLAND_DISPLAY", reason = "reads the clipboard" },
  { pattern = "WAYLAND_SOCKET", reason = "reads the clipboard" },
  { pattern = "SWAYSOCK", reason = "starts programs outside" },
  { pattern = "I3SOCK", reason = "starts programs outside" },
  { pattern = "NVIM", reason = "runs code in the editor outside" },
  { pattern = "NVIM_LISTEN_ADDRESS", reason = "runs code in the editor outside" },
  { pattern = "VSCODE_IPC_HOOK*", reason = "runs commands in the editor outside" },
  { pattern = "CLAUDE_CODE_SSE_PORT", reason = "the editor's interface to an agent" },
  { pattern = "SESSION_MANAGER", reason = "the desktop session" },
  { pattern = "PULSE_SERVER", reason = "listens to the microphone" },
}

---@class procage.EnvSetRow
---@field name string
---@field value string
---@field reason string

---@type procage.EnvSetRow[]
M.env_set = {
  { name = "NO_COLOR", value = "1", reason = "output is read by programs" },
  { name = "CARGO_TERM_COLOR", value = "never", reason = "cargo does not look at NO_COLOR" },
}

---@class procage.KeyFileRow
---@field path string  a path or pattern, from home with ~/, else from the workspace
---@field reason string
---@field unless? boolean  not these, whatever a row before says

--- Files whose lines are secrets: they are masked in output (procage.mask). Only files of keys and passwords, with little else
--- in them: each line of eight characters is masked wherever it turns up.
---@type procage.KeyFileRow[]
M.key_files = {
  { path = "~/.ssh/id_*", reason = "private keys" },
  { path = "~/.ssh/*.pem", reason = "private keys" },
  { path = "~/.aws/credentials", reason = "access keys" },
  { path = "~/.netrc", reason = "passwords" },
  { path = "~/.git-credentials", reason = "passwords" },
  { path = "~/.config/git/credentials", reason = "passwords" },
  { path = "~/.config/gh/hosts.yml", reason = "access token" },
  { path = "~/.npmrc", reason = "publishing tokens" },
  { path = "~/.pypirc", reason = "publishing passwords" },
  { path = "~/.cargo/credentials.toml", reason = "publishing token" },
  { path = "~/.pgpass", reason = "passwords" },
  { path = "~/.vault-token", reason = "token" },
  { path = "~/.docker/config.json", reason = "registry logins" },
  { path = ".env", reason = "secrets of the project" },
  { path = ".env.*", reason = "secrets of a stage of the project" },
  { path = "*.env", reason = "secrets of the project" },
  { path = "*.pem", reason = "private keys" },
  { path = "*.key", reason = "private keys" },
  { path = "id_rsa", reason = "a private key" },
  { path = "id_ecdsa", reason = "a private key" },
  { path = "id_ed25519", reason = "a private key" },
  { path = ".netrc", reason = "passwords" },
  { path = ".npmrc", reason = "publishing tokens" },
  { path = ".pypirc", reason = "publishing passwords" },
  { path = "~/.ssh/*.pub", reason = "public halves of keys", unless = true },
  { path = ".env.example", reason = "names without values", unless = true },
  { path = ".env.sample", reason = "names without values", unless = true },
  { path = ".env.template", reason = "names without values", unless = true },
}

return M
