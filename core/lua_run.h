/* What the C interface takes of a run that Lua started. */
#ifndef PROCAGE_LUA_RUN_H
#define PROCAGE_LUA_RUN_H

#include <lua.h>

/* The run in what core.start() returned; it is good until that is finished or collected. Raises when it is not one. */
struct pc_running *pc_to_running(lua_State *L, int index);

#endif
