/* See child_stack.h. */
#include "child_stack.h"
#include "image.h"
#include "sys.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#define STACK_SIZE (64u << 10)
#define GUARD_SIZE 4096u

/* A guard page below, so that an overrun faults in the child and not in the host's memory. */
static int map_stack(char **stack)
{
	void *at = mmap(NULL, STACK_SIZE + GUARD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	if (mprotect(at, GUARD_SIZE, PROT_NONE) < 0) {
		int rc = -errno;

		munmap(at, STACK_SIZE + GUARD_SIZE);
		return rc;
	}
	*stack = at;
	return 0;
}

/* Every signal, the two that libc keeps for itself included, which sigfillset(3) leaves out. */
static long set_signals(const uint64_t *set, uint64_t *old)
{
	return pc_sys4(__NR_rt_sigprocmask, SIG_SETMASK, pc_ptr(set), pc_ptr(old), sizeof(*set));
}

int pc_clone_on_stack(unsigned long flags, int *pidfd, int (*fn)(void *), void *arg)
{
	static const uint64_t all = ~UINT64_C(0);
	uint64_t before = 0;
	char *stack = NULL;
	long pid;
	int rc;

	rc = map_stack(&stack);
	if (rc < 0)
		return rc;
	set_signals(&all, &before);
	pid = pc_clone_call(flags | CLONE_VM | CLONE_VFORK, stack + STACK_SIZE + GUARD_SIZE, pidfd, fn, arg);
	set_signals(&before, NULL);
	munmap(stack, STACK_SIZE + GUARD_SIZE);
	return (int)pid;
}
