/*
 * bundle OUT [MODULE FILE]...: compiles Lua files and writes them as a C table, for the program to carry. Parsing the text takes
 * several times as long as a confined command's start; a table of bytes takes next to nothing. A shipped policy ("policies.NAME")
 * is carried with its text as well: the compiled one stands for a file that says the same.
 *
 * Built with the liblua that the program is linked with: bytecode is good for one version of Lua only.
 */
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "core/chunk.h"

#define POLICIES "policies."

struct output {
	FILE *file;
	unsigned char head[PC_CHUNK_SOURCE_AT + 2]; /* the first bytes written */
	size_t size;
};

static int write_bytes(lua_State *L, const void *bytes, size_t size, void *context)
{
	const unsigned char *byte = bytes;
	struct output *out = context;
	size_t i;

	(void)L;
	for (i = 0; i < size; i++) {
		if (out->size < sizeof(out->head))
			out->head[out->size] = byte[i];
		out->size++;
		if (fprintf(out->file, "%u,", byte[i]) < 0)
			return 1;
	}
	return fputc('\n', out->file) == EOF;
}

static int is_policy(const char *module)
{
	return strncmp(module, POLICIES, strlen(POLICIES)) == 0;
}

/* The name in tracebacks: "@procage/cli/run.lua", wherever the sources are. */
static void push_chunk_name(lua_State *L, const char *module, const char *file)
{
	const char *ending = strstr(file, "/init.lua");

	if (is_policy(module)) {
		lua_pushliteral(L, PC_CHUNK_SOURCE);
		return;
	}
	luaL_gsub(L, module, ".", "/");
	lua_pushfstring(L, "@%s%s", lua_tostring(L, -1), ending && !ending[9] ? "/init.lua" : ".lua");
	lua_remove(L, -2);
}

static void push_text(lua_State *L, const char *file)
{
	luaL_Buffer text;
	FILE *in = fopen(file, "rb");
	size_t got;

	if (!in)
		luaL_error(L, "%s: cannot be opened", file);
	luaL_buffinit(L, &text);
	do {
		char *room = luaL_prepbuffer(&text);

		got = fread(room, 1, LUAL_BUFFERSIZE, in);
		luaL_addsize(&text, got);
	} while (got > 0);
	if (ferror(in))
		luaL_error(L, "%s: cannot be read", file);
	fclose(in);
	luaL_pushresult(&text);
}

static int bundle(lua_State *L)
{
	int argc = (int)lua_tointeger(L, 1), i;
	char **argv = lua_touserdata(L, 2);
	FILE *out = lua_touserdata(L, 3);

	for (i = 2; i + 1 < argc; i += 2) {
		struct output dumped = { .file = out }, written = { .file = out };
		size_t size;
		const char *text;

		push_text(L, argv[i + 1]);
		text = lua_tolstring(L, -1, &size);
		push_chunk_name(L, argv[i], argv[i + 1]);
		if (luaL_loadbufferx(L, text, size, lua_tostring(L, -1), "t") != LUA_OK)
			return lua_error(L);
		fprintf(out, "static const unsigned char chunk_%d[] = {\n", i / 2);
		if (lua_dump(L, write_bytes, &dumped, 0) != 0)
			return luaL_error(L, "%s: cannot be written", argv[1]);
		fputs("};\n", out);
		if (is_policy(argv[i])) {
			if (memcmp(dumped.head + PC_CHUNK_SOURCE_AT, PC_CHUNK_SOURCE_AS, 2) != 0)
				return luaL_error(L, "%s: this Lua keeps the name of a chunk elsewhere", argv[i + 1]);
			fprintf(out, "static const unsigned char text_%d[] = {\n", i / 2);
			if (write_bytes(L, text, size, &written) != 0)
				return luaL_error(L, "%s: cannot be written", argv[1]);
			fputs("};\n", out);
		}
		lua_settop(L, 3);
	}
	fputs("const struct pc_chunk pc_chunks[] = {\n", out);
	for (i = 2; i + 1 < argc; i += 2) {
		fprintf(out, "\t{ \"%s\", chunk_%d, sizeof(chunk_%d), ", argv[i], i / 2, i / 2);
		if (is_policy(argv[i]))
			fprintf(out, "text_%d, sizeof(text_%d) },\n", i / 2, i / 2);
		else
			fputs("0, 0 },\n", out);
	}
	fputs("\t{ 0, 0, 0, 0, 0 },\n};\n", out);
	return 0;
}

int main(int argc, char **argv)
{
	lua_State *L = luaL_newstate();
	FILE *out;
	int status = 1;

	if (!L || argc < 2)
		return 2;
	out = fopen(argv[1], "w");
	if (!out) {
		perror(argv[1]);
		return 1;
	}
	fputs("#include \"core/chunk.h\"\n", out);
	lua_pushcfunction(L, bundle);
	lua_pushinteger(L, argc);
	lua_pushlightuserdata(L, argv);
	lua_pushlightuserdata(L, out);
	if (lua_pcall(L, 3, 0, 0) == LUA_OK)
		status = 0;
	else
		fprintf(stderr, "bundle: %s\n", lua_tostring(L, -1));
	if (fclose(out) != 0) {
		perror(argv[1]);
		status = 1;
	}
	if (status)
		remove(argv[1]);
	lua_close(L);
	return status;
}
