--- Debuggers, tracers and sanitizers work on the run's own processes.

local tool = require("spec.support.tool")

describe("tracing", function()
  it("by strace follows children (FR-34)", function()
    tool.works({
      needs = { "strace" },
      run = "strace -f -qq -o trace -e trace=execve sh -c '/bin/true; /bin/true' && grep -c execve trace",
      prints = "^3\n$",
    })
  end)

  it("by strace attaches to a running process of the run", function()
    tool.works({
      needs = { "strace" },
      run = [[
        sleep 5 & p=$!
        timeout 3 strace -qq -o trace -p $p & sleep 0.5; kill $p; wait; grep -c SIGTERM trace]],
      prints = "^[12]\n$",
    })
  end)

  it("by gdb stops at a breakpoint and shows a backtrace (FR-34)", function()
    tool.works({
      needs = { "gdb", "gcc" },
      setup = [[echo 'int f(int x){return x+1;} int main(void){return f(1)-2;}' >g.c; gcc -g -O0 -o g g.c]],
      run = "gdb -q -nx -batch -ex 'set startup-with-shell off' -ex 'break f' -ex run -ex bt -ex continue ./g 2>&1",
      prints = "#0 +f %(x=1%).*#1 .* main %(%).*exited normally",
    })
  end)

  it("of a child by ptrace, process_vm_readv and pidfd_getfd works (FR-34)", function()
    tool.works({
      needs = { "gcc" },
      setup = function(b)
        b:compile([[
#define _GNU_SOURCE
#include <stdio.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
static char word[8] = "parent";
int main(void)
{
	pid_t pid = fork();
	char seen[8] = { 0 };
	struct iovec here = { seen, 8 }, there = { word, 8 };
	int pidfd, fd;

	if (pid == 0) {
		__builtin_strcpy(word, "child");
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != 8)
		return perror("process_vm_readv"), 1;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	fd = (int)syscall(438, pidfd, 1, 0);
	if (fd < 0)
		return perror("pidfd_getfd"), 1;
	printf("%s\n", seen);
	ptrace(PTRACE_CONT, pid, 0, 0);
	return 0;
}
]])
      end,
      run = "./helper",
      prints = "^child\n$",
    })
  end)
end)

describe("a sanitizer", function()
  it("checks addresses and leaks (FR-35)", function()
    tool.works({
      needs = { "gcc" },
      setup = "printf 'int main(){return 0;}' >l.c",
      run = "gcc -fsanitize=address l.c -o l && ./l && echo ok",
      prints = "^ok\n$",
    })
  end)

  it("finds a leak (FR-35)", function()
    tool.works({
      needs = { "gcc" },
      setup = [[printf '#include <stdlib.h>\nint main(){ volatile char *p = malloc(7); p = 0; return p != 0; }' >l.c]],
      run = "gcc -g -fsanitize=address l.c -o l && ./l 2>&1; echo rc=$?",
      prints = "LeakSanitizer: detected memory leaks.*rc=[1-9]%d*\n$",
    })
  end)

  it("for threads and undefined behaviour runs, and the address layout may be fixed (FR-35)", function()
    tool.works({
      needs = { "gcc", "setarch" },
      setup = "printf 'int main(){return 0;}' >t.c",
      run = "gcc -fsanitize=undefined t.c -o u && ./u && setarch -R true && "
        .. "gcc -fsanitize=thread t.c -o t && setarch -R ./t && echo ok",
      prints = "^ok\n$",
    })
  end)
end)

describe("a crash", function()
  it("ends the command by its signal, and leaves no core file", function()
    local outcome = tool.works({
      needs = { "gcc" },
      setup = [[printf 'int main(){ __builtin_trap(); }' >c.c; gcc -w -o c c.c; mkdir d; mv c d]],
      run = "cd d; ./c; echo rc=$?; ls",
      prints = "rc=132\nc",
    })
    assert.matches("rc=132\nc\n$", outcome.stdout)
  end)
end)
