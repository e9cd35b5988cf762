/*
 * What the kernel offers and Debian 12's headers (Linux 6.1, Landlock ABI 2) lack.
 *
 * Constants keep the kernel's names and its exact text, so that including <linux/landlock.h> or <linux/seccomp.h> as well is
 * no redefinition. Structures that grew keep a name of ours, since the header's shorter one has the kernel's.
 */
#ifndef PROCAGE_LINUX_UAPI_H
#define PROCAGE_LINUX_UAPI_H

#include <stdint.h>

#include <asm/unistd.h>

/* ---- Landlock, ABI 1 to 11 (Linux 5.13 to 7.3) ------------------------------------------------------------------------ */

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule	     445
#define __NR_landlock_restrict_self  446
#endif

/* Flags of landlock_create_ruleset(2). */
#define LANDLOCK_CREATE_RULESET_VERSION (1U << 0)
#define LANDLOCK_CREATE_RULESET_ERRATA	(1U << 1) /* ABI 7 */

/* Flags of landlock_add_rule(2). */
#define LANDLOCK_ADD_RULE_QUIET (1U << 0) /* ABI 10 */

/* Flags of landlock_restrict_self(2). */
#define LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF  (1U << 0) /* ABI 7 */
#define LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON	  (1U << 1)
#define LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF (1U << 2)
#define LANDLOCK_RESTRICT_SELF_TSYNC		  (1U << 3) /* ABI 8 */
#define LANDLOCK_RESTRICT_SELF_NO_NEW_PRIVS	  (1U << 4) /* ABI 11 */

/* Rule types: an enum in the kernel's header, so these have names of ours. */
#define PC_LANDLOCK_RULE_PATH_BENEATH 1
#define PC_LANDLOCK_RULE_NET_PORT     2 /* ABI 4 */

#define LANDLOCK_ACCESS_FS_EXECUTE	(1ULL << 0)
#define LANDLOCK_ACCESS_FS_WRITE_FILE	(1ULL << 1)
#define LANDLOCK_ACCESS_FS_READ_FILE	(1ULL << 2)
#define LANDLOCK_ACCESS_FS_READ_DIR	(1ULL << 3)
#define LANDLOCK_ACCESS_FS_REMOVE_DIR	(1ULL << 4)
#define LANDLOCK_ACCESS_FS_REMOVE_FILE	(1ULL << 5)
#define LANDLOCK_ACCESS_FS_MAKE_CHAR	(1ULL << 6)
#define LANDLOCK_ACCESS_FS_MAKE_DIR	(1ULL << 7)
#define LANDLOCK_ACCESS_FS_MAKE_REG	(1ULL << 8)
#define LANDLOCK_ACCESS_FS_MAKE_SOCK	(1ULL << 9)
#define LANDLOCK_ACCESS_FS_MAKE_FIFO	(1ULL << 10)
#define LANDLOCK_ACCESS_FS_MAKE_BLOCK	(1ULL << 11)
#define LANDLOCK_ACCESS_FS_MAKE_SYM	(1ULL << 12)
#define LANDLOCK_ACCESS_FS_REFER	(1ULL << 13) /* ABI 2 */
#define LANDLOCK_ACCESS_FS_TRUNCATE	(1ULL << 14) /* ABI 3 */
#define LANDLOCK_ACCESS_FS_IOCTL_DEV	(1ULL << 15) /* ABI 5 */
#define LANDLOCK_ACCESS_FS_RESOLVE_UNIX (1ULL << 16) /* ABI 9 */

#define LANDLOCK_ACCESS_NET_BIND_TCP	     (1ULL << 0) /* ABI 4 */
#define LANDLOCK_ACCESS_NET_CONNECT_TCP	     (1ULL << 1)
#define LANDLOCK_ACCESS_NET_BIND_UDP	     (1ULL << 2) /* ABI 10 */
#define LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP (1ULL << 3)

#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0) /* ABI 6 */
#define LANDLOCK_SCOPE_SIGNAL		    (1ULL << 1)

/* The rights that apply to an object that is no directory; every other one on a file is EINVAL. */
#define PC_LANDLOCK_FS_FILE                                                                          \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | \
	 LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_IOCTL_DEV | LANDLOCK_ACCESS_FS_RESOLVE_UNIX)

/* struct landlock_ruleset_attr of ABI 10. A kernel that knows less accepts the length as long as the rest is zero. */
struct pc_landlock_ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
	uint64_t quiet_access_fs;
	uint64_t quiet_access_net;
	uint64_t quiet_scoped;
};

struct pc_landlock_path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

struct pc_landlock_net_port_attr {
	uint64_t allowed_access;
	uint64_t port; /* host byte order */
};

_Static_assert(sizeof(struct pc_landlock_ruleset_attr) == 48, "ABI 10");
_Static_assert(sizeof(struct pc_landlock_path_beneath_attr) == 12, "ABI 1");
_Static_assert(sizeof(struct pc_landlock_net_port_attr) == 16, "ABI 4");

/* ---- seccomp ---------------------------------------------------------------------------------------------------------- */

#define PC_SECCOMP_SET_MODE_FILTER 1
#define PC_BPF_MAXINSNS		   4096

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

/* The header's SECCOMP_IOW needs <linux/ioctl.h>, which a freestanding program has not. */
#define PC_SECCOMP_NOTIF_SET_FLAGS 0x40082104UL /* _IOW('!', 4, __u64), Linux 6.6 */

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0) /* Linux 6.6 */
#endif

/* ---- system calls newer than the headers; the same numbers on x86_64 and aarch64 --------------------------------------- */

#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442 /* Linux 5.12 */
#endif
#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd 443 /* Linux 5.14 */
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452 /* Linux 6.6 */
#endif
#ifndef __NR_statmount
#define __NR_statmount 457 /* Linux 6.8 */
#endif
#ifndef __NR_listmount
#define __NR_listmount 458 /* Linux 6.8 */
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467 /* Linux 6.15 */
#endif
#ifndef __NR_file_setattr
#define __NR_file_setattr 469 /* Linux 6.17 */
#endif

/*
 * The newest call the filter was written for. What a newer kernel adds is refused with ENOSYS, because nobody has judged it:
 * programs fall back, as they do on a kernel that lacks it.
 */
#define PC_NEWEST_CALL __NR_file_setattr

#endif
