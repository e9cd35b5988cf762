/* Decodes and checks the flat Plan. Whatever passes here, the child may walk blindly; so nothing is assumed of the bytes. */
#include "plan.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* What the arguments of an operation are. */
enum argument { NONE, PATH, TEXT, NUMBER };

struct op_kind {
	const char *name;
	enum pc_step step;
	enum argument a, b;
	uint32_t flags;
	enum { NO_SLOT, FILLS, USES, TAKES } slot;
};

static const struct op_kind kinds[PC_OPS] = {
	[PC_OP_LANDLOCK_HANDLE] = { "landlock_handle", PC_STEP_PREPARE, NUMBER, NUMBER, 0, NO_SLOT },
	[PC_OP_LANDLOCK_HIDE] = { "landlock_hide", PC_STEP_PREPARE, PATH, NONE, 0, NO_SLOT },
	[PC_OP_LANDLOCK_PATH] = { "landlock_path", PC_STEP_PREPARE, PATH, NONE, PC_OP_OPTIONAL, NO_SLOT },
	[PC_OP_LANDLOCK_PORT] = { "landlock_port", PC_STEP_PREPARE, NUMBER, NONE, 0, NO_SLOT },
	[PC_OP_SOCKET_TREE] = { "socket_tree", PC_STEP_PREPARE, PATH, NONE, 0, NO_SLOT },
	[PC_OP_SOCKET_HIDDEN] = { "socket_hidden", PC_STEP_PREPARE, PATH, NONE, 0, NO_SLOT },
	[PC_OP_LOOPBACK] = { "loopback", PC_STEP_PREPARE, NONE, NONE, 0, NO_SLOT },
	[PC_OP_NAME_ROOT] = { "name_root", PC_STEP_PREPARE, PATH, NONE, 0, NO_SLOT },
	[PC_OP_NAME_ABSENT] = { "name_absent", PC_STEP_PREPARE, PATH, NONE, 0, NO_SLOT },
	[PC_OP_PATH_ABSENT] = { "path_absent", PC_STEP_PREPARE, PATH, NONE, 0, NO_SLOT },
	[PC_OP_NAMESPACES] = { "namespaces", PC_STEP_NAMESPACES, NONE, NONE, 0, NO_SLOT },
	[PC_OP_JOIN] = { "join", PC_STEP_NAMESPACES, NONE, NONE, 0, NO_SLOT },
	[PC_OP_MAP_IDS] = { "map_ids", PC_STEP_NAMESPACES, NONE, NONE, 0, NO_SLOT },
	[PC_OP_LO_UP] = { "lo_up", PC_STEP_NAMESPACES, NONE, NONE, 0, NO_SLOT },
	[PC_OP_MOUNT_PRIVATE] = { "mount_private", PC_STEP_MOUNTS, NONE, NONE, 0, NO_SLOT },
	[PC_OP_TREE_CLONE] = { "tree_clone", PC_STEP_MOUNTS, PATH, NONE, PC_OP_OPTIONAL | PC_OP_FLEETING, FILLS },
	[PC_OP_TREE_SET] = { "tree_set", PC_STEP_MOUNTS, NONE, NONE, 0, USES },
	[PC_OP_TREE_ATTACH] = { "tree_attach", PC_STEP_MOUNTS, PATH, NONE, PC_OP_OPTIONAL | PC_OP_FLEETING, TAKES },
	[PC_OP_MOUNT_SET] = { "mount_set", PC_STEP_MOUNTS, PATH, NONE, PC_OP_RECURSIVE, NO_SLOT },
	[PC_OP_REMOUNT_READ_ONLY] = { "remount_read_only", PC_STEP_MOUNTS, PATH, NONE, PC_OP_OPTIONAL, NO_SLOT },
	[PC_OP_TMPFS] = { "tmpfs", PC_STEP_MOUNTS, PATH, TEXT, 0, NO_SLOT },
	[PC_OP_PROC] = { "proc", PC_STEP_MOUNTS, PATH, NONE, 0, NO_SLOT },
	[PC_OP_DEVPTS] = { "devpts", PC_STEP_MOUNTS, PATH, NONE, 0, NO_SLOT },
	[PC_OP_MAKE_DIR] = { "make_dir", PC_STEP_MOUNTS, PATH, NONE, 0, NO_SLOT },
	[PC_OP_MAKE_FILE] = { "make_file", PC_STEP_MOUNTS, PATH, NONE, 0, NO_SLOT },
	[PC_OP_MAKE_LINK] = { "make_link", PC_STEP_MOUNTS, PATH, TEXT, 0, NO_SLOT },
	[PC_OP_PIN_LINK] = { "pin_link", PC_STEP_MOUNTS, PATH, NONE, 0, NO_SLOT },
	[PC_OP_REMOVE] = { "remove", PC_STEP_MOUNTS, PATH, NONE, 0, NO_SLOT },
	[PC_OP_LANDLOCK_LATE] = { "landlock_late", PC_STEP_MOUNTS, PATH, NONE, 0, NO_SLOT },
	[PC_OP_DROP_CAPABILITIES] = { "drop_capabilities", PC_STEP_CAPABILITIES, NONE, NONE, 0, NO_SLOT },
	[PC_OP_NO_NEW_PRIVS] = { "no_new_privs", PC_STEP_NO_NEW_PRIVS, NONE, NONE, 0, NO_SLOT },
	[PC_OP_NEW_SESSION] = { "new_session", PC_STEP_SESSION, NONE, NONE, 0, NO_SLOT },
	[PC_OP_RLIMIT] = { "rlimit", PC_STEP_LIMITS, NUMBER, NONE, 0, NO_SLOT },
	[PC_OP_CHDIR] = { "chdir", PC_STEP_DIRECTORY, PATH, NONE, 0, NO_SLOT },
	[PC_OP_LANDLOCK_RESTRICT] = { "landlock_restrict", PC_STEP_LANDLOCK, NONE, NONE, 0, NO_SLOT },
	[PC_OP_SECCOMP] = { "seccomp", PC_STEP_SECCOMP, NUMBER, NUMBER, PC_OP_NOTIFY, NO_SLOT },
};

static const char *const step_names[PC_STEPS] = {
	"prepare", "clone",	"namespaces", "mounts",	     "capabilities", "no_new_privs", "init",  "session",
	"limits",  "directory", "landlock",   "descriptors", "seccomp",	     "exec",	     "input",
};

const char *pc_op_name(uint32_t code)
{
	return code < PC_OPS ? kinds[code].name : NULL;
}

const char *pc_step_name(uint32_t step)
{
	return step < PC_STEPS ? step_names[step] : NULL;
}

const char *pc_plan_op_path(const struct pc_plan *plan, uint32_t op)
{
	if (op >= plan->op_count || kinds[plan->ops[op].code].a != PATH || plan->ops[op].a & PC_TEXT_RUN)
		return NULL;
	return plan->text + plan->ops[op].a;
}

/* The whole text ends in NUL (checked), so any offset inside it names an ended text. */
static const char *check_text(const struct pc_plan *plan, uint32_t reference, bool must_be_path)
{
	if (reference & PC_TEXT_RUN)
		return (reference & ~PC_TEXT_RUN) < PC_RUN_TEXTS ? NULL : "no such text of the run";
	if (reference >= plan->text_size)
		return "a text outside the block";
	if (must_be_path && plan->text[reference] != '/')
		return "a path that is not absolute";
	return NULL;
}

static const char *check_argument(const struct pc_plan *plan, enum argument kind, uint32_t value)
{
	switch (kind) {
	case NONE:
		return value ? "an argument where none belongs" : NULL;
	case PATH:
		return check_text(plan, value, true);
	case TEXT:
		return check_text(plan, value, false);
	case NUMBER:
		return NULL;
	}
	return "unknown kind of argument";
}

static const char *check_slot(const struct op_kind *kind, uint32_t slot, uint64_t *filled)
{
	uint64_t bit;

	if (kind->slot == NO_SLOT)
		return slot ? "a slot where none belongs" : NULL;
	if (slot >= PC_MAX_TREES)
		return "a slot out of range";
	bit = UINT64_C(1) << slot;
	if (kind->slot == FILLS) {
		if (*filled & bit)
			return "a slot filled twice";
		*filled |= bit;
	} else if (!(*filled & bit)) {
		return "a slot used before it is filled";
	}
	if (kind->slot == TAKES)
		*filled &= ~bit;
	return NULL;
}

static bool is_program(const struct pc_plan *plan, uint32_t offset, uint64_t count)
{
	return offset % 8 == 0 && offset <= plan->text_size && count * 8 <= plan->text_size - offset;
}

static const char *check_filter(const struct pc_plan *plan, const struct pc_op *op)
{
	bool is_notified = op->flags & PC_OP_NOTIFY;

	/* 4096: the kernel's own limit (BPF_MAXINSNS). */
	if (op->value < 1 || op->value > 4096)
		return "a filter of no or too many instructions";
	if (!is_program(plan, op->a, op->value) || (is_notified && !is_program(plan, op->b, op->value)))
		return "a filter outside the block";
	if (!is_notified && op->b)
		return "a second program in a filter without notifications";
	return NULL;
}

static const char *check_op(const struct pc_plan *plan, const struct pc_op *op, uint64_t *filled)
{
	const struct op_kind *kind = &kinds[op->code];
	const char *why;

	if (op->flags & ~kind->flags || op->unused)
		return "an unknown flag";
	why = check_argument(plan, kind->a, op->a);
	if (!why)
		why = check_argument(plan, kind->b, op->b);
	if (!why)
		why = check_slot(kind, op->slot, filled);
	if (!why && op->code == PC_OP_SECCOMP)
		why = check_filter(plan, op);
	if (!why && op->code == PC_OP_LANDLOCK_PORT && op->a > 65535)
		why = "a port above 65535";
	/* Another bit of clone(2) would share with the child what must be its own: its descriptors, its threads. */
	if (!why && op->code == PC_OP_NAMESPACES && op->value & ~PC_NEW_NAMESPACES)
		why = "more than namespaces";
	if (!why && op->code == PC_OP_JOIN && op->value != PC_JOINED_NAMESPACES)
		why = "other namespaces joined than user and network";
	if (!why && op->code == PC_OP_LOOPBACK && (op->value < 1 || op->value > 2))
		why = "a loopback that is neither the run's nor the host's";
	return why;
}

/* Who joins a user namespace finds the ids mapped, unless he makes another in it; and a network has its loopback up. */
static const char *check_namespaces(const struct pc_plan *plan, const uint32_t *count)
{
	bool makes_user = plan->namespaces && (!plan->joined || plan->namespaces & PC_NEW_USER_NAMESPACE);

	if (makes_user && count[PC_OP_MAP_IDS] != 1)
		return "namespaces without an id map";
	if (!makes_user && (count[PC_OP_MAP_IDS] || (!plan->joined && (count[PC_OP_LO_UP] || count[PC_OP_MOUNT_PRIVATE]))))
		return "work inside namespaces that are never made";
	if (plan->joined && (count[PC_OP_LO_UP] || plan->namespaces & PC_JOINED_NAMESPACES & ~PC_NEW_USER_NAMESPACE))
		return "a network that is joined, and made or set up as well";
	if (count[PC_OP_MOUNT_PRIVATE] && !(plan->namespaces & PC_NEW_MOUNT_NAMESPACE))
		return "mounts outside a mount namespace";
	return NULL;
}

/* Half a confinement under a name that says none would be believed to be neither. */
static const char *check_unconfined(const struct pc_plan *plan, const uint32_t *count)
{
	if (count[PC_OP_NEW_SESSION] != 1 || count[PC_OP_CHDIR] != 1 || plan->op_count != 2 + count[PC_OP_RLIMIT])
		return "more than a session, limits and a directory in an unconfined plan";
	return NULL;
}

static const char *check_whole(const struct pc_plan *plan, const uint32_t *count, uint64_t filled)
{
	const char *why;

	if (plan->is_unconfined)
		return check_unconfined(plan, count);
	if (filled)
		return "a mount tree that is never attached";
	if (count[PC_OP_NAMESPACES] > 1 || count[PC_OP_LANDLOCK_HANDLE] > 1 || count[PC_OP_LOOPBACK] > 1 ||
	    count[PC_OP_JOIN] > 1)
		return "an operation that may stand only once";
	why = check_namespaces(plan, count);
	if (why)
		return why;
	if (count[PC_OP_LANDLOCK_HANDLE] != count[PC_OP_LANDLOCK_RESTRICT])
		return "a ruleset that is not enforced, or the reverse";
	if (!plan->has_landlock && count[PC_OP_LANDLOCK_PATH] + count[PC_OP_LANDLOCK_PORT] + count[PC_OP_LANDLOCK_LATE])
		return "a rule without a ruleset";
	if (count[PC_OP_DROP_CAPABILITIES] != 1 || count[PC_OP_NO_NEW_PRIVS] != 1)
		return "capabilities kept, or no_new_privs not set";
	if (count[PC_OP_NEW_SESSION] != 1 || count[PC_OP_CHDIR] != 1)
		return "no session or no working directory";
	if (count[PC_OP_SECCOMP] < 1)
		return "no filter";
	if (plan->loopback && !plan->answers)
		return "a loopback that nobody judges";
	return NULL;
}

static const char *check_mount_order(const uint32_t *count, const struct pc_op *op)
{
	/* A mount before the tree is private would reach the host. */
	if (kinds[op->code].step == PC_STEP_MOUNTS && op->code != PC_OP_MOUNT_PRIVATE && !count[PC_OP_MOUNT_PRIVATE])
		return "a mount before the tree is private";
	return NULL;
}

static const char *check_ops(struct pc_plan *plan, uint32_t *at)
{
	uint32_t count[PC_OPS] = { 0 };
	enum pc_step step = PC_STEP_PREPARE;
	uint64_t filled = 0;
	const char *why;

	for (*at = 0; *at < plan->op_count; ++*at) {
		const struct pc_op *op = &plan->ops[*at];

		if (op->code >= PC_OPS)
			return "an unknown operation";
		if (kinds[op->code].step < step)
			return "a step out of order";
		step = kinds[op->code].step;
		why = check_op(plan, op, &filled);
		if (!why)
			why = check_mount_order(count, op);
		if (why)
			return why;
		count[op->code]++;
		if (op->code == PC_OP_NAMESPACES)
			plan->namespaces = op->value;
		if (op->code == PC_OP_JOIN)
			plan->joined = op->value;
		if (op->code == PC_OP_LANDLOCK_HANDLE)
			plan->has_landlock = 1;
		if (op->code == PC_OP_LOOPBACK)
			plan->loopback = (uint32_t)op->value;
		if (op->code == PC_OP_SECCOMP && op->flags & PC_OP_NOTIFY) {
			/* The kernel has one listener for a task's filters. */
			if (plan->answers)
				return "two filters with notifications";
			plan->answers = plan->text + op->a;
			plan->answer_count = (size_t)op->value;
		}
	}
	return check_whole(plan, count, filled);
}

int pc_plan_check(const void *data, size_t size, struct pc_plan *plan, const char **why, uint32_t *op)
{
	const struct pc_plan_header *header = data;
	struct pc_plan found = { 0 };
	size_t ops_size;

	*op = 0;
	*why = "not a plan";
	if (size < sizeof(*header) || size > PC_MAX_PLAN || (uintptr_t)data % 8)
		return -EINVAL;
	if (header->magic != PC_PLAN_MAGIC || (header->version & ~PC_PLAN_UNCONFINED) != PC_PLAN_VERSION)
		return -EINVAL;
	found.is_unconfined = !!(header->version & PC_PLAN_UNCONFINED);
	*why = "sizes that do not add up";
	if (header->op_count > PC_MAX_OPS)
		return -EINVAL;
	ops_size = header->op_count * sizeof(struct pc_op);
	if (size != sizeof(*header) + ops_size + header->text_size)
		return -EINVAL;
	found.ops = (const void *)(header + 1);
	found.op_count = header->op_count;
	found.text = (const char *)(header + 1) + ops_size;
	found.text_size = header->text_size;
	*why = "a text block that does not end";
	if (!found.text_size || found.text[found.text_size - 1] != '\0')
		return -EINVAL;

	*why = check_ops(&found, op);
	if (*why)
		return -EINVAL;
	*plan = found;
	return 0;
}
