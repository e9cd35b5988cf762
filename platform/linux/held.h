/*
 * A descriptor that lies idle in a host which does not know of it, and may close numbers: looked at again before it is used, and
 * closed only if it is still what it was.
 */
#ifndef PROCAGE_LINUX_HELD_H
#define PROCAGE_LINUX_HELD_H

#include <stdbool.h>
#include <sys/types.h>

/* A descriptor and what it leads to. Pipes, sockets and namespaces have a number each, which comes again after very many others. */
struct pc_held {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

/* Takes a descriptor over; -1 is none. 0 or -errno of fstat(2). */
int pc_hold(struct pc_held *held, int *fd);

bool pc_held_is_same(const struct pc_held *held);

/* The descriptor, which is the caller's from here on; -1: the number is another's by now, or there was none. */
int pc_held_let_go(struct pc_held *held);

#endif
