/* Attacks on a process of doctor's that runs outside, and processes that would outlive the run. */
#include "attack.h"

#include "../uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long one that got away lives: doctor has looked by then. */
#define STRAY_LIFE_S 5

static pid_t process(const char *word)
{
	return (pid_t)strtol(word, NULL, 10);
}

static int number(const char *word)
{
	return (int)strtol(word, NULL, 10);
}

/* kill PID SIGNAL; a PID below 0 is a group */
static int send_signal(const char *const *words)
{
	return pc_attack_result(kill(process(words[0]), number(words[1])));
}

/* tgkill PID SIGNAL */
static int signal_thread(const char *const *words)
{
	return pc_attack_result(syscall(SYS_tgkill, process(words[0]), process(words[0]), number(words[1])));
}

/* sigqueue PID SIGNAL */
static int queue_signal(const char *const *words)
{
	union sigval value = { .sival_int = 1 };

	return pc_attack_result(sigqueue(process(words[0]), number(words[1]), value));
}

/* pidfd PID SIGNAL */
static int signal_pidfd(const char *const *words)
{
	int fd = (int)syscall(__NR_pidfd_open, process(words[0]), 0);

	return fd < 0 ? -errno : pc_attack_result(syscall(__NR_pidfd_send_signal, fd, number(words[1]), NULL, 0));
}

/* setown PID SIGNAL: the kernel signals the owner of a pipe that has something to read */
static int signal_owner(const char *const *words)
{
	int ends[2];

	if (pipe(ends) < 0 || fcntl(ends[0], F_SETOWN, process(words[0])) < 0 ||
	    fcntl(ends[0], F_SETSIG, number(words[1])) < 0 || fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK) < 0)
		return -errno;
	return pc_attack_result(write(ends[1], "x", 1));
}

/* ptrace PID ADDRESS: stops it and reads its memory */
static int trace(const char *const *words)
{
	pid_t pid = process(words[0]);
	char *address = (char *)(uintptr_t)strtoull(words[1], NULL, 10); /* NOLINT(performance-no-int-to-ptr) */
	long parts[8];
	size_t i;
	int status;

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0)
		return -errno;
	waitpid(pid, &status, __WALL);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		parts[i] = ptrace(PTRACE_PEEKDATA, pid, address + i * sizeof(long), NULL);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return pc_attack_tell((const char *)parts, sizeof(parts));
}

/* vm_read PID ADDRESS, vm_write PID ADDRESS TEXT */
static int read_memory(const char *const *words)
{
	char data[64];
	struct iovec ours = { data, sizeof(data) }, theirs = { NULL, sizeof(data) };

	theirs.iov_base = (void *)(uintptr_t)strtoull(words[1], NULL, 10); /* NOLINT(performance-no-int-to-ptr) */
	if (process_vm_readv(process(words[0]), &ours, 1, &theirs, 1, 0) < 0)
		return -errno;
	return pc_attack_tell(data, sizeof(data));
}

/* mem_read PID ADDRESS: by /proc */
static int read_memory_file(const char *const *words)
{
	char path[64], data[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", process(words[0]));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, data, sizeof(data), (off_t)strtoull(words[1], NULL, 10)) < 0)
		return -errno;
	return pc_attack_tell(data, sizeof(data));
}

/* getfd PID FD: takes a descriptor of it, and reads that */
static int take_descriptor(const char *const *words)
{
	int of = (int)syscall(__NR_pidfd_open, process(words[0]), 0);
	int fd = of < 0 ? -1 : (int)syscall(__NR_pidfd_getfd, of, number(words[1]), 0);
	char data[PC_ATTACK_MAX_READ];
	ssize_t size = fd < 0 ? -1 : pread(fd, data, sizeof(data), 0);

	return size < 0 ? -errno : pc_attack_tell(data, (size_t)size);
}

/* limit PID NUMBER: of its open files */
static int set_limit(const char *const *words)
{
	struct rlimit limit;

	if (prlimit(process(words[0]), RLIMIT_NOFILE, NULL, &limit) < 0)
		return -errno;
	limit.rlim_cur = (rlim_t)number(words[1]);
	return pc_attack_result(prlimit(process(words[0]), RLIMIT_NOFILE, &limit, NULL));
}

/* nice PID NUMBER */
static int set_priority(const char *const *words)
{
	return pc_attack_result(setpriority(PRIO_PROCESS, (id_t)process(words[0]), number(words[1])));
}

/* ---- Left behind ------------------------------------------------------------------------------------------------------- */

/* What stays holds no pipe of the run's; doctor finds it by its name and by the words of who started it. */
__attribute__((noreturn)) static void stay(const char *name)
{
	unsigned int fd;

	for (fd = 0; fd < 64; fd++)
		close((int)fd);
	prctl(PR_SET_NAME, name, 0, 0, 0);
	alarm(STRAY_LIFE_S);
	for (;;)
		pause();
}

/* stay_session NAME: a session of its own */
static int leave_session(const char *const *words)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		stay(words[0]);
	}
	return pc_attack_result(pid);
}

/* stay_daemon NAME: orphaned, in a session, deaf */
static int leave_daemon(const char *const *words)
{
	pid_t pid = fork();
	int signal_number;

	if (pid != 0)
		return pid < 0 ? -errno : pc_attack_result(waitpid(pid, NULL, 0));
	setsid();
	if (fork() != 0)
		_exit(0);
	for (signal_number = 1; signal_number < 64; signal_number++)
		if (signal_number != SIGALRM)
			signal(signal_number, SIG_IGN);
	stay(words[0]);
}

/* stay_sister NAME: a child of its parent's */
static int leave_sister(const char *const *words)
{
	long pid = syscall(SYS_clone, (long)(CLONE_PARENT | SIGCHLD), 0, 0, 0, 0);

	if (pid == 0) {
		setsid();
		stay(words[0]);
	}
	return pc_attack_result(pid);
}

/* stay_subreaper NAME: one that takes in orphans */
static int leave_subreaper(const char *const *words)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		setsid();
		if (fork() == 0) {
			if (fork() == 0)
				stay(words[0]);
			_exit(0);
		}
		stay(words[0]);
	}
	return pc_attack_result(pid);
}

const struct pc_attack pc_attacks_on_processes[] = {
	{ "kill", send_signal, false },
	{ "tgkill", signal_thread, false },
	{ "sigqueue", queue_signal, false },
	{ "pidfd", signal_pidfd, false },
	{ "setown", signal_owner, false },
	{ "ptrace", trace, false },
	{ "vm_read", read_memory, false },
	{ "mem_read", read_memory_file, false },
	{ "getfd", take_descriptor, false },
	{ "limit", set_limit, false },
	{ "nice", set_priority, false },
	{ "stay_session", leave_session, false },
	{ "stay_daemon", leave_daemon, false },
	{ "stay_sister", leave_sister, false },
	{ "stay_subreaper", leave_subreaper, false },
	{ NULL, NULL, false },
};
