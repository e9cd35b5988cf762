/* Making a run's block and its ruleset in the host; image.h says what is in the block. */
#ifndef PROCAGE_LINUX_IMAGE_BUILD_H
#define PROCAGE_LINUX_IMAGE_BUILD_H

#include "../platform.h"
#include "image.h"

/* The caller frees. -EINVAL: the plan needs a private directory and the command has none; -E2BIG, -ENOMEM. */
int pc_image_build(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, uint32_t flags,
		   const struct pc_command *command, struct pc_image **built);

/*
 * Makes the ruleset that the plan describes. `ruleset` is a close-on-exec descriptor, -1 when the plan has none.
 * Returns 0; or -errno, with the operation in `failure`. (ruleset_build.c)
 */
int pc_ruleset_build(const struct pc_image *image, const struct pc_plan *plan, struct pc_failure *failure, int *ruleset);

#endif
