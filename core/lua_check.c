/* The checks and results that bindings share. */
#include "core/lua_check.h"

#include <lauxlib.h>
#include <string.h>

const char *pc_check_string(lua_State *L, int arg, size_t *len)
{
	luaL_checktype(L, arg, LUA_TSTRING);
	return lua_tolstring(L, arg, len);
}

const char *pc_check_path(lua_State *L, int arg)
{
	const char *path;
	size_t len;

	path = pc_check_string(L, arg, &len);
	luaL_argcheck(L, memchr(path, '\0', len) == NULL, arg, "path has a NUL byte inside");
	luaL_argcheck(L, path[0] == '/', arg, "path is not absolute");
	return path;
}

lua_Integer pc_check_range(lua_State *L, int arg, lua_Integer min, lua_Integer max)
{
	lua_Integer value = luaL_checkinteger(L, arg);

	if (value < min || value > max)
		luaL_argerror(
			L, arg,
			lua_pushfstring(L, "%I is not from %I to %I", (LUAI_UACINT)value, (LUAI_UACINT)min, (LUAI_UACINT)max));
	return value;
}

bool pc_opt_boolean(lua_State *L, int arg)
{
	if (lua_isnoneornil(L, arg))
		return false;
	luaL_checktype(L, arg, LUA_TBOOLEAN);
	return lua_toboolean(L, arg);
}

void pc_check_options(lua_State *L, int arg, const char *const *keys)
{
	luaL_checktype(L, arg, LUA_TTABLE);
	lua_pushnil(L);
	while (lua_next(L, arg)) {
		const char *const *key = keys;
		const char *name;

		/* luaL_tolstring, not lua_tostring: that would turn a number key into a string and confuse lua_next. */
		lua_pop(L, 1);
		name = luaL_tolstring(L, -1, NULL);
		if (lua_type(L, -2) == LUA_TSTRING)
			while (*key && strcmp(*key, name) != 0)
				key++;
		else
			key = NULL;
		if (!key || !*key)
			luaL_argerror(L, arg, lua_pushfstring(L, "unknown option '%s'", name));
		lua_pop(L, 1);
	}
}

bool pc_option_boolean(lua_State *L, int arg, const char *key)
{
	int type = lua_getfield(L, arg, key);
	bool value = lua_toboolean(L, -1);

	if (type != LUA_TNIL && type != LUA_TBOOLEAN)
		luaL_argerror(L, arg, lua_pushfstring(L, "option '%s' is not a boolean", key));
	lua_pop(L, 1);
	return value;
}

uint64_t pc_option_bits(lua_State *L, int arg, const char *key)
{
	int type = lua_getfield(L, arg, key);
	int is_integer = 0;
	lua_Integer value = lua_tointegerx(L, -1, &is_integer);

	if (type != LUA_TNIL && (type != LUA_TNUMBER || !is_integer))
		luaL_argerror(L, arg, lua_pushfstring(L, "option '%s' is not an integer", key));
	lua_pop(L, 1);
	return type == LUA_TNIL ? 0 : (uint64_t)value;
}

int pc_push_result(lua_State *L, long rc, const char *what)
{
	if (rc == 0) {
		lua_pushboolean(L, 1);
		return 1;
	}
	if (rc > 0) {
		lua_pushinteger(L, rc);
		return 1;
	}
	lua_pushnil(L);
	if (what)
		lua_pushfstring(L, "%s: %s", what, strerror((int)-rc));
	else
		lua_pushstring(L, strerror((int)-rc));
	lua_pushinteger(L, -rc);
	return 3;
}
