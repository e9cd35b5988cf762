--- node and npm run unchanged: a clean install from a warm cache with its scripts, threads, children, watchers.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

--- A project with a dependency that is in npm's cache, and in no registry that could be reached.
local function project(b)
  b:write("outside/dep/package.json", [[
{ "name": "dep", "version": "1.0.0", "bin": { "dep": "cli.js" },
  "scripts": { "install": "node -e \"require('fs').writeFileSync('built', process.env.npm_package_name)\"" } }
]])
  b:write("outside/dep/index.js", "module.exports = () => 'dep says hello';\n")
  b:write("outside/dep/cli.js", "#!/usr/bin/env node\nconsole.log(require('./index.js')());\n")
  b:write("workspace/package.json", [[
{ "name": "app", "version": "1.0.0", "private": true, "dependencies": { "dep": "^1.0.0" },
  "scripts": { "postinstall": "echo post >post", "test": "dep && node -e \"console.log(require('dep')())\"" } }
]])
  b:setup([[set -e
    cd "$OUTSIDE/dep"; npm pack --silent >/dev/null; npm cache add ./dep-1.0.0.tgz --silent
    sum=$(openssl dgst -sha512 -binary dep-1.0.0.tgz | base64 -w0)
    cat >"$WS/package-lock.json" <<END
{ "name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
  "": { "name": "app", "version": "1.0.0", "hasInstallScript": true, "dependencies": { "dep": "^1.0.0" } },
  "node_modules/dep": { "version": "1.0.0", "resolved": "https://registry.npmjs.org/dep/-/dep-1.0.0.tgz",
    "integrity": "sha512-$sum", "hasInstallScript": true, "bin": { "dep": "cli.js" } } } }
END]])
end

local install = "npm ci --offline --no-audit --no-fund 2>&1 && npm test --silent && cat post node_modules/dep/built"

describe("npm", function()
  it("installs from a warm cache, with lifecycle scripts, and runs a script", function()
    tool.works({
      needs = { "npm", "openssl" },
      setup = project,
      run = install,
      prints = "added 1 package.*dep says hello\ndep says hello\npost\ndep$",
    })
  end)

  it("does so where the home has an .npmrc with a token, which stays unread", function()
    box.skip_without("npm")
    local b <close> = box.new()
    project(b)
    b:write("home/.npmrc", "//registry.npmjs.org/:_authToken=npm_s3cret\nloglevel=error\n")
    local outcome = b:run(install .. "; cat ~/.npmrc")
    assert.matches("dep says hello", outcome.stdout, 1, true)
    assert.not_matches("s3cret", outcome.stdout .. outcome.stderr, 1, true)
  end)

  it("packs, and installs a dependency from a file and from a directory", function()
    tool.works({
      needs = { "npm" },
      setup = function(b)
        b:write("workspace/packages/one/package.json", '{ "name": "one", "version": "1.0.0" }')
        b:write("workspace/packages/one/index.js", "module.exports = 1;\n")
        b:write("workspace/packages/two/package.json", '{ "name": "two", "version": "1.0.0" }')
        b:write("workspace/packages/two/index.js", "module.exports = 2;\n")
        b:write("workspace/package.json", [[{ "name": "app", "version": "1.0.0", "dependencies":
          { "one": "file:packages/one", "two": "file:two-1.0.0.tgz" } }]])
      end,
      run = "npm pack --silent ./packages/two && npm install --offline --no-audit --no-fund --silent && "
        .. [[node -e 'console.log(require("one") + require("two"))']],
      prints = "^two%-1%.0%.0%.tgz\n3\n$",
    })
  end)
end)

describe("node", function()
  it("has worker threads, forked and spawned children", function()
    tool.works({
      needs = { "node" },
      setup = function(b)
        b:write("workspace/child.js", "process.send('forked');\n")
        b:write("workspace/main.js", [[
const cp = require("child_process"), { Worker } = require("worker_threads");
new Worker("require('worker_threads').parentPort.postMessage('threaded')", { eval: true }).on("message", (m) => {
  console.log(m);
  cp.fork("./child.js").on("message", (n) => {
    console.log(n);
    console.log(cp.execSync("echo spawned").toString().trim());
    cp.spawn("sh", ["-c", "exit 3"]).on("exit", (code) => console.log(code));
  });
});
]])
      end,
      run = "timeout 15 node main.js",
      prints = "^threaded\nforked\nspawned\n3\n$",
    })
  end)

  it("watches files, and writes them whole", function()
    tool.works({
      needs = { "node" },
      setup = function(b)
        b:write("workspace/main.js", [[
const fs = require("fs");
fs.watch(".", (event, name) => {
  if (name === "made") { console.log(fs.readFileSync(name, "utf8") || "empty"); process.exit(0); }
});
setTimeout(() => { fs.writeFileSync("made.tmp", "whole"); fs.renameSync("made.tmp", "made"); }, 50);
]])
      end,
      run = "timeout 10 node main.js",
      prints = "^whole\n$",
    })
  end)

  it("starts a program whose PATH begins with a hidden directory (FR-33)", function()
    tool.works({
      needs = { "node" },
      setup = 'mkdir -p "$HOME/.ssh/bin"',
      run = [[
        PATH="$HOME/.ssh/bin:$PATH" node -e '
          require("child_process").spawn("true").on("error", (e) => { console.log(e.code); process.exit(1) })
            .on("exit", (c) => console.log("rc", c))']],
      prints = "^rc 0\n$",
    })
  end)
end)
