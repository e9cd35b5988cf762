/*
 * The C interface: runtimes, policies, and what is asked of them.
 *
 * Whatever touches the Lua state does so in a body that pc_capi_call() runs: alone, by the runtime's lock, and protected, so that
 * no longjmp leaves the library.
 */
#include "core/capi.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "core/lua_turn.h"
#include "core/open.h"
#include "platform/platform.h"

/* In the registry: the table of lua/procage/capi.lua. */
#define FUNCTIONS "procage.capi"

/* ---- Calls into Lua ------------------------------------------------------------------------------------------------------- */

/* What a body raised: an error object of ours, or a message of Lua's. */
static procage_error *raised(lua_State *L, int status)
{
	if (status == LUA_ERRMEM)
		return pc_error_new(PROCAGE_E_MEMORY, 0, "not enough memory");
	if (lua_islightuserdata(L, -1))
		return lua_touserdata(L, -1);
	/* A number's text would have to be made, which can fail: here nothing is protected. */
	return pc_error_new(PROCAGE_E_INTERNAL, 0,
			    lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error without a text");
}

/* Neither of the two that are pushed allocates: an empty stack has room. */
static procage_error *call_protected(lua_State *L, lua_CFunction body, void *context)
{
	procage_error *made = NULL;
	int status;

	lua_pushcfunction(L, body);
	lua_pushlightuserdata(L, context);
	status = lua_pcall(L, 1, 0, 0);
	if (status != LUA_OK)
		made = raised(L, status);
	lua_settop(L, 0);
	return made;
}

/* A call that gives its turn up has a stack that no other call works on. There are as many as calls were under way at once. */
struct pc_worker {
	lua_State *L; /* the registry keeps it */
	struct pc_worker *next;
};

static int make_worker(lua_State *L)
{
	struct pc_worker *worker = lua_touserdata(L, 1);

	worker->L = lua_newthread(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, worker);
	return 0;
}

static procage_error *take_worker(procage_runtime *runtime, struct pc_worker **taken)
{
	struct pc_worker *worker = runtime->idle;
	procage_error *made;

	if (worker) {
		runtime->idle = worker->next;
		*taken = worker;
		return NULL;
	}
	worker = calloc(1, sizeof(*worker));
	if (!worker)
		return pc_error_new(PROCAGE_E_MEMORY, 0, "not enough memory");
	made = call_protected(runtime->L, make_worker, worker);
	if (made)
		free(worker);
	else
		*taken = worker;
	return made;
}

int pc_capi_call(procage_runtime *runtime, lua_CFunction body, void *context, procage_error **error)
{
	struct pc_worker *worker = NULL;
	procage_error *made;

	pthread_mutex_lock(&runtime->lock);
	made = take_worker(runtime, &worker);
	if (!made && worker) {
		made = call_protected(worker->L, body, context);
		worker->next = runtime->idle;
		runtime->idle = worker;
	}
	pthread_mutex_unlock(&runtime->lock);
	return made ? pc_error_give(made, error) : PROCAGE_OK;
}

void pc_capi_function(lua_State *L, const char *name)
{
	lua_getfield(L, LUA_REGISTRYINDEX, FUNCTIONS);
	lua_getfield(L, -1, name);
	lua_remove(L, -2);
}

/* nil, message, code */
static int raise_refusal(lua_State *L)
{
	enum procage_code code = PROCAGE_E_SYSTEM;
	const char *text = luaL_tolstring(L, -2, NULL);
	int number = 0;

	lua_insert(L, -2);
	if (lua_isinteger(L, -1))
		number = (int)lua_tointeger(L, -1);
	else if (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "argument") == 0)
		code = PROCAGE_E_ARGUMENT;
	else if (lua_type(L, -1) == LUA_TSTRING)
		code = PROCAGE_E_CONFIG;
	/* The code of every refusal for want of mechanisms (lua/procage/fit.lua). */
	if (number == EOPNOTSUPP)
		code = PROCAGE_E_UNAVAILABLE;
	lua_pushlightuserdata(L, pc_error_new(code, code == PROCAGE_E_SYSTEM ? number : 0, text));
	return lua_error(L);
}

void pc_capi_invoke(lua_State *L, int arguments)
{
	lua_call(L, arguments, 3);
	if (lua_isnil(L, -3))
		raise_refusal(L);
	lua_pop(L, 1);
}

void pc_capi_set_text(lua_State *L, const char *key, const char *value)
{
	if (!value)
		return;
	lua_pushstring(L, value);
	lua_setfield(L, -2, key);
}

void pc_capi_set_list(lua_State *L, const char *key, const char *const *list)
{
	lua_Integer i;

	if (!list)
		return;
	lua_newtable(L);
	for (i = 0; list[i]; i++) {
		lua_pushstring(L, list[i]);
		lua_rawseti(L, -2, i + 1);
	}
	lua_setfield(L, -2, key);
}

char *pc_capi_copy(lua_State *L, int index)
{
	size_t size;
	const char *text = luaL_checklstring(L, index, &size);
	char *copy = malloc(size + 1);

	if (!copy) {
		lua_pushlightuserdata(L, pc_error_new(PROCAGE_E_MEMORY, 0, "not enough memory"));
		lua_error(L);
		return NULL; /* not reached: lua_error does not return, which its declaration does not say */
	}
	return memcpy(copy, text, size + 1);
}

bool pc_capi_struct(void *known, size_t size, const void *given)
{
	const unsigned char *bytes = given;
	size_t given_size, i;

	memset(known, 0, size);
	if (!given)
		return false;
	memcpy(&given_size, given, sizeof(given_size));
	if (given_size < sizeof(given_size))
		return false;
	for (i = size; i < given_size; i++)
		if (bytes[i])
			return false;
	memcpy(known, given, given_size < size ? given_size : size);
	return true;
}

/* ---- The runtime ---------------------------------------------------------------------------------------------------------- */

const char *procage_version(void)
{
	return PC_VERSION;
}

/* PREFIX/lib/libprocage.so.N is where this code is. */
static int own_prefix(char *prefix, size_t size)
{
	int level, rc;

	rc = pc_library_file((const void *)(uintptr_t)&raised, prefix, size);
	for (level = 0; rc == 0 && level < 2; level++) {
		char *slash = strrchr(prefix, '/');

		if (!slash)
			return -ENOENT;
		*slash = '\0';
	}
	return rc;
}

struct open_call {
	procage_runtime *runtime;
	const char *prefix;
};

static int open_body(lua_State *L)
{
	const struct open_call *call = lua_touserdata(L, 1);

	pc_open_lua(L, call->prefix);
	pc_turn_set(L, &call->runtime->lock);
	lua_getglobal(L, "require");
	lua_pushliteral(L, "procage.capi");
	lua_call(L, 1, 1);
	lua_setfield(L, LUA_REGISTRYINDEX, FUNCTIONS);
	return 0;
}

/* Takes the lock, and gives it up; the last use closes. */
static void release_runtime(procage_runtime *runtime)
{
	bool is_last;

	pthread_mutex_lock(&runtime->lock);
	is_last = --runtime->uses == 0;
	pthread_mutex_unlock(&runtime->lock);
	if (!is_last)
		return;
	lua_close(runtime->L);
	while (runtime->idle) {
		struct pc_worker *worker = runtime->idle;

		runtime->idle = worker->next;
		free(worker);
	}
	pthread_mutex_destroy(&runtime->lock);
	free(runtime);
}

static int new_runtime(procage_runtime **runtime, procage_error **error)
{
	procage_runtime *made = calloc(1, sizeof(*made));

	if (made)
		made->L = luaL_newstate();
	if (!made || !made->L || pthread_mutex_init(&made->lock, NULL) != 0) {
		if (made && made->L)
			lua_close(made->L);
		free(made);
		return pc_error_give(pc_error_new(PROCAGE_E_MEMORY, 0, "not enough memory"), error);
	}
	made->uses = 1;
	*runtime = made;
	return PROCAGE_OK;
}

int procage_open(const struct procage_options *options, procage_runtime **runtime, procage_error **error)
{
	struct procage_options given = { 0 };
	struct open_call call = { 0 };
	char prefix[PATH_MAX];
	int code;

	if (!runtime || (options && !pc_capi_struct(&given, sizeof(given), options)))
		return pc_error_argument("open: runtime is NULL, or options is of no known size", error);
	if (given.prefix && strlen(given.prefix) < sizeof(prefix))
		memcpy(prefix, given.prefix, strlen(given.prefix) + 1);
	else if (given.prefix || own_prefix(prefix, sizeof(prefix)) < 0)
		prefix[0] = '\0';
	/* Lua's path has no way to quote these. */
	if (prefix[0] != '/' || strpbrk(prefix, ";?"))
		return pc_error_argument(
			"open: prefix: an absolute path without ; and ? is expected, where procage is installed", error);

	call.prefix = prefix;
	code = new_runtime(&call.runtime, error);
	if (code || !call.runtime)
		return code ? code : PROCAGE_E_MEMORY;
	/* Lua's C modules (cjson) take lua_* from whoever has loaded liblua, and not every host shows what it loads. */
	pc_library_share((const void *)(uintptr_t)&lua_newstate);
	code = pc_capi_call(call.runtime, open_body, &call, error);
	if (code)
		release_runtime(call.runtime);
	else
		*runtime = call.runtime;
	return code;
}

void procage_close(procage_runtime *runtime)
{
	if (runtime)
		release_runtime(runtime);
}

/* ---- Policies ------------------------------------------------------------------------------------------------------------- */

struct load_call {
	struct procage_load load;
	procage_policy *policy;
};

static int load_body(lua_State *L)
{
	const struct load_call *call = lua_touserdata(L, 1);

	pc_capi_function(L, "load");
	lua_newtable(L);
	pc_capi_set_text(L, "policy", call->load.policy);
	pc_capi_set_text(L, "text", call->load.text);
	pc_capi_set_text(L, "workspace", call->load.workspace);
	pc_capi_set_text(L, "config", call->load.config_json);
	pc_capi_set_text(L, "home", call->load.home);
	pc_capi_set_list(L, "env", call->load.env);
	pc_capi_set_text(L, "host", call->load.host_json);
	lua_pushboolean(L, call->load.is_prepared);
	lua_setfield(L, -2, "prepared");
	pc_capi_invoke(L, 1);
	lua_pop(L, 1);
	call->policy->ref = luaL_ref(L, LUA_REGISTRYINDEX);
	call->policy->runtime->uses++;
	return 0;
}

int procage_load(procage_runtime *runtime, const struct procage_load *load, procage_policy **policy, procage_error **error)
{
	struct load_call call;
	int code;

	if (!runtime || !policy || !pc_capi_struct(&call.load, sizeof(call.load), load))
		return pc_error_argument("load: runtime or policy is NULL, or load is of no known size", error);
	if (!call.load.policy || !call.load.workspace || call.load.workspace[0] != '/')
		return pc_error_argument("load: policy, and workspace, an absolute path, are expected", error);
	call.policy = calloc(1, sizeof(*call.policy));
	if (!call.policy)
		return pc_error_give(pc_error_new(PROCAGE_E_MEMORY, 0, "not enough memory"), error);
	call.policy->runtime = runtime;
	call.policy->uses = 1;
	code = pc_capi_call(runtime, load_body, &call, error);
	if (code)
		free(call.policy);
	else
		*policy = call.policy;
	return code;
}

static int prepare_body(lua_State *L)
{
	const procage_policy *policy = lua_touserdata(L, 1);

	pc_capi_function(L, "prepare");
	lua_rawgeti(L, LUA_REGISTRYINDEX, policy->ref);
	pc_capi_invoke(L, 1);
	return 0;
}

int procage_prepare(procage_policy *policy, procage_error **error)
{
	if (!policy)
		return pc_error_argument("prepare: policy is NULL", error);
	return pc_capi_call(policy->runtime, prepare_body, policy, error);
}

void pc_policy_keep(procage_policy *policy)
{
	policy->uses++;
}

struct release_call {
	procage_policy *policy;
	bool is_last;
};

static int release_body(lua_State *L)
{
	struct release_call *call = lua_touserdata(L, 1);
	int ref = call->policy->ref;

	if (--call->policy->uses > 0)
		return 0;
	call->is_last = true;
	pc_capi_function(L, "free");
	lua_rawgeti(L, LUA_REGISTRYINDEX, ref);
	luaL_unref(L, LUA_REGISTRYINDEX, ref);
	lua_call(L, 1, 0);
	return 0;
}

void pc_policy_release(procage_policy *policy)
{
	struct release_call call = { .policy = policy };

	/* Files that could not be removed are nobody's error any more. */
	pc_capi_call(policy->runtime, release_body, &call, NULL);
	if (!call.is_last)
		return;
	release_runtime(policy->runtime);
	free(policy);
}

void procage_policy_free(procage_policy *policy)
{
	if (policy)
		pc_policy_release(policy);
}

/* ---- What is asked --------------------------------------------------------------------------------------------------------- */

struct question {
	const char *function;
	const procage_policy *policy; /* the first argument; NULL: none */
	const char *texts[2];
	int count; /* of the texts */
	char *json;
};

static int ask_body(lua_State *L)
{
	struct question *question = lua_touserdata(L, 1);
	int i, arguments = question->count;

	pc_capi_function(L, question->function);
	if (question->policy) {
		lua_rawgeti(L, LUA_REGISTRYINDEX, question->policy->ref);
		arguments++;
	}
	for (i = 0; i < question->count; i++)
		lua_pushstring(L, question->texts[i]); /* nil for NULL */
	pc_capi_invoke(L, arguments);
	question->json = pc_capi_copy(L, -2);
	return 0;
}

static int ask(procage_runtime *runtime, struct question *question, char **json, procage_error **error)
{
	int code = pc_capi_call(runtime, ask_body, question, error);

	if (!code)
		*json = question->json;
	return code;
}

int procage_probe(procage_runtime *runtime, int is_fresh, char **json, procage_error **error)
{
	struct question question = { .function = "probe", .texts = { is_fresh ? "fresh" : NULL }, .count = 1 };

	if (!runtime || !json)
		return pc_error_argument("probe: runtime or json is NULL", error);
	return ask(runtime, &question, json, error);
}

int procage_fit(procage_runtime *runtime, const char *profile_json, const char *host_json, char **json, procage_error **error)
{
	struct question question = { .function = "fit", .texts = { profile_json, host_json }, .count = 2 };

	if (!runtime || !profile_json || !json)
		return pc_error_argument("fit: runtime, profile_json or json is NULL", error);
	return ask(runtime, &question, json, error);
}

int procage_explain(procage_policy *policy, const char *host_json, char **json, procage_error **error)
{
	struct question question = { .function = "explain", .policy = policy, .texts = { host_json }, .count = 1 };

	if (!policy || !json)
		return pc_error_argument("explain: policy or json is NULL", error);
	return ask(policy->runtime, &question, json, error);
}

int procage_why(procage_policy *policy, const char *operation, const char *target, char **json, procage_error **error)
{
	struct question question = { .function = "why", .policy = policy, .texts = { operation, target }, .count = 2 };

	if (!policy || !operation || !target || !json)
		return pc_error_argument("why: policy, operation, target or json is NULL", error);
	return ask(policy->runtime, &question, json, error);
}
