/* What starting a run now and starting one ahead have in common: spawn.c, used by spare.c. */
#ifndef PROCAGE_LINUX_SPAWN_H
#define PROCAGE_LINUX_SPAWN_H

#include "../platform.h"
#include "image.h"

/* One side of what a run's init and the host talk through; -1: none. While the host held the child's, it would see none go. */
struct pc_ends {
	int status, control, broker, listener;
};

#define PC_NO_ENDS              \
	{                       \
		-1, -1, -1, -1, \
	}

/* is_spare: control is a socket, for descriptors. 0; or -errno, and what is open already is to be closed. */
int pc_open_ends(bool has_broker, bool has_listener, bool is_spare, struct pc_ends *host, struct pc_ends *child);
void pc_close_ends(struct pc_ends *ends);

/* The init program, and a block, each as a memfd; or -errno. */
int pc_open_init(void);
int pc_open_image(const struct pc_image *image);

uint32_t pc_image_flags(const struct pc_plan *plan, const struct pc_command *command);

/* Init's first word: started, or the step that failed. No word at all is a failure too. */
int pc_await_start(int status_fd, struct pc_status *status);

/* What the child has sent before exec: listener and terminal, as the image's flags have it. */
int pc_receive_descriptors(uint32_t flags, int socket, struct pc_process *process);

/* Kills init and reaps it, and closes the pidfd. */
void pc_end_process(struct pc_process *process);

#endif
