/* A child on a stack of its own, in the host's memory. */
#ifndef PROCAGE_LINUX_CHILD_STACK_H
#define PROCAGE_LINUX_CHILD_STACK_H

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
 */
int pc_clone_beside(unsigned long flags, int *pidfd, int (*fn)(void *), void *arg, void (*meanwhile)(void *), void *with);

#endif
