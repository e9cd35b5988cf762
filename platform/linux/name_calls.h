/*
 * The supervisor's part of making names (names.h): reads what a caller asked for, passes it on, and gives the caller what comes
 * back.
 */
#ifndef PROCAGE_LINUX_NAME_CALLS_H
#define PROCAGE_LINUX_NAME_CALLS_H

#include "../platform.h"
#include "names.h"

struct seccomp_notif;
struct pc_name_calls;

/* Uses the descriptors and does not own them. NULL: no memory. */
struct pc_name_calls *pc_name_calls_open(int listener_fd, int broker_fd);

/*
 * Sends what the caller asked for to the broker; `denial` is kept in case it is refused.
 *
 * Returns 0, or -errno for the caller: EFAULT, ENAMETOOLONG (reading the names), EBADF (a directory's descriptor), ENOSYS (no
 * such call), ESRCH (the caller is gone), EAGAIN (too many at once).
 */
int pc_name_calls_send(struct pc_name_calls *open, const struct seccomp_notif *request, const struct pc_denial *denial);

/* Answers the caller. True: the profile refused it, and `denial` says what. `fd` stays the caller's of this function. */
bool pc_name_calls_settle(struct pc_name_calls *open, const struct pc_names_reply *reply, int fd, struct pc_denial *denial);

/* Nobody waits any more. NULL is let be. */
void pc_name_calls_close(struct pc_name_calls *open);

#endif
