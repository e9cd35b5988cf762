#include "audit.h"
#include "audit_records.h"
#include "sys.h"
#include "uapi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ABI_LOGS      7
#define MAX_RECORD    (16u << 10) /* the kernel's own are shorter: MAX_AUDIT_MESSAGE_LENGTH is 8970 */
#define RECEIVE_BYTES (4 << 20)
#define MOST_A_TURN   1024 /* records read before the run's other matters have their turn */
#define QUIET_MS      2
#define DRAIN_TURNS   100

struct pc_audit {
	int records_fd, control_fd;
	uint32_t lost_before;
	struct pc_audit_records *records;
	char buffer[MAX_RECORD];
};

/* ---- asking --------------------------------------------------------------------------------------------------------------- */

/* By raw calls: a probe's child asks too, in the host's memory. libc's calls would end it where the host's thread is cancelled. */

static int set_option(int fd, int level, int name, const void *value, size_t size)
{
	return (int)pc_sys5(__NR_setsockopt, fd, level, name, pc_ptr(value), (long)size);
}

static int open_socket(void)
{
	static const struct timeval limit = { .tv_sec = 1 };
	int fd = (int)pc_sys3(__NR_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);

	if (fd >= 0 && set_option(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0) {
		pc_sys_close(fd);
		return -EINVAL;
	}
	return fd;
}

/* Takes the initial user and PID namespaces, and CAP_AUDIT_CONTROL there. Source: audit_netlink_ok(). */
static int read_status(int fd, struct audit_status *status)
{
	struct nlmsghdr question = {
		.nlmsg_len = sizeof(question),
		.nlmsg_type = AUDIT_GET,
		.nlmsg_flags = NLM_F_REQUEST,
		.nlmsg_seq = 1,
	};
	union {
		struct nlmsghdr header;
		struct {
			struct nlmsghdr header;
			struct nlmsgerr error;
		} failure;
		char room[512];
	} answer;
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	long size;

	size = pc_sys6(__NR_sendto, fd, pc_ptr(&question), sizeof(question), 0, pc_ptr(&kernel), sizeof(kernel));
	if (size >= 0)
		size = pc_sys6(__NR_recvfrom, fd, pc_ptr(&answer), sizeof(answer), 0, 0, 0);
	if (size < 0)
		return (int)size;
	if ((size_t)size >= sizeof(answer.failure) && answer.header.nlmsg_type == NLMSG_ERROR)
		return answer.failure.error.error < 0 ? answer.failure.error.error : -EPROTO;
	/* Older kernels answer with fewer fields; `backlog` has always been among them. */
	if ((size_t)size < sizeof(answer.header) + offsetof(struct audit_status, backlog) + sizeof(status->backlog) ||
	    answer.header.nlmsg_type != AUDIT_GET)
		return -EPROTO;
	memset(status, 0, sizeof(*status));
	size -= (long)sizeof(answer.header);
	memcpy(status, answer.room + sizeof(answer.header), (size_t)size < sizeof(*status) ? (size_t)size : sizeof(*status));
	return 0;
}

/* Only the records of the types that are read wake anybody. The kernel hands the filter the message with its header. */
static int keep_types(int fd)
{
	const unsigned int at = offsetof(struct nlmsghdr, nlmsg_type);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(PC_AUDIT_ACCESS), 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(PC_AUDIT_DOMAIN), 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(PC_AUDIT_SYSCALL), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, MAX_RECORD),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return set_option(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

/* CAP_AUDIT_READ in the initial user namespace. Source: audit_multicast_bind(), Linux 3.16. */
static int join(int fd)
{
	struct sockaddr_nl own = { .nl_family = AF_NETLINK };
	int group = AUDIT_NLGRP_READLOG, room = RECEIVE_BYTES;
	int rc;

	rc = keep_types(fd);
	if (rc == 0)
		rc = (int)pc_sys3(__NR_bind, fd, pc_ptr(&own), sizeof(own));
	if (rc < 0)
		return rc;
	/* The host's own limit where the right to pass it is missing. */
	if (set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0)
		set_option(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	return set_option(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group));
}

/* The records go to the first network namespace alone; who may ask for the status is in the first PID namespace, with its init. */
static int is_first_network(void)
{
	struct stat own, first;
	long rc;

	/* The kernel's struct stat is libc's on both machines. */
	rc = pc_sys4(__NR_newfstatat, AT_FDCWD, pc_ptr("/proc/self/ns/net"), pc_ptr(&own), 0);
	if (rc == 0)
		rc = pc_sys4(__NR_newfstatat, AT_FDCWD, pc_ptr("/proc/1/ns/net"), pc_ptr(&first), 0);
	if (rc < 0)
		return (int)rc;
	return own.st_dev == first.st_dev && own.st_ino == first.st_ino ? 0 : -EXDEV;
}

/* With sockets that the caller closes. */
static int try_sockets(const char **step, int records, int control)
{
	struct audit_status status;
	int rc;

	*step = "audit_status";
	rc = read_status(control, &status);
	if (rc < 0)
		return rc;
	*step = "audit_enabled";
	if (!status.enabled)
		return -ENODEV;
	*step = "audit_group";
	rc = join(records);
	if (rc < 0)
		return rc;
	*step = "audit_network";
	return is_first_network();
}

int pc_audit_try(const char **step)
{
	int records, control, rc;

	*step = "landlock_abi";
	if (pc_landlock_abi() < ABI_LOGS)
		return -EOPNOTSUPP;
	*step = "audit_socket";
	records = open_socket();
	if (records < 0)
		return records;
	control = rc = open_socket();
	if (control >= 0) {
		rc = try_sockets(step, records, control);
		pc_sys_close(control);
	}
	pc_sys_close(records);
	return rc;
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

int pc_audit_make_name(char name[PC_AUDIT_NAME])
{
	unsigned char random[6];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	snprintf(name, PC_AUDIT_NAME, "pc-%02x%02x%02x%02x%02x%02x", random[0], random[1], random[2], random[3], random[4],
		 random[5]);
	return 0;
}

static int open_sockets(struct pc_audit *audit)
{
	struct audit_status status;
	int rc;

	audit->records_fd = open_socket();
	if (audit->records_fd < 0)
		return audit->records_fd;
	audit->control_fd = open_socket();
	if (audit->control_fd < 0)
		return audit->control_fd;
	rc = read_status(audit->control_fd, &status);
	if (rc < 0)
		return rc;
	if (!status.enabled)
		return -ENODEV;
	audit->lost_before = status.lost;
	return join(audit->records_fd);
}

int pc_audit_open(const char *name, struct pc_audit **opened)
{
	struct pc_audit *audit = calloc(1, sizeof(*audit));
	int rc;

	if (!audit)
		return -ENOMEM;
	audit->records_fd = audit->control_fd = -1;
	rc = pc_audit_records_open(name, &audit->records);
	if (rc == 0)
		rc = open_sockets(audit);
	if (rc < 0) {
		pc_audit_close(audit, NULL);
		return rc;
	}
	*opened = audit;
	return 0;
}

int pc_audit_fd(const struct pc_audit *audit)
{
	return audit->records_fd;
}

/* 1: there may be more; 0: not now. */
static int read_record(struct pc_audit *audit)
{
	struct sockaddr_nl from = { 0 };
	socklen_t size = sizeof(from);
	struct nlmsghdr header;
	ssize_t n;

	n = recvfrom(audit->records_fd, audit->buffer, sizeof(audit->buffer), MSG_DONTWAIT | MSG_TRUNC,
		     (struct sockaddr *)&from, &size);
	if (n < 0 && errno == ENOBUFS) { /* it says so once, however many */
		pc_audit_records_lose(audit->records, 1);
		return 1;
	}
	if (n < 0)
		return errno == EINTR;
	if (from.nl_pid != 0 || (size_t)n < sizeof(header))
		return 1;
	memcpy(&header, audit->buffer, sizeof(header));
	if ((size_t)n > sizeof(audit->buffer))
		pc_audit_records_lose(audit->records, header.nlmsg_type == PC_AUDIT_ACCESS);
	else /* the length in the header is not that of the text */
		pc_audit_records_add(audit->records, header.nlmsg_type, audit->buffer + sizeof(header),
				     (size_t)n - sizeof(header));
	return 1;
}

void pc_audit_read(struct pc_audit *audit)
{
	int i;

	for (i = 0; i < MOST_A_TURN && read_record(audit) > 0; i++)
		;
}

/*
 * A thread of the kernel's sends the records, after the calls that they tell of. The kernel's queue is empty, and then there is
 * nothing more for a moment: that was the last.
 */
static void drain(struct pc_audit *audit)
{
	struct pollfd ready = { .fd = audit->records_fd, .events = POLLIN };
	struct audit_status status;
	int i;

	for (i = 0; i < DRAIN_TURNS; i++) {
		if (read_status(audit->control_fd, &status) < 0) {
			pc_audit_records_lose(audit->records, 1);
			return;
		}
		if (poll(&ready, 1, QUIET_MS) > 0)
			pc_audit_read(audit);
		else if (!status.backlog)
			break;
	}
	/* Some have not left the kernel, or the host writes so much that there is no end to it. */
	if (i == DRAIN_TURNS)
		pc_audit_records_lose(audit->records, 1);
	/* By the kernel's limits of its queue and of records a second. */
	if (status.lost != audit->lost_before || !status.enabled)
		pc_audit_records_lose(audit->records, status.lost - audit->lost_before + !status.enabled);
}

void pc_audit_close(struct pc_audit *audit, struct pc_accesses *accesses)
{
	if (!audit)
		return;
	if (accesses)
		drain(audit);
	pc_audit_records_close(audit->records, accesses);
	if (audit->records_fd >= 0)
		close(audit->records_fd);
	if (audit->control_fd >= 0)
		close(audit->control_fd);
	free(audit);
}
