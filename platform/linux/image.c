/* Lays out one run as one block: Plan, arrays, texts. See image.h. */
#include "image_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A block that grows from front to back; the size is known before, so nothing moves. */
struct layout {
	char *block;
	size_t used;
};

static size_t count_of(const char *const *list)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

static size_t texts_size(const char *const *list)
{
	size_t size = 0;

	for (; *list; list++)
		size += strlen(*list) + 1;
	return size;
}

static size_t align8(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static uint32_t put_text(struct layout *to, const char *text)
{
	size_t at = to->used, size = strlen(text) + 1;

	memcpy(to->block + at, text, size);
	to->used += size;
	return (uint32_t)at;
}

static uint32_t put_joined(struct layout *to, const char *a, const char *b)
{
	size_t at = to->used;

	memcpy(to->block + at, a, strlen(a));
	to->used += strlen(a);
	put_text(to, b);
	return (uint32_t)at;
}

/* An array of `count` offsets, an end mark, and `spare` slots before it. */
static uint32_t reserve_array(struct layout *to, size_t count, size_t spare)
{
	size_t at;

	to->used = align8(to->used) + spare * sizeof(uint64_t);
	at = to->used;
	to->used += (count + 1) * sizeof(uint64_t);
	return (uint32_t)at;
}

static void fill_array(struct layout *to, uint32_t at, const char *const *list)
{
	uint64_t *offsets = (uint64_t *)(void *)(to->block + at);

	for (; *list; list++)
		*offsets++ = put_text(to, *list);
}

static size_t image_size(size_t plan_size, const struct pc_command *command)
{
	size_t lists = count_of(command->argv) + count_of(command->envp) + count_of(command->programs) + 8;
	size_t texts = texts_size(command->argv) + texts_size(command->envp) + texts_size(command->programs) +
		       strlen(command->cwd) + 1;

	if (command->directory)
		texts += PC_RUN_TEXTS * (strlen(command->directory) + sizeof("/tmp"));
	return sizeof(struct pc_image) + align8(plan_size) + lists * sizeof(uint64_t) + texts + 64;
}

static void put_run_texts(struct layout *to, struct pc_image *image, const struct pc_command *command)
{
	image->run_text[PC_RUN_CWD] = put_text(to, command->cwd);
	if (!command->directory)
		return;
	image->run_text[PC_RUN_DIRECTORY] = put_text(to, command->directory);
	image->run_text[PC_RUN_TMP] = put_joined(to, command->directory, "/tmp");
	image->run_text[PC_RUN_VAR_TMP] = put_joined(to, command->directory, "/var");
	image->run_text[PC_RUN_SHM] = put_joined(to, command->directory, "/shm");
}

static const char *text_of(const struct pc_plan *plan, const struct pc_image *image, uint32_t reference)
{
	if (reference & PC_TEXT_RUN)
		return (const char *)image + image->run_text[reference & ~PC_TEXT_RUN];
	return plan->text + reference;
}

/* What the broker goes by: the texts of one operation, as offsets in the block. */
static uint32_t put_list(struct layout *to, const struct pc_image *image, const struct pc_plan *plan, uint32_t code,
			 uint32_t *offset)
{
	uint32_t count = 0, i;
	uint64_t *at;

	for (i = 0; i < plan->op_count; i++)
		count += plan->ops[i].code == code;
	*offset = reserve_array(to, count, 0);
	at = (uint64_t *)(void *)(to->block + *offset);
	for (i = 0; i < plan->op_count; i++)
		if (plan->ops[i].code == code)
			*at++ = put_text(to, text_of(plan, image, plan->ops[i].a));
	return count;
}

static void put_lists(struct layout *to, struct pc_image *image, const struct pc_plan *plan)
{
	image->socket_trees = put_list(to, image, plan, PC_OP_SOCKET_TREE, &image->socket_trees_offset);
	image->socket_hidden = put_list(to, image, plan, PC_OP_SOCKET_HIDDEN, &image->socket_hidden_offset);
	image->roots = put_list(to, image, plan, PC_OP_NAME_ROOT, &image->roots_offset);
	image->names = put_list(to, image, plan, PC_OP_NAME_ABSENT, &image->names_offset);
	image->absent = put_list(to, image, plan, PC_OP_PATH_ABSENT, &image->absent_offset);
}

static bool is_listed(uint32_t code)
{
	return code == PC_OP_SOCKET_TREE || code == PC_OP_SOCKET_HIDDEN || code == PC_OP_NAME_ROOT ||
	       code == PC_OP_NAME_ABSENT || code == PC_OP_PATH_ABSENT;
}

static size_t lists_size(const struct pc_plan *plan, const struct pc_command *command)
{
	size_t size = 112, i;

	for (i = 0; i < plan->op_count; i++) {
		if (!is_listed(plan->ops[i].code))
			continue;
		size += sizeof(uint64_t);
		if (!(plan->ops[i].a & PC_TEXT_RUN))
			size += strlen(plan->text + plan->ops[i].a) + 1;
		else
			size += strlen(command->cwd) + (command->directory ? strlen(command->directory) : 0) + sizeof("/tmp");
	}
	return size;
}

/* Every run text that the plan mentions must be there: an absent one would be read as the start of the block. */
static bool has_run_texts(const struct pc_plan *plan, const struct pc_image *image)
{
	uint32_t i;

	for (i = 0; i < plan->op_count; i++) {
		const struct pc_op *op = &plan->ops[i];

		if (op->code == PC_OP_SECCOMP || op->code == PC_OP_RLIMIT || op->code == PC_OP_LANDLOCK_HANDLE)
			continue;
		if (op->a & PC_TEXT_RUN && !image->run_text[op->a & ~PC_TEXT_RUN])
			return false;
		if (op->b & PC_TEXT_RUN && !image->run_text[op->b & ~PC_TEXT_RUN])
			return false;
	}
	return true;
}

static void put_chosen(struct pc_image *image, const struct pc_command *command)
{
	if (!command->is_chosen)
		return;
	image->flags |= PC_IMAGE_CHOSEN;
	image->chosen_major = major(command->chosen_dev);
	image->chosen_minor = minor(command->chosen_dev);
	image->chosen_ino = command->chosen_ino;
	image->chosen_ctime_ns = command->chosen_ctime_ns;
}

static void put_words(struct layout *to, struct pc_image *image, const struct pc_command *command)
{
	image->argc = (uint32_t)count_of(command->argv);
	image->envc = (uint32_t)count_of(command->envp);
	image->programs = (uint32_t)count_of(command->programs);
	image->argv_offset = reserve_array(to, image->argc, 1);
	image->envp_offset = reserve_array(to, image->envc, 0);
	image->programs_offset = reserve_array(to, image->programs, 0);
	fill_array(to, image->argv_offset, command->argv);
	fill_array(to, image->envp_offset, command->envp);
	fill_array(to, image->programs_offset, command->programs);
	put_chosen(image, command);
}

/* The kernel takes no more than a quarter of the stack for words anyway; this bounds the offsets. */
#define MAX_SIZE (64u << 20)

int pc_words_build(const struct pc_command *command, struct pc_image **built)
{
	struct layout to = { .used = sizeof(struct pc_image) };
	size_t size = image_size(0, command);
	struct pc_image *words;

	if (size > MAX_SIZE)
		return -E2BIG;
	words = calloc(1, size);
	if (!words)
		return -ENOMEM;
	to.block = (char *)words;
	words->magic = PC_IMAGE_MAGIC;
	words->size = (uint32_t)size;
	words->flags = command->stdin_fd < 0 ? PC_IMAGE_STDIN_NULL : 0;
	put_words(&to, words, command);
	put_run_texts(&to, words, command);
	*built = words;
	return 0;
}

int pc_image_build(const struct pc_plan *plan, const void *plan_bytes, size_t plan_size, uint32_t flags,
		   const struct pc_command *command, struct pc_image **built)
{
	size_t size = image_size(plan_size, command) + lists_size(plan, command);
	struct layout to = { .used = sizeof(struct pc_image) };
	struct pc_image *image;

	if (size > MAX_SIZE)
		return -E2BIG;
	image = calloc(1, size);
	if (!image)
		return -ENOMEM;
	to.block = (char *)image;
	*image = (struct pc_image) {
		.magic = PC_IMAGE_MAGIC,
		.size = (uint32_t)size,
		.flags = flags,
		.uid = geteuid(),
		.gid = getegid(),
		.plan_size = (uint32_t)plan_size,
	};
	to.used = align8(to.used);
	image->plan_offset = (uint32_t)to.used;
	memcpy(to.block + to.used, plan_bytes, plan_size);
	to.used += align8(plan_size);

	put_words(&to, image, command);
	if (command->domain_name)
		strncpy(image->domain_name, command->domain_name, sizeof(image->domain_name) - 1);
	put_run_texts(&to, image, command);
	if (!has_run_texts(plan, image)) {
		free(image);
		return -EINVAL;
	}
	put_lists(&to, image, plan);
	*built = image;
	return 0;
}
