/* The paths that the observer has seen, each once: bounded whatever a command touches. */
#ifndef PROCAGE_LINUX_ACCESS_LOG_H
#define PROCAGE_LINUX_ACCESS_LOG_H

#include "../platform.h"

/* Begins as zeros but for `most` and seen.is_recorded. */
struct pc_access_log {
	struct pc_accesses seen;
	size_t most, room;
	uint32_t *slots; /* place in the list + 1; 0: free */
	size_t slot_count;
};

/* The path's entry, made when it is new (count 0); NULL, and counted, when there is no room. */
struct pc_access *pc_access_log_entry(struct pc_access_log *log, const char *path);

/* Moves what was seen into `accesses`, or lets it go (NULL). */
void pc_access_log_close(struct pc_access_log *log, struct pc_accesses *accesses);

#endif
