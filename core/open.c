/* A Lua state with procage in it: of the program, and of the library for hosts without a Lua of their own. */
#include "core/open.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include "core/chunk.h"
#include "core/lua_core.h"

#define LUA_C_MODULES "lib/lua/" LUA_VERSION_MAJOR "." LUA_VERSION_MINOR
#define LUA_MODULES   "share/lua/" LUA_VERSION_MAJOR "." LUA_VERSION_MINOR

/* package[field] = ours, then the absolute templates of the distribution's default (argparse and cjson live there): no "./?". */
static void set_path(lua_State *L, const char *field, const char *ours)
{
	luaL_Buffer buffer;
	const char *path;

	lua_getglobal(L, "package");
	lua_getfield(L, -1, field);
	path = luaL_checkstring(L, -1);
	luaL_buffinit(L, &buffer);
	luaL_addstring(&buffer, ours);
	while (*path) {
		size_t length = strcspn(path, ";");

		if (*path == '/') {
			if (luaL_bufflen(&buffer) > 0)
				luaL_addchar(&buffer, ';');
			luaL_addlstring(&buffer, path, length);
		}
		path += length + (path[length] == ';');
	}
	luaL_pushresult(&buffer);
	lua_setfield(L, -3, field);
	lua_pop(L, 2);
}

/* Loader of a carried module: runs the chunk as if it had come from the file that it was compiled from. */
static int load_chunk(lua_State *L)
{
	const struct pc_chunk *chunk = lua_touserdata(L, lua_upvalueindex(1));

	if (luaL_loadbufferx(L, (const char *)chunk->bytes, chunk->size, chunk->module, "b") != LUA_OK)
		return lua_error(L);
	lua_pushvalue(L, 1);
	lua_pushvalue(L, lua_upvalueindex(2));
	lua_call(L, 2, 1);
	return 1;
}

/* package.preload: the module in C, and the carried ones in Lua. */
static void preload(lua_State *L, const char *prefix)
{
	const struct pc_chunk *chunk;

	/* For the closed state, which takes some of them (core/lua_script.c). Only the memory is read. */
	lua_pushlightuserdata(L, (void *)(uintptr_t)pc_chunks);
	lua_setfield(L, LUA_REGISTRYINDEX, "procage.chunks");
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
	lua_pushcfunction(L, luaopen_procage_core);
	lua_setfield(L, -2, "procage.core");
	for (chunk = pc_chunks; chunk->module; chunk++) {
		/* A policy is no module: it is for the closed state alone. */
		if (chunk->text)
			continue;
		/* Only the memory is read; lightuserdata has no const. */
		lua_pushlightuserdata(L, (void *)(uintptr_t)chunk);
		luaL_gsub(L, chunk->module, ".", "/");
		lua_pushfstring(L, "%s/" LUA_MODULES "/%s.lua", prefix, lua_tostring(L, -1));
		lua_remove(L, -2);
		lua_pushcclosure(L, load_chunk, 2);
		lua_setfield(L, -2, chunk->module);
	}
	lua_pop(L, 1);
}

void pc_open_lua(lua_State *L, const char *prefix)
{
	/* Before the libraries open: luaL_openlibs reads LUA_PATH and LUA_CPATH unless this is set. */
	lua_pushboolean(L, true);
	lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
	luaL_openlibs(L);

	preload(L, prefix);
	lua_pushfstring(L, "%s/" LUA_MODULES "/?.lua;%s/" LUA_MODULES "/?/init.lua", prefix, prefix);
	set_path(L, "path", lua_tostring(L, -1));
	lua_pop(L, 1);
	/* procage.line, which is no part of the program: it takes a library that may not be installed. */
	lua_pushfstring(L, "%s/" LUA_C_MODULES "/?.so", prefix);
	set_path(L, "cpath", lua_tostring(L, -1));
	lua_pop(L, 1);
}
