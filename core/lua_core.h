/* The rooms of procage.core: each adds its functions to the table on top of the stack, and leaves it there. */
#ifndef PROCAGE_LUA_CORE_H
#define PROCAGE_LUA_CORE_H

#include <stdbool.h>

#include <lua.h>

void pc_open_landlock(lua_State *L);
void pc_open_seccomp(lua_State *L);
void pc_open_mount(lua_State *L);
void pc_open_fs(lua_State *L);
void pc_open_listing(lua_State *L);
void pc_open_grants(lua_State *L);
void pc_open_flat(lua_State *L);
void pc_open_mask(lua_State *L);
void pc_open_run(lua_State *L);
void pc_open_remains(lua_State *L);
void pc_open_holder(lua_State *L);
void pc_open_probe(lua_State *L);
void pc_open_toml(lua_State *L);
void pc_open_script(lua_State *L);
void pc_open_interrupt(lua_State *L);
void pc_open_outside(lua_State *L);

/*
 * For a program that is about to ask: begins to probe the host on a thread, which waits for children most of the time. The next
 * core.probe() waits for it, as pc_probe_end() does, which the program calls before it ends: a child may be at work. From one
 * thread only.
 */
void pc_probe_begin(void);
void pc_probe_end(void);

/* is_closed: for the state of a script (lua_script.h), where calls take steps. */
void pc_open_path(lua_State *L, bool is_closed);

/* The one visible symbol: require "procage.core". */
__attribute__((visibility("default"))) int luaopen_procage_core(lua_State *L);

#endif
