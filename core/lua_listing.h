/* What bindings share of directories: listings and marks. */
#ifndef PROCAGE_LUA_LISTING_H
#define PROCAGE_LUA_LISTING_H

#include <stdbool.h>
#include <stddef.h>

#include <lua.h>

struct pc_entry {
	const char *name, *kind;
};

/* A userdata: its text is freed by the collector, since pushing a name may throw. */
struct pc_listing {
	char *text; /* kind, NUL, name, NUL, ... */
	size_t size, room, count;
	bool wants_directories; /* and .git, whatever it is */
};

/* Pushes one; 0 or -errno of pc_list_directory. */
int pc_push_listing(lua_State *L, const char *path, size_t limit, bool wants_directories, struct pc_listing **result);

/* Pushes its entries in the order of the bytes of their names; they live as long as both. */
const struct pc_entry *pc_push_sorted(lua_State *L, const struct pc_listing *listing);

/* Pushes what core.mark gives of a path, or nothing: false. */
bool pc_push_mark(lua_State *L, const char *path);

#endif
