/*
 * The ruleset of one run, made in the host from its Plan: what the rules hold is looked up now, so that a name which has gone
 * or become a link since is met here.
 */
#include "cleanup.h"
#include "image_build.h"

#include <errno.h>

static int create_ruleset(const struct pc_op *op)
{
	struct pc_landlock_handled want = { .fs = op->value, .net = op->a, .scoped = op->b }, clipped;
	int fd;

	fd = pc_landlock_create(&want, &clipped);
	if (fd < 0)
		return fd;
	/* The report was written for a host that has all of these. */
	if (clipped.fs | clipped.net | clipped.scoped) {
		close(fd);
		return -EOPNOTSUPP;
	}
	return fd;
}

/* The operation that makes the ruleset; NULL: there is none. */
static const struct pc_op *first_op(const struct pc_plan *plan)
{
	uint32_t i;

	for (i = 0; i < plan->op_count && plan->ops[i].code < PC_OP_NAMESPACES; i++)
		if (plan->ops[i].code == PC_OP_LANDLOCK_HANDLE)
			return &plan->ops[i];
	return NULL;
}

static int create(const struct pc_plan *plan, struct pc_failure *failure, int *ruleset)
{
	const struct pc_op *op = first_op(plan);
	int fd;

	if (!op)
		return 0;
	fd = create_ruleset(op);
	if (fd < 0) {
		failure->op = (uint32_t)(op - plan->ops);
		return fd;
	}
	*ruleset = fd;
	return 0;
}

int pc_ruleset_begin(const struct pc_image *image, const struct pc_plan *plan, struct pc_ruleset_work *work)
{
	*work = (struct pc_ruleset_work) {
		.image = image,
		.failure = { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION },
		.fd = -1,
	};
	work->room = calloc(plan->op_count + 1u, sizeof(struct pc_inode));
	work->rc = work->room ? create(plan, &work->failure, &work->fd) : -ENOMEM;
	return work->rc;
}

int pc_ruleset_fill(struct pc_ruleset_work *work)
{
	work->rc = pc_ruleset_add_rules(work->image, work->fd, work->room, &work->failure.op);
	return work->rc;
}

void pc_ruleset_end(struct pc_ruleset_work *work)
{
	free(work->room);
	work->room = NULL;
}

int pc_ruleset_build(const struct pc_image *image, const struct pc_plan *plan, struct pc_failure *failure, int *ruleset)
{
	struct pc_ruleset_work work;
	cleanup_fd int fd = -1;
	int rc;

	rc = pc_ruleset_begin(image, plan, &work);
	fd = work.fd;
	if (rc == 0)
		rc = pc_ruleset_fill(&work);
	pc_ruleset_end(&work);
	if (rc < 0) {
		failure->op = work.failure.op;
		return rc;
	}
	*ruleset = pc_take_fd(&fd);
	return 0;
}
