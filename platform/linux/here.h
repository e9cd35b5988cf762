/* What a run inherits of the thread that starts it: whether a run that was started before would be the same now. */
#ifndef PROCAGE_LINUX_HERE_H
#define PROCAGE_LINUX_HERE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define PC_HERE_TEXT	4096
#define PC_HERE_LIMITS	16
#define PC_HERE_PLACES	9
#define PC_HERE_NUMBERS 16

/* sched_getattr(2): class, nice, real-time priority, deadlines and turns, utilisation. */
struct pc_here_turns {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
	uint32_t util_min, util_max;
};

struct pc_here {
	char text[PC_HERE_TEXT]; /* credentials, capabilities, umask, filters, processors; cgroups, security labels */
	uint64_t limits[PC_HERE_LIMITS][2];
	uint64_t places[PC_HERE_PLACES][2]; /* the root and namespaces: device and inode */
	int64_t numbers[PC_HERE_NUMBERS];   /* what prctl(2) and its like tell; a negative errno is an answer too */
	uint64_t memory[16];		    /* memory policy: its nodes */
	struct pc_here_turns turns;
	uint64_t thread;       /* each has a number of its own */
	int filters;	       /* of system calls */
	int domains;	       /* of Landlock; or not counted, since the thread can take on none */
	unsigned int confined; /* how often this process has confined itself (confine.c) */
};

/* All bytes are written. 0; or -errno, where /proc does not say it. */
int pc_here_read(struct pc_here *here);

bool pc_here_is_same(const struct pc_here *a, const struct pc_here *b);

/*
 * Whether the calling thread's runs would be those of who was `then`, of whom `pid` is a child that lives and has put nothing on
 * itself. False too where it cannot be told.
 */
bool pc_here_still(const struct pc_here *then, int pid);

/* confine.c */
unsigned int pc_confined_times(void);

#endif
