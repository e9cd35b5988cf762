/*
 * bench.plain: starts a program the plain way and waits for it: the baseline of bench/spawn.lua. And what bench/soak.lua asks.
 *
 * posix_spawn(3) is vfork and exec in the C library: the cheapest start there is without a sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

extern char **environ;

/* Nothing read, nothing shown: standard input and output are /dev/null. Returns 0 or an errno. */
static int prepare(posix_spawn_file_actions_t *actions)
{
	int rc;

	rc = posix_spawn_file_actions_init(actions);
	if (rc)
		return rc;
	rc = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
	if (!rc)
		rc = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(actions, 1, 2);
	if (rc)
		posix_spawn_file_actions_destroy(actions);
	return rc;
}

/* 0 and the wait status, or an errno. */
static int start_and_wait(char *const *argv, char *const *envp, int *wait_status)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int rc;

	rc = prepare(&actions);
	if (rc)
		return rc;
	rc = posix_spawn(&pid, argv[0], &actions, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		return rc;
	while (waitpid(pid, wait_status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

/* The texts of a list, NULL-ended, as a userdata on the stack top; the list holds them. */
static char **check_list(lua_State *L, int arg)
{
	lua_Integer count, i;
	char **array;

	luaL_checktype(L, arg, LUA_TTABLE);
	count = luaL_len(L, arg);
	array = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof(*array), 0);
	for (i = 0; i < count; i++) {
		luaL_argcheck(L, lua_rawgeti(L, arg, i + 1) == LUA_TSTRING, arg, "a list of strings is expected");
		array[i] = (char *)lua_tostring(L, -1);
		lua_pop(L, 1);
	}
	array[count] = NULL;
	return array;
}

/* plain.spawn(argv[, env]) -> exit status | nil, message; argv[1] is a path, no output, standard input /dev/null */
static int plain_spawn(lua_State *L)
{
	char **argv, **envp = environ;
	int rc, wait_status;

	lua_settop(L, 2);
	argv = check_list(L, 1);
	luaL_argcheck(L, argv[0], 1, "a program is expected");
	if (!lua_isnil(L, 2))
		envp = check_list(L, 2);
	rc = start_and_wait(argv, envp, &wait_status);
	if (rc) {
		lua_pushnil(L);
		lua_pushfstring(L, "%s: %s", argv[0], strerror(rc));
		return 2;
	}
	lua_pushinteger(L, WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status));
	return 1;
}

/* plain.heap_bytes() -> what malloc(3) has given out; resident memory would be the allocator's room as well */
static int plain_heap_bytes(lua_State *L)
{
	struct mallinfo2 heap = mallinfo2();

	lua_pushinteger(L, (lua_Integer)(heap.uordblks + heap.hblkhd));
	return 1;
}

__attribute__((visibility("default"))) int luaopen_plain(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "spawn", plain_spawn },
		{ "heap_bytes", plain_heap_bytes },
		{ NULL, NULL },
	};

	luaL_newlib(L, functions);
	return 1;
}
