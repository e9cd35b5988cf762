--- What a policy says of a tool call before it runs: `denied` (no approval lifts it), `ask` (somebody decides), `allowed`.
--- Data, a reason a row; procage.classify applies them. A call is looked at by every row that fits it, and the strictest one
--- decides.
---
--- This is a courtesy before the run: what a command really cannot do, the kernel keeps from it. So a row errs towards asking.

local M = {}

-- ---- Files ----------------------------------------------------------------------------------------------------------------

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
M.paths = {
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

-- ---- Programs -------------------------------------------------------------------------------------------------------------

---@class procage.ProgramRule
---@field id string
---@field decision "denied"|"ask"
---@field names string  words
---@field reason string

---@type procage.ProgramRule[]
M.programs = {
  {
    id = "privileges",
    decision = "denied",
    names = "sudo sudo-rs sudoedit su su-rs doas pkexec run0 runuser setpriv su-exec gosu capsh setcap newgrp "
      .. "sg chroot unshare nsenter machinectl systemd-run systemd-nspawn visudo passwd chsh chfn chpasswd "
      .. "useradd usermod userdel groupadd gpasswd vipw polkit-agent-helper-1 pkttyagent please",
    reason = "takes other rights than the run's",
  },
  {
    id = "system",
    decision = "denied",
    names = "mount umount losetup mkfs mkswap swapon swapoff fdisk parted wipefs insmod modprobe rmmod kexec "
      .. "reboot shutdown halt poweroff init telinit systemctl service initctl rc-service sysctl iptables "
      .. "ip6tables nft ufw chattr debugfs dmsetup cryptsetup mknod",
    reason = "changes the machine",
  },
  {
    id = "containers",
    decision = "denied",
    names = "docker podman nerdctl ctr crictl buildah lxc lxd incus runc crun kubectl helm minikube kind "
      .. "vagrant virsh",
    reason = "a daemon acts outside the sandbox, often as root",
  },
  {
    id = "persistence",
    decision = "denied",
    names = "crontab at atq atrm batch loginctl launchctl",
    reason = "starts programs later, outside the sandbox",
  },
  {
    id = "outside-programs",
    decision = "denied",
    names = "dbus-send gdbus busctl qdbus xdg-open open tmux screen zellij xdotool ydotool wtype xclip xsel "
      .. "wl-copy wl-paste osascript pbcopy pbpaste notify-send",
    reason = "has a program outside the sandbox act",
  },
  {
    id = "secrets",
    decision = "denied",
    names = "ssh-add ssh-agent ssh-keygen gpg gpg2 gpg-agent gpgconf secret-tool pass gopass op bw vault "
      .. "security keyctl kwallet-query gnome-keyring-daemon age age-keygen sops",
    reason = "reads or uses keys and passwords",
  },
  {
    id = "shell",
    decision = "ask",
    names = "sh bash dash zsh ksh mksh ash rbash fish csh tcsh nu elvish xonsh pwsh powershell osh yash",
    reason = "a shell: one line of it can be any command",
  },
  {
    id = "eval",
    decision = "ask",
    names = "eval source . trap alias",
    reason = "runs what a text says",
  },
  {
    id = "env",
    decision = "ask",
    names = "env printenv export set declare typeset",
    reason = "changes or shows the environment of a command",
  },
  {
    id = "xargs",
    decision = "ask",
    names = "xargs parallel",
    reason = "makes commands of what it reads",
  },
  {
    id = "network-tool",
    decision = "ask",
    names = "curl wget wget2 aria2c http https httpie xh nc ncat netcat socat telnet ftp lftp sftp scp ssh "
      .. "sshfs autossh mosh rsync rclone dig nslookup host drill whois ping ping6 traceroute tracepath "
      .. "mtr nmap masscan tcpdump tshark openssl gh glab hub tea aws az gcloud gsutil doctl flyctl fly "
      .. "vercel netlify wrangler heroku firebase supabase terraform tofu pulumi ansible ansible-playbook "
      .. "lynx w3m links elinks yt-dlp websocat grpcurl mosquitto_pub redis-cli psql mysql mongosh "
      .. "sendmail mail mailx msmtp mutt ngrok cloudflared",
    reason = "talks to other machines, or sends something there",
  },
  {
    id = "inline-code",
    decision = "ask",
    names = "awk gawk mawk nawk perl ruby python php node nodejs deno bun lua luajit tclsh expect osascript R "
      .. "Rscript julia ghci guile racket gdb lldb ed ex vi vim nvim emacs nano less more man tar zip "
      .. "rsync dd patch watch entr script ld.so ld-linux.so ld-linux-x86-64.so ld-linux-aarch64.so bwrap "
      .. "firejail proot flock parallel",
    reason = "can run any program, or writes what its words do not tell",
  },
  {
    id = "package-manager",
    decision = "ask",
    names = "apt apt-get aptitude dpkg dnf yum rpm zypper pacman apk brew port snap flatpak nix nix-env "
      .. "nix-shell guix pip pipx conda mamba gem bundle cpan cpanm luarocks npx bunx pnpx uvx composer "
      .. "cabal stack opam choco winget scoop",
    reason = "installs or fetches and runs code of others",
  },
  {
    id = "processes",
    decision = "ask",
    names = "kill killall pkill",
    reason = "ends other programs",
  },
}

--- Programs that run the command in their words. `args`: letters of options that take the next word; `long`: long options that
--- do; `operands`: words before the command; `text`: the letter of an option whose value is a line of shell.
---@type table<string, { args?: string, long?: string, operands?: integer, assigns?: boolean, text?: string }>
M.wrappers = {
  nice = { args = "n", long = "adjustment" },
  ionice = { args = "cnpPu", long = "class classdata pid pgid uid" },
  chrt = { args = "TPDp", long = "sched-runtime sched-period sched-deadline", operands = 1 },
  taskset = { args = "", operands = 1 },
  timeout = { args = "ks", long = "kill-after signal", operands = 1 },
  nohup = {},
  setsid = {},
  stdbuf = { args = "ioe", long = "input output error" },
  unbuffer = {},
  time = { args = "fo", long = "format output" },
  command = {},
  builtin = {},
  noglob = {},
  nocorrect = {},
  exec = { args = "a" },
  env = { args = "uCSaP", long = "unset chdir split-string argv0", assigns = true },
  xargs = {
    args = "adEIiLlnPs",
    long = "arg-file delimiter max-lines max-args max-procs max-chars process-slot-var",
  },
  parallel = { args = "jaINLSP", long = "jobs arg-file max-args colsep delay results joblog sshlogin" },
  watch = { args = "nq", long = "interval equexit" },
  strace = { args = "eoOpPsSuUaIbX", long = "output trace expr" },
  ltrace = { args = "aeFlnopsuwxX", long = "output" },
  valgrind = {},
  perf = { operands = 1, args = "eo" },
  catchsegv = {},
  script = { text = "c" },
  flock = { args = "wE", text = "c", long = "timeout wait conflict-exit-code", operands = 1 },
  setarch = { operands = 1 },
  linux32 = {},
  linux64 = {},
  busybox = {},
  ["ld.so"] = { long = "library-path preload audit argv0 inhibit-rpath" },
  ["ld-linux.so"] = { long = "library-path preload audit argv0 inhibit-rpath" },
  ["ld-linux-x86-64.so"] = { long = "library-path preload audit argv0 inhibit-rpath" },
  ["ld-linux-aarch64.so"] = { long = "library-path preload audit argv0 inhibit-rpath" },
  toybox = {},
  faketime = { args = "f", operands = 1 },
  proxychains = { args = "f" },
  proxychains4 = { args = "f" },
  torsocks = {},
  ["dbus-run-session"] = {},
  ["xvfb-run"] = { args = "enfspw", long = "server-num auth-file server-args error-file" },
  prlimit = { args = "p" },
  ["systemd-inhibit"] = {},
  ["systemd-cat"] = { args = "tp" },
  firejail = {},
  bwrap = {},
  proot = { args = "rbqw" },
  fakeroot = { args = "lsibu" },
  ccache = {},
  sccache = {},
}

--- Shells whose -c takes a text that is read here as sh reads it.
M.shells = "sh bash dash zsh ksh mksh ash rbash fish csh tcsh osh yash"

--- Variables that make a program run or load something else.
M.loader_variables = {
  "LD_*", "DYLD_*", "GIT_*", "PATH", "NODE_OPTIONS", "PYTHONSTARTUP", "PYTHONPATH", "PERL5*", "RUBYOPT", "RUBYLIB", "BASH_ENV",
  "ENV", "PROMPT_COMMAND", "IFS", "SHELLOPTS", "BASHOPTS", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE",
  "BROWSER", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "MAKEFLAGS", "RUSTC_WRAPPER", "RUSTC", "CARGO_*", "CC", "CXX", "GOFLAGS",
  "HOME", "XDG_CONFIG_HOME", "SSH_ASKPASS",
}

-- ---- Commands that need no question ---------------------------------------------------------------------------------------

---@class procage.AllowedRule
---@field names string
---@field reason string
---@field change? "all"|"last"|"of"  which operands it changes
---@field text? boolean  its words are no paths
---@field pattern_first? boolean  its first operand is no path
---@field subcommands? string  only with one of these as the first operand
---@field asks? string[]  options with which it asks all the same: long ones by name, letters alone
---@field writes? string[]  options whose value it writes
---@field change_with? string[]  it changes its operands only with one of these
---@field change_without? string[]  and not with one of these
---@field has_long_letters? boolean  its options are words behind one dash: letters are not combined
---@field has_response_files? boolean  @FILE stands for words that are in it

---@type procage.AllowedRule[]
M.allowed = {
  {
    names = "ls dir vdir cat tac head tail wc nl cut tr fold fmt pr paste join comm cmp diff stat "
      .. "du df basename dirname realpath readlink pwd md5sum sha1sum sha224sum sha256sum sha384sum "
      .. "sha512sum b2sum cksum sum od hexdump strings column expand unexpand rev tsort bat exa eza "
      .. "lsd tokei scc nm objdump readelf size",
    reason = "reads",
    asks = { "--pager" },
  },
  { names = "tree", reason = "reads", writes = { "-o" } },
  { names = "sort shuf", reason = "reads", writes = { "-o", "--output" }, asks = { "--compress-program" } },
  { names = "uniq xxd", reason = "reads; a second file is written", change = "last" },
  { names = "echo printf", reason = "prints its words", text = true },
  { names = "true false : test [ sleep seq expr yes", reason = "tells nothing but yes and no", text = true },
  {
    names = "date uname whoami id groups nproc arch tty which whereis type hash factor uptime free locale getconf cal",
    reason = "says something of the machine",
    asks = { "--set", "-s" },
  },
  { names = "file", reason = "reads", asks = { "--compile", "-C" } },
  { names = "grep egrep fgrep zgrep", reason = "searches", pattern_first = true },
  { names = "rg", reason = "searches", pattern_first = true, asks = { "--pre", "--hostname-bin" } },
  { names = "ag ack", reason = "searches", pattern_first = true, asks = { "--pager" } },
  { names = "jq", reason = "picks from JSON", pattern_first = true },
  {
    names = "fd fdfind",
    reason = "finds files",
    pattern_first = true,
    asks = { "-x", "--exec", "-X", "--exec-batch" },
  },
  { names = "mkdir touch", reason = "makes files", change = "all" },
  { names = "cp ln install", reason = "makes files", change = "last", asks = { "--strip-program" } },
  { names = "mv", reason = "moves files", change = "all" },
  { names = "rm rmdir unlink", reason = "removes files", change = "all" },
  { names = "tee truncate", reason = "writes files", change = "all" },
  { names = "chmod", reason = "changes modes", change = "all" },
  {
    names = "make gmake bmake ninja samu meson ctest",
    reason = "builds the project",
    asks = { "--eval", "--file", "-f", "-S", "--script" },
  },
  { names = "cmake", reason = "builds the project", asks = { "-P", "-E" }, has_long_letters = true },
  {
    names = "cc gcc g++ c++ clang clang++ tcc rustc javac kotlinc ghc ocamlfind zig nim",
    reason = "compiles",
    writes = { "-o" },
    asks = { "-wrapper", "-B", "-fplugin", "-specs", "--specs", "--linker", "-Xclang", "-load" },
    has_long_letters = true,
    has_response_files = true,
  },
  {
    names = "cargo",
    reason = "builds and tests the project",
    subcommands = "build b check c test t run r bench doc d clippy fmt nextest metadata tree "
      .. "version verify-project locate-project pkgid expand llvm-cov",
    asks = { "--config", "--manifest-path", "--git", "--registry", "-C", "-Z" },
  },
  {
    names = "go",
    reason = "builds and tests the project",
    subcommands = "build test vet fmt run list doc version",
    asks = { "-exec", "-toolexec", "-vettool", "-modfile", "-overlay" },
  },
  {
    names = "npm yarn pnpm",
    reason = "runs what the project's manifest says",
    subcommands = "test t tst run run-script start ls list why --version lint build",
    asks = { "--prefix", "--userconfig", "--globalconfig", "--script-shell", "-g", "--global", "--registry", "-C" },
  },
  {
    names = "pytest py.test tox nox mypy pyright flake8 pylint coverage jest vitest mocha ava tsc busted luacheck rspec rake "
      .. "phpunit phpstan shellcheck hadolint yamllint cppcheck staticcheck checkstyle",
    reason = "tests or checks the project",
  },
  {
    names = "ruff eslint prettier biome rubocop shfmt markdownlint clang-format clang-tidy gofmt golangci-lint ktlint "
      .. "swiftlint typos codespell",
    reason = "checks or formats the project",
    change = "all",
    change_with = {
      "--write", "-w", "-i", "--fix", "--in-place", "-a", "-A", "--autocorrect", "--format", "-F", "--write-changes",
    },
  },
  {
    names = "black isort stylua rustfmt dotnet-format",
    reason = "formats the project",
    change = "all",
    change_without = { "--check", "--check-only", "--diff", "--dry-run" },
  },
  {
    names = "mvn gradle gradlew sbt dotnet swift mix rebar3",
    reason = "builds and tests the project",
    subcommands = "test compile build verify package check clean classes testClasses format",
    asks = { "--init-script", "-I", "-s", "--settings" },
  },
}

-- ---- Git ------------------------------------------------------------------------------------------------------------------

---@class procage.GitRule
---@field id string
---@field decision "denied"|"ask"|"allowed"
---@field commands string
---@field reason string

--- By subcommand; M.git_more has what options and operands make of some of them.
---@type procage.GitRule[]
M.git = {
  {
    id = "git-remote",
    decision = "denied",
    commands = "push fetch pull clone ls-remote submodule send-pack fetch-pack upload-pack receive-pack "
      .. "upload-archive http-fetch http-push remote-http remote-https remote-ftp remote-ext remote-fd "
      .. "daemon shell svn p4 cvsimport cvsexportcommit cvsserver archimport send-email imap-send "
      .. "request-pull lfs annex credential credential-store credential-cache credential-manager "
      .. "instaweb scalar backfill remote",
    reason = "git remotes: what leaves this machine, or comes from another one, is not an agent's to decide",
  },
  {
    id = "git-destructive",
    decision = "denied",
    commands = "clean prune prune-packed filter-branch filter-repo replace update-ref fast-import "
      .. "pack-redundant unpack-file",
    reason = "loses work, or rewrites history",
  },
  { id = "git-notes", decision = "denied", commands = "notes", reason = "git notes hold the record of who did what" },
  {
    id = "git-programs",
    decision = "denied",
    commands = "hook maintenance fsmonitor--daemon",
    reason = "has git run programs, now or later",
  },
  {
    id = "git-state",
    decision = "ask",
    commands = "add stage commit checkout switch restore reset merge rebase cherry-pick revert stash mv rm "
      .. "branch tag am apply init worktree bisect gc repack pack-refs sparse-checkout update-index "
      .. "read-tree write-tree commit-tree commit-graph multi-pack-index mktree mktag hash-object "
      .. "unpack-objects index-pack pack-objects merge-file merge-index merge-tree merge-one-file "
      .. "rerere symbolic-ref checkout-index format-patch bundle archive difftool mergetool gui citool "
      .. "quiltimport fast-export bugreport diagnose replay history update-server-info mailinfo mailsplit",
    reason = "changes the state of the repository",
  },
  {
    id = "git-read",
    decision = "allowed",
    commands = "status log diff show blame annotate ls-files ls-tree rev-parse rev-list cat-file grep "
      .. "describe shortlog show-ref for-each-ref name-rev merge-base check-ignore check-attr "
      .. "check-mailmap count-objects diff-tree diff-index diff-files whatchanged cherry range-diff "
      .. "verify-commit verify-tag verify-pack fsck var version help show-branch show-index patch-id "
      .. "interpret-trailers stripspace column check-ref-format get-tar-commit-id "
      .. "last-modified diff-pairs reflog",
    reason = "reads the repository",
  },
}

---@class procage.GitMore
---@field command string
---@field decision "denied"|"ask"|"allowed"
---@field id string
---@field options? string  any of these: long ones may be shortened, letters combined
---@field words? string  the first operand is one of these; "-": there is no operand
---@field reason string

--- What options and the first operand make of a subcommand: every row that fits counts, and one that allows counts only when no
--- option fits another row and M.git said `ask`, or denied the subcommand by these words.
---@type procage.GitMore[]
M.git_more = {
  {
    command = "reset", options = "--hard --merge --keep", decision = "denied", id = "git-destructive",
    reason = "discards work that is in no commit",
  },
  {
    command = "checkout", options = "--force -f -B", decision = "denied", id = "git-destructive",
    reason = "discards work that is in no commit",
  },
  {
    command = "switch", options = "--force -f --discard-changes -C --force-create", decision = "denied", id = "git-destructive",
    reason = "discards work that is in no commit",
  },
  {
    command = "branch", options = "--delete -d -D --force -f -M -C --move -m --copy -c",
    decision = "denied", id = "git-destructive",
    reason = "removes or moves a branch",
  },
  {
    command = "branch",
    options = "--list -l -a --all -r --remotes --show-current --contains --no-contains --merged --no-merged --points-at",
    decision = "allowed", id = "git-read",
    reason = "lists branches",
  },
  {
    command = "branch", words = "-", decision = "allowed", id = "git-read",
    reason = "lists branches",
  },
  {
    command = "branch", options = "--edit-description --set-upstream-to -u --unset-upstream",
    decision = "denied", id = "git-config",
    reason = "writes git's configuration",
  },
  {
    command = "tag", options = "--delete -d --force -f", decision = "denied", id = "git-destructive",
    reason = "removes or moves a tag",
  },
  {
    command = "tag", options = "--list -l --contains --merged --points-at -n", decision = "allowed", id = "git-read",
    reason = "lists tags",
  },
  {
    command = "tag", words = "-", decision = "allowed", id = "git-read",
    reason = "lists tags",
  },
  {
    command = "stash", words = "drop clear", decision = "denied", id = "git-destructive",
    reason = "discards stashed work",
  },
  {
    command = "stash", words = "list show", decision = "allowed", id = "git-read",
    reason = "reads",
  },
  {
    command = "reflog", words = "expire delete drop", decision = "denied", id = "git-destructive",
    reason = "loses what could be recovered",
  },
  {
    command = "reflog", words = "- show list exists HEAD", decision = "allowed", id = "git-read",
    reason = "reads",
  },
  {
    command = "gc", options = "--prune --aggressive --force", decision = "denied", id = "git-destructive",
    reason = "loses what could be recovered",
  },
  {
    command = "worktree", words = "list", decision = "allowed", id = "git-read",
    reason = "reads",
  },
  {
    command = "worktree", options = "--force -f", decision = "denied", id = "git-destructive",
    reason = "discards work that is in no commit",
  },
  {
    command = "worktree", words = "remove prune", decision = "denied", id = "git-destructive",
    reason = "removes a worktree",
  },
  {
    command = "rm", options = "-r -f --force", decision = "denied", id = "git-destructive",
    reason = "removes files that may be in no commit",
  },
  {
    command = "commit", options = "--amend --no-verify -n --fixup --squash", decision = "ask", id = "git-state",
    reason = "rewrites the last commit, or passes hooks by",
  },
  {
    command = "rebase", options = "--exec -x", decision = "ask", id = "git-programs",
    reason = "runs commands",
  },
  {
    command = "bisect", words = "run", decision = "ask", id = "git-programs",
    reason = "runs a command",
  },
  {
    command = "remote", words = "- -v --verbose get-url", decision = "allowed", id = "git-read",
    reason = "lists remotes",
  },
  {
    command = "remote", words = "update prune", decision = "denied", id = "git-remote",
    reason = "talks to a remote",
  },
  {
    command = "notes", words = "list show", decision = "allowed", id = "git-read",
    reason = "reads notes",
  },
  {
    command = "archive", options = "--remote --exec", decision = "denied", id = "git-remote",
    reason = "talks to a remote",
  },
  {
    command = "symbolic-ref", options = "--delete -d -m", decision = "denied", id = "git-destructive",
    reason = "moves HEAD without a trace",
  },
  {
    command = "hash-object", options = "-w", decision = "ask", id = "git-state",
    reason = "writes an object",
  },
  {
    command = "grep", options = "-O --open-files-in-pager", decision = "ask", id = "git-programs",
    reason = "runs a pager",
  },
  {
    command = "diff", options = "--ext-diff --textconv", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "log", options = "--ext-diff --textconv", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "show", options = "--ext-diff --textconv", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "blame", options = "--textconv", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "grep", options = "--textconv", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "cat-file", options = "--textconv --filters", decision = "ask", id = "git-programs",
    reason = "runs what the configuration names",
  },
  {
    command = "help", options = "-w --web -i --info", decision = "ask", id = "git-programs",
    reason = "runs a browser",
  },
  {
    command = "fsck", options = "--lost-found", decision = "ask", id = "git-state",
    reason = "writes into git's directory",
  },
  {
    command = "interpret-trailers", options = "--in-place", decision = "ask", id = "git-state",
    reason = "writes a file",
  },
}

--- Keys that `git -c` may set without a question: they name no program, no path and no other machine.
M.git_settings = {
  "user.name", "user.email", "author.*", "committer.*", "color.*", "core.quotepath", "core.abbrev", "core.pager=cat",
  "core.pager=", "pager.*=false", "advice.*", "commit.gpgsign=false", "tag.gpgsign=false", "init.defaultbranch", "log.*",
  "diff.renames", "diff.context", "diff.algorithm", "diff.noprefix", "diff.mnemonicprefix", "status.*", "column.*",
  "core.autocrlf", "core.safecrlf", "merge.conflictstyle", "core.fsmonitor=false", "core.hookspath=/dev/null",
}

--- Options of git itself that take the next word.
M.git_takes = "-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix --attr-source --list-cmds"

return M
