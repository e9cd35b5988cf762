/* What bindings share of paths as text. */
#ifndef PROCAGE_LUA_PATH_H
#define PROCAGE_LUA_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include <lua.h>

/* Adds every directory above a text to the set at an absolute index. The text is held by the caller. */
void pc_add_above(lua_State *L, int set, const char *text, size_t size);

/* Pushes a text in small letters, or nothing: false where it is not all ASCII. */
bool pc_push_lower(lua_State *L, const char *text, size_t size);

#endif
