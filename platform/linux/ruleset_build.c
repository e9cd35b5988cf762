/*
 * The ruleset of one run, made in the host from its Plan: what the rules hold is looked up now, so that a name which has gone
 * or become a link since is met here.
 */
#include "cleanup.h"
#include "image_build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

struct inode {
	dev_t dev;
	ino_t ino;
};

struct hidden_inodes {
	struct inode *list;
	size_t count;
};

static bool is_hidden(const struct hidden_inodes *hidden, const struct stat *st)
{
	size_t i;

	for (i = 0; i < hidden->count; i++)
		if (hidden->list[i].dev == st->st_dev && hidden->list[i].ino == st->st_ino)
			return true;
	return false;
}

/* The directory of the rules before: siblings stand together in a plan, and their common way is walked once. */
struct parent {
	const char *path; /* of some entry in it */
	size_t size;	  /* of the directory's part of that path */
	int fd;		  /* -1: none */
};

static int open_in_parent(struct parent *parent, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];
	size_t size = (size_t)(slash - path);
	int fd;

	/* The root, entries of the root, and what has no name of its own. */
	if (size == 0 || !slash[1] || size >= sizeof(directory))
		return pc_open_resolved(path);
	if (parent->fd < 0 || parent->size != size || memcmp(parent->path, path, size) != 0) {
		memcpy(directory, path, size);
		directory[size] = '\0';
		fd = pc_open_resolved(directory);
		if (fd < 0)
			return fd;
		if (parent->fd >= 0)
			close(parent->fd);
		*parent = (struct parent) { path, size, fd };
	}
	fd = (int)syscall(SYS_openat2, parent->fd, slash + 1, &how, sizeof(how));
	if (fd < 0 && errno == ENOSYS)
		return pc_open_resolved(path);
	return fd < 0 ? -errno : fd;
}

/* A rule holds an inode: a second name of a hidden file, or a bind of a hidden directory, must not open it again. */
static int add_rule(int ruleset, const struct pc_op *op, const char *path, struct parent *parent,
		    const struct hidden_inodes *hidden)
{
	cleanup_fd int fd = -1;
	struct stat st;

	fd = open_in_parent(parent, path);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (is_hidden(hidden, &st))
		return 0;
	return pc_landlock_add_object(ruleset, fd, S_ISDIR(st.st_mode), op->value);
}

/* What the host may not open, the command may not either; what is gone needs no grant. */
static bool is_absence(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -EACCES || error == -ENOMSG;
}

static int hide_inode(struct hidden_inodes *hidden, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0)
		hidden->list[hidden->count++] = (struct inode) { st.st_dev, st.st_ino };
	return 0; /* not there, or not ours to see: then no rule can name it either */
}

static const char *path_of(const struct pc_image *image, const struct pc_plan *plan, const struct pc_op *op)
{
	if (op->a & PC_TEXT_RUN)
		return pc_image_at(image, image->run_text[op->a & ~PC_TEXT_RUN]);
	return plan->text + op->a;
}

static int ruleset_op(int ruleset, const struct pc_image *image, const struct pc_plan *plan, const struct pc_op *op,
		      struct parent *parent, struct hidden_inodes *hidden)
{
	int rc;

	switch (op->code) {
	case PC_OP_LANDLOCK_HIDE:
		return hide_inode(hidden, path_of(image, plan, op));
	case PC_OP_LANDLOCK_PATH:
		rc = add_rule(ruleset, op, path_of(image, plan, op), parent, hidden);
		return rc < 0 && op->flags & PC_OP_OPTIONAL && is_absence(rc) ? 0 : rc;
	case PC_OP_LANDLOCK_PORT:
		return pc_landlock_add_port(ruleset, (uint16_t)op->a, op->value);
	default:
		return 0;
	}
}

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

/* room: for an inode an operation */
static int fill(int ruleset, const struct pc_image *image, const struct pc_plan *plan, struct inode *room,
		struct pc_failure *failure)
{
	struct parent parent = { .fd = -1 };
	struct hidden_inodes hidden = { .list = room };
	uint32_t i;
	int rc = 0;

	for (i = 0; i < plan->op_count && plan->ops[i].code < PC_OP_NAMESPACES; i++) {
		rc = ruleset_op(ruleset, image, plan, &plan->ops[i], &parent, &hidden);
		if (rc < 0) {
			failure->op = i;
			break;
		}
	}
	if (parent.fd >= 0)
		close(parent.fd);
	return rc;
}

int pc_ruleset_begin(const struct pc_image *image, const struct pc_plan *plan, struct pc_ruleset_work *work)
{
	*work = (struct pc_ruleset_work) {
		.image = image,
		.plan = plan,
		.failure = { .step = PC_STEP_PREPARE, .op = PC_NO_OPERATION },
		.fd = -1,
	};
	work->room = calloc(plan->op_count + 1u, sizeof(struct inode));
	work->rc = work->room ? create(plan, &work->failure, &work->fd) : -ENOMEM;
	return work->rc;
}

int pc_ruleset_fill(struct pc_ruleset_work *work)
{
	work->rc = fill(work->fd, work->image, work->plan, work->room, &work->failure);
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
