/*
 * A closed Lua state: runs one chunk on plain data and gives plain data back, in bounded memory and time.
 *
 * Memory is counted by the allocator. Steps are counted by a hook over the instructions, by the allocator over the bytes, and by
 * the pattern functions over what they try, since no hook fires inside a function in C. The processor's time is looked at as
 * well: it decides only whether a script is refused, never what it returns.
 *
 * What may be called is decided by the chunk that is run first (lua/procage/closed.lua), which the script never sees past.
 */
#include "core/lua_script.h"

#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lualib.h>

#include "core/arena.h"
#include "core/chunk.h"
#include "core/lua_check.h"
#include "core/lua_core.h"
#include "platform/platform.h"

#define SCRIPT "procage.script"

/* The key in the registry under which the program puts the modules that it carries. */
#define CARRIED "procage.chunks"

/* Sources of ours begin so; a script's name never does (closed.lua sees to it). */
#define OWN_SOURCE "@procage/"

/* Instructions between two looks at the steps left; the clock, a system call, is looked at when so many have been taken. */
#define HOOK_STEPS   200
#define STEPS_A_LOOK 1000

/* Copying this many bytes takes about as long as an instruction. */
#define BYTES_A_STEP 64

/*
 * The largest block, such as a text, the entries of a table or the stack, as a part of all memory. Adding to a text as to a number, or comparing two,
 * is one instruction that walks all of it.
 */
#define BLOCKS_AT_LEAST 8

/* What an entry of a table is taken to cost whoever gets a copy. */
#define BYTES_AN_ENTRY 40

/* Our own functions call each other less deeply than this between two lines of a script. */
#define MAX_LEVELS 100

/* Longer messages are cut: nobody reads on, and what shows them takes them apart. */
#define MAX_MESSAGE 4096

#define MAX_DEPTH 32

enum refused { REFUSED_NOT, REFUSED_MEMORY, REFUSED_BLOCK, REFUSED_STEPS, REFUSED_TIME };

struct script {
	lua_State *state;
	struct pc_arena arena; /* of one that is_ours: others have the memory that they gave back joined again */
	size_t used, max_bytes;
	int64_t steps;
	int64_t looked_at; /* the steps left when the clock was looked at */
	int64_t deadline_ns;
	lua_Integer max_steps, max_ms;
	bool is_running;
	bool is_ours;		   /* instructions are not counted: the text is part of the product */
	enum refused refused;	   /* why memory was, the last time */
	bool is_bare;		   /* the error being raised is meant to name no line */
	char file[PATH_MAX + 32];  /* "file: ", for what no line of the script stands for */
	char where[PATH_MAX + 32]; /* "file:line: ", of the last time when memory was refused */
	/* What `enter` reads: the caller's state, whose stack has room, and its arguments. */
	lua_State *host;
};

static int64_t now_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) < 0)
		return 0;
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* "file:line: " of the innermost line that is a script's, or that is of `file`. Allocates nothing. */
static bool locate_in(lua_State *L, const char *file, char *where, size_t size)
{
	lua_Debug frame;
	int level;

	for (level = 0; level < MAX_LEVELS && lua_getstack(L, level, &frame); level++) {
		if (!lua_getinfo(L, "Sl", &frame) || frame.currentline <= 0 || frame.source[0] != '@')
			continue;
		if (strncmp(frame.source, OWN_SOURCE, strlen(OWN_SOURCE)) == 0)
			continue;
		if (file && strcmp(frame.source + 1, file) != 0)
			continue;
		snprintf(where, size, "%s:%d: ", frame.source + 1, frame.currentline);
		return true;
	}
	return false;
}

static bool locate(lua_State *L, char *where, size_t size)
{
	return locate_in(L, NULL, where, size);
}

/*
 * Whether a block may grow; Lua collects all garbage after a refusal and asks once more. That takes as long as the memory is large,
 * and a script that lives at its limit could ask for it with each instruction.
 */
static bool may_grow(struct script *script, size_t old, size_t size)
{
	/* The clock and the steps stay as they are: the second time is refused as well. */
	if (script->refused == REFUSED_STEPS || script->refused == REFUSED_TIME)
		return false;
	if (script->max_bytes - script->used >= size - old && size <= script->max_bytes / BLOCKS_AT_LEAST)
		return true;
	script->refused = size > script->max_bytes / BLOCKS_AT_LEAST ? REFUSED_BLOCK : REFUSED_MEMORY;
	if (script->is_running)
		locate(script->state, script->where, sizeof(script->where));
	if (script->is_ours || !script->is_running)
		return false;
	script->steps -= (int64_t)(script->used / BYTES_A_STEP);
	if (script->steps < 0)
		script->refused = REFUSED_STEPS;
	else if (now_ns() > script->deadline_ns)
		script->refused = REFUSED_TIME;
	return false;
}

static void *allocate(void *data, void *block, size_t old_size, size_t new_size)
{
	struct script *script = data;
	/* For a new block the old size is a type. */
	size_t old = block ? old_size : 0;
	void *result;

	if (new_size == 0) {
		if (script->is_ours)
			pc_arena_resize(&script->arena, block, old, 0);
		else
			free(block);
		script->used -= old;
		return NULL;
	}
	if (new_size > old) {
		if (!may_grow(script, old, new_size))
			return NULL;
		script->steps -= (int64_t)((new_size - old) / BYTES_A_STEP);
	}
	result = script->is_ours ? pc_arena_resize(&script->arena, block, old, new_size) : realloc(block, new_size);
	if (result)
		script->used += new_size - old;
	return result;
}

static struct script *script_of(lua_State *L)
{
	void *data;

	lua_getallocf(L, &data);
	return data;
}

int64_t *pc_script_steps(lua_State *L)
{
	return &script_of(L)->steps;
}

/* The same, or the file alone: a script that left by a tail call has no line any more. */
static const char *place(lua_State *L, char *where, size_t size)
{
	return locate(L, where, size) ? where : script_of(L)->file;
}

static int raise(lua_State *L, const char *text)
{
	char where[PATH_MAX + 32];

	lua_pushfstring(L, "%s%s", place(L, where, sizeof(where)), text);
	return lua_error(L);
}

/* What is told of a limit, after "file:line: ". */
static void tell_limit(const struct script *script, enum refused limit, char *text, size_t size)
{
	switch (limit) {
	case REFUSED_STEPS:
		snprintf(text, size, "took more than %lld steps: a loop without an end?", (long long)script->max_steps);
		break;
	case REFUSED_TIME:
		snprintf(text, size, "took more than %lld ms of processor time", (long long)script->max_ms);
		break;
	case REFUSED_BLOCK:
		snprintf(text, size, "needs more than %zu bytes of memory in one piece", script->max_bytes / BLOCKS_AT_LEAST);
		break;
	default:
		snprintf(text, size, "needs more than %zu bytes of memory", script->max_bytes);
	}
}

int pc_script_exhausted(lua_State *L)
{
	char text[96];

	tell_limit(script_of(L), REFUSED_STEPS, text, sizeof(text));
	return raise(L, text);
}

/* Raises when the steps are used up, or the time. */
static void look(lua_State *L)
{
	struct script *script = script_of(L);
	char text[96];

	if (script->steps < 0)
		pc_script_exhausted(L);
	if (script->is_ours || script->looked_at - script->steps < STEPS_A_LOOK)
		return;
	script->looked_at = script->steps;
	if (now_ns() > script->deadline_ns) {
		tell_limit(script, REFUSED_TIME, text, sizeof(text));
		raise(L, text);
	}
}

static void on_count(lua_State *L, lua_Debug *frame)
{
	(void)frame;
	script_of(L)->steps -= HOOK_STEPS;
	look(L);
}

/* ---- Plain data from one state to another ------------------------------------------------------------------------------- */

/*
 * Pushes on `to` a copy of the value at the top of `from`, which stays there. Errors are raised in `to`. `from` is only read, and
 * has room for three values a level. Calls itself at most MAX_DEPTH deep.
 */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void copy_top(lua_State *from, lua_State *to, int depth)
{
	size_t size;
	const char *text;

	luaL_checkstack(to, 6, "too many values");
	switch (lua_type(from, -1)) {
	case LUA_TNIL:
		lua_pushnil(to);
		return;
	case LUA_TBOOLEAN:
		lua_pushboolean(to, lua_toboolean(from, -1));
		return;
	case LUA_TNUMBER:
		if (lua_isinteger(from, -1))
			lua_pushinteger(to, lua_tointeger(from, -1));
		else
			lua_pushnumber(to, lua_tonumber(from, -1));
		return;
	case LUA_TSTRING:
		text = lua_tolstring(from, -1, &size);
		lua_pushlstring(to, text, size);
		return;
	case LUA_TTABLE:
		break;
	default:
		luaL_error(to, "a %s is no plain data", luaL_typename(from, -1));
	}
	if (depth == MAX_DEPTH)
		luaL_error(to, "tables inside tables, more than %d deep", MAX_DEPTH);
	lua_newtable(to);
	lua_pushnil(from);
	while (lua_next(from, -2)) {
		lua_pushvalue(from, -2);
		copy_top(from, to, depth + 1);
		lua_pop(from, 1);
		copy_top(from, to, depth + 1);
		lua_rawset(to, -3);
		lua_pop(from, 1);
	}
}

/*
 * Takes what a copy of the value at the top costs off `*left`; false when there is not as much. A text is copied once for each time
 * that it is named, however little the script paid for it. Calls itself at most MAX_DEPTH deep: what is deeper copy_top refuses.
 */
/* NOLINTNEXTLINE(misc-no-recursion) */
static bool fits(lua_State *from, size_t *left, int depth)
{
	size_t cost = lua_type(from, -1) == LUA_TSTRING ? lua_rawlen(from, -1) : 0;

	cost += BYTES_AN_ENTRY;
	if (cost > *left)
		return false;
	*left -= cost;
	if (lua_type(from, -1) != LUA_TTABLE || depth == MAX_DEPTH)
		return true;
	lua_pushnil(from);
	while (lua_next(from, -2)) {
		bool is_good = fits(from, left, depth + 1);

		lua_pop(from, 1);
		if (!is_good || !fits(from, left, depth + 1))
			return false;
	}
	return true;
}

/* Room in a state that copy_top reads: without it nothing is raised, and nothing read. */
static bool has_room(lua_State *L)
{
	return lua_checkstack(L, 4 * MAX_DEPTH);
}

/* ---- What the first chunk is given -------------------------------------------------------------------------------------- */

/* where([file]) -> "file:line" of the script, or of that file, or nil */
static int tool_where(lua_State *L)
{
	char where[PATH_MAX + 32];

	if (!locate_in(L, luaL_optstring(L, 1, NULL), where, sizeof(where)))
		return 0;
	lua_pushlstring(L, where, strlen(where) - 2);
	return 1;
}

/* name(file): what an error names that has no line */
static int tool_name(lua_State *L)
{
	snprintf(script_of(L)->file, sizeof(script_of(L)->file), "%s: ", luaL_checkstring(L, 1));
	return 0;
}

/* spend(n): takes n steps, for a function in C whose work no hook counts */
static int tool_spend(lua_State *L)
{
	lua_Integer count = luaL_checkinteger(L, 1);
	int64_t *steps = pc_script_steps(L);

	/* No single call does more than this; a larger number could only wrap around. */
	*steps -= count < 0 ? 0 : count > INT32_MAX ? INT32_MAX : count;
	look(L);
	return 0;
}

/* bare(): the next error names no line on purpose, as error(message, 0) does */
static int tool_bare(lua_State *L)
{
	script_of(L)->is_bare = true;
	return 0;
}

static void open_libraries(lua_State *L)
{
	static const luaL_Reg libraries[] = {
		{ LUA_GNAME, luaopen_base },	   { LUA_TABLIBNAME, luaopen_table }, { LUA_STRLIBNAME, luaopen_string },
		{ LUA_MATHLIBNAME, luaopen_math }, { LUA_UTF8LIBNAME, luaopen_utf8 }, { NULL, NULL },
	};
	static const luaL_Reg tools[] = {
		{ "where", tool_where }, { "name", tool_name }, { "spend", tool_spend }, { "bare", tool_bare }, { NULL, NULL },
	};
	const luaL_Reg *library;

	for (library = libraries; library->name; library++) {
		luaL_requiref(L, library->name, library->func, 1);
		lua_pop(L, 1);
	}
	lua_getglobal(L, LUA_STRLIBNAME);
	pc_open_patterns(L);
	lua_pop(L, 1);
	luaL_newlib(L, tools);
	pc_open_path(L, true);
}

/* The protected part: the chunk (argument 1 of the host) called with the tools and a copy of the data (its argument 2). */
static int enter(lua_State *L)
{
	struct script *script = lua_touserdata(L, 1);
	const char *code;
	size_t size;

	lua_settop(L, 0);
	/* Nearly every script ends before there is anything to collect; one that fills its memory is collected for then. */
	lua_gc(L, LUA_GCSTOP);
	code = lua_tolstring(script->host, 1, &size);
	if (luaL_loadbufferx(L, code, size, OWN_SOURCE "closed.lua", NULL) != LUA_OK)
		return lua_error(L);
	open_libraries(L);
	copy_top(script->host, L, 0);
	/* With a hook, however rare, the interpreter calls a function for each instruction, and takes twice the time. */
	if (!script->is_ours)
		lua_sethook(L, on_count, LUA_MASKCOUNT, HOOK_STEPS);
	lua_call(L, 2, 1);
	return 1;
}

/* Where the message after "file:line: " begins; NULL when there is none. */
static const char *after_line(const char *text)
{
	const char *colon;

	for (colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
		size_t digits = strspn(colon + 1, "0123456789");

		if (digits > 0 && colon[1 + digits] == ':' && colon[2 + digits] == ' ')
			return colon + digits + 3;
	}
	return NULL;
}

/*
 * An error in our own files is the script's, at the line of it that led there; so is one that names no line, such as Lua's own about
 * its stack. One that is no text is told as what it is.
 */
static int explain(lua_State *L)
{
	const char *own = &OWN_SOURCE[1], *text, *rest, *at;
	char where[PATH_MAX + 32];

	at = place(L, where, sizeof(where));
	if (lua_type(L, 1) != LUA_TSTRING) {
		lua_pushfstring(L, lua_isnil(L, 1) ? "%sraised nothing" : "%sraised a %s", at, luaL_typename(L, 1));
		return 1;
	}
	text = lua_tostring(L, 1);
	rest = after_line(text);
	if (strncmp(text, own, strlen(own)) == 0 && rest)
		lua_pushfstring(L, "%s%s", at, rest);
	else if (!rest && !script_of(L)->is_bare && strncmp(text, script_of(L)->file, strlen(script_of(L)->file)) != 0)
		lua_pushfstring(L, "%s%s", at, text);
	else
		lua_settop(L, 1);
	return 1;
}

/* ---- The binding -------------------------------------------------------------------------------------------------------- */

static int script_close(lua_State *L)
{
	struct script *script = luaL_checkudata(L, 1, SCRIPT);
	lua_State *state = script->state;

	script->state = NULL;
	script->is_running = false;
	if (state)
		lua_close(state);
	pc_arena_release(&script->arena);
	return 0;
}

static int run_protected(struct script *script)
{
	lua_State *S = script->state;
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
	int status;

	/* How texts compare, and what a letter is, must not depend on who calls. The thread's own setting, and only while it runs. */
	before = plain ? uselocale(plain) : (locale_t)0;
	script->is_running = true;
	lua_pushcfunction(S, explain);
	lua_pushcfunction(S, enter);
	lua_pushlightuserdata(S, script);
	status = lua_pcall(S, 1, 1, 1);
	script->is_running = false;
	if (plain) {
		uselocale(before);
		freelocale(plain);
	}
	return status;
}

/* Pushes what is told of a script that failed. */
static void push_failure(struct script *script, lua_State *L, int status)
{
	const char *text;
	char limit[96];
	size_t size;

	if (status == LUA_ERRMEM) {
		tell_limit(script, script->refused, limit, sizeof(limit));
		lua_pushfstring(L, "%s%s", script->where[0] ? script->where : script->file, limit);
		return;
	}
	if (lua_type(script->state, -1) != LUA_TSTRING) {
		lua_pushliteral(L, "an error while an error was told");
		return;
	}
	text = lua_tolstring(script->state, -1, &size);
	lua_pushlstring(L, text, size > MAX_MESSAGE ? MAX_MESSAGE : size);
	if (size > MAX_MESSAGE) {
		lua_pushliteral(L, "...");
		lua_concat(L, 2);
	}
}

/*
 * script(code, data, limits) -> value | nil, message
 *
 * code:   a chunk, text or ours compiled; called with (tools, data) in a state of its own
 * data:   plain; copied
 * limits: { bytes =, steps =, ms =, is_ours = }; is_ours: instructions are not counted, nor is the clock looked at
 */
static int core_script(lua_State *L)
{
	static const char *const keys[] = { "bytes", "steps", "ms", "is_ours", NULL };
	struct script *script;
	lua_Integer bytes;
	int status;

	pc_check_string(L, 1, NULL);
	luaL_checkany(L, 2);
	pc_check_options(L, 3, keys);
	lua_getfield(L, 3, "bytes");
	lua_getfield(L, 3, "steps");
	lua_getfield(L, 3, "ms");
	bytes = pc_check_range(L, 4, 1 << 20, 1 << 30);

	script = lua_newuserdatauv(L, sizeof(*script), 0);
	memset(script, 0, sizeof(*script));
	luaL_setmetatable(L, SCRIPT);
	lua_toclose(L, -1);
	script->max_bytes = (size_t)bytes;
	script->is_ours = pc_option_boolean(L, 3, "is_ours");
	script->max_steps = pc_check_range(L, 5, 1, INT32_MAX);
	script->max_ms = pc_check_range(L, 6, 1, 60000);
	script->steps = script->looked_at = script->max_steps;
	script->deadline_ns = now_ns() + script->max_ms * 1000000;
	script->host = L;
	script->state = lua_newstate(allocate, script);
	lua_pushvalue(L, 2);
	if (!script->state || !has_room(L) || !has_room(script->state))
		return luaL_error(L, "not enough memory");

	status = run_protected(script);
	lua_settop(L, 7);
	if (status == LUA_OK) {
		size_t left = script->max_bytes;

		if (fits(script->state, &left, 0)) {
			copy_top(script->state, L, 0);
			return 1;
		}
		lua_pushnil(L);
		lua_pushfstring(L, "%sgives back more than %I bytes", script->file, (LUAI_UACINT)bytes);
		return 2;
	}
	lua_pushnil(L);
	push_failure(script, L, status);
	return 2;
}

/* carried(name) -> the compiled chunk of a module that the program carries, or nil */
static int core_carried(lua_State *L)
{
	const char *name = pc_check_string(L, 1, NULL);
	const struct pc_chunk *chunk;

	lua_getfield(L, LUA_REGISTRYINDEX, CARRIED);
	for (chunk = lua_touserdata(L, -1); chunk && chunk->module; chunk++) {
		if (strcmp(chunk->module, name) == 0) {
			lua_pushlstring(L, (const char *)chunk->bytes, chunk->size);
			return 1;
		}
	}
	return 0;
}

/* The length of a text in a binary chunk: one more than it is, seven bits a byte, the first ones first, the last one marked. */
static void add_length(luaL_Buffer *out, size_t length)
{
	char bytes[(sizeof(length) * 8 + 6) / 7];
	size_t at = sizeof(bytes), value = length + 1;

	do {
		bytes[--at] = (char)(value & 0x7f);
		value >>= 7;
	} while (value);
	bytes[sizeof(bytes) - 1] = (char)(bytes[sizeof(bytes) - 1] | 0x80);
	luaL_addlstring(out, bytes + at, sizeof(bytes) - at);
}

/* carried_policy(text, source) -> the compiled chunk of a shipped policy that says exactly this, as if read from `source`; or nil */
static int core_carried_policy(lua_State *L)
{
	const size_t rest = PC_CHUNK_SOURCE_AT + strlen(PC_CHUNK_SOURCE_AS);
	size_t size, source_size;
	const char *text = pc_check_string(L, 1, &size), *source = pc_check_string(L, 2, &source_size);
	const struct pc_chunk *chunk;
	luaL_Buffer out;

	lua_getfield(L, LUA_REGISTRYINDEX, CARRIED);
	for (chunk = lua_touserdata(L, -1); chunk && chunk->module; chunk++) {
		if (!chunk->text || chunk->text_size != size || memcmp(chunk->text, text, size) != 0)
			continue;
		luaL_buffinit(L, &out);
		luaL_addlstring(&out, (const char *)chunk->bytes, PC_CHUNK_SOURCE_AT);
		add_length(&out, source_size);
		luaL_addlstring(&out, source, source_size);
		luaL_addlstring(&out, (const char *)chunk->bytes + rest, chunk->size - rest);
		luaL_pushresult(&out);
		return 1;
	}
	return 0;
}

/* SHA-256 of each shipped policy, as it was when this was built (cmake/policies.cmake). */
static const char *const shipped_policies[] = {
#include "policy_digests.h"
	NULL,
};

/* is_shipped_policy(text) -> boolean: to the letter one of those that this procage was built with */
static int core_is_shipped_policy(lua_State *L)
{
	uint8_t sha256[PC_DIGEST_SIZE];
	char hex[2 * PC_DIGEST_SIZE + 1];
	const char *text, *const *known;
	size_t size, i;

	text = pc_check_string(L, 1, &size);
	pc_digest(text, size, sha256);
	for (i = 0; i < PC_DIGEST_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", sha256[i]);
	for (known = shipped_policies; *known && strcmp(*known, hex) != 0; known++)
		;
	lua_pushboolean(L, *known != NULL);
	return 1;
}

/* in_plain_locale(f, ...) -> as pcall: how texts compare meanwhile, and what a letter is, does not depend on the host */
static int core_in_plain_locale(lua_State *L)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
	int status;

	luaL_checkany(L, 1);
	before = plain ? uselocale(plain) : (locale_t)0;
	status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
	if (plain) {
		uselocale(before);
		freelocale(plain);
	}
	lua_pushboolean(L, status == LUA_OK);
	lua_insert(L, 1);
	return lua_gettop(L);
}

void pc_open_script(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "script", core_script },
		{ "carried", core_carried },
		{ "carried_policy", core_carried_policy },
		{ "is_shipped_policy", core_is_shipped_policy },
		{ "in_plain_locale", core_in_plain_locale },
		{ NULL, NULL },
	};
	static const luaL_Reg methods[] = {
		{ "__gc", script_close },
		{ "__close", script_close },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, SCRIPT);
	luaL_setfuncs(L, methods, 0);
	lua_pop(L, 1);
	luaL_setfuncs(L, functions, 0);
}
