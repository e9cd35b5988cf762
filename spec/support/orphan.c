/*
 * orphan [--plain] MARKER -- HOST [ARG...]: whether a command runs whose host was killed before the command was executed.
 *
 * Traces HOST and everything that it starts. A first time nothing is done to it, and the points are counted at which one of the
 * processes between the host and the command enters or leaves a system call: those of the run's own process from its clone to
 * its exec as init, those of init and of the command's process until that executes the command. Then HOST is started again and
 * again; each time everybody is held at another point, HOST is killed with SIGKILL, and everybody goes on: init first, and when
 * it had time to do what it does the one that was held. The command must not be executed. Before init's exec a few points are
 * tried, then some more, and the last ones before the command's exec all.
 *
 * --plain: there is no init; the first program that a child of HOST executes is the command.
 *
 * Prints "N points" and exits 0 when it never was; prints where it was and exits 1. 77: nothing can be traced here.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EARLY	    6  /* so many before init's exec */
#define MIDDLE	    16 /* after it */
#define LAST	    24
#define MOST_TASKS  64
#define MOST_POINTS 8192
#define HOLD_MS	    400
#define LIMIT_MS    20000

enum { OTHER, HOST, INIT, COMMAND };

struct task {
	pid_t tid;
	int role;
	bool is_held;
	int first_point;
};

struct trial {
	struct task tasks[MOST_TASKS];
	int task_count;
	pid_t host;
	bool is_plain;
	int kill_at; /* 0: never */
	int points, init_from, init_exec;
	pid_t executing; /* is within execve(2): what is killed now comes too late for anybody */
	bool is_killed, host_is_dead, is_released;
	bool was_executed, was_executed_late;
	long long released_at;
	char where[128];
};

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static struct task *find(struct trial *trial, pid_t tid)
{
	int i;

	for (i = 0; i < trial->task_count; i++)
		if (trial->tasks[i].tid == tid)
			return &trial->tasks[i];
	return NULL;
}

/* The process that a thread is of; 0: it has gone. */
static pid_t process_of(pid_t tid)
{
	char path[40], line[256];
	int tgid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	if (file)
		fclose(file);
	return tgid;
}

static struct task *add(struct trial *trial, pid_t tid)
{
	struct task *task = find(trial, tid);

	if (task)
		return task;
	if (trial->task_count == MOST_TASKS) {
		fputs("too many processes\n", stderr);
		exit(2);
	}
	task = &trial->tasks[trial->task_count++];
	*task = (struct task) { .tid = tid, .role = process_of(tid) == trial->host ? HOST : OTHER };
	return task;
}

static void drop(struct trial *trial, pid_t tid)
{
	struct task *task = find(trial, tid);

	if (task)
		*task = trial->tasks[--trial->task_count];
}

static bool counts(const struct trial *trial, const struct task *task)
{
	return task->role != HOST && !trial->was_executed;
}

static void resume(const struct trial *trial, struct task *task, int signal)
{
	task->is_held = false;
	ptrace(counts(trial, task) && !trial->is_killed ? PTRACE_SYSCALL : PTRACE_CONT, task->tid, 0, (long)signal);
}

static void kill_host(struct trial *trial, const struct task *task)
{
	struct __ptrace_syscall_info info = { 0 };

	ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, sizeof(info), &info);
	snprintf(trial->where, sizeof(trial->where), "point %d: %s %s system call %llu", trial->points,
		 task->role == INIT ? "init" : "a child", info.op == PTRACE_SYSCALL_INFO_ENTRY ? "entered" : "left",
		 info.op == PTRACE_SYSCALL_INFO_ENTRY ? (unsigned long long)info.entry.nr : 0ULL);
	trial->is_killed = true;
	kill(trial->host, SIGKILL);
}

/* Before there is an init it is init that is executed. */
static void note_executing(struct trial *trial, const struct task *task)
{
	struct __ptrace_syscall_info info = { 0 };

	ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, sizeof(info), &info);
	if (info.op == PTRACE_SYSCALL_INFO_EXIT && trial->executing == task->tid)
		trial->executing = 0;
	else if (info.op == PTRACE_SYSCALL_INFO_ENTRY && (info.entry.nr == SYS_execve || info.entry.nr == SYS_execveat) &&
		 (trial->init_exec || trial->is_plain))
		trial->executing = task->tid;
}

/* At a point. Whether the task stays where it is. */
static bool note_point(struct trial *trial, struct task *task)
{
	bool is_late = trial->executing;

	if (!counts(trial, task))
		return false;
	if (trial->is_killed)
		return !trial->is_released;
	note_executing(trial, task);
	/* The entry of the call itself is a point still. */
	if (is_late)
		return false;
	trial->points++;
	if (!task->first_point)
		task->first_point = trial->points;
	if (trial->points != trial->kill_at)
		return false;
	kill_host(trial, task);
	return true;
}

/* A host that starts runs ahead has more than one. */
static bool is_init(pid_t pid)
{
	char path[40], target[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	size = readlink(path, target, sizeof(target) - 1);
	target[size > 0 ? size : 0] = '\0';
	return strstr(target, "memfd:procage-init") != NULL;
}

static void note_exec(struct trial *trial, struct task *task)
{
	if (task->role == HOST)
		return;
	if (is_init(task->tid)) {
		task->role = INIT;
		trial->executing = 0;
		if (!trial->init_exec) {
			trial->init_exec = trial->points;
			trial->init_from = task->first_point;
		}
		return;
	}
	task->role = COMMAND;
	trial->was_executed = true;
	trial->was_executed_late = trial->host_is_dead;
}

static void handle_stop(struct trial *trial, struct task *task, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (signal == (SIGTRAP | 0x80)) {
		task->is_held = note_point(trial, task);
		if (!task->is_held)
			resume(trial, task, 0);
		return;
	}
	if (event == PTRACE_EVENT_EXEC)
		note_exec(trial, task);
	/* A new one begins with a SIGSTOP that is nobody's. */
	resume(trial, task, event || signal == SIGSTOP || signal == SIGTRAP ? 0 : signal);
}

/* Init goes first; the others when it is gone or has had its time. */
static void release(struct trial *trial)
{
	bool has_init = false;
	int i;

	if (!trial->host_is_dead || trial->is_released)
		return;
	if (!trial->released_at)
		trial->released_at = now_ms();
	for (i = 0; i < trial->task_count; i++) {
		if (trial->tasks[i].role != INIT)
			continue;
		has_init = true;
		if (trial->tasks[i].is_held)
			resume(trial, &trial->tasks[i], 0);
	}
	if (has_init && now_ms() - trial->released_at < HOLD_MS)
		return;
	trial->is_released = true;
	for (i = 0; i < trial->task_count; i++)
		if (trial->tasks[i].is_held)
			resume(trial, &trial->tasks[i], 0);
}

static void start(struct trial *trial, char **argv)
{
	static const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
				    PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int status;

	trial->host = fork();
	if (trial->host < 0)
		die("fork");
	if (trial->host == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(77);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (waitpid(trial->host, &status, __WALL) < 0 || !WIFSTOPPED(status)) {
		fputs("nothing can be traced here\n", stderr);
		exit(77);
	}
	if (ptrace(PTRACE_SETOPTIONS, trial->host, 0, options) < 0)
		die("PTRACE_SETOPTIONS");
	add(trial, trial->host)->role = HOST;
	ptrace(PTRACE_CONT, trial->host, 0, 0);
}

static void run(struct trial *trial, char **argv)
{
	static const struct timespec pause = { .tv_nsec = 100000 };
	long long began = now_ms();
	int status;
	pid_t tid;

	start(trial, argv);
	while (trial->task_count) {
		tid = waitpid(-1, &status, __WALL | WNOHANG);
		if (tid < 0 && errno == ECHILD)
			return;
		release(trial);
		if (now_ms() - began > LIMIT_MS) {
			fprintf(stderr, "still there after %d ms; %s\n", LIMIT_MS, trial->where);
			exit(2);
		}
		if (tid <= 0) {
			nanosleep(&pause, NULL);
			continue;
		}
		if (WIFSTOPPED(status)) {
			handle_stop(trial, add(trial, tid), status);
			continue;
		}
		if (tid == trial->host)
			trial->host_is_dead = true;
		drop(trial, tid);
	}
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static bool is_tried(const struct trial *whole, int point)
{
	int early = (whole->init_exec - whole->init_from) / EARLY + 1, middle = (whole->points - whole->init_exec) / MIDDLE + 1;

	if (point < whole->init_exec)
		return (point - whole->init_from) % early == 0;
	return point > whole->points - LAST || (point - whole->init_exec) % middle == 0;
}

int main(int argc, char **argv)
{
	bool is_plain = argc > 1 && !strcmp(argv[1], "--plain");
	const char *marker = argv[is_plain ? 2 : 1];
	struct trial whole = { .is_plain = is_plain };
	int point, tried = 0, reached = 0;

	argv += is_plain ? 4 : 3;
	if (argc < (is_plain ? 5 : 4))
		return 2;
	run(&whole, argv);
	if (!whole.was_executed || !exists(marker) || (!is_plain && !whole.init_exec)) {
		fputs("the command did not run in the first place\n", stderr);
		return 2;
	}
	if (is_plain)
		whole.init_from = whole.init_exec = 1;
	for (point = whole.init_from; point <= whole.points; point++) {
		struct trial trial = { .is_plain = is_plain, .kill_at = point };

		if (!is_tried(&whole, point))
			continue;
		unlink(marker);
		run(&trial, argv);
		tried++;
		reached += trial.is_killed;
		if (trial.is_killed && (trial.was_executed_late || (!trial.was_executed && exists(marker)))) {
			printf("executed though its host was dead; %s\n", trial.where);
			return 1;
		}
	}
	printf("%d points of %d, %d reached\n", tried, whole.points - whole.init_from + 1, reached);
	return reached > tried / 2 ? 0 : 2;
}
