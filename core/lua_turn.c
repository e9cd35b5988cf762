/* See lua_turn.h. */
#include "core/lua_turn.h"

/* Its address is the key in the registry. */
static const char turn_key;

void pc_turn_set(lua_State *L, pthread_mutex_t *turn)
{
	lua_pushlightuserdata(L, turn);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &turn_key);
}

pthread_mutex_t *pc_turn_give(lua_State *L)
{
	pthread_mutex_t *turn;

	lua_rawgetp(L, LUA_REGISTRYINDEX, &turn_key);
	turn = lua_touserdata(L, -1);
	lua_pop(L, 1);
	if (turn)
		pthread_mutex_unlock(turn);
	return turn;
}

void pc_turn_take(pthread_mutex_t *turn)
{
	if (turn)
		pthread_mutex_lock(turn);
}
