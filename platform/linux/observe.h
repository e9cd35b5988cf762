/*
 * The path observer: what a run does with files, and what of it the run's rules refuse. It looks and never decides: every call
 * that it sees goes on to the kernel as it is, and what it reports may be wrong where the command races it.
 */
#ifndef PROCAGE_LINUX_OBSERVE_H
#define PROCAGE_LINUX_OBSERVE_H

#include "../platform.h"

struct pc_observer;
struct seccomp_data;

/* Of a run under `plan` with its private `directory` (or NULL). Returns 0 or -ENOMEM. */
int pc_observer_open(const struct pc_plan *plan, const char *directory, enum pc_observes keeps, struct pc_observer **opened);

/* Looks at one call of thread `tid`, which waits meanwhile. */
void pc_observe(struct pc_observer *observer, uint32_t tid, const struct seccomp_data *data);

/* Moves what was seen into `accesses`, or lets it go (NULL), and closes. NULL is let be. */
void pc_observer_close(struct pc_observer *observer, struct pc_accesses *accesses);

#endif
