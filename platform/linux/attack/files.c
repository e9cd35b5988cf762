/* Attacks on files: reads, writes, names, modes. */
#include "attack.h"

#include "../uapi.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

/* read PATH */
static int read_path(const char *const *words)
{
	return pc_attack_read(words[0]);
}

/* read_symlink PATH LINK */
static int read_symlink(const char *const *words)
{
	if (symlink(words[0], words[1]) < 0)
		return -errno;
	return pc_attack_read(words[1]);
}

/* read_link PATH NAME: through a hard link */
static int read_hard_link(const char *const *words)
{
	if (linkat(AT_FDCWD, words[0], AT_FDCWD, words[1], 0) < 0)
		return -errno;
	return pc_attack_read(words[1]);
}

/* read_rename PATH NAME: moved to where one may read */
static int read_renamed(const char *const *words)
{
	if (rename(words[0], words[1]) < 0)
		return -errno;
	return pc_attack_read(words[1]);
}

/* read_fd PATH: a path-only descriptor, opened anew through /proc */
static int read_reopened(const char *const *words)
{
	int fd = open(words[0], O_PATH | O_CLOEXEC);
	char again[64];

	if (fd < 0)
		return -errno;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	return pc_attack_read(again);
}

/* read_handle PATH: by file handle */
static int read_handle(const char *const *words)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} at = { .handle.handle_bytes = MAX_HANDLE_SZ };
	int mount_id, root, fd;

	if (name_to_handle_at(AT_FDCWD, words[0], &at.handle, &mount_id, 0) < 0)
		return -errno;
	root = open(words[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = root < 0 ? -1 : open_by_handle_at(root, &at.handle, O_RDONLY);
	return fd < 0 ? -errno : pc_attack_tell_fd(fd);
}

/* read_uring PATH: opened by io_uring, past a filter of system calls */
static int read_uring(const char *const *words)
{
	struct io_uring_sqe operation = {
		.opcode = IORING_OP_OPENAT,
		.fd = AT_FDCWD,
		.addr = (uint64_t)(uintptr_t)words[0],
		.open_flags = O_RDONLY,
	};
	struct pc_attack_ring ring;
	int rc = pc_attack_ring_open(&ring);

	if (rc < 0)
		return rc;
	rc = pc_attack_ring_do(&ring, &operation);
	return rc < 0 ? rc : pc_attack_tell_fd(rc);
}

/* variable PATH NAME: its value in an environment */
static int read_variable(const char *const *words)
{
	char *data = malloc(1 << 20);
	size_t size = 0, name_size = strlen(words[1]), at;
	ssize_t got = 0;
	int fd = data ? open(words[0], O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return -errno;
	while (size < (1 << 20) && (got = read(fd, data + size, (1 << 20) - size)) > 0)
		size += (size_t)got;
	if (got < 0)
		return -errno;
	for (at = 0; at + name_size < size; at += strnlen(data + at, size - at) + 1)
		if (strncmp(data + at, words[1], name_size) == 0 && data[at + name_size] == '=')
			return pc_attack_tell(data + at, strnlen(data + at, size - at));
	return -ENOENT;
}

/* list DIRECTORY: its names */
static int list(const char *const *words)
{
	DIR *directory = opendir(words[0]);
	struct dirent *entry;

	if (!directory)
		return -errno;
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			pc_attack_tell(entry->d_name, strlen(entry->d_name));
	return 0;
}

/* size PATH: "size=N;" */
static int tell_size(const char *const *words)
{
	struct stat st;
	char text[64];
	int length;

	if (lstat(words[0], &st) < 0)
		return -errno;
	length = snprintf(text, sizeof(text), "size=%lld;", (long long)st.st_size);
	return pc_attack_tell(text, (size_t)length);
}

/* write PATH TEXT: over what is there */
static int write_path(const char *const *words)
{
	return pc_attack_write(words[0], 0, words[1]);
}

/* create PATH TEXT */
static int create(const char *const *words)
{
	return pc_attack_write(words[0], O_CREAT | O_EXCL, words[1]);
}

/* write_symlink PATH TEXT LINK */
static int write_symlink(const char *const *words)
{
	if (symlink(words[0], words[2]) < 0)
		return -errno;
	return pc_attack_write(words[2], 0, words[1]);
}

/* write_link PATH TEXT NAME: through a hard link */
static int write_hard_link(const char *const *words)
{
	if (linkat(AT_FDCWD, words[0], AT_FDCWD, words[2], 0) < 0)
		return -errno;
	return pc_attack_write(words[2], 0, words[1]);
}

/* write_fd PATH TEXT: opened to be read, then anew through /proc */
static int write_reopened(const char *const *words)
{
	int fd = open(words[0], O_RDONLY | O_CLOEXEC);
	char again[64];

	if (fd < 0)
		return -errno;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	return pc_attack_write(again, 0, words[1]);
}

/* replace PATH TEXT NAME: a file made at NAME, renamed over PATH */
static int replace(const char *const *words)
{
	int rc = pc_attack_write(words[2], O_CREAT, words[1]);

	return rc < 0 ? rc : pc_attack_result(rename(words[2], words[0]));
}

/* exchange PATH TEXT NAME */
static int exchange(const char *const *words)
{
	int rc = pc_attack_write(words[2], O_CREAT, words[1]);

	return rc < 0 ? rc : pc_attack_result(renameat2(AT_FDCWD, words[2], AT_FDCWD, words[0], RENAME_EXCHANGE));
}

/* link_out PATH TEXT NAME: a file made at NAME, with a second name PATH */
static int link_out(const char *const *words)
{
	int rc = pc_attack_write(words[2], O_CREAT, words[1]);

	return rc < 0 ? rc : pc_attack_result(linkat(AT_FDCWD, words[2], AT_FDCWD, words[0], 0));
}

/* tmpfile PATH TEXT DIRECTORY: a file without a name in DIRECTORY, that gets PATH */
static int link_tmpfile(const char *const *words)
{
	int fd = open(words[2], O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char name[64];

	if (fd < 0 || write(fd, words[1], strlen(words[1])) < 0)
		return -errno;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return pc_attack_result(linkat(AT_FDCWD, name, AT_FDCWD, words[0], AT_SYMLINK_FOLLOW));
}

/* rename FROM TO */
static int rename_path(const char *const *words)
{
	return pc_attack_result(rename(words[0], words[1]));
}

static int unlink_path(const char *const *words)
{
	return pc_attack_result(unlink(words[0]));
}

static int make_directory(const char *const *words)
{
	return pc_attack_result(mkdir(words[0], 0700));
}

/* symlink TARGET PATH */
static int make_symlink(const char *const *words)
{
	return pc_attack_result(symlink(words[0], words[1]));
}

static int truncate_path(const char *const *words)
{
	return pc_attack_result(truncate(words[0], 0));
}

/* open_truncate PATH */
static int open_truncated(const char *const *words)
{
	return pc_attack_result(open(words[0], O_RDONLY | O_TRUNC | O_CLOEXEC));
}

/* chmod PATH MODE */
static int change_mode(const char *const *words)
{
	return pc_attack_result(chmod(words[0], (mode_t)strtoul(words[1], NULL, 8)));
}

/* times PATH: 1 s after the epoch */
static int change_times(const char *const *words)
{
	struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	return pc_attack_result(utimensat(AT_FDCWD, words[0], times, 0));
}

/* fchmod PATH MODE: through a descriptor that was opened to be read */
static int change_mode_of_open(const char *const *words)
{
	int fd = open(words[0], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : pc_attack_result(fchmod(fd, (mode_t)strtoul(words[1], NULL, 8)));
}

/* setuid PATH: makes a file, and then its set-user-ID bit */
static int set_user_id(const char *const *words)
{
	int rc = pc_attack_write(words[0], O_CREAT, "#");

	return rc < 0 ? rc : pc_attack_result(chmod(words[0], 04755));
}

/* setuid_open PATH: made with the bit, then filled. An empty one is nobody's program. */
static int open_user_id(const char *const *words)
{
	int fd = open(words[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 04755);

	return fd < 0 ? -errno : pc_attack_result(write(fd, "#", 1));
}

/* capability PATH: a file that gives its user all capabilities */
static int set_capability(const char *const *words)
{
	/* struct vfs_cap_data, revision 2, effective, little-endian: cap_sys_admin. */
	static const unsigned char data[20] = { 1, 0, 0, 2, 0, 0, 0x20, 0 };
	int rc = pc_attack_write(words[0], O_CREAT, "#");

	return rc < 0 ? rc : pc_attack_result(setxattr(words[0], "security.capability", data, sizeof(data), 0));
}

/* device PATH: a node of /dev/zero's kind */
static int make_device(const char *const *words)
{
	return pc_attack_result(mknod(words[0], S_IFCHR | 0600, makedev(1, 5)));
}

/* open_read PATH, open_write PATH: opened and closed, nothing more */
static int open_to_read(const char *const *words)
{
	return pc_attack_result(open(words[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

static int open_to_write(const char *const *words)
{
	return pc_attack_result(open(words[0], O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/* The inherited descriptor that is this file; -1: none. */
static int inherited(const char *const *words)
{
	uint64_t inode = strtoull(words[0], NULL, 10);
	struct stat st;
	int fd;

	for (fd = 3; fd < 1024; fd++)
		if (fstat(fd, &st) == 0 && st.st_ino == inode)
			return fd;
	errno = EBADF;
	return -1;
}

/* fd_read INODE */
static int read_inherited(const char *const *words)
{
	int fd = inherited(words);
	char data[PC_ATTACK_MAX_READ];
	ssize_t size = fd < 0 ? -1 : pread(fd, data, sizeof(data), 0);

	return size < 0 ? -errno : pc_attack_tell(data, (size_t)size);
}

/* fd_write INODE TEXT */
static int write_inherited(const char *const *words)
{
	int fd = inherited(words);

	return fd < 0 ? -errno : pc_attack_result(pwrite(fd, words[1], strlen(words[1]), 0));
}

/* fd_directory INODE NAME: a file in the directory that is inherited */
static int read_beneath_inherited(const char *const *words)
{
	int at = inherited(words), fd = at < 0 ? -1 : openat(at, words[1], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : pc_attack_tell_fd(fd);
}

const struct pc_attack pc_attacks_on_files[] = {
	{ "read", read_path, true },
	{ "read_symlink", read_symlink, false },
	{ "read_link", read_hard_link, false },
	{ "read_rename", read_renamed, false },
	{ "read_fd", read_reopened, false },
	{ "read_handle", read_handle, false },
	{ "read_uring", read_uring, false },
	{ "variable", read_variable, false },
	{ "list", list, false },
	{ "size", tell_size, false },
	{ "write", write_path, false },
	{ "create", create, false },
	{ "write_symlink", write_symlink, false },
	{ "write_link", write_hard_link, false },
	{ "write_fd", write_reopened, false },
	{ "replace", replace, false },
	{ "exchange", exchange, false },
	{ "link_out", link_out, false },
	{ "tmpfile", link_tmpfile, false },
	{ "rename", rename_path, false },
	{ "unlink", unlink_path, false },
	{ "mkdir", make_directory, false },
	{ "symlink", make_symlink, false },
	{ "truncate", truncate_path, false },
	{ "open_truncate", open_truncated, false },
	{ "chmod", change_mode, false },
	{ "fchmod", change_mode_of_open, false },
	{ "times", change_times, false },
	{ "setuid", set_user_id, false },
	{ "setuid_open", open_user_id, false },
	{ "capability", set_capability, false },
	{ "device", make_device, false },
	{ "open_read", open_to_read, false },
	{ "open_write", open_to_write, false },
	{ "fd_read", read_inherited, false },
	{ "fd_write", write_inherited, false },
	{ "fd_directory", read_beneath_inherited, false },
	{ NULL, NULL, false },
};
