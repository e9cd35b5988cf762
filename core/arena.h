/*
 * Memory for a Lua state that is there for a moment and is made of small blocks: some forty thousand of them for one run of the
 * program. They are cut off large pieces, one after another, and go into lists by their size when Lua lets go of them; a
 * general allocator would look for the best place and join neighbours. What one size took no other gets again: not for a state
 * that a script can fill.
 */
#ifndef PROCAGE_ARENA_H
#define PROCAGE_ARENA_H

#include <stddef.h>

#define PC_ARENA_STEP	 16
#define PC_ARENA_CLASSES 33 /* blocks of up to 512 bytes; larger ones are malloc's */

/* All zero at first. */
struct pc_arena {
	struct pc_arena_block *free[PC_ARENA_CLASSES];
	struct pc_arena_block *pieces;
	char *at, *end; /* what is left of the last piece */
};

/* As lua_Alloc wants it. arena: a struct pc_arena */
void *pc_arena_resize(void *arena, void *block, size_t old_size, size_t new_size);

/* Once every block was let go of. */
void pc_arena_release(struct pc_arena *arena);

#endif
