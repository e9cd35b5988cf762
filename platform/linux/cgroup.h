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
