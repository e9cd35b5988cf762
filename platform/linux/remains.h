/* What is left of a process whose work is done: remains.c. */
#ifndef PROCAGE_LINUX_REMAINS_H
#define PROCAGE_LINUX_REMAINS_H

#include "../platform.h"

/* Waits for the process to be dead, and reaps it if nobody has: a host that ignores SIGCHLD, or waits for any child, may. */
void pc_reap(int pidfd);

/* Whose process a descriptor leads to: -1: it is dead and reaped; 0: it is no pidfd. Source: pidfd_open(2), fdinfo. */
int pc_process_of(int pidfd);

/* Takes the process's pidfd; NULL, and takes nothing: there is no memory for it. */
struct pc_remains *pc_remains_new(struct pc_process *process);

#endif
