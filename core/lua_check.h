/*
 * The checks and results that bindings share. A caller's mistake raises a Lua error; the world's refusal is
 * nil, "what: strerror", errno.
 */
#ifndef PROCAGE_LUA_CHECK_H
#define PROCAGE_LUA_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lua.h>

/* An absolute path without a NUL byte inside, as argument `arg`. Lives as long as the argument. */
const char *pc_check_path(lua_State *L, int arg);

/* A string: a number is refused, since its text would die with its stack slot. */
const char *pc_check_string(lua_State *L, int arg, size_t *len);

/* An integer from min to max. */
lua_Integer pc_check_range(lua_State *L, int arg, lua_Integer min, lua_Integer max);

/* true or false; absent or nil counts as false. */
bool pc_opt_boolean(lua_State *L, int arg);

/* A table whose keys are all in `keys` (ended by NULL); another key raises an error that names it. */
void pc_check_options(lua_State *L, int arg, const char *const *keys);

/* options[key] as a boolean, absent is false; as a set of bits, absent is 0. The error names the key. */
bool pc_option_boolean(lua_State *L, int arg, const char *key);
uint64_t pc_option_bits(lua_State *L, int arg, const char *key);

/*
 * Pushes a platform function's result and returns how many values: nil, "what: strerror", errno for rc < 0 (`what` may be
 * NULL); true for 0; the value for rc > 0.
 */
int pc_push_result(lua_State *L, long rc, const char *what);

#endif
