/* Attacks by sockets: whatever family carries a text to a listener of doctor's. */
#include "address.h"
#include "attack.h"

#include "../uapi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

socklen_t pc_attack_inet_address(const char *host, const char *port, union pc_attack_address *address)
{
	in_port_t number = htons((uint16_t)strtoul(port, NULL, 10));

	memset(address, 0, sizeof(*address));
	if (strchr(host, ':')) {
		address->in6.sin6_family = AF_INET6;
		address->in6.sin6_port = number;
		return inet_pton(AF_INET6, host, &address->in6.sin6_addr) == 1 ? sizeof(address->in6) : 0;
	}
	address->in.sin_family = AF_INET;
	address->in.sin_port = number;
	return inet_pton(AF_INET, host, &address->in.sin_addr) == 1 ? sizeof(address->in) : 0;
}

socklen_t pc_attack_unix_address(const char *name, struct sockaddr_un *address, int *directory)
{
	size_t size = strlen(name), room = sizeof(address->sun_path);
	const char *slash = strrchr(name, '/');
	char parent[4096];

	*directory = -1;
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (size < room) {
		memcpy(address->sun_path, name, size);
	} else if (slash && (size_t)(slash - name) < sizeof(parent)) {
		memcpy(parent, name, (size_t)(slash - name));
		parent[slash - name] = '\0';
		*directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
		snprintf(address->sun_path, room, "/proc/self/fd/%d%s", *directory, slash);
	}
	if (name[0] != '@')
		return sizeof(*address);
	address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size < room ? size : room));
}

static socklen_t unix_address(const char *name, union pc_attack_address *address)
{
	int directory;

	/* It stays open until the process ends. */
	return pc_attack_unix_address(name, &address->un, &directory);
}

/* Connected within the time of one attack, or -errno. */
static int finish_connect(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int error = 0;

	if (poll(&wait, 1, 250) <= 0)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return -errno;
	return -error;
}

static int connect_and_send(int fd, const union pc_attack_address *address, socklen_t size, const char *text)
{
	int rc;

	if (fd < 0)
		return -errno;
	if (connect(fd, &address->any, size) < 0) {
		rc = errno == EINPROGRESS ? finish_connect(fd) : -errno;
		if (rc < 0)
			return rc;
	}
	return pc_attack_result(send(fd, text, strlen(text), MSG_NOSIGNAL));
}

static int tcp_of(int protocol, const char *const *words)
{
	union pc_attack_address address;
	socklen_t size = pc_attack_inet_address(words[0], words[1], &address);

	return connect_and_send(socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, protocol), &address, size, words[2]);
}

/* tcp HOST PORT TEXT */
static int tcp(const char *const *words)
{
	return tcp_of(IPPROTO_TCP, words);
}

static int mptcp(const char *const *words)
{
	return tcp_of(IPPROTO_MPTCP, words);
}

/* fastopen HOST PORT TEXT: no connect */
static int fast_open(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size = pc_attack_inet_address(words[0], words[1], &address);
	int fd = socket(address.any.sa_family, SOCK_STREAM, 0);

	if (fd < 0)
		return -errno;
	return pc_attack_result(sendto(fd, words[2], strlen(words[2]), MSG_FASTOPEN | MSG_NOSIGNAL, &address.any, size));
}

/* udp HOST PORT TEXT */
static int udp(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size = pc_attack_inet_address(words[0], words[1], &address);
	int fd = socket(address.any.sa_family, SOCK_DGRAM, 0);

	return fd < 0 ? -errno : pc_attack_result(sendto(fd, words[2], strlen(words[2]), 0, &address.any, size));
}

/* udp_connect HOST PORT TEXT: as a resolver does it */
static int udp_connected(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size = pc_attack_inet_address(words[0], words[1], &address);

	return connect_and_send(socket(address.any.sa_family, SOCK_DGRAM, 0), &address, size, words[2]);
}

struct datagram {
	struct iphdr ip;
	struct udphdr udp;
	char text[64];
};

/* A UDP datagram with its headers, from 127.0.0.1; its size. */
static size_t make_datagram(const char *port, const char *text, struct datagram *datagram)
{
	size_t length = strnlen(text, sizeof(datagram->text)), size = sizeof(datagram->ip) + sizeof(datagram->udp) + length, i;
	uint32_t sum = 0;
	uint16_t part;

	memset(datagram, 0, sizeof(*datagram));
	datagram->ip.version = 4;
	datagram->ip.ihl = 5;
	datagram->ip.tot_len = htons((uint16_t)size);
	datagram->ip.ttl = 64;
	datagram->ip.protocol = IPPROTO_UDP;
	datagram->ip.saddr = datagram->ip.daddr = htonl(INADDR_LOOPBACK);
	for (i = 0; i < sizeof(datagram->ip); i += 2) {
		memcpy(&part, (char *)&datagram->ip + i, 2);
		sum += part;
	}
	sum = (sum & 0xffff) + (sum >> 16);
	datagram->ip.check = (uint16_t) ~(sum + (sum >> 16));
	/* No checksum: a UDP of IPv4 may do without. */
	datagram->udp.source = datagram->udp.dest = htons((uint16_t)strtoul(port, NULL, 10));
	datagram->udp.len = htons((uint16_t)(sizeof(datagram->udp) + length));
	memcpy(datagram->text, text, length);
	return size;
}

/* raw HOST PORT TEXT: a UDP datagram by a raw socket */
static int raw(const char *const *words)
{
	struct datagram datagram;
	union pc_attack_address address;
	socklen_t size = pc_attack_inet_address(words[0], words[1], &address);
	size_t length = make_datagram(words[1], words[2], &datagram);
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);

	return fd < 0 ? -errno : pc_attack_result(sendto(fd, &datagram, length, 0, &address.any, size));
}

/* packet TEXT: a frame laid on the loopback device, of a protocol kept for experiments */
static int packet(const char *const *words)
{
	struct sockaddr_ll device = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(0x88b5 /* ETH_P_802_EX1 */),
		.sll_ifindex = (int)if_nametoindex("lo"),
		.sll_halen = ETH_ALEN,
	};
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);

	if (fd < 0)
		return -errno;
	return pc_attack_result(sendto(fd, words[0], strlen(words[0]), 0, (struct sockaddr *)&device, sizeof(device)));
}

/* vsock PORT TEXT */
static int vsock(const char *const *words)
{
	union pc_attack_address address = { .vm = { .svm_family = AF_VSOCK, .svm_cid = 1 /* VMADDR_CID_LOCAL */ } };

	address.vm.svm_port = (unsigned int)strtoul(words[0], NULL, 10);
	return connect_and_send(socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK, 0), &address, sizeof(address.vm), words[1]);
}

/* netlink PORT TEXT: to another process, by the protocol that is there for that */
static int netlink(const char *const *words)
{
	struct {
		struct nlmsghdr header;
		char text[64];
	} message = { .header = { .nlmsg_type = NLMSG_MIN_TYPE } };
	union pc_attack_address address = { .nl = { .nl_family = AF_NETLINK } };
	size_t size = strnlen(words[1], sizeof(message.text));
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK);

	if (fd < 0)
		return -errno;
	address.nl.nl_pid = (uint32_t)strtoul(words[0], NULL, 10);
	memcpy(message.text, words[1], size);
	message.header.nlmsg_len = (uint32_t)(sizeof(message.header) + size);
	return pc_attack_result(sendto(fd, &message, message.header.nlmsg_len, 0, &address.any, sizeof(address.nl)));
}

static int unix_type(const char *name)
{
	return strcmp(name, "dgram") == 0 ? SOCK_DGRAM : strcmp(name, "seqpacket") == 0 ? SOCK_SEQPACKET : SOCK_STREAM;
}

/* unix TYPE ADDRESS TEXT */
static int unix_connect(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size = unix_address(words[1], &address);

	return connect_and_send(socket(AF_UNIX, unix_type(words[0]) | SOCK_NONBLOCK, 0), &address, size, words[2]);
}

/* unix_link TYPE ADDRESS TEXT LINK: by a symbolic link to it */
static int unix_by_link(const char *const *words)
{
	const char *through[] = { words[0], words[3], words[2] };

	if (symlink(words[1], words[3]) < 0)
		return -errno;
	return unix_connect(through);
}

static int send_to(int fd, const char *name, const char *text)
{
	union pc_attack_address address;
	socklen_t size = unix_address(name, &address);

	return fd < 0 ? -errno : pc_attack_result(sendto(fd, text, strlen(text), MSG_NOSIGNAL, &address.any, size));
}

/* unix_sendto ADDRESS TEXT: a datagram without connect */
static int unix_sendto(const char *const *words)
{
	return send_to(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), words[0], words[1]);
}

/* unix_sendmsg ADDRESS TEXT: the same where the address lies in memory */
static int unix_sendmsg(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size = unix_address(words[0], &address);
	struct iovec part = { .iov_base = (void *)(uintptr_t)words[1], .iov_len = strlen(words[1]) };
	struct msghdr message = { .msg_name = &address, .msg_namelen = size, .msg_iov = &part, .msg_iovlen = 1 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : pc_attack_result(sendmsg(fd, &message, MSG_NOSIGNAL));
}

/* unix_pair ADDRESS TEXT: from one end of a pair */
static int unix_pair(const char *const *words)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	return send_to(pair[0], words[0], words[1]);
}

/* ---- io_uring ---------------------------------------------------------------------------------------------------------- */

int pc_attack_ring_open(struct pc_attack_ring *ring)
{
	struct io_uring_params params = { 0 };
	size_t size;
	int fd = (int)syscall(__NR_io_uring_setup, 4, &params);

	if (fd < 0)
		return -errno;
	size = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
	ring->submissions = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)IORING_OFF_SQ_RING);
	size = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	ring->completions = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)IORING_OFF_CQ_RING);
	size = params.sq_entries * sizeof(struct io_uring_sqe);
	ring->entries = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)IORING_OFF_SQES);
	if (ring->submissions == MAP_FAILED || ring->completions == MAP_FAILED || ring->entries == MAP_FAILED)
		return -errno;
	ring->fd = fd;
	ring->sq_tail = params.sq_off.tail;
	ring->sq_array = params.sq_off.array;
	ring->cq_head = params.cq_off.head;
	ring->cq_entries = params.cq_off.cqes;
	return 0;
}

static uint32_t *at(unsigned char *base, uint32_t offset)
{
	return (uint32_t *)(void *)(base + offset);
}

int pc_attack_ring_do(struct pc_attack_ring *ring, const struct io_uring_sqe *operation)
{
	uint32_t *tail = at(ring->submissions, ring->sq_tail), *head = at(ring->completions, ring->cq_head);
	const struct io_uring_cqe *done;

	*(struct io_uring_sqe *)ring->entries = *operation;
	*at(ring->submissions, ring->sq_array) = 0;
	/* One entry, used again and again; the array has one index for each place of the ring, so all are set to it. */
	*at(ring->submissions, ring->sq_array + (uint32_t)sizeof(uint32_t) * (*tail & 3)) = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(__NR_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return -errno;
	done = (const struct io_uring_cqe *)(const void *)(ring->completions + ring->cq_entries) + (*head & 7);
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return done->res;
}

/* A socket by io_uring, connected by it, and a text sent by it: no call of these is made. */
static int ring_send(int domain, const union pc_attack_address *address, socklen_t size, const char *text)
{
	struct pc_attack_ring ring;
	struct io_uring_sqe make = { .opcode = 45 /* IORING_OP_SOCKET, Linux 5.19 */, .fd = domain, .off = SOCK_STREAM };
	struct io_uring_sqe connects = { .opcode = IORING_OP_CONNECT, .addr = (uint64_t)(uintptr_t)address, .off = size };
	struct io_uring_sqe sends = { .opcode = IORING_OP_SEND, .addr = (uint64_t)(uintptr_t)text };
	int fd, rc = pc_attack_ring_open(&ring);

	if (rc < 0)
		return rc;
	fd = pc_attack_ring_do(&ring, &make);
	if (fd < 0)
		return fd;
	connects.fd = sends.fd = fd;
	sends.len = (uint32_t)strlen(text);
	rc = pc_attack_ring_do(&ring, &connects);
	return rc < 0 ? rc : pc_attack_ring_do(&ring, &sends);
}

/* uring_tcp HOST PORT TEXT */
static int uring_tcp(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size = pc_attack_inet_address(words[0], words[1], &address);

	return ring_send(address.any.sa_family, &address, size, words[2]);
}

/* uring_unix ADDRESS TEXT */
static int uring_unix(const char *const *words)
{
	union pc_attack_address address;
	socklen_t size = unix_address(words[0], &address);

	return ring_send(AF_UNIX, &address, size, words[1]);
}

const struct pc_attack pc_attacks_on_network[] = {
	{ "tcp", tcp, false },
	{ "mptcp", mptcp, false },
	{ "fastopen", fast_open, false },
	{ "udp", udp, false },
	{ "udp_connect", udp_connected, false },
	{ "raw", raw, false },
	{ "packet", packet, false },
	{ "vsock", vsock, false },
	{ "netlink", netlink, false },
	{ "unix", unix_connect, false },
	{ "unix_link", unix_by_link, false },
	{ "unix_sendto", unix_sendto, false },
	{ "unix_sendmsg", unix_sendmsg, false },
	{ "unix_pair", unix_pair, false },
	{ "uring_tcp", uring_tcp, false },
	{ "uring_unix", uring_unix, false },
	{ NULL, NULL, false },
};
