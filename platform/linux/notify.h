/* The supervisor's side of seccomp notifications: refused calls recorded and answered, connections handed to the broker. */
#ifndef PROCAGE_LINUX_NOTIFY_H
#define PROCAGE_LINUX_NOTIFY_H

#include "../../core/plan.h"
#include "../platform.h"

struct pc_notify;

/* What a filter's answer of SECCOMP_RET_USER_NOTIF says in its low bits, which the kernel does not read. */
enum pc_notified {
	PC_NOTIFIED_MEDIATE, /* somebody else performs it */
	PC_NOTIFIED_NAME,    /* the broker performs it: it makes a name */
	PC_NOTIFIED_OBSERVE, /* it goes on to the kernel as it is, seen by the path observer */
};

/*
 * plan: its filter says what each call would have been answered; it must outlive the notify
 * listener_fd, broker_fd: taken, whatever the result; broker_fd may be -1
 *
 * Returns 0, or -errno: ENOMEM, or as pc_loopback_open.
 */
int pc_notify_open(const struct pc_plan *plan, int listener_fd, int broker_fd, struct pc_notify **notify);

/* To be polled: for POLLIN, the broker for its events; -1 when there is nothing to expect of it, or of the listener not now. */
int pc_notify_listener(const struct pc_notify *notify);
int pc_notify_broker(const struct pc_notify *notify);
short pc_notify_broker_events(const struct pc_notify *notify);

/* Serves one readable descriptor. Never waits. */
void pc_notify_serve_listener(struct pc_notify *notify);
void pc_notify_serve_broker(struct pc_notify *notify);

/* When poll says that no process of the run is left to hear from: the listener would be ready for ever. */
void pc_notify_drop_listener(struct pc_notify *notify);

/* Who looks at the calls that the filter marks for it. Taken. */
struct pc_observer;
void pc_notify_observe(struct pc_notify *notify, struct pc_observer *observer);

/* Moves what was recorded into `result` (or lets it go, NULL) and closes. `notify` NULL is let be. */
void pc_notify_close(struct pc_notify *notify, struct pc_result *result);

#endif
