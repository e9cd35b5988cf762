/*
 * seccomp filters for Lua. A filter is a string: classic BPF, 8 bytes an instruction.
 *
 *   seccomp_filter{ groups = { "sysv", "kill_all", "peers", "listen" }, inet=, datagram=, tcp_only=, mediated=, loopback=,
 *     no_unix=, observed=, names=, refused = { "kill" } } -> string | nil, message, errno
 *   seccomp_call(name) -> number | nil, message, errno: ENOENT, or EOPNOTSUPP, where this architecture never had it
 *   seccomp_deny_net() -> the filter without groups and without inet
 *   seccomp_refused_calls() -> { { name=, number=, error=, groups = { "always" }, since=, why=, notice= }... }
 *   seccomp_install(string) -> true | nil, message, errno      on the calling thread; no_new_privs must be set
 */
#include "core/lua_check.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "core/lua_core.h"
#include "platform/platform.h"

/* struct sock_filter: 16-bit code, two 8-bit jumps, 32-bit operand. */
#define INSTRUCTION_BYTES 8
#define MAX_INSTRUCTIONS  4096

static const struct {
	const char *name;
	unsigned int group;
} groups[] = {
	{ "always", PC_REFUSE_ALWAYS }, { "sysv", PC_REFUSE_SYSV },	{ "kill_all", PC_REFUSE_KILL_ALL },
	{ "peers", PC_REFUSE_PEERS },	{ "listen", PC_REFUSE_LISTEN },
};

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static unsigned int check_group(lua_State *L, int arg)
{
	if (lua_type(L, -1) != LUA_TSTRING)
		luaL_argerror(L, arg, "option 'groups' holds something that is no name");
	for (size_t i = 0; i < GROUPS; i++)
		if (strcmp(lua_tostring(L, -1), groups[i].name) == 0)
			return groups[i].group;
	luaL_argerror(L, arg, lua_pushfstring(L, "unknown group '%s'", lua_tostring(L, -1)));
	return 0;
}

/* A list without holes: a name under another key must not be overlooked, it would refuse nothing. */
static unsigned int check_groups(lua_State *L, int arg)
{
	unsigned int set = PC_REFUSE_ALWAYS;
	lua_Integer seen = 0;
	lua_Integer length;

	if (lua_getfield(L, arg, "groups") == LUA_TNIL) {
		lua_pop(L, 1);
		return set;
	}
	if (lua_type(L, -1) != LUA_TTABLE)
		luaL_argerror(L, arg, "option 'groups' is not a list");

	length = (lua_Integer)lua_rawlen(L, -1);
	for (lua_Integer i = 1; i <= length; i++) {
		lua_rawgeti(L, -1, i);
		set |= check_group(L, arg);
		lua_pop(L, 1);
	}
	lua_pushnil(L);
	for (; lua_next(L, -2); lua_pop(L, 1))
		seen++;
	if (seen != length)
		luaL_argerror(L, arg, "option 'groups' is not a list");
	lua_pop(L, 1);
	return set;
}

#define MAX_REFUSED 128

/* Names that this architecture never had are left out: there is nothing to refuse. */
static size_t check_refused(lua_State *L, int arg, int *numbers)
{
	size_t count = 0;
	lua_Integer length;

	if (lua_getfield(L, arg, "refused") == LUA_TNIL) {
		lua_pop(L, 1);
		return 0;
	}
	if (lua_type(L, -1) != LUA_TTABLE)
		luaL_argerror(L, arg, "option 'refused' is not a list");
	length = (lua_Integer)lua_rawlen(L, -1);
	if (length > MAX_REFUSED)
		luaL_argerror(L, arg, "option 'refused' holds more than 128 names");
	for (lua_Integer i = 1; i <= length; i++) {
		int number;

		if (lua_rawgeti(L, -1, i) != LUA_TSTRING)
			luaL_argerror(L, arg, "option 'refused' holds something that is no name");
		number = pc_filter_call(lua_tostring(L, -1));
		if (number == -ENOENT)
			luaL_argerror(L, arg, lua_pushfstring(L, "unknown call '%s'", lua_tostring(L, -1)));
		if (number >= 0)
			numbers[count++] = number;
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return count;
}

static int push_compiled(lua_State *L, const struct pc_filter_spec *spec)
{
	void *program = NULL;
	size_t count = 0;
	luaL_Buffer buffer;
	char *bytes;
	int rc;

	/* Memory for the longest filter first: a Lua error after the compilation would lose the program. */
	bytes = luaL_buffinitsize(L, &buffer, (size_t)MAX_INSTRUCTIONS * INSTRUCTION_BYTES);
	rc = pc_filter_compile(spec, &program, &count);
	if (rc == 0) {
		memcpy(bytes, program, count * INSTRUCTION_BYTES);
		free(program);
	}
	luaL_pushresultsize(&buffer, count * INSTRUCTION_BYTES);
	return rc == 0 ? 1 : pc_push_result(L, rc, "seccomp filter");
}

static int seccomp_filter(lua_State *L)
{
	static const char *const keys[] = { "groups",  "inet",	   "datagram", "tcp_only", "mediated", "loopback",
					    "no_unix", "observed", "names",    "dumpable", "refused",  NULL };
	int refused[MAX_REFUSED];
	struct pc_filter_spec spec = { 0 };

	pc_check_options(L, 1, keys);
	spec.groups = check_groups(L, 1);
	spec.refused = refused;
	spec.refused_count = check_refused(L, 1, refused);
	spec.inet = pc_option_boolean(L, 1, "inet");
	spec.datagram = pc_option_boolean(L, 1, "datagram");
	spec.tcp_only = pc_option_boolean(L, 1, "tcp_only");
	spec.mediated = pc_option_boolean(L, 1, "mediated");
	spec.dumpable = pc_option_boolean(L, 1, "dumpable");
	spec.names = pc_option_boolean(L, 1, "names");
	spec.observed = pc_option_boolean(L, 1, "observed");
	spec.loopback = pc_option_boolean(L, 1, "loopback");
	spec.no_unix = pc_option_boolean(L, 1, "no_unix");
	return push_compiled(L, &spec);
}

static int seccomp_call(lua_State *L)
{
	const char *name = pc_check_string(L, 1, NULL);
	int number = pc_filter_call(name);

	/* 0 is a call too: read on some architectures. */
	if (number >= 0) {
		lua_pushinteger(L, number);
		return 1;
	}
	return pc_push_result(L, number, name);
}

static int seccomp_deny_net(lua_State *L)
{
	const struct pc_filter_spec spec = { .groups = PC_REFUSE_ALWAYS };

	return push_compiled(L, &spec);
}

static int seccomp_refused_calls(lua_State *L)
{
	const struct pc_refused_call *call = pc_refused_calls();

	lua_newtable(L);
	for (lua_Integer n = 1; call->name; call++, n++) {
		lua_Integer place = 0;

		lua_createtable(L, 0, 7);
		lua_pushstring(L, call->name);
		lua_setfield(L, -2, "name");
		if (call->number >= 0) {
			lua_pushinteger(L, call->number);
			lua_setfield(L, -2, "number");
		}
		lua_pushinteger(L, call->error);
		lua_setfield(L, -2, "error");
		lua_newtable(L);
		for (size_t i = 0; i < GROUPS; i++)
			if (call->group & groups[i].group) {
				lua_pushstring(L, groups[i].name);
				lua_rawseti(L, -2, ++place);
			}
		lua_setfield(L, -2, "groups");
		lua_pushstring(L, call->since);
		lua_setfield(L, -2, "since");
		lua_pushstring(L, call->why);
		lua_setfield(L, -2, "why");
		lua_pushstring(L, call->notice);
		lua_setfield(L, -2, "notice");
		lua_rawseti(L, -2, n);
	}
	return 1;
}

static int seccomp_install(lua_State *L)
{
	size_t len;
	const char *program = pc_check_string(L, 1, &len);

	luaL_argcheck(L, len > 0 && len % INSTRUCTION_BYTES == 0, 1, "not a filter: its size is no multiple of 8");
	luaL_argcheck(L, len / INSTRUCTION_BYTES <= MAX_INSTRUCTIONS, 1, "filter has more than 4096 instructions");
	return pc_push_result(L, pc_filter_install(program, len / INSTRUCTION_BYTES), "seccomp");
}

/* core.seccomp_notified(program) -> the same program with its refusals as notifications */
static int seccomp_notified(lua_State *L)
{
	size_t size;
	const char *program = pc_check_string(L, 1, &size);
	luaL_Buffer buffer;

	luaL_argcheck(L, size && size % 8 == 0, 1, "a program is a multiple of 8 bytes");
	pc_filter_notify(program, size / 8, luaL_buffinitsize(L, &buffer, size));
	luaL_pushresultsize(&buffer, size);
	return 1;
}

void pc_open_seccomp(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "seccomp_notified", seccomp_notified },
		{ "seccomp_filter", seccomp_filter },
		{ "seccomp_deny_net", seccomp_deny_net },
		{ "seccomp_refused_calls", seccomp_refused_calls },
		{ "seccomp_call", seccomp_call },
		{ "seccomp_install", seccomp_install },
		{ NULL, NULL },
	};

	luaL_setfuncs(L, functions, 0);
}
