/* Making a run's block and its ruleset in the host; image.h says what is in the block. */
#ifndef PROCAGE_LINUX_IMAGE_BUILD_H
#define PROCAGE_LINUX_IMAGE_BUILD_H

#include "../platform.h"
#include "image.h"

#include <pthread.h>

/* The caller frees. -EINVAL: the plan needs a private directory and the command has none; -E2BIG, -ENOMEM. */
int pc_image_build(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, uint32_t flags,
		   const struct pc_command *command, struct pc_image **built);

/*
 * Makes the ruleset that the plan describes. `ruleset` is a close-on-exec descriptor, -1 when the plan has none.
 * Returns 0; or -errno, with the operation in `failure`. (ruleset_build.c)
 */
int pc_ruleset_build(const struct pc_image *image, const struct pc_plan *plan, struct pc_failure *failure, int *ruleset);

/* The same beside other work: what is written here belongs to pc_ruleset_begin() and pc_ruleset_finish(). */
struct pc_ruleset_work {
	const struct pc_image *image;
	const struct pc_plan *plan;
	struct pc_failure failure;
	void *room; /* to work in; taken before there is a thread, whose own heap would stay with the host */
	pthread_t thread;
	bool has_thread;
	int rc;
	int fd; /* of the ruleset, from begin on; the caller closes it. -1: the plan has none */
};

/*
 * Makes the ruleset and begins to fill it. Where it is large and there are processors for it, a thread does, which runs nothing
 * but that, with every signal blocked; else it is full when this returns. Image and plan stay until pc_ruleset_finish(), which
 * is to be called whatever this returns, and before anything is confined by the ruleset: it waits for the end, and returns 0 or
 * -errno, with the operation in `failure`.
 */
int pc_ruleset_begin(const struct pc_image *image, const struct pc_plan *plan, struct pc_ruleset_work *work);
int pc_ruleset_finish(struct pc_ruleset_work *work, struct pc_failure *failure);

#endif
