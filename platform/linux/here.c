/* See here.h. */
#include "here.h"
#include "child_stack.h"
#include "cleanup.h"
#include "../platform.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* The calling thread's: each may have its own. Source: proc_pid_status(5). */
static const char *const lines[] = { "Umask:",
				     "Uid:",
				     "Gid:",
				     "Groups:",
				     "CapInh:",
				     "CapPrm:",
				     "CapEff:",
				     "CapBnd:",
				     "CapAmb:",
				     "NoNewPrivs:",
				     "Seccomp:",
				     "Seccomp_filters:",
				     "Cpus_allowed:",
				     "Mems_allowed:",
				     "NSpgid:",
				     "NSsid:",
				     "Speculation_Store_Bypass:",
				     "SpeculationIndirectBranch:" };

/* Whole; one that is not there, or tells nothing, tells that. Names below /proc/thread-self. */
static const char *const files[] = { "cgroup", "oom_score_adj", "attr/current", "attr/exec", "loginuid" };

static const char *const places[PC_HERE_PLACES] = { "/",
						    "/proc/thread-self/ns/mnt",
						    "/proc/thread-self/ns/net",
						    "/proc/thread-self/ns/user",
						    "/proc/thread-self/ns/pid_for_children",
						    "/proc/thread-self/ns/ipc",
						    "/proc/thread-self/ns/uts",
						    "/proc/thread-self/ns/cgroup",
						    "/proc/thread-self/ns/time_for_children" };
/* The rest are younger, or may be left out of a kernel. */
#define NEEDED_PLACES 5

static bool is_wanted(const char *line)
{
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strncmp(line, lines[i], strlen(lines[i])))
			return true;
	return false;
}

/* Keeps what matters of the text, in place. */
static void pick(char *text)
{
	char *to = text, *line = text;

	while (*line) {
		size_t size = strcspn(line, "\n");

		size += line[size] == '\n';
		if (is_wanted(line)) {
			memmove(to, line, size);
			to += size;
		}
		line += size;
	}
	*to = '\0';
}

static int read_status(char kept[PC_HERE_TEXT])
{
	char text[8192];
	cleanup_fd int fd = -1;
	ssize_t size;

	fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size = read(fd, text, sizeof(text) - 1);
	if (size < 0)
		return -errno;
	text[size] = '\0';
	pick(text);
	if (strlen(text) >= PC_HERE_TEXT)
		return -E2BIG;
	memcpy(kept, text, strlen(text) + 1);
	return 0;
}

static int add_file(char kept[PC_HERE_TEXT], const char *name)
{
	size_t used = strlen(kept), room = PC_HERE_TEXT - used;
	cleanup_fd int fd = -1;
	char path[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/thread-self/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, kept + used, room - 1);
	kept[used + (size > 0 ? (size_t)size : 0)] = '\0';
	if (size >= 0 && (size_t)size == room - 1)
		return -E2BIG;
	if (size < 0 && room > 8)
		snprintf(kept + used, room, "-%d\n", errno);
	return 0;
}

static int read_files(char kept[PC_HERE_TEXT])
{
	size_t i;
	int rc = 0;

	for (i = 0; i < sizeof(files) / sizeof(files[0]) && rc == 0; i++)
		rc = add_file(kept, files[i]);
	return rc;
}

static int read_limits(uint64_t limits[PC_HERE_LIMITS][2])
{
	struct rlimit limit;
	int i;

	for (i = 0; i < PC_HERE_LIMITS; i++) {
		if (getrlimit((__rlimit_resource_t)i, &limit) < 0)
			return -errno;
		limits[i][0] = limit.rlim_cur;
		limits[i][1] = limit.rlim_max;
	}
	return 0;
}

static int read_places(uint64_t found[PC_HERE_PLACES][2])
{
	struct stat st;
	int i;

	for (i = 0; i < PC_HERE_PLACES; i++) {
		if (stat(places[i], &st) < 0) {
			if (i < NEEDED_PLACES)
				return -errno;
			continue;
		}
		found[i][0] = st.st_dev;
		found[i][1] = st.st_ino;
	}
	return 0;
}

static int64_t answer(long rc)
{
	return rc < 0 ? -errno : rc;
}

#ifndef PR_GET_MDWE
#define PR_GET_MDWE 66 /* Linux 6.3 */
#endif
#ifndef PR_GET_MEMORY_MERGE
#define PR_GET_MEMORY_MERGE 68 /* Linux 6.4 */
#endif
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE	  62 /* Linux 5.14 */
#define PR_SCHED_CORE_GET 0
#endif

/* What a child has of its parent and a program of the one before. Unknown to a kernel: an answer as well. */
static void read_numbers(struct pc_here *here)
{
	static const int options[] = { PR_GET_SECUREBITS, PR_GET_TIMERSLACK,   PR_GET_THP_DISABLE, PR_MCE_KILL_GET,
				       PR_GET_IO_FLUSHER, PR_GET_MEMORY_MERGE, PR_GET_MDWE };
	unsigned long long cookie = 0;
	int64_t *to = here->numbers;
	int tsc = 0, mode = 0;
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		*to++ = answer(prctl(options[i], 0, 0, 0, 0));
	*to++ = answer(prctl(PR_GET_TSC, &tsc, 0, 0, 0)) + tsc;
	*to++ = answer(prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET, 0, 0, &cookie));
	*to++ = (int64_t)cookie;
	*to++ = answer(personality(0xffffffff));
	*to++ = answer(syscall(SYS_ioprio_get, 1 /* IOPRIO_WHO_PROCESS */, 0));
	here->turns.size = sizeof(here->turns);
	*to++ = answer(syscall(SYS_sched_getattr, 0, &here->turns, sizeof(here->turns), 0));
	/* A filter may kill for these, which few programs ask. */
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0)
		return;
	*to++ = answer(syscall(SYS_get_mempolicy, &mode, here->memory, sizeof(here->memory) * 8, 0, 0)) + mode;
	*to = answer(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
}

/* ---- What one thread may have and another not ---------------------------------------------------------------------------- */

static uint64_t own_number(void)
{
	static __thread uint64_t own;
	static atomic_uint_fast64_t given;

	if (!own)
		own = atomic_fetch_add(&given, 1) + 1;
	return own;
}

static const char *value_of(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	return at ? at + strlen(line) : NULL;
}

/* As many as every thread had when the program began, or loaded this: what a container's makers put on all of it. */
static int first_filters;

static __attribute__((constructor)) void note_filters(void)
{
	char text[PC_HERE_TEXT];
	const char *value;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) <= 0 || read_status(text) < 0)
		return;
	value = value_of(text, "Seccomp_filters:");
	first_filters = value ? atoi(value) : 0;
}

/* Takes no_new_privs, which is never taken back, or CAP_SYS_ADMIN. Source: landlock_restrict_self(2). */
static bool may_take_on_domains(const char *text)
{
	const char *given = value_of(text, "NoNewPrivs:"), *permitted = value_of(text, "CapPrm:");

	return !given || !permitted || atoi(given) || strtoull(permitted, NULL, 16) >> CAP_SYS_ADMIN & 1;
}

/* Of one thread; of a kernel that knows more, threads are never taken for each other. Source: landlock's LANDLOCK_MAX_NUM_LAYERS. */
#define MOST_DOMAINS 16
#define NOT_COUNTED  (-1000)

/* No call tells; a child that takes on as many as it can does. */
static int count_domains(int *domains)
{
	struct pc_landlock_handled want = { .fs = 1 }, clipped;
	struct pc_landlock_count count = { 0 };
	cleanup_fd int ruleset = -1;
	siginfo_t info;
	int pid;

	*domains = 0;
	if (pc_landlock_abi() < 0)
		return 0;
	ruleset = count.ruleset_fd = pc_landlock_create(&want, &clipped);
	if (ruleset < 0)
		return ruleset;
	/* Without an exit signal: no business of the host's. Source: waitid(2), __WALL. */
	pid = pc_clone_on_stack(0, NULL, pc_landlock_count_child, &count);
	if (pid < 0)
		return pid;
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | __WALL) < 0 && errno == EINTR)
		;
	*domains = MOST_DOMAINS - count.left;
	return 0;
}

static void read_thread(struct pc_here *here)
{
	const char *filters = value_of(here->text, "Seccomp_filters:");

	here->thread = own_number();
	here->filters = filters ? atoi(filters) : 0;
	here->domains = NOT_COUNTED;
}

/*
 * Whether the kernel lets this thread look into a process, which it does not where the thread has a domain that the process has
 * not. Source: proc_pid_ns(5), PTRACE_MODE_READ_FSCREDS; landlock(7), "Ptrace restrictions".
 */
static bool may_look_into(int pid)
{
	char path[64], target[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	return readlink(path, target, sizeof(target)) > 0;
}

/*
 * Counting takes a child, 0.1 ms. A child that is there tells as well: one thread's domains only become more, and where there were
 * none there are none.
 */
static int read_domains(struct pc_here *here, const struct pc_here *then, int pid)
{
	if (!may_take_on_domains(here->text))
		return 0;
	if (pid && (then->thread == here->thread || then->domains == 0) && may_look_into(pid)) {
		here->domains = then->domains;
		return 0;
	}
	return count_domains(&here->domains);
}

/* Both only grow: of one thread the count tells. Of two, who may have put on different ones, none does but where there are none. */
static bool has_same_rules(const struct pc_here *a, const struct pc_here *b)
{
	if (a->domains != b->domains)
		return false;
	if (a->thread == b->thread)
		return true;
	return (a->domains == NOT_COUNTED || a->domains == 0) && a->filters <= first_filters;
}

/* then, pid: of pc_here_still(); pid 0: there is none. */
static int read_here(struct pc_here *here, const struct pc_here *then, int pid)
{
	int rc;

	memset(here, 0, sizeof(*here));
	rc = read_status(here->text);
	if (rc == 0)
		rc = read_limits(here->limits);
	if (rc == 0)
		rc = read_places(here->places);
	if (rc == 0) {
		read_thread(here);
		rc = read_domains(here, then, pid);
	}
	if (rc == 0)
		rc = read_files(here->text);
	read_numbers(here);
	here->confined = pc_confined_times();
	return rc;
}

int pc_here_read(struct pc_here *here)
{
	return read_here(here, here, 0);
}

/* Forgotten in a fork, for good in the process: a page of its own. NULL: the kernel forgets nothing. Source: madvise(2), Linux 4.14. */
static uint64_t *forgetful_page(void)
{
	static uint64_t *page;
	uint64_t *known = __atomic_load_n(&page, __ATOMIC_ACQUIRE), *made;

	if (known)
		return known;
	made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return NULL;
	/* Two threads at once: the first one's stays. */
	if (madvise(made, 4096, MADV_WIPEONFORK) < 0 ||
	    !__atomic_compare_exchange_n(&page, &known, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		munmap(made, 4096);
	else
		known = made;
	return known;
}

uint64_t pc_process_token(void)
{
	uint64_t *page = forgetful_page(), known, made;
	struct timespec now;

	if (!page)
		return (uint64_t)getpid();
	known = __atomic_load_n(page, __ATOMIC_ACQUIRE);
	if (known)
		return known;
	clock_gettime(CLOCK_MONOTONIC, &now);
	made = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + 1;
	return __atomic_compare_exchange_n(page, &known, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? made : known;
}

bool pc_here_is_same(const struct pc_here *a, const struct pc_here *b)
{
	return !strcmp(a->text, b->text) && !memcmp(a->limits, b->limits, sizeof(a->limits)) &&
	       !memcmp(a->places, b->places, sizeof(a->places)) && !memcmp(a->numbers, b->numbers, sizeof(a->numbers)) &&
	       !memcmp(a->memory, b->memory, sizeof(a->memory)) && !memcmp(&a->turns, &b->turns, sizeof(a->turns)) &&
	       a->confined == b->confined && has_same_rules(a, b);
}

bool pc_here_still(const struct pc_here *then, int pid)
{
	struct pc_here here;

	return read_here(&here, then, pid) == 0 && pc_here_is_same(&here, then);
}
