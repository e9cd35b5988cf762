#include "tcp_diag.h"
#include "sys.h"

#include <asm/errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>

#define FAMILY_INET	  2
#define FAMILY_INET6	  10
#define FAMILY_NETLINK	  16
#define PROTOCOL_TCP	  6
#define STATE_LISTEN	  10
#define INTERFACE_LO	  1 /* in every network namespace. Source: LOOPBACK_IFINDEX, include/net/flow.h */
#define ANY_COOKIE	  (~0u)
#define TYPE_RAW	  3
#define FLAG_CLOEXEC	  02000000
#define MESSAGE_TRUNCATED 0x20

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 request;
};

union answer {
	struct nlmsghdr header;
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
	} failure;
	struct {
		struct nlmsghdr header;
		struct inet_diag_msg socket;
	} found;
	char room[512]; /* attributes may follow; they are cut off */
};

bool pc_place_is_mapped(const struct pc_place *place)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(place->address, prefix, sizeof(prefix));
}

int pc_tcp_diag_open(void)
{
	return (int)pc_sys3(__NR_socket, FAMILY_NETLINK, TYPE_RAW | FLAG_CLOEXEC, NETLINK_SOCK_DIAG);
}

/* The place is where the listener is; the other end is any client's on the same machine. */
static void ask_about(struct question *question, const struct pc_place *place)
{
	bool is_mapped = pc_place_is_mapped(place);
	struct inet_diag_sockid *id = &question->request.id;

	*question = (struct question) {
		.header = {
			.nlmsg_len = sizeof(*question),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST,
			.nlmsg_seq = 1,
		},
		.request = {
			.sdiag_family = is_mapped ? FAMILY_INET : FAMILY_INET6,
			.sdiag_protocol = PROTOCOL_TCP,
			.idiag_states = ~0u,
			.id = { .idiag_if = INTERFACE_LO, .idiag_cookie = { ANY_COOKIE, ANY_COOKIE } },
		},
	};
	id->idiag_sport = (uint16_t)(place->port << 8 | place->port >> 8);
	memcpy(id->idiag_src, place->address + (is_mapped ? 12 : 0), is_mapped ? 4 : 16);
	memcpy(id->idiag_dst, id->idiag_src, sizeof(id->idiag_dst));
}

int pc_tcp_diag_listener(int diag_fd, const struct pc_place *place, uint64_t *cookie)
{
	struct question question;
	union answer answer;
	long rc;

	ask_about(&question, place);
	rc = pc_sys6(__NR_sendto, diag_fd, pc_ptr(&question), sizeof(question), 0, 0, 0);
	if (rc < 0)
		return (int)rc;
	/* The answer is there when the question has been put. */
	rc = pc_sys6(__NR_recvfrom, diag_fd, pc_ptr(&answer), sizeof(answer), MESSAGE_TRUNCATED, 0, 0);
	if (rc < 0)
		return (int)rc;
	if ((size_t)rc >= sizeof(answer.failure) && answer.header.nlmsg_type == NLMSG_ERROR)
		return answer.failure.error.error < 0 ? answer.failure.error.error : -EPROTO;
	if ((size_t)rc < sizeof(answer.found) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -EPROTO;
	if (answer.found.socket.idiag_state != STATE_LISTEN)
		return -ENOENT;
	*cookie = answer.found.socket.id.idiag_cookie[0] | (uint64_t)answer.found.socket.id.idiag_cookie[1] << 32;
	return 0;
}
