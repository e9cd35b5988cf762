/*
 * Guards: what keeps the addresses where the run listens for the run, where it shares the host's loopback.
 *
 * Judging a connection and making it are two steps. Between them the run could close its server and a program outside take the
 * address; a connection that waits in a full backlog would reach that one a minute later. A guard is bound to the same address
 * without SO_REUSEADDR and SO_REUSEPORT: with it there bind(2) and listen(2) of everybody else answer EADDRINUSE, those of the
 * wildcard address too. It is made when the run's socket begins to listen, since a listener shares with nobody; for that moment
 * both have SO_REUSEADDR. Source: net/ipv4/inet_connection_sock.c, inet_csk_bind_conflict.
 */
#include "../broker.h"
#include "../sys.h"

#include <asm/errno.h>
#include <stdbool.h>

#define FAMILY_INET   2
#define FAMILY_INET6  10
#define TYPE_GUARD    (1 /* SOCK_STREAM */ | 02000000 /* SOCK_CLOEXEC */)
#define LEVEL_SOCKET  1
#define LEVEL_IPV6    41
#define REUSE_ADDRESS 2	 /* SO_REUSEADDR */
#define V6_ONLY	      26 /* IPV6_V6ONLY */

/* struct sockaddr_in and sockaddr_in6, as far as they matter here. */
struct inet_address {
	uint16_t family;
	uint8_t port[2];
	uint8_t v4[4];
	uint8_t v6[16];
	uint8_t more[100];
};

static int guards[PC_BROKER_GUARDS]; /* descriptor + 1; 0: none */
static uint32_t guards_end;	     /* above the highest that was ever used */

static bool is_loopback(const struct inet_address *address)
{
	static const uint8_t one[16] = { [15] = 1 }, mapped[16] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *wanted;
	int i, size = 16;

	if (address->family == FAMILY_INET)
		return address->v4[0] == 127;
	if (address->family != FAMILY_INET6)
		return false;
	wanted = address->v6[10] ? mapped : one;
	if (wanted == mapped)
		size = 12;
	for (i = 0; i < size; i++)
		if (address->v6[i] != wanted[i])
			return false;
	return wanted == one || address->v6[12] == 127;
}

static int set_option(int fd, int level, int option, int value)
{
	return (int)pc_sys5(__NR_setsockopt, fd, level, option, pc_ptr(&value), sizeof(value));
}

static int get_option(int fd, int level, int option, int *value)
{
	uint32_t size = sizeof(*value);

	return (int)pc_sys5(__NR_getsockopt, fd, level, option, pc_ptr(value), pc_ptr(&size));
}

static int name_of(int fd, struct inet_address *address, uint32_t *size)
{
	*size = sizeof(*address);
	return (int)pc_sys3(__NR_getsockname, fd, pc_ptr(address), pc_ptr(size));
}

static int listen_on(int fd, uint32_t backlog)
{
	return (int)pc_sys2(__NR_listen, fd, (int)backlog);
}

/* A socket of the same kind, bound to the same address. */
static int make_guard(int like, const struct inet_address *address, uint32_t size)
{
	int v6_only = 0, rc = 0, fd;

	fd = (int)pc_sys3(__NR_socket, address->family, TYPE_GUARD, 0);
	if (fd < 0)
		return fd;
	if (address->family == FAMILY_INET6) {
		rc = get_option(like, LEVEL_IPV6, V6_ONLY, &v6_only);
		if (rc == 0)
			rc = set_option(fd, LEVEL_IPV6, V6_ONLY, v6_only);
	}
	if (rc == 0)
		rc = set_option(fd, LEVEL_SOCKET, REUSE_ADDRESS, 1);
	if (rc == 0)
		rc = (int)pc_sys3(__NR_bind, fd, pc_ptr(address), size);
	if (rc < 0) {
		pc_sys_close(fd);
		return rc;
	}
	return fd;
}

static int listen_guarded(int socket, uint32_t backlog, const struct inet_address *address, uint32_t size)
{
	int fd, rc;

	fd = make_guard(socket, address, size);
	if (fd < 0)
		return fd;
	rc = listen_on(socket, backlog);
	if (rc == 0)
		rc = set_option(fd, LEVEL_SOCKET, REUSE_ADDRESS, 0);
	if (rc < 0) {
		pc_sys_close(fd);
		return rc;
	}
	return fd;
}

static void keep(uint32_t guard, int fd)
{
	pc_guard_release(guard);
	guards[guard] = fd + 1;
	if (guard >= guards_end)
		guards_end = guard + 1;
}

static void report_address(struct pc_broker_reply *reply, const struct inet_address *address, uint32_t size)
{
	const uint8_t *from = (const void *)address;
	uint32_t i;

	for (i = 0; i < size && i < PC_BROKER_ADDRESS; i++)
		reply->address[i] = from[i];
	reply->address_size = i;
}

int pc_guard_listen(const struct pc_broker_request *request, int socket, struct pc_broker_reply *reply)
{
	struct inet_address address;
	uint32_t size;
	int was = 0, rc;

	if (request->guard == PC_BROKER_NO_GUARD) {
		rc = listen_on(socket, request->argument);
		if (rc == 0 && name_of(socket, &address, &size) == 0)
			report_address(reply, &address, size);
		return rc;
	}
	rc = name_of(socket, &address, &size);
	if (rc == 0)
		rc = get_option(socket, LEVEL_SOCKET, REUSE_ADDRESS, &was);
	if (rc < 0)
		return rc;
	if (request->guard >= PC_BROKER_GUARDS || !is_loopback(&address) || !(address.port[0] | address.port[1]))
		return -EINVAL;
	rc = set_option(socket, LEVEL_SOCKET, REUSE_ADDRESS, 1);
	if (rc == 0)
		rc = listen_guarded(socket, request->argument, &address, size);
	set_option(socket, LEVEL_SOCKET, REUSE_ADDRESS, was);
	if (rc < 0)
		return rc;
	keep(request->guard, rc);
	report_address(reply, &address, size);
	return 0;
}

void pc_guard_release(uint32_t guard)
{
	if (guard >= PC_BROKER_GUARDS || !guards[guard])
		return;
	pc_sys_close(guards[guard] - 1);
	guards[guard] = 0;
}

void pc_guard_keep_only(uint32_t guard)
{
	uint32_t i;

	for (i = 0; i < guards_end; i++)
		if (i != guard)
			pc_guard_release(i);
}
