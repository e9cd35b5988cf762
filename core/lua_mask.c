/* Bindings: secrets found in text, and masked. */
#include "lua_check.h"
#include "lua_core.h"
#include "core/mask.h"

#include <lauxlib.h>

#define MASK   "procage.mask"
#define STREAM "procage.mask_stream"

struct mask {
	struct pc_mask *mask;
};

struct stream {
	struct pc_mask_stream *stream;
};

static int mask_gc(lua_State *L)
{
	struct mask *mask = luaL_checkudata(L, 1, MASK);

	pc_mask_free(mask->mask);
	mask->mask = NULL;
	return 0;
}

static int stream_gc(lua_State *L)
{
	struct stream *stream = luaL_checkudata(L, 1, STREAM);

	pc_mask_stream_free(stream->stream);
	stream->stream = NULL;
	return 0;
}

/* {secret, shown}, both strings. */
static int add_pair(lua_State *L, struct pc_mask *mask, int pair)
{
	const char *secret, *shown;
	size_t size, shown_size;
	int rc;

	luaL_argcheck(L, lua_istable(L, pair), 1, "a list of {secret, shown} is expected");
	lua_rawgeti(L, pair, 1);
	lua_rawgeti(L, pair, 2);
	luaL_argcheck(L, lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING, 1,
		      "a list of {secret, shown} is expected");
	secret = lua_tolstring(L, -2, &size);
	shown = lua_tolstring(L, -1, &shown_size);
	rc = pc_mask_add(mask, secret, size, shown, shown_size);
	lua_pop(L, 2);
	return rc;
}

/* core.mask(list) -> mask | nil, message, errno: list of {secret, shown}; EINVAL: one is shorter than 8 bytes; E2BIG: all are longer
 * than 262144 */
static int core_mask(lua_State *L)
{
	struct mask *mask;
	lua_Integer count;
	int rc = 0;

	luaL_checktype(L, 1, LUA_TTABLE);
	count = luaL_len(L, 1);
	mask = lua_newuserdatauv(L, sizeof(*mask), 0);
	mask->mask = NULL;
	luaL_setmetatable(L, MASK);
	mask->mask = pc_mask_new();
	if (!mask->mask)
		return luaL_error(L, "not enough memory");
	for (lua_Integer i = 1; rc == 0 && i <= count; i++) {
		lua_geti(L, 1, i);
		rc = add_pair(L, mask->mask, lua_gettop(L));
		lua_pop(L, 1);
	}
	if (rc == 0)
		rc = pc_mask_build(mask->mask);
	if (rc < 0)
		return pc_push_result(L, rc, "mask");
	return 1;
}

/* mask:stream() -> stream; it keeps the mask */
static int mask_stream(lua_State *L)
{
	struct mask *mask = luaL_checkudata(L, 1, MASK);
	struct stream *stream = lua_newuserdatauv(L, sizeof(*stream), 1);

	stream->stream = NULL;
	luaL_setmetatable(L, STREAM);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1);
	stream->stream = pc_mask_stream_new(mask->mask);
	if (!stream->stream)
		return luaL_error(L, "not enough memory");
	return 1;
}

static int push_shown(lua_State *L, int rc, const char *out, size_t size)
{
	if (rc < 0)
		return luaL_error(L, "not enough memory");
	lua_pushlstring(L, size ? out : "", size);
	return 1;
}

/* stream:feed(bytes) -> bytes that can be shown */
static int stream_feed(lua_State *L)
{
	struct stream *stream = luaL_checkudata(L, 1, STREAM);
	const char *data, *out = NULL;
	size_t size, out_size = 0;
	int rc;

	data = pc_check_string(L, 2, &size);
	rc = pc_mask_feed(stream->stream, data, size, &out, &out_size);
	return push_shown(L, rc, out, out_size);
}

/* stream:finish([is_cut]) -> the rest; then the stream begins anew */
static int stream_finish(lua_State *L)
{
	struct stream *stream = luaL_checkudata(L, 1, STREAM);
	const char *out = NULL;
	size_t out_size = 0;
	int rc = pc_mask_finish(stream->stream, pc_opt_boolean(L, 2), &out, &out_size);

	return push_shown(L, rc, out, out_size);
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

void pc_open_mask(lua_State *L)
{
	static const luaL_Reg mask_methods[] = { { "stream", mask_stream }, { NULL, NULL } };
	static const luaL_Reg stream_methods[] = { { "feed", stream_feed }, { "finish", stream_finish }, { NULL, NULL } };

	open_class(L, MASK, mask_methods, mask_gc);
	open_class(L, STREAM, stream_methods, stream_gc);
	lua_pushcfunction(L, core_mask);
	lua_setfield(L, -2, "mask");
}
