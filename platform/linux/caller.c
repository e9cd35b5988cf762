#include "caller.h"
#include "cleanup.h"
#include "../platform.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

void pc_call_name(int number, char *text, size_t room)
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

	if (name)
		snprintf(text, room, "%s", name);
	else
		snprintf(text, room, "call %d", number);
	free(name);
}

void pc_caller_name(uint32_t tid, char *name, size_t room)
{
	cleanup_fd int fd = -1;
	char path[40];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, name, room - 1);
	name[n > 0 ? n - 1 : 0] = '\0'; /* without the newline */
}

void pc_caller_describe(const struct pc_waiting *waiting, struct pc_denial *denial)
{
	pc_call_name(waiting->number, denial->call, sizeof(denial->call));
	pc_caller_name(waiting->tid, denial->process, sizeof(denial->process));
}

/* The number that a line of /proc/tid/status holds, by its format for sscanf(3); or -errno. */
static int status_number(uint32_t tid, const char *format, unsigned int *number)
{
	char path[40], line[256];
	bool is_found = false;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	status = fopen(path, "re");
	if (!status)
		return -errno;
	while (!is_found && fgets(line, sizeof(line), status))
		is_found = sscanf(line, format, number) == 1;
	fclose(status);
	return is_found ? 0 : -ESRCH;
}

/* A pidfd of the thread, or before Linux 6.9 of its process, whose descriptors are the same unless it went out of its way. */
static int open_thread(uint32_t tid)
{
	unsigned int tgid;
	int fd, rc;

	fd = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD);
	if (fd >= 0 || errno != EINVAL)
		return fd < 0 ? -errno : fd;
	rc = status_number(tid, "Tgid: %u", &tgid);
	if (rc < 0)
		return rc;
	fd = (int)syscall(SYS_pidfd_open, tgid, 0);
	return fd < 0 ? -errno : fd;
}

int pc_caller_descriptor(uint32_t tid, int fd)
{
	cleanup_fd int thread = -1;
	int copy;

	thread = open_thread(tid);
	if (thread < 0)
		return thread;
	copy = (int)syscall(SYS_pidfd_getfd, thread, fd, 0);
	return copy < 0 ? -errno : copy;
}

int pc_caller_directory(uint32_t tid)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/cwd", tid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int pc_caller_umask(uint32_t tid)
{
	unsigned int mask;
	int rc = status_number(tid, "Umask: %o", &mask);

	return rc < 0 ? rc : (int)(mask & 0777);
}

/* The calls do not split a piece: one that ends at a page's end is there whole or not at all. */
static ssize_t read_pages(uint32_t tid, uint64_t at, void *to, size_t size)
{
	struct iovec local = { to, size }, remote[2];
	size_t first = 4096 - (size_t)(at % 4096);
	unsigned long pieces = first < size ? 2 : 1;

	remote[0] = (struct iovec) { (void *)(uintptr_t)at, pieces == 2 ? first : size };
	remote[1] = (struct iovec) { (void *)(uintptr_t)(at + first), size - first };
	return process_vm_readv((pid_t)tid, &local, 1, remote, pieces, 0);
}

int pc_caller_read(uint32_t tid, uint64_t at, void *to, size_t size)
{
	ssize_t n = read_pages(tid, at, to, size);

	if (n < 0)
		return errno == EPERM ? -EACCES : -EFAULT;
	return n == (ssize_t)size ? 0 : -EFAULT;
}

int pc_caller_read_text(uint32_t tid, uint64_t at, char *to, size_t room)
{
	const char *end;
	size_t have = 0;

	while (have < room) {
		size_t size = room - have < 4096 ? room - have : 4096;
		ssize_t n = read_pages(tid, at + have, to + have, size);

		if (n <= 0)
			return n < 0 && errno == EPERM ? -EACCES : -EFAULT;
		end = memchr(to + have, '\0', (size_t)n);
		if (end)
			return (int)(end - to);
		have += (size_t)n;
	}
	return -ENAMETOOLONG;
}
