/*
 * The broker: performs what the supervisor passes on (connections, binds, listens), inside the run's namespaces and under the
 * run's ruleset, without filter, capabilities or anything of the host's.
 *
 * It resolves a path once, to a descriptor, judges what it found by where that is, and connects to that very object: nothing
 * that the command does meanwhile to the path can change what is reached.
 *
 * What may wait is waited for by a process of its own: a connect to a full backlog takes as long as it likes, a path may lead to
 * a slow disk. But to start one for each connection costs more than all the rest, and on a busy machine the new process is last
 * in its queue. So this process tries first, as long as nothing has to be waited for: the path is looked up in the kernel's own
 * memory (RESOLVE_CACHED), and a timer that goes on ticking interrupts a connect that does not come back at once. The socket is
 * the caller's too, so its own modes (O_NONBLOCK, SO_SNDTIMEO) are left as they are: he, or whom he gave it to, would see it.
 */
#include "../broker.h"
#include "../image.h"
#include "../message.h"
#include "../names.h"
#include "../sys.h"
#include "fold.h"

#include <asm/fcntl.h>
#include <asm/errno.h>
#include <linux/openat2.h>
#include <linux/poll.h>
#include <linux/time_types.h>
#include <stdbool.h>

#define AT_CWD	    (-100)
#define FAMILY_UNIX 1
#define SIG_ALRM    14
#define SIG_CHLD    17
#define PATH_SIZE   4096

/* Not an answer: whoever performs it may have to wait, so it is for a process of its own. */
#define MAY_WAIT (-512)

/* How long a connect is let be, and how often it is told so: a tick that comes before it has begun to wait is lost on it. */
#define QUICK_US 200

/* How long a bind waits for an address that is about to be free: until the connections to it that were under way are made. */
#define BIND_TRIES    250
#define BIND_PAUSE_NS 4000000

struct unix_address {
	uint16_t family;
	char path[108];
};

struct job {
	union {
		struct pc_broker_request request;
		struct pc_names_request names; /* where `magic` says so */
	};
	int socket, directory; /* -1: none */
	bool is_begun;	       /* a connect that was interrupted, and goes on */
};

static long receive(int fd, struct job *job)
{
	struct pc_io_vector vector = { &job->names, sizeof(job->names) };
	struct pc_control control = { .fds = { -1, -1 } };
	struct pc_message message = {
		.vectors = &vector,
		.vector_count = 1,
		.control = &control,
		.control_size = sizeof(control),
	};
	long rc;

	rc = pc_sys3(__NR_recvmsg, fd, pc_ptr(&message), 0x40000000 /* MSG_CMSG_CLOEXEC */);
	job->socket = job->directory = -1;
	job->is_begun = false;
	if (rc > 0 && message.control_size >= PC_CONTROL_HEADER && control.level == PC_LEVEL_SOCKET &&
	    control.type == PC_RIGHTS) {
		job->socket = control.fds[0];
		if (control.size >= PC_CONTROL_HEADER + 2 * sizeof(int))
			job->directory = control.fds[1];
	}
	return rc;
}

/* The length of `tree` when `path` is it or lies in it, else 0. */
static size_t tree_size(const char *path, const char *tree)
{
	size_t size = 0;

	while (tree[size] && path[size] == tree[size])
		size++;
	return !tree[size] && (path[size] == '\0' || path[size] == '/') ? size : 0;
}

/* "/proc/self/fd/N" and its length. */
static size_t link_of(int fd, char *link)
{
	static const char prefix[] = "/proc/self/fd/";
	char digits[10];
	size_t at, n = 0;

	for (at = 0; prefix[at]; at++)
		link[at] = prefix[at];
	do {
		digits[n++] = (char)('0' + fd % 10);
		fd /= 10;
	} while (fd);
	while (n)
		link[at++] = digits[--n];
	link[at] = '\0';
	return at;
}

/* Where a descriptor's object is now, as the run's mounts show it. Source: proc(5), /proc/pid/fd. */
static int path_of(int fd, char *path)
{
	char link[32];
	long size;

	link_of(fd, link);
	size = pc_sys4(__NR_readlinkat, AT_CWD, pc_ptr(link), pc_ptr(path), PATH_SIZE - 1);
	if (size < 0)
		return (int)size;
	path[size] = '\0';
	return 0;
}

/* The length of the longest of the granted trees that `path` lies in; 0: it lies in none. */
static size_t innermost_granted(const struct pc_image *image, const char *path)
{
	const uint64_t *trees = pc_image_at(image, image->socket_trees_offset);
	size_t longest = 0, size;
	uint32_t i;

	for (i = 0; i < image->socket_trees; i++) {
		size = tree_size(path, pc_image_at(image, trees[i]));
		longest = size > longest ? size : longest;
	}
	return longest;
}

/* The same of the closed ones, however `path` is spelled: what grants is taken to the letter, what refuses is not. */
static size_t innermost_closed(const struct pc_image *image, const char *path)
{
	const uint64_t *trees = pc_image_at(image, image->socket_hidden_offset);
	size_t longest = 0, size;
	const char *rest;
	uint32_t i;

	for (i = 0; i < image->socket_hidden; i++) {
		rest = pc_fold_after(path, pc_image_at(image, trees[i]));
		size = rest && (!*rest || *rest == '/') ? (size_t)(rest - path) : 0;
		longest = size > longest ? size : longest;
	}
	return longest;
}

/*
 * The innermost tree decides, since each may hold others: the run's own /tmp the user's home, a home the workspace. Of one that
 * is on both lists the closed one.
 */
static bool is_granted(const struct pc_image *image, const char *path)
{
	return innermost_granted(image, path) > innermost_closed(image, path);
}

/* ---- connecting ----------------------------------------------------------------------------------------------------------- */

static void ring(int signal)
{
	(void)signal;
}

#if defined(__x86_64__)
#define SA_RESTORER 0x04000000

void pc_broker_rung(void);

__asm__(".text\n"
	".globl pc_broker_rung\n"
	"pc_broker_rung:\n"
	"	mov $15, %eax\n" /* __NR_rt_sigreturn */
	"	syscall\n"
	"	ud2\n");

static uint64_t rung(void)
{
	return (uint64_t)(uintptr_t)pc_broker_rung;
}
#else
#define SA_RESTORER 0

/* The kernel has a way back of its own. */
static uint64_t rung(void)
{
	return 0;
}
#endif

static int mask_alarm(int how)
{
	static const uint64_t alarm = UINT64_C(1) << (SIG_ALRM - 1);

	return (int)pc_sys4(__NR_rt_sigprocmask, how, pc_ptr(&alarm), 0, sizeof(alarm));
}

/* Without SA_RESTART: the call that is rung at returns EINTR. Source: signal(7), "Interruption of system calls". */
static int hear_alarm(void)
{
	const uint64_t action[4] = { (uint64_t)(uintptr_t)ring, SA_RESTORER, rung() };
	int rc = (int)pc_sys4(__NR_rt_sigaction, SIG_ALRM, pc_ptr(action), 0, sizeof(uint64_t));

	return rc < 0 ? rc : mask_alarm(1 /* SIG_UNBLOCK */);
}

static int set_alarm(long microseconds)
{
	const struct __kernel_old_itimerval timer = { { 0, microseconds }, { 0, microseconds } };

	return (int)pc_sys3(__NR_setitimer, 0 /* ITIMER_REAL */, pc_ptr(&timer), 0);
}

/*
 * An interrupted connect to a Unix socket has done nothing; that of an internet socket goes on, and to call it again is to wait
 * for it. Source: connect(2), EINTR; net/ipv4/af_inet.c, __inet_stream_connect.
 */
static int connect_to(int socket, const void *address, size_t size, bool may_wait)
{
	int rc;

	if (!may_wait && set_alarm(QUICK_US) < 0)
		return MAY_WAIT;
	rc = (int)pc_sys3(__NR_connect, socket, pc_ptr(address), (long)size);
	if (may_wait)
		return rc;
	set_alarm(0);
	return rc == -EINTR ? MAY_WAIT : rc;
}

static bool is_underway(int socket, bool waits)
{
	const struct __kernel_timespec none = { 0 };
	struct pollfd polled = { .fd = socket, .events = POLLOUT };

	return pc_sys5(__NR_ppoll, pc_ptr(&polled), 1, waits ? 0 : pc_ptr(&none), 0, 0) == 0;
}

static int connect_to_internet(struct job *job, bool may_wait)
{
	int rc;

	/* The caller's own first try is still under way: what he is told of it depends on how long this one waits. */
	if (!may_wait && is_underway(job->socket, false))
		return MAY_WAIT;
	rc = connect_to(job->socket, job->request.address, job->request.address_size, may_wait);
	if (rc == MAY_WAIT)
		job->is_begun = true;
	/* His socket's SO_SNDTIMEO is over. Of a first try, which this is to him, connect(2) says it otherwise. */
	return rc == -EALREADY && job->is_begun ? -EINPROGRESS : rc;
}

/* To the object that `fd` holds, whatever its path leads to by now. */
static int connect_to_object(int socket, int fd, bool may_wait)
{
	struct unix_address address = { .family = FAMILY_UNIX };

	return connect_to(socket, &address, sizeof(uint16_t) + link_of(fd, address.path) + 1, may_wait);
}

/* A magic link would be the broker's own /proc/self. */
static int open_object(int directory, const char *path, bool may_wait)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	int fd;

	if (!may_wait)
		how.resolve |= RESOLVE_CACHED; /* Linux 5.12; before: EINVAL */
	fd = pc_sys_openat2(directory, path, &how, sizeof(how));
	if (!may_wait && (fd == -EAGAIN || fd == -EINVAL || fd == -ENOSYS))
		return MAY_WAIT;
	if (fd == -ENOSYS) /* before Linux 5.6 */
		fd = pc_sys_openat(directory, path, O_PATH | O_CLOEXEC, 0);
	return fd;
}

static int connect_to_granted(const struct pc_image *image, int socket, int fd, bool may_wait, struct pc_broker_reply *reply)
{
	char found[PATH_SIZE];
	int rc;

	rc = path_of(fd, found);
	if (rc < 0)
		return rc;
	if (!is_granted(image, found)) {
		reply->is_refused = 1;
		return -EACCES;
	}
	return connect_to_object(socket, fd, may_wait);
}

static int connect_by_path(const struct pc_image *image, const struct job *job, bool may_wait, struct pc_broker_reply *reply)
{
	char path[sizeof(job->request.address)];
	size_t size = job->request.address_size - sizeof(uint16_t), i;
	int fd, rc;

	for (i = 0; i < size; i++)
		path[i] = (char)job->request.address[sizeof(uint16_t) + i];
	path[size] = '\0';
	fd = open_object(job->directory >= 0 ? job->directory : AT_CWD, path, may_wait);
	if (fd < 0)
		return fd;
	rc = connect_to_granted(image, job->socket, fd, may_wait, reply);
	pc_sys_close(fd);
	return rc;
}

static int perform(const struct pc_image *image, struct job *job, bool may_wait, struct pc_broker_reply *reply)
{
	const struct unix_address *address = (const void *)job->request.address;
	uint32_t size = job->request.address_size;

	if (job->socket < 0 || size > PC_BROKER_ADDRESS)
		return -EINVAL;
	if (size > sizeof(uint16_t) && address->family == FAMILY_UNIX) {
		if (size > sizeof(*address))
			return -EINVAL;
		if (address->path[0])
			return connect_by_path(image, job, may_wait, reply);
		/* Abstract names are the run's own only where the network namespace is. */
		if (!(image->flags & PC_IMAGE_OWN_NETWORK)) {
			reply->is_refused = 1;
			return -EACCES;
		}
	}
	return size > sizeof(uint16_t) && address->family == FAMILY_UNIX ?
		       connect_to(job->socket, job->request.address, size, may_wait) :
		       connect_to_internet(job, may_wait);
}

/* "\0name": one of the network namespace's, where whoever knows the name comes. Bound to no name at all, a socket gets one of those. */
static bool is_abstract(const struct job *job)
{
	const struct unix_address *address = (const void *)job->request.address;

	return job->request.address_size > sizeof(uint16_t) && address->family == FAMILY_UNIX && !address->path[0];
}

static int bind_socket(const struct pc_image *image, const struct job *job, struct pc_broker_reply *reply)
{
	const struct __kernel_timespec pause = { .tv_nsec = BIND_PAUSE_NS };
	int tries = job->request.is_patient ? BIND_TRIES : 1, rc;

	if (job->socket < 0 || job->request.address_size > PC_BROKER_ADDRESS)
		return -EINVAL;
	/* The run itself could not connect to it; programs outside would take it for the one that they know by the name. */
	if (is_abstract(job) && !(image->flags & PC_IMAGE_OWN_NETWORK)) {
		reply->is_refused = 1;
		return -EACCES;
	}
	/* What a path makes is made as the caller would have made it. */
	if (job->directory >= 0) {
		rc = (int)pc_sys1(__NR_fchdir, job->directory);
		if (rc < 0)
			return rc;
	}
	pc_sys1(__NR_umask, job->request.argument);
	for (;;) {
		rc = (int)pc_sys3(__NR_bind, job->socket, pc_ptr(job->request.address), job->request.address_size);
		if (rc != -EADDRINUSE || --tries == 0)
			return rc;
		pc_sys2(__NR_nanosleep, pc_ptr(&pause), 0);
	}
}

/* ---- answers -------------------------------------------------------------------------------------------------------------- */

/* Somebody waits for it, whoever sends signals meanwhile. */
static void say(int fd, const struct pc_broker_reply *reply)
{
	while (pc_sys_write(fd, reply, sizeof(*reply)) == -EINTR)
		;
}

/* Both ends of a pair go with the reply. Made here, it belongs to the run's network namespace and not to the host's. */
static void answer_with_pair(int fd, const struct job *job)
{
	struct pc_broker_reply reply = { .id = job->request.id };
	struct pc_io_vector vector = { &reply, sizeof(reply) };
	struct pc_control control = { PC_CONTROL_HEADER + 2 * sizeof(int), PC_LEVEL_SOCKET, PC_RIGHTS, { -1, -1 } };
	struct pc_message message = { .vectors = &vector, .vector_count = 1 };

	reply.error = (int32_t)pc_sys4(__NR_socketpair, FAMILY_UNIX, (long)job->request.argument, 0, pc_ptr(control.fds));
	if (reply.error == 0) {
		message.control = &control;
		message.control_size = sizeof(control);
	}
	while (pc_sys3(__NR_sendmsg, fd, pc_ptr(&message), 0x4000 /* MSG_NOSIGNAL */) == -EINTR)
		;
	if (reply.error < 0)
		return;
	pc_sys_close(control.fds[0]);
	pc_sys_close(control.fds[1]);
}

/*
 * A connection that is not waited for goes on when the caller has his answer. Its guard stays until it has arrived or failed:
 * the server may go meanwhile, and another must not come in its place.
 */
static bool is_to_be_seen_through(const struct job *job, const struct pc_broker_reply *reply)
{
	return reply->error == -EINPROGRESS && job->request.guard != PC_BROKER_NO_GUARD && is_underway(job->socket, false);
}

/* In a process of its own. */
static void see_through(int fd, const struct job *job, struct pc_broker_reply *reply)
{
	pc_guard_keep_only(job->request.guard);
	is_underway(job->socket, true);
	reply->is_underway = 0;
	say(fd, reply);
}

/* A fork of this program copies a few pages; its memory is not shared, so a slow one disturbs nobody. */
static long fork_for(const struct job *job)
{
	long pid = pc_sys5(__NR_clone, SIG_CHLD, 0, 0, 0, 0);

	if (pid == 0) {
		mask_alarm(0 /* SIG_BLOCK */);
		pc_guard_keep_only(job->request.op == PC_BROKER_CONNECT ? job->request.guard : PC_BROKER_NO_GUARD);
	}
	return pid;
}

/* The answer, and what is under way after it. */
static void answer_connect(int fd, const struct job *job, struct pc_broker_reply *reply, bool may_wait)
{
	reply->is_underway = is_to_be_seen_through(job, reply);
	say(fd, reply);
	if (!reply->is_underway)
		return;
	/* If it cannot be seen through it stays under way for good, and its guard where it is. */
	if (may_wait)
		see_through(fd, job, reply);
	else if (fork_for(job) == 0) {
		see_through(fd, job, reply);
		pc_sys_exit(0);
	}
}

/* In a process of its own. */
static void answer_waiting(const struct pc_image *image, int fd, struct job *job)
{
	struct pc_broker_reply reply = { .id = job->request.id };

	if (job->request.op == PC_BROKER_CONNECT) {
		reply.error = perform(image, job, true, &reply);
		answer_connect(fd, job, &reply, true);
		return;
	}
	reply.error = job->request.op == PC_BROKER_BIND ? bind_socket(image, job, &reply) : -EINVAL;
	say(fd, &reply);
}

static bool is_about_a_path(const struct job *job)
{
	const struct unix_address *address = (const void *)job->request.address;

	return job->request.address_size >= sizeof(uint16_t) && address->family == FAMILY_UNIX;
}

/*
 * In this process: what never waits, what concerns the guards, which are here, and connections that are made at once. False:
 * nothing is done, and it is for another process.
 */
static bool answer_here(const struct pc_image *image, int fd, struct job *job)
{
	struct pc_broker_reply reply = { .id = job->request.id };

	switch (job->request.op) {
	case PC_BROKER_RELEASE:
		pc_guard_release(job->request.guard);
		return true;
	case PC_BROKER_PAIR:
		answer_with_pair(fd, job);
		return true;
	case PC_BROKER_CONNECT:
		reply.error = perform(image, job, false, &reply);
		if (reply.error == MAY_WAIT)
			return false;
		answer_connect(fd, job, &reply, false);
		return true;
	case PC_BROKER_LISTEN:
		reply.error = job->socket < 0 ? -EINVAL : pc_guard_listen(&job->request, job->socket, &reply);
		break;
	case PC_BROKER_BIND:
		if (job->request.is_patient || is_about_a_path(job))
			return false;
		reply.error = bind_socket(image, job, &reply);
		break;
	default:
		reply.error = -EINVAL;
	}
	say(fd, &reply);
	return true;
}

static void answer_in_child(const struct pc_image *image, int fd, struct job *job)
{
	struct pc_broker_reply reply = { .id = job->request.id };
	long rc = fork_for(job);

	if (rc == 0) {
		answer_waiting(image, fd, job);
		pc_sys_exit(0);
	}
	if (rc > 0)
		return;
	reply.error = (int32_t)rc;
	say(fd, &reply);
}

/* Children are nobody's to wait for: the kernel reaps them. */
static void forget_children(void)
{
	const uint64_t ignore[4] = { 1 /* SIG_IGN */ };

	pc_sys4(__NR_rt_sigaction, SIG_CHLD, pc_ptr(ignore), 0, sizeof(uint64_t));
}

static bool is_about_names(const struct job *job, long size)
{
	return size >= (long)PC_NAMES_HEADER && job->names.magic == PC_NAMES_MAGIC;
}

/* What came with a PC_BROKER_TAKE, until the request that it is for. */
static int taken[2] = { -1, -1 };

static void close_both(int socket, int directory)
{
	if (socket >= 0)
		pc_sys_close(socket);
	if (directory >= 0)
		pc_sys_close(directory);
}

/* True: there is nothing to answer yet, or at all. */
static bool take(struct job *job)
{
	if (job->request.op == PC_BROKER_TAKE) {
		close_both(taken[0], taken[1]);
		taken[0] = job->socket;
		taken[1] = job->directory;
		job->socket = job->directory = -1;
		return true;
	}
	if (job->request.is_taken) {
		close_both(job->socket, job->directory);
		job->socket = taken[0];
		job->directory = taken[1];
		taken[0] = taken[1] = -1;
	}
	return job->request.op == PC_BROKER_DROP;
}

static void answer_names(const struct pc_image *image, int fd, const struct job *job, long size)
{
	const int descriptors[2] = { job->socket, job->directory };

	pc_names_perform(image, fd, &job->names, size, descriptors);
}

void pc_broker_main(const struct pc_image *image, int requests_fd)
{
	static struct job job;
	long rc;

	forget_children();
	if (hear_alarm() < 0)
		pc_sys_exit(1);
	for (;;) {
		rc = receive(requests_fd, &job);
		if (rc == -EINTR)
			continue;
		if (rc <= 0)
			pc_sys_exit(0);
		if (is_about_names(&job, rc))
			answer_names(image, requests_fd, &job, rc);
		else if (rc == (long)sizeof(job.request) && !take(&job) && !answer_here(image, requests_fd, &job))
			answer_in_child(image, requests_fd, &job);
		close_both(job.socket, job.directory);
	}
}
