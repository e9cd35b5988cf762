/*
 * The C interface: runs and their outcomes.
 *
 * The runtime's lock is held while Lua starts a run and while it concludes one. In between the run is stepped in C, and its Lua
 * object, which owns it, lies in the registry, where no collection takes it.
 */
#include "core/capi.h"

#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "core/capi_cancel.h"
#include "core/lua_run.h"
#include "platform/platform.h"

/* The texts are Lua's own: strings do not move, and the table in the registry holds them. */
struct procage_outcome {
	procage_policy *policy;
	int ref;
	int status, signal;
	bool is_timed_out, is_cancelled;
	int64_t duration_ms;
	uint64_t dropped_bytes;
	const char *out, *err, *denials, *events;
	size_t out_size, err_size;
};

/* ---- Commands ------------------------------------------------------------------------------------------------------------- */

const char *pc_command_fault(const struct procage_command *command)
{
	if (!command->argv || !command->argv[0])
		return "command: argv: a list of at least one word is expected, ended by NULL";
	if (command->input && command->input_file)
		return "command: input and input_file: one of them is expected";
	if (command->input_file && command->input_file[0] != '/')
		return "command: input_file: an absolute path is expected";
	if (command->input_size && !command->input)
		return "command: input_size: there is no input";
	if (command->timeout_ms < 0)
		return "command: timeout_ms: at least 0 is expected";
	return NULL;
}

void pc_command_push(lua_State *L, const struct procage_command *command)
{
	lua_newtable(L);
	pc_capi_set_list(L, "argv", command->argv);
	pc_capi_set_list(L, "env", command->env);
	pc_capi_set_text(L, "cwd", command->cwd);
}

/* ---- A run ---------------------------------------------------------------------------------------------------------------- */

struct run_call {
	procage_policy *policy;
	const struct procage_command *command;
	int ref; /* the Run object of lua/procage/running.lua */
	struct pc_running *running;
	procage_outcome *outcome;
};

static int start_body(lua_State *L)
{
	struct run_call *call = lua_touserdata(L, 1);
	struct pc_running *running;

	pc_capi_function(L, "start");
	lua_rawgeti(L, LUA_REGISTRYINDEX, call->policy->ref);
	pc_command_push(L, call->command);
	pc_capi_set_text(L, "input_file", call->command->input_file);
	if (call->command->input) {
		lua_pushlstring(L, call->command->input, call->command->input_size);
		lua_setfield(L, -2, "input");
	}
	if (call->command->timeout_ms) {
		lua_pushinteger(L, call->command->timeout_ms);
		lua_setfield(L, -2, "timeout_ms");
	}
	pc_capi_invoke(L, 2);
	running = pc_to_running(L, -1);
	lua_pop(L, 1);
	/* Without memory for it the object is garbage, and to collect it ends the run. */
	call->ref = luaL_ref(L, LUA_REGISTRYINDEX);
	call->running = running;
	pc_policy_keep(call->policy);
	return 0;
}

/* Returns false when the caller wants to hear no more. */
static bool tell_output(const struct run_call *call)
{
	int stream;

	for (stream = PROCAGE_STDOUT; stream <= PROCAGE_STDERR; stream++) {
		size_t size;
		const char *bytes = pc_run_output(call->running, stream == PROCAGE_STDERR, &size);

		if (size && call->command->on_output(call->command->context, (enum procage_stream)stream, bytes, size) != 0)
			return false;
	}
	return true;
}

/* To the end, without the lock. Returns 0, or -errno: then nobody has looked after the run, which conclude_body ends. */
static int look_after(const struct run_call *call)
{
	bool is_told = call->command->on_output != NULL;
	struct pc_watch watch = { .running = call->running };
	int rc;

	pc_cancel_watch(call->command->cancel, &watch);
	do {
		rc = pc_run_step(call->running, -1);
		if (rc >= 0 && is_told && !tell_output(call)) {
			is_told = false;
			call->outcome->is_cancelled = true;
			pc_run_cancel(call->running, true);
		}
	} while (rc == 0);
	pc_cancel_forget(call->command->cancel, &watch);
	call->outcome->is_cancelled |= watch.is_asked;
	return rc < 0 ? rc : 0;
}

static lua_Integer take_integer(lua_State *L, const char *key, lua_Integer absent)
{
	lua_Integer value;

	lua_getfield(L, -1, key);
	value = luaL_optinteger(L, -1, absent);
	lua_pop(L, 1);
	return value;
}

static const char *take_text(lua_State *L, const char *key, size_t *size)
{
	const char *text;

	lua_getfield(L, -1, key);
	luaL_checktype(L, -1, LUA_TSTRING);
	text = lua_tolstring(L, -1, size);
	lua_pop(L, 1);
	return text;
}

/* Of the table on top: {outcome=, denials=, events=}. */
static void fill_outcome(lua_State *L, procage_outcome *outcome)
{
	outcome->denials = take_text(L, "denials", NULL);
	outcome->events = take_text(L, "events", NULL);
	lua_getfield(L, -1, "outcome");
	outcome->status = (int)take_integer(L, "status", -1);
	outcome->signal = (int)take_integer(L, "signal", 0);
	outcome->duration_ms = take_integer(L, "duration_ms", 0);
	outcome->dropped_bytes = (uint64_t)take_integer(L, "dropped_bytes", 0);
	outcome->out = take_text(L, "stdout", &outcome->out_size);
	outcome->err = take_text(L, "stderr", &outcome->err_size);
	lua_getfield(L, -1, "timed_out");
	outcome->is_timed_out = lua_toboolean(L, -1);
	lua_pop(L, 2);
}

static int conclude_body(lua_State *L)
{
	const struct run_call *call = lua_touserdata(L, 1);

	pc_capi_function(L, "conclude");
	lua_rawgeti(L, LUA_REGISTRYINDEX, call->ref);
	luaL_unref(L, LUA_REGISTRYINDEX, call->ref);
	pc_capi_invoke(L, 1);
	lua_pop(L, 1);
	fill_outcome(L, call->outcome);
	call->outcome->ref = luaL_ref(L, LUA_REGISTRYINDEX);
	return 0;
}

static int run_command(struct run_call *call, procage_error **error)
{
	procage_runtime *runtime = call->policy->runtime;
	int rc, code = pc_capi_call(runtime, start_body, call, error);

	if (code)
		return code;
	rc = look_after(call);
	code = pc_capi_call(runtime, conclude_body, call, error);
	if (!code && rc < 0) {
		procage_outcome_free(call->outcome);
		call->outcome = NULL;
		return pc_error_give(pc_error_new(PROCAGE_E_SYSTEM, -rc, "run: it could not be looked after, and was ended"),
				     error);
	}
	if (code)
		pc_policy_release(call->policy);
	return code;
}

int procage_run(procage_policy *policy, const struct procage_command *command, procage_outcome **outcome, procage_error **error)
{
	struct procage_command given;
	struct run_call call = { .policy = policy, .command = &given, .ref = LUA_NOREF };
	const char *fault;
	int code;

	if (!policy || !outcome || !pc_capi_struct(&given, sizeof(given), command))
		return pc_error_argument("run: policy or outcome is NULL, or command is of no known size", error);
	fault = pc_command_fault(&given);
	if (fault)
		return pc_error_argument(fault, error);
	/* Before the command is: afterwards nothing of ours is to fail. */
	call.outcome = calloc(1, sizeof(*call.outcome));
	if (!call.outcome)
		return pc_error_give(pc_error_new(PROCAGE_E_MEMORY, 0, "not enough memory"), error);
	call.outcome->policy = policy;
	code = run_command(&call, error);
	if (code)
		free(call.outcome);
	else
		*outcome = call.outcome;
	return code;
}

/* ---- Outcomes ------------------------------------------------------------------------------------------------------------- */

int procage_outcome_status(const procage_outcome *outcome)
{
	return outcome->status;
}

int procage_outcome_signal(const procage_outcome *outcome)
{
	return outcome->signal;
}

int procage_outcome_timed_out(const procage_outcome *outcome)
{
	return outcome->is_timed_out;
}

int procage_outcome_cancelled(const procage_outcome *outcome)
{
	return outcome->is_cancelled;
}

int64_t procage_outcome_duration_ms(const procage_outcome *outcome)
{
	return outcome->duration_ms;
}

const char *procage_outcome_stdout(const procage_outcome *outcome, size_t *size)
{
	if (size)
		*size = outcome->out_size;
	return outcome->out;
}

const char *procage_outcome_stderr(const procage_outcome *outcome, size_t *size)
{
	if (size)
		*size = outcome->err_size;
	return outcome->err;
}

uint64_t procage_outcome_dropped_bytes(const procage_outcome *outcome)
{
	return outcome->dropped_bytes;
}

const char *procage_outcome_denials(const procage_outcome *outcome)
{
	return outcome->denials;
}

const char *procage_outcome_events(const procage_outcome *outcome)
{
	return outcome->events;
}

struct json_call {
	const procage_outcome *outcome;
	char *json;
};

static int json_body(lua_State *L)
{
	struct json_call *call = lua_touserdata(L, 1);

	pc_capi_function(L, "outcome_json");
	lua_rawgeti(L, LUA_REGISTRYINDEX, call->outcome->ref);
	lua_getfield(L, -1, "outcome");
	lua_remove(L, -2);
	pc_capi_invoke(L, 1);
	call->json = pc_capi_copy(L, -2);
	return 0;
}

int procage_outcome_json(const procage_outcome *outcome, char **json, procage_error **error)
{
	struct json_call call = { .outcome = outcome };
	int code;

	if (!outcome || !json)
		return pc_error_argument("outcome_json: outcome or json is NULL", error);
	code = pc_capi_call(outcome->policy->runtime, json_body, &call, error);
	if (!code)
		*json = call.json;
	return code;
}

static int forget_body(lua_State *L)
{
	const procage_outcome *outcome = lua_touserdata(L, 1);

	luaL_unref(L, LUA_REGISTRYINDEX, outcome->ref);
	return 0;
}

void procage_outcome_free(procage_outcome *outcome)
{
	if (!outcome)
		return;
	pc_capi_call(outcome->policy->runtime, forget_body, outcome, NULL);
	pc_policy_release(outcome->policy);
	free(outcome);
}
