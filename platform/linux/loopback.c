#include "loopback.h"
#include "tcp_diag.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Sockets that were bound, whether or not they are still there: the oldest are forgotten, and cannot listen any more. */
#define MAX_BOUND 4096

#define MAX_LISTENERS PC_BROKER_GUARDS

/* How often, at most, all listeners are looked after. */
#define SWEEP_US 200000

/* For so long a guard that was released may still be held by a connection that is being made. */
#define RELEASE_US 1000000

struct bound {
	uint64_t cookie;
	bool is_wild;
};

struct listener {
	uint64_t cookie; /* 0: free */
	struct pc_place place;
	bool is_pending; /* the broker has not answered yet */
	bool is_wild;
	bool is_dual;	   /* made for IPv6 and IPv4, listens on the IPv4 one */
	bool is_over;	   /* its guard is to be released, when nothing is under way and the broker takes the request */
	uint32_t underway; /* connections to it; if their broker is killed, for good */
};

struct pc_loopback {
	enum pc_loopback_mode mode;
	int diag_fd, broker_fd;
	int64_t swept_us, released_us;
	uint16_t released_port;
	struct bound *bound;
	size_t bound_count, bound_room, bound_next;
	struct listener listeners[MAX_LISTENERS];
};

/* What a request is about. */
struct subject {
	int domain;
	uint64_t cookie;
	int is_v6_only;
};

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- addresses ------------------------------------------------------------------------------------------------------------ */

static const struct in6_addr v6_loopback = IN6ADDR_LOOPBACK_INIT;

static void set_v4(struct pc_place *place, in_addr_t address)
{
	memset(place->address, 0, 10);
	place->address[10] = place->address[11] = 0xff;
	memcpy(place->address + 12, &address, sizeof(address));
}

static bool is_any_v4(const struct pc_place *place)
{
	static const uint8_t none[4];

	return pc_place_is_mapped(place) && !memcmp(place->address + 12, none, sizeof(none));
}

static bool is_any_v6(const struct pc_place *place)
{
	return !memcmp(place->address, &in6addr_any, sizeof(in6addr_any));
}

static bool is_loopback(const struct pc_place *place)
{
	return pc_place_is_mapped(place) ? place->address[12] == 127 :
					   !memcmp(place->address, &v6_loopback, sizeof(v6_loopback));
}

static bool is_same_place(const struct pc_place *a, const struct pc_place *b)
{
	return a->port == b->port && !memcmp(a->address, b->address, sizeof(a->address));
}

/* As the kernel reads an address for a socket of this family, with its errors. Before AF_INET had a name AF_UNSPEC was its wildcard. */
static int read_address(int domain, const void *bytes, size_t size, bool takes_unspecified, struct pc_place *place)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6 = { 0 };

	if (domain == AF_INET) {
		if (size < sizeof(v4))
			return -EINVAL;
		memcpy(&v4, bytes, sizeof(v4));
		if (v4.sin_family != AF_INET &&
		    !(takes_unspecified && v4.sin_family == AF_UNSPEC && v4.sin_addr.s_addr == INADDR_ANY))
			return -EAFNOSUPPORT;
		set_v4(place, v4.sin_addr.s_addr);
		place->port = ntohs(v4.sin_port);
		return 0;
	}
	/* Without the scope: RFC 2133 had none. */
	if (size < offsetof(struct sockaddr_in6, sin6_scope_id))
		return -EINVAL;
	memcpy(&v6, bytes, offsetof(struct sockaddr_in6, sin6_scope_id));
	if (v6.sin6_family != AF_INET6)
		return -EAFNOSUPPORT;
	memcpy(place->address, &v6.sin6_addr, sizeof(place->address));
	place->port = ntohs(v6.sin6_port);
	return 0;
}

static void write_address(int domain, const struct pc_place *place, struct pc_broker_request *request)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(place->port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(place->port) };

	memset(request->address, 0, sizeof(request->address));
	if (domain == AF_INET) {
		memcpy(&v4.sin_addr, place->address + 12, sizeof(v4.sin_addr));
		memcpy(request->address, &v4, sizeof(v4));
		request->address_size = sizeof(v4);
		return;
	}
	memcpy(&v6.sin6_addr, place->address, sizeof(v6.sin6_addr));
	memcpy(request->address, &v6, sizeof(v6));
	request->address_size = sizeof(v6);
}

/* ---- sockets -------------------------------------------------------------------------------------------------------------- */

static int get_option(int socket, int level, int option, void *value, socklen_t size)
{
	return getsockopt(socket, level, option, value, &size) < 0 ? -errno : 0;
}

/* 1: an internet socket, described; 0: of another family, and no business of ours; or -errno. */
static int describe(int socket, struct subject *subject)
{
	int type, protocol, rc;

	rc = get_option(socket, SOL_SOCKET, SO_DOMAIN, &subject->domain, sizeof(subject->domain));
	if (rc < 0)
		return rc;
	if (subject->domain != AF_INET && subject->domain != AF_INET6)
		return 0;
	rc = get_option(socket, SOL_SOCKET, SO_TYPE, &type, sizeof(type));
	if (rc == 0)
		rc = get_option(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, sizeof(protocol));
	if (rc == 0)
		rc = get_option(socket, SOL_SOCKET, SO_COOKIE, &subject->cookie, sizeof(subject->cookie));
	if (rc == 0 && subject->domain == AF_INET6)
		rc = get_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, &subject->is_v6_only, sizeof(subject->is_v6_only));
	if (rc < 0)
		return rc;
	/* The filter makes no other; one may have come through a Unix socket. */
	return type == SOCK_STREAM && protocol == IPPROTO_TCP ? 1 : -EACCES;
}

static const struct bound *find_bound(const struct pc_loopback *loopback, uint64_t cookie)
{
	size_t i;

	for (i = 0; i < loopback->bound_count; i++)
		if (loopback->bound[i].cookie == cookie)
			return &loopback->bound[i];
	return NULL;
}

static void remember_bound(struct pc_loopback *loopback, uint64_t cookie, bool is_wild)
{
	size_t room = loopback->bound_room ? loopback->bound_room * 2 : 16;
	struct bound *grown;

	if (loopback->bound_count == loopback->bound_room && loopback->bound_room < MAX_BOUND) {
		grown = realloc(loopback->bound, room * sizeof(*grown));
		/* Without memory one socket is not known, and cannot listen. */
		if (!grown)
			return;
		loopback->bound = grown;
		loopback->bound_room = room;
	}
	if (loopback->bound_count < loopback->bound_room) {
		loopback->bound[loopback->bound_count++] = (struct bound) { cookie, is_wild };
		return;
	}
	loopback->bound[loopback->bound_next] = (struct bound) { cookie, is_wild };
	loopback->bound_next = (loopback->bound_next + 1) % MAX_BOUND;
}

/* ---- listeners ------------------------------------------------------------------------------------------------------------ */

static bool is_live(const struct listener *listener)
{
	return listener->cookie && !listener->is_pending && !listener->is_over;
}

static bool still_listens(const struct pc_loopback *loopback, const struct listener *listener)
{
	uint64_t cookie;

	return pc_tcp_diag_listener(loopback->diag_fd, &listener->place, &cookie) == 0 && cookie == listener->cookie;
}

/*
 * The guard goes with it, but not from under a connection that is on its way there: a run that can signal the broker's processes
 * could end the one that waits for it. What cannot be done now stays as it is, guard and all, for another time.
 */
static void release(struct pc_loopback *loopback, struct listener *listener)
{
	struct pc_broker_request request = {
		.op = PC_BROKER_RELEASE,
		.guard = (uint32_t)(listener - loopback->listeners),
	};

	listener->is_over = true;
	if (listener->underway)
		return;
	if (loopback->mode == PC_LOOPBACK_RUN &&
	    send(loopback->broker_fd, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
	loopback->released_us = now_us();
	loopback->released_port = listener->place.port;
	*listener = (struct listener) { 0 };
}

/* Listeners on this port (0: on any) that are gone. */
static void sweep(struct pc_loopback *loopback, uint16_t port)
{
	size_t i;

	for (i = 0; i < MAX_LISTENERS; i++) {
		struct listener *listener = &loopback->listeners[i];

		if (!listener->cookie || listener->is_pending || (port && listener->place.port != port))
			continue;
		if (listener->is_over || !still_listens(loopback, listener))
			release(loopback, listener);
	}
}

/* Whether a guard on this port waits for connections that are on their way. */
static bool is_about_to_go(const struct pc_loopback *loopback, uint16_t port)
{
	size_t i;

	for (i = 0; i < MAX_LISTENERS; i++)
		if (loopback->listeners[i].is_over && loopback->listeners[i].place.port == port)
			return true;
	return false;
}

/* An address that the run does not use any more is not kept from others for long, if the run does anything at all. */
static void sweep_sometimes(struct pc_loopback *loopback)
{
	int64_t now = now_us();

	if (now - loopback->swept_us < SWEEP_US)
		return;
	loopback->swept_us = now;
	sweep(loopback, 0);
}

/* 0: a free place. */
static struct listener *find_listener(struct pc_loopback *loopback, uint64_t cookie)
{
	size_t i;

	for (i = 0; i < MAX_LISTENERS; i++)
		if (loopback->listeners[i].cookie == cookie && !loopback->listeners[i].is_over)
			return &loopback->listeners[i];
	return NULL;
}

/*
 * A server that asked for the wildcard address, was given one of the loopback instead, and would have been reached at another:
 * 127.0.1.1, as Debian calls the machine, or ::1.
 */
static struct listener *find_wild(struct pc_loopback *loopback, const struct subject *client, const struct pc_place *wanted)
{
	bool wants_v4 = pc_place_is_mapped(wanted);
	size_t i;

	for (i = 0; i < MAX_LISTENERS; i++) {
		struct listener *listener = &loopback->listeners[i];
		bool is_v4 = pc_place_is_mapped(&listener->place);

		if (!is_live(listener) || !listener->is_wild || listener->place.port != wanted->port)
			continue;
		if (wants_v4 != is_v4 && !(listener->is_dual && !client->is_v6_only))
			continue;
		if (still_listens(loopback, listener))
			return listener;
	}
	return NULL;
}

/* ---- verdicts ------------------------------------------------------------------------------------------------------------- */

static int refuse(struct pc_loopback_note *note)
{
	note->is_refused = true;
	return -EACCES;
}

/* 0 and the guard of the server that is reached, PC_BROKER_NO_GUARD where none is needed; or the negative errno to answer. */
static int find_server(struct pc_loopback *loopback, const struct subject *client, struct pc_place *to, uint32_t *guard,
		       struct pc_loopback_note *note)
{
	struct listener *listener = NULL;
	uint64_t cookie;
	int rc;

	*guard = PC_BROKER_NO_GUARD;
	rc = pc_tcp_diag_listener(loopback->diag_fd, to, &cookie);
	if (rc == -ENOENT) {
		listener = find_wild(loopback, client, to);
		if (listener)
			*to = listener->place;
	}
	if (loopback->mode == PC_LOOPBACK_HOST)
		return 0;
	if (rc == 0)
		listener = find_listener(loopback, cookie);
	else if (rc != -ENOENT)
		return -EACCES; /* it cannot be known who would answer */
	else if (!listener)
		return -ECONNREFUSED;
	/* With its guard there, nobody else can have come in its place. */
	if (!listener || !is_live(listener) || !is_same_place(&listener->place, to))
		return refuse(note);
	listener->underway++;
	note->place = *guard = (uint32_t)(listener - loopback->listeners);
	note->is_guarded = true;
	return 0;
}

static int judge_connect(struct pc_loopback *loopback, const struct subject *client, struct pc_broker_request *request,
			 struct pc_loopback_note *note)
{
	static const struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	struct pc_place to;
	sa_family_t family;
	int rc;

	if (request->address_size < sizeof(family))
		return -EINVAL;
	memcpy(&family, request->address, sizeof(family));
	if (family == AF_UNSPEC) {
		memcpy(request->address, &nobody, sizeof(nobody));
		request->address_size = sizeof(nobody);
		return 0;
	}
	rc = read_address(client->domain, request->address, request->address_size, false, &to);
	if (rc < 0)
		return rc;
	/* The wildcard address is the machine itself. */
	if (is_any_v4(&to))
		set_v4(&to, htonl(INADDR_LOOPBACK));
	else if (is_any_v6(&to))
		memcpy(to.address, &v6_loopback, sizeof(v6_loopback));
	if (!is_loopback(&to))
		return refuse(note);
	rc = find_server(loopback, client, &to, &request->guard, note);
	if (rc == 0)
		write_address(client->domain, &to, request);
	return rc;
}

static int judge_bind(struct pc_loopback *loopback, const struct subject *subject, struct pc_broker_request *request,
		      struct pc_loopback_note *note)
{
	struct pc_place to;
	int rc;

	rc = read_address(subject->domain, request->address, request->address_size, true, &to);
	if (rc < 0)
		return rc;
	note->is_wild = is_any_v4(&to) || is_any_v6(&to);
	if (is_any_v6(&to) && subject->is_v6_only)
		memcpy(to.address, &v6_loopback, sizeof(v6_loopback));
	else if (note->is_wild)
		set_v4(&to, htonl(INADDR_LOOPBACK));
	if (!is_loopback(&to))
		return refuse(note);
	if (to.port)
		sweep(loopback, to.port);
	request->is_patient = to.port && (is_about_to_go(loopback, to.port) || (loopback->released_port == to.port &&
										now_us() - loopback->released_us < RELEASE_US));
	write_address(subject->domain, &to, request);
	return 0;
}

static struct listener *free_listener(struct pc_loopback *loopback)
{
	struct listener *found = find_listener(loopback, 0);

	if (found)
		return found;
	sweep_sometimes(loopback);
	return find_listener(loopback, 0);
}

/*
 * Only a socket that was bound here listens: it has an address of the loopback for good, whatever is done to it afterwards. One
 * that was not would be given the wildcard address by listen(2).
 */
static int judge_listen(struct pc_loopback *loopback, const struct subject *subject, struct pc_broker_request *request,
			struct pc_loopback_note *note)
{
	const struct bound *bound = find_bound(loopback, subject->cookie);
	struct listener *listener = find_listener(loopback, subject->cookie);

	if (!bound)
		return refuse(note);
	note->is_wild = bound->is_wild;
	if (listener && listener->is_pending)
		return -EAGAIN;
	/* Again, with another backlog. */
	if (listener && still_listens(loopback, listener)) {
		note->is_ours = false;
		return 0;
	}
	if (listener)
		release(loopback, listener);
	listener = free_listener(loopback);
	if (!listener)
		return -ENOBUFS;
	*listener = (struct listener) {
		.cookie = subject->cookie,
		.is_pending = true,
		.is_wild = bound->is_wild,
		.is_dual = bound->is_wild && subject->domain == AF_INET6 && !subject->is_v6_only,
	};
	note->place = (uint32_t)(listener - loopback->listeners);
	if (loopback->mode == PC_LOOPBACK_RUN)
		request->guard = note->place;
	return 0;
}

int pc_loopback_judge(struct pc_loopback *loopback, int broker_fd, int socket, struct pc_broker_request *request,
		      struct pc_loopback_note *note)
{
	struct subject subject = { 0 };
	int rc;

	*note = (struct pc_loopback_note) { .op = request->op };
	rc = describe(socket, &subject);
	if (rc <= 0)
		return rc;
	loopback->broker_fd = broker_fd;
	note->is_ours = true;
	note->cookie = subject.cookie;
	sweep_sometimes(loopback);
	switch (request->op) {
	case PC_BROKER_CONNECT:
		return judge_connect(loopback, &subject, request, note);
	case PC_BROKER_BIND:
		return judge_bind(loopback, &subject, request, note);
	case PC_BROKER_LISTEN:
		return judge_listen(loopback, &subject, request, note);
	default:
		return -EACCES;
	}
}

/* Where it listens, as the broker saw it when it set the guard there. */
static bool read_place(const struct pc_broker_reply *reply, struct pc_place *place)
{
	sa_family_t family;

	if (reply->address_size > sizeof(reply->address) || reply->address_size < sizeof(family))
		return false;
	memcpy(&family, reply->address, sizeof(family));
	return read_address(family, reply->address, reply->address_size, false, place) == 0;
}

static void settle_connect(struct pc_loopback *loopback, const struct pc_loopback_note *note)
{
	struct listener *listener = &loopback->listeners[note->place];

	if (!note->is_guarded || --listener->underway || !listener->is_over)
		return;
	release(loopback, listener);
}

static void settle_listen(struct pc_loopback *loopback, const struct pc_loopback_note *note,
			  const struct pc_broker_reply *reply)
{
	struct listener *listener = &loopback->listeners[note->place];

	if (reply && reply->error == 0 && read_place(reply, &listener->place))
		listener->is_pending = false;
	else
		*listener = (struct listener) { 0 };
}

void pc_loopback_settle(struct pc_loopback *loopback, const struct pc_loopback_note *note, const struct pc_broker_reply *reply)
{
	if (!note->is_ours || (reply && reply->is_underway))
		return;
	if (note->op == PC_BROKER_CONNECT)
		settle_connect(loopback, note);
	else if (note->op == PC_BROKER_LISTEN)
		settle_listen(loopback, note, reply);
	else if (note->op == PC_BROKER_BIND && reply && reply->error == 0)
		remember_bound(loopback, note->cookie, note->is_wild);
}

/* ---- opening and closing -------------------------------------------------------------------------------------------------- */

int pc_loopback_open(enum pc_loopback_mode mode, struct pc_loopback **opened)
{
	struct pc_loopback *loopback;
	int fd;

	fd = pc_tcp_diag_open();
	if (fd < 0)
		return fd;
	loopback = calloc(1, sizeof(*loopback));
	if (!loopback) {
		close(fd);
		return -ENOMEM;
	}
	loopback->mode = mode;
	loopback->diag_fd = fd;
	loopback->broker_fd = -1;
	*opened = loopback;
	return 0;
}

void pc_loopback_close(struct pc_loopback *loopback)
{
	if (!loopback)
		return;
	close(loopback->diag_fd);
	free(loopback->bound);
	free(loopback);
}
