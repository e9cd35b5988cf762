/*
 * Landlock as the parent sees it: tables, the ABI, new rulesets. What the child may call is in landlock_child.c.
 */
#include "../platform.h"

#include <errno.h>
#include <stdatomic.h>

#include "sys.h"
#include "uapi.h"

#define NEWEST_ABI 11

static const struct pc_landlock_bit fs_bits[] = {
	{ "EXECUTE", LANDLOCK_ACCESS_FS_EXECUTE, 1, "5.13" },
	{ "WRITE_FILE", LANDLOCK_ACCESS_FS_WRITE_FILE, 1, "5.13" },
	{ "READ_FILE", LANDLOCK_ACCESS_FS_READ_FILE, 1, "5.13" },
	{ "READ_DIR", LANDLOCK_ACCESS_FS_READ_DIR, 1, "5.13" },
	{ "REMOVE_DIR", LANDLOCK_ACCESS_FS_REMOVE_DIR, 1, "5.13" },
	{ "REMOVE_FILE", LANDLOCK_ACCESS_FS_REMOVE_FILE, 1, "5.13" },
	{ "MAKE_CHAR", LANDLOCK_ACCESS_FS_MAKE_CHAR, 1, "5.13" },
	{ "MAKE_DIR", LANDLOCK_ACCESS_FS_MAKE_DIR, 1, "5.13" },
	{ "MAKE_REG", LANDLOCK_ACCESS_FS_MAKE_REG, 1, "5.13" },
	{ "MAKE_SOCK", LANDLOCK_ACCESS_FS_MAKE_SOCK, 1, "5.13" },
	{ "MAKE_FIFO", LANDLOCK_ACCESS_FS_MAKE_FIFO, 1, "5.13" },
	{ "MAKE_BLOCK", LANDLOCK_ACCESS_FS_MAKE_BLOCK, 1, "5.13" },
	{ "MAKE_SYM", LANDLOCK_ACCESS_FS_MAKE_SYM, 1, "5.13" },
	{ "REFER", LANDLOCK_ACCESS_FS_REFER, 2, "5.19" },
	{ "TRUNCATE", LANDLOCK_ACCESS_FS_TRUNCATE, 3, "6.2" },
	{ "IOCTL_DEV", LANDLOCK_ACCESS_FS_IOCTL_DEV, 5, "6.10" },
	{ "RESOLVE_UNIX", LANDLOCK_ACCESS_FS_RESOLVE_UNIX, 9, "7.1" },
	{ NULL, 0, 0, NULL },
};

static const struct pc_landlock_bit net_bits[] = {
	{ "BIND_TCP", LANDLOCK_ACCESS_NET_BIND_TCP, 4, "6.7" },
	{ "CONNECT_TCP", LANDLOCK_ACCESS_NET_CONNECT_TCP, 4, "6.7" },
	{ "BIND_UDP", LANDLOCK_ACCESS_NET_BIND_UDP, 10, "7.2" },
	{ "CONNECT_SEND_UDP", LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP, 10, "7.2" },
	{ NULL, 0, 0, NULL },
};

static const struct pc_landlock_bit scope_bits[] = {
	{ "ABSTRACT_UNIX_SOCKET", LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, 6, "6.12" },
	{ "SIGNAL", LANDLOCK_SCOPE_SIGNAL, 6, "6.12" },
	{ NULL, 0, 0, NULL },
};

static const struct pc_landlock_bit restrict_bits[] = {
	{ "LOG_SAME_EXEC_OFF", LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF, 7, "6.15" },
	{ "LOG_NEW_EXEC_ON", LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON, 7, "6.15" },
	{ "LOG_SUBDOMAINS_OFF", LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF, 7, "6.15" },
	{ "TSYNC", LANDLOCK_RESTRICT_SELF_TSYNC, 8, "7.0" },
	{ "NO_NEW_PRIVS", LANDLOCK_RESTRICT_SELF_NO_NEW_PRIVS, 11, "7.3" },
	{ NULL, 0, 0, NULL },
};

static const struct pc_landlock_bit add_rule_bits[] = {
	{ "QUIET", LANDLOCK_ADD_RULE_QUIET, 10, "7.2" },
	{ NULL, 0, 0, NULL },
};

const struct pc_landlock_bit *pc_landlock_bits(enum pc_landlock_table table)
{
	static const struct pc_landlock_bit none = { NULL, 0, 0, NULL };

	switch (table) {
	case PC_LANDLOCK_FS:
		return fs_bits;
	case PC_LANDLOCK_NET:
		return net_bits;
	case PC_LANDLOCK_SCOPE:
		return scope_bits;
	case PC_LANDLOCK_RESTRICT:
		return restrict_bits;
	case PC_LANDLOCK_ADD_RULE:
		return add_rule_bits;
	}
	return &none;
}

uint64_t pc_landlock_mask(enum pc_landlock_table table, int abi)
{
	uint64_t mask = 0;

	for (const struct pc_landlock_bit *row = pc_landlock_bits(table); row->name; row++)
		if (row->abi <= abi)
			mask |= row->bit;
	return mask;
}

uint64_t pc_landlock_file_mask(void)
{
	return PC_LANDLOCK_FS_FILE;
}

/* Set by tests, read by any thread. */
static atomic_int abi_cap = -1;

void pc_landlock_cap_abi(int abi)
{
	atomic_store(&abi_cap, abi < 0 ? -1 : abi);
}

int pc_landlock_abi(void)
{
	int cap = atomic_load(&abi_cap);
	int abi;

	if (cap == 0)
		return -EOPNOTSUPP;
	abi = (int)pc_sys3(__NR_landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 0)
		return abi;
	/* No kernel counts from zero; a caller must not take such an answer for "everything is handled". */
	if (abi == 0)
		return -EOPNOTSUPP;
	if (cap > 0 && abi > cap)
		return cap;
	return abi > NEWEST_ABI ? NEWEST_ABI : abi;
}

int pc_landlock_errata(uint32_t *errata)
{
	long rc;
	int abi;

	abi = pc_landlock_abi();
	if (abi < 0)
		return abi;
	rc = pc_sys3(__NR_landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_RULESET_ERRATA);

	/* The flag was carried back to stable kernels of a lower ABI, so only the kernel knows whether it has it. */
	if (rc == -EINVAL)
		rc = 0;
	if (rc < 0)
		return (int)rc;
	*errata = (uint32_t)rc;
	return 0;
}

int pc_landlock_create(const struct pc_landlock_handled *want, struct pc_landlock_handled *clipped)
{
	struct pc_landlock_ruleset_attr attr = { 0 };
	struct pc_landlock_handled left;
	int abi, fd;

	abi = pc_landlock_abi();
	if (abi < 0)
		return abi;

	attr.handled_access_fs = want->fs & pc_landlock_mask(PC_LANDLOCK_FS, abi);
	attr.handled_access_net = want->net & pc_landlock_mask(PC_LANDLOCK_NET, abi);
	attr.scoped = want->scoped & pc_landlock_mask(PC_LANDLOCK_SCOPE, abi);
	if (!attr.handled_access_fs && !attr.handled_access_net && !attr.scoped)
		return -ENOMSG;

	/* The whole structure: a kernel that knows a shorter one accepts the rest as long as it is zero. */
	fd = (int)pc_sys3(__NR_landlock_create_ruleset, pc_ptr(&attr), sizeof(attr), 0);
	if (fd < 0)
		return fd;

	left.fs = want->fs & ~attr.handled_access_fs;
	left.net = want->net & ~attr.handled_access_net;
	left.scoped = want->scoped & ~attr.scoped;
	*clipped = left;
	return fd;
}
