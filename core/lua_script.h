/* What the rooms of the closed state share: a script's budget of steps, and an error at the script's own line. */
#ifndef PROCAGE_LUA_SCRIPT_H
#define PROCAGE_LUA_SCRIPT_H

#include <stdint.h>

#include <lua.h>

/* The steps that the script running in L has left. L is a closed state. */
int64_t *pc_script_steps(lua_State *L);

/* Raises that the steps are used up. */
int pc_script_exhausted(lua_State *L);

/* find, match, gmatch and gsub of the table on top of the stack become ones that take steps. */
void pc_open_patterns(lua_State *L);

#endif
