/*
 * A loopback without a network namespace: which TCP addresses a run may bind, listen on and connect to.
 *
 * The supervisor judges its own copy of the address and of the socket, and writes down what the broker is to do, with an address
 * written anew. Of a run that has the loopback to itself it remembers which sockets listen, by their cookies; the broker holds a
 * guard for each.
 */
#ifndef PROCAGE_LINUX_LOOPBACK_H
#define PROCAGE_LINUX_LOOPBACK_H

#include "broker.h"

#include <stdbool.h>

enum pc_loopback_mode {
	PC_LOOPBACK_NONE, /* addresses of the internet are not judged */
	PC_LOOPBACK_RUN,  /* connects only to what the run itself listens on */
	PC_LOOPBACK_HOST, /* to any address of the loopback */
};

struct pc_loopback;

/* What is to be remembered of a request until its reply is there. Zeroed: nothing. */
struct pc_loopback_note {
	uint64_t cookie;
	uint32_t op;
	uint32_t place;	 /* in the list of listeners */
	bool is_wild;	 /* bound to the wildcard address, as the run sees it */
	bool is_refused; /* by the profile */
	bool is_guarded; /* the connection that is on its way there keeps it */
	bool is_ours;	 /* an internet socket: the rest means something */
};

/* 0, or -errno: ENOMEM, what socket(2) of NETLINK_SOCK_DIAG answers. */
int pc_loopback_open(enum pc_loopback_mode mode, struct pc_loopback **loopback);

/* NULL is let be. */
void pc_loopback_close(struct pc_loopback *loopback);

/*
 * Judges a connect, bind or listen with `socket`, a copy of the caller's; sockets of other families pass as they are. May send
 * releases of guards by broker_fd.
 *
 * Returns 0 (the request is to be sent), or the negative errno to answer; `note` says whether it was the profile that refused.
 */
int pc_loopback_judge(struct pc_loopback *loopback, int broker_fd, int socket, struct pc_broker_request *request,
		      struct pc_loopback_note *note);

/* With each reply; or with NULL when the request was not sent after all. */
void pc_loopback_settle(struct pc_loopback *loopback, const struct pc_loopback_note *note, const struct pc_broker_reply *reply);

#endif
