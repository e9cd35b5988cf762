/* Mounts: the whole tree made read-only, places put back, new file systems. Raw calls only; the namespace is the child's own. */
#include "../platform.h"
#include "sys.h"

#include <asm/fcntl.h>
#include <asm/statfs.h>
#include <linux/mount.h>
#include <linux/openat2.h>

#define AT_CWD		 (-100)
#define AT_RECURSIVE_BIT 0x8000
#define E_NOSYS		 38
#define E_STALE		 116

/* asm-generic/fcntl.h hides O_PATH behind nothing, but older headers lack it. */
#ifndef O_PATH
#define O_PATH 010000000
#endif

int pc_mount_private(void)
{
	return (int)pc_sys5(__NR_mount, pc_ptr("none"), pc_ptr("/"), 0, MS_REC | MS_PRIVATE, 0);
}

int pc_open_resolved(const char *path)
{
	struct open_how how = {
		/* No O_NOFOLLOW: with O_PATH it would open the last link itself instead of refusing it. */
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	fd = pc_sys_openat2(AT_CWD, path, &how, sizeof(how));
	if (fd == -E_NOSYS)
		return pc_sys_openat(AT_CWD, path, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0);
	return fd;
}

int pc_tree_clone(const char *path)
{
	long rc;
	int fd;

	fd = pc_open_resolved(path);
	if (fd < 0)
		return fd;
	/* Recursive: a tree with locked mounts inside can only be copied whole (EINVAL otherwise). */
	rc = pc_sys3(__NR_open_tree, fd, pc_ptr(""), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE_BIT | PC_AT_EMPTY_PATH);
	pc_sys_close(fd);
	return (int)rc;
}

int pc_tree_set(int fd, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes };

	return (int)pc_sys5(__NR_mount_setattr, fd, pc_ptr(""), AT_RECURSIVE_BIT | PC_AT_EMPTY_PATH, pc_ptr(&attr),
			    sizeof(attr));
}

int pc_tree_attach(int fd, const char *path)
{
	long rc;
	int at;

	at = pc_open_resolved(path);
	if (at < 0)
		return at;
	rc = pc_sys5(__NR_move_mount, fd, pc_ptr(""), at, pc_ptr(""), MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	pc_sys_close(at);
	return (int)rc;
}

/* The one place where a link is opened as itself. */
static int open_link(const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	struct pc_statx st;
	int fd, rc;

	fd = pc_sys_openat2(AT_CWD, path, &how, sizeof(how));
	if (fd == -E_NOSYS)
		fd = pc_sys_openat(AT_CWD, path, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	rc = pc_sys_statx(fd, "", PC_AT_EMPTY_PATH, PC_STATX_TYPE, &st);
	if (rc == 0 && (st.mode & PC_S_IFMT) != PC_S_IFLNK)
		rc = -E_STALE;
	if (rc < 0) {
		pc_sys_close(fd);
		return rc;
	}
	return fd;
}

int pc_mount_pin_link(const char *path)
{
	long tree, rc;
	int link;

	link = open_link(path);
	if (link < 0)
		return link;
	tree = pc_sys3(__NR_open_tree, link, pc_ptr(""), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | PC_AT_EMPTY_PATH);
	if (tree < 0) {
		pc_sys_close(link);
		return (int)tree;
	}
	rc = pc_sys5(__NR_move_mount, tree, pc_ptr(""), link, pc_ptr(""), MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	pc_sys_close((int)tree);
	pc_sys_close(link);
	return (int)rc;
}

int pc_mount_set(const char *path, uint64_t attributes, bool recursive)
{
	struct mount_attr attr = { .attr_set = attributes };

	return (int)pc_sys5(__NR_mount_setattr, AT_CWD, pc_ptr(path), recursive ? AT_RECURSIVE_BIT : 0, pc_ptr(&attr),
			    sizeof(attr));
}

/* statfs(2) and mount(2) number the same flags alike, but for relatime. */
int pc_mount_remount_read_only(const char *path)
{
	enum { ST_NOEXEC = 8, ST_NOATIME = 1024, ST_NODIRATIME = 2048, ST_RELATIME = 4096 };
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV;
	struct statfs st;
	long rc;

	rc = pc_sys2(__NR_statfs, pc_ptr(path), pc_ptr(&st));
	if (rc < 0)
		return (int)rc;
	flags |= (unsigned long)st.f_flags & (ST_NOEXEC | ST_NOATIME | ST_NODIRATIME);
	if ((unsigned long)st.f_flags & ST_RELATIME)
		flags |= MS_RELATIME;
	return (int)pc_sys5(__NR_mount, pc_ptr("none"), pc_ptr(path), 0, (long)flags, 0);
}

static int mount_new(const char *type, const char *path, unsigned long flags, const char *options)
{
	return (int)pc_sys5(__NR_mount, pc_ptr(type), pc_ptr(path), pc_ptr(type), (long)flags, pc_ptr(options));
}

int pc_mount_tmpfs(const char *path, const char *options)
{
	return mount_new("tmpfs", path, MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
}

int pc_mount_proc(const char *path)
{
	return mount_new("proc", path, MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL);
}

int pc_mount_devpts(const char *path)
{
	/* newinstance is implied since Linux 4.7; a mode of 0666 on ptmx is what an ordinary /dev has. */
	return mount_new("devpts", path, MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620");
}
