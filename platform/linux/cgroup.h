/* A cgroup of the run's own, where a directory of the hierarchy is delegated to us. Source: kernel docs, cgroup-v2. */
#ifndef PROCAGE_LINUX_CGROUP_H
#define PROCAGE_LINUX_CGROUP_H

#include "../platform.h"

struct pc_cgroup;

/*
 * Makes an empty cgroup beneath `parent` with the limits that are not 0.
 *
 * Returns 0, or -errno: ENOENT (no such controller here), EACCES, ENOMEM.
 */
int pc_cgroup_open(const char *parent, const struct pc_cgroup_limits *limits, struct pc_cgroup **opened);

/* Whether it was made there with these limits; none of the one is none of the other. */
bool pc_cgroup_is(const struct pc_cgroup *cgroup, const char *parent, const struct pc_cgroup_limits *limits);

/*
 * One that waits for its run keeps no descriptor in the host: closed, and opened again by its name, if that is still the same
 * cgroup: 0, or -errno. One that rests is woken before it is closed; free() is enough where that fails.
 */
void pc_cgroup_rest(struct pc_cgroup *cgroup);
int pc_cgroup_wake(struct pc_cgroup *cgroup);

/* Descriptors for the run's init, close-on-exec and owned by the cgroup: its directory, to clone into; "0" written to the next
 * moves the writer in, "1" to the last kills everything in it. */
int pc_cgroup_directory(const struct pc_cgroup *cgroup);
int pc_cgroup_procs(const struct pc_cgroup *cgroup);
int pc_cgroup_kill(const struct pc_cgroup *cgroup);

/*
 * Kills what is in it, waits until nothing is, and removes it. NULL is nothing to do.
 * memory_kills: processes that the kernel killed for want of memory
 */
void pc_cgroup_close(struct pc_cgroup *cgroup, uint64_t *memory_kills);

#endif
