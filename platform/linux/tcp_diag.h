/*
 * Asking the kernel who would answer a TCP connection: by its own lookup, for one address.
 *
 * Raw system calls only, so that the probe's child may ask too. Source: sock_diag(7), NETLINK_SOCK_DIAG.
 */
#ifndef PROCAGE_LINUX_TCP_DIAG_H
#define PROCAGE_LINUX_TCP_DIAG_H

#include <stdbool.h>
#include <stdint.h>

/* An address and port of TCP; IPv4 as a mapped address. */
struct pc_place {
	uint8_t address[16];
	uint16_t port; /* in the machine's order */
};

/* A descriptor to ask with, or -errno.  [child] */
int pc_tcp_diag_open(void);

/*
 * The cookie of the socket that listens where a connection to `place` from the loopback interface would arrive. A cookie is
 * never given twice. Source: socket(7) SO_COOKIE, Linux 4.12.
 *
 * Returns 0, or -errno: ENOENT (nobody listens), whatever netlink(7) says.  [child]
 */
int pc_tcp_diag_listener(int diag_fd, const struct pc_place *place, uint64_t *cookie);

/* ::ffff:a.b.c.d */
bool pc_place_is_mapped(const struct pc_place *place);

#endif
