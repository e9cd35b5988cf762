/* Making a run's block in the host; image.h says what is in it. */
#ifndef PROCAGE_LINUX_IMAGE_BUILD_H
#define PROCAGE_LINUX_IMAGE_BUILD_H

#include "../platform.h"
#include "image.h"

/* The caller frees. -EINVAL: the plan needs a private directory and the command has none; -E2BIG, -ENOMEM. */
int pc_image_build(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, uint32_t flags,
		   const struct pc_command *command, struct pc_image **built);

#endif
