/* See child_stack.h. */
#include "child_stack.h"
#include "image.h"
#include "remains.h"
#include "sys.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

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

/* What surrounds a child: its stack, and the signals as they were. */
struct around {
	char *stack;
	uint64_t before;
};

/*
 * A handler that ran in the child would run in the host's memory, on the host's behalf, with another process's rights. The child
 * inherits the mask, and exec keeps it: init undoes it for the command.
 */
static int begin(struct around *around)
{
	static const uint64_t all = ~UINT64_C(0);
	int rc;

	rc = map_stack(&around->stack);
	if (rc == 0)
		set_signals(&all, &around->before);
	return rc;
}

static void *stack_top(const struct around *around)
{
	return around->stack + STACK_SIZE + GUARD_SIZE;
}

static void end(const struct around *around)
{
	set_signals(&around->before, NULL);
	munmap(around->stack, STACK_SIZE + GUARD_SIZE);
}

int pc_clone_on_stack(unsigned long flags, int *pidfd, int (*fn)(void *), void *arg)
{
	struct around around;
	long pid;
	int rc;

	rc = begin(&around);
	if (rc < 0)
		return rc;
	pid = pc_clone_call(flags | CLONE_VM | CLONE_VFORK, stack_top(&around), pidfd, fn, arg, NULL);
	end(&around);
	return (int)pid;
}

/* ---- In namespaces that are there --------------------------------------------------------------------------------------- */

/*
 * A PID namespace is made by clone(2) alone, and belongs to the user namespace of who calls that. So a first child enters, and
 * clones the second, which is the host's like any other (CLONE_PARENT), writes down what came of it, and ends. What is said below
 * of a child beside the host's thread is true of both.
 *
 * - The stack. The first has the lowest part of the second's, who is not so deep down before the first has ended.
 * - Descriptors. It has the host's table (CLONE_FILES), so that the second one's pidfd is the host's: a number that the host would
 *   have to open could be another process's by then. It opens and closes nothing else there, and the second has a copy.
 * - The end. It has no exit signal: no handler and no common wait(2) of the host's hears of it. Neither has the second until it
 *   execs. A host that waits for such children as well has it reaped: then there is none, which is as good.
 */
#define FIRST_SIZE 8192u

static long start_joining(struct pc_joining *joining, const struct around *around)
{
	*joining->pidfd = -1;
	return pc_clone_call(CLONE_VM | CLONE_FILES, around->stack + GUARD_SIZE + FIRST_SIZE, NULL, pc_join_child, joining,
			     NULL);
}

/* The second child's pid, or -errno. */
static long finish_joining(const struct pc_joining *joining, long first)
{
	while (pc_sys4(__NR_wait4, first, 0, __WCLONE, 0) == -EINTR)
		;
	/* Killed amid its last call it has told nobody of the second. */
	if (joining->pid < 0 && *joining->pidfd >= 0)
		return pc_process_of(*joining->pidfd);
	return joining->pid;
}

/* ---- Beside the host's thread -------------------------------------------------------------------------------------------- */

/*
 * What CLONE_VFORK would spare us, and why it is right nevertheless:
 *
 * - The end. The kernel clears `shared` and wakes whoever waits there when the child leaves the memory, by exec or by any death
 *   (mm_release; CLONE_CHILD_CLEARTID), the same place that ends vfork. The word, the stack and what `fn` reads are this frame's
 *   and the caller's, so nothing returns before. A kernel before 5.16 that writes a core does not clear it: a dead pidfd says it
 *   too, whose process has left its memory before it was readable.
 * - Thread-local memory. Both have the same: no CLONE_SETTLS, which would want a thread of libc's. Of it the child uses nothing:
 *   raw calls that return their error, no allocator, no lock, no sanitizer, no stack protector, no function of libc but
 *   memset(3) and memcpy(3). So errno, the heap's cache and the canary are the calling thread's alone. What the kernel keeps for
 *   a thread (rseq, the list of robust locks) it does not hand to a child.
 * - Signals. Blocked in both, from before until the child has gone. What comes to the host's thread waits that long.
 * - Cancellation. `meanwhile` has cancellation points, and unwinding would free the child's stack under it. Disabled as well.
 * - The host's end. exit(3) in another thread, a deadly signal, exec: the memory lasts as long as the child, which goes on to
 *   exec init, and init finds its pipe to the host closed. A fork of another thread copies a stack that nobody stands on.
 * - Descriptors. The child has its own table; what `meanwhile` opens and closes is the host's.
 * - The processor. The child may be preempted or stopped at any place: the host waits, as it would for vfork.
 */
static bool is_dead(int pidfd)
{
	struct pollfd dead = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&dead, 1, 0) > 0;
}

static void await_leaving(const uint32_t *shared, int pidfd)
{
	static const struct timespec second = { .tv_sec = 1 };

	/* Not FUTEX_PRIVATE_FLAG: the kernel wakes without. */
	while (__atomic_load_n(shared, __ATOMIC_ACQUIRE) && !is_dead(pidfd))
		pc_sys4(__NR_futex, pc_ptr(shared), FUTEX_WAIT, 1, pc_ptr(&second));
}

int pc_clone_beside(const struct pc_join *join, unsigned long flags, int *pidfd, int (*fn)(void *), void *arg,
		    void (*meanwhile)(void *), void *with)
{
	struct pc_joining joining;
	struct around around;
	uint32_t shared = 1;
	int cancelled, rc;
	long pid;

	flags |= CLONE_VM | CLONE_CHILD_CLEARTID;

	rc = begin(&around);
	if (rc < 0)
		return rc;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled);
	joining = (struct pc_joining) { join, flags | CLONE_PARENT, stack_top(&around), pidfd, fn, arg, &shared, -ECHILD };
	pid = join ? start_joining(&joining, &around) : pc_clone_call(flags, stack_top(&around), pidfd, fn, arg, &shared);
	if (pid >= 0) {
		meanwhile(with);
		pid = join ? finish_joining(&joining, pid) : pid;
	}
	if (pid >= 0)
		await_leaving(&shared, *pidfd);
	end(&around);
	pthread_setcancelstate(cancelled, NULL);
	return (int)pid;
}

/* ---- Apart from it ------------------------------------------------------------------------------------------------------- */

/*
 * Beside what is said above: nobody waits, so the child may be there while the host does anything.
 *
 * - Signals. The child's mask is its own, and full; the host's is as it was once clone(2) has returned.
 * - The host's end. As above: the memory stays for the child.
 * - Fork. The copy has neither child nor stack, and must neither wait nor kill: its page of words is wiped (MADV_WIPEONFORK).
 * - The code. A library that is unloaded would be unmapped under the child: its Lua objects go first, and wait.
 */
static int map_words(struct pc_apart *apart)
{
	uint32_t *words = mmap(NULL, GUARD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (words == MAP_FAILED)
		return -errno;
	if (madvise(words, GUARD_SIZE, MADV_WIPEONFORK) < 0) {
		int rc = -errno;

		munmap(words, GUARD_SIZE);
		return rc;
	}
	words[0] = words[1] = 1;
	apart->shared = &words[0];
	apart->owner = &words[1];
	return 0;
}

static void unmap(struct pc_apart *apart)
{
	munmap(apart->shared, GUARD_SIZE);
	munmap(apart->stack, STACK_SIZE + GUARD_SIZE);
	*apart = (struct pc_apart) { 0 };
}

int pc_clone_apart(const struct pc_join *join, unsigned long flags, int *pidfd, int (*fn)(void *), void *arg,
		   struct pc_apart *apart)
{
	struct pc_joining joining;
	struct around around;
	long pid;
	int rc;

	flags |= CLONE_VM | CLONE_CHILD_CLEARTID;

	rc = map_words(apart);
	if (rc < 0)
		return rc;
	rc = begin(&around);
	if (rc < 0) {
		munmap(apart->shared, GUARD_SIZE);
		return rc;
	}
	apart->stack = around.stack;
	joining =
		(struct pc_joining) { join, flags | CLONE_PARENT, stack_top(&around), pidfd, fn, arg, apart->shared, -ECHILD };
	pid = join ? start_joining(&joining, &around) : pc_clone_call(flags, stack_top(&around), pidfd, fn, arg, apart->shared);
	if (join && pid >= 0)
		pid = finish_joining(&joining, pid);
	set_signals(&around.before, NULL);
	if (pid < 0)
		unmap(apart);
	return (int)pid;
}

bool pc_apart_is_own(const struct pc_apart *apart)
{
	return apart->stack && *apart->owner;
}

bool pc_apart_end(struct pc_apart *apart)
{
	static const struct timespec second = { .tv_sec = 1 };
	int i;

	if (!apart->stack)
		return true;
	for (i = 0; i < 3 && __atomic_load_n(apart->shared, __ATOMIC_ACQUIRE); i++)
		pc_sys4(__NR_futex, pc_ptr(apart->shared), FUTEX_WAIT, 1, pc_ptr(&second));
	if (__atomic_load_n(apart->shared, __ATOMIC_ACQUIRE))
		return false;
	unmap(apart);
	return true;
}
