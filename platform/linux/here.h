/* What a run inherits of the thread that starts it: whether a run that was started before would be the same now. */
#ifndef PROCAGE_LINUX_HERE_H
#define PROCAGE_LINUX_HERE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define PC_HERE_TEXT   1536
#define PC_HERE_LIMITS 16
#define PC_HERE_PLACES 5

struct pc_here {
	char text[PC_HERE_TEXT]; /* credentials, capabilities, umask, filters, processors */
	uint64_t limits[PC_HERE_LIMITS][2];
	uint64_t places[PC_HERE_PLACES][2]; /* the root and namespaces: device and inode */
	int priority, scheduler;
	unsigned int confined; /* how often this process has confined itself (confine.c) */
};

/* All bytes are written. 0; or -errno, where /proc does not say it. */
int pc_here_read(struct pc_here *here);

bool pc_here_is_same(const struct pc_here *a, const struct pc_here *b);

/* confine.c */
unsigned int pc_confined_times(void);

#endif
