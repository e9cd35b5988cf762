/* The two programs of doctor's: who attacks, and who is attacked. */
#include "attack.h"

#include "../../platform.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* All attacks of a run, and one of them; nothing here waits longer. */
#define MAX_TASKS   (1 << 20)
#define TASK_MS	    400
#define TASK_LIFE_S 3

/* Where an attack tells what it has read. */
static int told_fd = -1;

int pc_attack_result(long rc)
{
	return rc < 0 ? -errno : 0;
}

int pc_attack_tell(const char *data, size_t size)
{
	return write(told_fd, data, size < PC_ATTACK_MAX_READ ? size : PC_ATTACK_MAX_READ) < 0 ? -errno : 0;
}

int pc_attack_tell_fd(int fd)
{
	char data[PC_ATTACK_MAX_READ];
	ssize_t size = read(fd, data, sizeof(data));

	if (size < 0)
		return -errno;
	return pc_attack_tell(data, (size_t)size);
}

int pc_attack_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = pc_attack_tell_fd(fd);
	close(fd);
	return rc;
}

int pc_attack_write(const char *path, int flags, const char *text)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags, 0600);

	return fd < 0 ? -errno : pc_attack_result(write(fd, text, strlen(text)));
}

static const struct pc_attack *find(const char *name)
{
	static const struct pc_attack *const rooms[] = {
		pc_attacks_on_files,	 pc_attacks_on_mounts, pc_attacks_on_network,
		pc_attacks_on_processes, pc_attacks_on_rest,   pc_tries,
	};
	size_t room;

	for (room = 0; room < sizeof(rooms) / sizeof(rooms[0]); room++) {
		const struct pc_attack *attack;

		for (attack = rooms[room]; attack->name; attack++)
			if (strcmp(attack->name, name) == 0)
				return attack;
	}
	return NULL;
}

static void run_attack(const struct pc_attack *attack, const char *const *words)
{
	int rc;

	/* Whatever happens, it is over then; and a file that it makes has the mode that it asks for. */
	alarm(TASK_LIFE_S);
	umask(0);
	rc = attack->run(words);
	_exit(rc < 0 ? -rc : 0);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What the attack tells, until it has ended (is_over) or its time is. */
static size_t collect(int fd, char *data, size_t room, bool *is_over)
{
	int64_t end = now_ms() + TASK_MS;
	size_t size = 0;

	*is_over = false;
	while (size < room) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		int64_t left = end - now_ms();
		ssize_t got;

		if (left <= 0 || poll(&wait, 1, (int)left) <= 0)
			break;
		got = read(fd, data + size, room - size);
		if (got <= 0) {
			*is_over = true;
			break;
		}
		size += (size_t)got;
	}
	return size;
}

/* "ID RESULT HEX\n": 0, an errno, or minus the signal that ended it. */
static void answer(int out, const char *id, int result, const char *data, size_t size)
{
	char line[64 + 2 * PC_ATTACK_MAX_READ];
	int length = snprintf(line, 64, "%.20s %d ", id, result);
	size_t i;

	for (i = 0; i < size; i++)
		length += snprintf(line + length, 3, "%02x", (unsigned char)data[i]);
	line[length++] = '\n';
	if (write(out, line, (size_t)length) < 0)
		_exit(1);
}

static void do_task(int out, const char *id, const char *name, const char *const *words)
{
	const struct pc_attack *attack = find(name);
	char data[PC_ATTACK_MAX_READ];
	int told[2], status = 0;
	bool is_over;
	size_t size;
	pid_t pid;

	if (!attack || pipe2(told, O_CLOEXEC) < 0) {
		answer(out, id, ENOSYS, "", 0);
		return;
	}
	told_fd = told[1];
	if (attack->is_light) {
		status = -attack->run(words);
		close(told[1]);
		size = collect(told[0], data, sizeof(data), &is_over);
		close(told[0]);
		answer(out, id, status, data, size);
		return;
	}
	pid = fork();
	if (pid < 0) {
		close(told[0]);
		close(told[1]);
		answer(out, id, EAGAIN, "", 0);
		return;
	}
	if (pid == 0)
		run_attack(attack, words);
	close(told[1]);
	size = collect(told[0], data, sizeof(data), &is_over);
	close(told[0]);
	if (!is_over)
		kill(pid, SIGKILL);
	/* Its alarm bounds this. */
	waitpid(pid, &status, 0);
	answer(out, id, WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status), data, size);
}

/* The next text of `size` bytes from *at on; NULL when there is none. */
static const char *next_text(const char *data, size_t size, size_t *at)
{
	const char *text = data + *at, *end;

	if (*at >= size)
		return NULL;
	end = memchr(text, '\0', size - *at);
	if (!end)
		return NULL;
	*at += (size_t)(end - text) + 1;
	return text;
}

int pc_attack_serve(int in, int out)
{
	char *data = malloc(MAX_TASKS);
	size_t size = 0, at = 0;
	ssize_t got = 0;

	if (!data)
		return 1;
	while (size < MAX_TASKS && (got = read(in, data + size, MAX_TASKS - size)) > 0)
		size += (size_t)got;
	if (got < 0)
		return 1;
	for (;;) {
		const char *id = next_text(data, size, &at), *name = next_text(data, size, &at), *words[PC_ATTACK_WORDS];
		bool is_whole = id && name;
		int i;

		for (i = 0; i < PC_ATTACK_WORDS && is_whole; i++) {
			words[i] = next_text(data, size, &at);
			is_whole = words[i] != NULL;
		}
		if (!is_whole)
			break;
		do_task(out, id, name, words);
	}
	free(data);
	return 0;
}

/* ---- The victim ------------------------------------------------------------------------------------------------------ */

static char secret[64];

/* Appends the number of a signal that has come to the file at descriptor 1. */
static void note_signal(int number)
{
	char text[] = { (char)('0' + number / 10), (char)('0' + number % 10), '\n' };

	if (write(1, text, sizeof(text)) < 0)
		return;
}

int pc_attack_victim(int in, int out)
{
	struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };
	char line[128];
	ssize_t size;
	int number;

	/* A group of its own, to be signalled as one. */
	setpgid(0, 0);
	/* As any process of the user's is, whatever procage-lua is itself. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	for (number = SIGHUP; number < 64; number++)
		if (number != SIGKILL && number != SIGSTOP && number != SIGCHLD && number != SIGPIPE)
			sigaction(number, &action, NULL);
	size = read(in, secret, sizeof(secret) - 1);
	if (size <= 0)
		return 1;
	size = snprintf(line, sizeof(line), "pid %d address %llu\n", (int)getpid(), (unsigned long long)(uintptr_t)secret);
	if (write(out, line, (size_t)size) != size)
		return 1;
	/* Until its starter closes the pipe, or is gone. */
	while ((size = read(in, line, sizeof(line))) > 0 || (size < 0 && errno == EINTR))
		;
	return 0;
}
