/* Attacks by namespaces and mounts. They mount in namespaces of their own alone: doctor's control leaves nothing behind. */
#include "attack.h"

#include "../uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __NR_open_tree
#define __NR_open_tree 428
#endif
#define PC_OPEN_TREE_CLONE 1
#define PC_AT_RECURSIVE	   0x8000

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		fd = -1;
	if (fd >= 0)
		close(fd);
}

static void map_ids(uid_t uid, gid_t gid)
{
	char map[64];

	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
	write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
	write_text("/proc/self/gid_map", map);
}

int pc_attack_unshare(unsigned long flags)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (unshare((int)(flags | CLONE_NEWUSER)) < 0)
		return -errno;
	map_ids(uid, gid);
	return 0;
}

/* A mount namespace of one's own, from which nothing comes back. */
static int own_mounts(void)
{
	int rc = pc_attack_unshare(CLONE_NEWNS);

	if (rc == 0)
		rc = pc_attack_result(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	return rc;
}

/* unmask COVER PATH: takes away what lies over COVER, then reads */
static int unmask(const char *const *words)
{
	int rc = own_mounts();

	if (rc < 0)
		return rc;
	umount2(words[0], MNT_DETACH);
	umount2(words[1], MNT_DETACH);
	return pc_attack_read(words[1]);
}

/* unmask_direct COVER PATH: the same without a namespace of its own */
static int unmask_direct(const char *const *words)
{
	umount2(words[0], MNT_DETACH);
	umount2(words[1], MNT_DETACH);
	return pc_attack_read(words[1]);
}

static int bind_and_write(const char *const *words)
{
	char path[4096];

	if (mount(words[0], words[1], NULL, MS_BIND, NULL) < 0)
		return -errno;
	mount(NULL, words[1], NULL, MS_BIND | MS_REMOUNT, NULL);
	snprintf(path, sizeof(path), "%s/%s", words[1], words[2]);
	return pc_attack_write(path, O_CREAT, words[3]);
}

/* bind DIRECTORY PLACE NAME TEXT: DIRECTORY seen at PLACE, and a file written there */
static int bind_mount(const char *const *words)
{
	int rc = own_mounts();

	return rc < 0 ? rc : bind_and_write(words);
}

/* clone DIRECTORY PLACE NAME TEXT: with namespaces that clone(2) makes, not unshare(2) */
static int clone_namespaces(const char *const *words)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	long pid = syscall(SYS_clone, (long)(CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD), 0, 0, 0, 0);
	int status = 0;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		map_ids(uid, gid);
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
		_exit(-bind_and_write(words));
	}
	if (waitpid((pid_t)pid, &status, 0) < 0)
		return -errno;
	return -WEXITSTATUS(status);
}

/* remount PATH TEXT: the tree made writable again, then written */
static int remount(const char *const *words)
{
	int rc = own_mounts();

	if (rc < 0)
		return rc;
	mount(NULL, "/", NULL, MS_BIND | MS_REMOUNT, NULL);
	return pc_attack_write(words[0], 0, words[1]);
}

/* open_tree DIRECTORY NAME: read in a detached copy of the mounts */
static int copy_tree(const char *const *words)
{
	int rc = own_mounts(), tree, fd;

	if (rc < 0)
		return rc;
	tree = (int)syscall(__NR_open_tree, AT_FDCWD, words[0], PC_OPEN_TREE_CLONE | O_CLOEXEC);
	if (tree < 0)
		return -errno;
	fd = openat(tree, words[1], O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : pc_attack_tell_fd(fd);
}

/* setns NAMESPACE PATH: enters another process's mounts, then reads */
static int enter(const char *const *words)
{
	int fd = open(words[0], O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNS) < 0)
		return -errno;
	return pc_attack_read(words[1]);
}

/* chroot DIRECTORY PATH: another root, then reads */
static int change_root(const char *const *words)
{
	if (chroot(words[0]) < 0)
		return -errno;
	return pc_attack_read(words[1]);
}

const struct pc_attack pc_attacks_on_mounts[] = {
	{ "unmask", unmask, false },   { "unmask_direct", unmask_direct, false },
	{ "bind", bind_mount, false }, { "clone", clone_namespaces, false },
	{ "remount", remount, false }, { "open_tree", copy_tree, false },
	{ "setns", enter, false },     { "chroot", change_root, false },
	{ NULL, NULL, false },
};
