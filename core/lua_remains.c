/* Bindings: inits whose run is over. */
#include "lua_core.h"
#include "lua_remains.h"
#include "lua_turn.h"

#include <lauxlib.h>

#define REMAINS "procage.remains"

struct remains_object {
	struct pc_remains *remains; /* NULL: they have gone */
};

void pc_push_remains(lua_State *L, struct pc_remains **remains)
{
	struct remains_object *object;

	if (!*remains) {
		lua_pushnil(L);
		return;
	}
	object = lua_newuserdatauv(L, sizeof(*object), 0);
	object->remains = NULL;
	luaL_setmetatable(L, REMAINS);
	object->remains = *remains;
	*remains = NULL;
}

static struct pc_remains *take(lua_State *L)
{
	struct remains_object *object = luaL_checkudata(L, 1, REMAINS);
	struct pc_remains *remains = object->remains;

	object->remains = NULL;
	return remains;
}

/* remains:wait(): until they have gone */
static int remains_wait(lua_State *L)
{
	struct pc_remains *remains = take(L);
	pthread_mutex_t *turn = pc_turn_give(L);

	pc_remains_end(remains);
	pc_turn_take(turn);
	return 0;
}

/* remains:have_gone() -> boolean; does not wait */
static int remains_have_gone(lua_State *L)
{
	struct remains_object *object = luaL_checkudata(L, 1, REMAINS);
	bool have_gone = !object->remains || pc_remains_have_gone(object->remains);

	if (have_gone)
		pc_remains_end(take(L));
	lua_pushboolean(L, have_gone);
	return 1;
}

/* An init on its way out has a millisecond left. */
static int remains_gc(lua_State *L)
{
	pc_remains_end(take(L));
	return 0;
}

void pc_open_remains(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "wait", remains_wait },
		{ "have_gone", remains_have_gone },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, REMAINS);
	luaL_newlib(L, methods);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, remains_gc);
	lua_setfield(L, -2, "__gc");
	lua_pop(L, 1);
}
