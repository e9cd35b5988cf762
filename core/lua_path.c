/*
 * Bindings: paths as text, the part of lua/procage/path.lua that a plan asks for some ten thousand times, and a policy script some
 * thousand: in Lua each of them is half a dozen calls of its string library.
 */
#include "lua_check.h"
#include "lua_core.h"
#include "lua_path.h"
#include "lua_script.h"

#include <stdbool.h>
#include <string.h>

#include <lauxlib.h>

/* In a closed state (the upvalue) a text that is walked is paid for, as there everywhere. */
static void pay(lua_State *L, size_t size)
{
	int64_t *steps;

	if (!lua_toboolean(L, lua_upvalueindex(1)))
		return;
	steps = pc_script_steps(L);
	*steps -= (int64_t)(1 + size / 16);
	if (*steps < 0)
		pc_script_exhausted(L);
}

static const char *check_text(lua_State *L, int arg, size_t *size)
{
	const char *text = pc_check_string(L, arg, size);

	pay(L, *size);
	return text;
}

/* Whether a name of one dot, or with `parents` of two, begins at `at`. */
static bool is_dots(const char *at, const char *end, bool parents)
{
	size_t dots = 0;

	while (at + dots < end && dots < 3 && at[dots] == '.')
		dots++;
	return (dots == 1 || (parents && dots == 2)) && (at + dots == end || at[dots] == '/');
}

/* Whether no slash is doubled or last, and no name after one is a dot (or two). */
static bool is_tidy(const char *text, size_t size, bool parents)
{
	const char *end = text + size, *slash;

	for (slash = memchr(text, '/', size); slash; slash = memchr(slash + 1, '/', (size_t)(end - slash - 1))) {
		if (slash + 1 == end || slash[1] == '/' || is_dots(slash + 1, end, parents))
			return false;
	}
	return true;
}

/* path_is_normal(text) -> boolean */
static int path_is_normal(lua_State *L)
{
	size_t size;
	const char *text = check_text(L, 1, &size);
	bool is_root = size == 1 && *text == '/';

	lua_pushboolean(L, is_root || (size > 0 && strncmp(text, "./", 2) != 0 && is_tidy(text, size, false)));
	return 1;
}

/* path_is_plain(text) -> boolean */
static int path_is_plain(lua_State *L)
{
	size_t size;
	const char *text = check_text(L, 1, &size);

	lua_pushboolean(L, *text == '/' && (size == 1 || is_tidy(text, size, true)));
	return 1;
}

/* path_are_plain(texts) -> boolean: each of a list is a text without a NUL byte, and plain */
static int path_are_plain(lua_State *L)
{
	lua_Integer i;

	luaL_checktype(L, 1, LUA_TTABLE);
	for (i = 1; lua_rawgeti(L, 1, i) == LUA_TSTRING; i++) {
		size_t size;
		const char *text = lua_tolstring(L, -1, &size);

		pay(L, size);
		if (*text != '/' || (size > 1 && !is_tidy(text, size, true)) || memchr(text, '\0', size))
			break;
		lua_pop(L, 1);
	}
	lua_pushboolean(L, lua_isnil(L, -1) && (lua_Integer)lua_rawlen(L, 1) == i - 1);
	return 1;
}

/* path_split(text) -> directory, name | nil */
static int path_split(lua_State *L)
{
	size_t size;
	const char *text = check_text(L, 1, &size);
	const char *slash = memrchr(text, '/', size);

	if (!slash || slash + 1 == text + size)
		return 0;
	/* The root's own slash stays. */
	lua_pushlstring(L, text, slash == text ? 1 : (size_t)(slash - text));
	lua_pushlstring(L, slash + 1, (size_t)(text + size - slash - 1));
	return 2;
}

static bool lies_in(const char *text, size_t size, const char *tree, size_t tree_size)
{
	if (tree_size == 1 && *tree == '/')
		return true;
	return size >= tree_size && (size == tree_size || text[tree_size] == '/') && memcmp(text, tree, tree_size) == 0;
}

/* path_lies_in(text, tree) -> boolean */
static int path_lies_in(lua_State *L)
{
	size_t size, tree_size;
	const char *text = check_text(L, 1, &size), *tree = check_text(L, 2, &tree_size);

	lua_pushboolean(L, lies_in(text, size, tree, tree_size));
	return 1;
}

/* path_tree_of(text, trees) -> the first of the list that the text lies in | nil */
static int path_tree_of(lua_State *L)
{
	size_t size, tree_size;
	const char *text = check_text(L, 1, &size);
	lua_Integer i;

	luaL_checktype(L, 2, LUA_TTABLE);
	for (i = 1; lua_rawgeti(L, 2, i) == LUA_TSTRING; i++) {
		const char *tree = lua_tolstring(L, -1, &tree_size);

		pay(L, tree_size);
		if (lies_in(text, size, tree, tree_size))
			return 1;
		lua_pop(L, 1);
	}
	if (!lua_isnil(L, -1))
		return luaL_argerror(L, 2, "a list of texts is expected");
	return 0;
}

struct tree {
	const char *text;
	size_t size;
};

/* The trees of the list at 2, on the stack top, which the list keeps alive. */
static const struct tree *push_trees(lua_State *L, size_t *count)
{
	struct tree *trees;
	size_t i;

	*count = (size_t)luaL_len(L, 2);
	trees = lua_newuserdatauv(L, (*count + 1) * sizeof(*trees), 0);
	for (i = 0; i < *count; i++) {
		luaL_argcheck(L, lua_rawgeti(L, 2, (lua_Integer)i + 1) == LUA_TSTRING, 2, "a list of texts is expected");
		trees[i].text = lua_tolstring(L, -1, &trees[i].size);
		lua_pop(L, 1);
	}
	return trees;
}

/* path_beneath(texts, trees[, most]) -> those of the texts that lie in one of the trees, `most` at most */
static int path_beneath(lua_State *L)
{
	lua_Integer most = luaL_optinteger(L, 3, LUA_MAXINTEGER), i, found = 0;
	const struct tree *trees;
	size_t count, size, t;

	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	trees = push_trees(L, &count);
	lua_newtable(L);
	for (i = 1; found < most && lua_rawgeti(L, 1, i) == LUA_TSTRING; i++) {
		const char *text = lua_tolstring(L, -1, &size);

		pay(L, size + 16 * count);
		for (t = 0; t < count && !lies_in(text, size, trees[t].text, trees[t].size); t++)
			;
		if (t < count)
			lua_rawseti(L, 4, ++found);
		lua_settop(L, 4);
	}
	luaL_argcheck(L, lua_isnoneornil(L, 5), 1, "a list of texts is expected");
	lua_settop(L, 4);
	return 1;
}

/* The size of what is above a path; 0 for the root and for a single name. */
static size_t parent_size(const char *text, size_t size)
{
	const char *slash = memrchr(text, '/', size);

	if (!slash || size < 2)
		return 0;
	return slash == text ? 1 : (size_t)(slash - text);
}

void pc_add_above(lua_State *L, int set, const char *text, size_t size)
{
	while ((size = parent_size(text, size)) > 0) {
		lua_pushlstring(L, text, size);
		lua_pushvalue(L, -1);
		/* Above one that is known everything is: hundreds of paths share a few ancestors. */
		if (lua_rawget(L, set) != LUA_TNIL) {
			lua_pop(L, 2);
			return;
		}
		lua_pop(L, 1);
		lua_pushboolean(L, true);
		lua_rawset(L, set);
	}
}

/* path_above(paths) -> {directory = true, ...}: every directory above any of them */
static int path_above(lua_State *L)
{
	lua_Integer i;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	lua_newtable(L);
	for (i = 1; lua_rawgeti(L, 1, i) == LUA_TSTRING; i++) {
		size_t size;
		const char *text = lua_tolstring(L, 3, &size);

		pay(L, size);
		pc_add_above(L, 2, text, size);
		lua_settop(L, 2);
	}
	if (!lua_isnil(L, 3))
		return luaL_argerror(L, 1, "a list of texts is expected");
	lua_settop(L, 2);
	return 1;
}

bool pc_push_lower(lua_State *L, const char *text, size_t size)
{
	luaL_Buffer buffer;
	char *lower;
	size_t i;

	for (i = 0; i < size; i++) {
		if ((unsigned char)text[i] >= 0x80)
			return false;
	}
	lower = luaL_buffinitsize(L, &buffer, size);
	for (i = 0; i < size; i++)
		lower[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]);
	luaL_pushresultsize(&buffer, size);
	return true;
}

/* path_lower(text) -> the text in small letters | nil: not all of it is ASCII */
static int path_lower(lua_State *L)
{
	size_t size;
	const char *text = check_text(L, 1, &size);

	return pc_push_lower(L, text, size);
}

void pc_open_path(lua_State *L, bool is_closed)
{
	static const luaL_Reg functions[] = {
		{ "path_is_normal", path_is_normal }, { "path_is_plain", path_is_plain },
		{ "path_split", path_split },	      { "path_lies_in", path_lies_in },
		{ "path_tree_of", path_tree_of },     { "path_above", path_above },
		{ "path_lower", path_lower },	      { "path_are_plain", path_are_plain },
		{ "path_beneath", path_beneath },     { NULL, NULL },
	};

	lua_pushboolean(L, is_closed);
	luaL_setfuncs(L, functions, 1);
}
