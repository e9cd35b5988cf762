/*
 * A Lua that several threads of a host use in turn (core/capi.c): who waits for the kernel lets the others work meanwhile. Each
 * works in a lua_State of its own, of one global state, so that nobody's stack moves under him.
 */
#ifndef PROCAGE_LUA_TURN_H
#define PROCAGE_LUA_TURN_H

#include <pthread.h>

#include <lua.h>

/* turn: what whoever works in this Lua holds; it lives as long as the state. Raises for want of memory. */
void pc_turn_set(lua_State *L, pthread_mutex_t *turn);

/*
 * Around something that takes its time and touches no Lua: values that the caller's own stack holds stay where they are. Never in a
 * finaliser, which runs amid a collection. NULL, which pc_turn_take() knows: the state has one user.
 */
pthread_mutex_t *pc_turn_give(lua_State *L);
void pc_turn_take(pthread_mutex_t *turn);

#endif
