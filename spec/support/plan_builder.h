/* Plans made by hand, for tests: operations in order and one block of text, laid out as core/plan.h says. */
#ifndef PROCAGE_SPEC_PLAN_BUILDER_H
#define PROCAGE_SPEC_PLAN_BUILDER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan.h"

struct plan_builder {
	uint32_t magic, version;
	struct pc_op ops[256];
	uint32_t op_count;
	char text[4096];
	uint32_t text_size;
};

static inline void builder_init(struct plan_builder *b)
{
	memset(b, 0, sizeof(*b));
	b->magic = PC_PLAN_MAGIC;
	b->version = PC_PLAN_VERSION;
	b->text_size = 1; /* offset 0: the empty text */
}

/* Bytes for the text block, at a multiple of `align`. Their offset. */
static inline uint32_t builder_bytes(struct plan_builder *b, const void *data, size_t size, uint32_t align)
{
	uint32_t at = (b->text_size + align - 1) / align * align;

	if (at + size > sizeof(b->text))
		abort();
	memcpy(b->text + at, data, size);
	b->text_size = at + (uint32_t)size;
	return at;
}

static inline uint32_t builder_text(struct plan_builder *b, const char *text)
{
	return builder_bytes(b, text, strlen(text) + 1, 1);
}

/* Puts an operation before number `at`. It stays valid until the next one is put or taken. */
static inline struct pc_op *builder_insert(struct plan_builder *b, uint32_t at, uint32_t code)
{
	if (b->op_count == sizeof(b->ops) / sizeof(b->ops[0]) || at > b->op_count)
		abort();
	memmove(&b->ops[at + 1], &b->ops[at], (b->op_count - at) * sizeof(b->ops[0]));
	b->op_count++;
	b->ops[at] = (struct pc_op) { .code = code };
	return &b->ops[at];
}

static inline struct pc_op *builder_add(struct plan_builder *b, uint32_t code)
{
	return builder_insert(b, b->op_count, code);
}

static inline struct pc_op *builder_add_path(struct plan_builder *b, uint32_t code, const char *path, uint64_t value)
{
	struct pc_op *op = builder_add(b, code);

	op->a = builder_text(b, path);
	op->value = value;
	return op;
}

/* The index of the first operation of this code; there must be one. */
static inline uint32_t builder_index(const struct plan_builder *b, uint32_t code)
{
	uint32_t i;

	for (i = 0; i < b->op_count; i++)
		if (b->ops[i].code == code)
			return i;
	abort();
}

static inline struct pc_op *builder_find(struct plan_builder *b, uint32_t code)
{
	return &b->ops[builder_index(b, code)];
}

static inline void builder_remove(struct plan_builder *b, uint32_t code)
{
	uint32_t at = builder_index(b, code);

	b->op_count--;
	memmove(&b->ops[at], &b->ops[at + 1], (b->op_count - at) * sizeof(b->ops[0]));
}

/* The plan as bytes, in a block of exactly its size, so that a sanitizer sees one byte too many. The caller frees. */
static inline void *builder_finish(const struct plan_builder *b, size_t *size)
{
	struct pc_plan_header header = { b->magic, b->version, b->op_count, b->text_size + 1 };
	size_t ops_size = b->op_count * sizeof(b->ops[0]);
	char *bytes;

	*size = sizeof(header) + ops_size + header.text_size;
	bytes = calloc(1, *size);
	if (!bytes)
		abort();
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), b->ops, ops_size);
	memcpy(bytes + sizeof(header) + ops_size, b->text, b->text_size);
	return bytes;
}

#endif
