/*
 * Mounts made whole, for a caller that is no child before exec: a bind, a mask. The steps are mount_child.c's.
 *
 * Masks use the new mount API (Linux 5.2): the file system is made detached and moved onto an object that is held already, so
 * no name is resolved twice.
 */
#include "../platform.h"
#include "cleanup.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#ifndef MNT_DETACH
#define MNT_DETACH	2
#define UMOUNT_NOFOLLOW 8
#endif

#define MASK_ATTRIBUTES (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

int pc_mount_read_only(const char *path, bool recursive)
{
	int rc = pc_mount_set(path, MOUNT_ATTR_RDONLY, recursive);

	return rc == -ENOSYS && !recursive ? pc_mount_remount_read_only(path) : rc;
}

int pc_mount_bind(const char *from, const char *to, bool read_only)
{
	cleanup_fd int fd = -1;
	int rc, set = 0;

	fd = pc_tree_clone(from);
	if (fd < 0)
		return fd;
	if (read_only)
		set = pc_tree_set(fd, MOUNT_ATTR_RDONLY);
	if (set < 0 && set != -ENOSYS)
		return set;
	rc = pc_tree_attach(fd, to);
	if (rc < 0 || !set)
		return rc;
	rc = pc_mount_remount_read_only(to);
	/* Writable where read-only was asked for is worse than not there. */
	if (rc < 0)
		pc_sys2(__NR_umount2, pc_ptr(to), MNT_DETACH | UMOUNT_NOFOLLOW);
	return rc;
}

/* ---- masks -------------------------------------------------------------------------------------------------------------- */

/* The object at `path`, which must be a directory, or must be none. */
static int open_target(const char *path, bool want_directory)
{
	cleanup_fd int fd = -1;
	struct pc_statx st;
	int rc;

	fd = pc_open_resolved(path);
	if (fd < 0)
		return fd;
	rc = pc_sys_statx(fd, "", PC_AT_EMPTY_PATH, PC_STATX_TYPE, &st);
	if (rc < 0)
		return rc;
	/* O_PATH holds the link itself when the last name is one. */
	if ((st.mode & PC_S_IFMT) == PC_S_IFLNK)
		return -ELOOP;
	if (((st.mode & PC_S_IFMT) == PC_S_IFDIR) != want_directory)
		return want_directory ? -ENOTDIR : -EISDIR;
	return pc_take_fd(&fd);
}

static int configure(int context, unsigned int command, const char *key, const char *value)
{
	return (int)pc_sys5(__NR_fsconfig, context, command, pc_ptr(key), pc_ptr(value), 0);
}

/* A tmpfs that is mounted nowhere yet. */
static int make_tmpfs(const char *mode, unsigned int attributes)
{
	cleanup_fd int context = -1;
	int rc;

	context = (int)pc_sys2(__NR_fsopen, pc_ptr("tmpfs"), FSOPEN_CLOEXEC);
	if (context < 0)
		return context;
	rc = configure(context, FSCONFIG_SET_STRING, "mode", mode);
	if (rc == 0)
		rc = configure(context, FSCONFIG_SET_STRING, "size", "4k");
	if (rc == 0)
		rc = configure(context, FSCONFIG_CMD_CREATE, NULL, NULL);
	if (rc < 0)
		return rc;
	return (int)pc_sys3(__NR_fsmount, context, FSMOUNT_CLOEXEC, attributes);
}

static int move_onto(int tree, int target)
{
	return (int)pc_sys5(__NR_move_mount, tree, pc_ptr(""), target, pc_ptr(""),
			    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int pc_mask_directory(const char *path)
{
	cleanup_fd int target = -1, tree = -1;

	target = open_target(path, true);
	if (target < 0)
		return target;
	tree = make_tmpfs("0555", MASK_ATTRIBUTES);
	if (tree < 0)
		return tree;
	return move_onto(tree, target);
}

/* Where a tmpfs may stand for a moment. One that hides / would not be reached by its own path. */
static int parent_of(const char *path, char *parent, size_t size)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (length >= size)
		return -ENAMETOOLONG;
	if (length == 0) {
		snprintf(parent, size, "/proc");
		return 0;
	}
	memcpy(parent, path, length);
	parent[length] = '\0';
	return 0;
}

/* An empty file of mode 0 as a detached mount. A detached tree cannot be copied from before Linux 6.15: so it is attached. */
static int make_empty_file(const char *scratch)
{
	cleanup_fd int tree = -1, target = -1, file = -1, copy = -1;
	int rc;

	target = open_target(scratch, true);
	if (target < 0)
		return target;
	tree = make_tmpfs("0700", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (tree < 0)
		return tree;
	file = pc_sys_openat(tree, "empty", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (file < 0)
		return file;
	rc = move_onto(tree, target);
	if (rc < 0)
		return rc;
	copy = (int)pc_sys3(__NR_open_tree, tree, pc_ptr("empty"), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	rc = (int)pc_sys2(__NR_umount2, pc_ptr(scratch), MNT_DETACH | UMOUNT_NOFOLLOW);
	if (copy < 0 || rc < 0)
		return copy < 0 ? copy : rc;
	return pc_take_fd(&copy);
}

int pc_mask_file(const char *path)
{
	cleanup_fd int target = -1, tree = -1;
	char scratch[PATH_MAX];
	int rc, set;

	target = open_target(path, false);
	if (target < 0)
		return target;
	rc = parent_of(path, scratch, sizeof(scratch));
	if (rc < 0)
		return rc;
	tree = make_empty_file(scratch);
	if (tree < 0)
		return tree;
	/* Mode 0 keeps out all but its owner, who could change it. */
	set = pc_tree_set(tree, MASK_ATTRIBUTES);
	if (set < 0 && set != -ENOSYS)
		return set;
	rc = move_onto(tree, target);
	return rc == 0 && set < 0 ? pc_mount_remount_read_only(path) : rc;
}

/* ---- limits ------------------------------------------------------------------------------------------------------------- */

const struct pc_rlimit_name *pc_rlimit_names(void)
{
	static const struct pc_rlimit_name names[] = {
		{ "as", RLIMIT_AS },
		{ "core", RLIMIT_CORE },
		{ "cpu", RLIMIT_CPU },
		{ "data", RLIMIT_DATA },
		{ "fsize", RLIMIT_FSIZE },
		{ "locks", RLIMIT_LOCKS },
		{ "memlock", RLIMIT_MEMLOCK },
		{ "msgqueue", RLIMIT_MSGQUEUE },
		{ "nice", RLIMIT_NICE },
		{ "nofile", RLIMIT_NOFILE },
		{ "nproc", RLIMIT_NPROC },
		{ "rss", RLIMIT_RSS },
		{ "rtprio", RLIMIT_RTPRIO },
		{ "rttime", RLIMIT_RTTIME },
		{ "sigpending", RLIMIT_SIGPENDING },
		{ "stack", RLIMIT_STACK },
		{ NULL, 0 },
	};

	return names;
}
