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

	pc_open_landlock(L);
	pc_open_seccomp(L);
	pc_open_mount(L);
	pc_open_fs(L);
	pc_open_listing(L);
	pc_open_grants(L);
	pc_open_path(L, false);
	pc_open_flat(L);
	pc_open_mask(L);
	pc_open_run(L);
	pc_open_remains(L);
	pc_open_holder(L);
	pc_open_probe(L);
	pc_open_toml(L);
	pc_open_script(L);
	pc_open_interrupt(L);
	pc_open_outside(L);
	return 1;
}
