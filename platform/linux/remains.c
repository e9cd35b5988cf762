/*
 * An init that is still going when its run is over: the kernel takes down the run's namespaces and mounts in its exit, which is
 * nothing that a caller has to wait for.
 *
 * Who keeps it for a while keeps a descriptor in a host that does not know of it and may close numbers. So it is looked at again
 * before it is waited for or closed.
 */
#include "remains.h"
#include "cleanup.h"
#include "held.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

struct pc_remains {
	int pid;
	struct pc_held
		process; /* pidfds have an inode each since Linux 6.9, and one for all before: so the pid is asked as well */
};

/* __WALL: one that was made beside a child of ours has no exit signal until it has exec'd. */
void pc_reap(int pidfd)
{
	siginfo_t info;

	while (waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
		;
}

int pc_process_of(int pidfd)
{
	char path[64], text[512], *line;
	cleanup_fd int fd = -1;
	ssize_t size;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size < 0)
		return 0;
	text[size] = '\0';
	line = strstr(text, "\nPid:");
	if (!line || sscanf(line + 5, "%d", &pid) != 1)
		return 0;
	return pid;
}

struct pc_remains *pc_remains_new(struct pc_process *process)
{
	struct pc_remains *remains = malloc(sizeof(*remains));

	if (!remains)
		return NULL;
	remains->pid = process->pid;
	if (pc_hold(&remains->process, &process->pidfd) < 0) {
		free(remains);
		return NULL;
	}
	return remains;
}

static bool is_ours(const struct pc_remains *remains)
{
	int pid = pc_held_is_same(&remains->process) ? pc_process_of(remains->process.fd) : 0;

	return pid == remains->pid || pid == -1;
}

static void let_go(struct pc_remains *remains)
{
	if (is_ours(remains))
		close(remains->process.fd);
	remains->process.fd = -1;
}

bool pc_remains_have_gone(struct pc_remains *remains)
{
	siginfo_t info = { 0 };
	int rc;

	if (!is_ours(remains)) {
		remains->process.fd = -1;
		return true;
	}
	do {
		rc = waitid((idtype_t)P_PIDFD, (id_t)remains->process.fd, &info, WEXITED | WNOHANG | __WALL);
	} while (rc < 0 && errno == EINTR);
	if (rc == 0 && info.si_pid == 0)
		return false;
	let_go(remains);
	return true;
}

void pc_remains_end(struct pc_remains *remains)
{
	if (!remains)
		return;
	if (is_ours(remains))
		pc_reap(remains->process.fd);
	let_go(remains);
	free(remains);
}
