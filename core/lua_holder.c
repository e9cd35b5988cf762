/* Bindings: namespaces that runs have in common. */
#include "lua_holder.h"
#include "lua_check.h"
#include "lua_core.h"
#include "plan.h"

#include <lauxlib.h>
#include <string.h>
#include <unistd.h>

#define HOLDER "procage.holder"
#define USE    "procage.use"

struct holder_object {
	struct pc_holder *holder; /* until it is collected: uses may be left when it has ended */
};

/* The holder's object is its user value. */
struct use_object {
	struct pc_holder *holder; /* NULL: left */
	struct pc_join join;
};

struct pc_join *pc_check_join(lua_State *L, int index)
{
	struct use_object *use;

	if (lua_isnil(L, index))
		return NULL;
	use = luaL_checkudata(L, index, USE);
	luaL_argcheck(L, use->join.pidfd >= 0, index, "a use that a run was started with already");
	return &use->join;
}

void pc_end_join(struct pc_join *join)
{
	if (join && join->pidfd >= 0)
		close(join->pidfd);
	if (join)
		join->pidfd = -1;
}

/* core.holder(idle_ms) -> holder | nil, message, errno */
static int holder_start(lua_State *L)
{
	uint32_t idle_ms = (uint32_t)pc_check_range(L, 1, 1, 60000);
	struct holder_object *object;
	struct pc_failure failure;
	int rc;

	object = lua_newuserdatauv(L, sizeof(*object), 0);
	*object = (struct holder_object) { 0 };
	luaL_setmetatable(L, HOLDER);
	rc = pc_holder_start(idle_ms, &object->holder, &failure);
	if (rc == 0)
		return 1;
	lua_pushnil(L);
	lua_pushfstring(L, "holder: %s: %s", pc_step_name(failure.step), strerror(-rc));
	lua_pushinteger(L, -rc);
	return 3;
}

/* holder:use() -> use | nil, message, errno: ESTALE: another holder is to be made. For the `joins` of one run. */
static int holder_use(lua_State *L)
{
	struct holder_object *object = luaL_checkudata(L, 1, HOLDER);
	struct use_object *use;
	int rc;

	use = lua_newuserdatauv(L, sizeof(*use), 1);
	*use = (struct use_object) { .join = { .pidfd = -1 } };
	luaL_setmetatable(L, USE);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1);
	rc = pc_holder_use(object->holder, &use->join);
	if (rc < 0) {
		use->join.pidfd = -1;
		return pc_push_result(L, rc, "holder");
	}
	use->holder = object->holder;
	return 1;
}

/* holder:close(): it ends; runs go on */
static int holder_close(lua_State *L)
{
	struct holder_object *object = luaL_checkudata(L, 1, HOLDER);

	if (object->holder)
		pc_holder_close(object->holder);
	return 0;
}

static int holder_gc(lua_State *L)
{
	struct holder_object *object = luaL_checkudata(L, 1, HOLDER);

	holder_close(L);
	if (object->holder)
		pc_holder_free(object->holder);
	object->holder = NULL;
	return 0;
}

/* use:close(): the run is over. May run twice. */
static int use_close(lua_State *L)
{
	struct use_object *use = luaL_checkudata(L, 1, USE);

	pc_end_join(&use->join);
	if (use->holder)
		pc_holder_leave(use->holder);
	use->holder = NULL;
	return 0;
}

static void open_class(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction gc)
{
	luaL_newmetatable(L, name);
	lua_newtable(L);
	luaL_setfuncs(L, methods, 0);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, gc);
	lua_setfield(L, -2, "__gc");
	lua_pop(L, 1);
}

void pc_open_holder(lua_State *L)
{
	static const luaL_Reg functions[] = { { "holder", holder_start }, { NULL, NULL } };
	static const luaL_Reg holder_methods[] = { { "use", holder_use }, { "close", holder_close }, { NULL, NULL } };
	static const luaL_Reg use_methods[] = { { "close", use_close }, { NULL, NULL } };

	/* Of what is collected together a use goes before its holder: it was made later. */
	open_class(L, HOLDER, holder_methods, holder_gc);
	open_class(L, USE, use_methods, use_close);
	luaL_setfuncs(L, functions, 0);
}
