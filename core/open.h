/* Opens Lua with procage in it, carried (core/chunk.h) or from the files beneath a prefix. */
#ifndef PROCAGE_OPEN_H
#define PROCAGE_OPEN_H

#include <lua.h>

/*
 * prefix: an installation or a build tree, which has the same shape; absolute, without ';' and '?', which Lua's path has no way
 * to quote. Nothing of LUA_PATH, LUA_CPATH or LUA_INIT is read. Raises a Lua error.
 */
void pc_open_lua(lua_State *L, const char *prefix);

#endif
