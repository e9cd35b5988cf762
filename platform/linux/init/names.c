/*
 * The broker's part of making names.
 *
 * The way to a name is resolved once, to its directory; the name in it is then made by a call that follows nothing. So whether
 * it is one of the names that stay absent is judged of the very entry that is made. An object that is there already is opened
 * as it was found, which makes no name. Whatever the kernel would answer (no such directory, not permitted, read-only) it
 * answers here too: the broker is of the run's user, mounts and Landlock rules.
 */
#include "../broker.h"
#include "../image.h"
#include "../message.h"
#include "../names.h"
#include "../sys.h"
#include "fold.h"

#include <asm/errno.h>
#include <asm/fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>

#define AT_CWD		    (-100)
#define SIG_CHLD	    17
#define MAX_LINKS	    40 /* as the kernel has it: path_resolution(7) */
#define MAX_TRIES	    16
#define RENAME_EXCHANGE	    2u
#define AT_SYMLINK_FOLLOW   0x400
#define AT_SYMLINK_NOFOLLOW 0x100
#define S_IFIFO		    0010000u
#define S_IFCHR		    0020000u

/* Not an answer: the open may wait for somebody, so it is for a process of its own. */
#define MAY_WAIT (-EINPROGRESS)

/* A name to be: the directory that it is in, and its last component with the slashes after it. */
struct place {
	int directory; /* O_PATH */
	const char *name;
	char text[PC_NAMES_TEXT];
};

static uint32_t length(const char *text)
{
	uint32_t size = 0;

	while (text[size])
		size++;
	return size;
}

static void copy(char *to, const char *from, uint32_t size)
{
	while (size--)
		*to++ = *from++;
}

/* "/proc/self/fd/N" */
static void link_of(int fd, char link[32])
{
	static const char prefix[] = "/proc/self/fd/";
	char digits[10];
	uint32_t at = sizeof(prefix) - 1, n = 0;

	copy(link, prefix, at);
	do {
		digits[n++] = (char)('0' + fd % 10);
		fd /= 10;
	} while (fd);
	while (n)
		link[at++] = digits[--n];
	link[at] = '\0';
}

/* ---- names that stay absent ----------------------------------------------------------------------------------------------- */

/*
 * Whether `relative` (below a root) is `name`, however it is spelled; or, for what brings more than itself (a renamed directory, a
 * link), something on the way to it.
 */
static bool is_name(const char *relative, const char *name, bool brings_more)
{
	const char *rest;

	if (pc_fold_equal(relative, name))
		return true;
	rest = brings_more ? pc_fold_after(name, relative) : NULL;
	return rest && *rest == '/';
}

/* A root may be spelled otherwise too: what a directory is called where it was found is how somebody asked for it first. */
static const char *below(const char *path, const char *root)
{
	const char *rest = pc_fold_after(path, root);

	return rest && *rest == '/' ? rest + 1 : 0;
}

/* `path` is resolved but for its last component. */
static bool stays_absent(const struct pc_image *image, const char *path, bool brings_more)
{
	const uint64_t *roots = pc_image_at(image, image->roots_offset), *names = pc_image_at(image, image->names_offset);
	const uint64_t *absent = pc_image_at(image, image->absent_offset);
	uint32_t i, j;

	for (i = 0; i < image->roots; i++) {
		const char *relative = below(path, pc_image_at(image, roots[i]));

		for (j = 0; relative && j < image->names; j++)
			if (is_name(relative, (const char *)pc_image_at(image, names[j]) + 1, brings_more))
				return true;
	}
	for (i = 0; i < image->absent; i++)
		if (pc_fold_equal(path, pc_image_at(image, absent[i])) ||
		    (brings_more && below(pc_image_at(image, absent[i]), path)))
			return true;
	return false;
}

/* Moved elsewhere, a root would be watched no more; and what is put in its place would be read by its name. */
static bool holds_root(const struct pc_image *image, const char *path)
{
	const uint64_t *roots = pc_image_at(image, image->roots_offset);
	uint32_t i;

	for (i = 0; i < image->roots; i++) {
		const char *root = pc_image_at(image, roots[i]);

		if (below(root, path) || pc_fold_equal(root, path))
			return true;
	}
	return false;
}

/* ---- resolving ------------------------------------------------------------------------------------------------------------ */

/* Never through a magic link: that would be the broker's own /proc/self. The caller's are translated before they come here. */
static int open_object(int directory, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_NO_MAGICLINKS };
	int fd = pc_sys_openat2(directory, path, &how, sizeof(how));

	if (fd == -ENOSYS) /* before Linux 5.6 */
		fd = pc_sys_openat(directory, path, (int)how.flags, 0);
	return fd;
}

/*
 * Its own directory in /proc is what this process finds by the name of /proc/self: never what the caller meant, and none of its
 * business. The names that can be translated were, before they came here. The path is resolved.
 */
static bool is_own_process(const char *path)
{
	char own[24] = "/proc/", digits[12];
	uint32_t at = 6, n = 0, i;
	long pid = pc_sys0(__NR_getpid);

	do {
		digits[n++] = (char)('0' + pid % 10);
		pid /= 10;
	} while (pid);
	while (n)
		own[at++] = digits[--n];
	for (i = 0; i < at; i++)
		if (path[i] != own[i])
			return false;
	return path[at] == '\0' || path[at] == '/';
}

static int check_owner(int fd)
{
	char link[32], path[PC_NAMES_TEXT];
	long size;

	link_of(fd, link);
	size = pc_sys4(__NR_readlinkat, AT_CWD, pc_ptr(link), pc_ptr(path), sizeof(path) - 1);
	if (size < 0)
		return (int)size;
	path[size] = '\0';
	return is_own_process(path) ? -EACCES : 0;
}

/* Takes apart `place->text`, which has a name at its end. */
static int open_place(int from, struct place *place)
{
	uint32_t size = length(place->text), end, start;

	if (!size)
		return -ENOENT;
	for (end = size; end > 1 && place->text[end - 1] == '/'; end--)
		;
	for (start = end; start > 0 && place->text[start - 1] != '/'; start--)
		;
	if (start == 0) {
		place->name = place->text;
		place->directory = open_object(from, ".", O_DIRECTORY);
		return place->directory < 0 ? place->directory : 0;
	}
	/* The name moves behind a NUL of its own. */
	if (size + 2 > sizeof(place->text))
		return -ENAMETOOLONG;
	for (end = size + 1; end > start; end--)
		place->text[end] = place->text[end - 1];
	place->text[start] = '\0';
	place->name = place->text + start + 1;
	/* "/" alone: the root, which is its own directory. */
	if (!place->name[0])
		place->name = ".";
	place->directory = open_object(from, place->text, O_DIRECTORY);
	return place->directory < 0 ? place->directory : 0;
}

static bool is_dots(const char *name)
{
	if (*name++ != '.')
		return false;
	if (*name == '.')
		name++;
	return !*name || *name == '/';
}

/* The place as the run sees it, without the slashes at its end. Source: proc(5), /proc/pid/fd. */
static int path_of(const struct place *place, char path[2 * PC_NAMES_TEXT])
{
	char link[32];
	uint32_t size = length(place->name);
	long at;

	link_of(place->directory, link);
	at = pc_sys4(__NR_readlinkat, AT_CWD, pc_ptr(link), pc_ptr(path), PC_NAMES_TEXT - 1);
	if (at < 0)
		return (int)at;
	if (at == 1) /* the root */
		at = 0;
	path[at++] = '/';
	copy(path + at, place->name, size + 1);
	for (at += size; at > 1 && path[at - 1] == '/'; at--)
		path[at - 1] = '\0';
	return 0;
}

/*
 * 0, or -EACCES with the refusal noted: the name is one that stays absent. What brings more than itself does not come in the
 * place of a root, either, nor of a directory above one.
 */
static int judge(const struct pc_image *image, const struct place *place, bool brings_more, struct pc_names_reply *reply)
{
	char path[2 * PC_NAMES_TEXT];
	int rc;

	if (is_dots(place->name))
		return 0;
	rc = path_of(place, path);
	if (rc < 0)
		return rc;
	if (!stays_absent(image, path, brings_more) && !(brings_more && holds_root(image, path)))
		return 0;
	reply->is_refused = 1;
	return -EACCES;
}

/* ---- open(2) -------------------------------------------------------------------------------------------------------------- */

static unsigned int type_of(int fd, struct pc_statx *st)
{
	return pc_sys_statx(fd, "", PC_AT_EMPTY_PATH, PC_STATX_TYPE, st) < 0 ? 0 : st->mode & PC_S_IFMT;
}

/* Memory devices (null, zero, random) and pseudo-terminals wait for nobody. Source: Documentation/admin-guide/devices.txt. */
static bool waits(unsigned int type, const struct pc_statx *st, uint32_t flags)
{
	bool is_quick = st->rdev_major == 1 || (st->rdev_major >= 136 && st->rdev_major <= 143);

	return !(flags & O_NONBLOCK) && (type == S_IFIFO || (type == S_IFCHR && !is_quick));
}

/* That object and no other, whatever has its name by now. No O_CREAT: it is there. */
static int open_found(int object, uint32_t flags, bool may_wait)
{
	char link[32];
	struct pc_statx st;
	unsigned int type = type_of(object, &st);

	if (!may_wait && waits(type, &st, flags))
		return MAY_WAIT;
	link_of(object, link);
	return pc_sys_openat(AT_CWD, link, (int)(flags & ~(uint32_t)(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_CLOEXEC, 0);
}

/* The link's target becomes the place. */
static int follow(struct place *place, int object)
{
	long size = pc_sys4(__NR_readlinkat, object, pc_ptr(""), pc_ptr(place->text), PC_NAMES_TEXT - 1);
	int from = place->directory, rc;

	if (size <= 0)
		return size < 0 ? (int)size : -ENOENT;
	place->text[size] = '\0';
	rc = open_place(from, place);
	pc_sys_close(from);
	return rc;
}

/* What is at the place, opened; or made there. -EAGAIN: it came or went meanwhile. */
static int open_at(const struct pc_image *image, struct place *place, const struct pc_names_request *request, int *links,
		   bool may_wait, struct pc_names_reply *reply)
{
	int object = open_object(place->directory, place->name, O_NOFOLLOW), rc;
	struct pc_statx st;
	unsigned int type;

	if (object == -ENOENT) {
		rc = judge(image, place, false, reply);
		if (rc == 0)
			rc = pc_sys_openat(place->directory, place->name, (int)(request->flags | O_CREAT | O_EXCL) | O_CLOEXEC,
					   request->mode);
		return rc == -EEXIST && !(request->flags & O_EXCL) ? -EAGAIN : rc;
	}
	if (object < 0)
		return object;
	type = type_of(object, &st);
	if (type != PC_S_IFLNK && check_owner(object) < 0) {
		rc = -EACCES;
	} else if (request->flags & O_EXCL) {
		rc = -EEXIST;
	} else if (type == PC_S_IFLNK && request->flags & O_NOFOLLOW) {
		rc = -ELOOP;
	} else if (type == PC_S_IFLNK) {
		rc = (*links)++ < MAX_LINKS ? follow(place, object) : -ELOOP;
		if (rc == 0)
			rc = -EAGAIN;
	} else if (type == PC_S_IFDIR) {
		rc = -EISDIR;
	} else {
		rc = open_found(object, request->flags, may_wait);
	}
	pc_sys_close(object);
	return rc;
}

static int perform_open(const struct pc_image *image, const struct pc_names_request *request, int from, bool may_wait,
			struct pc_names_reply *reply)
{
	struct place place;
	int links = 0, tries, rc;

	if (request->has & PC_NAMES_FIRST_IS_OBJECT)
		return open_found(from, request->flags, may_wait);
	copy(place.text, request->text, request->first_size);
	rc = open_place(from, &place);
	if (rc < 0)
		return rc;
	/* O_CREAT makes no directory: to the kernel, too, the slash says all. */
	if (place.name[length(place.name) - 1] == '/') {
		pc_sys_close(place.directory);
		return -EISDIR;
	}
	for (tries = 0; tries < MAX_TRIES + MAX_LINKS; tries++) {
		rc = open_at(image, &place, request, &links, may_wait, reply);
		if (rc != -EAGAIN)
			break;
	}
	if (place.directory >= 0)
		pc_sys_close(place.directory);
	return rc;
}

/* ---- the others ----------------------------------------------------------------------------------------------------------- */

static int place_of(const struct pc_names_request *request, bool is_second, const int descriptors[2], struct place *place)
{
	uint32_t has = is_second ? PC_NAMES_HAS_SECOND : PC_NAMES_HAS_FIRST;
	/* One descriptor that came along is the first, whichever text it is for. */
	int from = is_second && request->has & PC_NAMES_HAS_FIRST ? descriptors[1] : descriptors[0];
	const char *text = request->text + (is_second ? request->first_size : 0);

	copy(place->text, text, is_second ? request->second_size : request->first_size);
	return open_place(request->has & has ? from : AT_CWD, place);
}

/* A name without a second one. */
static int perform_make(const struct pc_image *image, const struct pc_names_request *request, const int descriptors[2],
			struct pc_names_reply *reply)
{
	bool is_link = request->op == PC_NAMES_SYMLINK;
	struct place place;
	int rc;

	rc = place_of(request, is_link, descriptors, &place);
	if (rc < 0)
		return rc;
	rc = judge(image, &place, is_link, reply);
	if (rc == 0 && is_link)
		rc = (int)pc_sys3(__NR_symlinkat, pc_ptr(request->text), place.directory, pc_ptr(place.name));
	else if (rc == 0 && request->op == PC_NAMES_MKDIR)
		rc = (int)pc_sys3(__NR_mkdirat, place.directory, pc_ptr(place.name), (long)request->mode);
	else if (rc == 0)
		rc = (int)pc_sys4(__NR_mknodat, place.directory, pc_ptr(place.name), (long)request->mode, 0);
	pc_sys_close(place.directory);
	return rc;
}

/*
 * A mode with the set-group-ID bit: to a directory it means that what is made in it is of its group, and copies of such trees
 * set it again; a file would be a program that runs with the group's rights. Which it is, is asked of the very object.
 */
static int perform_chmod(const struct pc_names_request *request, const int descriptors[2], struct pc_names_reply *reply)
{
	bool is_object = (request->has & PC_NAMES_FIRST_IS_OBJECT) != 0;
	int from = request->has & PC_NAMES_HAS_FIRST ? descriptors[0] : AT_CWD, object = from, rc;
	struct pc_statx st;
	char link[32];

	if (!is_object)
		object = open_object(from, request->text, request->flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0);
	if (object < 0)
		return object;
	if (type_of(object, &st) == PC_S_IFDIR) {
		link_of(object, link);
		rc = (int)pc_sys3(__NR_fchmodat, AT_CWD, pc_ptr(link), (long)request->mode);
	} else {
		reply->is_refused = 1;
		rc = -EPERM;
	}
	if (!is_object)
		pc_sys_close(object);
	return rc;
}

static int link_object(int object, const struct place *to)
{
	char link[32];

	link_of(object, link);
	return (int)pc_sys5(__NR_linkat, AT_CWD, pc_ptr(link), to->directory, pc_ptr(to->name), AT_SYMLINK_FOLLOW);
}

static int perform_link(const struct pc_image *image, const struct pc_names_request *request, const int descriptors[2],
			struct pc_names_reply *reply)
{
	struct place from = { .directory = -1 }, to = { .directory = -1 };
	int object = -1, rc;

	rc = place_of(request, true, descriptors, &to);
	if (rc < 0)
		return rc;
	rc = judge(image, &to, true, reply);
	if (rc == 0 && request->has & PC_NAMES_FIRST_IS_OBJECT) {
		rc = link_object(descriptors[0], &to);
	} else if (rc == 0 && (rc = place_of(request, false, descriptors, &from)) == 0) {
		if (request->flags & AT_SYMLINK_FOLLOW) {
			rc = object = open_object(from.directory, from.name, 0);
			rc = rc < 0 ? rc : link_object(object, &to);
		} else {
			rc = (int)pc_sys5(__NR_linkat, from.directory, pc_ptr(from.name), to.directory, pc_ptr(to.name), 0);
		}
	}
	if (object >= 0)
		pc_sys_close(object);
	if (from.directory >= 0)
		pc_sys_close(from.directory);
	pc_sys_close(to.directory);
	return rc;
}

static int judge_rename(const struct pc_image *image, const struct place *from, const struct place *to, uint32_t flags,
			struct pc_names_reply *reply)
{
	char path[2 * PC_NAMES_TEXT];
	int rc;

	rc = judge(image, to, true, reply);
	if (rc < 0 || is_dots(from->name))
		return rc;
	if (flags & RENAME_EXCHANGE)
		return judge(image, from, true, reply);
	rc = path_of(from, path);
	if (rc == 0 && holds_root(image, path)) {
		reply->is_refused = 1;
		rc = -EACCES;
	}
	return rc;
}

static int perform_rename(const struct pc_image *image, const struct pc_names_request *request, const int descriptors[2],
			  struct pc_names_reply *reply)
{
	struct place from, to = { .directory = -1 };
	int rc;

	rc = place_of(request, false, descriptors, &from);
	if (rc < 0)
		return rc;
	rc = place_of(request, true, descriptors, &to);
	if (rc == 0)
		rc = judge_rename(image, &from, &to, request->flags, reply);
	if (rc == 0)
		rc = (int)pc_sys5(__NR_renameat2, from.directory, pc_ptr(from.name), to.directory, pc_ptr(to.name),
				  (long)request->flags);
	pc_sys_close(from.directory);
	if (to.directory >= 0)
		pc_sys_close(to.directory);
	return rc;
}

/* ---- answering ------------------------------------------------------------------------------------------------------------ */

static int perform(const struct pc_image *image, const struct pc_names_request *request, const int descriptors[2],
		   bool may_wait, struct pc_names_reply *reply)
{
	pc_sys1(__NR_umask, (long)request->umask);
	switch (request->op) {
	case PC_NAMES_OPEN:
		return perform_open(image, request, request->has & PC_NAMES_HAS_FIRST ? descriptors[0] : AT_CWD, may_wait,
				    reply);
	case PC_NAMES_CHMOD:
		return perform_chmod(request, descriptors, reply);
	case PC_NAMES_LINK:
		return perform_link(image, request, descriptors, reply);
	case PC_NAMES_RENAME:
		return perform_rename(image, request, descriptors, reply);
	default:
		return perform_make(image, request, descriptors, reply);
	}
}

static void send_reply(int fd, struct pc_names_reply *reply, int opened)
{
	struct pc_io_vector vector = { reply, sizeof(*reply) };
	struct pc_control control = { PC_CONTROL_HEADER + sizeof(int), PC_LEVEL_SOCKET, PC_RIGHTS, { opened, -1 } };
	struct pc_message message = { .vectors = &vector, .vector_count = 1 };

	if (opened >= 0) {
		message.control = &control;
		message.control_size = sizeof(control);
	}
	while (pc_sys3(__NR_sendmsg, fd, pc_ptr(&message), 0x4000 /* MSG_NOSIGNAL */) == -EINTR)
		;
}

/* False: it may have to wait, and nothing is done. */
static bool answer(const struct pc_image *image, int fd, const struct pc_names_request *request, const int descriptors[2],
		   bool may_wait)
{
	struct pc_names_reply reply = { .magic = PC_NAMES_MAGIC, .id = request->id };
	int rc = perform(image, request, descriptors, may_wait, &reply);

	if (rc == MAY_WAIT && !may_wait)
		return false;
	reply.error = rc < 0 ? rc : 0;
	send_reply(fd, &reply, rc >= 0 && request->op == PC_NAMES_OPEN ? rc : -1);
	if (rc >= 0 && request->op == PC_NAMES_OPEN)
		pc_sys_close(rc);
	return true;
}

static bool is_whole(const struct pc_names_request *request, long size, const int descriptors[2])
{
	uint32_t first = request->first_size, second = request->second_size;

	if (size < (long)PC_NAMES_HEADER || first > PC_NAMES_TEXT || second > PC_NAMES_TEXT || request->op >= PC_NAMES_OPS)
		return false;
	if (size != (long)(PC_NAMES_HEADER + first + second) || !first || request->text[first - 1])
		return false;
	if (second ? request->text[first + second - 1] != '\0' : request->op >= PC_NAMES_SYMLINK)
		return false;
	if (request->has & (PC_NAMES_HAS_FIRST | PC_NAMES_HAS_SECOND) && descriptors[0] < 0)
		return false;
	return (request->has & 3u) != 3u || descriptors[1] >= 0;
}

void pc_names_perform(const struct pc_image *image, int fd, const struct pc_names_request *request, long size,
		      const int descriptors[2])
{
	struct pc_names_reply reply = { .magic = PC_NAMES_MAGIC, .id = request->id, .error = -EINVAL };
	long child;

	if (!is_whole(request, size, descriptors)) {
		send_reply(fd, &reply, -1);
		return;
	}
	if (answer(image, fd, request, descriptors, false))
		return;
	/* A FIFO's other end, a line's carrier: a process of its own waits. */
	child = pc_sys5(__NR_clone, SIG_CHLD, 0, 0, 0, 0);
	if (child == 0) {
		pc_guard_keep_only(PC_BROKER_NO_GUARD);
		answer(image, fd, request, descriptors, true);
		pc_sys_exit(0);
	}
	if (child < 0) {
		reply.error = (int32_t)child;
		send_reply(fd, &reply, -1);
	}
}
