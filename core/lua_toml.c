/* Binding: TOML as Lua values, and beside them where each stands. */
#include "lua_check.h"
#include "lua_core.h"
#include "toml.h"

#include <errno.h>
#include <lauxlib.h>

#define DOCUMENT "procage.toml"

static const char *const kind_names[] = {
	[PC_TOML_TABLE] = "table",	     [PC_TOML_ARRAY] = "array",
	[PC_TOML_STRING] = "string",	     [PC_TOML_INTEGER] = "integer",
	[PC_TOML_FLOAT] = "float",	     [PC_TOML_BOOLEAN] = "bool",
	[PC_TOML_DATETIME] = "datetime",     [PC_TOML_DATETIME_LOCAL] = "datetime-local",
	[PC_TOML_DATE_LOCAL] = "date-local", [PC_TOML_TIME_LOCAL] = "time-local",
};

static int document_gc(lua_State *L)
{
	pc_toml_free(luaL_checkudata(L, 1, DOCUMENT));
	return 0;
}

/* Pushes a date: text that no check takes for a text. The table of its kind is at `dates`. */
static void push_date(lua_State *L, int dates, const struct pc_toml *document, const struct pc_toml_item *item)
{
	lua_createtable(L, 0, 1);
	lua_pushlstring(L, document->text + item->value, item->value_size);
	lua_setfield(L, -2, "text");
	lua_pushvalue(L, dates);
	lua_setmetatable(L, -2);
}

static void push_scalar(lua_State *L, int dates, const struct pc_toml *document, const struct pc_toml_item *item)
{
	switch (item->kind) {
	case PC_TOML_STRING:
		lua_pushlstring(L, document->text + item->value, item->value_size);
		break;
	case PC_TOML_INTEGER:
		lua_pushinteger(L, (lua_Integer)item->integer);
		break;
	case PC_TOML_FLOAT:
		lua_pushnumber(L, (lua_Number)item->number);
		break;
	case PC_TOML_BOOLEAN:
		lua_pushboolean(L, item->integer != 0);
		break;
	default:
		push_date(L, dates, document, item);
	}
}

/*
 * Pushes item `at` and its mark, {line=, kind=, items?=}, and returns the index of the item after it and its children. As deep
 * as PC_TOML_MAX_DEPTH.
 */
static size_t push_item(lua_State *L, int dates, const struct pc_toml *document, size_t at) /* NOLINT(misc-no-recursion) */
{
	const struct pc_toml_item *item = &document->items[at++];
	uint32_t i;
	int value;

	luaL_checkstack(L, 8, "a deep document");
	if (item->kind == PC_TOML_TABLE || item->kind == PC_TOML_ARRAY)
		lua_newtable(L);
	else
		push_scalar(L, dates, document, item);
	value = lua_gettop(L);
	lua_createtable(L, 0, 3);
	lua_pushinteger(L, item->line);
	lua_setfield(L, -2, "line");
	lua_pushstring(L, kind_names[item->kind]);
	lua_setfield(L, -2, "kind");
	if (item->kind != PC_TOML_TABLE && item->kind != PC_TOML_ARRAY)
		return at;
	lua_newtable(L);
	for (i = 0; i < item->count; i++) {
		const struct pc_toml_item *child = &document->items[at];

		if (item->kind == PC_TOML_ARRAY)
			lua_pushinteger(L, (lua_Integer)i + 1);
		else
			lua_pushlstring(L, document->text + child->key, child->key_size);
		at = push_item(L, dates, document, at);
		/* ... marks, key, value, mark */
		lua_pushvalue(L, -3);
		lua_insert(L, -2);
		lua_rawset(L, value + 2);
		lua_rawset(L, value);
	}
	lua_setfield(L, value + 1, "items");
	return at;
}

/* core.toml(text) -> value, mark | nil, message, line: line 0 is about the whole */
static int toml_parse(lua_State *L)
{
	struct pc_toml_error error;
	struct pc_toml *document;
	size_t size;
	const char *text = pc_check_string(L, 1, &size);
	int rc;

	document = lua_newuserdatauv(L, sizeof(*document), 0);
	*document = (struct pc_toml) { 0 };
	luaL_setmetatable(L, DOCUMENT);
	rc = pc_toml_parse(text, size, document, &error);
	if (rc == -EINVAL) {
		lua_pushnil(L);
		lua_pushstring(L, error.message);
		lua_pushinteger(L, error.line);
		return 3;
	}
	if (rc == -E2BIG) {
		lua_pushnil(L);
		lua_pushfstring(L, "longer than %d bytes", (int)PC_TOML_MAX_BYTES);
		lua_pushinteger(L, 0);
		return 3;
	}
	if (rc < 0)
		return luaL_error(L, "not enough memory");
	push_item(L, lua_upvalueindex(1), document, 0);
	return 2;
}

static int date_tostring(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_getfield(L, 1, "text");
	return 1;
}

void pc_open_toml(lua_State *L)
{
	luaL_newmetatable(L, DOCUMENT);
	lua_pushcfunction(L, document_gc);
	lua_setfield(L, -2, "__gc");
	lua_pop(L, 1);

	/* The metatable of dates. */
	lua_createtable(L, 0, 2);
	lua_pushliteral(L, "date");
	lua_setfield(L, -2, "__name");
	lua_pushcfunction(L, date_tostring);
	lua_setfield(L, -2, "__tostring");
	lua_pushcclosure(L, toml_parse, 1);
	lua_setfield(L, -2, "toml");
}
