#include "name_calls.h"
#include "caller.h"
#include "cleanup.h"
#include "uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long the broker may be busy with what others asked for. */
#define PATIENCE_MS 100

/* Calls under way at once; one more is refused. */
#define MOST_PENDING 4096

struct pc_name_pending {
	uint64_t id;
	bool is_inherited; /* the descriptor outlives an exec */
	struct pc_waiting waiting;
	struct pc_denial denial; /* in case it is refused, and not yet described */
};

struct pc_name_calls {
	int listener_fd, broker_fd; /* the notifier's */
	struct pc_name_pending *pending;
	size_t count, room;
	struct pc_names_request request; /* to work in */
};

/* Where in the registers things are; -1: nowhere. The second name is the one that is made, where there are two. */
static const struct name_call {
	int number;
	enum pc_names_op op;
	int8_t directory, path, directory2, path2, flags, mode;
} calls[] = {
#ifdef __NR_open /* x86_64 */
	{ __NR_open, PC_NAMES_OPEN, -1, 0, -1, -1, 1, 2 },	  { __NR_creat, PC_NAMES_OPEN, -1, 0, -1, -1, -1, 1 },
	{ __NR_mkdir, PC_NAMES_MKDIR, -1, 0, -1, -1, -1, 1 },	  { __NR_mknod, PC_NAMES_MKNOD, -1, 0, -1, -1, -1, 1 },
	{ __NR_symlink, PC_NAMES_SYMLINK, -1, 0, -1, 1, -1, -1 }, { __NR_link, PC_NAMES_LINK, -1, 0, -1, 1, -1, -1 },
	{ __NR_rename, PC_NAMES_RENAME, -1, 0, -1, 1, -1, -1 },	  { __NR_chmod, PC_NAMES_CHMOD, -1, 0, -1, -1, -1, 1 },
#endif
#ifdef __NR_renameat
	{ __NR_renameat, PC_NAMES_RENAME, 0, 1, 2, 3, -1, -1 },
#endif
	{ __NR_openat, PC_NAMES_OPEN, 0, 1, -1, -1, 2, 3 },	  { __NR_mkdirat, PC_NAMES_MKDIR, 0, 1, -1, -1, -1, 2 },
	{ __NR_mknodat, PC_NAMES_MKNOD, 0, 1, -1, -1, -1, 2 },	  { __NR_symlinkat, PC_NAMES_SYMLINK, -1, 0, 1, 2, -1, -1 },
	{ __NR_linkat, PC_NAMES_LINK, 0, 1, 2, 3, 4, -1 },	  { __NR_renameat2, PC_NAMES_RENAME, 0, 1, 2, 3, 4, -1 },
	{ __NR_fchmod, PC_NAMES_CHMOD, 0, -1, -1, -1, -1, 1 },	  { __NR_fchmodat, PC_NAMES_CHMOD, 0, 1, -1, -1, -1, 2 },
	{ __NR_fchmodat2, PC_NAMES_CHMOD, 0, 1, -1, -1, 3, 2 },
};

static const struct name_call *find_call(int number)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

static uint32_t argument(const struct seccomp_notif *request, int8_t at)
{
	return at < 0 ? 0 : (uint32_t)request->data.args[at]; /* the kernel reads 32 bits of each */
}

/* ---- what a name is relative to ------------------------------------------------------------------------------------------- */

/* "3/x": descriptor 3 and what follows; -1: no number. */
static int number_at(const char *text, const char **rest)
{
	char *end;
	long number;

	if (text[0] < '0' || text[0] > '9')
		return -1;
	number = strtol(text, &end, 10);
	*rest = end;
	return number > INT_MAX || (*end && *end != '/') ? -1 : (int)number;
}

static int open_link(uint32_t tid, const char *name)
{
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", tid, name);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * What a descriptor of the caller's is of, and not a copy of it: to close the last of a socket's may take as long as the caller likes
 * (SO_LINGER), and for a name nothing else is needed.
 */
static int open_described(uint32_t tid, int number)
{
	char name[16];
	int fd;

	if (number < 0)
		return -EBADF;
	snprintf(name, sizeof(name), "fd/%d", number);
	fd = open_link(tid, name);
	return fd == -ENOENT ? -EBADF : fd;
}

static int magic_directory(uint32_t tid, const char *name, const char **rest)
{
	bool is_cwd = strncmp(name, "cwd/", 4) == 0;

	if (!is_cwd && strncmp(name, "root/", 5) != 0)
		return -1;
	*rest = strchr(name, '/');
	return open_link(tid, is_cwd ? "cwd" : "root");
}

/*
 * A path that begins with a magic link of the caller's, which would be the broker's own: the descriptor that it stands for, and
 * the rest of the path. -1: it is an ordinary path. Source: proc(5).
 */
static int magic_start(uint32_t tid, const char *path, const char **rest)
{
	static const char *const selves[] = { "/proc/self/", "/proc/thread-self/" };
	static const char *const streams[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
	const char *name = NULL;
	size_t i;
	int number;

	for (i = 0; i < 3; i++) {
		*rest = path + strlen(streams[i]);
		if (strncmp(path, streams[i], strlen(streams[i])) == 0 && **rest == '\0')
			return open_described(tid, (int)i);
	}
	for (i = 0; i < 2; i++)
		if (strncmp(path, selves[i], strlen(selves[i])) == 0)
			name = path + strlen(selves[i]);
	if (name && strncmp(name, "fd/", 3) == 0)
		name += 3;
	else if (name)
		return magic_directory(tid, name, rest);
	else if (strncmp(path, "/dev/fd/", 8) == 0)
		name = path + 8;
	else
		return -1;
	number = number_at(name, rest);
	return number < 0 ? -1 : open_described(tid, number);
}

static int directory_of(const struct seccomp_notif *request, int8_t at)
{
	int directory = at < 0 ? AT_FDCWD : (int)request->data.args[at];

	return directory == AT_FDCWD ? pc_caller_directory(request->pid) : open_described(request->pid, directory);
}

/* What /proc/pid/status alone tells. */
struct caller_status {
	unsigned int umask;
	unsigned int tgid; /* of its process, in the run's PID namespace */
};

/* The last of the numbers in a line: that of the innermost namespace. */
static unsigned int last_number(const char *line)
{
	unsigned int number = 0;
	int used;

	line += strcspn(line, ":") + 1;
	while (sscanf(line, "%u%n", &number, &used) == 1)
		line += used;
	return number;
}

/* Source: proc_pid_status(5): Umask, Linux 4.7; NStgid, 4.1. */
static int read_status(uint32_t tid, struct caller_status *status)
{
	char path[40], text[4096];
	cleanup_fd int fd = -1;
	const char *line;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return -ESRCH;
	text[size] = '\0';
	line = strstr(text, "\nUmask:");
	if (!line || sscanf(line, "\nUmask: %o", &status->umask) != 1)
		return -ESRCH;
	line = strstr(text, "\nNStgid:");
	status->tgid = line ? last_number(line + 1) : 0;
	return 0;
}

/* The rest of the caller's own directory in /proc, by its number: the broker's would be another. */
static int name_by_number(char *text, int size, unsigned int tgid)
{
	static const char self[] = "/proc/self/";
	char rest[PC_NAMES_TEXT];
	int written;

	if (strncmp(text, self, sizeof(self) - 1) != 0 || !tgid)
		return size;
	memcpy(rest, text + sizeof(self) - 1, (size_t)size - (sizeof(self) - 1));
	written = snprintf(text, PC_NAMES_TEXT, "/proc/%u/%s", tgid, rest);
	return written >= PC_NAMES_TEXT ? -ENAMETOOLONG : written + 1;
}

/*
 * Reads one name into `text`, and what it is relative to. `is_object`: the path is a descriptor and nothing more.
 * Its size with the NUL, or -errno.
 */
static int read_name(const struct seccomp_notif *request, int8_t directory_at, int8_t path_at, unsigned int tgid, char *text,
		     int *from, bool *is_object)
{
	const char *rest;
	int size, fd;

	size = pc_caller_read_text(request->pid, request->data.args[path_at], text, PC_NAMES_TEXT);
	if (size < 0)
		return size;
	*is_object = false;
	if (text[0] != '/') {
		fd = size ? directory_of(request, directory_at) : -ENOENT;
		if (fd < 0)
			return fd;
		*from = fd;
		return size + 1;
	}
	fd = magic_start(request->pid, text, &rest);
	if (fd < -1)
		return fd;
	if (fd < 0)
		return name_by_number(text, size + 1, tgid);
	*from = fd;
	rest += strspn(rest, "/");
	*is_object = !*rest;
	/* The object's text stays, for what is said of it. */
	if (*rest) {
		size = (int)strlen(rest);
		memmove(text, rest, (size_t)size + 1);
	}
	return size + 1;
}

/* ---- sending -------------------------------------------------------------------------------------------------------------- */

static int send_room(int broker_fd, const struct pc_names_request *room, const int descriptors[2])
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec vector = { (void *)(uintptr_t)room, PC_NAMES_HEADER + room->first_size + room->second_size };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
	struct pollfd writable = { .fd = broker_fd, .events = POLLOUT };
	int fds[2], count = 0, i;

	for (i = 0; i < 2; i++)
		if (descriptors[i] >= 0)
			fds[count++] = descriptors[i];
	if (count) {
		struct cmsghdr *header = &control.align;

		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
		*header = (struct cmsghdr) { CMSG_LEN((size_t)count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(header), fds, (size_t)count * sizeof(int));
	}
	while (sendmsg(broker_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if (errno != EAGAIN || poll(&writable, 1, PATIENCE_MS) <= 0)
			return errno == EAGAIN ? -EAGAIN : -errno;
	}
	return 0;
}

/* A descriptor and no name. */
static int read_object(const struct seccomp_notif *request, int8_t at, struct pc_names_request *room, int descriptors[2])
{
	int fd = open_described(request->pid, (int)request->data.args[at]);

	if (fd < 0)
		return fd;
	descriptors[0] = fd;
	room->text[0] = '\0';
	room->first_size = 1;
	room->has = PC_NAMES_HAS_FIRST | PC_NAMES_FIRST_IS_OBJECT;
	return 0;
}

static int read_names(const struct name_call *call, const struct seccomp_notif *request, unsigned int tgid,
		      struct pc_names_request *room, int descriptors[2])
{
	bool is_object = false;
	int size;

	if (call->path < 0)
		return read_object(request, call->directory, room, descriptors);
	/* A link's target is a text and no path. */
	if (call->op == PC_NAMES_SYMLINK) {
		size = pc_caller_read_text(request->pid, request->data.args[call->path], room->text, PC_NAMES_TEXT);
		size = size < 0 ? size : size + 1;
	} else {
		size = read_name(request, call->directory, call->path, tgid, room->text, &descriptors[0], &is_object);
	}
	if (size < 0)
		return size;
	room->first_size = (uint32_t)size;
	room->has = (descriptors[0] >= 0 ? PC_NAMES_HAS_FIRST : 0u) | (is_object ? PC_NAMES_FIRST_IS_OBJECT : 0u);
	if (call->path2 < 0)
		return is_object && call->op != PC_NAMES_OPEN && call->op != PC_NAMES_CHMOD ? -EEXIST : 0;
	if (is_object && (call->op != PC_NAMES_LINK || !(room->flags & AT_SYMLINK_FOLLOW)))
		return -EXDEV; /* the link itself, which is in /proc */
	size = read_name(request, call->directory2, call->path2, tgid, room->text + room->first_size, &descriptors[1],
			 &is_object);
	if (size < 0)
		return size;
	room->second_size = (uint32_t)size;
	room->has |= descriptors[1] >= 0 ? PC_NAMES_HAS_SECOND : 0u;
	return is_object ? -EEXIST : 0;
}

static int send_call(const struct pc_name_calls *open, const struct seccomp_notif *request, struct pc_names_request *room)
{
	const struct name_call *call = find_call(request->data.nr);
	struct caller_status status;
	int descriptors[2] = { -1, -1 }, rc;
	uint64_t id = request->id;

	if (!call)
		return -ENOSYS;
	rc = read_status(request->pid, &status);
	if (rc < 0)
		return rc;
	room->magic = PC_NAMES_MAGIC;
	room->op = call->op;
	room->id = id;
	room->umask = status.umask;
	room->flags = call->op == PC_NAMES_OPEN && call->flags < 0 ? O_CREAT | O_WRONLY | O_TRUNC :
								     argument(request, call->flags);
	room->mode = argument(request, call->mode);
	room->second_size = 0;
	rc = read_names(call, request, status.tgid, room, descriptors);
	/* What was copied may have been another process's, if the caller died and its number was given anew. */
	if (rc == 0 && ioctl(open->listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0)
		rc = -ESRCH;
	if (rc == 0)
		rc = send_room(open->broker_fd, room, descriptors);
	if (descriptors[0] >= 0)
		close(descriptors[0]);
	if (descriptors[1] >= 0)
		close(descriptors[1]);
	return rc;
}

/* The text of the name that is to be made, as the caller spelled it. */
static const char *made_name(const struct pc_names_request *room)
{
	return room->text + (room->second_size ? room->first_size : 0);
}

/* ---- waiting for the answer ----------------------------------------------------------------------------------------------- */

struct pc_name_calls *pc_name_calls_open(int listener_fd, int broker_fd)
{
	struct pc_name_calls *open = calloc(1, sizeof(*open));

	if (open) {
		open->listener_fd = listener_fd;
		open->broker_fd = broker_fd;
	}
	return open;
}

int pc_name_calls_send(struct pc_name_calls *open, const struct seccomp_notif *request, const struct pc_denial *denial)
{
	struct pc_name_pending *pending, *grown;
	const char *name;
	size_t size;
	int rc;

	if (open->count == open->room) {
		grown = open->room < MOST_PENDING ? realloc(open->pending, (open->room + 64) * sizeof(*grown)) : NULL;
		if (!grown)
			return -EAGAIN;
		open->pending = grown;
		open->room += 64;
	}
	rc = send_call(open, request, &open->request);
	if (rc < 0)
		return rc;
	pending = &open->pending[open->count++];
	*pending = (struct pc_name_pending) {
		.id = request->id,
		.waiting = { .number = request->data.nr, .tid = request->pid },
		.denial = *denial,
	};
	pending->is_inherited = !(open->request.flags & O_CLOEXEC);
	/* Cut to what a record holds. */
	name = made_name(&open->request);
	size = strnlen(name, sizeof(pending->denial.address));
	memcpy(pending->denial.address, name, size);
	pending->denial.address_size = (uint32_t)size;
	memset(pending->denial.args, 0, sizeof(pending->denial.args));
	return 0;
}

static int answer(const struct pc_name_calls *open, uint64_t id, int error)
{
	struct seccomp_notif_resp response = { .id = id, .error = error };
	int rc;

	do
		rc = ioctl(open->listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
	while (rc < 0 && errno == EINTR);
	return rc;
}

/* The descriptor, and that it is the call's result, in one step; or in two, before Linux 5.14. */
static void give(const struct pc_name_calls *open, const struct pc_name_pending *pending, int fd)
{
	struct seccomp_notif_addfd add = {
		.id = pending->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = pending->is_inherited ? 0 : O_CLOEXEC,
	};
	struct seccomp_notif_resp response = { .id = pending->id };
	int added;

	if (ioctl(open->listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0)
		return;
	if (errno != EINVAL) {
		answer(open, pending->id, -errno); /* EMFILE: the caller's own limit; ENOENT: it is gone */
		return;
	}
	add.flags = 0;
	added = ioctl(open->listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	response.val = added;
	if (added < 0)
		answer(open, pending->id, -errno);
	else
		ioctl(open->listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

bool pc_name_calls_settle(struct pc_name_calls *open, const struct pc_names_reply *reply, int fd, struct pc_denial *denial)
{
	struct pc_name_pending pending;
	size_t i;

	for (i = 0; i < open->count && open->pending[i].id != reply->id; i++)
		;
	if (i == open->count)
		return false;
	pending = open->pending[i];
	open->pending[i] = open->pending[--open->count];
	if (reply->is_refused) {
		*denial = pending.denial;
		denial->error = -reply->error;
		pc_caller_describe(&pending.waiting, denial);
	}
	if (reply->error || fd < 0)
		answer(open, pending.id, reply->error);
	else
		give(open, &pending, fd);
	return reply->is_refused != 0;
}

void pc_name_calls_close(struct pc_name_calls *open)
{
	if (!open)
		return;
	while (open->count)
		answer(open, open->pending[--open->count].id, -ECONNABORTED);
	free(open->pending);
	free(open);
}
