/* See here.h. */
#include "here.h"
#include "cleanup.h"
#include "../platform.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

/* The calling thread's: each may have its own. Source: proc_pid_status(5). */
static const char *const lines[] = { "Umask:",	      "Uid:",	      "Gid:",	 "Groups:",	"CapInh:",  "CapPrm:",
				     "CapEff:",	      "CapBnd:",      "CapAmb:", "NoNewPrivs:", "Seccomp:", "Seccomp_filters:",
				     "Cpus_allowed:", "Mems_allowed:" };

static const char *const places[PC_HERE_PLACES] = { "/", "/proc/thread-self/ns/mnt", "/proc/thread-self/ns/net",
						    "/proc/thread-self/ns/user", "/proc/thread-self/ns/pid_for_children" };

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
		if (stat(places[i], &st) < 0)
			return -errno;
		found[i][0] = st.st_dev;
		found[i][1] = st.st_ino;
	}
	return 0;
}

int pc_here_read(struct pc_here *here)
{
	int rc;

	memset(here, 0, sizeof(*here));
	rc = read_status(here->text);
	if (rc == 0)
		rc = read_limits(here->limits);
	if (rc == 0)
		rc = read_places(here->places);
	here->priority = getpriority(PRIO_PROCESS, 0);
	here->scheduler = sched_getscheduler(0);
	here->confined = pc_confined_times();
	return rc;
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
	       !memcmp(a->places, b->places, sizeof(a->places)) && a->priority == b->priority && a->scheduler == b->scheduler &&
	       a->confined == b->confined;
}
