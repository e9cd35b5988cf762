--- What the rules of classify say of programs, whatever their words are; of those that run the command in their words; and of
--- variables that a call adds. How they are applied: classify_rules.lua.

local M = {}

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

return M
