/*
 * Landlock calls for the child between clone and exec, and for the init program: sys.h only. See platform.h for the contracts.
 */
#include "../platform.h"

#include <asm/errno.h>
#include <asm/fcntl.h>
#include <linux/openat2.h>

#include "sys.h"
#include "uapi.h"

int pc_landlock_add_object(int ruleset_fd, int fd, bool is_directory, uint64_t access)
{
	struct pc_landlock_path_beneath_attr rule;

	/* The kernel answers EINVAL to a directory right on a file. */
	if (!is_directory)
		access &= PC_LANDLOCK_FS_FILE;

	rule.allowed_access = access;
	rule.parent_fd = fd;
	return (int)pc_sys4(__NR_landlock_add_rule, ruleset_fd, PC_LANDLOCK_RULE_PATH_BENEATH, pc_ptr(&rule), 0);
}

int pc_landlock_add_fd(int ruleset_fd, int fd, uint64_t access)
{
	struct pc_statx st;
	int rc;

	st.mode = 0;
	rc = pc_sys_statx(fd, "", PC_AT_EMPTY_PATH, PC_STATX_TYPE, &st);
	if (rc < 0)
		return rc;
	return pc_landlock_add_object(ruleset_fd, fd, (st.mode & PC_S_IFMT) == PC_S_IFDIR, access);
}

static int open_path(const char *path, bool nofollow)
{
	const int flags = O_PATH | O_CLOEXEC;
	struct open_how how;
	int fd;

	if (!nofollow)
		return pc_sys_openat(-1, path, flags, 0);

	how.flags = (uint64_t)flags;
	how.mode = 0;
	how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
	fd = pc_sys_openat2(-1, path, &how, sizeof(how));
	if (fd != -ENOSYS)
		return fd;

	/*
	 * openat2 came before Landlock (5.6, 5.13), so only a filter above us hides it. What is left covers the last component;
	 * with O_PATH the kernel opens the link itself instead of answering ELOOP.
	 */
	fd = pc_sys_openat(-1, path, flags | O_NOFOLLOW, 0);
	if (fd >= 0) {
		struct pc_statx st;
		int rc;

		st.mode = 0;
		rc = pc_sys_statx(fd, "", PC_AT_EMPTY_PATH, PC_STATX_TYPE, &st);
		if (rc == 0 && (st.mode & PC_S_IFMT) == PC_S_IFLNK)
			rc = -ELOOP;
		if (rc < 0) {
			pc_sys_close(fd);
			return rc;
		}
	}
	return fd;
}

int pc_landlock_add_path(int ruleset_fd, const char *path, uint64_t access, bool nofollow)
{
	int fd, rc;

	/* A relative path would be resolved against a directory nobody chose; -1 as the base makes it EBADF for sure. */
	fd = open_path(path, nofollow);
	if (fd < 0)
		return fd;
	rc = pc_landlock_add_fd(ruleset_fd, fd, access);
	pc_sys_close(fd);
	return rc;
}

int pc_landlock_add_port(int ruleset_fd, uint16_t port, uint64_t access)
{
	struct pc_landlock_net_port_attr rule;

	rule.allowed_access = access;
	rule.port = port;
	return (int)pc_sys4(__NR_landlock_add_rule, ruleset_fd, PC_LANDLOCK_RULE_NET_PORT, pc_ptr(&rule), 0);
}

int pc_landlock_restrict(int ruleset_fd, uint32_t flags)
{
	return (int)pc_sys2(__NR_landlock_restrict_self, ruleset_fd, (long)flags);
}

int pc_landlock_count_child(void *arg)
{
	struct pc_landlock_count *count = arg;

	/* Source: landlock_restrict_self(2), E2BIG: 16 domains at most. */
	pc_no_new_privs();
	while (count->left < 64 && pc_landlock_restrict(count->ruleset_fd, 0) == 0)
		count->left++;
	return 0;
}
