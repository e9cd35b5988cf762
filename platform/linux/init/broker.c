/*
 * The broker: performs what the supervisor passes on (connections, binds, listens), inside the run's namespaces and under the
 * run's ruleset, without filter, capabilities or anything of the host's.
 *
 * It resolves a path once, to a descriptor, judges what it found by where that is, and connects to that very object: nothing
 * that the command does meanwhile to the path can change what is reached. Each connection is made by a process of its own,
 * since a connect to a full backlog waits for as long as it likes; so is each bind, whose path may lead to a slow disk.
 */
#include "../broker.h"
#include "../image.h"
#include "../message.h"
#include "../names.h"
#include "../sys.h"

#include <asm/fcntl.h>
#include <asm/errno.h>
#include <linux/openat2.h>
#include <linux/poll.h>
#include <linux/time_types.h>
#include <stdbool.h>

#define AT_CWD	    (-100)
#define FAMILY_UNIX 1
#define SIG_CHLD    17
#define PATH_SIZE   4096

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
	if (rc > 0 && message.control_size >= PC_CONTROL_HEADER && control.level == PC_LEVEL_SOCKET &&
	    control.type == PC_RIGHTS) {
		job->socket = control.fds[0];
		if (control.size >= PC_CONTROL_HEADER + 2 * sizeof(int))
			job->directory = control.fds[1];
	}
	return rc;
}

static bool starts_with_tree(const char *path, const char *tree)
{
	while (*tree && *path == *tree) {
		path++;
		tree++;
	}
	return !*tree && (*path == '\0' || *path == '/');
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

static bool is_in_one(const struct pc_image *image, uint32_t offset, uint32_t count, const char *path)
{
	const uint64_t *trees = pc_image_at(image, offset);
	uint32_t i;

	for (i = 0; i < count; i++)
		if (starts_with_tree(path, pc_image_at(image, trees[i])))
			return true;
	return false;
}

/* What is hidden wins: a mask keeps it where there are mounts, this everywhere. */
static bool is_granted(const struct pc_image *image, const char *path)
{
	return is_in_one(image, image->socket_trees_offset, image->socket_trees, path) &&
	       !is_in_one(image, image->socket_hidden_offset, image->socket_hidden, path);
}

static int connect_to(int socket, const void *address, size_t size)
{
	return (int)pc_sys3(__NR_connect, socket, pc_ptr(address), (long)size);
}

/* To the object that `fd` holds, whatever its path leads to by now. */
static int connect_to_object(int socket, int fd)
{
	struct unix_address address = { .family = FAMILY_UNIX };

	return connect_to(socket, &address, sizeof(uint16_t) + link_of(fd, address.path) + 1);
}

static int connect_by_path(const struct pc_image *image, const struct job *job, struct pc_broker_reply *reply)
{
	/* A magic link would be the broker's own /proc/self. */
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	char path[PATH_SIZE], found[PATH_SIZE];
	size_t size = job->request.address_size - sizeof(uint16_t), i;
	int fd, rc;

	for (i = 0; i < size; i++)
		path[i] = (char)job->request.address[sizeof(uint16_t) + i];
	path[size] = '\0';
	fd = pc_sys_openat2(job->directory >= 0 ? job->directory : AT_CWD, path, &how, sizeof(how));
	if (fd == -ENOSYS) /* before Linux 5.6 */
		fd = pc_sys_openat(job->directory >= 0 ? job->directory : AT_CWD, path, O_PATH | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	rc = path_of(fd, found);
	if (rc < 0)
		return rc;
	if (!is_granted(image, found)) {
		reply->is_refused = 1;
		return -EACCES;
	}
	return connect_to_object(job->socket, fd);
}

static int perform(const struct pc_image *image, const struct job *job, struct pc_broker_reply *reply)
{
	const struct unix_address *address = (const void *)job->request.address;
	uint32_t size = job->request.address_size;

	if (job->socket < 0 || size > PC_BROKER_ADDRESS)
		return -EINVAL;
	if (size > sizeof(uint16_t) && address->family == FAMILY_UNIX) {
		if (size > sizeof(*address))
			return -EINVAL;
		if (address->path[0])
			return connect_by_path(image, job, reply);
		/* Abstract names are the run's own only where the network namespace is. */
		if (!(image->flags & PC_IMAGE_OWN_NETWORK)) {
			reply->is_refused = 1;
			return -EACCES;
		}
	}
	return connect_to(job->socket, job->request.address, size);
}

static int bind_socket(const struct job *job)
{
	const struct __kernel_timespec pause = { .tv_nsec = BIND_PAUSE_NS };
	int tries = job->request.is_patient ? BIND_TRIES : 1, rc;

	if (job->socket < 0 || job->request.address_size > PC_BROKER_ADDRESS)
		return -EINVAL;
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
	pc_sys3(__NR_sendmsg, fd, pc_ptr(&message), 0x4000 /* MSG_NOSIGNAL */);
}

static bool is_underway(int socket, bool waits)
{
	const struct __kernel_timespec none = { 0 };
	struct pollfd polled = { .fd = socket, .events = POLLOUT };

	return pc_sys5(__NR_ppoll, pc_ptr(&polled), 1, waits ? 0 : pc_ptr(&none), 0, 0) == 0;
}

/*
 * A connection that is not waited for goes on when the caller has his answer. Its guard stays until it has arrived or failed:
 * the server may go meanwhile, and another must not come in its place.
 */
static void see_through(int fd, const struct job *job, struct pc_broker_reply *reply)
{
	if (reply->error != -EINPROGRESS || job->request.guard == PC_BROKER_NO_GUARD || !is_underway(job->socket, false))
		return;
	reply->is_underway = 1;
	pc_sys_write(fd, reply, sizeof(*reply));
	is_underway(job->socket, true);
	reply->is_underway = 0;
}

/* In a process of its own. */
static void answer(const struct pc_image *image, int fd, const struct job *job)
{
	struct pc_broker_reply reply = { .id = job->request.id };

	pc_guard_keep_only(job->request.op == PC_BROKER_CONNECT ? job->request.guard : PC_BROKER_NO_GUARD);
	switch (job->request.op) {
	case PC_BROKER_PAIR:
		answer_with_pair(fd, job);
		return;
	case PC_BROKER_BIND:
		reply.error = bind_socket(job);
		break;
	case PC_BROKER_CONNECT:
		reply.error = perform(image, job, &reply);
		see_through(fd, job, &reply);
		break;
	default:
		reply.error = -EINVAL;
	}
	pc_sys_write(fd, &reply, sizeof(reply));
}

/* What never waits, and what concerns the guards, which are here: in this process. */
static bool answer_here(int fd, const struct job *job)
{
	struct pc_broker_reply reply = { .id = job->request.id };

	if (job->request.op == PC_BROKER_RELEASE) {
		pc_guard_release(job->request.guard);
		return true;
	}
	if (job->request.op != PC_BROKER_LISTEN)
		return false;
	reply.error = job->socket < 0 ? -EINVAL : pc_guard_listen(&job->request, job->socket, &reply);
	pc_sys_write(fd, &reply, sizeof(reply));
	return true;
}

static void answer_in_child(const struct pc_image *image, int fd, const struct job *job)
{
	struct pc_broker_reply reply = { .id = job->request.id };
	long rc;

	/* A fork of this program copies a few pages; its memory is not shared, so a slow one disturbs nobody. */
	rc = pc_sys5(__NR_clone, SIG_CHLD, 0, 0, 0, 0);
	if (rc == 0) {
		answer(image, fd, job);
		pc_sys_exit(0);
	}
	if (rc > 0)
		return;
	reply.error = (int32_t)rc;
	pc_sys_write(fd, &reply, sizeof(reply));
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
	for (;;) {
		rc = receive(requests_fd, &job);
		if (rc == -EINTR)
			continue;
		if (rc <= 0)
			pc_sys_exit(0);
		if (is_about_names(&job, rc))
			answer_names(image, requests_fd, &job, rc);
		else if (rc == (long)sizeof(job.request) && !answer_here(requests_fd, &job))
			answer_in_child(image, requests_fd, &job);
		if (job.socket >= 0)
			pc_sys_close(job.socket);
		if (job.directory >= 0)
			pc_sys_close(job.directory);
	}
}
