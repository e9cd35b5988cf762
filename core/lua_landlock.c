/*
 * Landlock for Lua.
 *
 *   landlock_abi() -> integer | nil, message, errno
 *   landlock_cap_abi(abi)                      the test hook; -1 lifts the cap
 *   landlock_errata() -> integer | nil, message, errno
 *   landlock_bits() -> { fs = { { name=, bit=, abi=, since= }... }, net=, scope=, restrict=, add_rule= }
 *   landlock_mask(table, abi) -> integer       the bits of "fs", "net"... that an ABI has
 *   landlock_file_mask() -> integer            the rights that a file can have
 *   landlock_ruleset{ fs=, net=, scoped= } -> ruleset, clipped | nil, message, errno
 *   ruleset:add_path(path, access[, nofollow])   ruleset:add_port(port, access)   ruleset:restrict_self([flags])
 *   ruleset:fd()   ruleset:close()             also closed by the collector and as a to-be-closed variable
 *
 * Rights are integers made of the table's bits. What a host cannot handle is clipped and handed back in `clipped`.
 */
#include "core/lua_check.h"

#include <lauxlib.h>
#include <limits.h>
#include <unistd.h>

#include "core/lua_core.h"
#include "platform/platform.h"

#define RULESET "procage.ruleset"

struct ruleset {
	int fd; /* -1: closed */
};

static const char *const table_names[] = { "fs", "net", "scope", "restrict", "add_rule", NULL };

static const enum pc_landlock_table tables[] = {
	PC_LANDLOCK_FS, PC_LANDLOCK_NET, PC_LANDLOCK_SCOPE, PC_LANDLOCK_RESTRICT, PC_LANDLOCK_ADD_RULE,
};

static int landlock_abi(lua_State *L)
{
	return pc_push_result(L, pc_landlock_abi(), "landlock_create_ruleset");
}

static int landlock_cap_abi(lua_State *L)
{
	pc_landlock_cap_abi((int)pc_check_range(L, 1, -1, INT_MAX));
	return 0;
}

static int landlock_errata(lua_State *L)
{
	uint32_t errata = 0;
	int rc = pc_landlock_errata(&errata);

	if (rc < 0)
		return pc_push_result(L, rc, "landlock_create_ruleset");
	lua_pushinteger(L, errata);
	return 1;
}

static int landlock_bits(lua_State *L)
{
	lua_newtable(L);
	for (size_t i = 0; table_names[i]; i++) {
		const struct pc_landlock_bit *row = pc_landlock_bits(tables[i]);

		lua_newtable(L);
		for (lua_Integer n = 1; row->name; row++, n++) {
			lua_createtable(L, 0, 4);
			lua_pushstring(L, row->name);
			lua_setfield(L, -2, "name");
			lua_pushinteger(L, (lua_Integer)row->bit);
			lua_setfield(L, -2, "bit");
			lua_pushinteger(L, row->abi);
			lua_setfield(L, -2, "abi");
			lua_pushstring(L, row->since);
			lua_setfield(L, -2, "since");
			lua_rawseti(L, -2, n);
		}
		lua_setfield(L, -2, table_names[i]);
	}
	return 1;
}

static int landlock_mask(lua_State *L)
{
	enum pc_landlock_table table = tables[luaL_checkoption(L, 1, NULL, table_names)];
	int abi = (int)pc_check_range(L, 2, 0, INT_MAX);

	lua_pushinteger(L, (lua_Integer)pc_landlock_mask(table, abi));
	return 1;
}

static int landlock_file_mask(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)pc_landlock_file_mask());
	return 1;
}

static void push_handled(lua_State *L, const struct pc_landlock_handled *handled)
{
	lua_createtable(L, 0, 3);
	lua_pushinteger(L, (lua_Integer)handled->fs);
	lua_setfield(L, -2, "fs");
	lua_pushinteger(L, (lua_Integer)handled->net);
	lua_setfield(L, -2, "net");
	lua_pushinteger(L, (lua_Integer)handled->scoped);
	lua_setfield(L, -2, "scoped");
}

static int landlock_ruleset(lua_State *L)
{
	static const char *const keys[] = { "fs", "net", "scoped", NULL };
	struct pc_landlock_handled want, clipped;
	struct ruleset *rs;
	int fd;

	pc_check_options(L, 1, keys);
	want.fs = pc_option_bits(L, 1, "fs");
	want.net = pc_option_bits(L, 1, "net");
	want.scoped = pc_option_bits(L, 1, "scoped");

	rs = lua_newuserdatauv(L, sizeof(*rs), 0);
	rs->fd = -1;
	luaL_setmetatable(L, RULESET);

	fd = pc_landlock_create(&want, &clipped);
	if (fd < 0)
		return pc_push_result(L, fd, "landlock_create_ruleset");
	rs->fd = fd;
	push_handled(L, &clipped);
	return 2;
}

static struct ruleset *check_open_ruleset(lua_State *L, int arg)
{
	struct ruleset *rs = luaL_checkudata(L, arg, RULESET);

	luaL_argcheck(L, rs->fd >= 0, arg, "ruleset is closed");
	return rs;
}

static int ruleset_add_path(lua_State *L)
{
	struct ruleset *rs = check_open_ruleset(L, 1);
	const char *path = pc_check_path(L, 2);
	lua_Integer access = luaL_checkinteger(L, 3);
	bool nofollow = pc_opt_boolean(L, 4);

	return pc_push_result(L, pc_landlock_add_path(rs->fd, path, (uint64_t)access, nofollow), path);
}

static int ruleset_add_port(lua_State *L)
{
	struct ruleset *rs = check_open_ruleset(L, 1);
	lua_Integer port = pc_check_range(L, 2, 0, UINT16_MAX);
	lua_Integer access = luaL_checkinteger(L, 3);
	const char *what = lua_pushfstring(L, "port %I", (LUAI_UACINT)port);

	return pc_push_result(L, pc_landlock_add_port(rs->fd, (uint16_t)port, (uint64_t)access), what);
}

static int ruleset_restrict_self(lua_State *L)
{
	struct ruleset *rs = check_open_ruleset(L, 1);
	lua_Integer flags = lua_isnoneornil(L, 2) ? 0 : pc_check_range(L, 2, 0, UINT32_MAX);

	return pc_push_result(L, pc_landlock_restrict(rs->fd, (uint32_t)flags), "landlock_restrict_self");
}

static int ruleset_fd(lua_State *L)
{
	lua_pushinteger(L, check_open_ruleset(L, 1)->fd);
	return 1;
}

/* close, __gc and __close: may run twice. */
static int ruleset_close(lua_State *L)
{
	struct ruleset *rs = luaL_checkudata(L, 1, RULESET);
	int fd = rs->fd;

	rs->fd = -1;
	if (fd >= 0)
		close(fd);
	return 0;
}

static int ruleset_tostring(lua_State *L)
{
	struct ruleset *rs = luaL_checkudata(L, 1, RULESET);

	if (rs->fd < 0)
		lua_pushliteral(L, RULESET " (closed)");
	else
		lua_pushfstring(L, RULESET " (fd %d)", rs->fd);
	return 1;
}

/*
 * core.confine_process(trees) -> true | nil, message, errno[, threads]: the calling process writes beneath these alone, for good
 */
static int confine_process(lua_State *L)
{
	struct pc_confine_failure failure;
	const char **trees;
	lua_Integer count, i;
	int rc;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	count = luaL_len(L, 1);
	luaL_argcheck(L, count >= 0 && count <= 65536, 1, "too many trees");
	trees = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof(*trees), 0);
	for (i = 0; i < count; i++) {
		lua_rawgeti(L, 1, i + 1);
		trees[i] = pc_check_path(L, 3);
		lua_pop(L, 1); /* the caller's table holds it */
	}
	trees[count] = NULL;
	rc = pc_confine_process(trees, &failure);
	if (rc == 0 || !failure.threads)
		return pc_push_result(L, rc, failure.path ? failure.path : "Landlock");
	lua_pushnil(L);
	lua_pushfstring(L, "this process has %d threads, and Landlock before ABI 8 confines the calling one only",
			(int)failure.threads);
	lua_pushinteger(L, -rc);
	lua_pushinteger(L, failure.threads);
	return 4;
}

void pc_open_landlock(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "landlock_abi", landlock_abi },
		{ "landlock_cap_abi", landlock_cap_abi },
		{ "landlock_errata", landlock_errata },
		{ "landlock_bits", landlock_bits },
		{ "landlock_mask", landlock_mask },
		{ "landlock_file_mask", landlock_file_mask },
		{ "landlock_ruleset", landlock_ruleset },
		{ "confine_process", confine_process },
		{ NULL, NULL },
	};
	static const luaL_Reg methods[] = {
		{ "add_path", ruleset_add_path },
		{ "add_port", ruleset_add_port },
		{ "restrict_self", ruleset_restrict_self },
		{ "fd", ruleset_fd },
		{ "close", ruleset_close },
		{ NULL, NULL },
	};
	static const luaL_Reg metamethods[] = {
		{ "__gc", ruleset_close },
		{ "__close", ruleset_close },
		{ "__tostring", ruleset_tostring },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, RULESET);
	luaL_setfuncs(L, metamethods, 0);
	lua_newtable(L);
	luaL_setfuncs(L, methods, 0);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);

	luaL_setfuncs(L, functions, 0);
}
