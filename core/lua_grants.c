/*
 * Bindings: what is granted of a tree when some of it is denied, for lua/procage/grants.lua, which says why. A plan walks some
 * thirty directories with a thousand entries for it.
 */
#include <stdbool.h>
#include <string.h>

#include <lauxlib.h>

#include "lua_check.h"
#include "lua_core.h"
#include "lua_listing.h"
#include "lua_path.h"

/* Of core.denied_index and core.granted: where their arguments are. */
enum { NAMES = 1, FOLD, EXACT, ABOVE };
enum { TREE = 1, DENIED, PATHS, STAMPS, OF_EXACT, OF_ABOVE, OF_FILES, OF_FOLD, OF_KNOWN };

#define MAX_ENTRIES 1000000

/* Pushes a text as names compare; nearly all are of ASCII, and Lua folds the others. */
static void push_folded(lua_State *L, const char *text, size_t size, int fold)
{
	if (pc_push_lower(L, text, size))
		return;
	lua_pushvalue(L, fold);
	lua_pushlstring(L, text, size);
	lua_call(L, 1, 1);
}

/* core.denied_index(names, fold) -> {folded = true, ...}, {directory = true, ...}: the names, and every directory above one */
static int denied_index(lua_State *L)
{
	lua_Integer i;

	luaL_checktype(L, NAMES, LUA_TTABLE);
	luaL_checktype(L, FOLD, LUA_TFUNCTION);
	lua_settop(L, FOLD);
	lua_newtable(L);
	lua_newtable(L);
	for (i = 1; lua_rawgeti(L, NAMES, i) == LUA_TSTRING; i++) {
		const char *text;
		size_t size;

		text = lua_tolstring(L, -1, &size);
		push_folded(L, text, size, FOLD);
		text = pc_check_string(L, lua_gettop(L), &size);
		pc_add_above(L, ABOVE, text, size);
		lua_pushboolean(L, true);
		lua_rawset(L, EXACT);
		lua_settop(L, ABOVE);
	}
	if (!lua_isnil(L, -1))
		return luaL_argerror(L, NAMES, "a list of texts is expected");
	lua_settop(L, ABOVE);
	return 2;
}

static bool is_in(lua_State *L, int set, int text)
{
	bool is;

	lua_pushvalue(L, text);
	is = lua_rawget(L, set) != LUA_TNIL;
	lua_pop(L, 1);
	return is;
}

/* Whether a name is one of the hidden files in its directory (a list at `files`) and more: .netrc~, credentials.bak, .npmrc.1234. */
static bool is_copy(lua_State *L, int files, const char *name)
{
	lua_Integer i;

	for (i = 1; lua_rawgeti(L, files, i) == LUA_TSTRING; i++) {
		size_t size;
		const char *hidden = lua_tolstring(L, -1, &size);
		bool is = strncmp(name, hidden, size) == 0 && name[size] && strchr(".~#-_", name[size]);

		lua_pop(L, 1);
		if (is)
			return true;
	}
	lua_pop(L, 1);
	return false;
}

/* core.is_copy(name, hidden_names) -> boolean */
static int grants_is_copy(lua_State *L)
{
	const char *name = pc_check_string(L, 1, NULL);

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_pushboolean(L, is_copy(L, 2, name));
	return 1;
}

/* A link needs no rule, and a rule on one would be a rule on what it leads to, hidden or not. */
static bool is_granted(const char *kind)
{
	return !strcmp(kind, "file") || !strcmp(kind, "directory") || !strcmp(kind, "socket");
}

static void grant(lua_State *L, int path);

/* NOLINTNEXTLINE(misc-no-recursion) */
static void grant_entry(lua_State *L, int directory, int files, const char *name, const char *kind)
{
	const char *at = lua_tostring(L, directory);

	if (!is_granted(kind) || (!lua_isnil(L, files) && is_copy(L, files, name)))
		return;
	lua_pushfstring(L, "%s/%s", strcmp(at, "/") ? at : "", name);
	grant(L, lua_gettop(L));
	lua_pop(L, 1);
}

/* One that cannot be listed: known(directory) -> names, kinds. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void grant_known(lua_State *L, int directory, int files)
{
	int names, kinds;
	lua_Integer i;

	lua_pushvalue(L, OF_KNOWN);
	lua_pushvalue(L, directory);
	lua_call(L, 1, 2);
	kinds = lua_gettop(L);
	names = kinds - 1;
	luaL_checktype(L, names, LUA_TTABLE);
	luaL_checktype(L, kinds, LUA_TTABLE);
	for (i = 1; lua_rawgeti(L, names, i) == LUA_TSTRING; i++) {
		lua_pushvalue(L, -1);
		if (lua_rawget(L, kinds) == LUA_TSTRING)
			grant_entry(L, directory, files, lua_tostring(L, -2), lua_tostring(L, -1));
		lua_settop(L, kinds);
	}
	lua_settop(L, names - 1);
}

/* The entries of a directory with something denied in it, each by itself. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void grant_entries(lua_State *L, int directory)
{
	const struct pc_entry *entries;
	struct pc_listing *listing;
	int files;
	size_t i;

	/* Before it is listed: what comes meanwhile shows. */
	lua_pushvalue(L, directory);
	if (pc_push_mark(L, lua_tostring(L, directory)))
		lua_rawset(L, STAMPS);
	else
		lua_pop(L, 1);
	lua_pushvalue(L, directory);
	lua_rawget(L, OF_FILES);
	files = lua_gettop(L);
	if (pc_push_listing(L, lua_tostring(L, directory), MAX_ENTRIES, false, &listing) < 0) {
		grant_known(L, directory, files);
	} else {
		entries = pc_push_sorted(L, listing);
		for (i = 0; i < listing->count; i++)
			grant_entry(L, directory, files, entries[i].name, entries[i].kind);
	}
	lua_settop(L, files - 1);
}

/* Grants the path at an index but for what is denied in it. As deep as what is denied lies. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void grant(lua_State *L, int path)
{
	const char *text;
	size_t size;
	int folded;

	luaL_checkstack(L, 16, "directories inside directories");
	text = lua_tolstring(L, path, &size);
	push_folded(L, text, size, OF_FOLD);
	folded = lua_gettop(L);
	if (is_in(L, OF_EXACT, folded)) {
		lua_settop(L, folded - 1);
	} else if (is_in(L, OF_ABOVE, folded)) {
		lua_settop(L, folded - 1);
		grant_entries(L, path);
	} else {
		lua_pushvalue(L, path);
		lua_rawseti(L, PATHS, (lua_Integer)lua_rawlen(L, PATHS) + 1);
		lua_settop(L, folded - 1);
	}
}

static void push_field(lua_State *L, const char *key, int type)
{
	if (lua_getfield(L, DENIED, key) != type)
		luaL_error(L, "denied.%s: a %s is expected", key, lua_typename(L, type));
}

/*
 * core.granted(tree, denied, paths, stamps): adds to the list of paths those that are granted of a tree, and to the stamps the
 * mark of each directory that was looked into. denied: exact, above: sets of folded paths; files: directory -> names of hidden
 * files in it; fold(text); known(directory) -> names, kinds: of one that cannot be listed.
 */
static int granted(lua_State *L)
{
	pc_check_path(L, TREE);
	luaL_checktype(L, DENIED, LUA_TTABLE);
	luaL_checktype(L, PATHS, LUA_TTABLE);
	luaL_checktype(L, STAMPS, LUA_TTABLE);
	lua_settop(L, STAMPS);
	push_field(L, "exact", LUA_TTABLE);
	push_field(L, "above", LUA_TTABLE);
	push_field(L, "files", LUA_TTABLE);
	push_field(L, "fold", LUA_TFUNCTION);
	push_field(L, "known", LUA_TFUNCTION);
	grant(L, TREE);
	return 0;
}

void pc_open_grants(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "denied_index", denied_index },
		{ "granted", granted },
		{ "is_copy", grants_is_copy },
		{ NULL, NULL },
	};

	luaL_setfuncs(L, functions, 0);
}
