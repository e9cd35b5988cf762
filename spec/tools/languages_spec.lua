--- Other languages' tools: Rust, Go, Java, Perl, Lua.

local box = require("spec.support.box")
local tool = require("spec.support.tool")

--- Where this machine has cargo, if whoever runs this can use it: rustup keeps toolchains in somebody's home.
---@return { PATH: string, RUSTUP_HOME?: string, CARGO_HOME?: string }?
local function find_cargo()
  local places = {
    { PATH = "/usr/local/bin:/usr/bin:/bin" },
    { PATH = "/usr/local/cargo/bin:/usr/bin:/bin", RUSTUP_HOME = "/usr/local/rustup" },
    { PATH = "/root/.cargo/bin:/usr/bin:/bin", RUSTUP_HOME = "/root/.rustup" },
  }
  for _, place in ipairs(places) do
    local environment = place.RUSTUP_HOME and ("RUSTUP_HOME=%s "):format(place.RUSTUP_HOME) or ""
    if select(2, box.shell(("env PATH=%s %scargo --version && env PATH=%s %srustc --version"):format(
      place.PATH, environment, place.PATH, environment))) then
      return place
    end
  end
end

describe("cargo", function()
  local env = find_cargo()

  local function works(case)
    if not env then
      return pending("cargo is not installed, or not for this user")
    end
    case.box = case.box or {}
    case.box.host_env = env
    case.options = { timeout_ms = 60000 }
    return tool.works(case)
  end

  it("makes, builds, tests and runs a project offline (FR-21)", function()
    works({
      run = [[
        set -e; cargo new -q --vcs none app; cd app
        printf '#[test]\nfn sums() { assert_eq!(1 + 1, 2); }\nfn main() { println!("built"); }\n' >src/main.rs
        cargo build -q --offline; cargo test -q --offline 2>&1 | grep 'test result'; ./target/debug/app]],
      prints = "1 passed.*built\n$",
    })
  end)

  it("builds a workspace with a dependency by path and a build script", function()
    works({
      setup = function(b)
        local package = '[package]\nname = "%s"\nversion = "0.1.0"\nedition = "2021"\n'
        b:write("workspace/Cargo.toml", package:format("app") .. '[dependencies]\nlib = { path = "lib" }\n')
        b:write("workspace/build.rs", 'fn main() { println!("cargo:rustc-env=MADE=script"); }\n')
        b:write("workspace/src/main.rs", 'fn main() { println!("{} {}", lib::f(), env!("MADE")); }\n')
        b:write("workspace/lib/Cargo.toml", package:format("lib"))
        b:write("workspace/lib/src/lib.rs", "pub fn f() -> u32 { 7 }\n")
      end,
      run = "cargo run -q --offline",
      prints = "^7 script\n$",
    })
  end)

  it("finds CARGO_HOME where the environment says it is (FR-21)", function()
    works({
      box = {},
      setup = 'mkdir -p "$HOME/elsewhere/cargo/registry"',
      run = [[
        export CARGO_HOME="$HOME/elsewhere/cargo"
        cargo new -q --vcs none c && cd c && cargo build -q --offline && ./target/debug/c]],
      prints = "Hello",
    })
  end)
end)

describe("go", function()
  it("builds and tests a module offline", function()
    tool.works({
      needs = { "go" },
      setup = function(b)
        b:write("workspace/go.mod", "module app\n\ngo 1.19\n")
        b:write("workspace/main.go", 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("built") }\n')
        b:write("workspace/main_test.go", 'package main\n\nimport "testing"\n\nfunc TestIt(t *testing.T) { main() }\n')
      end,
      run = "go vet ./... && go test ./... && go run .",
      options = { timeout_ms = 90000 },
      prints = "built\n$",
    })
  end)
end)

describe("java", function()
  it("compiles, packs and runs with threads and temporary files", function()
    tool.works({
      needs = { "javac", "jar" },
      setup = function(b)
        b:write("workspace/T.java", [[
import java.nio.file.*; import java.util.concurrent.*;
public class T {
  public static void main(String[] a) throws Exception {
    Path p = Files.createTempFile(Path.of(System.getenv().getOrDefault("TMPDIR", "/tmp")), "t", ".x");
    Files.writeString(p, "x");
    ExecutorService e = Executors.newFixedThreadPool(2);
    System.out.println(e.submit(() -> 41 + 1).get() + " " + Files.size(p)); e.shutdown(); Files.delete(p);
    System.out.println(new String(new ProcessBuilder("echo", "child").start().getInputStream().readAllBytes()));
  }
}
]])
      end,
      options = { timeout_ms = 60000 },
      run = "javac -d out T.java && jar cfe t.jar T -C out . && java -jar t.jar",
      prints = "42 1\nchild\n",
    })
  end)

  it("connects to its own server", function()
    tool.works({
      needs = { "java" },
      setup = function(b)
        b:write("workspace/S.java", [[
import java.net.*;
public class S {
  public static void main(String[] a) throws Exception {
    ServerSocket s = new ServerSocket(0);
    Socket c = new Socket("localhost", s.getLocalPort()); s.accept().getOutputStream().write(65);
    System.out.println((char) c.getInputStream().read()); System.exit(0);
  }
}
]])
      end,
      options = { timeout_ms = 60000 },
      run = "java S.java",
      prints = "^A\n$",
      unless = tool.no_loopback,
    })
  end)
end)

describe("perl and lua", function()
  it("run, fork, and load their modules", function()
    tool.works({
      needs = { "perl" },
      run = {
        "perl",
        "-MFile::Temp=tempfile",
        "-e",
        [[my ($h, $n) = tempfile(DIR => $ENV{TMPDIR} || "/tmp"); print $h "x"; close $h; print -s $n, "\n"; unlink $n;
          wait if fork; print "p\n"]],
      },
      prints = "^1\n.*p\n",
    })
    tool.works({ needs = { "lua5.4" }, run = { "lua5.4", "-e", "print(require('cjson').encode({1}))" }, prints = "^%[1%]\n$" })
  end)
end)
