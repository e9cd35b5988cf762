/*
 * Runs that were started ahead, in a host that does not know of them: one that closes numbers, forks, is killed. Each case is a
 * host of its own, a child of this program.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "spec/support/lua_host.h"

static const char script[] =
	"package.path = './lua/?.lua;./lua/?/init.lua;' .. package.path\n"
	"local procage, core = require('procage'), require('procage.core')\n"
	"local home = os.getenv('HOME')\n"
	"policy = assert(procage.policy.load('speccoder', {}, { root = home, home = home, prepared = true }))\n"
	/* Mounts of other tests have plans made anew: until one is there that holds. */
	"function prepare()\n"
	"  local ok, message, code = policy:prepare()\n"
	"  return ok and policy.pool.list[1].directory or code == 95 and '' or error(message)\n"
	"end\n"
	"function run()\n"
	"  local o = assert(policy:run({ '/bin/sh', '-c', 'echo out; echo err >&2; cat; exit 7', stdin = 'input' }))\n"
	"  assert(o.status == 7 and o.stdout == 'out\\ninput' and o.stderr == 'err\\n', o.stdout .. o.stderr)\n"
	"end\n"
	"function close() policy:close() end\n";

static lua_State *new_host(void)
{
	return new_lua(script);
}

/* The directory of what waits; its text stays on the stack. Ends the case where runs are not started ahead. */
static const char *prepare(lua_State *L)
{
	const char *directory;

	call(L, "prepare", 1);
	directory = lua_tostring(L, -1);
	if (!*directory)
		_exit(NOT_HERE);
	return directory;
}

/* The first child of a process; 0: none. Source: proc(5). */
static int child_of(int pid)
{
	char path[64], text[32] = "";
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = open(path, O_RDONLY);
	size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	return atoi(text);
}

/* A number that the host closes is given anew: what gets it must stay as it is, and the run be right. */
static void closes_numbers(void)
{
	lua_State *L = new_host();
	int ends[64][2], count = 0, fd, i, spare;
	char byte = 0;

	prepare(L);
	spare = child_of(getpid());
	CHECK(spare > 0);
	for (fd = 3; fd < 200; fd++)
		if (fd != report)
			close(fd);
	/* Sockets of the host's own in all of them. */
	for (i = 0; i < 20 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends[i]) == 0; i++)
		count++;
	CHECK(count == 20);
	call(L, "run", 0);
	call(L, "close", 0);
	for (i = 0; i < count; i++) {
		CHECK(fcntl(ends[i][0], F_GETFD) >= 0 && fcntl(ends[i][1], F_GETFD) >= 0);
		CHECK(recv(ends[i][0], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
		CHECK(recv(ends[i][1], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	}
	CHECK(dies(spare));
}

/*
 * After a run its init may still be going, and its number is kept until it has: what gets that number is neither closed nor
 * waited for, though it is of the same kind.
 */
static void closes_numbers_after_a_run(void)
{
	lua_State *L = new_host();
	int pidfds[20], count = 0, fd, i, child;

	prepare(L);
	call(L, "run", 0);
	for (fd = 3; fd < 200; fd++)
		if (fd != report)
			close(fd);
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	for (i = 0; i < 20; i++) {
		pidfds[i] = (int)syscall(SYS_pidfd_open, child, 0);
		count += pidfds[i] >= 0;
	}
	CHECK(count == 20);
	call(L, "run", 0);
	call(L, "close", 0);
	for (i = 0; i < count; i++)
		CHECK(fcntl(pidfds[i], F_GETFD) >= 0);
	CHECK(!is_dead(child) && kill(child, SIGKILL) == 0);
	CHECK(waitpid(child, NULL, 0) == child);
}

/* The init of the last run too is gone when the policy is closed. */
static void looks_for_children(void)
{
	lua_State *L = new_host();
	int i;

	prepare(L);
	for (i = 0; i < 5; i++)
		call(L, "run", 0);
	call(L, "close", 0);
	CHECK(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
}

/* The copy runs commands, and neither takes nor ends what the other has. */
static void forks(void)
{
	lua_State *L = new_host();
	const char *directory = prepare(L);
	int spare = child_of(getpid()), status = -1, copy;

	CHECK(spare > 0);
	copy = fork();
	if (copy == 0) {
		call(L, "run", 0);
		call(L, "close", 0);
		lua_close(L);
		_exit(0);
	}
	CHECK(waitpid(copy, &status, 0) == copy && status == 0);
	CHECK(!is_dead(spare));
	CHECK(access(directory, F_OK) == 0);
	call(L, "run", 0);
	call(L, "close", 0);
	lua_close(L);
	CHECK(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
}

/* What waits goes with it, with whatever belongs to it. */
static void is_killed(void)
{
	int ready[2], host, spare = 0;
	char byte;

	CHECK(pipe(ready) == 0);
	host = fork();
	if (host == 0) {
		prepare(new_host());
		CHECK(write(ready[1], "r", 1) == 1);
		pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		int status;

		waitpid(host, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	spare = child_of(host);
	CHECK(spare > 0 && !is_dead(spare));
	kill(host, SIGKILL);
	waitpid(host, NULL, 0);
	CHECK(dies(spare));
}

/* The end of what waits is no end of anything else. */
static void kills_what_waits(void)
{
	lua_State *L = new_host();
	int spare;

	prepare(L);
	spare = child_of(getpid());
	CHECK(spare > 0 && kill(spare, SIGKILL) == 0 && dies(spare));
	call(L, "run", 0);
	call(L, "run", 0);
	lua_close(L);
	CHECK(waitpid(-1, NULL, __WALL) < 0 && errno == ECHILD);
}

/* Somebody else waits for every child, and a number may be another process's by then. */
static void is_waited_for(void)
{
	lua_State *L = new_host();
	int spare;

	prepare(L);
	spare = child_of(getpid());
	CHECK(spare > 0 && kill(spare, SIGKILL) == 0);
	CHECK(waitpid(-1, NULL, __WALL) == spare);
	call(L, "run", 0);
	call(L, "close", 0);
	lua_close(L);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "closes numbers that it does not know", closes_numbers },
	{ "closes them after a run", closes_numbers_after_a_run },
	{ "looks for children once it has closed its policy", looks_for_children },
	{ "forks", forks },
	{ "is killed", is_killed },
	{ "kills what waits", kills_what_waits },
	{ "has waited for what was killed", is_waited_for },
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
			alarm(60);
			cases[i].run();
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			status = -1;
		if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE) {
			printf("ok - # SKIP runs are not started ahead here\n");
			continue;
		}
		all_well = all_well && status == 0;
		printf("%s - a host that %s\n", status == 0 ? "ok" : "not ok", cases[i].name);
	}
	return all_well ? 0 : 1;
}
