/* A run that was started ahead of its command: spare.c. */
#ifndef PROCAGE_LINUX_INIT_SPARE_H
#define PROCAGE_LINUX_INIT_SPARE_H

#include "../image.h"

/* Maps a block and turns the offsets of its arrays into pointers. 0 or -errno. */
int pc_map_block(int fd, struct pc_image **image);

/* Becomes the command once its words have come; returns only on failure, or when they do not come. */
void pc_spare_command(const struct pc_image *image, int ruleset_fd, bool is_in_cgroup, int gate_fd, struct pc_status *failed);

#endif
