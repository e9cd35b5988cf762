/*
 * The child between clone and exec, in the host's memory. Compiled like ops_child.c and its neighbours without sanitizers and
 * stack protector (CMakeLists.txt): what those keep for a thread is in use by the host's.
 */
#include "child_start.h"
#include "../platform.h"
#include "sys.h"

#include <fcntl.h>

/* Whether a later entry is the same descriptor: standard output and error may be one. */
static bool is_needed_again(const struct pc_start *start, int i)
{
	int fd = start->fds[i];

	while (++i < PC_INIT_FREE)
		if (start->fds[i] == fd)
			return true;
	return false;
}

/* The least of them that is not below `from`; -1: none. */
static int next_needed(const struct pc_start *start, int from)
{
	int i, least = -1;

	for (i = 0; i < PC_INIT_FREE; i++)
		if (start->fds[i] >= from && (least < 0 || start->fds[i] < least))
			least = start->fds[i];
	return least;
}

/* First of all, since a host may have few numbers to spare. Before Linux 5.9 they stay until the end. */
static void close_unneeded(const struct pc_start *start)
{
	int from = 0, needed;

	while ((needed = next_needed(start, from)) >= 0) {
		if (needed > from)
			pc_sys3(__NR_close_range, from, needed - 1, 0);
		from = needed + 1;
	}
	pc_sys3(__NR_close_range, from, ~0u, 0);
}

/*
 * Brings each descriptor to its number, and closes all others. They are first lifted above all targets, so that none is
 * overwritten before its turn, and leave their old places at once: a host may have few to spare.
 * The child's table is its own copy: the host's is not touched.
 */
static int place_descriptors(struct pc_start *start)
{
	int i, rc;

	close_unneeded(start);
	for (i = 0; i < PC_INIT_FREE; i++) {
		if (start->fds[i] < 0)
			continue;
		rc = pc_sys_fcntl(start->fds[i], F_DUPFD, PC_INIT_FREE);
		if (rc < 0)
			return rc;
		if (!is_needed_again(start, i))
			pc_sys_close(start->fds[i]);
		start->fds[i] = rc;
	}
	for (i = 0; i < PC_INIT_FREE; i++) {
		if (start->fds[i] < 0) {
			pc_sys_close(i);
			continue;
		}
		rc = (int)pc_sys3(__NR_dup3, start->fds[i], i, i == PC_INIT_SELF ? O_CLOEXEC : 0);
		if (rc < 0)
			return rc;
	}
	return pc_close_from(PC_INIT_FREE);
}

static int fail(struct pc_start *start, uint32_t step, uint32_t op, int error)
{
	start->failed = (struct pc_status) { .kind = PC_STATUS_FAILED, .step = step, .op = op, .error = error };
	return 127;
}

static int exec_init(struct pc_start *start)
{
	static const char *const argv[] = { "procage-init", NULL };
	static const char *const envp[] = { NULL };
	int rc;

	rc = (int)pc_sys5(__NR_execveat, PC_INIT_SELF, pc_ptr(""), pc_ptr(argv), pc_ptr(envp), AT_EMPTY_PATH);
	return fail(start, PC_STEP_INIT, PC_NO_OPERATION, rc);
}

int pc_start_child(void *arg)
{
	struct pc_start *start = arg;
	uint32_t op = PC_NO_OPERATION;
	int rc;

	/* First: what the host has open is no business of anything that follows. */
	rc = place_descriptors(start);
	if (rc < 0)
		return fail(start, PC_STEP_INIT, op, rc);
	/* By the names of the host's own mounts. */
	rc = start->room ? pc_ruleset_add_rules(start->image, PC_INIT_RULESET, start->room, &op) : 0;
	if (rc < 0)
		return fail(start, PC_STEP_PREPARE, op, rc);
	rc = start->namespaces ? pc_ns_unshare(start->namespaces) : 0;
	if (rc < 0)
		return fail(start, PC_STEP_CLONE, op, rc);
	if (pc_enter(start->image, PC_INIT_RULESET, &start->failed) < 0)
		return 127;
	return exec_init(start);
}

int pc_join_child(void *arg)
{
	struct pc_joining *joining = arg;
	int rc;

	rc = pc_ns_join(joining->join);
	if (rc < 0) {
		joining->pid = rc;
		return 1;
	}
	joining->pid =
		pc_clone_call(joining->flags, joining->stack_top, joining->pidfd, joining->fn, joining->arg, joining->shared);
	return 0;
}

int pc_start_holder(void *arg)
{
	struct pc_start *start = arg;
	int rc;

	rc = place_descriptors(start);
	if (rc < 0)
		return fail(start, PC_STEP_INIT, PC_NO_OPERATION, rc);
	rc = pc_ns_unshare(start->namespaces);
	if (rc < 0)
		return fail(start, PC_STEP_CLONE, PC_NO_OPERATION, rc);
	rc = pc_ns_map_ids(start->image->uid, start->image->gid);
	if (rc == 0)
		rc = pc_net_lo_up();
	if (rc == 0)
		rc = pc_ns_network(start->made);
	if (rc < 0)
		return fail(start, PC_STEP_NAMESPACES, PC_NO_OPERATION, rc);
	rc = pc_ns_leave_mounts();
	if (rc < 0)
		return fail(start, PC_STEP_MOUNTS, PC_NO_OPERATION, rc);
	rc = pc_drop_capabilities();
	if (rc == 0)
		rc = pc_no_new_privs();
	if (rc < 0)
		return fail(start, PC_STEP_CAPABILITIES, PC_NO_OPERATION, rc);
	return exec_init(start);
}
