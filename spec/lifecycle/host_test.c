/*
 * The outcome of a run is right whatever its host is like: who waits for its children, what it ignores and blocks, which
 * descriptors it has. Each case is a host of its own, a child of this program, that loads the policy and runs commands.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "core/lua_core.h"

static const char script[] =
	"package.path = './lua/?.lua;./lua/?/init.lua;' .. package.path\n"
	"local procage = require('procage')\n"
	"local home = os.getenv('HOME')\n"
	"local policy = assert(procage.policy.load('speccoder', { limits = { grace_ms = 100 } }, { root = home, home = home }))\n"
	"function check()\n"
	"  for i = 1, 5 do\n"
	"    local o = assert(policy:run({ '/bin/sh', '-c', 'echo out; echo err >&2; cat; exit 7', stdin = 'input' }))\n"
	"    assert(o.status == 7, 'status ' .. tostring(o.status) .. ' signal ' .. tostring(o.signal))\n"
	"    assert(o.stdout == 'out\\ninput', o.stdout)\n"
	"    assert(o.stderr == 'err\\n', o.stderr)\n"
	"    assert(not o.is_lost and #o.events == 0, o.events[1])\n"
	"  end\n"
	"  local o = assert(policy:run({ '/bin/sh', '-c', 'kill -SEGV $$' }))\n"
	"  assert(o.signal == 11 and not o.core_dumped)\n"
	"  o = assert(policy:run({ '/bin/sh', '-c', \"trap '' TERM; sleep 25 & while :; do :; done\", timeout_ms = 200 }))\n"
	"  assert(o.timed_out and o.signal == 9 and not o.is_lost)\n"
	/* More than a pipe holds, to a command that does not read, and SIGPIPE is ours to swallow. */
	"  o = assert(policy:run({ '/bin/sh', '-c', 'exec <&-; sleep 0.1; echo ok', stdin = ('x'):rep(1 << 20) }))\n"
	"  assert(o.status == 0 and o.stdout == 'ok\\n')\n"
	"  o = assert(policy:run({ '/bin/sh', '-c', 'trap \"\" INT; kill -INT $$; ulimit -n; cat <&0 | wc -c' }))\n"
	"  assert(o.stdout:find('\\n0\\n', 1, true), o.stdout)\n"
	"  local run = assert(policy:start({ '/bin/cat', stdin = { pipe = true } }))\n"
	"  assert(run:write('hello') == 5)\n"
	"  run:close_stdin()\n"
	"  o = run:wait()\n"
	"  assert(o.status == 0 and o.stdout == 'hello')\n"
	"end\n";

static void *wait_for_all(void *unused)
{
	(void)unused;
	for (;;)
		if (waitpid(-1, NULL, __WALL) < 0)
			usleep(200);
	return NULL;
}

static void host_of_its_own(void)
{
}

static void waits_for_anybody(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, wait_for_all, NULL))
			_exit(3);
}

static void ignores_children(void)
{
	signal(SIGCHLD, SIG_IGN);
}

static void wants_no_zombies(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT };

	sigaction(SIGCHLD, &action, NULL);
}

static void ignores_everything(void)
{
	int number;

	for (number = 1; number < NSIG; number++)
		signal(number, SIG_IGN);
}

static void blocks_everything(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static void on_signal(int number)
{
	(void)number;
}

/* A timer that interrupts every call, without SA_RESTART. */
static void is_interrupted(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	timer_t timer;
	struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };

	sigaction(SIGALRM, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, NULL, &timer) < 0 || timer_settime(timer, 0, &often, NULL) < 0)
		_exit(3);
}

static void has_no_streams(void)
{
	close(0);
	close(1);
	close(2);
}

static void has_no_input(void)
{
	close(0);
}

static void has_one_stream(void)
{
	close(0);
	close(2);
}

static void has_few_descriptors(void)
{
	struct rlimit few = { 32, 32 };

	if (setrlimit(RLIMIT_NOFILE, &few) < 0)
		_exit(3);
}

static void has_thousands_of_descriptors(void)
{
	struct rlimit many;
	int i, fd = open("/dev/null", O_RDWR);

	if (getrlimit(RLIMIT_NOFILE, &many) < 0)
		_exit(3);
	many.rlim_cur = many.rlim_max < 8000 ? many.rlim_max : 8000;
	if (setrlimit(RLIMIT_NOFILE, &many) < 0)
		_exit(3);
	/* Not close-on-exec: none of them may reach the command, which says how many it has. */
	for (i = 0; i < (int)many.rlim_cur - 100; i++)
		if (dup(fd) < 0)
			_exit(3);
}

static void has_a_strange_umask(void)
{
	umask(0777);
}

static void is_a_subreaper(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static void is_not_dumpable(void)
{
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static const struct {
	const char *name;
	void (*become)(void);
	bool reaps; /* its own children, before anybody else could */
} hosts[] = {
	{ "does nothing strange", host_of_its_own, false },
	{ "waits for any child in two threads", waits_for_anybody, true },
	{ "ignores SIGCHLD", ignores_children, true },
	{ "wants no zombies (SA_NOCLDWAIT)", wants_no_zombies, true },
	{ "ignores every signal", ignores_everything, true },
	{ "blocks every signal", blocks_everything, false },
	{ "is interrupted a thousand times a second", is_interrupted, false },
	{ "has no standard streams", has_no_streams, false },
	{ "has no standard input", has_no_input, false },
	{ "has standard output alone", has_one_stream, false },
	{ "may open 32 files", has_few_descriptors, false },
	{ "has thousands of files open", has_thousands_of_descriptors, false },
	{ "has a umask that takes everything", has_a_strange_umask, false },
	{ "is a subreaper", is_a_subreaper, false },
	{ "cannot be dumped", is_not_dumpable, false },
};

static int count_descriptors(void)
{
	int fd, count = 0;

	for (fd = 0; fd < 10000; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* What it says goes to `report`, whatever became of the standard streams. */
static int run_host(void (*become)(void), bool reaps, int report)
{
	lua_State *L = luaL_newstate();
	struct sigaction sigpipe;
	sigset_t before, after;
	int count, i;

	if (!L)
		return 3;
	become();
	luaL_openlibs(L);
	luaL_requiref(L, "procage.core", luaopen_procage_core, 0);
	lua_pop(L, 1);
	if (luaL_dostring(L, script) != LUA_OK) {
		dprintf(report, "# %s\n", lua_tostring(L, -1));
		return 3;
	}
	count = count_descriptors();
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	lua_getglobal(L, "check");
	if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
		dprintf(report, "# %s\n", lua_tostring(L, -1));
		return 1;
	}
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	if (count_descriptors() != count) {
		dprintf(report, "# %d descriptors became %d\n", count, count_descriptors());
		return 1;
	}
	for (i = 1; i < NSIG; i++) {
		if (sigismember(&before, i) != sigismember(&after, i)) {
			dprintf(report, "# the mask of signal %d changed\n", i);
			return 1;
		}
	}
	if (sigaction(SIGPIPE, NULL, &sigpipe) < 0 || sigpending(&after) < 0 || sigismember(&after, SIGPIPE)) {
		dprintf(report, "# a SIGPIPE is left\n");
		return 1;
	}
	if (!reaps && (waitpid(-1, NULL, WNOHANG | __WALL) >= 0 || errno != ECHILD)) {
		dprintf(report, "# a child is left\n");
		return 1;
	}
	return 0;
}

int main(void)
{
	bool all_well = true;
	int report = dup(1);
	size_t i;

	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		int status = 0;
		pid_t pid;

		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			alarm(60);
			fcntl(report, F_SETFD, FD_CLOEXEC);
			_exit(run_host(hosts[i].become, hosts[i].reaps, report));
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
			all_well = false;
			dprintf(report, "# status 0x%x\n", (unsigned int)status);
			printf("not ok - runs are right for a host that %s\n", hosts[i].name);
		} else {
			printf("ok - runs are right for a host that %s\n", hosts[i].name);
		}
	}
	return all_well ? 0 : 1;
}
