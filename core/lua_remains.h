/* An init that is on its way out, as Lua holds it. */
#ifndef PROCAGE_LUA_REMAINS_H
#define PROCAGE_LUA_REMAINS_H

#include "../platform/platform.h"

#include <lua.h>

/* Takes `*remains` and leaves NULL; nil for NULL. */
void pc_push_remains(lua_State *L, struct pc_remains **remains);

#endif
