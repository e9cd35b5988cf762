/* Bindings: what is in a directory. Names are collected outside Lua and pushed afterwards. */
#include "lua_listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "../platform/platform.h"
#include "lua_check.h"
#include "lua_core.h"

#define LISTING "procage.listing"

static int collect(void *context, const char *name, const char *kind)
{
	struct pc_listing *listing = context;
	size_t kind_size = strlen(kind) + 1, name_size = strlen(name) + 1;
	size_t need = listing->size + kind_size + name_size;

	if (listing->wants_directories && strcmp(kind, "directory") != 0 && strcmp(name, ".git") != 0)
		return 0;
	if (need > listing->room) {
		size_t room = need * 2 < 4096 ? 4096 : need * 2;
		char *text = realloc(listing->text, room);

		if (!text)
			return -ENOMEM;
		listing->text = text;
		listing->room = room;
	}
	memcpy(listing->text + listing->size, kind, kind_size);
	memcpy(listing->text + listing->size + kind_size, name, name_size);
	listing->size = need;
	listing->count++;
	return 0;
}

static int listing_gc(lua_State *L)
{
	struct pc_listing *listing = lua_touserdata(L, 1);

	free(listing->text);
	*listing = (struct pc_listing) { 0 };
	return 0;
}

int pc_push_listing(lua_State *L, const char *path, size_t limit, bool wants_directories, struct pc_listing **result)
{
	struct pc_listing *listing = lua_newuserdatauv(L, sizeof(*listing), 0);

	*listing = (struct pc_listing) { .wants_directories = wants_directories };
	if (luaL_newmetatable(L, LISTING)) {
		lua_pushcfunction(L, listing_gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	*result = listing;
	return pc_list_directory(path, limit, collect, listing);
}

/* The entry at `at`, and where the next one is. */
static size_t entry_at(const struct pc_listing *listing, size_t at, struct pc_entry *entry)
{
	entry->kind = listing->text + at;
	entry->name = entry->kind + strlen(entry->kind) + 1;
	return (size_t)(entry->name - listing->text) + strlen(entry->name) + 1;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct pc_entry *)a)->name, ((const struct pc_entry *)b)->name);
}

const struct pc_entry *pc_push_sorted(lua_State *L, const struct pc_listing *listing)
{
	struct pc_entry *entries = lua_newuserdatauv(L, (listing->count + 1) * sizeof(*entries), 0);
	size_t at = 0, i;

	for (i = 0; i < listing->count; i++)
		at = entry_at(listing, at, &entries[i]);
	qsort(entries, listing->count, sizeof(*entries), compare_names);
	return entries;
}

/* The listing's kinds, by name, on the stack top. */
static void push_kinds(lua_State *L, const struct pc_listing *listing)
{
	struct pc_entry entry;
	size_t at = 0;

	lua_createtable(L, 0, (int)listing->count);
	while (at < listing->size) {
		at = entry_at(listing, at, &entry);
		lua_pushstring(L, entry.kind);
		lua_setfield(L, -2, entry.name);
	}
}

/* The same as the arguments of read_dir say. */
static int read_listing(lua_State *L, struct pc_listing **result)
{
	const char *path = pc_check_path(L, 1);
	lua_Integer limit = luaL_optinteger(L, 2, 1000000);
	bool wants_directories = pc_opt_boolean(L, 3);

	luaL_argcheck(L, limit >= 0, 2, "a limit is not negative");
	return pc_push_listing(L, path, (size_t)limit, wants_directories, result);
}

/*
 * core.read_dir(path[, limit[, only_directories]]) -> {name = kind, ...} | nil, message, errno (E2BIG: more than limit entries)
 * only_directories leaves out all but those and .git: who looks for repositories passes thousands of files.
 */
static int listing_read_dir(lua_State *L)
{
	struct pc_listing *listing;
	int rc = read_listing(L, &listing);

	if (rc < 0)
		return pc_push_result(L, rc, lua_tostring(L, 1));
	push_kinds(L, listing);
	return 1;
}

/* core.list_dir(...) -> {name, ...}, {name = kind, ...}: as read_dir, the names in the order of their bytes | nil, message, errno */
static int listing_list_dir(lua_State *L)
{
	const struct pc_entry *entries;
	struct pc_listing *listing;
	int rc = read_listing(L, &listing);
	size_t i;

	if (rc < 0)
		return pc_push_result(L, rc, lua_tostring(L, 1));
	entries = pc_push_sorted(L, listing);
	lua_createtable(L, (int)listing->count, 0);
	for (i = 0; i < listing->count; i++) {
		lua_pushstring(L, entries[i].name);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	push_kinds(L, listing);
	return 2;
}

void pc_open_listing(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "read_dir", listing_read_dir },
		{ "list_dir", listing_list_dir },
		{ NULL, NULL },
	};

	luaL_setfuncs(L, functions, 0);
}
