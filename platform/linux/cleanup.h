/* Descriptors and memory that let go of themselves where they were declared. */
#ifndef PROCAGE_LINUX_CLEANUP_H
#define PROCAGE_LINUX_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

static inline void pc_cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void pc_cleanup_free(void *at)
{
	free(*(void **)at);
}

/* The descriptor, which the caller now owns. */
static inline int pc_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define cleanup_fd   __attribute__((cleanup(pc_cleanup_fd)))
#define cleanup_free __attribute__((cleanup(pc_cleanup_free)))

#endif
