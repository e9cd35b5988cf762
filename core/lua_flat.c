/* Bindings: of a flat Plan the operations of which there are hundreds, for lua/procage/flat.lua. */
#include "lua_check.h"
#include "lua_core.h"
#include "plan.h"

#include <string.h>

#include <lauxlib.h>

/* Of core.flat_rules: where things are on its stack. */
enum { RULES = 1, AT, OPS, TEXTS, RULE, PATHS };

/* A rule and its paths, at their places; how many. */
static lua_Integer take_rule(lua_State *L, lua_Integer i)
{
	lua_settop(L, TEXTS);
	if (lua_rawgeti(L, RULES, i) != LUA_TTABLE || lua_getfield(L, RULE, "paths") != LUA_TTABLE)
		luaL_error(L, "rule %d is no table with paths", (int)i);
	return luaL_len(L, PATHS);
}

/* The path i of a rule, on the stack top as long as it is used; NULL: a text of the run, whose reference is written. */
static const char *rule_path(lua_State *L, lua_Integer i, size_t *size, uint32_t *run)
{
	const char *path;

	if (lua_rawgeti(L, PATHS, i) == LUA_TTABLE) {
		lua_getfield(L, -1, "run");
		*run = (uint32_t)luaL_checkinteger(L, -1);
		return NULL;
	}
	path = pc_check_string(L, lua_gettop(L), size);
	if (memchr(path, '\0', *size))
		luaL_error(L, "a NUL byte inside a text");
	return path;
}

/* How many paths all rules have, and what their texts take, each ended. */
static lua_Integer count_paths(lua_State *L, lua_Integer rules, size_t *total)
{
	lua_Integer i, j, paths, count = 0;
	uint32_t run;
	size_t size;

	*total = 0;
	for (i = 1; i <= rules; i++) {
		paths = take_rule(L, i);
		count += paths;
		for (j = 1; j <= paths; j++) {
			if (rule_path(L, j, &size, &run))
				*total += size + 1;
			lua_settop(L, PATHS);
		}
	}
	return count;
}

/* What the operations of a rule have in common. */
static struct pc_op rule_op(lua_State *L)
{
	struct pc_op op = { .code = PC_OP_LANDLOCK_PATH };

	lua_getfield(L, RULE, "optional");
	op.flags = lua_toboolean(L, -1) ? PC_OP_OPTIONAL : 0;
	lua_getfield(L, RULE, "access");
	op.value = (uint64_t)luaL_checkinteger(L, -1);
	lua_settop(L, PATHS);
	return op;
}

/*
 * core.flat_rules(rules, at) -> operations, texts, count: "landlock_path" for each path of each {paths =, access =, optional =}, as
 * bytes; `at` is where the texts will stand in the plan's block.
 */
static int flat_rules(lua_State *L)
{
	size_t size, filled = 0, total;
	lua_Integer at, i, j, rules, count, made = 0;
	struct pc_op *ops;
	char *texts;

	luaL_checktype(L, RULES, LUA_TTABLE);
	at = pc_check_range(L, AT, 0, PC_MAX_PLAN);
	lua_settop(L, TEXTS);
	rules = luaL_len(L, RULES);
	count = count_paths(L, rules, &total);
	luaL_argcheck(L, count <= (lua_Integer)PC_MAX_OPS, RULES, "too many rules");
	lua_settop(L, AT);
	ops = lua_newuserdatauv(L, (size_t)(count + 1) * sizeof(*ops), 0);
	texts = lua_newuserdatauv(L, total + 1, 0);
	for (i = 1; i <= rules; i++) {
		lua_Integer paths = take_rule(L, i);
		struct pc_op op = rule_op(L);

		/* The second look at the same lists: they cannot have grown. */
		for (j = 1; j <= paths && made < count; j++) {
			const char *path;

			op.a = (uint32_t)((size_t)at + filled);
			path = rule_path(L, j, &size, &op.a);
			if (path && filled + size < total) {
				memcpy(texts + filled, path, size + 1);
				filled += size + 1;
			}
			ops[made++] = op;
			lua_settop(L, PATHS);
		}
	}
	lua_pushlstring(L, (const char *)ops, (size_t)made * sizeof(*ops));
	lua_pushlstring(L, texts, filled);
	lua_pushinteger(L, made);
	return 3;
}

void pc_open_flat(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "flat_rules", flat_rules },
		{ NULL, NULL },
	};

	luaL_setfuncs(L, functions, 0);
}
