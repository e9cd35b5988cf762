/* Binding: what doctor keeps outside for a run to reach. */
#include "lua_check.h"
#include "lua_core.h"
#include "../platform/platform.h"

#include <lauxlib.h>
#include <string.h>

#define OUTSIDE "procage.outside"

struct outside_object {
	struct pc_outside outside; /* kind NULL: closed */
};

static struct outside_object *check_open_outside(lua_State *L)
{
	struct outside_object *object = luaL_checkudata(L, 1, OUTSIDE);

	luaL_argcheck(L, object->outside.kind, 1, "closed");
	return object;
}

/* core.outside(kind, address, text) -> object | nil, message, errno */
static int outside_open(lua_State *L)
{
	size_t address_size, text_size;
	const char *kind = pc_check_string(L, 1, &text_size);
	const char *address = pc_check_string(L, 2, &address_size);
	const char *text = pc_check_string(L, 3, &text_size);
	struct outside_object *object;
	int rc;

	luaL_argcheck(L, strlen(address) == address_size, 2, "a NUL byte inside");
	luaL_argcheck(L, strlen(text) == text_size, 3, "a NUL byte inside");
	object = lua_newuserdatauv(L, sizeof(*object), 0);
	object->outside.kind = NULL;
	luaL_setmetatable(L, OUTSIDE);
	rc = pc_outside_open(kind, address, text, &object->outside);
	return rc < 0 ? pc_push_result(L, rc, kind) : 1;
}

/* object:look() -> what has come since the last time, or is in it */
static int outside_look(lua_State *L)
{
	struct outside_object *object = check_open_outside(L);
	char data[4096];
	int size = pc_outside_look(&object->outside, data, sizeof(data));

	lua_pushlstring(L, data, size > 0 ? (size_t)size : 0);
	return 1;
}

/* object:number() -> port, id or serial; object:name() -> of a terminal or queue */
static int outside_number(lua_State *L)
{
	lua_pushinteger(L, check_open_outside(L)->outside.number);
	return 1;
}

static int outside_name(lua_State *L)
{
	lua_pushstring(L, check_open_outside(L)->outside.address);
	return 1;
}

/* close, __gc and __close: may run twice. */
static int outside_close(lua_State *L)
{
	struct outside_object *object = luaL_checkudata(L, 1, OUTSIDE);

	if (object->outside.kind)
		pc_outside_close(&object->outside);
	object->outside.kind = NULL;
	return 0;
}

void pc_open_outside(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "look", outside_look }, { "number", outside_number }, { "name", outside_name }, { "close", outside_close },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, OUTSIDE);
	luaL_newlib(L, methods);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, outside_close);
	lua_setfield(L, -2, "__gc");
	lua_pushcfunction(L, outside_close);
	lua_setfield(L, -2, "__close");
	lua_pop(L, 1);
	lua_pushcfunction(L, outside_open);
	lua_setfield(L, -2, "outside");
}
