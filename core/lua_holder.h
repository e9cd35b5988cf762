/* What lua_run.c has to know of namespaces that runs have in common. */
#ifndef PROCAGE_LUA_HOLDER_H
#define PROCAGE_LUA_HOLDER_H

#include "../platform/platform.h"

#include <lua.h>

/* Of the value there, a use that no run was started with; NULL: nil is there. Raises for anything else. */
struct pc_join *pc_check_join(lua_State *L, int index);

/* A run has been started with it, or has not: what leads to the namespaces is closed. NULL is nothing to do. */
void pc_end_join(struct pc_join *join);

#endif
