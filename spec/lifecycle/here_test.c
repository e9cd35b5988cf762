/*
 * What a run inherits of the thread that starts it is compared before one that was started ahead is taken: each thing that may
 * change is changed here, in a child of this program, and must be seen.
 */
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/linux/here.h"
#include "platform/platform.h"

enum { SAME = 1, NOT_HERE = 77 };

/* Each changes one thing; false: this host does not let it. */
static bool nothing(void)
{
	return true;
}

static bool change_umask(void)
{
	umask(031);
	return true;
}

static bool change_limit(void)
{
	struct rlimit limit = { 99, 99 };

	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static bool change_nice(void)
{
	return setpriority(PRIO_PROCESS, 0, 5) == 0;
}

static bool change_class(void)
{
	struct sched_param none = { 0 };

	return sched_setscheduler(0, SCHED_BATCH, &none) == 0;
}

static bool change_oom(void)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "w");

	return file && fputs("77", file) > 0 && fclose(file) == 0;
}

static bool change_io(void)
{
	return syscall(SYS_ioprio_set, 1, 0, 3 << 13) == 0;
}

static bool change_slack(void)
{
	return prctl(PR_SET_TIMERSLACK, 123456, 0, 0, 0) == 0;
}

static bool change_pages(void)
{
	return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0;
}

static bool change_personality(void)
{
	return personality(ADDR_NO_RANDOMIZE) >= 0;
}

static bool change_processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 2)
		return false;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static bool change_memory(void)
{
	unsigned long node = 1;

	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0 &&
	       syscall(SYS_set_mempolicy, 2 /* MPOL_BIND */, &node, 8 * sizeof(node)) == 0;
}

static bool change_session(void)
{
	return setsid() >= 0;
}

static bool change_keyring(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0 && syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0;
}

static bool change_privileges(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static bool add_filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static bool add_domain(void)
{
	struct pc_landlock_handled want = { .fs = 1 }, clipped;
	int fd = pc_landlock_create(&want, &clipped);

	return fd >= 0 && pc_landlock_restrict(fd, 0) == 0 && close(fd) == 0;
}

static bool change_securebits(void)
{
	return prctl(PR_SET_SECUREBITS, SECBIT_NO_CAP_AMBIENT_RAISE, 0, 0, 0) == 0;
}

static bool change_groups(void)
{
	static const gid_t group = 4321;

	return setgroups(1, &group) == 0;
}

static bool change_root(void)
{
	return chroot("/proc/self/root/.") == 0 && chroot("/proc") == 0;
}

static bool change_names(void)
{
	return unshare(CLONE_NEWUTS) == 0;
}

static bool change_ipc(void)
{
	return unshare(CLONE_NEWIPC) == 0;
}

static bool change_network(void)
{
	return unshare(CLONE_NEWNET) == 0;
}

static bool change_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0;
}

static bool change_children(void)
{
	return unshare(CLONE_NEWPID) == 0;
}

static bool change_cgroups(void)
{
	return unshare(CLONE_NEWCGROUP) == 0;
}

static const struct {
	const char *name;
	bool (*before)(void), (*change)(void);
	bool is_same;
} cases[] = {
	{ "nothing", nothing, nothing, true },
	{ "nothing in a thread that has confined itself", add_domain, nothing, true },
	{ "the umask", nothing, change_umask, false },
	{ "a limit", nothing, change_limit, false },
	{ "nice", nothing, change_nice, false },
	{ "the scheduling class", nothing, change_class, false },
	{ "oom_score_adj", nothing, change_oom, false },
	{ "the I/O priority", nothing, change_io, false },
	{ "timer slack", nothing, change_slack, false },
	{ "huge pages", nothing, change_pages, false },
	{ "the personality", nothing, change_personality, false },
	{ "processors", nothing, change_processors, false },
	{ "the memory policy", nothing, change_memory, false },
	{ "the session", nothing, change_session, false },
	{ "the session keyring", nothing, change_keyring, false },
	{ "no_new_privs", nothing, change_privileges, false },
	{ "a filter", change_privileges, add_filter, false },
	{ "a domain", change_privileges, add_domain, false },
	{ "a second domain", add_domain, add_domain, false },
	{ "securebits", nothing, change_securebits, false },
	{ "groups", nothing, change_groups, false },
	{ "the root", nothing, change_root, false },
	{ "the UTS namespace", nothing, change_names, false },
	{ "the IPC namespace", nothing, change_ipc, false },
	{ "the network namespace", nothing, change_network, false },
	{ "the mount namespace", nothing, change_mounts, false },
	{ "the PID namespace of children", nothing, change_children, false },
	{ "the cgroup namespace", nothing, change_cgroups, false },
};

/* What init is: a child of the moment, that nobody may trace. */
static int start_witness(void)
{
	int pid = fork();

	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		alarm(30);
		pause();
		_exit(0);
	}
	/* Until it is one. */
	usleep(20000);
	return pid;
}

/* By both ways; they are to agree. Where there is no way to read it nothing is taken. */
static int judge(const struct pc_here *before, int witness)
{
	struct pc_here after;
	bool is_same = pc_here_read(&after) == 0 && pc_here_is_same(before, &after);
	bool is_still = pc_here_still(before, witness);

	kill(witness, SIGKILL);
	return is_same != is_still ? 3 : is_same ? SAME : 0;
}

static void run_case(size_t i)
{
	struct pc_here before;
	int witness;

	if (!cases[i].before())
		_exit(NOT_HERE);
	witness = start_witness();
	if (pc_here_read(&before) < 0)
		_exit(2);
	if (!cases[i].change()) {
		kill(witness, SIGKILL);
		_exit(NOT_HERE);
	}
	_exit(judge(&before, witness));
}

/* ---- Two threads --------------------------------------------------------------------------------------------------------- */

struct seen {
	bool (*before)(void);
	const struct seen *first; /* of the second thread */
	struct pc_here here;
	bool is_there;
	int witness, judgement;
};

static void *look(void *arg)
{
	struct seen *seen = arg;

	seen->is_there = seen->before() && pc_here_read(&seen->here) == 0;
	if (!seen->first)
		seen->witness = start_witness();
	else
		seen->judgement = judge(&seen->first->here, seen->first->witness);
	return NULL;
}

/* Whether what one started ahead may be taken by the other. */
static int compare(bool (*first)(void), bool (*second)(void))
{
	struct seen a = { .before = first }, b = { .before = second, .first = &a };
	pthread_t thread;

	pthread_create(&thread, NULL, look, &a);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, look, &b);
	pthread_join(thread, NULL);
	return !a.is_there || !b.is_there ? NOT_HERE : b.judgement;
}

static bool add_own_filter(void)
{
	return change_privileges() && add_filter();
}

static bool add_own_domain(void)
{
	return change_privileges() && add_domain();
}

static const struct {
	const char *name;
	bool (*first)(void), (*second)(void);
	bool is_same;
} pairs[] = {
	{ "two threads", nothing, nothing, true },
	{ "two threads with filters of their own", add_own_filter, add_own_filter, false },
	{ "two threads with domains of their own", add_own_domain, add_own_domain, false },
	{ "a thread with a domain and one without", add_own_domain, change_privileges, false },
	{ "a thread without a domain and one with", change_privileges, add_own_domain, false },
};

static bool tell(const char *name, bool is_same, pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		status = 2 << 8;
	if (WEXITSTATUS(status) == NOT_HERE) {
		printf("ok - # SKIP %s: not to be changed here\n", name);
		return true;
	}
	status = WEXITSTATUS(status) == (is_same ? SAME : 0);
	printf("%s - %s: %s\n", status ? "ok" : "not ok", name, is_same ? "the same" : "seen");
	return status;
}

int main(void)
{
	bool all_well = true;
	size_t i;
	pid_t pid;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fflush(NULL);
		pid = fork();
		if (pid == 0)
			run_case(i);
		all_well = tell(cases[i].name, cases[i].is_same, pid) && all_well;
	}
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		fflush(NULL);
		pid = fork();
		if (pid == 0)
			_exit(compare(pairs[i].first, pairs[i].second));
		all_well = tell(pairs[i].name, pairs[i].is_same, pid) && all_well;
	}
	return all_well ? 0 : 1;
}
