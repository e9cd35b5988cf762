/*
 * sendmsg(2) and recvmsg(2) with descriptors, in the kernel's own layouts: <sys/socket.h> is libc's.
 * Source: recvmsg(2), cmsg(3), unix(7) SCM_RIGHTS; 64-bit.
 */
#ifndef PROCAGE_LINUX_MESSAGE_H
#define PROCAGE_LINUX_MESSAGE_H

#include <stdint.h>

struct pc_io_vector {
	void *base;
	uint64_t size;
};

struct pc_message {
	void *name;
	uint32_t name_size, pad;
	struct pc_io_vector *vectors;
	uint64_t vector_count;
	void *control;
	uint64_t control_size;
	int flags;
};

#define PC_CONTROL_HEADER 16 /* size, level and type */
#define PC_LEVEL_SOCKET	  1
#define PC_RIGHTS	  1

/* One or two descriptors; `size` says which. */
struct pc_control {
	uint64_t size;
	int level, type;
	int fds[2];
};

_Static_assert(sizeof(struct pc_message) == 56, "struct msghdr of a 64-bit kernel");

#endif
