/*
 * What the supervisor asks of the broker: to connect a socket of the run, or to make a pair in the run's namespaces.
 *
 * One datagram a request on a SOCK_SEQPACKET pair, with the socket and, for a relative path, the caller's working directory as
 * descriptors; one datagram a reply, in any order.
 */
#ifndef PROCAGE_LINUX_BROKER_H
#define PROCAGE_LINUX_BROKER_H

#include <stdint.h>

#define PC_BROKER_ADDRESS 128 /* sizeof(struct sockaddr_storage), the most that connect(2) takes */

struct pc_broker_request {
	uint64_t id;
	uint32_t address_size;
	uint32_t pair_type; /* not 0: make a pair of this type, and nothing else; it comes with the reply */
	unsigned char address[PC_BROKER_ADDRESS];
};

struct pc_broker_reply {
	uint64_t id;
	int32_t error;	     /* 0 or a negative errno */
	uint32_t is_refused; /* by the profile, not by the kernel or the server */
};

struct pc_image;

/* Serves requests until the supervisor's end closes. Init forks it; it never returns to init's work. */
__attribute__((noreturn)) void pc_broker_main(const struct pc_image *image, int requests_fd);

#endif
