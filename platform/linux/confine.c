/*
 * Confines the calling process for good, all its threads: reads and the network stay open, writes reach the given trees alone.
 * A backstop for a process that runs commands; what those may do is a plan's matter.
 */
#include "cleanup.h"
#include "here.h"
#include "../platform.h"
#include "uapi.h"

#include <errno.h>
#include <stdint.h>

/* Everything that changes a file or a directory. */
#define WRITES                                                                                            \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |       \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |    \
	 LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE)

/* Devices that hold nothing, and terminals: a program that cannot write these does not work. */
static const char *const devices[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
};

static int count_one(void *count, const char *name, const char *kind)
{
	(void)name;
	(void)kind;
	++*(unsigned int *)count;
	return 0;
}

static int add_devices(int ruleset, uint64_t writes)
{
	const uint64_t access = writes & (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE);
	size_t i;
	int rc;

	for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		rc = pc_landlock_add_path(ruleset, devices[i], access, false);
		if (rc < 0 && rc != -ENOENT)
			return rc;
	}
	return 0;
}

/* A tree is resolved, so a link in it was planted since. */
static int add_trees(int ruleset, const char *const *trees, uint64_t writes, const char **failed)
{
	int rc;

	for (; *trees; trees++) {
		rc = pc_landlock_add_path(ruleset, *trees, writes, true);
		if (rc < 0) {
			*failed = *trees;
			return rc;
		}
	}
	return 0;
}

static unsigned int confined;

unsigned int pc_confined_times(void)
{
	return __atomic_load_n(&confined, __ATOMIC_RELAXED);
}

int pc_confine_process(const char *const *trees, struct pc_confine_failure *failure)
{
	struct pc_landlock_handled want = { 0 }, clipped;
	cleanup_fd int ruleset = -1;
	unsigned int threads = 0;
	bool reaches_all;
	int abi, rc;

	*failure = (struct pc_confine_failure) { 0 };
	abi = pc_landlock_abi();
	if (abi < 0)
		return abi;
	reaches_all = pc_landlock_mask(PC_LANDLOCK_RESTRICT, abi) & LANDLOCK_RESTRICT_SELF_TSYNC;
	if (!reaches_all) {
		/* Source: proc_pid_task(5). */
		rc = pc_list_directory("/proc/self/task", 1u << 20, count_one, &threads);
		if (rc < 0)
			return rc;
		/* A second one is only ever made by the first, which is here. */
		if (threads != 1) {
			failure->threads = threads;
			return -EBUSY;
		}
	}
	want.fs = WRITES & pc_landlock_mask(PC_LANDLOCK_FS, abi);
	rc = ruleset = pc_landlock_create(&want, &clipped);
	if (rc < 0)
		return rc;
	/* Nobody makes devices in a tree that commands write. */
	rc = add_trees(ruleset, trees, want.fs & ~(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK),
		       &failure->path);
	if (rc == 0)
		rc = add_devices(ruleset, want.fs);
	if (rc == 0)
		rc = pc_no_new_privs();
	/* With TSYNC the siblings get no_new_privs and the domain, or nobody does. */
	/* Runs that were started before are not under it. */
	__atomic_add_fetch(&confined, 1, __ATOMIC_RELAXED);
	if (rc == 0)
		rc = pc_landlock_restrict(ruleset, reaches_all ? LANDLOCK_RESTRICT_SELF_TSYNC : 0);
	return rc;
}
