/* Bindings: of a flat Plan the operations of which there are hundreds, for lua/procage/flat.lua. */
#include "lua_check.h"
#include "lua_core.h"
#include "plan.h"

#include <string.h>

#include <lauxlib.h>

/* The path of rule i, on the stack top as long as it is used; NULL: a text of the run, whose reference is written. */
static const char *rule_path(lua_State *L, lua_Integer i, size_t *size, uint32_t *run)
{
	const char *path;

	if (lua_rawgeti(L, 1, i) != LUA_TTABLE)
		luaL_error(L, "rule %d is no table", (int)i);
	if (lua_getfield(L, -1, "path") == LUA_TTABLE) {
		lua_getfield(L, -1, "run");
		*run = (uint32_t)luaL_checkinteger(L, -1);
		return NULL;
	}
	path = pc_check_string(L, lua_gettop(L), size);
	if (memchr(path, '\0', *size))
		luaL_error(L, "a NUL byte inside a text");
	return path;
}

/* What the texts of all rules take, each ended. */
static size_t texts_size(lua_State *L, lua_Integer count)
{
	size_t total = 0, size;
	uint32_t run;
	lua_Integer i;

	for (i = 1; i <= count; i++) {
		if (rule_path(L, i, &size, &run))
			total += size + 1;
		lua_settop(L, 2);
	}
	return total;
}

static void write_rule(lua_State *L, struct pc_op *op)
{
	*op = (struct pc_op) { .code = PC_OP_LANDLOCK_PATH };
	lua_getfield(L, 5, "optional");
	op->flags = lua_toboolean(L, -1) ? PC_OP_OPTIONAL : 0;
	lua_getfield(L, 5, "access");
	op->value = (uint64_t)luaL_checkinteger(L, -1);
}

/*
 * core.flat_rules(rules, at) -> operations, texts: "landlock_path" for each {path =, access =, optional =}, as bytes; `at` is where
 * the texts will stand in the plan's block.
 */
static int flat_rules(lua_State *L)
{
	lua_Integer at, i, count;
	size_t size, filled = 0, total;
	struct pc_op *ops;
	char *texts;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 2);
	at = pc_check_range(L, 2, 0, PC_MAX_PLAN);
	count = luaL_len(L, 1);
	luaL_argcheck(L, count <= (lua_Integer)PC_MAX_OPS, 1, "too many rules");
	total = texts_size(L, count);
	ops = lua_newuserdatauv(L, (size_t)(count + 1) * sizeof(*ops), 0);
	texts = lua_newuserdatauv(L, total + 1, 0);
	for (i = 1; i <= count; i++) {
		uint32_t place = (uint32_t)((size_t)at + filled);
		const char *path = rule_path(L, i, &size, &place);

		/* The second look at the same list: it cannot have grown. */
		if (path && filled + size < total) {
			memcpy(texts + filled, path, size + 1);
			filled += size + 1;
		}
		write_rule(L, &ops[i - 1]);
		ops[i - 1].a = place;
		lua_settop(L, 4);
	}
	lua_pushlstring(L, (const char *)ops, (size_t)count * sizeof(*ops));
	lua_pushlstring(L, texts, filled);
	return 2;
}

void pc_open_flat(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "flat_rules", flat_rules },
		{ NULL, NULL },
	};

	luaL_setfuncs(L, functions, 0);
}
