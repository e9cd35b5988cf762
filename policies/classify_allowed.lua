--- Commands that need no question, and with which options: one that is not in a row asks. How the rules are applied:
--- classify_rules.lua.

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
return {
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
