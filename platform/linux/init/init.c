/*
 * The init and reaper of a run: a static program without libc, exec'd by descriptor, outside the run's Landlock domain.
 *
 * It starts the command, reaps whatever is orphaned to it, says on the status pipe how the command ended, and goes when the
 * command has ended or when the host has: its end of the control pipe then closes. As PID 1 of a PID namespace its death ends
 * every process of the run, by the kernel. Without one it is the run's subreaper and sweeps its descendants until none is left.
 */
#include "../../platform.h"
#include "../broker.h"
#include "../image.h"
#include "../sys.h"
#include "holder.h"
#include "spare.h"

#include <linux/fcntl.h>
#include <asm/signal.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/time.h>
#include <linux/wait.h>

#define AT_CWD	 (-100)
#define E_AGAIN	 11
#define E_CHILD	 10
#define E_INTR	 4
#define SIG_TRAP 5
#define SIG_KILL 9
#define SIG_TERM 15
#define SIG_CHLD 17
#define SIG_CONT 18

struct init {
	struct pc_image *image;
	struct pc_status failed; /* written by the command's child, whose memory this is until it execs */
	int ruleset_fd;
	int gate_fd;	 /* in the command's process, until it execs */
	int command;	 /* pid, 0 once reaped */
	int children_fd; /* without a PID namespace: the list of our children */
	bool ended;
	bool is_in_cgroup; /* the command, from its first instruction */
};

static unsigned char command_stack[16384] __attribute__((aligned(16)));

/* The compiler may call these whatever -fno-builtin says. */
void *memset(void *at, int byte, size_t size)
{
	unsigned char *p = at;

	while (size--)
		*p++ = (unsigned char)byte;
	return at;
}

void *memcpy(void *to, const void *from, size_t size)
{
	unsigned char *p = to;
	const unsigned char *q = from;

	while (size--)
		*p++ = *q++;
	return to;
}

static void report(const struct pc_status *status)
{
	long rc;

	do {
		rc = pc_sys_write(PC_INIT_STATUS, status, sizeof(*status));
	} while (rc == -E_INTR);
}

static __attribute__((noreturn)) void fail(uint32_t step, int error)
{
	struct pc_status status = { .kind = PC_STATUS_FAILED, .step = step, .op = PC_NO_OPERATION, .error = error };

	report(&status);
	pc_sys_exit(1);
}

static struct pc_image *map_image(void)
{
	struct pc_image *image;
	int rc;

	rc = pc_map_block(PC_INIT_IMAGE, &image);
	if (rc < 0)
		fail(PC_STEP_INIT, rc);
	pc_sys_close(PC_INIT_IMAGE);
	return image;
}

/*
 * Before the command, under the same rules, and with nothing but its own socket. Its death is no end of the run: connections
 * fail from then on.
 */
static void start_broker(struct init *init)
{
	long pid;
	int rc;

	pid = pc_sys5(__NR_clone, SIG_CHLD, 0, 0, 0, 0);
	if (pid < 0)
		fail(PC_STEP_CLONE, (int)pid);
	if (pid > 0)
		return;
	rc = pc_restrict_like_command(init->image, init->ruleset_fd);
	if (rc == 0)
		rc = (int)pc_sys3(__NR_dup3, PC_INIT_BROKER, 0, 0);
	if (rc >= 0)
		rc = pc_close_from(1);
	if (rc < 0)
		pc_sys_exit(1);
	pc_broker_main(init->image, 0);
}

static int command_main(void *arg)
{
	struct init *init = arg;

	if (init->image->flags & PC_IMAGE_SPARE)
		pc_spare_command(init->image, init->ruleset_fd, init->is_in_cgroup, init->gate_fd, &init->failed);
	else
		pc_become_command(init->image, init->ruleset_fd, init->is_in_cgroup, init->gate_fd, &init->failed);
	return 127;
}

/* It has init's memory until it execs, and init goes on: it touches nothing meanwhile that is the command's to write or read. */
static long clone_command(struct init *init)
{
	long pid;

	if (init->image->flags & PC_IMAGE_CGROUP) {
		init->is_in_cgroup = true;
		pid = pc_clone_into_cgroup(CLONE_VM, command_stack, sizeof(command_stack), PC_INIT_CGROUP, command_main, init);
		if (pid > 0)
			return pid;
		/* A container's filter knows no clone3(2): then the command moves itself, or fails by what is in its way. */
		init->is_in_cgroup = false;
	}
	return pc_clone_call(CLONE_VM | SIG_CHLD, command_stack + sizeof(command_stack), NULL, command_main, init, NULL);
}

/* Above the numbers that are closed once the command runs: it may have got one of a stream that is not there. */
static int lift(int fd)
{
	int rc;

	if (fd < 0 || fd >= PC_INIT_FREE)
		return fd;
	rc = pc_sys_fcntl(fd, F_DUPFD_CLOEXEC, PC_INIT_FREE);
	pc_sys_close(fd);
	return rc;
}

/* A pipe whose other end is the command's process's alone: it closes when that execs, or ends. */
static int open_gate(struct init *init)
{
	int pair[2], rc;

	rc = (int)pc_sys2(__NR_pipe2, pc_ptr(pair), O_CLOEXEC);
	if (rc < 0)
		return rc;
	rc = lift(pair[0]);
	init->gate_fd = lift(pair[1]);
	return rc < 0 ? rc : init->gate_fd < 0 ? init->gate_fd : rc;
}

/*
 * Whether the command's process has come through the gate while the host was there. A host that is killed before has a command
 * that never runs: who only slept until the exec (vfork) would see it too late.
 */
static bool await_exec(int gate)
{
	struct pollfd polled[2] = { { .fd = gate }, { .fd = PC_INIT_CONTROL } };
	long rc;

	do {
		rc = pc_sys5(__NR_ppoll, pc_ptr(polled), 2, 0, 0, 0);
	} while (rc == -E_INTR);
	return rc > 0 && !polled[1].revents;
}

/* False: the command does not run, or the host has gone; what was begun is to end. */
static bool start_command(struct init *init)
{
	struct pc_status started = { .kind = PC_STATUS_STARTED };
	long pid;
	int gate;

	if (init->image->flags & PC_IMAGE_BROKER)
		start_broker(init);
	gate = open_gate(init);
	if (gate < 0)
		fail(PC_STEP_INIT, gate);
	pid = clone_command(init);
	if (pid < 0)
		fail(PC_STEP_CLONE, (int)pid);
	init->command = (int)pid;
	pc_sys_close(init->gate_fd);
	if (!await_exec(gate))
		return false;
	pc_sys_close(gate);
	if (init->failed.kind) {
		report(&init->failed);
		init->command = 0;
		return false;
	}
	report(&started);
	/* The command's own streams: the host must see them end when the command's side ends, not ours. */
	pc_sys_close(0);
	pc_sys_close(1);
	pc_sys_close(2);
	pc_sys_close(PC_INIT_RULESET);
	pc_sys_close(PC_INIT_BROKER);
	pc_sys_close(PC_INIT_LISTENER);
	pc_sys_close(PC_INIT_CGROUP_PROCS);
	pc_sys_close(PC_INIT_CGROUP);
	return true;
}

static uint64_t microseconds(const struct __kernel_old_timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000u + (uint64_t)t->tv_usec;
}

/* Told before anybody else dies: a broker whose end the host sees first was killed while the command ran. */
static void command_ended(struct init *init, int wait_status, const struct rusage *usage)
{
	struct pc_status status = {
		.kind = PC_STATUS_EXITED,
		.wait_status = wait_status,
		.user_us = microseconds(&usage->ru_utime),
		.system_us = microseconds(&usage->ru_stime),
		.max_rss_kib = (uint64_t)usage->ru_maxrss,
	};

	init->command = 0;
	init->ended = true;
	report(&status);
}

static bool is_stop(int wait_status)
{
	return (wait_status & 0xff) == 0x7f;
}

/*
 * A child of ours may make us its tracer (PTRACE_TRACEME), and then stops at each signal until its tracer says more. We are none:
 * it goes on with that signal, as if nobody had traced it. A SIGTRAP is what the kernel tells a tracer of an exec.
 */
static void let_go(long pid, int wait_status)
{
	int signal = wait_status >> 8 & 0xff;

	pc_sys4(__NR_ptrace, 17 /* PTRACE_DETACH */, pid, 0, signal == SIG_TRAP ? 0 : signal);
}

/*
 * Reaps `who`, or with -1 anybody, if he is dead: his number; 0: not dead; -EAGAIN: nor that, but he had stopped for a tracer; or
 * -ECHILD: no such child.
 */
static long reap_one(struct init *init, long who)
{
	struct rusage usage = { 0 };
	int wait_status = 0;
	long pid;

	pid = pc_sys4(__NR_wait4, who, pc_ptr(&wait_status), WNOHANG | __WALL, pc_ptr(&usage));
	if (pid > 0 && is_stop(wait_status)) {
		let_go(pid, wait_status);
		return -E_AGAIN;
	}
	if (pid > 0 && pid == init->command)
		command_ended(init, wait_status, &usage);
	return pid;
}

/* Between two looks at what the host says: who stops again and again is no reason not to hear it. */
#define MOST_REAPED 256

/* Reaps all who are dead; false: so many, and there may be more. */
static bool reap(struct init *init)
{
	int left;
	long rc;

	for (left = MOST_REAPED; left; left--) {
		rc = reap_one(init, -1);
		if (rc <= 0 && rc != -E_AGAIN)
			return true;
	}
	return false;
}

/* The command leads its own session and group: -pid reaches what it started there. A stopped one is to hear of it too. */
static void ask_to_end(const struct init *init)
{
	static const int signals[] = { SIG_TERM, SIG_CONT };
	unsigned int i;

	for (i = 0; init->command && i < 2; i++)
		/* Once, not by both names: a session's leader cannot leave its group. */
		if (pc_sys2(__NR_kill, -init->command, signals[i]) < 0)
			pc_sys2(__NR_kill, init->command, signals[i]);
}

static bool host_says_end(struct init *init)
{
	char order;
	long rc;

	rc = pc_sys_read(PC_INIT_CONTROL, &order, 1);
	if (rc == -E_AGAIN || rc == -E_INTR)
		return false;
	if (rc == 1 && order == PC_ORDER_TERM) {
		ask_to_end(init);
		return false;
	}
	return true; /* an order to kill, end of file, or an error */
}

/* The host fills the ruleset meanwhile. When it has gone, or could not, nothing has begun. */
static void await_go(void)
{
	char order;
	long rc;

	do {
		rc = pc_sys_read(PC_INIT_CONTROL, &order, 1);
	} while (rc == -E_INTR);
	if (rc != 1 || order != PC_ORDER_GO)
		pc_sys_exit(1);
}

static void serve(struct init *init)
{
	uint64_t mask = UINT64_C(1) << (SIG_CHLD - 1);
	static const struct __kernel_timespec at_once;
	struct pollfd polled[2] = { { .fd = PC_INIT_CONTROL, .events = POLLIN } };
	char drained[128];
	bool is_all;
	long fd;

	/* Every signal is blocked since before the clone; SIGCHLD arrives here. */
	fd = pc_sys4(__NR_signalfd4, -1, pc_ptr(&mask), sizeof(mask), O_CLOEXEC | O_NONBLOCK);
	fd = lift((int)fd);
	if (fd < 0)
		fail(PC_STEP_INIT, (int)fd);
	polled[1] = (struct pollfd) { .fd = (int)fd, .events = POLLIN };

	/* Of a spare the command's process waits for the word, once it is all but the command. */
	if (!(init->image->flags & PC_IMAGE_SPARE))
		await_go();
	if (!start_command(init))
		return;
	for (;;) {
		is_all = reap(init);
		if (init->ended)
			return;
		pc_sys5(__NR_ppoll, pc_ptr(polled), 2, is_all ? 0 : pc_ptr(&at_once), 0, sizeof(mask));
		if (polled[1].revents)
			pc_sys_read((int)fd, drained, sizeof(drained));
		if (polled[0].revents && host_says_end(init))
			return;
	}
}

/* ---- the end of everything ---------------------------------------------------------------------------------------------- */

/*
 * As PID 1: everybody at once, and no process can start another meanwhile, since kill(-1) and fork exclude each other. All are
 * waited for: the host learns what the command had used, and that nobody is left, before the namespaces are taken down. Whoever
 * has lost his parent is our child by then.
 */
static void kill_namespace(struct init *init)
{
	struct rusage usage = { 0 };
	int wait_status = 0;
	long pid;

	pc_sys2(__NR_kill, -1, SIG_KILL);
	do {
		pid = pc_sys4(__NR_wait4, -1, pc_ptr(&wait_status), __WALL, pc_ptr(&usage));
		if (pid > 0 && pid == init->command)
			command_ended(init, wait_status, &usage);
	} while (pid > 0 || pid == -E_INTR);
}

static unsigned char children[65536];

/* Bytes of the list: a hundred children or so. */
#define STORM 600

/*
 * Short turns on the processor, and therefore early ones: among a thousand who run, each wait would take a second otherwise, in
 * which they outrun us. Not before the sweep: the command would inherit it. Source: sched_setattr(2); slices, Linux 6.12.
 */
static void hurry(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} turns = { 0 };

	if (pc_sys4(__NR_sched_getattr, 0, pc_ptr(&turns), sizeof(turns), 0) < 0 || turns.policy != 0 /* SCHED_OTHER */)
		return;
	turns.runtime = 100000;
	pc_sys3(__NR_sched_setattr, 0, pc_ptr(&turns), 0);
}

/*
 * Opened before the command runs: later it could use up every descriptor of the system, and what cannot be listed cannot be
 * killed. Source: proc(5), /proc/pid/task/tid/children (CONFIG_PROC_CHILDREN, Linux 3.5; in every distribution's kernel).
 */
static int open_children(void)
{
	return lift(pc_sys_openat(AT_CWD, "/proc/thread-self/children", O_RDONLY | O_CLOEXEC, 0));
}

/*
 * Kills every pid in the list, such as "12 34 56 ", or reaps it: one by one, since the kernel looks for anybody dead from the
 * start of the list each time, and of a storm there are thousands. None can have been given anew: a dead child keeps its number
 * until we reap it. A number cut at the buffer's end is dropped, and read whole when those before it are gone.
 *
 * Whether there was anybody to reap, or the list is full.
 */
static bool kill_children(struct init *init)
{
	long size, i, pid = 0;
	bool is_moving, is_storm;
	long rc;

	size = pc_sys4(__NR_pread64, init->children_fd, pc_ptr(children), sizeof(children), 0);
	is_moving = size == sizeof(children);
	is_storm = size > STORM;
	for (i = 0; i < size; i++) {
		if (children[i] >= '0' && children[i] <= '9') {
			pid = pid * 10 + (children[i] - '0');
			continue;
		}
		rc = pid > 1 ? reap_one(init, pid) : 1;
		if (rc == 0 || rc == -E_AGAIN) {
			/* A thousand who are dying want the processor as well, and would keep us from their children. */
			if (is_storm)
				pc_sys3(__NR_setpriority, 0 /* PRIO_PROCESS */, pid, 19);
			pc_sys2(__NR_kill, pid, SIG_KILL);
		} else if (pid > 1) {
			is_moving = true;
		}
		pid = 0;
	}
	return is_moving;
}

/*
 * Kills children until none is left; the children of a killed one become ours and are next. A failure to list them (no memory)
 * is met by trying again: this never gives up.
 */
static void sweep(struct init *init)
{
	enum { SHORTEST_NS = 50000, LONGEST_NS = 20000000 };
	static const uint64_t child = UINT64_C(1) << (SIG_CHLD - 1);
	struct __kernel_timespec pause = { .tv_nsec = SHORTEST_NS };

	/* Everybody at once, whatever they do. Source: cgroup.kill, Linux 5.14. */
	if (init->image->flags & PC_IMAGE_CGROUP)
		pc_sys_write(PC_INIT_CGROUP_KILL, "1", 1);
	hurry();
	while (reap_one(init, -1) != -E_CHILD) {
		/*
		 * Who sleeps in the kernel dies when he wakes: nothing is gained by asking all the time. A death is told at once;
		 * whose parent dies among them becomes ours without a word, and is found by the next look.
		 */
		if (kill_children(init)) {
			pause.tv_nsec = SHORTEST_NS;
			continue;
		}
		pc_sys4(__NR_rt_sigtimedwait, pc_ptr(&child), 0, pc_ptr(&pause), sizeof(child));
		if (pause.tv_nsec < LONGEST_NS)
			pause.tv_nsec *= 2;
	}
}

/* Exec keeps what the host ignores, and who ignores SIGCHLD is told of no child's end. */
static int expect_children(void)
{
	static const uint64_t fresh[4];

	return (int)pc_sys4(__NR_rt_sigaction, SIG_CHLD, pc_ptr(fresh), 0, sizeof(uint64_t));
}

/* What the sweep needs, before there is anything to sweep. */
static int become_reaper(struct init *init)
{
	int rc;

	rc = pc_sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (rc < 0)
		return rc;
	rc = init->children_fd = open_children();
	return rc < 0 ? rc : 0;
}

__attribute__((noreturn, used)) void pc_init_main(void);

void pc_init_main(void)
{
	static const struct pc_status over = { .kind = PC_STATUS_OVER };
	struct init init = { .ruleset_fd = PC_INIT_RULESET };
	int rc;

	/* Nobody may trace it or look into its memory, not even a process of the same user. */
	pc_sys_prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	init.image = map_image();
	if (init.image->flags & PC_IMAGE_HOLDER)
		pc_hold_namespaces(init.image);
	rc = expect_children();
	if (rc == 0 && init.image->flags & PC_IMAGE_REAPER)
		rc = become_reaper(&init);
	if (rc < 0)
		fail(PC_STEP_INIT, rc);
	serve(&init);
	if (init.image->flags & PC_IMAGE_REAPER)
		sweep(&init);
	else
		kill_namespace(&init);
	report(&over);
	pc_sys_exit(0);
}

/* The kernel enters here with a stack that is aligned but has no return address. */
#if defined(__x86_64__)
__asm__(".globl _start\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call pc_init_main\n"
	"	ud2\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n"
	"_start:\n"
	"	mov x29, xzr\n"
	"	bl pc_init_main\n"
	"	brk #1\n");
#endif
