/*
 * The rules of one run's ruleset, added one by one. Raw calls and no memory but the caller's: the host does it while the child
 * makes mounts, and a child that is started ahead does it itself.
 */
#include "image.h"
#include "../platform.h"
#include "sys.h"

#include <asm/errno.h>
#include <asm/fcntl.h>
#include <linux/openat2.h>

#define AT_CWD	 (-100)
#define PATH_MAX 4096

struct filler {
	const struct pc_image *image;
	const char *text; /* the plan's */
	int ruleset;
	struct pc_inode *hidden;
	size_t hidden_count;
	/* The directory of the rule before: siblings stand together in a plan, and their common way is walked once. */
	const char *parent; /* some entry in it */
	size_t parent_size; /* of the directory's part of that path */
	int parent_fd;	    /* -1: none */
};

static struct pc_inode inode_of(const struct pc_statx *st)
{
	return (struct pc_inode) { .major = st->dev_major, .minor = st->dev_minor, .ino = st->ino };
}

static bool is_hidden(const struct filler *filler, const struct pc_statx *st)
{
	size_t i;

	for (i = 0; i < filler->hidden_count; i++) {
		const struct pc_inode *hidden = &filler->hidden[i];

		if (hidden->ino == st->ino && hidden->major == st->dev_major && hidden->minor == st->dev_minor)
			return true;
	}
	return false;
}

/* Up to its last slash. */
static size_t directory_size(const char *path)
{
	size_t i, size = 0;

	for (i = 0; path[i]; i++)
		if (path[i] == '/')
			size = i;
	return size;
}

static bool is_parent(const struct filler *filler, const char *path, size_t size)
{
	size_t i;

	if (filler->parent_fd < 0 || filler->parent_size != size)
		return false;
	/* From the end: that is where two directories differ. */
	for (i = size; i > 0; i--)
		if (filler->parent[i - 1] != path[i - 1])
			return false;
	return true;
}

static int open_parent(struct filler *filler, const char *path, size_t size)
{
	char directory[PATH_MAX];
	size_t i;
	int fd;

	if (is_parent(filler, path, size))
		return 0;
	for (i = 0; i < size; i++)
		directory[i] = path[i];
	directory[size] = '\0';
	fd = pc_open_resolved(directory);
	if (fd < 0)
		return fd;
	if (filler->parent_fd >= 0)
		pc_sys_close(filler->parent_fd);
	filler->parent = path;
	filler->parent_size = size;
	filler->parent_fd = fd;
	return 0;
}

static int open_in_parent(struct filler *filler, const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	size_t size = directory_size(path);
	int rc;

	/* The root, entries of the root, and what has no name of its own. */
	if (size == 0 || !path[size + 1] || size >= PATH_MAX)
		return pc_open_resolved(path);
	rc = open_parent(filler, path, size);
	if (rc < 0)
		return rc;
	rc = pc_sys_openat2(filler->parent_fd, path + size + 1, &how, sizeof(how));
	return rc == -ENOSYS ? pc_open_resolved(path) : rc;
}

/* A rule holds an inode: a second name of a hidden file, or a bind of a hidden directory, must not open it again. */
static int add_object(const struct filler *filler, const struct pc_op *op, int fd)
{
	struct pc_statx st;
	int rc;

	rc = pc_sys_statx(fd, "", PC_AT_EMPTY_PATH, PC_STATX_BASIC, &st);
	if (rc < 0)
		return rc;
	if ((st.mode & PC_S_IFMT) == PC_S_IFLNK)
		return -ELOOP;
	if (is_hidden(filler, &st))
		return 0;
	return pc_landlock_add_object(filler->ruleset, fd, (st.mode & PC_S_IFMT) == PC_S_IFDIR, op->value);
}

static int add_rule(struct filler *filler, const struct pc_op *op, const char *path)
{
	int fd, rc;

	fd = open_in_parent(filler, path);
	if (fd < 0)
		return fd;
	rc = add_object(filler, op, fd);
	pc_sys_close(fd);
	return rc;
}

/* What the host may not open, the command may not either; what is gone needs no grant. */
static bool is_absence(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -EACCES || error == -ENOMSG;
}

static int hide_inode(struct filler *filler, const char *path)
{
	struct pc_statx st;

	if (pc_sys_statx(AT_CWD, path, 0, PC_STATX_BASIC, &st) == 0)
		filler->hidden[filler->hidden_count++] = inode_of(&st);
	return 0; /* not there, or not ours to see: then no rule can name it either */
}

static const char *path_of(const struct filler *filler, const struct pc_op *op)
{
	if (op->a & PC_TEXT_RUN)
		return pc_image_at(filler->image, filler->image->run_text[op->a & ~PC_TEXT_RUN]);
	return filler->text + op->a;
}

static int add_op(struct filler *filler, const struct pc_op *op)
{
	int rc;

	switch (op->code) {
	case PC_OP_LANDLOCK_HIDE:
		return hide_inode(filler, path_of(filler, op));
	case PC_OP_LANDLOCK_PATH:
		rc = add_rule(filler, op, path_of(filler, op));
		return rc < 0 && op->flags & PC_OP_OPTIONAL && is_absence(rc) ? 0 : rc;
	case PC_OP_LANDLOCK_PORT:
		return pc_landlock_add_port(filler->ruleset, (uint16_t)op->a, op->value);
	default:
		return 0;
	}
}

int pc_ruleset_add_rules(const struct pc_image *image, int ruleset_fd, struct pc_inode *room, uint32_t *failed_op)
{
	const struct pc_plan_header *header = pc_image_at(image, image->plan_offset);
	const struct pc_op *ops = (const void *)(header + 1);
	struct filler filler = {
		.image = image,
		.text = (const char *)(ops + header->op_count),
		.ruleset = ruleset_fd,
		.hidden = room,
		.parent_fd = -1,
	};
	uint32_t i;
	int rc = 0;

	for (i = 0; i < header->op_count && ops[i].code < PC_OP_NAMESPACES; i++) {
		rc = add_op(&filler, &ops[i]);
		if (rc < 0) {
			*failed_op = i;
			break;
		}
	}
	if (filler.parent_fd >= 0)
		pc_sys_close(filler.parent_fd);
	return rc;
}
