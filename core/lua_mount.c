/*
 * Namespaces, mounts, and what a process sheds, for Lua: each acts on the calling process, which must have one thread for most.
 *
 *   unshare_user(uid, gid)   a user namespace where the caller has this one user and group id
 *   unshare_mount()  unshare_net()  unshare_ipc()  unshare_uts()  unshare_pid()  the last is for children made later
 *   net_lo_up()   mount_private()
 *   mount_bind(from, to[, { read_only = true }])   mount_read_only(path[, recursive])
 *   mount_tmpfs(path[, options])   mount_proc(path)   mount_devpts(path)   mask_directory(path)   mask_file(path)
 *   drop_capabilities()   no_new_privs()   new_session()   close_from(fd)   set_rlimit(name, value)   reset_signals()
 *     each -> true | nil, message, errno
 *   rlimits                  { nofile = 7... }: what set_rlimit knows, with the system's numbers
 *
 * Mounts are meant for a mount namespace of the caller's own, made private: else they are the host's.
 */
#include "core/lua_check.h"

#include <lauxlib.h>
#include <limits.h>
#include <string.h>

#include "core/lua_core.h"
#include "platform/platform.h"

/* ---- namespaces --------------------------------------------------------------------------------------------------------- */

static int core_unshare_user(lua_State *L)
{
	uint32_t uid = (uint32_t)pc_check_range(L, 1, 0, UINT32_MAX);
	uint32_t gid = (uint32_t)pc_check_range(L, 2, 0, UINT32_MAX);
	int rc = pc_ns_unshare(PC_NS_USER);

	if (rc < 0)
		return pc_push_result(L, rc, "user namespace");
	return pc_push_result(L, pc_ns_map_ids(uid, gid), "id maps of the user namespace");
}

static int core_unshare_mount(lua_State *L)
{
	return pc_push_result(L, pc_ns_unshare(PC_NS_MOUNT), "mount namespace");
}

static int core_unshare_net(lua_State *L)
{
	return pc_push_result(L, pc_ns_unshare(PC_NS_NET), "network namespace");
}

static int core_unshare_ipc(lua_State *L)
{
	return pc_push_result(L, pc_ns_unshare(PC_NS_IPC), "IPC namespace");
}

static int core_unshare_uts(lua_State *L)
{
	return pc_push_result(L, pc_ns_unshare(PC_NS_UTS), "UTS namespace");
}

static int core_unshare_pid(lua_State *L)
{
	return pc_push_result(L, pc_ns_unshare(PC_NS_PID), "PID namespace");
}

static int core_net_lo_up(lua_State *L)
{
	return pc_push_result(L, pc_net_lo_up(), "loopback interface");
}

/* ---- mounts ------------------------------------------------------------------------------------------------------------- */

static int core_mount_private(lua_State *L)
{
	return pc_push_result(L, pc_mount_private(), "mount private /");
}

static int core_mount_bind(lua_State *L)
{
	static const char *const keys[] = { "read_only", NULL };
	const char *from = pc_check_path(L, 1);
	const char *to = pc_check_path(L, 2);
	bool read_only = false;

	if (!lua_isnoneornil(L, 3)) {
		pc_check_options(L, 3, keys);
		read_only = pc_option_boolean(L, 3, "read_only");
	}
	return pc_push_result(L, pc_mount_bind(from, to, read_only), lua_pushfstring(L, "bind %s to %s", from, to));
}

static int core_mount_read_only(lua_State *L)
{
	const char *path = pc_check_path(L, 1);
	bool recursive = pc_opt_boolean(L, 2);

	return pc_push_result(L, pc_mount_read_only(path, recursive), path);
}

static int core_mount_tmpfs(lua_State *L)
{
	const char *path = pc_check_path(L, 1);
	const char *options = NULL;
	size_t size = 0;

	if (!lua_isnoneornil(L, 2)) {
		options = pc_check_string(L, 2, &size);
		luaL_argcheck(L, strlen(options) == size, 2, "options have a NUL byte inside");
	}
	return pc_push_result(L, pc_mount_tmpfs(path, options), path);
}

static int core_mount_proc(lua_State *L)
{
	const char *path = pc_check_path(L, 1);

	return pc_push_result(L, pc_mount_proc(path), path);
}

static int core_mount_devpts(lua_State *L)
{
	const char *path = pc_check_path(L, 1);

	return pc_push_result(L, pc_mount_devpts(path), path);
}

static int core_mask_directory(lua_State *L)
{
	const char *path = pc_check_path(L, 1);

	return pc_push_result(L, pc_mask_directory(path), path);
}

static int core_mask_file(lua_State *L)
{
	const char *path = pc_check_path(L, 1);

	return pc_push_result(L, pc_mask_file(path), path);
}

/* ---- the process itself ------------------------------------------------------------------------------------------------- */

static int core_drop_capabilities(lua_State *L)
{
	return pc_push_result(L, pc_drop_capabilities(), "capabilities");
}

static int core_no_new_privs(lua_State *L)
{
	return pc_push_result(L, pc_no_new_privs(), "no_new_privs");
}

static int core_new_session(lua_State *L)
{
	return pc_push_result(L, pc_new_session(), "new session");
}

static int core_close_from(lua_State *L)
{
	unsigned int first = (unsigned int)pc_check_range(L, 1, 0, INT_MAX);

	return pc_push_result(L, pc_close_from(first), "close descriptors");
}

static int core_set_rlimit(lua_State *L)
{
	size_t size;
	const char *name = pc_check_string(L, 1, &size);
	lua_Integer value = pc_check_range(L, 2, 0, LUA_MAXINTEGER);
	const struct pc_rlimit_name *row = pc_rlimit_names();

	while (row->name && strcmp(row->name, name) != 0)
		row++;
	if (!row->name)
		return luaL_argerror(L, 1, lua_pushfstring(L, "unknown limit '%s'", name));
	return pc_push_result(L, pc_set_rlimit(row->resource, (uint64_t)value), name);
}

static int core_reset_signals(lua_State *L)
{
	return pc_push_result(L, pc_reset_signals(), "signals");
}

void pc_open_mount(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "unshare_user", core_unshare_user },	 { "unshare_mount", core_unshare_mount },
		{ "unshare_net", core_unshare_net },	 { "unshare_ipc", core_unshare_ipc },
		{ "unshare_uts", core_unshare_uts },	 { "unshare_pid", core_unshare_pid },
		{ "net_lo_up", core_net_lo_up },	 { "mount_private", core_mount_private },
		{ "mount_bind", core_mount_bind },	 { "mount_read_only", core_mount_read_only },
		{ "mount_tmpfs", core_mount_tmpfs },	 { "mount_proc", core_mount_proc },
		{ "mount_devpts", core_mount_devpts },	 { "mask_directory", core_mask_directory },
		{ "mask_file", core_mask_file },	 { "drop_capabilities", core_drop_capabilities },
		{ "no_new_privs", core_no_new_privs },	 { "new_session", core_new_session },
		{ "close_from", core_close_from },	 { "set_rlimit", core_set_rlimit },
		{ "reset_signals", core_reset_signals }, { NULL, NULL },
	};

	luaL_setfuncs(L, functions, 0);

	lua_newtable(L);
	for (const struct pc_rlimit_name *row = pc_rlimit_names(); row->name; row++) {
		lua_pushinteger(L, row->resource);
		lua_setfield(L, -2, row->name);
	}
	lua_setfield(L, -2, "rlimits");
}
