/* The arena's blocks keep what is in them, whatever sizes they go through, and none lies in another. */
#include "core/arena.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#define BLOCKS 400
#define ROUNDS 200000

struct block {
	unsigned char *bytes;
	size_t size;
};

static int failed;

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	failed = 1;
}

/* The same numbers each time. */
static unsigned int next_number(void)
{
	static unsigned int state = 1;

	state = state * 1103515245u + 12345u;
	return state >> 8;
}

static size_t next_size(void)
{
	/* Most are small, some none, a few large; the borders of sizes come up. */
	switch (next_number() % 8) {
	case 0:
		return 0;
	case 1:
		return next_number() % 5000;
	default:
		return next_number() % 600;
	}
}

static unsigned char mark(size_t index)
{
	return (unsigned char)(index * 7 + 1);
}

static void check(const struct block *block, size_t index, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (block->bytes[i] != mark(index)) {
			fail("a block lost what was in it");
			return;
		}
}

static void resize(struct pc_arena *arena, struct block *block, size_t index, size_t size)
{
	/* Of a new block Lua says its type in place of a size. */
	unsigned char *got = pc_arena_resize(arena, block->bytes, block->bytes ? block->size : 5, size);

	if (size == 0 ? got != NULL : got == NULL || (size_t)got % _Alignof(max_align_t) != 0) {
		fail("no block, or one that is not aligned");
		exit(1);
	}
	block->bytes = got;
	check(block, index, block->size < size ? block->size : size);
	block->size = size;
	if (got)
		memset(got, mark(index), size);
}

static void walk_sizes(void)
{
	static struct block blocks[BLOCKS];
	struct pc_arena arena = { 0 };
	size_t i;

	for (i = 0; i < ROUNDS; i++) {
		size_t index = next_number() % BLOCKS;

		resize(&arena, &blocks[index], index, next_size());
	}
	for (i = 0; i < BLOCKS; i++)
		resize(&arena, &blocks[i], i, 0);
	pc_arena_release(&arena);
}

/* A state in it works, collects and closes. */
static void run_lua(void)
{
	static const char script[] = "local t = {} for i = 1, 20000 do t[i % 100] = { tostring(i), ('x'):rep(i % 700) } end "
				     "collectgarbage() return #t";
	struct pc_arena arena = { 0 };
	lua_State *L = lua_newstate(pc_arena_resize, &arena);

	if (!L) {
		fail("no state");
		return;
	}
	luaL_openlibs(L);
	if (luaL_dostring(L, script) || lua_tointeger(L, -1) != 99)
		fail(lua_tostring(L, -1));
	lua_close(L);
	pc_arena_release(&arena);
}

int main(void)
{
	walk_sizes();
	run_lua();
	return failed;
}
