/* Making a run's block and its ruleset in the host; image.h says what is in the block. */
#ifndef PROCAGE_LINUX_IMAGE_BUILD_H
#define PROCAGE_LINUX_IMAGE_BUILD_H

#include "../platform.h"
#include "image.h"

/* The caller frees. -EINVAL: the plan needs a private directory and the command has none; -E2BIG, -ENOMEM. */
int pc_image_build(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, uint32_t flags,
		   const struct pc_command *command, struct pc_image **built);

/* The words alone, for a run that was started ahead. -E2BIG, -ENOMEM. */
int pc_words_build(const struct pc_command *command, struct pc_image **built);

/*
 * Makes the ruleset that the plan describes. `ruleset` is a close-on-exec descriptor, -1 when the plan has none.
 * Returns 0; or -errno, with the operation in `failure`. (ruleset_build.c)
 */
int pc_ruleset_build(const struct pc_image *image, const struct pc_plan *plan, struct pc_failure *failure, int *ruleset);

/* The same in steps, the longest of which may go beside other work. The caller reads it, and writes nothing in it. */
struct pc_ruleset_work {
	const struct pc_image *image;
	struct pc_failure failure;
	struct pc_inode *room; /* to work in, taken at the start: the long step calls no allocator */
	int rc;		       /* of the last step */
	int fd;		       /* of the ruleset, the caller closes it; -1: the plan has none */
};

/* Makes the ruleset, still empty. The image stays until pc_ruleset_end(), which is to be called whatever this returns. */
int pc_ruleset_begin(const struct pc_image *image, const struct pc_plan *plan, struct pc_ruleset_work *work);

/* Fills it. 0 or -errno, with the operation in `failure`; then nothing may be confined by it. */
int pc_ruleset_fill(struct pc_ruleset_work *work);

void pc_ruleset_end(struct pc_ruleset_work *work);

#endif
