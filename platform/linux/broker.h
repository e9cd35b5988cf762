/*
 * What the supervisor asks of the broker: to connect, bind or listen with a socket of the run, or to make a pair in the run's
 * namespaces.
 *
 * One datagram a request on a SOCK_SEQPACKET pair, with the socket and, for a relative path, the caller's working directory as
 * descriptors; one datagram a reply, in any order. Requests are begun in the order in which they come.
 *
 * A socket that is no Unix one comes in a datagram before it (PC_BROKER_TAKE). Who closes the last descriptor of a TCP socket waits
 * for as long as its SO_LINGER says, and the run decides when it gives up its own: so the supervisor closes its copy while one of
 * the broker's is sure to be there, and the broker waits, if somebody has to.
 *
 * A guard is a socket of the broker's that is bound where one of the run listens, and does not share: as long as it is there
 * nobody else can listen there, whatever the run does with its own.
 */
#ifndef PROCAGE_LINUX_BROKER_H
#define PROCAGE_LINUX_BROKER_H

#include <stdint.h>

#define PC_BROKER_ADDRESS  128 /* sizeof(struct sockaddr_storage), the most that connect(2) takes */
#define PC_BROKER_GUARDS   256
#define PC_BROKER_NO_GUARD 0xffffffffu

enum pc_broker_op {
	PC_BROKER_CONNECT, /* guard: kept for as long as the connection is under way */
	PC_BROKER_PAIR,	   /* argument: the type; the pair comes with the reply */
	PC_BROKER_BIND,	   /* argument: the caller's umask, for a path; is_patient: who is in the way is about to go */
	PC_BROKER_LISTEN,  /* argument: the backlog; guard: to be set up there */
	PC_BROKER_RELEASE, /* guard: to be given up; no reply */
	PC_BROKER_TAKE,	   /* the descriptors of the request that follows, which the supervisor has closed by then; no reply */
	PC_BROKER_DROP,	   /* what was taken is for nothing; no reply */
};

struct pc_broker_request {
	uint64_t id;
	uint32_t op;
	uint32_t argument;
	uint32_t guard; /* PC_BROKER_NO_GUARD: none */
	uint32_t is_patient;
	uint32_t address_size;
	uint32_t is_taken; /* its descriptors came before it */
	unsigned char address[PC_BROKER_ADDRESS];
};

struct pc_broker_reply {
	uint64_t id;
	int32_t error;	      /* 0 or a negative errno */
	uint32_t is_refused;  /* by the profile, not by the kernel or the server */
	uint32_t is_underway; /* another reply follows when it is not any more: the answer is this one's */
	uint32_t address_size;
	unsigned char address[PC_BROKER_ADDRESS]; /* where it listens */
};

struct pc_image;

/* Serves requests until the supervisor's end closes. Init forks it; it never returns to init's work. */
__attribute__((noreturn)) void pc_broker_main(const struct pc_image *image, int requests_fd);

/* ---- Guards (init/guard.c) ------------------------------------------------------------------------------------------------ */

/* Listens, with a guard if one is asked for. 0 and the address in `reply`, or -errno: EINVAL for one that is no loopback's. */
int pc_guard_listen(const struct pc_broker_request *request, int socket, struct pc_broker_reply *reply);

void pc_guard_release(uint32_t guard);

/* In a process that does one thing: keeps no guard but this one. */
void pc_guard_keep_only(uint32_t guard);

#endif
