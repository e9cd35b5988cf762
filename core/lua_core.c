/* procage.core: the table that lua/procage calls. */
#include "core/lua_core.h"

#include <lauxlib.h>

int luaopen_procage_core(lua_State *L)
{
	/* Lua's own check that the module and the interpreter agree on version and number sizes. */
	luaL_checkversion(L);

	lua_newtable(L);
	lua_pushliteral(L, PC_VERSION);
	lua_setfield(L, -2, "version");

	/* A room that is not built leaves its functions out; its weak name is NULL. */
#define OPEN(room)                                            \
	do {                                                  \
		extern void room(lua_State *) __attribute__((weak)); \
		if (room)                                     \
			room(L);                              \
	} while (0)
	OPEN(pc_open_landlock);
	OPEN(pc_open_seccomp);
	OPEN(pc_open_mount);
	OPEN(pc_open_fs);
	OPEN(pc_open_run);
	OPEN(pc_open_probe);
	return 1;
}
