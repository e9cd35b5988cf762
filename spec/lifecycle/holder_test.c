/*
 * What the runs of a policy have in common is kept by a process, in a host that does not know of it: one that closes numbers, forks,
 * becomes another program, changes who it is, is killed. Each case is a host of its own, a child of this program.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "spec/support/lua_host.h"

static const char script[] = "package.path = './lua/?.lua;./lua/?/init.lua;' .. package.path\n"
			     "local procage, core = require('procage'), require('procage.core')\n"
			     "local home = os.getenv('HOME')\n"
			     "local config, options = { loopback = 'policy' }, { root = home, home = home }\n"
			     "policy = assert(procage.policy.load('speccoder', config, options))\n"
			     "is_here = policy.fitted.loopback == 'policy'\n"
			     /* Which network a run is in. */
			     "function run()\n"
			     "  local o = assert(policy:run({ '/bin/sh', '-c', 'readlink /proc/self/ns/net' }))\n"
			     "  return assert(o.status == 0 and o.stdout:match('%d+'), o.stderr)\n"
			     "end\n"
			     /* One that goes on. */
			     "function start() going = assert(policy:start({ '/bin/cat', stdin = { pipe = true } })) end\n"
			     "function finish() going:close_stdin() assert(going:wait().status == 0) going = nil end\n"
			     "function close() policy:close() end\n";

static lua_State *new_host(void)
{
	lua_State *L = new_lua(script);

	lua_getglobal(L, "is_here");
	if (!lua_toboolean(L, -1))
		_exit(NOT_HERE);
	lua_pop(L, 1);
	return L;
}

/* The number of the network that a run is in. */
static unsigned long run(lua_State *L)
{
	unsigned long number;

	call(L, "run", 1);
	number = strtoul(lua_tostring(L, -1), NULL, 10);
	lua_pop(L, 1);
	CHECK(number > 0);
	return number;
}

/* The first child of a process that keeps namespaces, 0: none. Source: proc(5). */
static int keeper_of(int parent)
{
	char path[64], list[512], name[32], *at = list;
	long pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	read_text(path, list, sizeof(list));
	while ((pid = strtol(at, &at, 10)) > 0) {
		snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
		read_text(path, name, sizeof(name));
		if (!strcmp(name, "procage-holder\n"))
			return (int)pid;
	}
	return 0;
}

/* It bears its name once it has come so far. */
static int await_keeper(int parent)
{
	int i, pid = 0;

	for (i = 0; i < 500 && !pid; i++) {
		pid = keeper_of(parent);
		if (!pid)
			usleep(10000);
	}
	CHECK(pid > 0);
	return pid;
}

/* A number that it closes is given anew: what gets it must stay as it is, and runs go elsewhere but never to the host's network. */
static void closes_numbers(void)
{
	lua_State *L = new_host();
	int ends[20][2], keeper, fd, i;
	unsigned long before, own;
	char text[64] = "", byte;

	before = run(L);
	keeper = await_keeper(getpid());
	for (fd = 3; fd < 200; fd++)
		if (fd != report)
			close(fd);
	for (i = 0; i < 20; i++)
		CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends[i]) == 0);
	CHECK(dies(keeper));
	CHECK(readlink("/proc/self/ns/net", text, sizeof(text) - 1) > 0);
	own = strtoul(text + strlen("net:["), NULL, 10);
	CHECK(run(L) == run(L) && run(L) != own && before != own);
	call(L, "close", 0);
	for (i = 0; i < 20; i++) {
		CHECK(fcntl(ends[i][0], F_GETFD) >= 0 && fcntl(ends[i][1], F_GETFD) >= 0);
		CHECK(recv(ends[i][0], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
		CHECK(recv(ends[i][1], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	}
}

/* What leads to the keeper leads to another child of the host's: that one is neither entered nor killed. */
static void reuses_its_number(void)
{
	lua_State *L = new_host();
	int fd, i, child, pidfds[20];
	unsigned long own;
	char text[64] = "";

	run(L);
	for (fd = 3; fd < 200; fd++)
		if (fd != report)
			close(fd);
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	for (i = 0; i < 20; i++)
		CHECK((pidfds[i] = (int)syscall(SYS_pidfd_open, child, 0)) >= 0);
	CHECK(readlink("/proc/self/ns/net", text, sizeof(text) - 1) > 0);
	own = strtoul(text + strlen("net:["), NULL, 10);
	CHECK(run(L) != own && run(L) == run(L));
	call(L, "close", 0);
	for (i = 0; i < 20; i++)
		CHECK(fcntl(pidfds[i], F_GETFD) >= 0);
	CHECK(!is_dead(child) && kill(child, SIGKILL) == 0);
	CHECK(waitpid(child, NULL, 0) == child);
}

/* The copy has a network of its own, and ends nothing of the other's. */
static void forks(void)
{
	lua_State *L = new_host();
	int keeper, status = -1, copy;
	unsigned long before;

	before = run(L);
	keeper = await_keeper(getpid());
	copy = fork();
	if (copy == 0) {
		CHECK(run(L) != before);
		CHECK(await_keeper(getpid()) != keeper);
		call(L, "close", 0);
		lua_close(L);
		_exit(0);
	}
	CHECK(waitpid(copy, &status, 0) == copy && status == 0);
	CHECK(!is_dead(keeper) && run(L) == before);
	call(L, "close", 0);
	CHECK(is_dead(keeper));
	lua_close(L);
	CHECK(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
}

/* A host that has said that it is there, with a run going on; what keeps its network in `keeper`. */
static int host_with_run(void (*then)(int ready), int *keeper)
{
	int ready[2], host, status;
	char byte;

	CHECK(pipe(ready) == 0);
	host = fork();
	if (host == 0) {
		lua_State *L = new_host();

		call(L, "start", 0);
		CHECK(await_keeper(getpid()) > 0);
		then(ready[1]);
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(host, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	*keeper = keeper_of(host);
	CHECK(*keeper > 0);
	return host;
}

static void wait_to_be_killed(int ready)
{
	CHECK(write(ready, "r", 1) == 1);
	pause();
}

/* A child that lives on has whatever descriptors the host had. */
static void fork_and_wait(int ready)
{
	if (fork() == 0) {
		usleep(20000000);
		_exit(0);
	}
	wait_to_be_killed(ready);
}

static void is_killed(void)
{
	int keeper, host = host_with_run(wait_to_be_killed, &keeper);

	kill(host, SIGKILL);
	waitpid(host, NULL, 0);
	CHECK(dies(keeper));
}

static void is_killed_with_a_copy_left(void)
{
	int keeper, host = host_with_run(fork_and_wait, &keeper);

	kill(host, SIGKILL);
	waitpid(host, NULL, 0);
	CHECK(dies(keeper));
	/* The copy is this process's group's: let it go. */
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
}

/* The same process, but nothing of the library in it any more. */
static void becomes_another_program(void)
{
	lua_State *L = new_host();
	int ready[2], keeper, host;
	char byte;

	CHECK(pipe2(ready, O_CLOEXEC) == 0);
	host = fork();
	if (host == 0) {
		run(L);
		CHECK(await_keeper(getpid()) > 0);
		CHECK(write(ready[1], "r", 1) == 1);
		usleep(100000);
		execl("/bin/sleep", "sleep", "20", (char *)NULL);
		_exit(1);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	keeper = keeper_of(host);
	CHECK(keeper > 0 && dies(keeper) && !is_dead(host));
	kill(host, SIGKILL);
	waitpid(host, NULL, 0);
}

/* What a user namespace has of its maker: another one is to be made. */
static void changes_its_limits(void)
{
	lua_State *L = new_host();
	struct rlimit limit;
	unsigned long before;

	call(L, "start", 0);
	before = run(L);
	CHECK(run(L) == before);
	CHECK(getrlimit(RLIMIT_SIGPENDING, &limit) == 0);
	limit.rlim_cur--;
	CHECK(setrlimit(RLIMIT_SIGPENDING, &limit) == 0);
	CHECK(run(L) != before);
	CHECK(run(L) == run(L));
	call(L, "finish", 0);
	lua_close(L);
	CHECK(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
}

/* Nobody is left of the first child that enters, and the host hears of no more children than without. */
static void waits_for_any_child(void)
{
	lua_State *L = new_host();
	int i;

	signal(SIGCHLD, SIG_IGN);
	for (i = 0; i < 3; i++)
		run(L);
	call(L, "close", 0);
	lua_close(L);
	CHECK(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "closes numbers that it does not know", closes_numbers },
	{ "has given its number to another process", reuses_its_number },
	{ "forks", forks },
	{ "is killed, amid a run", is_killed },
	{ "is killed and leaves a copy of itself", is_killed_with_a_copy_left },
	{ "becomes another program", becomes_another_program },
	{ "changes its limits", changes_its_limits },
	{ "ignores its children's ends", waits_for_any_child },
};

int main(void)
{
	bool all_well = true;
	size_t i;

	report = fcntl(1, F_DUPFD_CLOEXEC, 500);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = 0;
		pid_t pid;

		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			setpgid(0, 0);
			alarm(60);
			cases[i].run();
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			status = -1;
		if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE) {
			printf("ok - # SKIP runs have no loopback in common here\n");
			continue;
		}
		all_well = all_well && status == 0;
		printf("%s - a host that %s\n", status == 0 ? "ok" : "not ok", cases[i].name);
	}
	return all_well ? 0 : 1;
}
