/* What a started child does in the host's memory, until it is init. */
#ifndef PROCAGE_LINUX_CHILD_START_H
#define PROCAGE_LINUX_CHILD_START_H

#include "image.h"

/* The child's until it has exec'd or ended: the host neither reads nor writes it meanwhile. */
struct pc_start {
	const struct pc_image *image;
	uint64_t namespaces;   /* to be made by the child itself */
	struct pc_inode *room; /* to add the rules with; NULL: the host does */
	struct pc_join *made;  /* of a holder: which network namespace it is in */
	struct pc_status failed;
	int fds[PC_INIT_FREE]; /* to become 0 and so on; -1: none */
};

/* Descriptors to their places, namespaces and mounts entered, init exec'd. arg: a struct pc_start, `failed` written on failure. [child] */
int pc_start_child(void *arg);

/*
 * A holder: namespaces, whose ids are mapped and whose loopback is up, no mounts, no capabilities, init exec'd in its other role.
 * arg: likewise, `made` written too. [child]
 */
int pc_start_holder(void *arg);

#endif
