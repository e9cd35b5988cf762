/* The C interface: commands that are started by other means than a run. */
#include "core/capi.h"

#include <lauxlib.h>

struct start_call {
	const procage_policy *policy;
	struct procage_command command;
	enum procage_form form;
	const char *const *writable;
	char *json;
};

static int wrap_body(lua_State *L)
{
	struct start_call *call = lua_touserdata(L, 1);

	pc_capi_function(L, "wrap");
	lua_rawgeti(L, LUA_REGISTRYINDEX, call->policy->ref);
	pc_command_push(L, &call->command);
	if (call->form == PROCAGE_FORM_POLICY)
		lua_pushnil(L);
	else
		lua_pushboolean(L, call->form == PROCAGE_FORM_TREE);
	pc_capi_invoke(L, 3);
	call->json = pc_capi_copy(L, -2);
	return 0;
}

/* Only its words, its environment and its directory count here: anything else would be lost in silence. */
static const char *fault_of(const struct procage_command *command)
{
	const char *fault = pc_command_fault(command);

	if (!fault && (command->input || command->input_file || command->timeout_ms || command->on_output || command->cancel))
		fault = "command: argv, env and cwd are expected, and nothing else";
	return fault;
}

int procage_wrap(procage_policy *policy, const struct procage_command *command, enum procage_form form, char **json,
		 procage_error **error)
{
	struct start_call call = { .policy = policy, .form = form };
	const char *fault;
	int code;

	if (!policy || !json || !pc_capi_struct(&call.command, sizeof(call.command), command))
		return pc_error_argument("wrap: policy or json is NULL, or command is of no known size", error);
	fault = fault_of(&call.command);
	if (!fault && form != PROCAGE_FORM_POLICY && form != PROCAGE_FORM_PROCESS && form != PROCAGE_FORM_TREE)
		fault = "wrap: form: no such form";
	if (fault)
		return pc_error_argument(fault, error);
	code = pc_capi_call(policy->runtime, wrap_body, &call, error);
	if (!code)
		*json = call.json;
	return code;
}

static int exec_body(lua_State *L)
{
	const struct start_call *call = lua_touserdata(L, 1);

	pc_capi_function(L, "exec");
	lua_rawgeti(L, LUA_REGISTRYINDEX, call->policy->ref);
	pc_command_push(L, &call->command);
	pc_capi_invoke(L, 2);
	return 0;
}

int procage_exec(procage_policy *policy, const struct procage_command *command, procage_error **error)
{
	struct start_call call = { .policy = policy };
	const char *fault;

	if (!policy || !pc_capi_struct(&call.command, sizeof(call.command), command))
		return pc_error_argument("exec: policy is NULL, or command is of no known size", error);
	fault = fault_of(&call.command);
	if (fault)
		return pc_error_argument(fault, error);
	return pc_capi_call(policy->runtime, exec_body, &call, error);
}

static int confine_body(lua_State *L)
{
	static const char *const nothing[] = { NULL };
	const struct start_call *call = lua_touserdata(L, 1);

	pc_capi_function(L, "confine_parent");
	lua_rawgeti(L, LUA_REGISTRYINDEX, call->policy->ref);
	lua_newtable(L);
	pc_capi_set_list(L, "writable", call->writable ? call->writable : nothing);
	lua_getfield(L, -1, "writable");
	lua_remove(L, -2);
	pc_capi_invoke(L, 2);
	return 0;
}

int procage_confine_parent(procage_policy *policy, const char *const *writable, procage_error **error)
{
	struct start_call call = { .policy = policy, .writable = writable };

	if (!policy)
		return pc_error_argument("confine_parent: policy is NULL", error);
	return pc_capi_call(policy->runtime, confine_body, &call, error);
}
