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
      .. "rsync dd patch watch entr script strace ltrace perf valgrind ld.so ld-linux.so ld-linux-x86-64.so "
      .. "ld-linux-aarch64.so bwrap "
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

--- Variables that a call may add without a question. What others make programs run, load or write, nobody can list:
--- COMPILER_PATH, GNUMAKEFLAGS, DEPENDENCIES_OUTPUT, RUSTFLAGS and a hundred more.
M.harmless_variables = {
  "CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "COLORTERM", "COLUMNS", "LINES", "LANG", "LANGUAGE",
  "LC_*", "TZ", "SOURCE_DATE_EPOCH", "RUST_BACKTRACE", "RUST_LOG", "RUST_TEST_THREADS", "CARGO_TERM_COLOR",
  "CARGO_TERM_PROGRESS_WHEN", "CARGO_INCREMENTAL", "CARGO_NET_OFFLINE", "CARGO_BUILD_JOBS", "PYTHONUNBUFFERED",
  "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONFAULTHANDLER", "NODE_ENV", "GOOS", "GOARCH", "GOMAXPROCS",
  "CGO_ENABLED", "GOTRACEBACK", "CTEST_OUTPUT_ON_FAILURE", "CTEST_PARALLEL_LEVEL", "CMAKE_BUILD_PARALLEL_LEVEL",
  "CMAKE_BUILD_TYPE", "OMP_NUM_THREADS", "RAILS_ENV", "RACK_ENV", "MIX_ENV", "APP_ENV", "VERBOSE", "V",
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
---@field options? string  all options that need no question, but for `reads` and `writes`: one that is not here asks. `-O*`:
---  glued text without `=`, `,` and `/`; `-W*=`: and a plain value; `--x=y`: with this value alone
---@field reads? string  options whose value, glued or not, names what is read or is a text
---@field passes? boolean  what stands behind `--` is for the project's own program
---@field is_spaced? boolean  values of `writes` are never glued: -source is not -s ource
---@field all_verbs? boolean  each operand is one of `subcommands`
---@field assigns? string  NAME=VALUE among the operands: the names that need no question; only in rows with `options`

---@type procage.AllowedRule[]
M.allowed = {
  {
    names = "ls dir vdir cat tac head tail wc nl cut tr fold fmt pr paste join comm cmp diff stat "
      .. "du df basename dirname realpath readlink pwd md5sum sha1sum sha224sum sha256sum sha384sum "
      .. "sha512sum b2sum cksum sum od hexdump strings column expand unexpand rev tsort exa eza "
      .. "lsd",
    reason = "reads",
  },
  {
    names = "bat tokei scc",
    reason = "reads",
    options = "-p -pp -n -A -l -r -P -s -e -i -w -f -t -C --plain --number --show-all --language --line-range --style --color "
      .. "--paging --theme --wrap --decorations --tabs --list-languages --list-themes --version --help --no-config --files "
      .. "--sort --exclude --hidden --no-ignore --type --compact --by-file --no-cocomo --exclude-dir --include-ext --wide",
  },
  {
    names = "nm objdump readelf size",
    reason = "reads",
    options = "-a -A -B -C -c -D -d -e -f -g -h -H -I -i -j -l -M -n -N -o -p -P -r -R -s -S -t -T -u -V -v -w* -W -x -X -z "
      .. "--all --all-headers --demangle --disassemble --disassemble-all --dynamic --dynamic-reloc --dynamic-syms --debugging "
      .. "--debug-dump --debug-syms --defined-only --extern-only --file-header --file-headers --format --full-contents "
      .. "--headers --hex-dump --line-numbers --no-sort --no-show-raw-insn --notes --numeric-sort --print-file-name "
      .. "--print-size --program-headers --radix --reloc --relocs --section --section-headers --sections --segments "
      .. "--size-sort --source --special-syms --start-address --stop-address --string-dump --symbols --syms --totals "
      .. "--undefined-only --version --help --wide",
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
  { names = "ag ack", reason = "searches", pattern_first = true, asks = { "--pager", "--ackrc" } },
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
    names = "make gmake bmake",
    reason = "builds the project",
    asks = { "--eval", "--file", "-f", "-S", "--script" },
    options = "-j* -k -s -n -B -i -q -r -R -w -p -t -l* -O* -v -h -d --jobs --keep-going --silent --quiet --dry-run "
      .. "--just-print "
      .. "--recon --always-make --no-print-directory --print-directory --print-data-base --debug --trace --ignore-errors "
      .. "--question --warn-undefined-variables --no-builtin-rules --no-builtin-variables --load-average --output-sync "
      .. "--version --help",
    reads = "-C --directory",
    assigns = "V VERBOSE Q DEBUG NDEBUG RELEASE BUILD BUILD_TYPE CONFIG CONFIGURATION MODE ARCH TEST TESTS FILTER JOBS CI",
  },
  {
    names = "ninja samu",
    reason = "builds the project",
    options = "-j* -k* -l* -n -v -d* -h --version --verbose --quiet --help",
    reads = "-C",
    has_long_letters = true,
  },
  {
    names = "meson",
    reason = "builds the project",
    subcommands = "setup compile test configure introspect --version",
    options = "-v -q -j* --buildtype --reconfigure --wipe --verbose --no-rebuild --suite --no-suite --num-processes --repeat "
      .. "--print-errorlogs --list --quiet --jobs --version --help --clean --maxfail --benchmark -Dbuildtype -Dwerror "
      .. "-Doptimization -Ddebug -Db_sanitize -Db_lto -Db_coverage --targets --tests",
    reads = "-C",
    has_long_letters = true,
  },
  {
    names = "ctest",
    reason = "tests the project",
    options = "-j* -V -VV -N -Q -F --parallel --show-only --output-on-failure --rerun-failed --stop-on-failure --progress "
      .. "--timeout --repeat --no-tests --verbose --extra-verbose --quiet --schedule-random --print-labels --stop-time "
      .. "--build-config --test-load --version --help",
    reads = "-R -E -L -LE -C -I --test-dir --tests-regex --exclude-regex --label-regex --label-exclude",
    writes = { "-O", "--output-log", "--output-junit" },
    has_long_letters = true,
  },
  {
    names = "cmake",
    reason = "builds the project",
    asks = { "-P", "-E" },
    options = "-DCMAKE_BUILD_TYPE -DCMAKE_EXPORT_COMPILE_COMMANDS -DCMAKE_VERBOSE_MAKEFILE -DBUILD_* -DENABLE_*= "
      .. "-DWITH_*= -DUSE_*= "
      .. "-DBUILD_*= -DCMAKE_*_STANDARD= -G -A -L* -N -j* -t -v -W* --build --target --parallel --config --clean-first "
      .. "--verbose "
      .. "--fresh --preset --version --help --log-level --list-presets --debug-output --workflow",
    reads = "-S -B",
    has_long_letters = true,
  },
  {
    names = "cc gcc g++ c++ clang clang++ tcc",
    reason = "compiles",
    writes = { "-o", "-MF", "-aux-info", "--output", "-dumpdir" },
    asks = { "-wrapper", "-B", "-fplugin", "-specs", "--specs", "--linker", "-Xclang", "-load", "-mllvm" },
    options = "-c -S -E -g*= -O* -W*= -f* -m*= -w -s -r -v -### -H -M -MM -MD -MMD -MG -MP -C -P -dM -std --std -ansi "
      .. "-pedantic "
      .. "-pedantic-errors -pthread -pipe -shared -static -static-libgcc -static-libstdc++ -rdynamic -nostdlib -nostdinc -pie "
      .. "-no-pie -nostartfiles -nodefaultlibs -ffreestanding -fsanitize -fno-sanitize -fno-sanitize-recover -fvisibility "
      .. "-fdiagnostics-color -fmax-errors -ferror-limit -ftemplate-depth -flto -fcf-protection -fstandalone-debug "
      .. "-ffp-contract -ftrivial-auto-var-init -ftls-model -fconstexpr-steps -fmessage-length -fstrict-flex-arrays "
      .. "-print-search-dirs -dumpversion -dumpmachine --version --help -stdlib --target -target --sysroot "
      .. "-Wl,--as-needed -Wl,--no-as-needed -Wl,--gc-sections -Wl,-z,relro -Wl,-z,now -Wl,-z,defs -Wl,--no-undefined "
      .. "-Wl,-O1 -Wl,--build-id -Wl,--fatal-warnings -Wl,--export-dynamic -Wl,-E -Wl,--start-group -Wl,--end-group "
      .. "-Wl,--whole-archive -Wl,--no-whole-archive -fuse-ld=lld -fuse-ld=gold -fuse-ld=mold -fuse-ld=bfd",
    reads = "-I -isystem -iquote -idirafter -include -imacros -L -l -x -D -U -MT -MQ",
    has_long_letters = true,
    has_response_files = true,
  },
  {
    names = "rustc",
    reason = "compiles",
    writes = { "-o", "--out-dir" },
    options = "-O -g -v -V -A*= -W*= -D*= -F*= --crate-type --crate-name --edition --test --cfg --check-cfg --print --explain "
      .. "--version --verbose --cap-lints --help --error-format --color",
    reads = "-L -l",
    has_long_letters = true,
    has_response_files = true,
  },
  {
    names = "javac kotlinc ghc ocamlfind zig nim",
    reason = "compiles",
    writes = { "-o", "-d", "-h", "-s" },
    options = "-Xlint* -Xlint:* -g -source -target --release -encoding -nowarn -verbose -version -Werror -parameters "
      .. "-proc:none "
      .. "-deprecation -c -O* -v -w -W* -threaded -linkpkg --version --help",
    has_long_letters = true,
    has_response_files = true,
    is_spaced = true,
  },
  {
    names = "cargo",
    reason = "builds and tests the project",
    subcommands = "build b check c test t run r bench doc d clippy fmt nextest metadata tree "
      .. "version verify-project locate-project pkgid expand llvm-cov",
    asks = { "--config", "--manifest-path", "--git", "--registry", "-C", "-Z" },
    options = "-r -F -p -q -v -j* -e -i -d -h --release --all --workspace --all-features --no-default-features --features "
      .. "--package --lib --bin --bins --example --examples --test --tests --bench --benches --all-targets --doc --no-run "
      .. "--no-fail-fast --quiet --verbose --color --locked --offline --frozen --jobs --keep-going --profile --message-format "
      .. "--exclude --check --no-deps --format-version --edges --depth --invert --duplicates --prefix --version "
      .. "--list --help --document-private-items --ignore-rust-version --retries --test-threads --lcov --html --text --json "
      .. "--no-capture --timings",
    writes = { "--target-dir", "--output-path", "--output-dir", "--artifact-dir" },
    passes = true,
  },
  {
    names = "go",
    reason = "builds and tests the project",
    subcommands = "build test vet fmt run list doc version",
    asks = { "-exec", "-toolexec", "-vettool", "-modfile", "-overlay" },
    options = "-v -race -run -count -short -timeout -bench -benchmem -benchtime -cover -covermode -coverpkg -parallel -p -cpu "
      .. "-failfast -json -list -tags -trimpath -x -n -a -mod -shuffle -skip -m -f -deps -e -all -src -buildvcs -asan -msan "
      .. "-vet -fuzz -fuzztime -u -cmd -c -i -test -find -args",
    writes = {
      "-o", "-coverprofile", "-cpuprofile", "-memprofile", "-blockprofile", "-mutexprofile", "-trace", "-outputdir",
    },
    has_long_letters = true,
  },
  {
    names = "npm yarn pnpm",
    reason = "runs what the project's manifest says",
    subcommands = "test t tst run run-script start ls list why --version lint build",
    asks = { "--prefix", "--userconfig", "--globalconfig", "--script-shell", "-g", "--global", "--registry", "-C" },
    options = "-s -q -v -w -r --silent --quiet --if-present --workspace --workspaces --json --version --depth --all --long "
      .. "--loglevel --ignore-scripts --recursive --filter --no-color --color --offline",
    passes = true,
  },
  {
    names = "pytest py.test",
    reason = "tests the project",
    options = "-q -v -x -s -l -k -m -r* -n* --lf --ff --nf --last-failed --failed-first --new-first --sw --stepwise "
      .. "--maxfail --tb "
      .. "--collect-only --co --durations --durations-min --no-header --no-summary --color --capture --strict-markers "
      .. "--strict-config --cov-branch --cov-fail-under --cov --cov-report=term --cov-report=term-missing --no-cov "
      .. "--disable-warnings --disable-pytest-warnings --exitfirst --verbose --verbosity --quiet --showlocals --setup-show "
      .. "--fixtures --markers --version --help -h --numprocesses --dist --timeout --forked --runxfail --asyncio-mode "
      .. "--import-mode --show-capture --reruns --benchmark-skip --cache-show --pdb --full-trace",
    reads = "--deselect --ignore --ignore-glob",
    writes = { "--junitxml", "--junit-xml", "--report-log", "--log-file", "--html", "--json-report-file" },
    has_response_files = true,
  },
  {
    names = "jest vitest mocha ava",
    reason = "tests the project",
    options = "-t -i -b -w -g --coverage --no-coverage --ci --testNamePattern --testPathPattern --runInBand --bail --verbose "
      .. "--silent --maxWorkers --run --passWithNoTests --findRelatedTests --listTests --forceExit --detectOpenHandles --color "
      .. "--no-color --watch --watchAll --grep --timeout --exit --version --help --reporter=dot --reporter=verbose "
      .. "--reporter=default --reporter=spec --serial --match",
  },
  {
    names = "tsc",
    reason = "checks or compiles the project",
    options = "-b -w -v -h -t -m -d --noEmit --build --watch --pretty --strict --listFiles --showConfig --version --help "
      .. "--incremental --skipLibCheck --target --module --jsx --lib --esModuleInterop --allowJs --checkJs --declaration "
      .. "--noEmitOnError --moduleResolution --noImplicitAny --diagnostics --force --dry --verbose",
    reads = "-p --project --rootDir --baseUrl",
    writes = { "--outFile", "--outDir", "--declarationDir", "--tsBuildInfoFile" },
    has_long_letters = true,
    has_response_files = true,
  },
  {
    names = "shellcheck hadolint yamllint",
    reason = "checks the project",
    options = "-s -S -e -f -a -x -d -W -V -i -o --strict --severity --shell --format --exclude --include --enable --color "
      .. "--no-color "
      .. "--no-warnings --external-sources --check-sourced --wiki-link-count --version --help --ignore --no-fail",
  },
  {
    names = "mypy pyright flake8 pylint luacheck staticcheck checkstyle",
    reason = "checks the project",
    options = "-q -v -V -j* -s -a -d -g -E -p -m --strict --ignore-missing-imports --show-error-codes --pretty "
      .. "--no-error-summary --check-untyped-defs --follow-imports --python-version --pythonversion --platform "
      .. "--namespace-packages --explicit-package-bases --no-color-output --no-incremental --exclude --version --help "
      .. "--show-column-numbers --warn-unused-ignores --warn-unreachable --warn-return-any --disallow-untyped-defs "
      .. "--outputjson --verbose --stats --warnings --level --max-line-length --ignore --select --extend-ignore "
      .. "--extend-select --count --statistics --show-source --max-complexity --quiet --errors-only --disable --enable "
      .. "--reports --jobs --score --fail-under --output-format=json --output-format=text --output-format=colorized "
      .. "--output-format=parseable --color "
      .. "--no-color --codes --ranges --std --globals --no-unused --no-max-line-length --only -checks -tests",
    has_response_files = true,
  },
  {
    names = "cppcheck",
    reason = "checks the project",
    options = "-q -j* -v -f --enable --std --language --quiet --verbose --force --inconclusive --inline-suppr --suppress "
      .. "--error-exitcode --template --check-level --version --help --xml --xml-version --max-configs --check-config",
    reads = "-I -D -U -i -x",
    has_long_letters = true,
  },
  {
    names = "tox nox",
    reason = "tests the project",
    options = "-q -v -p -t -s -k -l -r --parallel --list --quiet --verbose --tags --version --help "
      .. "--reuse-existing-virtualenvs "
      .. "--stop-on-first-error --recreate --no-color",
    reads = "-e --env --session --sessions",
  },
  {
    -- Their -e takes code, and so does rake's -p.
    names = "busted rake",
    reason = "tests the project",
    options = "-q -v -t -n -s -k -T -l --list --quiet --verbose --tags --exclude-tags --filter --filter-out --name "
      .. "--keep-going "
      .. "--no-keep-going --repeat --shuffle --seed --version --help --suppress-pending --tasks --trace --dry-run",
  },
  {
    names = "rspec phpunit phpstan",
    reason = "tests or checks the project",
    options = "-v -t -l -e --tag --example --fail-fast --order --only-failures --seed --color --no-color --colors "
      .. "--version --help "
      .. "--group --exclude-group --testsuite --filter --stop-on-failure --stop-on-error --debug --testdox --no-coverage "
      .. "--list-tests --level --no-progress --memory-limit --verbose --dry-run --next-failure",
  },
  {
    names = "coverage",
    reason = "reports on tests",
    subcommands = "report combine erase",
    options = "-m -q -i --show-missing --skip-covered --skip-empty --fail-under --include --omit --precision --sort --version",
  },
  {
    names = "ruff",
    reason = "checks or formats the project",
    change = "all",
    change_with = { "--fix" },
    options = "-q -v -s -n -h --fix --no-fix --check --diff --select --ignore --extend-select --extend-ignore --line-length "
      .. "--target-version --quiet --silent --verbose --no-cache --exit-zero --statistics --show-fixes --preview --exclude "
      .. "--extend-exclude --output-format --unsafe-fixes --isolated --show-files --version --help --fix-only",
  },
  {
    names = "eslint",
    reason = "checks or formats the project",
    change = "all",
    change_with = { "--fix" },
    options = "-h -v --fix --fix-dry-run --fix-type --ext --max-warnings --quiet --color --no-color --no-eslintrc "
      .. "--no-inline-config "
      .. "--ignore-pattern --no-ignore --no-warn-ignored --report-unused-disable-directives --version --env --global --rule "
      .. "--debug --help --no-error-on-unmatched-pattern",
  },
  {
    names = "prettier",
    reason = "checks or formats the project",
    change = "all",
    change_with = { "--write", "-w" },
    options = "-c -w -l -u -h --check --write --list-different --no-config --no-editorconfig --loglevel --log-level "
      .. "--ignore-unknown --print-width --tab-width --use-tabs --no-semi --single-quote --jsx-single-quote --trailing-comma "
      .. "--no-bracket-spacing --arrow-parens --prose-wrap --end-of-line --version --help --no-error-on-unmatched-pattern "
      .. "--color --no-color --file-info --find-config-path --support-info",
  },
  {
    names = "clang-format",
    reason = "checks or formats the project",
    change = "all",
    change_with = { "-i" },
    options = "-i -n --i --dry-run -dry-run --Werror -Werror --style -style --verbose --version --help --sort-includes "
      .. "--fallback-style -fallback-style --lines -lines --offset --length --output-replacements-xml -output-replacements-xml "
      .. "--ferror-limit --fail-on-incomplete-format",
    reads = "--assume-filename -assume-filename",
    has_long_letters = true,
  },
  {
    names = "clang-tidy",
    reason = "checks or formats the project",
    change = "all",
    change_with = { "--fix", "-fix", "--fix-errors", "-fix-errors", "--fix-notes", "-fix-notes" },
    options = "-checks -quiet -fix -fix-errors -fix-notes -format-style -header-filter -exclude-header-filter "
      .. "-warnings-as-errors "
      .. "-list-checks -use-color -explain-config -dump-config -verify-config -system-headers -version -help -line-filter",
    reads = "-p",
    has_long_letters = true,
  },
  {
    names = "gofmt shfmt",
    reason = "checks or formats the project",
    change = "all",
    change_with = { "-w" },
    options = "-l -d -w -s -e -i -ci -bn -sr -kp -fn -ln -p -mn -f --version",
    has_long_letters = true,
  },
  {
    names = "biome rubocop markdownlint golangci-lint ktlint swiftlint typos codespell",
    reason = "checks or formats the project",
    change = "all",
    change_with = {
      "--write", "-w", "-i", "--fix", "--in-place", "-a", "-A", "--autocorrect", "--auto-correct", "--format", "-F",
      "--fix-all",
      "--write-changes", "-f", "--apply", "--safe-auto-correct", "--autocorrect-all", "--auto-correct-all",
    },
    options = "-w -i -a -A -F -f -q -v -h -L -S -s --write --fix --in-place --autocorrect --autocorrect-all --format "
      .. "--write-changes --check --lint --only --except --fail-level --parallel --list --diff --exclude --skip "
      .. "--ignore-words-list --color --no-color --display-cop-names --strict --quiet --verbose --version --help --timeout "
      .. "--fast --enable --disable",
  },
  {
    names = "black isort stylua rustfmt dotnet-format",
    reason = "formats the project",
    change = "all",
    change_without = { "--check", "--check-only", "--diff", "--dry-run" },
    options = "-q -v -l -t -S -C -c -w -m -h --check --check-only --diff --dry-run --quiet --verbose --line-length "
      .. "--target-version --fast --safe --skip-string-normalization --skip-magic-trailing-comma --preview --include --exclude "
      .. "--extend-exclude --force-exclude --version --help --profile --color --no-color --edition --atomic --filter-files "
      .. "--float-to-top --multi-line --verify --pyi",
  },
  {
    names = "dotnet swift mix",
    reason = "builds and tests the project",
    subcommands = "test compile build verify package check clean format",
    options = "-c -v -q --configuration --no-build --no-restore --verbosity --nologo --filter --parallel --quiet "
      .. "--verbose --trace "
      .. "--cover --only --exclude --seed --max-failures --version --help --force --warnings-as-errors --stale --failed",
    has_long_letters = true,
  },
  {
    names = "mvn sbt rebar3",
    reason = "builds and tests the project",
    subcommands = "test compile build verify package check clean classes testClasses format",
    asks = { "-s", "--settings" },
    options = "-q -B -e -X -T* -V -N -am -amd -fae -ff -fn -ntp --offline --quiet --batch-mode --no-transfer-progress "
      .. "-DskipTests "
      .. "-Dtest -Dmaven.test.skip --version --help",
    has_long_letters = true,
    all_verbs = true,
  },
  {
    names = "gradle gradlew",
    reason = "builds and tests the project",
    subcommands = "test compile build verify package check clean classes testClasses format",
    asks = { "--init-script", "-I", "-s", "--settings" },
    options = "-q -x -v -w --offline --quiet --no-daemon --info --debug --stacktrace --warning-mode --continue --parallel "
      .. "--rerun-tasks --tests --no-build-cache --build-cache --console --version --help",
    has_long_letters = true,
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
