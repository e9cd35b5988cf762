#include "path_rules.h"
#include "../../core/plan.h"
#include "cleanup.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

struct rule {
	const char *path; /* NULL: free */
	uint64_t access;
	bool is_hidden;
};

struct pc_path_rules {
	uint64_t handled; /* what Landlock looks at at all; 0: no Landlock */
	struct rule *slots;
	size_t mask; /* slots - 1; slots is a power of two, at most half of it taken */
	char tmp[PATH_MAX];
};

/* FNV-1a. */
static uint64_t hash(const char *text, size_t size)
{
	uint64_t value = 14695981039346656037u;
	size_t i;

	for (i = 0; i < size; i++)
		value = (value ^ (unsigned char)text[i]) * 1099511628211u;
	return value;
}

static struct rule *find(const struct pc_path_rules *rules, const char *path, size_t size)
{
	size_t at = (size_t)hash(path, size) & rules->mask;

	while (rules->slots[at].path && (strncmp(rules->slots[at].path, path, size) != 0 || rules->slots[at].path[size]))
		at = (at + 1) & rules->mask;
	return &rules->slots[at];
}

static bool is_rule(const struct pc_op *op)
{
	return op->code == PC_OP_LANDLOCK_PATH || op->code == PC_OP_LANDLOCK_LATE || op->code == PC_OP_LANDLOCK_HIDE;
}

/* Only the private tmp has a rule that names a text of the run. */
static const char *path_of(const struct pc_path_rules *rules, const struct pc_plan *plan, uint32_t reference)
{
	if (!(reference & PC_TEXT_RUN))
		return plan->text + reference;
	return (reference & ~PC_TEXT_RUN) == PC_RUN_TMP ? rules->tmp : NULL;
}

static void add_rules(struct pc_path_rules *rules, const struct pc_plan *plan)
{
	uint32_t i;

	for (i = 0; i < plan->op_count; i++) {
		const struct pc_op *op = &plan->ops[i];
		const char *path = is_rule(op) ? path_of(rules, plan, op->a) : NULL;
		struct rule *rule;

		if (op->code == PC_OP_LANDLOCK_HANDLE)
			rules->handled = op->value;
		if (!path)
			continue;
		/* The root is the empty prefix of every path. */
		if (!path[1])
			path = "";
		rule = find(rules, path, strlen(path));
		rule->path = path;
		if (op->code == PC_OP_LANDLOCK_HIDE)
			rule->is_hidden = true;
		else
			rule->access |= op->value;
	}
}

int pc_path_rules_build(const struct pc_plan *plan, const char *directory, struct pc_path_rules **built)
{
	struct pc_path_rules *rules;
	size_t count = 0, slots = 16, size = directory ? strlen(directory) : 0;
	uint32_t i;

	for (i = 0; i < plan->op_count; i++)
		count += is_rule(&plan->ops[i]);
	while (slots < 2 * count)
		slots *= 2;
	rules = calloc(1, sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	rules->slots = calloc(slots, sizeof(*rules->slots));
	rules->mask = slots - 1;
	if (!rules->slots) {
		free(rules);
		return -ENOMEM;
	}
	if (size && size + sizeof("/tmp") <= sizeof(rules->tmp)) {
		memcpy(rules->tmp, directory, size);
		memcpy(rules->tmp + size, "/tmp", sizeof("/tmp"));
	}
	add_rules(rules, plan);
	*built = rules;
	return 0;
}

void pc_path_rules_free(struct pc_path_rules *rules)
{
	if (!rules)
		return;
	free(rules->slots);
	free(rules);
}

/* The length of the path that `path`, cut to `size`, lies in; 0 at the root. */
static size_t parent_size(const char *path, size_t size)
{
	while (size > 0 && path[size - 1] != '/')
		size--;
	return size > 0 ? size - 1 : 0;
}

uint64_t pc_path_rules_refused(const struct pc_path_rules *rules, const char *path, uint64_t wanted)
{
	size_t size;

	/* Rights add up on the way to the root. Source: Documentation/userspace-api/landlock.rst, "layers of file path access rights". */
	wanted &= rules->handled;
	for (size = strlen(path); wanted && size > 0; size = parent_size(path, size))
		wanted &= ~find(rules, path, size)->access;
	return wanted & ~find(rules, "", 0)->access;
}

bool pc_path_rules_hide(const struct pc_path_rules *rules, const char *path)
{
	size_t size;

	for (size = strlen(path); size > 0; size = parent_size(path, size))
		if (find(rules, path, size)->is_hidden)
			return true;
	return false;
}
