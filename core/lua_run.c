/* Bindings: checked plans and runs. */
#include "lua_check.h"
#include "lua_core.h"
#include "lua_holder.h"
#include "lua_remains.h"
#include "lua_run.h"
#include "lua_turn.h"
#include "plan.h"
#include "../platform/platform.h"

#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define PLAN   "procage.plan"
#define RESULT "procage.result"
#define RUN    "procage.run"
#define SPARE  "procage.spare"

/* The bytes stand behind the struct, in the userdata's own memory. */
struct plan_object {
	struct pc_plan plan;
	size_t size;
	uint64_t bytes[];
};

/* core.plan(bytes) -> plan | nil, message, errno */
static int run_plan(lua_State *L)
{
	size_t size;
	const char *bytes = pc_check_string(L, 1, &size), *why;
	struct plan_object *object;
	uint32_t op;

	luaL_argcheck(L, size <= PC_MAX_PLAN, 1, "a plan too large");
	object = lua_newuserdatauv(L, sizeof(*object) + size + 1, 0);
	object->size = size;
	memcpy(object->bytes, bytes, size);
	if (pc_plan_check(object->bytes, size, &object->plan, &why, &op) < 0) {
		lua_pushnil(L);
		lua_pushfstring(L, "plan: operation %d: %s", (int)op, why);
		lua_pushinteger(L, EINVAL);
		return 3;
	}
	luaL_setmetatable(L, PLAN);
	return 1;
}

/* plan:ops() -> list of {op=, step?}: what a plan does, for tests and for readers */
static int plan_ops(lua_State *L)
{
	const struct plan_object *object = luaL_checkudata(L, 1, PLAN);
	uint32_t i;

	lua_createtable(L, (int)object->plan.op_count, 0);
	for (i = 0; i < object->plan.op_count; i++) {
		const struct pc_op *op = &object->plan.ops[i];
		const char *path = pc_plan_op_path(&object->plan, i);

		lua_createtable(L, 0, 4);
		lua_pushstring(L, pc_op_name(op->code));
		lua_setfield(L, -2, "op");
		lua_pushinteger(L, (lua_Integer)op->value);
		lua_setfield(L, -2, "value");
		if (path) {
			lua_pushstring(L, path);
			lua_setfield(L, -2, "path");
		}
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* ---- the specification of a run ----------------------------------------------------------------------------------------- */

static const char *check_text(lua_State *L, int index, const char *what)
{
	size_t size;
	const char *text;

	/* A number's text would die with its stack slot. */
	if (lua_type(L, index) != LUA_TSTRING)
		luaL_error(L, "%s: a string is expected, not a %s", what, luaL_typename(L, index));
	text = lua_tolstring(L, index, &size);
	if (strlen(text) != size)
		luaL_error(L, "%s: a NUL byte inside", what);
	return text;
}

/*
 * spec[key] as a NULL-ended array. The array is a userdata left on the stack; the texts live as long as the list, which the
 * caller's table holds.
 */
static const char *const *check_list(lua_State *L, int spec, const char *key, bool may_be_empty)
{
	const char **array;
	lua_Integer count, i;

	if (lua_getfield(L, spec, key) != LUA_TTABLE)
		luaL_error(L, "%s: a list is expected", key);
	count = luaL_len(L, -1);
	if (count > INT_MAX / 16 || (count == 0 && !may_be_empty))
		luaL_error(L, "%s: too few or too many entries", key);
	array = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof(*array), 0);
	for (i = 0; i < count; i++) {
		lua_rawgeti(L, -2, i + 1);
		array[i] = check_text(L, -1, key);
		lua_pop(L, 1);
	}
	array[count] = NULL;
	return array;
}

static const char *option_path(lua_State *L, int spec, const char *key, bool is_needed)
{
	const char *path;

	if (lua_getfield(L, spec, key) == LUA_TNIL) {
		if (is_needed)
			luaL_error(L, "%s: missing", key);
		lua_pop(L, 1);
		return NULL;
	}
	path = check_text(L, -1, key);
	if (path[0] != '/')
		luaL_error(L, "%s: an absolute path is expected", key);
	lua_pop(L, 1); /* the spec holds it */
	return path;
}

static lua_Integer option_integer(lua_State *L, int spec, const char *key, lua_Integer absent, lua_Integer least)
{
	lua_Integer value = absent;
	int is_integer;

	if (lua_getfield(L, spec, key) != LUA_TNIL) {
		value = lua_tointegerx(L, -1, &is_integer);
		if (!is_integer || value < least)
			luaL_error(L, "%s: an integer of at least %I is expected", key, (LUAI_UACINT)least);
	}
	lua_pop(L, 1);
	return value;
}

static void check_cgroup(lua_State *L, int spec, const char **cgroup, struct pc_cgroup_limits *limits)
{
	*cgroup = option_path(L, spec, "cgroup", false);
	limits->memory_bytes = (uint64_t)option_integer(L, spec, "memory_bytes", 0, 1);
	limits->processes = (uint64_t)option_integer(L, spec, "processes", 0, 1);
	if (!*cgroup && (limits->memory_bytes || limits->processes))
		luaL_error(L, "memory_bytes and processes: a cgroup is needed");
}

static void check_input(lua_State *L, int spec, struct pc_run *run)
{
	/* Binary-safe: NUL bytes are input like any other. */
	if (lua_getfield(L, spec, "stdin") == LUA_TSTRING)
		run->input = lua_tolstring(L, -1, &run->input_size);
	else if (!lua_isnil(L, -1))
		luaL_error(L, "stdin: a string is expected, not a %s", luaL_typename(L, -1));
	lua_pop(L, 1);
}

/* spec.chosen: {dev, ino, ctime_ns} of the one program, as core.executable() told them. */
static void check_chosen(lua_State *L, int spec, struct pc_command *command)
{
	int chosen;

	if (lua_getfield(L, spec, "chosen") == LUA_TNIL) {
		lua_pop(L, 1);
		return;
	}
	if (!lua_istable(L, -1) || !command->programs[0] || command->programs[1])
		luaL_error(L, "chosen: a table is expected, and one program");
	chosen = lua_gettop(L);
	command->is_chosen = true;
	command->chosen_dev = (uint64_t)option_integer(L, chosen, "dev", 0, LUA_MININTEGER);
	command->chosen_ino = (uint64_t)option_integer(L, chosen, "ino", 0, LUA_MININTEGER);
	command->chosen_ctime_ns = option_integer(L, chosen, "ctime_ns", 0, LUA_MININTEGER);
	lua_pop(L, 1);
}

static void check_words(lua_State *L, int spec, struct pc_command *command)
{
	command->argv = check_list(L, spec, "argv", false);
	command->envp = check_list(L, spec, "env", true);
	command->programs = check_list(L, spec, "programs", true);
	check_chosen(L, spec, command);
	command->cwd = option_path(L, spec, "cwd", true);
	command->directory = option_path(L, spec, "directory", false);
}

static enum pc_observes option_observes(lua_State *L, int spec)
{
	static const char *const names[] = { "none", "refused", "mounts", "all", NULL };
	static const enum pc_observes values[] = { PC_OBSERVES_NONE, PC_OBSERVES_REFUSED, PC_OBSERVES_MOUNTS, PC_OBSERVES_ALL };
	enum pc_observes value = PC_OBSERVES_NONE;

	if (lua_getfield(L, spec, "observes") != LUA_TNIL)
		value = values[luaL_checkoption(L, -1, NULL, names)];
	lua_pop(L, 1);
	return value;
}

static void check_spec(lua_State *L, int spec, struct pc_command *command, struct pc_run *run)
{
	static const char *const keys[] = {
		"argv",		  "env",	   "programs",	    "cwd",	 "directory",	   "chosen",	"stdin",
		"stdin_fd",	  "stdin_path",	   "is_input_open", "stdout_fd", "stderr_fd",	   "is_merged", "has_terminal",
		"takes_signals",  "capture_bytes", "timeout_ms",    "cgroup",	 "memory_bytes",   "processes", "grace_ms",
		"stdin_grace_ms", "observes",	   "is_audited",    "spare",	 "may_leave_init", "joins",	NULL
	};

	pc_check_options(L, spec, keys);
	check_words(L, spec, command);
	check_input(L, spec, run);
	run->stdin_fd = (int)option_integer(L, spec, "stdin_fd", -1, 0);
	run->stdin_path = option_path(L, spec, "stdin_path", false);
	run->is_input_open = pc_option_boolean(L, spec, "is_input_open");
	run->stdout_fd = (int)option_integer(L, spec, "stdout_fd", -1, 0);
	run->stderr_fd = (int)option_integer(L, spec, "stderr_fd", -1, 0);
	run->has_terminal = pc_option_boolean(L, spec, "has_terminal");
	run->is_merged = pc_option_boolean(L, spec, "is_merged");
	run->takes_signals = pc_option_boolean(L, spec, "takes_signals");
	run->capture_bytes = (size_t)option_integer(L, spec, "capture_bytes", 1 << 20, 0);
	run->timeout_ms = option_integer(L, spec, "timeout_ms", -1, 1);
	run->grace_ms = option_integer(L, spec, "grace_ms", 2000, 0);
	run->observes = option_observes(L, spec);
	run->is_audited = pc_option_boolean(L, spec, "is_audited");
	run->may_leave_init = pc_option_boolean(L, spec, "may_leave_init");
	run->input_grace_ms = option_integer(L, spec, "stdin_grace_ms", 0, 0);
	check_cgroup(L, spec, &command->cgroup, &command->cgroup_limits);
}

/* ---- runs started ahead -------------------------------------------------------------------------------------------------- */

struct spare_object {
	struct pc_spare *spare; /* NULL: taken or closed */
};

/*
 * core.prepare(plan, {wait_ms, directory?, cgroup?, memory_bytes?, processes?, is_audited?, joins?}) -> spare | nil, message, errno: a
 * run up to its command, for core.run's `spare`
 */
static int run_prepare(lua_State *L)
{
	static const char *const keys[] = { "wait_ms",	 "directory",  "cgroup", "memory_bytes",
					    "processes", "is_audited", "joins",	 NULL };
	const struct plan_object *object = luaL_checkudata(L, 1, PLAN);
	struct spare_object *made;
	struct pc_ahead ahead;
	struct pc_join *join;
	int rc;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	pc_check_options(L, 2, keys);
	ahead = (struct pc_ahead) {
		.directory = option_path(L, 2, "directory", false),
		.is_audited = pc_option_boolean(L, 2, "is_audited"),
		.wait_ms = (uint32_t)option_integer(L, 2, "wait_ms", 0, 1),
	};
	luaL_argcheck(L, ahead.wait_ms >= 1 && ahead.wait_ms <= 60000, 2, "wait_ms: 1 to 60000 is expected");
	check_cgroup(L, 2, &ahead.cgroup, &ahead.cgroup_limits);
	made = lua_newuserdatauv(L, sizeof(*made), 0);
	*made = (struct spare_object) { 0 };
	luaL_setmetatable(L, SPARE);
	lua_getfield(L, 2, "joins");
	ahead.join = join = pc_check_join(L, -1);
	lua_pop(L, 1); /* the spec holds it */
	rc = pc_spare_start(&object->plan, object->bytes, object->size, &ahead, &made->spare);
	pc_end_join(join);
	return rc < 0 ? pc_push_result(L, rc, "prepare") : 1;
}

/* spare:is_alive() -> boolean */
static int spare_is_alive(lua_State *L)
{
	const struct spare_object *object = luaL_checkudata(L, 1, SPARE);

	lua_pushboolean(L, object->spare && pc_spare_is_alive(object->spare));
	return 1;
}

/* core.process_token() -> a number that this process keeps, and that no fork of it has */
static int run_process_token(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)pc_process_token());
	return 1;
}

/* core.processors() -> how many this process may run on */
static int run_processors(lua_State *L)
{
	lua_pushinteger(L, pc_processors());
	return 1;
}

/* close, __gc and __close: may run twice */
static int spare_close(lua_State *L)
{
	struct spare_object *object = luaL_checkudata(L, 1, SPARE);
	struct pc_spare *spare = object->spare;

	object->spare = NULL;
	if (spare)
		pc_spare_close(spare);
	return 0;
}

static void open_spare_class(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "is_alive", spare_is_alive },
		{ "close", spare_close },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, SPARE);
	luaL_newlib(L, methods);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, spare_close);
	lua_setfield(L, -2, "__gc");
	lua_pushcfunction(L, spare_close);
	lua_setfield(L, -2, "__close");
	lua_pop(L, 1);
}

/*
 * spec.spare, which belongs to the run that is started from here on, and spec.joins, which the table holds. The last of the checks:
 * none may fail after it.
 */
static void take_spare(lua_State *L, int spec, struct pc_command *command, struct pc_join **join)
{
	struct spare_object *object;

	lua_getfield(L, spec, "joins");
	command->join = *join = pc_check_join(L, -1);
	lua_pop(L, 1);
	if (lua_getfield(L, spec, "spare") != LUA_TNIL) {
		object = luaL_checkudata(L, -1, SPARE);
		luaL_argcheck(L, object->spare, spec, "spare: it was taken already");
		command->spare = object->spare;
		object->spare = NULL;
	}
	lua_pop(L, 1);
}

/* One that the run failed before. */
static void drop_spare(struct pc_command *command)
{
	if (command->spare)
		pc_spare_close(command->spare);
	command->spare = NULL;
}

/* ---- what comes out ------------------------------------------------------------------------------------------------------ */

static int result_gc(lua_State *L)
{
	struct pc_result *result = luaL_checkudata(L, 1, RESULT);

	pc_result_free(result);
	return 0;
}

static void push_capture(lua_State *L, const struct pc_capture *capture)
{
	size_t first = capture->tail_size;
	luaL_Buffer text;

	luaL_buffinit(L, &text);
	if (capture->head_size)
		luaL_addlstring(&text, capture->head, capture->head_size);
	if (capture->tail_size) {
		/* The ring starts over at its end only when it is full, and then its length is its size. */
		if (capture->tail_start)
			first = capture->tail_size - capture->tail_start;
		luaL_addlstring(&text, capture->tail + capture->tail_start, first);
		luaL_addlstring(&text, capture->tail, capture->tail_size - first);
	}
	luaL_pushresult(&text);
}

static void set_integer(lua_State *L, const char *key, lua_Integer value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, key);
}

static void set_boolean(lua_State *L, const char *key, bool value)
{
	lua_pushboolean(L, value);
	lua_setfield(L, -2, key);
}

static void push_ending(lua_State *L, const struct pc_result *result)
{
	set_boolean(L, "is_lost", !result->has_status);
	set_boolean(L, "is_broker_lost", result->is_broker_lost);
	if (result->has_status && WIFEXITED(result->wait_status))
		set_integer(L, "status", WEXITSTATUS(result->wait_status));
	if (result->has_status && WIFSIGNALED(result->wait_status)) {
		set_integer(L, "signal", WTERMSIG(result->wait_status));
		set_boolean(L, "core_dumped", WCOREDUMP(result->wait_status));
	}
	set_boolean(L, "timed_out", result->is_timed_out);
	if (result->output_error) {
		lua_pushstring(L, strerror(result->output_error));
		lua_setfield(L, -2, "output_error");
	}
	if (result->cancel_signal)
		set_integer(L, "cancelled_by", result->cancel_signal);
}

static void push_denial(lua_State *L, const struct pc_denial *denial)
{
	size_t i;

	lua_createtable(L, 0, 6);
	lua_pushstring(L, denial->call);
	lua_setfield(L, -2, "call");
	lua_createtable(L, 3, 0);
	for (i = 0; i < 3; i++) {
		lua_pushinteger(L, (lua_Integer)denial->args[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_setfield(L, -2, "args");
	set_integer(L, "errno", denial->error);
	lua_pushstring(L, strerror(denial->error));
	lua_setfield(L, -2, "error");
	lua_pushstring(L, denial->process);
	lua_setfield(L, -2, "process");
	if (denial->address_size) {
		lua_pushlstring(L, (const char *)denial->address, denial->address_size);
		lua_setfield(L, -2, "address");
	}
	set_integer(L, "count", (lua_Integer)denial->count);
}

/* {is_recorded=, more=, {call=, args=, errno=, error=, process=, address?=, count=} ...}, in the order they were met */
static void push_denials(lua_State *L, const struct pc_denials *denials)
{
	size_t i;

	lua_createtable(L, (int)denials->count, 2);
	set_boolean(L, "is_recorded", denials->is_recorded);
	set_integer(L, "more", (lua_Integer)denials->more);
	for (i = 0; i < denials->count; i++) {
		push_denial(L, &denials->list[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

/*
 * {is_recorded=, is_audited=, is_observed=, lost=, more=,
 *  {path=, wanted=, refused=, call=, process=, errno=, error=, count=, is_exact=, is_about_entries=} ...}
 */
static void push_accesses(lua_State *L, const struct pc_accesses *accesses)
{
	size_t i;

	lua_createtable(L, (int)accesses->count, 5);
	set_boolean(L, "is_recorded", accesses->is_recorded);
	set_boolean(L, "is_audited", accesses->is_audited);
	set_boolean(L, "is_observed", accesses->is_observed);
	set_integer(L, "lost", (lua_Integer)accesses->lost);
	set_integer(L, "more", (lua_Integer)accesses->more);
	for (i = 0; i < accesses->count; i++) {
		const struct pc_access *access = &accesses->list[i];

		lua_createtable(L, 0, 10);
		lua_pushstring(L, access->path);
		lua_setfield(L, -2, "path");
		set_integer(L, "wanted", (lua_Integer)access->wanted);
		set_integer(L, "refused", (lua_Integer)access->refused);
		lua_pushstring(L, access->call);
		lua_setfield(L, -2, "call");
		lua_pushstring(L, access->process);
		lua_setfield(L, -2, "process");
		set_integer(L, "errno", access->error);
		lua_pushstring(L, strerror(access->error));
		lua_setfield(L, -2, "error");
		set_integer(L, "count", (lua_Integer)access->count);
		set_boolean(L, "is_exact", access->is_exact);
		set_boolean(L, "is_about_entries", access->is_about_entries);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static int push_outcome(lua_State *L, const struct pc_run *run, struct pc_result *result)
{
	lua_createtable(L, 0, 18);
	push_ending(L, result);
	set_integer(L, "duration_us", (lua_Integer)result->duration_us);
	set_integer(L, "user_us", (lua_Integer)result->user_us);
	set_integer(L, "system_us", (lua_Integer)result->system_us);
	set_integer(L, "max_rss_kib", (lua_Integer)result->max_rss_kib);
	set_integer(L, "memory_kills", (lua_Integer)result->memory_kills);
	push_denials(L, &result->denials);
	lua_setfield(L, -2, "denials");
	push_accesses(L, &result->accesses);
	lua_setfield(L, -2, "accesses");
	pc_push_remains(L, &result->remains);
	lua_setfield(L, -2, "remains");
	if (run->stdout_fd < 0) {
		push_capture(L, &result->out);
		lua_setfield(L, -2, "stdout");
		set_integer(L, "stdout_dropped_bytes", (lua_Integer)result->out.dropped_bytes);
	}
	if (run->stderr_fd < 0) {
		push_capture(L, &result->err);
		lua_setfield(L, -2, "stderr");
		set_integer(L, "stderr_dropped_bytes", (lua_Integer)result->err.dropped_bytes);
	}
	return 1;
}

/* nil, message, errno, {step=, op=, path=, errno=} */
static int push_failure(lua_State *L, const struct pc_plan *plan, const struct pc_failure *failure)
{
	const char *step = pc_step_name(failure->step), *op = NULL, *path = NULL;

	if (failure->op < plan->op_count) {
		op = pc_op_name(plan->ops[failure->op].code);
		path = pc_plan_op_path(plan, failure->op);
	}
	lua_pushnil(L);
	lua_pushfstring(L, "%s%s%s%s%s: %s", step, op ? ": " : "", op ? op : "", path ? ": " : "", path ? path : "",
			strerror(-failure->error));
	lua_pushinteger(L, -failure->error);
	lua_createtable(L, 0, 4);
	lua_pushstring(L, step);
	lua_setfield(L, -2, "step");
	lua_pushstring(L, op);
	lua_setfield(L, -2, "op");
	lua_pushstring(L, path);
	lua_setfield(L, -2, "path");
	set_integer(L, "errno", -failure->error);
	return 4;
}

/*
 * With has_terminal the command gets a terminal of its own: stdin_fd, whose size it takes, and stdout_fd are the user's.
 *
 * core.run(plan, {argv, env, programs, chosen?, cwd, directory?, stdin?|stdin_fd?|stdin_path?, stdout_fd?, stderr_fd?, is_merged?, has_terminal?, takes_signals?,
 * capture_bytes?, timeout_ms?, grace_ms?, stdin_grace_ms?, cgroup?, memory_bytes?, processes?, observes? ("none", "refused", "mounts", "all"),
 * is_audited?, may_leave_init?, spare?, joins?}) -> outcome, with may_leave_init and its `remains` | nil, message, errno, {step, op, path, errno}
 */
static int run_run(lua_State *L)
{
	const struct plan_object *object = luaL_checkudata(L, 1, PLAN);
	struct pc_command command = { .stdin_fd = -1 };
	struct pc_failure failure;
	struct pc_result *result;
	struct pc_run run = { 0 };
	struct pc_join *join;
	int rc;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	check_spec(L, 2, &command, &run);
	result = lua_newuserdatauv(L, sizeof(*result), 0);
	*result = (struct pc_result) { 0 };
	luaL_setmetatable(L, RESULT);
	take_spare(L, 2, &command, &join);

	rc = pc_run(&object->plan, object->bytes, object->size, &command, &run, result, &failure);
	drop_spare(&command);
	pc_end_join(join);
	if (rc < 0)
		return push_failure(L, &object->plan, &failure);
	return push_outcome(L, &run, result);
}

/*
 * core.become(plan, {argv, env, programs, chosen?, cwd, directory?}) -> nil, message, errno, {step, op, path, errno}: only on failure,
 * after which the process may be partly confined and is to exit
 */
static int run_become(lua_State *L)
{
	static const char *const keys[] = { "argv", "env", "programs", "chosen", "cwd", "directory", NULL };
	const struct plan_object *object = luaL_checkudata(L, 1, PLAN);
	struct pc_command command = { .stdin_fd = -1 };
	struct pc_failure failure;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	pc_check_options(L, 2, keys);
	check_words(L, 2, &command);
	pc_become(&object->plan, object->bytes, object->size, &command, &failure);
	return push_failure(L, &object->plan, &failure);
}

/* ---- A run, a step at a time --------------------------------------------------------------------------------------------- */

struct run_object {
	struct pc_running *running; /* NULL: finished */
};

static struct run_object *check_running(lua_State *L, int index)
{
	struct run_object *object = luaL_checkudata(L, index, RUN);

	luaL_argcheck(L, object->running, index, "the run is finished");
	return object;
}

struct pc_running *pc_to_running(lua_State *L, int index)
{
	return check_running(L, index)->running;
}

/*
 * core.start(plan, spec) -> run | nil, message, errno, {step, op, path, errno}
 * spec as for core.run, without takes_signals and has_terminal, with is_input_open for run:write().
 */
static int run_start(lua_State *L)
{
	const struct plan_object *object = luaL_checkudata(L, 1, PLAN);
	struct pc_command command = { .stdin_fd = -1 };
	struct pc_failure failure;
	struct run_object *started;
	struct pc_run run = { 0 };
	struct pc_join *join;
	pthread_mutex_t *turn;
	int rc;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	check_spec(L, 2, &command, &run);
	luaL_argcheck(L, !run.takes_signals && !run.has_terminal, 2, "takes_signals and has_terminal are for core.run");
	started = lua_newuserdatauv(L, sizeof(*started), 2);
	started->running = NULL;
	luaL_setmetatable(L, RUN);
	/* The answers to notifications are the plan's; the input is the specification's. */
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1);
	lua_getfield(L, 2, "stdin");
	lua_setiuservalue(L, -2, 2);
	take_spare(L, 2, &command, &join);

	/* Most of what a run costs before it runs. All that it reads hangs on this stack. */
	turn = pc_turn_give(L);
	rc = pc_run_start(&object->plan, object->bytes, object->size, &command, &run, &started->running, &failure);
	pc_turn_take(turn);
	drop_spare(&command);
	pc_end_join(join);
	return rc < 0 ? push_failure(L, &object->plan, &failure) : 1;
}

/* run:step(timeout_ms?) -> is_over, stdout, stderr | nil, message, errno: what came meanwhile; without a time it waits for something */
static int running_step(lua_State *L)
{
	const struct run_object *object = check_running(L, 1);
	int timeout_ms = lua_isnoneornil(L, 2) ? -1 : (int)pc_check_range(L, 2, 0, INT_MAX);
	const char *data;
	size_t size;
	int rc;

	rc = pc_run_step(object->running, timeout_ms);
	if (rc < 0)
		return pc_push_result(L, rc, "step");
	lua_pushboolean(L, rc);
	data = pc_run_output(object->running, false, &size);
	lua_pushlstring(L, size ? data : "", size);
	data = pc_run_output(object->running, true, &size);
	lua_pushlstring(L, size ? data : "", size);
	return 3;
}

/* run:wait() -> true | nil, message, errno: until it is over; what it prints is captured */
static int running_wait(lua_State *L)
{
	const struct run_object *object = check_running(L, 1);
	int rc;

	do
		rc = pc_run_step(object->running, -1);
	while (rc == 0);
	return pc_push_result(L, rc < 0 ? rc : 0, "wait");
}

/* run:write(bytes) -> how many were taken: 0 while the last ones are on their way | nil, message, errno */
static int running_write(lua_State *L)
{
	const struct run_object *object = check_running(L, 1);
	size_t size;
	const char *data = pc_check_string(L, 2, &size);
	int64_t taken;

	taken = pc_run_write(object->running, data, size);
	if (taken < 0)
		return pc_push_result(L, (int)taken, "write");
	lua_pushinteger(L, taken);
	return 1;
}

/* run:end_input(): end of file once what was written is taken */
static int running_end_input(lua_State *L)
{
	pc_run_end_input(check_running(L, 1)->running);
	return 0;
}

/* run:cancel(now?): SIGTERM and a grace; now, or a second time, without */
static int running_cancel(lua_State *L)
{
	pc_run_cancel(check_running(L, 1)->running, lua_toboolean(L, 2));
	return 0;
}

/* run:finish() -> outcome: ends the run if it is not over */
static int running_finish(lua_State *L)
{
	static const struct pc_run captured = { .stdout_fd = -1, .stderr_fd = -1 };
	struct run_object *object = check_running(L, 1);
	struct pc_result *result;

	result = lua_newuserdatauv(L, sizeof(*result), 0);
	*result = (struct pc_result) { 0 };
	luaL_setmetatable(L, RESULT);
	pc_run_finish(object->running, result);
	object->running = NULL;
	return push_outcome(L, &captured, result);
}

static int running_gc(lua_State *L)
{
	struct run_object *object = luaL_checkudata(L, 1, RUN);
	struct pc_result unused;

	if (!object->running)
		return 0;
	pc_run_finish(object->running, &unused);
	object->running = NULL;
	pc_result_free(&unused);
	return 0;
}

static void open_run_class(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "step", running_step },
		{ "write", running_write },
		{ "end_input", running_end_input },
		{ "cancel", running_cancel },
		{ "finish", running_finish },
		{ "wait", running_wait },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, RUN);
	luaL_newlib(L, methods);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, running_gc);
	lua_setfield(L, -2, "__gc");
	lua_pushcfunction(L, running_gc);
	lua_setfield(L, -2, "__close");
	lua_pop(L, 1);
}

/* core.is_terminal(fd) -> boolean */
static int run_is_terminal(lua_State *L)
{
	lua_pushboolean(L, pc_is_terminal((int)pc_check_range(L, 1, 0, INT_MAX)));
	return 1;
}

/* core.now_us() -> microseconds of a clock that only goes forward, for durations (CLOCK_MONOTONIC) */
static int run_now_us(lua_State *L)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	lua_pushinteger(L, (lua_Integer)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	return 1;
}

/* core.error_text(errno) -> "Permission denied" */
static int run_error_text(lua_State *L)
{
	lua_pushstring(L, strerror((int)pc_check_range(L, 1, 0, INT_MAX)));
	return 1;
}

void pc_open_run(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "plan", run_plan },
		{ "run", run_run },
		{ "become", run_become },
		{ "start", run_start },
		{ "prepare", run_prepare },
		{ "processors", run_processors },
		{ "process_token", run_process_token },
		{ "is_terminal", run_is_terminal },
		{ "now_us", run_now_us },
		{ "error_text", run_error_text },
		{ NULL, NULL },
	};
	static const luaL_Reg plan_methods[] = {
		{ "ops", plan_ops },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, PLAN);
	luaL_newlib(L, plan_methods);
	lua_setfield(L, -2, "__index");
	luaL_newmetatable(L, RESULT);
	lua_pushcfunction(L, result_gc);
	lua_setfield(L, -2, "__gc");
	lua_pop(L, 2);
	open_run_class(L);
	open_spare_class(L);
	luaL_setfuncs(L, functions, 0);
}
