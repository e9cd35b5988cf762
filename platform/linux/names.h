/*
 * Calls that make a name (open with O_CREAT, mkdir, mknod, rename, link, symlink), where a run may not make some: the supervisor
 * copies what was asked, the broker resolves it once, judges the name and performs the call, and the caller gets the result.
 *
 * One datagram a request on the broker's SOCK_SEQPACKET pair: the struct, cut after the second text; with the descriptors that
 * `has` names, in order. One datagram a reply, with the opened descriptor.
 */
#ifndef PROCAGE_LINUX_NAMES_H
#define PROCAGE_LINUX_NAMES_H

#include <stdint.h>

#define PC_NAMES_MAGIC 0x6e616d65u /* tells it from the broker's other requests */
#define PC_NAMES_TEXT  4096	   /* PATH_MAX */

enum pc_names_op {
	PC_NAMES_OPEN,
	PC_NAMES_MKDIR,
	PC_NAMES_MKNOD,
	PC_NAMES_CHMOD,
	PC_NAMES_SYMLINK, /* the first text is the target */
	PC_NAMES_LINK,
	PC_NAMES_RENAME,
	PC_NAMES_OPS,
};

/* What a text is relative to: a descriptor that came along, or nothing (an absolute path, the target of a link). */
enum {
	PC_NAMES_HAS_FIRST = 1,
	PC_NAMES_HAS_SECOND = 2,
	PC_NAMES_FIRST_IS_OBJECT = 4, /* the first descriptor itself is meant: /proc/self/fd/N */
};

struct pc_names_request {
	uint32_t magic, op;
	uint64_t id;
	uint32_t has, flags, mode, umask;
	uint32_t first_size, second_size; /* with their NULs; the second follows the first at once */
	char text[2 * PC_NAMES_TEXT];
};

struct pc_names_reply {
	uint32_t magic;
	int32_t error; /* 0 or a negative errno */
	uint64_t id;
	uint32_t is_refused; /* the name is one that stays absent */
	uint32_t unused;
};

#define PC_NAMES_HEADER ((uint32_t) __builtin_offsetof(struct pc_names_request, text))

struct pc_image;

/* In the broker: performs one request, of `size` bytes, and replies on `fd`. Takes the descriptors. (init/names.c) */
void pc_names_perform(const struct pc_image *image, int fd, const struct pc_names_request *request, long size,
		      const int descriptors[2]);

#endif
