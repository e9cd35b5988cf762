/* See held.h. */
#include "held.h"
#include "cleanup.h"

#include <errno.h>
#include <sys/stat.h>

int pc_hold(struct pc_held *held, int *fd)
{
	struct stat st;

	*held = (struct pc_held) { .fd = -1 };
	if (*fd < 0)
		return 0;
	if (fstat(*fd, &st) < 0)
		return -errno;
	*held = (struct pc_held) { .fd = pc_take_fd(fd), .dev = st.st_dev, .ino = st.st_ino };
	return 0;
}

bool pc_held_is_same(const struct pc_held *held)
{
	struct stat st;

	return held->fd >= 0 && fstat(held->fd, &st) == 0 && st.st_dev == held->dev && st.st_ino == held->ino;
}

int pc_held_let_go(struct pc_held *held)
{
	int fd = pc_held_is_same(held) ? held->fd : -1;

	held->fd = -1;
	return fd;
}
