/*
 * Binding: a call that Ctrl-C ends with a Lua error. For programs with a prompt; nothing else of the library touches a signal's
 * disposition, and this one restores it.
 */
#include "lua_check.h"
#include "lua_core.h"

#include <lauxlib.h>
#include <signal.h>

/* Who is interrupted, and how often since the last time that Lua took notice. */
static lua_State *interrupted;
static volatile sig_atomic_t pending;

/* Code in C that does not come back to Lua is not to hold a person up for ever. */
#define PENDING_MAX 3

static void raise_interrupted(lua_State *L, lua_Debug *unused)
{
	(void)unused;
	lua_sethook(L, NULL, 0, 0);
	pending = 0;
	lua_pushliteral(L, "interrupted");
	lua_error(L);
}

static void take_signal(int number)
{
	if (++pending >= PENDING_MAX) {
		signal(number, SIG_DFL);
		raise(number);
	}
	/* lua_sethook is made to be called from a signal handler (manual, 4.7). */
	lua_sethook(interrupted, raise_interrupted, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

/*
 * core.interruptible(f, handler, ...) -> true, results | false, what the handler made of the error
 * As xpcall(f, handler, ...). SIGINT meanwhile raises the string "interrupted" in the running function, and makes a system call
 * that waits (io.read) fail with EINTR. Not to be nested.
 */
static int interrupt_call(lua_State *L)
{
	struct sigaction ours = { .sa_handler = take_signal }, before;
	int status;

	luaL_checktype(L, 1, LUA_TFUNCTION);
	luaL_checktype(L, 2, LUA_TFUNCTION);
	luaL_argcheck(L, !interrupted, 1, "nested");
	/* lua_pcall wants the handler below the function. */
	lua_pushvalue(L, 1);
	lua_copy(L, 2, 1);
	lua_replace(L, 2);
	sigemptyset(&ours.sa_mask);
	interrupted = L;
	pending = 0;
	sigaction(SIGINT, &ours, &before);
	status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 1);
	sigaction(SIGINT, &before, NULL);
	lua_sethook(L, NULL, 0, 0);
	interrupted = NULL;

	lua_pushboolean(L, status == LUA_OK);
	lua_replace(L, 1);
	return lua_gettop(L);
}

/* core.ignore_interrupt(): SIGINT between two such calls is no reason to end the program; what is executed inherits that */
static int interrupt_ignore(lua_State *L)
{
	(void)L;
	signal(SIGINT, SIG_IGN);
	return 0;
}

void pc_open_interrupt(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "interruptible", interrupt_call },
		{ "ignore_interrupt", interrupt_ignore },
		{ NULL, NULL },
	};

	luaL_setfuncs(L, functions, 0);
}
