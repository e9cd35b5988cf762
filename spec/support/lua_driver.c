/*
 * lua_driver SCRIPT [ARG...]: lua5.4 as far as busted needs it, built with the sanitizers. A stock lua5.4 cannot load a module
 * that was: the sanitizer's library must come first, and preloading it would reach every confined child.
 */
#include <stdio.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

static int traceback(lua_State *L)
{
	luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
	return 1;
}

int main(int argc, char **argv)
{
	lua_State *L = luaL_newstate();
	int i, status = 1;

	if (!L || argc < 2) {
		fputs("usage: lua_driver <script> [<argument> ...]\n", stderr);
		return 2;
	}
	luaL_openlibs(L);
	lua_createtable(L, argc, 1);
	for (i = 0; i < argc; i++) {
		lua_pushstring(L, argv[i]);
		lua_rawseti(L, -2, i - 1);
	}
	lua_setglobal(L, "arg");

	lua_pushcfunction(L, traceback);
	if (luaL_loadfile(L, argv[1]) == LUA_OK) {
		for (i = 2; i < argc; i++)
			lua_pushstring(L, argv[i]);
		if (lua_pcall(L, argc - 2, 0, 1) == LUA_OK)
			status = 0;
	}
	if (status)
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
	lua_close(L);
	return status;
}
