/* A child on a stack of its own, in the host's memory. */
#ifndef PROCAGE_LINUX_CHILD_STACK_H
#define PROCAGE_LINUX_CHILD_STACK_H

#include "../platform.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Runs `fn(arg)` in a child made with CLONE_VM|CLONE_VFORK and `flags` (CLONE_NEW*, CLONE_PIDFD, the exit signal), and returns
 * when it has exec'd or ended. fn may do what [child] functions do, and nothing else; its result is the exit status.
 *
 * Every signal is blocked in the child, and in the calling thread until then, so that no handler of the host runs in it.
 *
 * pidfd: written with CLONE_PIDFD, and left as it is by a kernel before 5.2, which ignores that flag; may be NULL without it
 *
 * Returns the child's pid, or -errno of mmap(2) or clone(2).
 */
int pc_clone_on_stack(unsigned long flags, int *pidfd, int (*fn)(void *), void *arg);

/*
 * The same, but that the calling thread does `meanwhile(with)` beside it, where the other lets it sleep. Nothing that the child
 * reads may be written there, and nothing that it writes be read. It is not called when there is no child.
 *
 * join: namespaces that the child is in before it makes its own, with CLONE_PIDFD; NULL: the caller's. -errno as pc_ns_join()
 */
int pc_clone_beside(const struct pc_join *join, unsigned long flags, int *pidfd, int (*fn)(void *), void *arg,
		    void (*meanwhile)(void *), void *with);

/* A child that the calling thread does not wait for. */
struct pc_apart {
	char *stack;	  /* NULL: none */
	uint32_t *shared; /* 0: it has left the memory */
	uint32_t *owner;  /* 0: this process is a fork of the one whose it is, which has neither child nor stack */
};

/*
 * The same, but that it returns at once. What `arg` points to stays until pc_apart_end(). The calling process may do meanwhile
 * what it likes, its end and fork(2) included; whoever unloads this code first calls pc_apart_end().
 */
int pc_clone_apart(const struct pc_join *join, unsigned long flags, int *pidfd, int (*fn)(void *), void *arg,
		   struct pc_apart *apart);

bool pc_apart_is_own(const struct pc_apart *apart);

/*
 * Waits until the child has left the memory, and lets go of its stack. The caller has killed it, or knows that it will leave.
 * Returns false when it stays for seconds (a file system that hangs): then stack and `arg` are left to it for good.
 */
bool pc_apart_end(struct pc_apart *apart);

#endif
