/*
 * stray MODE MARK SECONDS: starts processes that would outlive their parent, says "ready" and exits 0. Each has MARK in its
 * command line and ends by itself after SECONDS, so that a test that lets one go leaves nothing for long. Those that live for
 * less than it takes to look write into the file MARK.beat in the working directory, a byte a generation.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct timespec deadline;
static int ready[2], beat_fd = -1, seconds;

static void beat(void)
{
	if (write(beat_fd, ".", 1) < 0)
		_exit(9);
}

static int is_over(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > deadline.tv_sec || (now.tv_sec == deadline.tv_sec && now.tv_nsec > deadline.tv_nsec);
}

static void say_ready(void)
{
	if (write(ready[1], "r", 1) < 0)
		_exit(9);
}

static void stay(void)
{
	while (!is_over())
		usleep(20000);
	_exit(0);
}

static void mute(void)
{
	int signal_number;

	for (signal_number = 1; signal_number < 64; signal_number++)
		signal(signal_number, SIG_IGN);
}

/* A daemon as the books have it. */
static void mode_daemon(void)
{
	if (fork())
		return;
	setsid();
	if (fork())
		_exit(0);
	mute();
	say_ready();
	stay();
}

static void mode_stopped(void)
{
	if (fork())
		return;
	setsid();
	say_ready();
	for (;;)
		raise(SIGSTOP);
}

/* A tracer in a session of its own, and a tracee that stands still for it, also on its way out. */
static void mode_traced(void)
{
	int pid, status;

	if (fork())
		return;
	setsid();
	pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(9);
		raise(SIGSTOP);
		stay();
	}
	if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		_exit(9);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(long)PTRACE_O_TRACEEXIT);
	say_ready();
	stay();
}

/* Holds the output open and writes on. */
static void mode_writer(void)
{
	if (fork())
		return;
	setsid();
	say_ready();
	while (!is_over() && write(1, "x", 1) == 1)
		usleep(1000);
	_exit(0);
}

/* Takes the orphans of what it starts, in place of whoever looks after the run. */
static void mode_subreaper(void)
{
	int i;

	if (fork())
		return;
	setsid();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (i = 0; i < 5; i++) {
		if (fork() == 0) {
			if (fork())
				_exit(0);
			setsid();
			mute();
			stay();
		}
		wait(NULL);
	}
	mute();
	say_ready();
	stay();
}

/* A sister instead of a child. */
static void mode_sister(void)
{
	long pid = syscall(SYS_clone, (long)(CLONE_PARENT | SIGCHLD), 0, 0, 0, 0);

	if (pid < 0)
		_exit(9);
	if (pid)
		return;
	setsid();
	say_ready();
	stay();
}

#define VFORKS 40

static char vfork_stacks[VFORKS][8192] __attribute__((aligned(16)));
static int vfork_depth;

static int next_vfork(void *unused)
{
	int at = vfork_depth++;

	if (at < VFORKS - 1)
		clone(next_vfork, vfork_stacks[at] + sizeof(vfork_stacks[at]), CLONE_VM | CLONE_VFORK | SIGCHLD, unused);
	else
		say_ready();
	stay();
	return 0;
}

/* Each sleeps in the kernel until the next one has ended. */
static void mode_vforks(void)
{
	if (fork())
		return;
	setsid();
	next_vfork(NULL);
}

static void *stay_thread(void *unused)
{
	(void)unused;
	say_ready();
	stay();
	return NULL;
}

/* The leader has ended; the process has not. */
static void mode_leaderless(void)
{
	pthread_t thread;

	if (fork())
		return;
	setsid();
	pthread_create(&thread, NULL, stay_thread, NULL);
	pthread_exit(NULL);
}

/*
 * Sixteen relays, each runner of which starts the next one and is gone: a number that was read is nobody's by then. A thousand
 * runners for each second asked for; the last ones stay. Unconfined their corpses are left to the system's init, who takes time.
 */
static void mode_relay(void)
{
	atomic_int *births = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int i, most = 1000 * seconds;

	for (i = 0; i < 16; i++) {
		if (fork())
			continue;
		if (i == 15)
			say_ready();
		for (;;) {
			setsid();
			if (is_over())
				_exit(0);
			if (atomic_fetch_add(births, 1) >= most)
				stay();
			beat();
			if (fork())
				_exit(0);
		}
	}
}

/* Each starts two more and goes, without end but for a few hundred at a time: a machine without limits is not to be hurt. */
static void mode_storm(void)
{
	enum { MOST = 300 };
	atomic_int *alive = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (fork())
		return;
	setsid();
	say_ready();
	while (!is_over()) {
		if (atomic_fetch_add(alive, 2) >= MOST) {
			atomic_fetch_sub(alive, 2);
			usleep(500);
			continue;
		}
		beat();
		if (fork() == 0)
			continue;
		if (fork() == 0)
			continue;
		atomic_fetch_sub(alive, 1);
		_exit(0);
	}
	_exit(0);
}

/* First attacks whoever looks after it, then leaves a daemon. */
static void attack_parent(void)
{
	struct rlimit none = { 0, 0 };
	int parent = getppid();

	prlimit(parent, RLIMIT_NOFILE, &none, NULL);
	prlimit(parent, RLIMIT_CPU, &none, NULL);
	kill(parent, SIGSTOP);
	kill(parent, SIGKILL);
	syscall(SYS_tgkill, parent, parent, SIGKILL);
	ptrace(PTRACE_SEIZE, parent, NULL, NULL);
}

static void mode_parricide(void)
{
	mode_daemon();
	attack_parent();
}

/* Stops whoever looks after it again and again, and stays. */
static void mode_stopper(void)
{
	int parent = getppid();

	if (fork())
		return;
	setsid();
	say_ready();
	while (!is_over()) {
		kill(parent, SIGSTOP);
		usleep(100);
	}
	_exit(0);
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "daemon", mode_daemon }, { "stopped", mode_stopped },	      { "traced", mode_traced },
	{ "writer", mode_writer }, { "subreaper", mode_subreaper },   { "sister", mode_sister },
	{ "vforks", mode_vforks }, { "leaderless", mode_leaderless }, { "relay", mode_relay },
	{ "storm", mode_storm },   { "parricide", mode_parricide },   { "stopper", mode_stopper },
};

int main(int argc, char **argv)
{
	char byte, file[200];
	size_t i;

	if (argc != 4 || pipe(ready) < 0)
		return 2;
	snprintf(file, sizeof(file), "%s.beat", argv[2]);
	if (!strcmp(argv[1], "relay") || !strcmp(argv[1], "storm"))
		beat_fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	/* Whatever happens, it is over then. */
	clock_gettime(CLOCK_MONOTONIC, &deadline);
	seconds = atoi(argv[3]);
	deadline.tv_sec += seconds;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		modes[i].run();
		close(ready[1]);
		if (read(ready[0], &byte, 1) != 1)
			return 3;
		puts("ready");
		return 0;
	}
	return 2;
}
