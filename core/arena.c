#include "core/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((size_t)64 << 10)

/* A sanitizer sees a use of what was freed where free(3) was called: then no block is small. */
#ifdef PC_NO_ARENA
#define MAX_SMALL ((size_t)0)
#else
#define MAX_SMALL ((size_t)PC_ARENA_STEP * (PC_ARENA_CLASSES - 1))
#endif

/* In a block that is free, and at the head of a piece. */
struct pc_arena_block {
	struct pc_arena_block *next;
	uint64_t unused; /* what follows stays aligned for any type */
};

static size_t class_of(size_t size)
{
	return (size + PC_ARENA_STEP - 1) / PC_ARENA_STEP;
}

static void *take(struct pc_arena *arena, size_t size)
{
	size_t class = class_of(size), bytes = class * PC_ARENA_STEP;
	struct pc_arena_block *block = arena->free[class];

	if (block) {
		arena->free[class] = block->next;
		return block;
	}
	if ((size_t)(arena->end - arena->at) < bytes) {
		struct pc_arena_block *piece = malloc(PIECE_BYTES);

		if (!piece)
			return NULL;
		piece->next = arena->pieces;
		arena->pieces = piece;
		/* The few bytes left of the one before are lost. */
		arena->at = (char *)(piece + 1);
		arena->end = (char *)piece + PIECE_BYTES;
	}
	arena->at += bytes;
	return arena->at - bytes;
}

static void give_back(struct pc_arena *arena, void *block, size_t size)
{
	struct pc_arena_block *freed = block;

	if (size > MAX_SMALL) {
		free(block);
		return;
	}
	freed->next = arena->free[class_of(size)];
	arena->free[class_of(size)] = freed;
}

void *pc_arena_resize(void *data, void *block, size_t old_size, size_t new_size)
{
	struct pc_arena *arena = data;
	/* For a new block the old size is a type. */
	size_t old = block ? old_size : 0;
	void *result;

	if (new_size == 0) {
		if (block)
			give_back(arena, block, old);
		return NULL;
	}
	if (block && old > MAX_SMALL && new_size > MAX_SMALL)
		return realloc(block, new_size);
	if (block && old <= MAX_SMALL && new_size <= MAX_SMALL && class_of(old) == class_of(new_size))
		return block;
	result = new_size > MAX_SMALL ? malloc(new_size) : take(arena, new_size);
	/* Lua relies on it that a block can always become smaller. One of malloc's is then taken for one of ours. */
	if (!result && block && new_size <= old)
		return block;
	if (result && block) {
		memcpy(result, block, old < new_size ? old : new_size);
		give_back(arena, block, old);
	}
	return result;
}

void pc_arena_release(struct pc_arena *arena)
{
	while (arena->pieces) {
		struct pc_arena_block *piece = arena->pieces;

		arena->pieces = piece->next;
		free(piece);
	}
	memset(arena, 0, sizeof(*arena));
}
