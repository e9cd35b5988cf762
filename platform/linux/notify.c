/*
 * Answers the notifications of a run.
 *
 * A refused call gets the errno that the filter would have given, and is recorded: allowed calls pay nothing for it. A
 * connection is not made here: its address is copied once, loopback.c judges those of the internet, and the broker connects, or
 * binds, or listens. CONTINUE is never an answer, since the caller could change what the kernel then reads.
 */
#include "notify.h"
#include "broker.h"
#include "caller.h"
#include "cleanup.h"
#include "filter_eval.h"
#include "loopback.h"
#include "name_calls.h"
#include "observe.h"
#include "uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/* Connections under way at once; one more is refused. A run that waits on so many has other worries. */
#define MAX_PENDING 4096

/* Sockets that the broker could not be given. One more, and there is no broker. */
#define MAX_KEPT 16

struct pending {
	uint64_t id;
	uint32_t pair_pid; /* not 0: a pair is on its way, to be told at pair_at */
	uint64_t pair_at;
	bool is_pair_inherited;
	bool is_answered; /* and goes on: only the place is still taken */
	struct pc_loopback_note note;
	struct pc_waiting waiting;
	struct pc_denial denial; /* in case it is refused, and not yet described */
};

struct pc_notify {
	const void *answers;
	size_t answer_count;
	int listener_fd, broker_fd;
	bool is_held; /* the broker has as many requests as it takes: no call is received until it has room */
	struct seccomp_notif *request;
	size_t request_size;
	struct pending *pending;
	size_t pending_count, pending_room;
	int kept[MAX_KEPT]; /* sockets of the run, which are not to be closed here while it lives */
	size_t kept_count;
	struct pc_loopback *loopback; /* NULL: no address of the internet is judged */
	struct pc_denials denials;
	struct pc_observer *observer;	  /* NULL: nobody looks */
	struct pc_name_calls *name_calls; /* NULL: none was met yet */
};

/* ---- records -------------------------------------------------------------------------------------------------------------- */

static bool is_same(const struct pc_denial *a, const struct pc_denial *b)
{
	return a->error == b->error && a->address_size == b->address_size && !strcmp(a->call, b->call) &&
	       !memcmp(a->address, b->address, a->address_size) && !memcmp(a->args, b->args, sizeof(a->args));
}

static void record(struct pc_notify *notify, const struct pc_denial *denial)
{
	struct pc_denials *denials = &notify->denials;
	size_t i;

	for (i = 0; i < denials->count; i++) {
		if (is_same(&denials->list[i], denial)) {
			denials->list[i].count++;
			return;
		}
	}
	if (denials->count == PC_MAX_DENIALS) {
		denials->more++;
		return;
	}
	denials->list[denials->count] = *denial;
	denials->list[denials->count++].count = 1;
}

static struct pc_waiting waiting_for(const struct seccomp_notif *request)
{
	return (struct pc_waiting) { .number = request->data.nr, .tid = request->pid };
}

static void record_refusal(struct pc_notify *notify, const struct pc_waiting *waiting, struct pc_denial *denial, int error)
{
	denial->error = error;
	pc_caller_describe(waiting, denial);
	record(notify, denial);
}

/* ---- answers -------------------------------------------------------------------------------------------------------------- */

static void answer(const struct pc_notify *notify, uint64_t id, int error)
{
	struct seccomp_notif_resp response = { .id = id, .error = error };

	/* ENOENT: the caller was killed meanwhile. */
	while (ioctl(notify->listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 && errno == EINTR)
		;
}

static bool is_alive(const struct pc_notify *notify, uint64_t id)
{
	return ioctl(notify->listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static bool is_relative(const struct pc_broker_request *to)
{
	sa_family_t family;

	if (to->address_size <= sizeof(family))
		return false;
	memcpy(&family, to->address, sizeof(family));
	return family == AF_UNIX && to->address[sizeof(family)] != '\0' && to->address[sizeof(family)] != '/';
}

static int copy_address(const struct seccomp_notif *request, struct pc_broker_request *to)
{
	/* The kernel reads an int. */
	int size = (int)request->data.args[2];

	if (size < 0 || size > PC_BROKER_ADDRESS)
		return -EINVAL;
	to->address_size = (uint32_t)size;
	if (size == 0)
		return 0;
	return pc_caller_read(request->pid, request->data.args[1], to->address, (size_t)size);
}

static int send_request(const struct pc_notify *notify, const struct pc_broker_request *to, int socket, int directory)
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec vector = { (void *)(uintptr_t)to, sizeof(*to) };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes };
	int fds[2] = { socket, directory };
	size_t size = (directory >= 0 ? 2 : 1) * sizeof(int);
	struct cmsghdr *header;

	if (socket < 0) {
		message.msg_control = NULL;
	} else {
		message.msg_controllen = CMSG_SPACE(size);
		header = CMSG_FIRSTHDR(&message);
		*header = (struct cmsghdr) { .cmsg_len = CMSG_LEN(size), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(header), fds, size);
	}
	/* Never waits: a broker that does not take requests is as good as dead. */
	if (sendmsg(notify->broker_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return -errno;
	return 0;
}

/*
 * Whether to close it takes no time, whoever has the last one: so it is with Unix sockets. That of a TCP socket waits until all is
 * sent, for as long as SO_LINGER says, and the caller may give up its own at any moment. Source: socket(7), SO_LINGER.
 */
static bool closes_at_once(int fd)
{
	int domain;
	socklen_t size = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

static void lose_broker(struct pc_notify *notify);

/* 0: the broker has them, and this process has not. */
static int give_to_broker(const struct pc_notify *notify, int *socket, int directory)
{
	const struct pc_broker_request take = { .op = PC_BROKER_TAKE, .guard = PC_BROKER_NO_GUARD };
	int rc = send_request(notify, &take, *socket, directory);

	if (rc == 0)
		close(pc_take_fd(socket));
	return rc;
}

/* The same of a socket that nothing is to be done with. If the second word does not arrive, the next PC_BROKER_TAKE says as much. */
static int drop_in_broker(const struct pc_notify *notify, int *socket)
{
	const struct pc_broker_request drop = { .op = PC_BROKER_DROP, .guard = PC_BROKER_NO_GUARD, .is_taken = 1 };
	int rc = give_to_broker(notify, socket, -1);

	if (rc == 0)
		send_request(notify, &drop, -1, -1);
	return rc;
}

/* Gets rid of a socket of the run's. */
static void drop_socket(struct pc_notify *notify, int *socket)
{
	if (*socket < 0)
		return;
	if (closes_at_once(*socket)) {
		close(pc_take_fd(socket));
		return;
	}
	while (notify->kept_count && drop_in_broker(notify, &notify->kept[notify->kept_count - 1]) == 0)
		notify->kept_count--;
	drop_in_broker(notify, socket);
	if (*socket < 0)
		return;
	notify->kept[notify->kept_count++] = pc_take_fd(socket);
	if (notify->kept_count == MAX_KEPT && notify->broker_fd >= 0)
		lose_broker(notify);
}

/* Once the run is dead: nobody changes it any more. */
static void close_kept(struct pc_notify *notify)
{
	static const struct linger none;

	while (notify->kept_count) {
		int fd = notify->kept[--notify->kept_count];

		setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
		close(fd);
	}
}

/* A request about a socket of the run's, of which no copy is left here. */
static int send_with_socket(struct pc_notify *notify, struct pc_broker_request *to, int *socket, int directory)
{
	int rc;

	if (closes_at_once(*socket))
		return send_request(notify, to, *socket, directory);
	rc = give_to_broker(notify, socket, directory);
	if (rc < 0)
		return rc;
	to->is_taken = 1;
	return send_request(notify, to, -1, -1);
}

static struct pending *add_pending(struct pc_notify *notify)
{
	if (notify->pending_count == notify->pending_room) {
		size_t room = notify->pending_room ? notify->pending_room * 2 : 16;
		struct pending *grown;

		if (room > MAX_PENDING)
			return NULL;
		grown = realloc(notify->pending, room * sizeof(*grown));
		if (!grown)
			return NULL;
		notify->pending = grown;
		notify->pending_room = room;
	}
	return &notify->pending[notify->pending_count];
}

static int add_descriptor(const struct pc_notify *notify, uint64_t id, int fd, uint32_t flags)
{
	struct seccomp_notif_addfd add = { .id = id, .srcfd = (uint32_t)fd, .newfd_flags = flags };
	int added = ioctl(notify->listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	return added < 0 ? -errno : added;
}

/*
 * A pair that keeps messages apart and cannot name a third party, in place of a datagram pair. The broker makes it: a socket of
 * the host's would be in the host's network namespace, with its abstract names and its interfaces.
 * Source: unix(7); SECCOMP_IOCTL_NOTIF_ADDFD, Linux 5.9.
 */
static int ask_for_pair(struct pc_notify *notify, const struct seccomp_notif *request)
{
	int type = (int)request->data.args[1];
	struct pc_broker_request to = {
		.id = request->id,
		.op = PC_BROKER_PAIR,
		.argument = (uint32_t)(SOCK_SEQPACKET | SOCK_CLOEXEC | (type & SOCK_NONBLOCK)),
	};
	struct pending *pending;
	int rc;

	if (notify->broker_fd < 0)
		return -EACCES;
	pending = add_pending(notify);
	if (!pending)
		return -EAGAIN;
	rc = send_request(notify, &to, -1, -1);
	if (rc < 0)
		return rc;
	*pending = (struct pending) {
		.id = request->id,
		.pair_pid = request->pid,
		.pair_at = request->data.args[3],
		.is_pair_inherited = !(type & SOCK_CLOEXEC),
	};
	notify->pending_count++;
	return 0;
}

/* The numbers go where the caller's register said, whatever it does with that memory meanwhile. */
static int give_pair(const struct pc_notify *notify, const struct pending *pending, const int pair[2])
{
	struct iovec remote = { (void *)(uintptr_t)pending->pair_at, 2 * sizeof(int) };
	int given[2], i;
	struct iovec local = { given, sizeof(given) };

	for (i = 0; i < 2; i++) {
		given[i] = add_descriptor(notify, pending->id, pair[i], pending->is_pair_inherited ? 0 : O_CLOEXEC);
		if (given[i] < 0)
			return given[i];
	}
	if (process_vm_writev((pid_t)pending->pair_pid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof(given))
		return -EFAULT;
	return 0;
}

/* What the broker is to do, as far as the caller's registers and memory tell. */
static int read_request(const struct seccomp_notif *request, struct pc_broker_request *to, struct pc_denial *denial)
{
	int rc;

	*to = (struct pc_broker_request) { .id = request->id, .guard = PC_BROKER_NO_GUARD };
	if (request->data.nr == SYS_listen) {
		to->op = PC_BROKER_LISTEN;
		to->argument = (uint32_t)request->data.args[1];
		return 0;
	}
	to->op = request->data.nr == SYS_bind ? PC_BROKER_BIND : PC_BROKER_CONNECT;
	rc = copy_address(request, to);
	if (rc < 0)
		return rc;
	memcpy(denial->address, to->address, to->address_size);
	denial->address_size = to->address_size;
	denial->args[1] = denial->args[2] = 0; /* an address of the caller's memory tells nobody anything */
	return 0;
}

/* Where the caller is and what mode its files get, for a path. The working directory, -1 when none is needed, or -errno. */
static int read_surroundings(const struct seccomp_notif *request, struct pc_broker_request *to, int *directory)
{
	int rc;

	if (to->op == PC_BROKER_BIND) {
		rc = pc_caller_umask(request->pid);
		if (rc < 0)
			return rc;
		to->argument = (uint32_t)rc;
	}
	if (!is_relative(to))
		return 0;
	rc = pc_caller_directory(request->pid);
	if (rc < 0)
		return rc;
	*directory = rc;
	return 0;
}

static int judge(struct pc_notify *notify, const struct seccomp_notif *request, int socket, struct pc_broker_request *to,
		 struct pc_loopback_note *note, struct pc_denial *denial)
{
	const struct pc_waiting waiting = waiting_for(request);
	int rc;

	if (!notify->loopback)
		return to->op == PC_BROKER_CONNECT ? 0 : -EACCES;
	rc = pc_loopback_judge(notify->loopback, notify->broker_fd, socket, to, note);
	if (rc < 0 && note->is_refused)
		record_refusal(notify, &waiting, denial, -rc);
	return rc;
}

static int pass_on(struct pc_notify *notify, const struct seccomp_notif *request, struct pc_broker_request *to, int *socket,
		   int directory, const struct pc_loopback_note *note, const struct pc_denial *denial)
{
	struct pending *pending = add_pending(notify);
	int rc;

	rc = pending ? send_with_socket(notify, to, socket, directory) : -EAGAIN;
	if (rc < 0) {
		if (notify->loopback)
			pc_loopback_settle(notify->loopback, note, NULL);
		return rc;
	}
	*pending = (struct pending) { .id = to->id, .note = *note, .waiting = waiting_for(request), .denial = *denial };
	notify->pending_count++;
	return 0;
}

static int mediate_socket(struct pc_notify *notify, const struct seccomp_notif *request, struct pc_broker_request *to,
			  int *socket, struct pc_denial *denial)
{
	struct pc_loopback_note note = { 0 };
	cleanup_fd int directory = -1;
	int rc;

	rc = read_surroundings(request, to, &directory);
	if (rc < 0)
		return rc;
	/* What was copied may have been another process's, if the caller died and its number was given anew. */
	if (!is_alive(notify, request->id))
		return -ESRCH;
	rc = judge(notify, request, *socket, to, &note, denial);
	return rc < 0 ? rc : pass_on(notify, request, to, socket, directory, &note, denial);
}

static int mediate(struct pc_notify *notify, const struct seccomp_notif *request, struct pc_denial *denial)
{
	struct pc_broker_request to;
	int socket, rc;

	if (notify->broker_fd < 0)
		return -EACCES;
	rc = read_request(request, &to, denial);
	if (rc < 0)
		return rc;
	socket = pc_caller_descriptor(request->pid, (int)request->data.args[0]);
	if (socket < 0)
		return socket;
	rc = mediate_socket(notify, request, &to, &socket, denial);
	drop_socket(notify, &socket);
	return rc;
}

/*
 * The one kind of call that goes on, and so the kernel reads its memory anew: nothing was decided here, its rules are what they
 * were. Source: seccomp_unotify(2), "Design goals; use of SECCOMP_USER_NOTIF_FLAG_CONTINUE".
 */
static void look_and_continue(const struct pc_notify *notify, const struct seccomp_notif *request)
{
	struct seccomp_notif_resp response = { .id = request->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	if (notify->observer)
		pc_observe(notify->observer, request->pid, &request->data);
	while (ioctl(notify->listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 && errno == EINTR)
		;
}

static int make_name(struct pc_notify *notify, const struct seccomp_notif *request, const struct pc_denial *denial)
{
	if (notify->observer)
		pc_observe(notify->observer, request->pid, &request->data);
	if (notify->broker_fd < 0)
		return -EACCES;
	if (!notify->name_calls)
		notify->name_calls = pc_name_calls_open(notify->listener_fd, notify->broker_fd);
	return notify->name_calls ? pc_name_calls_send(notify->name_calls, request, denial) : -ENOMEM;
}

static void serve_request(struct pc_notify *notify, const struct seccomp_notif *request)
{
	uint32_t would = pc_filter_answer(notify->answers, notify->answer_count, &request->data);
	struct pc_denial denial = { .args = { request->data.args[0], request->data.args[1], request->data.args[2] } };
	const struct pc_waiting waiting = waiting_for(request);
	int rc;

	if (would == (SECCOMP_RET_USER_NOTIF | PC_NOTIFIED_OBSERVE)) {
		look_and_continue(notify, request);
		return;
	}
	if ((would & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF && request->data.nr == SYS_socketpair) {
		rc = ask_for_pair(notify, request);
		if (rc < 0)
			answer(notify, request->id, rc);
		return;
	}
	if (would == (SECCOMP_RET_USER_NOTIF | PC_NOTIFIED_NAME)) {
		rc = make_name(notify, request, &denial);
		if (rc < 0)
			answer(notify, request->id, rc);
		return;
	}
	if ((would & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF) {
		rc = mediate(notify, request, &denial);
		if (rc < 0)
			answer(notify, request->id, rc);
		return;
	}
	/* The request tells what was refused; a descriptor and an address would only make a row each time. */
	if (request->data.nr == SYS_ioctl)
		denial.args[0] = denial.args[2] = 0;
	/* ERRNO; any other answer than that cannot be, and is refused. */
	record_refusal(notify, &waiting, &denial,
		       (would & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO ? (int)(would & SECCOMP_RET_DATA) : EPERM);
	answer(notify, request->id, -denial.error);
}

/* A call that could not be passed on would have to be refused, and a burst of connects is no fault of the run's. */
static bool broker_has_room(const struct pc_notify *notify)
{
	struct pollfd polled = { .fd = notify->broker_fd, .events = POLLOUT };

	return notify->broker_fd < 0 || poll(&polled, 1, 0) != 0;
}

void pc_notify_serve_listener(struct pc_notify *notify)
{
	notify->is_held = !broker_has_room(notify);
	if (notify->is_held)
		return;
	memset(notify->request, 0, notify->request_size); /* the kernel refuses another */
	if (ioctl(notify->listener_fd, SECCOMP_IOCTL_NOTIF_RECV, notify->request) < 0) {
		/* ENOENT: the caller was interrupted before it was received. EINTR: next time. */
		if (errno != ENOENT && errno != EINTR && errno != EAGAIN)
			close(pc_take_fd(&notify->listener_fd));
		return;
	}
	serve_request(notify, notify->request);
}

void pc_notify_drop_listener(struct pc_notify *notify)
{
	close(pc_take_fd(&notify->listener_fd));
}

/* ---- the broker's replies ------------------------------------------------------------------------------------------------- */

static void settle(struct pc_notify *notify, const struct pc_broker_reply *reply, const int pair[2])
{
	int error = reply->error;
	size_t i;

	for (i = 0; i < notify->pending_count; i++) {
		struct pending *pending = &notify->pending[i];

		if (pending->id != reply->id)
			continue;
		if (notify->loopback)
			pc_loopback_settle(notify->loopback, &pending->note, reply);
		if (pending->pair_pid && error == 0)
			error = pair[0] < 0 ? -EPROTO : give_pair(notify, pending, pair);
		/*
		 * No route: in a network namespace of the run's own that is its wall, and Lua knows whether it has one. EACCES:
		 * Landlock's rules for ports, which hold for the broker too.
		 */
		if (reply->is_refused || error == -ENETUNREACH || error == -EACCES)
			record_refusal(notify, &pending->waiting, &pending->denial, -error);
		if (!pending->is_answered)
			answer(notify, reply->id, error);
		pending->is_answered = true;
		if (reply->is_underway)
			return;
		*pending = notify->pending[--notify->pending_count];
		return;
	}
}

/* Without a broker nothing connects any more, and nobody waits for it. */
static void lose_broker(struct pc_notify *notify)
{
	pc_name_calls_close(notify->name_calls);
	notify->name_calls = NULL;
	close(pc_take_fd(&notify->broker_fd));
	while (notify->pending_count) {
		const struct pending *pending = &notify->pending[--notify->pending_count];

		if (!pending->is_answered)
			answer(notify, pending->id, -ECONNABORTED);
	}
}

union reply {
	struct pc_broker_reply broker;
	struct pc_names_reply names; /* where `magic` says so */
};

static ssize_t receive_reply(const struct pc_notify *notify, union reply *reply, int pair[2])
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec vector = { reply, sizeof(*reply) };
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	const struct cmsghdr *header;
	ssize_t n;

	n = recvmsg(notify->broker_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	header = n < 0 ? NULL : CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len <= CMSG_LEN(2 * sizeof(int)))
		memcpy(pair, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	return n;
}

static void settle_name(struct pc_notify *notify, const struct pc_names_reply *reply, int fd)
{
	struct pc_denial denial;

	if (notify->name_calls && pc_name_calls_settle(notify->name_calls, reply, fd, &denial))
		record(notify, &denial);
}

void pc_notify_serve_broker(struct pc_notify *notify)
{
	union reply reply;
	int pair[2] = { -1, -1 }, i;
	ssize_t n;

	notify->is_held = false;
	n = receive_reply(notify, &reply, pair);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == sizeof(reply.names) && reply.names.magic == PC_NAMES_MAGIC)
		settle_name(notify, &reply.names, pair[0]);
	else if (n == sizeof(reply.broker))
		settle(notify, &reply.broker, pair);
	else
		lose_broker(notify);
	for (i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
}

/* ---- opening and closing -------------------------------------------------------------------------------------------------- */

static int open_buffers(struct pc_notify *notify)
{
	struct seccomp_notif_sizes sizes;
	unsigned long sync = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return -errno;
	notify->request_size = sizes.seccomp_notif > sizeof(struct seccomp_notif) ? sizes.seccomp_notif :
										    sizeof(struct seccomp_notif);
	notify->request = malloc(notify->request_size);
	if (!notify->request)
		return -ENOMEM;
	/* Caller and supervisor hand over to each other on one processor; before Linux 6.6 they do not. */
	if (ioctl(notify->listener_fd, PC_SECCOMP_NOTIF_SET_FLAGS, sync) < 0 && errno != EINVAL && errno != ENOTTY)
		return -errno;
	return 0;
}

int pc_notify_open(const struct pc_plan *plan, int listener_fd, int broker_fd, struct pc_notify **opened)
{
	struct pc_notify *notify;
	int rc;

	notify = calloc(1, sizeof(*notify));
	if (!notify) {
		close(listener_fd);
		if (broker_fd >= 0)
			close(broker_fd);
		return -ENOMEM;
	}
	*notify = (struct pc_notify) {
		.answers = plan->answers,
		.answer_count = plan->answer_count,
		.listener_fd = listener_fd,
		.broker_fd = broker_fd,
		.denials = { .is_recorded = true },
	};
	rc = open_buffers(notify);
	if (rc == 0 && plan->loopback)
		rc = pc_loopback_open((enum pc_loopback_mode)plan->loopback, &notify->loopback);
	if (rc < 0) {
		pc_notify_close(notify, NULL);
		return rc;
	}
	*opened = notify;
	return 0;
}

int pc_notify_listener(const struct pc_notify *notify)
{
	return notify->is_held ? -1 : notify->listener_fd;
}

int pc_notify_broker(const struct pc_notify *notify)
{
	return notify->broker_fd;
}

short pc_notify_broker_events(const struct pc_notify *notify)
{
	return notify->is_held ? POLLIN | POLLOUT : POLLIN;
}

void pc_notify_observe(struct pc_notify *notify, struct pc_observer *observer)
{
	notify->observer = observer;
}

void pc_notify_close(struct pc_notify *notify, struct pc_result *result)
{
	if (!notify)
		return;
	if (result)
		result->denials = notify->denials;
	pc_observer_close(notify->observer, result ? &result->accesses : NULL);
	pc_name_calls_close(notify->name_calls);
	if (notify->listener_fd >= 0)
		close(notify->listener_fd);
	if (notify->broker_fd >= 0)
		close(notify->broker_fd);
	close_kept(notify);
	pc_loopback_close(notify->loopback);
	free(notify->request);
	free(notify->pending);
	free(notify);
}
