/* What the files of the C interface share. Nothing here is seen outside. */
#ifndef PROCAGE_CAPI_H
#define PROCAGE_CAPI_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <lua.h>

#include "core/procage.h"

struct pc_worker;

struct procage_runtime {
	pthread_mutex_t lock; /* of the state and of all counts */
	lua_State *L;	      /* the main one, which makes the workers' */
	struct pc_worker *idle;
	size_t uses; /* the caller's, and one of each policy */
};

struct procage_policy {
	procage_runtime *runtime;
	int ref;     /* in the registry */
	size_t uses; /* the caller's, and one of each outcome */
};

/* ---- Errors (capi_error.c) ---------------------------------------------------------------------------------------------- */

/* Never NULL: without memory it is the error that says so. */
procage_error *pc_error_new(enum procage_code code, int number, const char *text);

/* Hands an error over, or frees it where nobody wants it. Returns its code. */
int pc_error_give(procage_error *made, procage_error **error);

/* Both at once, of a wrong call. */
int pc_error_argument(const char *text, procage_error **error);

/* ---- Calls into Lua (capi.c) -------------------------------------------------------------------------------------------- */

/*
 * Runs `body` in a state of the runtime's, alone and protected: it finds `context` as a light userdata at 1 and leaves nothing. A
 * Lua error in it becomes an error object. While a command is started, others have their turn (core/lua_turn.h).
 */
int pc_capi_call(procage_runtime *runtime, lua_CFunction body, void *context, procage_error **error);

/* For bodies. Pushes a function of lua/procage/capi.lua. */
void pc_capi_function(lua_State *L, const char *name);

/* Calls it: its first result is at -2, the second at -1. Where it refused, raises what it said. */
void pc_capi_invoke(lua_State *L, int arguments);

/* table[key] = value, for the table on top; nothing for NULL. */
void pc_capi_set_text(lua_State *L, const char *key, const char *value);
void pc_capi_set_list(lua_State *L, const char *key, const char *const *list);

/* A copy of the text at `index`, for procage_free(). Raises for want of memory. */
char *pc_capi_copy(lua_State *L, int index);

/*
 * Fills the struct `known`, of `size` bytes, from the caller's, which may be of another version.
 * Returns false when there is none, or something is set in it that is not known.
 */
bool pc_capi_struct(void *known, size_t size, const void *given);

/* ---- Policies and commands ----------------------------------------------------------------------------------------------- */

void pc_policy_keep(procage_policy *policy); /* in a body: the lock is held */
void pc_policy_release(procage_policy *policy);

/* Why a command is none, or NULL. */
const char *pc_command_fault(const struct procage_command *command);

/* Pushes {argv, env, cwd}. */
void pc_command_push(lua_State *L, const struct procage_command *command);

#endif
