/*
 * natively.so, preloaded into a host that runs under valgrind: takes past valgrind what it does not know (docs/checking.md).
 *
 * Valgrind interprets a program, and answers ENOSYS where a system call has no description in it: seccomp(2), Landlock's. A child
 * in the host's memory it makes a copy of. But it can be asked to let the processor itself run a function (VALGRIND_NON_SIMD_CALL).
 * So run the functions below, which are those of the library that make such calls, unchanged: all else of the host is checked, and
 * the child is what it always is. They keep to the library's rules for a child (no libc, no allocator, nothing of a thread), for
 * a thread's memory is not the host's there but valgrind's. Outside of valgrind this object does nothing.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <valgrind/memcheck.h>
#include <valgrind/valgrind.h>

#include "core/arena.h"
#include "platform/linux/image.h"
#include "platform/linux/sys.h"
#include "platform/platform.h"

struct call {
	unsigned long function;
	unsigned long words[6];
};

/* Runs on the processor, on a stack of valgrind's. */
static unsigned long run(unsigned long thread, struct call *call)
{
	typedef unsigned long function(unsigned long, unsigned long, unsigned long, unsigned long, unsigned long,
				       unsigned long);
	const unsigned long *words = call->words;

	(void)thread;
	return ((function *)call->function)(words[0], words[1], words[2], words[3], words[4], words[5]);
}

static unsigned long run_call(unsigned long thread, struct call *call)
{
	const unsigned long *words = call->words;

	(void)thread;
	return (unsigned long)pc_sys6((long)call->function, (long)words[0], (long)words[1], (long)words[2], (long)words[3],
				      (long)words[4], (long)words[5]);
}

#define WORD(value) ((unsigned long)(uintptr_t)(value))

/* The wrapped function, with up to six words. */
#define NATIVELY(...)                                            \
	({                                                       \
		OrigFn original;                                 \
		struct call call = { .words = { __VA_ARGS__ } }; \
                                                                 \
		VALGRIND_GET_ORIG_FN(original);                  \
		call.function = original.nraddr;                 \
		VALGRIND_NON_SIMD_CALL1(run, &call);             \
	})

/* In whatever object it is. */
#define WRAPPED(name) I_WRAP_SONAME_FNNAME_ZU(Za, name)

/* What the kernel, or a function that valgrind does not see, has written. */
static void written(const void *at, size_t size)
{
	if (at)
		(void)VALGRIND_MAKE_MEM_DEFINED(at, size);
}

/* ---- Children ------------------------------------------------------------------------------------------------------------ */

long WRAPPED(pc_clone_call)(unsigned long flags, void *top, int *pidfd, int (*fn)(void *), void *arg, uint32_t *shared);

long WRAPPED(pc_clone_call)(unsigned long flags, void *top, int *pidfd, int (*fn)(void *), void *arg, uint32_t *shared)
{
	long pid = (long)NATIVELY(flags, WORD(top), WORD(pidfd), WORD(fn), WORD(arg), WORD(shared));

	written(pidfd, sizeof(*pidfd));
	return pid;
}

/* ---- Landlock ------------------------------------------------------------------------------------------------------------ */

int WRAPPED(pc_landlock_abi)(void);

int WRAPPED(pc_landlock_abi)(void)
{
	return (int)NATIVELY(0);
}

int WRAPPED(pc_landlock_errata)(uint32_t *errata);

int WRAPPED(pc_landlock_errata)(uint32_t *errata)
{
	int rc = (int)NATIVELY(WORD(errata));

	written(errata, sizeof(*errata));
	return rc;
}

int WRAPPED(pc_landlock_create)(const struct pc_landlock_handled *want, struct pc_landlock_handled *clipped);

int WRAPPED(pc_landlock_create)(const struct pc_landlock_handled *want, struct pc_landlock_handled *clipped)
{
	int fd = (int)NATIVELY(WORD(want), WORD(clipped));

	written(clipped, sizeof(*clipped));
	return fd;
}

int WRAPPED(pc_ruleset_add_rules)(const struct pc_image *image, int ruleset_fd, struct pc_inode *room, uint32_t *failed_op);

int WRAPPED(pc_ruleset_add_rules)(const struct pc_image *image, int ruleset_fd, struct pc_inode *room, uint32_t *failed_op)
{
	return (int)NATIVELY(WORD(image), WORD(ruleset_fd), WORD(room), WORD(failed_op));
}

int WRAPPED(pc_landlock_add_path)(int ruleset_fd, const char *path, uint64_t access, bool nofollow);

int WRAPPED(pc_landlock_add_path)(int ruleset_fd, const char *path, uint64_t access, bool nofollow)
{
	return (int)NATIVELY(WORD(ruleset_fd), WORD(path), access, nofollow);
}

int WRAPPED(pc_landlock_add_port)(int ruleset_fd, uint16_t port, uint64_t access);

int WRAPPED(pc_landlock_add_port)(int ruleset_fd, uint16_t port, uint64_t access)
{
	return (int)NATIVELY(WORD(ruleset_fd), port, access);
}

/* ---- Paths --------------------------------------------------------------------------------------------------------------- */

int WRAPPED(pc_open_resolved)(const char *path);

int WRAPPED(pc_open_resolved)(const char *path)
{
	return (int)NATIVELY(WORD(path));
}

/* ---- Lua's memory -------------------------------------------------------------------------------------------------------- */

/* Each block is one of malloc's, which valgrind knows. */
void *I_REPLACE_SONAME_FNNAME_ZU(Za, pc_arena_resize)(void *data, void *block, size_t old_size, size_t new_size);

void *I_REPLACE_SONAME_FNNAME_ZU(Za, pc_arena_resize)(void *data, void *block, size_t old_size, size_t new_size)
{
	(void)data, (void)old_size;
	if (new_size)
		return realloc(block, new_size);
	free(block);
	return NULL;
}

/* ---- Calls by number ----------------------------------------------------------------------------------------------------- */

/* Of valgrind 3.19 and later, some of them. */
static const long unknown[] = {
	SYS_seccomp, SYS_openat2, SYS_faccessat2, SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal
};

static bool is_unknown(long number)
{
	size_t i;

	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		if (unknown[i] == number)
			return true;
	return false;
}

long I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, syscall)(long number, long a, long b, long c, long d, long e, long f);

long I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, syscall)(long number, long a, long b, long c, long d, long e, long f)
{
	struct call call = { .function = WORD(number), .words = { WORD(a), WORD(b), WORD(c), WORD(d), WORD(e), WORD(f) } };
	OrigFn original;
	long result;

	VALGRIND_GET_ORIG_FN(original);
	if (!is_unknown(number)) {
		CALL_FN_W_7W(result, original, number, a, b, c, d, e, f);
		return result;
	}
	result = (long)VALGRIND_NON_SIMD_CALL1(run_call, &call);
	if (number == SYS_seccomp && result >= 0)
		written((const void *)c, sizeof(struct seccomp_notif_sizes));
	if (!pc_sys_failed(result))
		return result;
	errno = (int)-result;
	return -1;
}
