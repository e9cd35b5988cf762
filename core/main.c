/*
 * procage-lua, the program: opens Lua, finds its own files, and runs procage.cli. The one C file that prints.
 *
 * It is started in directories that commands write, with an environment that others may have filled. So nothing of LUA_PATH,
 * LUA_CPATH or LUA_INIT is read, and no module is ever looked for relative to the working directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

#include "core/arena.h"
#include "core/lua_core.h"
#include "core/open.h"
#include "platform/platform.h"

/* Our own failure, as of env(1), nohup(1) and timeout(1); 126 and 127 speak of the command. */
#define EXIT_OURS 125

/*
 * A descriptor 0, 1 or 2 that the caller left closed would be handed to the first file opened, which the command would then
 * inherit as its standard input or output.
 */
static bool fill_standard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return false;
	} while (fd <= 2);
	close(fd);
	return true;
}

/* The prefix that holds bin/procage-lua: of an installation or of a build tree, which has the same shape. */
static bool own_prefix(char *prefix, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", prefix, size);
	int level;

	if (length < 0 || (size_t)length >= size)
		return false;
	prefix[length] = '\0';
	for (level = 0; level < 2; level++) {
		char *slash = strrchr(prefix, '/');

		if (!slash)
			return false;
		*slash = '\0';
	}
	/* Lua's path has no way to quote these. */
	return !strpbrk(prefix, ";?");
}

/* Where our own files cannot be seen, there is nothing to trace: within a sandbox they were hidden, or covered by its /tmp. */
static bool is_without_files(const char *message)
{
	static const char start[] = "module 'procage.cli' not found";

	return strncmp(message, start, sizeof(start) - 1) == 0;
}

static int traceback(lua_State *L)
{
	const char *message = luaL_tolstring(L, 1, NULL);
	char prefix[PATH_MAX];

	if (is_without_files(message) && own_prefix(prefix, sizeof(prefix))) {
		lua_pushfstring(L,
				"its own files, %s/share/lua and what that leads to, are not to be seen here; "
				"within a sandbox: --allow-read of the installation, or of the whole checkout",
				prefix);
		return 1;
	}
	luaL_traceback(L, L, message, 1);
	return 1;
}

/* The protected part: argc and argv in; the exit status out, and whether the state may be left to the end of the process. */
static int run(lua_State *L)
{
	int argc = (int)lua_tointeger(L, 1);
	char **argv = lua_touserdata(L, 2);
	char prefix[PATH_MAX];
	int i;

	if (!own_prefix(prefix, sizeof(prefix)))
		return luaL_error(L, "/proc/self/exe: %s: cannot find my own files", errno ? strerror(errno) : "unusable path");
	pc_open_lua(L, prefix);

	lua_createtable(L, argc, 1);
	for (i = 0; i < argc; i++) {
		lua_pushstring(L, argv[i]);
		lua_rawseti(L, -2, i);
	}
	lua_setglobal(L, "arg");

	lua_getglobal(L, "require");
	lua_pushliteral(L, "procage.cli");
	lua_call(L, 1, 1);
	lua_getfield(L, -1, "main");
	lua_getglobal(L, "arg");
	lua_call(L, 1, 2);
	if (!lua_isinteger(L, -2))
		return luaL_error(L, "procage.cli returned %s, not an exit status", luaL_typename(L, -2));
	return 2;
}

int main(int argc, char **argv)
{
	/* Static: one that is left to the end of the process is no leak. */
	static struct pc_arena arena;
	static lua_State *L;
	bool is_left = false, is_run;
	int status = EXIT_OURS;

	pc_tune_heap();
	if (!fill_standard_descriptors())
		return EXIT_OURS;

	/* doctor's two helpers, which start where hardly a file can be read. */
	if (argc > 1 && strcmp(argv[1], "__attack") == 0)
		return pc_attack_serve(STDIN_FILENO, STDOUT_FILENO);
	if (argc > 1 && strcmp(argv[1], "__victim") == 0)
		return pc_attack_victim(STDIN_FILENO, STDOUT_FILENO);

	is_run = argc > 1 && strcmp(argv[1], "run") == 0;
	if (is_run)
		pc_probe_begin();
	L = is_run ? lua_newstate(pc_arena_resize, &arena) : luaL_newstate();
	if (!L) {
		fputs("procage-lua: not enough memory\n", stderr);
		return EXIT_OURS;
	}
	/*
	 * A run is over in a few ms but for the command, while nothing runs here: collected when the heap is ten times what it was.
	 * That is once, early: from now on, for what the modules take is soon the larger part of it.
	 */
	if (is_run)
		lua_gc(L, LUA_GCINC, 1000, 0, 0);
	lua_pushcfunction(L, traceback);
	lua_pushcfunction(L, run);
	lua_pushinteger(L, argc);
	lua_pushlightuserdata(L, argv);
	if (lua_pcall(L, 2, 2, 1) == LUA_OK) {
		status = (int)lua_tointeger(L, -2);
		is_left = lua_toboolean(L, -1);
	} else {
		fprintf(stderr, "procage-lua: %s\n", lua_tostring(L, -1));
	}
	if (!is_left)
		lua_close(L);
	pc_probe_end();

	/* Output that could not be written is a failure that the caller must see. */
	if (fflush(stdout) != 0 && status == 0) {
		perror("procage-lua: standard output");
		status = EXIT_OURS;
	}
	return status;
}
