/*
 * What this host can do, for Lua.
 *
 *   probe([{ fresh = true }]) -> Host, as in lua/procage/host.lua: every fact present, and failures by the fact's name
 *
 * Measured once per process, and again by `fresh`, after a fork or a change of user, or when the Landlock ABI was capped since.
 */
#include "core/lua_check.h"

#include <errno.h>
#include <lauxlib.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "core/lua_core.h"
#include "platform/platform.h"

/* `field`: a boolean of the Host has this name too. The others show only in `failures`, when they fail. */
static const struct {
	const char *name;
	bool field;
} facts[PC_FACTS] = {
	[PC_FACT_LANDLOCK] = { "landlock", false },
	[PC_FACT_SECCOMP_FILTER] = { "seccomp_filter", true },
	[PC_FACT_SECCOMP_NOTIFY] = { "seccomp_notify", true },
	[PC_FACT_TCP_DIAG] = { "tcp_diag", true },
	[PC_FACT_LANDLOCK_AUDIT] = { "landlock_audit", true },
	[PC_FACT_CLOSE_RANGE] = { "close_range", false },
	[PC_FACT_PIDFD] = { "pidfd", false },
	[PC_FACT_USERNS] = { "userns", true },
	[PC_FACT_MOUNTNS] = { "mountns", true },
	[PC_FACT_MOUNT_SETATTR] = { "mount_setattr", true },
	[PC_FACT_NETNS] = { "netns", true },
	[PC_FACT_NETNS_JOIN] = { "netns_join", true },
	[PC_FACT_IPCNS] = { "ipcns", true },
	[PC_FACT_PIDNS] = { "pidns", true },
	[PC_FACT_DEVPTS] = { "devpts", true },
	[PC_FACT_NPROC] = { "nproc", true },
	[PC_FACT_CGROUP] = { "cgroup", false },
	[PC_FACT_CGROUP_MEMORY] = { "cgroup_memory", true },
	[PC_FACT_CGROUP_PIDS] = { "cgroup_pids", true },
};

/* Those that a probed call can answer; strerrorname_np(3) is glibc's alone. */
static const struct {
	int number;
	const char *name;
} errors[] = {
	{ EPERM, "EPERM" },
	{ ENOENT, "ENOENT" },
	{ EIO, "EIO" },
	{ E2BIG, "E2BIG" },
	{ EBADF, "EBADF" },
	{ ECHILD, "ECHILD" },
	{ EAGAIN, "EAGAIN" },
	{ ENOMEM, "ENOMEM" },
	{ EACCES, "EACCES" },
	{ EFAULT, "EFAULT" },
	{ EBUSY, "EBUSY" },
	{ EEXIST, "EEXIST" },
	{ EXDEV, "EXDEV" },
	{ ENODEV, "ENODEV" },
	{ ENOTDIR, "ENOTDIR" },
	{ EISDIR, "EISDIR" },
	{ EINVAL, "EINVAL" },
	{ ENFILE, "ENFILE" },
	{ EMFILE, "EMFILE" },
	{ ENOTTY, "ENOTTY" },
	{ ENOSPC, "ENOSPC" },
	{ EROFS, "EROFS" },
	{ ENAMETOOLONG, "ENAMETOOLONG" },
	{ ENOSYS, "ENOSYS" },
	{ ELOOP, "ELOOP" },
	{ ENOMSG, "ENOMSG" },
	{ EPROTO, "EPROTO" },
	{ EUSERS, "EUSERS" },
	{ EOPNOTSUPP, "EOPNOTSUPP" },
	{ EAFNOSUPPORT, "EAFNOSUPPORT" },
	{ ENETUNREACH, "ENETUNREACH" },
	{ ECONNREFUSED, "ECONNREFUSED" },
	{ EPROTONOSUPPORT, "EPROTONOSUPPORT" },
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pc_host cached_host;
static bool is_cached;

/* Held for the copy alone: never while children run, and never while Lua may raise. */
static bool read_cache(struct pc_host *host)
{
	bool found;

	pthread_mutex_lock(&cache_lock);
	found = is_cached;
	if (found)
		memcpy(host, &cached_host, sizeof(*host));
	pthread_mutex_unlock(&cache_lock);
	return found && pc_probe_is_current(host);
}

static void write_cache(const struct pc_host *host)
{
	pthread_mutex_lock(&cache_lock);
	memcpy(&cached_host, host, sizeof(*host));
	is_cached = true;
	pthread_mutex_unlock(&cache_lock);
}

/* ---- A probe ahead of time -------------------------------------------------------------------------------------------------- */

static pthread_t ahead;
static bool is_ahead;

static void *probe_ahead(void *unused)
{
	struct pc_host host;

	(void)unused;
	pc_probe(&host);
	write_cache(&host);
	return NULL;
}

void pc_probe_begin(void)
{
	sigset_t all, before;

	/* Signals are for the thread that there was before. */
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return;
	/* Without a thread it is done when it is asked for. */
	is_ahead = pthread_create(&ahead, NULL, probe_ahead, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void pc_probe_end(void)
{
	if (!is_ahead)
		return;
	pthread_join(ahead, NULL);
	is_ahead = false;
}

/* ---- The binding --------------------------------------------------------------------------------------------------------- */

static void push_error_name(lua_State *L, int error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].number == error) {
			lua_pushstring(L, errors[i].name);
			return;
		}
	}
	lua_pushfstring(L, "errno %d", error);
}

static void push_failures(lua_State *L, const struct pc_host *host)
{
	lua_newtable(L);
	for (size_t i = 0; i < PC_FACTS; i++) {
		const struct pc_fact_result *result = &host->facts[i];

		if (result->has || !result->step)
			continue;
		lua_createtable(L, 0, 3);
		lua_pushstring(L, result->step);
		lua_setfield(L, -2, "step");
		lua_pushinteger(L, -result->error);
		lua_setfield(L, -2, "errno");
		push_error_name(L, -result->error);
		lua_setfield(L, -2, "error");
		lua_setfield(L, -2, facts[i].name);
	}
}

static void set_text(lua_State *L, const char *key, const char *text)
{
	if (*text)
		lua_pushstring(L, text);
	else
		lua_pushboolean(L, 0);
	lua_setfield(L, -2, key);
}

static void set_integer(lua_State *L, const char *key, lua_Integer value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, key);
}

static void push_host(lua_State *L, const struct pc_host *host)
{
	lua_createtable(L, 0, 20);
	set_text(L, "system", host->system);
	set_text(L, "machine", host->machine);
	set_text(L, "kernel", host->kernel);
	set_integer(L, "uid", host->uid);
	set_integer(L, "gid", host->gid);
	set_integer(L, "landlock_abi", host->landlock_abi);
	set_integer(L, "landlock_errata", host->landlock_errata);
	for (size_t i = 0; i < PC_FACTS; i++) {
		if (!facts[i].field)
			continue;
		lua_pushboolean(L, host->facts[i].has);
		lua_setfield(L, -2, facts[i].name);
	}
	lua_pushboolean(L, host->apparmor_userns);
	lua_setfield(L, -2, "apparmor_userns");
	set_text(L, "container", host->container);
	set_text(L, "cgroup", host->cgroup);
	push_failures(L, host);
	lua_setfield(L, -2, "failures");
}

static int core_probe(lua_State *L)
{
	static const char *const keys[] = { "fresh", NULL };
	struct pc_host host;
	bool fresh = false;

	if (!lua_isnoneornil(L, 1)) {
		pc_check_options(L, 1, keys);
		fresh = pc_option_boolean(L, 1, "fresh");
	}
	pc_probe_end();
	if (fresh || !read_cache(&host)) {
		pc_probe(&host);
		write_cache(&host);
	}
	push_host(L, &host);
	return 1;
}

void pc_open_probe(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "probe", core_probe },
		{ NULL, NULL },
	};

	luaL_setfuncs(L, functions, 0);
}
