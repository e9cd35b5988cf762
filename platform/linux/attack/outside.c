/* What doctor keeps outside for a run to reach: listeners, a terminal, keys, IPC objects; and what has come to them. */
#include "address.h"
#include "attack.h"

#include "../../platform.h"

#include "../uapi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

struct kind {
	const char *name;
	int (*open)(struct pc_outside *outside, const char *address, const char *text);
	int (*look)(struct pc_outside *outside, char *data, size_t room);
	void (*close)(struct pc_outside *outside);
};

/* ---- Sockets ------------------------------------------------------------------------------------------------------------ */

static int bound(struct pc_outside *outside, int domain, int type, const union pc_attack_address *address, socklen_t size)
{
	union pc_attack_address own = { 0 };
	socklen_t own_size = sizeof(own);

	outside->fd = socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, domain == AF_NETLINK ? NETLINK_USERSOCK : 0);
	if (outside->fd < 0 || bind(outside->fd, &address->any, size) < 0)
		return -errno;
	if (type == SOCK_STREAM || type == SOCK_SEQPACKET) {
		if (listen(outside->fd, 64) < 0)
			return -errno;
	}
	if (getsockname(outside->fd, &own.any, &own_size) < 0)
		return -errno;
	switch (domain) {
	case AF_INET:
		outside->number = ntohs(own.in.sin_port);
		break;
	case AF_INET6:
		outside->number = ntohs(own.in6.sin6_port);
		break;
	case AF_VSOCK:
		outside->number = own.vm.svm_port;
		break;
	case AF_NETLINK:
		outside->number = own.nl.nl_pid;
		break;
	default:
		break;
	}
	return 0;
}

static int open_in(struct pc_outside *outside, int type)
{
	union pc_attack_address address = { .in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } } };

	return bound(outside, AF_INET, type, &address, sizeof(address.in));
}

static int open_in6(struct pc_outside *outside, int type)
{
	union pc_attack_address address = { .in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT } };

	return bound(outside, AF_INET6, type, &address, sizeof(address.in6));
}

static int open_tcp(struct pc_outside *outside, const char *address, const char *text)
{
	int one = 1, rc = open_in(outside, SOCK_STREAM);

	(void)address;
	(void)text;
	/* Where the system lets it: a client without connect is then heard at once. */
	if (rc == 0)
		setsockopt(outside->fd, IPPROTO_TCP, 23 /* TCP_FASTOPEN */, &one, sizeof(one));
	return rc;
}

static int open_tcp6(struct pc_outside *outside, const char *address, const char *text)
{
	(void)address;
	(void)text;
	return open_in6(outside, SOCK_STREAM);
}

/* "HOST PORT": a server at an address of this machine's. */
static int open_server(struct pc_outside *outside, const char *address, const char *text)
{
	union pc_attack_address any = { 0 };
	char host[64] = "";
	unsigned int port = 0;

	(void)text;
	if (sscanf(address, "%63s %u", host, &port) != 2)
		return -EINVAL;
	if (inet_pton(AF_INET, host, &any.in.sin_addr) == 1) {
		any.in.sin_family = AF_INET;
		any.in.sin_port = htons((uint16_t)port);
		return bound(outside, AF_INET, SOCK_STREAM, &any, sizeof(any.in));
	}
	if (inet_pton(AF_INET6, host, &any.in6.sin6_addr) != 1)
		return -EINVAL;
	any.in6.sin6_family = AF_INET6;
	any.in6.sin6_port = htons((uint16_t)port);
	return bound(outside, AF_INET6, SOCK_STREAM, &any, sizeof(any.in6));
}

static int open_udp(struct pc_outside *outside, const char *address, const char *text)
{
	(void)address;
	(void)text;
	return open_in(outside, SOCK_DGRAM);
}

static int open_udp6(struct pc_outside *outside, const char *address, const char *text)
{
	(void)address;
	(void)text;
	return open_in6(outside, SOCK_DGRAM);
}

static int open_vsock(struct pc_outside *outside, const char *address, const char *text)
{
	union pc_attack_address any = { .vm = { .svm_family = AF_VSOCK, .svm_cid = 1, .svm_port = VMADDR_PORT_ANY } };

	(void)address;
	(void)text;
	return bound(outside, AF_VSOCK, SOCK_STREAM, &any, sizeof(any.vm));
}

static int open_netlink(struct pc_outside *outside, const char *address, const char *text)
{
	union pc_attack_address any = { .nl = { .nl_family = AF_NETLINK } };

	(void)address;
	(void)text;
	return bound(outside, AF_NETLINK, SOCK_RAW, &any, sizeof(any.nl));
}

static int open_packet(struct pc_outside *outside, const char *address, const char *text)
{
	struct sockaddr_ll device = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(0x88b5 /* ETH_P_802_EX1 */),
		.sll_ifindex = (int)if_nametoindex("lo"),
	};

	(void)address;
	(void)text;
	outside->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (outside->fd < 0)
		return -errno;
	return pc_attack_result(bind(outside->fd, (struct sockaddr *)&device, sizeof(device)));
}

static int open_unix(struct pc_outside *outside, const char *name, int type)
{
	union pc_attack_address address;
	socklen_t size = pc_attack_unix_address(name, &address.un, &outside->second_fd);

	return bound(outside, AF_UNIX, type, &address, size);
}

static int open_stream(struct pc_outside *outside, const char *address, const char *text)
{
	(void)text;
	return open_unix(outside, address, SOCK_STREAM);
}

static int open_seqpacket(struct pc_outside *outside, const char *address, const char *text)
{
	(void)text;
	return open_unix(outside, address, SOCK_SEQPACKET);
}

static int open_dgram(struct pc_outside *outside, const char *address, const char *text)
{
	(void)text;
	return open_unix(outside, address, SOCK_DGRAM);
}

/* Whoever has connected, and what they have sent. */
static int look_accepted(struct pc_outside *outside, char *data, size_t room)
{
	size_t size = 0;
	int fd;

	while (size < room && (fd = accept4(outside->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		ssize_t got = recv(fd, data + size, room - size, 0);

		size += got > 0 ? (size_t)got : 0;
		close(fd);
	}
	return (int)size;
}

static int look_read(struct pc_outside *outside, char *data, size_t room)
{
	size_t size = 0;
	ssize_t got;

	while (size < room && (got = read(outside->fd, data + size, room - size)) > 0)
		size += (size_t)got;
	return (int)size;
}

static void close_fds(struct pc_outside *outside)
{
	if (outside->fd >= 0)
		close(outside->fd);
	if (outside->second_fd >= 0)
		close(outside->second_fd);
}

/* ---- Files of a kind ---------------------------------------------------------------------------------------------------- */

static int open_fifo(struct pc_outside *outside, const char *address, const char *text)
{
	(void)text;
	if (mkfifo(address, 0600) < 0)
		return -errno;
	outside->fd = open(address, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return pc_attack_result(outside->fd);
}

/* Its address is what the terminal is called; what is written or typed there comes back. */
static int open_terminal(struct pc_outside *outside, const char *address, const char *text)
{
	(void)address;
	(void)text;
	outside->fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (outside->fd < 0 || unlockpt(outside->fd) < 0 ||
	    ptsname_r(outside->fd, outside->address, sizeof(outside->address)) != 0)
		return -errno;
	outside->second_fd = open(outside->address, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return pc_attack_result(outside->second_fd);
}

/* ---- Keys and IPC ------------------------------------------------------------------------------------------------------- */

static int open_key(struct pc_outside *outside, const char *address, const char *text)
{
	outside->number = syscall(SYS_add_key, "user", address, text, strlen(text), -4 /* KEY_SPEC_USER_KEYRING */);
	if (outside->number < 0)
		return -errno;
	/* A process possesses what its session keyring leads to; @u is not always there. For the user, then: all but setattr. */
	if (syscall(SYS_keyctl, 5 /* KEYCTL_SETPERM */, outside->number, 0x3f1f0000, 0, 0) < 0)
		return -errno;
	return 0;
}

static int look_key(struct pc_outside *outside, char *data, size_t room)
{
	long size = syscall(SYS_keyctl, 11 /* KEYCTL_READ */, outside->number, data, room, 0);

	return size < 0 ? 0 : (int)((size_t)size < room ? (size_t)size : room);
}

static void close_key(struct pc_outside *outside)
{
	if (outside->number > 0)
		syscall(SYS_keyctl, 9 /* KEYCTL_UNLINK */, outside->number, -4, 0, 0);
}

static int open_shared(struct pc_outside *outside, const char *address, const char *text)
{
	char *data;

	(void)address;
	outside->number = shmget(IPC_PRIVATE, 4096, 0600);
	if (outside->number < 0)
		return -errno;
	data = shmat((int)outside->number, NULL, 0);
	if (data == (char *)-1)
		return -errno;
	memcpy(data, text, strnlen(text, 63) + 1);
	shmdt(data);
	return 0;
}

static int look_shared(struct pc_outside *outside, char *data, size_t room)
{
	char *shared = shmat((int)outside->number, NULL, SHM_RDONLY);
	size_t size;

	if (shared == (char *)-1)
		return 0;
	size = strnlen(shared, room < 64 ? room : 64);
	memcpy(data, shared, size);
	shmdt(shared);
	return (int)size;
}

static void close_shared(struct pc_outside *outside)
{
	if (outside->number >= 0)
		shmctl((int)outside->number, IPC_RMID, NULL);
}

static int open_messages(struct pc_outside *outside, const char *address, const char *text)
{
	(void)address;
	(void)text;
	outside->number = msgget(IPC_PRIVATE, 0600);
	return pc_attack_result(outside->number);
}

static int look_messages(struct pc_outside *outside, char *data, size_t room)
{
	struct {
		long type;
		char text[64];
	} message;
	ssize_t size = msgrcv((int)outside->number, &message, sizeof(message.text), 0, IPC_NOWAIT);

	if (size <= 0 || (size_t)size > room)
		return 0;
	memcpy(data, message.text, (size_t)size);
	return (int)size;
}

static void close_messages(struct pc_outside *outside)
{
	if (outside->number >= 0)
		msgctl((int)outside->number, IPC_RMID, NULL);
}

static int open_semaphore(struct pc_outside *outside, const char *address, const char *text)
{
	(void)address;
	(void)text;
	outside->number = semget(IPC_PRIVATE, 1, 0600);
	return pc_attack_result(outside->number);
}

/* "value=N;" */
static int look_semaphore(struct pc_outside *outside, char *data, size_t room)
{
	int value = semctl((int)outside->number, 0, GETVAL);

	return value < 0 ? 0 : snprintf(data, room, "value=%d;", value);
}

static void close_semaphore(struct pc_outside *outside)
{
	if (outside->number >= 0)
		semctl((int)outside->number, 0, IPC_RMID);
}

static int open_queue(struct pc_outside *outside, const char *address, const char *text)
{
	struct mq_attr attributes = { .mq_maxmsg = 4, .mq_msgsize = 128 };

	(void)text;
	if (strlen(address) >= sizeof(outside->address))
		return -ENAMETOOLONG;
	outside->fd = mq_open(address, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK | O_CLOEXEC, 0600, &attributes);
	if (outside->fd < 0)
		return -errno;
	memcpy(outside->address, address, strlen(address) + 1);
	return 0;
}

static int look_queue(struct pc_outside *outside, char *data, size_t room)
{
	ssize_t size = room < 128 ? 0 : mq_receive(outside->fd, data, room, NULL);

	return size < 0 ? 0 : (int)size;
}

static void close_queue(struct pc_outside *outside)
{
	if (outside->fd < 0)
		return;
	mq_close(outside->fd);
	mq_unlink(outside->address);
}

static const struct kind kinds[] = {
	{ "tcp", open_tcp, look_accepted, close_fds },
	{ "server", open_server, look_accepted, close_fds },
	{ "tcp6", open_tcp6, look_accepted, close_fds },
	{ "udp", open_udp, look_read, close_fds },
	{ "udp6", open_udp6, look_read, close_fds },
	{ "vsock", open_vsock, look_accepted, close_fds },
	{ "netlink", open_netlink, look_read, close_fds },
	{ "packet", open_packet, look_read, close_fds },
	{ "stream", open_stream, look_accepted, close_fds },
	{ "seqpacket", open_seqpacket, look_accepted, close_fds },
	{ "dgram", open_dgram, look_read, close_fds },
	{ "fifo", open_fifo, look_read, close_fds },
	{ "terminal", open_terminal, look_read, close_fds },
	{ "key", open_key, look_key, close_key },
	{ "shm", open_shared, look_shared, close_shared },
	{ "msg", open_messages, look_messages, close_messages },
	{ "sem", open_semaphore, look_semaphore, close_semaphore },
	{ "mq", open_queue, look_queue, close_queue },
};

static const struct kind *kind_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

int pc_outside_open(const char *name, const char *address, const char *text, struct pc_outside *outside)
{
	const struct kind *kind = kind_of(name);
	struct pc_outside made = { .fd = -1, .second_fd = -1, .number = -1 };
	int rc;

	if (!kind)
		return -EINVAL;
	made.kind = kind->name;
	rc = kind->open(&made, address, text);
	if (rc < 0) {
		kind->close(&made);
		return rc;
	}
	*outside = made;
	return 0;
}

int pc_outside_look(struct pc_outside *outside, char *data, size_t room)
{
	return kind_of(outside->kind)->look(outside, data, room);
}

void pc_outside_close(struct pc_outside *outside)
{
	kind_of(outside->kind)->close(outside);
}
