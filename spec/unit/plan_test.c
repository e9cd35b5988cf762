/* The Plan's decoder: what it accepts, each thing it refuses, and that no bytes whatever lead it astray. */
#include <stdbool.h>
#include <stdio.h>

#include "core/plan.h"
#include "spec/support/plan_builder.h"

#define NEW_USER  UINT64_C(0x10000000)
#define NEW_NET	  UINT64_C(0x40000000)
#define MUTATIONS 200000

static unsigned int failures;

static void expect(bool is_true, const char *what, const char *detail)
{
	printf("%s - %s%s%s\n", is_true ? "ok" : "not ok", what, is_true ? "" : ": ", is_true ? "" : detail);
	if (!is_true)
		failures++;
}

static const uint64_t filter[2] = { 6, 6 };

static void add_end(struct plan_builder *b)
{
	struct pc_op *op;

	builder_add(b, PC_OP_DROP_CAPABILITIES);
	builder_add(b, PC_OP_NO_NEW_PRIVS);
	builder_add(b, PC_OP_NEW_SESSION);
	builder_add_path(b, PC_OP_CHDIR, "/", 0);
	op = builder_add(b, PC_OP_SECCOMP);
	op->a = builder_bytes(b, filter, sizeof(filter), 8);
	op->value = 2;
}

/* The least that may run. */
static void build_small(struct plan_builder *b)
{
	builder_init(b);
	add_end(b);
}

/* A user and a network namespace that are there, and mounts of its own. */
static void build_joined(struct plan_builder *b)
{
	builder_init(b);
	builder_add(b, PC_OP_NAMESPACES)->value = PC_NEW_MOUNT_NAMESPACE;
	builder_add(b, PC_OP_JOIN)->value = NEW_USER | NEW_NET;
	builder_add(b, PC_OP_MOUNT_PRIVATE);
	add_end(b);
}

/* Every operation at least once, but for the one that takes the place of others. */
static void build_full(struct plan_builder *b)
{
	struct pc_op *op;

	builder_init(b);
	op = builder_add(b, PC_OP_LANDLOCK_HANDLE);
	op->value = 0x1fff;
	builder_add_path(b, PC_OP_LANDLOCK_HIDE, "/root/.ssh", 0);
	builder_add_path(b, PC_OP_LANDLOCK_PATH, "/usr", 5)->flags = PC_OP_OPTIONAL;
	builder_add(b, PC_OP_LANDLOCK_PORT)->a = 65535;
	builder_add_path(b, PC_OP_SOCKET_TREE, "/srv", 0);
	builder_add_path(b, PC_OP_SOCKET_HIDDEN, "/srv/keys", 0);
	builder_add(b, PC_OP_LOOPBACK)->value = 2;
	builder_add_path(b, PC_OP_NAME_ROOT, "/srv", 0);
	builder_add_path(b, PC_OP_NAME_ABSENT, "/.envrc", 0);
	builder_add_path(b, PC_OP_PATH_ABSENT, "/srv/.git/commondir", 0);
	builder_add(b, PC_OP_NAMESPACES)->value = NEW_USER | PC_NEW_MOUNT_NAMESPACE | NEW_NET;
	builder_add(b, PC_OP_MAP_IDS);
	builder_add(b, PC_OP_LO_UP);
	builder_add(b, PC_OP_MOUNT_PRIVATE);
	builder_add_path(b, PC_OP_TREE_CLONE, "/srv", 0);
	builder_add(b, PC_OP_TREE_SET)->value = 1;
	builder_add_path(b, PC_OP_TREE_CLONE, "/opt", 0)->slot = PC_MAX_TREES - 1;
	builder_add_path(b, PC_OP_TREE_ATTACH, "/mnt", 0);
	builder_add_path(b, PC_OP_TREE_ATTACH, "/media", 0)->slot = PC_MAX_TREES - 1;
	builder_add_path(b, PC_OP_MOUNT_SET, "/", 1)->flags = PC_OP_RECURSIVE;
	builder_add_path(b, PC_OP_REMOUNT_READ_ONLY, "/", 0);
	op = builder_add_path(b, PC_OP_TMPFS, "/tmp", 0);
	op->b = builder_text(b, "mode=0700");
	builder_add_path(b, PC_OP_PROC, "/proc", 0);
	builder_add_path(b, PC_OP_DEVPTS, "/dev/pts", 0);
	builder_add_path(b, PC_OP_MAKE_DIR, "/tmp/a", 0700);
	builder_add_path(b, PC_OP_MAKE_FILE, "/tmp/b", 0600);
	op = builder_add_path(b, PC_OP_MAKE_LINK, "/tmp/c", 0);
	op->b = builder_text(b, "a");
	builder_add_path(b, PC_OP_PIN_LINK, "/tmp/l", 0);
	builder_add_path(b, PC_OP_REMOVE, "/tmp/c", 0);
	builder_add(b, PC_OP_LANDLOCK_LATE)->a = PC_TEXT_RUN | PC_RUN_TMP;
	add_end(b);
	op = builder_insert(b, builder_index(b, PC_OP_CHDIR), PC_OP_RLIMIT);
	op->a = 7;
	op->value = 1024;
	builder_insert(b, builder_index(b, PC_OP_SECCOMP), PC_OP_LANDLOCK_RESTRICT);
	op = builder_find(b, PC_OP_SECCOMP);
	op->flags = PC_OP_NOTIFY;
	op->b = op->a;
}

/* ---- refusals ----------------------------------------------------------------------------------------------------------- */

static void wrong_magic(struct plan_builder *b)
{
	b->magic++;
}

static void wrong_version(struct plan_builder *b)
{
	b->version++;
}

static void no_operations(struct plan_builder *b)
{
	b->op_count = 0;
}

static void unknown_operation(struct plan_builder *b)
{
	b->ops[0].code = PC_OPS;
}

static void huge_operation(struct plan_builder *b)
{
	b->ops[b->op_count - 1].code = ~0u;
}

static void out_of_order(struct plan_builder *b)
{
	builder_remove(b, PC_OP_NO_NEW_PRIVS);
	builder_add(b, PC_OP_NO_NEW_PRIVS);
}

static void landlock_before_mounts(struct plan_builder *b)
{
	builder_remove(b, PC_OP_LANDLOCK_RESTRICT);
	builder_insert(b, builder_index(b, PC_OP_MOUNT_PRIVATE), PC_OP_LANDLOCK_RESTRICT);
}

static void filter_before_session(struct plan_builder *b)
{
	struct pc_op op = *builder_find(b, PC_OP_SECCOMP);

	builder_remove(b, PC_OP_SECCOMP);
	*builder_insert(b, builder_index(b, PC_OP_NEW_SESSION), PC_OP_SECCOMP) = op;
}

static void unknown_flag(struct plan_builder *b)
{
	builder_find(b, PC_OP_MOUNT_SET)->flags |= 1u << 31;
}

static void flag_of_another(struct plan_builder *b)
{
	builder_find(b, PC_OP_TMPFS)->flags = PC_OP_RECURSIVE;
}

static void used_spare_field(struct plan_builder *b)
{
	builder_find(b, PC_OP_CHDIR)->unused = 1;
}

static void needless_argument(struct plan_builder *b)
{
	builder_find(b, PC_OP_DROP_CAPABILITIES)->a = 1;
}

static void needless_second_argument(struct plan_builder *b)
{
	builder_find(b, PC_OP_CHDIR)->b = 1;
}

static void needless_slot(struct plan_builder *b)
{
	builder_find(b, PC_OP_CHDIR)->slot = 1;
}

static void text_out_of_range(struct plan_builder *b)
{
	builder_find(b, PC_OP_CHDIR)->a = b->text_size + 1;
}

static void text_far_out_of_range(struct plan_builder *b)
{
	builder_find(b, PC_OP_CHDIR)->a = PC_TEXT_RUN - 1;
}

static void second_text_out_of_range(struct plan_builder *b)
{
	builder_find(b, PC_OP_TMPFS)->b = b->text_size + 1;
}

static void unknown_run_text(struct plan_builder *b)
{
	builder_find(b, PC_OP_CHDIR)->a = PC_TEXT_RUN | PC_RUN_TEXTS;
}

static void empty_path(struct plan_builder *b)
{
	builder_find(b, PC_OP_CHDIR)->a = 0;
}

static void relative_path(struct plan_builder *b)
{
	builder_find(b, PC_OP_TREE_ATTACH)->a = builder_text(b, "srv");
}

static void slot_out_of_range(struct plan_builder *b)
{
	builder_find(b, PC_OP_TREE_CLONE)->slot = PC_MAX_TREES;
}

static void slot_filled_twice(struct plan_builder *b)
{
	b->ops[builder_index(b, PC_OP_TREE_CLONE) + 2].slot = 0;
}

static void slot_set_empty(struct plan_builder *b)
{
	builder_find(b, PC_OP_TREE_SET)->slot = 1;
}

static void slot_attached_twice(struct plan_builder *b)
{
	b->ops[builder_index(b, PC_OP_TREE_ATTACH) + 1].slot = 0;
}

static void slot_never_attached(struct plan_builder *b)
{
	builder_remove(b, PC_OP_TREE_ATTACH);
}

static void no_filter(struct plan_builder *b)
{
	builder_remove(b, PC_OP_SECCOMP);
}

static void empty_filter(struct plan_builder *b)
{
	builder_find(b, PC_OP_SECCOMP)->value = 0;
}

static void long_filter(struct plan_builder *b)
{
	builder_find(b, PC_OP_SECCOMP)->value = 4097;
}

/* 8 times this is 8 again, in 64 bits. */
static void overflowing_filter(struct plan_builder *b)
{
	builder_find(b, PC_OP_SECCOMP)->value = (UINT64_C(1) << 61) + 1;
}

static void filter_past_the_end(struct plan_builder *b)
{
	builder_find(b, PC_OP_SECCOMP)->value = 3;
}

static void filter_outside(struct plan_builder *b)
{
	builder_find(b, PC_OP_SECCOMP)->a = 0xfffffff8u;
}

static void misaligned_filter(struct plan_builder *b)
{
	builder_find(b, PC_OP_SECCOMP)->a += 4;
	builder_find(b, PC_OP_SECCOMP)->value = 1;
}

static void ruleset_not_enforced(struct plan_builder *b)
{
	builder_remove(b, PC_OP_LANDLOCK_RESTRICT);
}

static void ruleset_enforced_twice(struct plan_builder *b)
{
	builder_insert(b, builder_index(b, PC_OP_LANDLOCK_RESTRICT), PC_OP_LANDLOCK_RESTRICT);
}

static void ruleset_made_twice(struct plan_builder *b)
{
	builder_insert(b, 0, PC_OP_LANDLOCK_HANDLE);
}

static void restrict_without_ruleset(struct plan_builder *b)
{
	builder_insert(b, builder_index(b, PC_OP_SECCOMP), PC_OP_LANDLOCK_RESTRICT);
}

static void rule_without_ruleset(struct plan_builder *b)
{
	builder_insert(b, 0, PC_OP_LANDLOCK_PORT)->a = 443;
}

static void port_too_high(struct plan_builder *b)
{
	builder_find(b, PC_OP_LANDLOCK_PORT)->a = 65536;
}

static void loopback_of_nobody(struct plan_builder *b)
{
	builder_find(b, PC_OP_LOOPBACK)->value = 3;
}

static void loopback_of_zero(struct plan_builder *b)
{
	builder_find(b, PC_OP_LOOPBACK)->value = 0;
}

static void loopback_unjudged(struct plan_builder *b)
{
	builder_insert(b, 0, PC_OP_LOOPBACK)->value = 1;
}

static void loopback_twice(struct plan_builder *b)
{
	builder_insert(b, builder_index(b, PC_OP_LOOPBACK), PC_OP_LOOPBACK)->value = 1;
}

static void mount_before_private(struct plan_builder *b)
{
	builder_remove(b, PC_OP_MOUNT_PRIVATE);
}

static void mount_too_early(struct plan_builder *b)
{
	builder_remove(b, PC_OP_MOUNT_PRIVATE);
	builder_insert(b, builder_index(b, PC_OP_TREE_CLONE) + 1, PC_OP_MOUNT_PRIVATE);
}

static void no_mount_namespace(struct plan_builder *b)
{
	builder_find(b, PC_OP_NAMESPACES)->value = NEW_USER | NEW_NET;
}

static void no_namespaces(struct plan_builder *b)
{
	builder_remove(b, PC_OP_NAMESPACES);
}

static void two_namespaces(struct plan_builder *b)
{
	builder_insert(b, builder_index(b, PC_OP_MAP_IDS), PC_OP_NAMESPACES)->value = NEW_USER;
}

static void join_more(struct plan_builder *b)
{
	builder_find(b, PC_OP_JOIN)->value |= PC_NEW_MOUNT_NAMESPACE;
}

static void join_less(struct plan_builder *b)
{
	builder_find(b, PC_OP_JOIN)->value = NEW_USER;
}

static void join_twice(struct plan_builder *b)
{
	builder_insert(b, builder_index(b, PC_OP_JOIN), PC_OP_JOIN)->value = NEW_USER | NEW_NET;
}

static void join_and_map(struct plan_builder *b)
{
	builder_insert(b, builder_index(b, PC_OP_MOUNT_PRIVATE), PC_OP_MAP_IDS);
}

static void join_and_make(struct plan_builder *b)
{
	builder_find(b, PC_OP_NAMESPACES)->value |= NEW_NET;
}

static void join_and_set_up(struct plan_builder *b)
{
	builder_insert(b, builder_index(b, PC_OP_MOUNT_PRIVATE), PC_OP_LO_UP);
}

static void join_without_mounts(struct plan_builder *b)
{
	builder_remove(b, PC_OP_NAMESPACES);
}

static void no_map(struct plan_builder *b)
{
	builder_remove(b, PC_OP_MAP_IDS);
}

static void two_maps(struct plan_builder *b)
{
	builder_insert(b, builder_index(b, PC_OP_MAP_IDS), PC_OP_MAP_IDS);
}

static void map_without_namespaces(struct plan_builder *b)
{
	builder_insert(b, 0, PC_OP_MAP_IDS);
}

static void capabilities_kept(struct plan_builder *b)
{
	builder_remove(b, PC_OP_DROP_CAPABILITIES);
}

static void privileges_kept(struct plan_builder *b)
{
	builder_remove(b, PC_OP_NO_NEW_PRIVS);
}

static void session_kept(struct plan_builder *b)
{
	builder_remove(b, PC_OP_NEW_SESSION);
}

static void no_directory(struct plan_builder *b)
{
	builder_remove(b, PC_OP_CHDIR);
}

static void two_directories(struct plan_builder *b)
{
	struct pc_op op = *builder_find(b, PC_OP_CHDIR);

	*builder_insert(b, builder_index(b, PC_OP_CHDIR), PC_OP_CHDIR) = op;
}

static struct pc_op *filter_of(struct plan_builder *b)
{
	return builder_find(b, PC_OP_SECCOMP);
}

static void second_program_outside(struct plan_builder *b)
{
	filter_of(b)->flags = PC_OP_NOTIFY;
	filter_of(b)->b = 1u << 20;
}

static void needless_second_program(struct plan_builder *b)
{
	filter_of(b)->b = 8;
}

static void more_than_namespaces(struct plan_builder *b)
{
	builder_find(b, PC_OP_NAMESPACES)->value |= 0x400; /* CLONE_FILES */
}

/* A filter under a name that says there is none. */
static void unconfined_with_filter(struct plan_builder *b)
{
	b->version |= PC_PLAN_UNCONFINED;
}

static const struct refusal {
	const char *name;
	void (*build)(struct plan_builder *);
	void (*spoil)(struct plan_builder *);
	const char *why;
} refusals[] = {
	{ "another magic number", build_small, wrong_magic, "not a plan" },
	{ "another version", build_small, wrong_version, "not a plan" },
	{ "no operation at all", build_small, no_operations, "capabilities kept, or no_new_privs not set" },
	{ "an unknown operation", build_small, unknown_operation, "an unknown operation" },
	{ "an operation far out of range", build_full, huge_operation, "an unknown operation" },
	{ "no_new_privs after the filter", build_small, out_of_order, "a step out of order" },
	{ "Landlock before the mounts", build_full, landlock_before_mounts, "a step out of order" },
	{ "a filter before the session", build_full, filter_before_session, "a step out of order" },
	{ "an unknown flag", build_full, unknown_flag, "an unknown flag" },
	{ "a flag of another operation", build_full, flag_of_another, "an unknown flag" },
	{ "something in the spare field", build_small, used_spare_field, "an unknown flag" },
	{ "an argument where none belongs", build_small, needless_argument, "an argument where none belongs" },
	{ "a second argument where none belongs", build_small, needless_second_argument, "an argument where none belongs" },
	{ "a slot where none belongs", build_small, needless_slot, "a slot where none belongs" },
	{ "a text just out of range", build_small, text_out_of_range, "a text outside the block" },
	{ "a text far out of range", build_small, text_far_out_of_range, "a text outside the block" },
	{ "options out of range", build_full, second_text_out_of_range, "a text outside the block" },
	{ "a text that no run has", build_small, unknown_run_text, "no such text of the run" },
	{ "an empty path", build_small, empty_path, "a path that is not absolute" },
	{ "a relative path", build_full, relative_path, "a path that is not absolute" },
	{ "a slot out of range", build_full, slot_out_of_range, "a slot out of range" },
	{ "a slot filled twice", build_full, slot_filled_twice, "a slot filled twice" },
	{ "a slot changed before it is filled", build_full, slot_set_empty, "a slot used before it is filled" },
	{ "a slot attached twice", build_full, slot_attached_twice, "a slot used before it is filled" },
	{ "a slot that is never attached", build_full, slot_never_attached, "a mount tree that is never attached" },
	{ "no filter", build_small, no_filter, "no filter" },
	{ "a filter of no instructions", build_small, empty_filter, "a filter of no or too many instructions" },
	{ "a filter of too many instructions", build_small, long_filter, "a filter of no or too many instructions" },
	{ "a filter whose size overflows", build_small, overflowing_filter, "a filter of no or too many instructions" },
	{ "a filter past the end", build_small, filter_past_the_end, "a filter outside the block" },
	{ "a filter outside the block", build_small, filter_outside, "a filter outside the block" },
	{ "a misaligned filter", build_small, misaligned_filter, "a filter outside the block" },
	{ "a ruleset that is not enforced", build_full, ruleset_not_enforced,
	  "a ruleset that is not enforced, or the reverse" },
	{ "a ruleset enforced twice", build_full, ruleset_enforced_twice, "a ruleset that is not enforced, or the reverse" },
	{ "two rulesets", build_full, ruleset_made_twice, "an operation that may stand only once" },
	{ "no ruleset to enforce", build_small, restrict_without_ruleset, "a ruleset that is not enforced, or the reverse" },
	{ "a rule without a ruleset", build_small, rule_without_ruleset, "a rule without a ruleset" },
	{ "another loopback", build_full, loopback_of_nobody, "a loopback that is neither the run's nor the host's" },
	{ "no loopback", build_full, loopback_of_zero, "a loopback that is neither the run's nor the host's" },
	{ "a loopback without notifications", build_small, loopback_unjudged, "a loopback that nobody judges" },
	{ "two loopbacks", build_full, loopback_twice, "an operation that may stand only once" },
	{ "a port above 65535", build_full, port_too_high, "a port above 65535" },
	{ "mounts that are never private", build_full, mount_before_private, "a mount before the tree is private" },
	{ "a mount before the tree is private", build_full, mount_too_early, "a mount before the tree is private" },
	{ "mounts in the host's namespace", build_full, no_mount_namespace, "mounts outside a mount namespace" },
	{ "work in namespaces that are never made", build_full, no_namespaces, "work inside namespaces that are never made" },
	{ "namespaces made twice", build_full, two_namespaces, "an operation that may stand only once" },
	{ "namespaces without an id map", build_full, no_map, "namespaces without an id map" },
	{ "other namespaces joined", build_joined, join_more, "other namespaces joined than user and network" },
	{ "a user namespace joined alone", build_joined, join_less, "other namespaces joined than user and network" },
	{ "namespaces joined twice", build_joined, join_twice, "an operation that may stand only once" },
	{ "ids mapped that are mapped", build_joined, join_and_map, "work inside namespaces that are never made" },
	{ "a network joined and made", build_joined, join_and_make, "a network that is joined, and made or set up as well" },
	{ "a network joined and set up", build_joined, join_and_set_up,
	  "a network that is joined, and made or set up as well" },
	{ "mounts where others have theirs", build_joined, join_without_mounts, "mounts outside a mount namespace" },
	{ "two id maps", build_full, two_maps, "namespaces without an id map" },
	{ "an id map without namespaces", build_small, map_without_namespaces, "work inside namespaces that are never made" },
	{ "capabilities kept", build_small, capabilities_kept, "capabilities kept, or no_new_privs not set" },
	{ "no_new_privs not set", build_small, privileges_kept, "capabilities kept, or no_new_privs not set" },
	{ "the host's session kept", build_small, session_kept, "no session or no working directory" },
	{ "no working directory", build_small, no_directory, "no session or no working directory" },
	{ "two working directories", build_small, two_directories, "no session or no working directory" },
	{ "a second program outside the block", build_small, second_program_outside, "a filter outside the block" },
	{ "a second program without notifications", build_small, needless_second_program,
	  "a second program in a filter without notifications" },
	{ "a bit of clone(2) that shares", build_full, more_than_namespaces, "more than namespaces" },
	{ "a filter in an unconfined plan", build_small, unconfined_with_filter,
	  "more than a session, limits and a directory in an unconfined plan" },
};

static void test_refusals(void)
{
	size_t i, size;

	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct pc_plan plan = { .op_count = 4711 };
		const char *why = NULL;
		struct plan_builder b;
		uint32_t op = 0;
		void *bytes;
		int rc;

		refusals[i].build(&b);
		refusals[i].spoil(&b);
		bytes = builder_finish(&b, &size);
		rc = pc_plan_check(bytes, size, &plan, &why, &op);
		expect(rc < 0 && why && strcmp(why, refusals[i].why) == 0, refusals[i].name, rc < 0 ? why : "accepted");
		expect(plan.op_count == 4711, "... and nothing is written", refusals[i].name);
		free(bytes);
	}
}

static bool accepts(const void *bytes, size_t size)
{
	struct pc_plan plan;
	const char *why;
	uint32_t op;

	return pc_plan_check(bytes, size, &plan, &why, &op) == 0;
}

/* What a size says that does not fit the rest. */
static void test_sizes(void)
{
	struct plan_builder b;
	char *bytes, *larger;
	size_t size, shorter;
	bool took_any = false;

	build_small(&b);
	bytes = builder_finish(&b, &size);
	for (shorter = 0; shorter < size; shorter++) {
		char *cut = malloc(shorter ? shorter : 1);

		if (!cut)
			abort();
		memcpy(cut, bytes, shorter);
		took_any |= accepts(cut, shorter);
		free(cut);
	}
	expect(!took_any, "a plan cut anywhere is refused", "");

	larger = calloc(1, size + 8);
	if (!larger)
		abort();
	memcpy(larger, bytes, size);
	expect(!accepts(larger, size + 1), "a byte too many is refused", "");
	memmove(larger + 4, bytes, size);
	expect(!accepts(larger + 4, size), "a plan that is not aligned is refused", "");
	free(larger);

	bytes[size - 1] = 'x';
	expect(!accepts(bytes, size), "a text block that does not end is refused", "");
	bytes[size - 1] = '\0';
	((struct pc_plan_header *)(void *)bytes)->op_count = PC_MAX_OPS + 1;
	expect(!accepts(bytes, size), "too many operations are refused", "");
	((struct pc_plan_header *)(void *)bytes)->op_count = ~0u;
	expect(!accepts(bytes, size), "a count that overflows is refused", "");
	free(bytes);

	build_small(&b);
	b.text_size = 0;
	b.ops[3].a = PC_TEXT_RUN | PC_RUN_CWD;
	bytes = builder_finish(&b, &size);
	((struct pc_plan_header *)(void *)bytes)->text_size = 0;
	expect(!accepts(bytes, size - 1), "a plan without text is refused", "");
	free(bytes);
}

/* ---- acceptance --------------------------------------------------------------------------------------------------------- */

static void test_right_plans(void)
{
	struct pc_plan plan;
	const char *why = "";
	struct plan_builder b;
	uint32_t op = 0, i;
	bool seen[PC_OPS] = { false }, named = true;
	size_t size;
	void *bytes;

	build_small(&b);
	bytes = builder_finish(&b, &size);
	expect(pc_plan_check(bytes, size, &plan, &why, &op) == 0, "the smallest plan is accepted", why);
	expect(plan.namespaces == 0 && !plan.has_landlock, "... without namespaces and ruleset", "");
	free(bytes);

	build_full(&b);
	bytes = builder_finish(&b, &size);
	expect(pc_plan_check(bytes, size, &plan, &why, &op) == 0, "a plan with every operation is accepted", why);
	seen[PC_OP_JOIN] = true;
	expect(plan.namespaces == (NEW_USER | PC_NEW_MOUNT_NAMESPACE | NEW_NET), "... its namespaces are told", "");
	expect(plan.has_landlock == 1, "... and its ruleset", "");
	expect(plan.op_count == b.op_count && plan.text_size == b.text_size + 1, "... and its size", "");
	for (i = 0; i < plan.op_count; i++)
		seen[plan.ops[i].code] = true;
	for (i = 0; i < PC_OPS; i++)
		named = named && seen[i] && pc_op_name(i);
	expect(named, "... and it has every operation, each with a name", "");
	expect(strcmp(pc_plan_op_path(&plan, 1), "/root/.ssh") == 0, "the path of an operation is told", "");
	expect(!pc_plan_op_path(&plan, 0), "... but not where it has none", "");
	expect(!pc_plan_op_path(&plan, builder_index(&b, PC_OP_LANDLOCK_LATE)), "... or where it is the run's", "");
	expect(!pc_plan_op_path(&plan, PC_NO_OPERATION), "... or of no operation", "");
	free(bytes);

	build_joined(&b);
	bytes = builder_finish(&b, &size);
	expect(pc_plan_check(bytes, size, &plan, &why, &op) == 0, "a plan that joins namespaces is accepted", why);
	expect(plan.joined == (NEW_USER | NEW_NET) && plan.namespaces == PC_NEW_MOUNT_NAMESPACE, "... and they are told", "");
	free(bytes);
	build_joined(&b);
	builder_find(&b, PC_OP_NAMESPACES)->value |= NEW_USER;
	builder_insert(&b, builder_index(&b, PC_OP_MOUNT_PRIVATE), PC_OP_MAP_IDS);
	bytes = builder_finish(&b, &size);
	expect(pc_plan_check(bytes, size, &plan, &why, &op) == 0, "... and one that makes a user namespace inside", why);
	free(bytes);

	builder_init(&b);
	b.version |= PC_PLAN_UNCONFINED;
	builder_add(&b, PC_OP_NEW_SESSION);
	builder_add(&b, PC_OP_CHDIR)->a = PC_TEXT_RUN | PC_RUN_CWD;
	bytes = builder_finish(&b, &size);
	expect(pc_plan_check(bytes, size, &plan, &why, &op) == 0 && plan.is_unconfined, "an unconfined plan says so", why);
	free(bytes);

	for (i = 0; i < PC_STEPS; i++)
		named = named && pc_step_name(i);
	expect(named && !pc_step_name(PC_STEPS) && !pc_op_name(PC_OPS), "every step has a name, and nothing else", "");
}

/* ---- mutations ---------------------------------------------------------------------------------------------------------- */

/* xorshift64*: the same numbers every time, so that a failure can be seen again. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static uint32_t draw_word(uint64_t *state)
{
	static const uint32_t edges[] = {
		0,    1,    2,	  7,	      8,	  63,	      64,	  4095,	      4096,
		4097, 8192, 8193, 0x7fffffff, 0x80000000, 0x80000004, 0x80000005, 0xfffffff8, ~0u,
	};
	uint64_t r = draw(state);

	if (r & 1)
		return edges[(r >> 8) % (sizeof(edges) / sizeof(edges[0]))];
	return (uint32_t)(r >> 32) % ((r & 2) ? 64u : 1024u);
}

static void mutate(char *bytes, size_t size, uint64_t *state)
{
	uint64_t count = draw(state) % 4 + 1;

	while (count--) {
		uint64_t r = draw(state);
		size_t word = (r >> 16) % (size / 4) * 4;

		if (r % 4 == 0) {
			bytes[(r >> 16) % size] = (char)(r >> 8);
		} else if (r % 4 == 1 && size > 2 * sizeof(struct pc_op) + sizeof(struct pc_plan_header)) {
			/* Two operations change places. */
			uint32_t ops = ((struct pc_plan_header *)(void *)bytes)->op_count;
			char *base = bytes + sizeof(struct pc_plan_header);
			struct pc_op a, b;
			size_t i, j;

			if (!ops || ops > (size - sizeof(struct pc_plan_header)) / sizeof(a))
				continue;
			i = (r >> 16) % ops * sizeof(a);
			j = (r >> 32) % ops * sizeof(a);
			memcpy(&a, base + i, sizeof(a));
			memcpy(&b, base + j, sizeof(b));
			memcpy(base + i, &b, sizeof(b));
			memcpy(base + j, &a, sizeof(a));
		} else {
			uint32_t value = draw_word(state);

			memcpy(bytes + word, &value, sizeof(value));
		}
	}
}

/* What the child does with a plan that was accepted: every text is read to its end, every filter touched. */
static size_t walk(const struct pc_plan *plan)
{
	size_t sum = 0;
	uint32_t i;

	for (i = 0; i < plan->op_count; i++) {
		const struct pc_op *op = &plan->ops[i];
		const char *path = pc_plan_op_path(plan, i);
		uint64_t at;

		sum += strlen(pc_op_name(op->code));
		if (path)
			sum += strlen(path);
		if ((op->code == PC_OP_TMPFS || op->code == PC_OP_MAKE_LINK) && !(op->b & PC_TEXT_RUN))
			sum += strlen(plan->text + op->b);
		if (op->code == PC_OP_SECCOMP)
			for (at = 0; at < op->value * 8; at++)
				sum += (unsigned char)plan->text[op->a + at];
	}
	return sum;
}

static void test_mutations(void)
{
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
	size_t sizes[2], sum = 0;
	unsigned int i, accepted = 0, unsaid = 0;
	struct plan_builder b;
	void *seeds[2];

	build_small(&b);
	seeds[0] = builder_finish(&b, &sizes[0]);
	build_full(&b);
	seeds[1] = builder_finish(&b, &sizes[1]);
	for (i = 0; i < MUTATIONS; i++) {
		const char *why = NULL;
		size_t size = sizes[i & 1];
		struct pc_plan plan;
		uint32_t op;
		char *bytes = malloc(size);

		if (!bytes)
			abort();
		memcpy(bytes, seeds[i & 1], size);
		mutate(bytes, size, &state);
		if (pc_plan_check(bytes, size, &plan, &why, &op) == 0) {
			sum += walk(&plan);
			accepted++;
		} else if (!why) {
			unsaid++;
		}
		free(bytes);
	}
	free(seeds[0]);
	free(seeds[1]);
	printf("# %u mutations, %u accepted, %zu bytes walked\n", i, accepted, sum);
	expect(accepted > 0 && accepted < MUTATIONS, "mutated plans are told apart", "all the same");
	expect(unsaid == 0, "every refusal says why", "some do not");
}

int main(void)
{
	test_right_plans();
	test_refusals();
	test_sizes();
	test_mutations();
	return failures ? 1 : 0;
}
