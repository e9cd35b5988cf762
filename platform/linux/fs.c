/* What plans need to know of the file system: kinds, owners and identities of names. */
#include "cleanup.h"
#include "../platform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "link";
	case S_IFSOCK:
		return "socket";
	case S_IFIFO:
		return "fifo";
	case S_IFCHR:
	case S_IFBLK:
		return "device";
	default:
		return "other";
	}
}

static struct pc_file facts_of(const struct stat *st)
{
	return (struct pc_file) {
		.kind = kind_of(st->st_mode),
		.mode = st->st_mode & 07777,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.dev = st->st_dev,
		.ino = st->st_ino,
		.links = st->st_nlink,
		.size = (uint64_t)st->st_size,
		.mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
		.ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
	};
}

int pc_file_facts(const char *path, bool follow, struct pc_file *file)
{
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*file = facts_of(&st);
	return 0;
}

int pc_descriptor_facts(int fd, struct pc_file *file)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*file = facts_of(&st);
	return 0;
}

int pc_executable_facts(const char *path, struct pc_file *file, char *resolved)
{
	cleanup_fd int fd = -1;
	char name[40];
	struct stat st;
	int rc;

	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	/* faccessat2(2) with an empty path is of Linux 5.8; a mount without exec refuses here too. */
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (faccessat(AT_FDCWD, name, X_OK, AT_EACCESS) < 0)
		return -errno;
	rc = pc_read_link(name, resolved);
	if (rc < 0)
		return rc;
	/* A file that was unlinked meanwhile has a name that leads nowhere, or to another. */
	if (st.st_nlink == 0 || resolved[0] != '/')
		return -ENOENT;
	*file = facts_of(&st);
	return 0;
}

int pc_real_path(const char *path, char *resolved)
{
	return realpath(path, resolved) ? 0 : -errno;
}

int pc_create_file(const char *path, const char *bytes, size_t size)
{
	cleanup_fd int fd = -1;
	ssize_t written;
	int error;

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	while (size > 0) {
		written = write(fd, bytes, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			error = written < 0 ? errno : EIO;
			unlink(path);
			return -error;
		}
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}

int pc_read_link(const char *path, char *target)
{
	ssize_t size = readlink(path, target, PATH_MAX);

	if (size < 0)
		return -errno;
	if (size == PATH_MAX)
		return -ENAMETOOLONG;
	target[size] = '\0';
	return 0;
}

static const char *kind_of_entry(int at, const struct dirent64 *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return kind_of((mode_t)DTTOIF(entry->d_type));
	/* Some file systems do not say. */
	if (fstatat(at, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return "other";
	return kind_of(st.st_mode);
}

/* What one getdents64 gives takes a page or two of the stack; readdir would ask for facts and memory besides. */
#define LISTED_AT_ONCE 16384

int pc_list_directory(const char *path, size_t limit, int (*each)(void *, const char *, const char *), void *context)
{
	union {
		struct dirent64 entry;
		char bytes[LISTED_AT_ONCE];
	} block;
	cleanup_fd int fd = -1;
	size_t count = 0;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t at, size = getdents64(fd, &block, sizeof(block));

		if (size <= 0)
			return size < 0 ? -errno : 0;
		for (at = 0; at < size;) {
			const struct dirent64 *entry = (const void *)(block.bytes + at);
			int rc;

			at += entry->d_reclen;
			if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
				continue;
			rc = ++count > limit ? -E2BIG : each(context, entry->d_name, kind_of_entry(fd, entry));
			if (rc != 0)
				return rc;
		}
	}
}

/* The directory that holds `path`, opened without following a link, and the name in it. */
static int open_parent(const char *path, const char **name)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t size;

	if (!slash || !slash[1])
		return -EINVAL;
	size = slash == path ? 1 : (size_t)(slash - path);
	if (size >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, path, size);
	parent[size] = '\0';
	*name = slash + 1;
	return pc_open_resolved(parent);
}

/* RENAME_NOREPLACE rather than a look before. Source: renameat2(2), Linux 3.15. */
int pc_move(const char *from, const char *to)
{
	cleanup_fd int from_dir = -1, to_dir = -1;
	const char *from_name, *to_name;

	from_dir = open_parent(from, &from_name);
	if (from_dir < 0)
		return from_dir;
	to_dir = open_parent(to, &to_name);
	if (to_dir < 0)
		return to_dir;
	return renameat2(from_dir, from_name, to_dir, to_name, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* chmod(2) of what an O_PATH descriptor holds. Source: open(2), O_PATH; proc(5), /proc/pid/fd. */
static int change_mode(int fd, unsigned int mode)
{
	char link[40];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, mode) < 0 ? -errno : 0;
}

static int open_for_mode(const char *path, struct stat *st)
{
	cleanup_fd int parent = -1, fd = -1;
	const char *name;

	parent = open_parent(path, &name);
	if (parent < 0)
		return parent;
	fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, st) < 0)
		return -errno;
	/* chmod would follow it. */
	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	return pc_take_fd(&fd);
}

int pc_open_up(const char *path, int *was)
{
	cleanup_fd int fd = -1;
	struct stat st;
	int rc;

	fd = open_for_mode(path, &st);
	if (fd < 0)
		return fd;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	*was = -1;
	if ((st.st_mode & S_IRWXU) == S_IRWXU)
		return 0;
	rc = change_mode(fd, (st.st_mode & 07777) | S_IRWXU);
	if (rc == 0)
		*was = (int)(st.st_mode & 07777);
	return rc;
}

int pc_put_mode(const char *path, unsigned int mode)
{
	cleanup_fd int fd = -1;
	struct stat st;

	fd = open_for_mode(path, &st);
	return fd < 0 ? fd : change_mode(fd, mode);
}

static int open_regular(const char *path)
{
	cleanup_fd int fd = -1;
	struct stat st;

	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return pc_take_fd(&fd);
}

/* Grown as it is read: a file of /proc does not say how long it is. */
static int read_up_to(int fd, size_t limit, char **data, size_t *size)
{
	size_t room = 0;

	for (;;) {
		ssize_t n;

		if (*size == room) {
			/* Doubled: not every allocator moves a large block without copying it. Who wants little gets no more. */
			size_t want = room ? 2 * room : 65536;
			char *grown = realloc(*data, want <= limit ? want : limit + 1);

			if (!grown)
				return -ENOMEM;
			*data = grown;
			room = want <= limit ? want : limit + 1;
		}
		n = read(fd, *data + *size, room - *size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		*size += (size_t)n;
		if (n == 0 || *size > limit)
			return 0;
	}
}

int64_t pc_read_some(int fd, void *buffer, size_t size)
{
	ssize_t n;

	do {
		n = read(fd, buffer, size);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int pc_read_file(const char *path, size_t limit, char **data, size_t *size, bool *is_cut)
{
	cleanup_free char *read_data = NULL;
	cleanup_fd int fd = -1;
	size_t read_size = 0;
	int rc;

	fd = open_regular(path);
	if (fd < 0)
		return fd;
	rc = read_up_to(fd, limit, &read_data, &read_size);
	if (rc < 0)
		return rc;
	*is_cut = read_size > limit;
	*size = *is_cut ? limit : read_size;
	*data = read_data;
	read_data = NULL;
	return 0;
}

int pc_make_directory(const char *path, unsigned int mode)
{
	return mkdir(path, mode) < 0 ? -errno : 0;
}
