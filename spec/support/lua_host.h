/* A test's host of its own, a child of the test: a Lua with procage in it, and what it asks of processes. */
#ifndef PROCAGE_SPEC_LUA_HOST_H
#define PROCAGE_SPEC_LUA_HOST_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "core/lua_core.h"

enum { NOT_HERE = 77 };

/* Where it is told what is not so: a descriptor above those that cases close. */
static int report;

#define CHECK(condition) check(condition, #condition, __LINE__)

static inline void check(bool is_right, const char *text, int line)
{
	if (is_right)
		return;
	dprintf(report, "# line %d: not so: %s\n", line, text);
	_exit(1);
}

/* A state with `script` run in it. */
static inline lua_State *new_lua(const char *script)
{
	lua_State *L = luaL_newstate();

	CHECK(L != NULL);
	luaL_openlibs(L);
	luaL_requiref(L, "procage.core", luaopen_procage_core, 0);
	lua_pop(L, 1);
	if (luaL_dostring(L, script) != LUA_OK) {
		dprintf(report, "# %s\n", lua_tostring(L, -1));
		_exit(1);
	}
	return L;
}

static inline void call(lua_State *L, const char *name, int results)
{
	lua_getglobal(L, name);
	if (lua_pcall(L, 0, results, 0) != LUA_OK) {
		dprintf(report, "# %s: %s\n", name, lua_tostring(L, -1));
		_exit(1);
	}
}

static inline size_t read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return strlen(text);
}

/* Dead, whether or not somebody has waited for it. */
static inline bool is_dead(int pid)
{
	char path[64], text[512], *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!read_text(path, text, sizeof(text)))
		return true;
	state = strrchr(text, ')');
	return !state || state[2] == 'Z' || state[2] == 'X';
}

static inline bool dies(int pid)
{
	int i;

	for (i = 0; i < 500 && !is_dead(pid); i++)
		usleep(10000);
	return is_dead(pid);
}

#endif
