/* Bindings: file facts, listings, moves, and the run's private directory. */
#include "lua_check.h"
#include "lua_core.h"
#include "lua_listing.h"
#include "../platform/platform.h"

#include <lauxlib.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void set_integer(lua_State *L, const char *key, lua_Integer value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, key);
}

static void push_facts(lua_State *L, const struct pc_file *file)
{
	lua_createtable(L, 0, 11);
	lua_pushstring(L, file->kind);
	lua_setfield(L, -2, "kind");
	set_integer(L, "mode", file->mode);
	set_integer(L, "uid", file->uid);
	set_integer(L, "gid", file->gid);
	set_integer(L, "dev", (lua_Integer)file->dev);
	set_integer(L, "ino", (lua_Integer)file->ino);
	set_integer(L, "links", (lua_Integer)file->links);
	set_integer(L, "size", (lua_Integer)file->size);
	set_integer(L, "mtime_ns", file->mtime_ns);
	set_integer(L, "ctime_ns", file->ctime_ns);
}

static int push_file(lua_State *L, bool follow)
{
	const char *path = pc_check_path(L, 1);
	struct pc_file file;
	int rc = pc_file_facts(path, follow, &file);

	if (rc < 0)
		return pc_push_result(L, rc, path);
	push_facts(L, &file);
	return 1;
}

/* core.executable(path) -> facts, with `path`, of the one file that was opened | nil, message, errno */
static int fs_executable(lua_State *L)
{
	const char *path = pc_check_path(L, 1);
	char resolved[PATH_MAX];
	struct pc_file file;
	int rc = pc_executable_facts(path, &file, resolved);

	if (rc < 0)
		return pc_push_result(L, rc, path);
	push_facts(L, &file);
	lua_pushstring(L, resolved);
	lua_setfield(L, -2, "path");
	return 1;
}

/* core.stat(path) -> {kind, mode, uid, gid, dev, ino, links, size, mtime_ns, ctime_ns} | nil, message, errno */
static int fs_stat(lua_State *L)
{
	return push_file(L, true);
}

/* core.lstat(path): the same of a link itself. */
static int fs_lstat(lua_State *L)
{
	return push_file(L, false);
}

/* core.kind(path) -> kind of the name itself | nil. Plans ask it of hundreds of names, most of which are not there. */
static int fs_kind(lua_State *L)
{
	struct pc_file file;

	if (pc_file_facts(pc_check_path(L, 1), false, &file) < 0)
		return 0;
	lua_pushstring(L, file.kind);
	return 1;
}

/* The stack of core.resolve_all. PLACED: directory -> where it leads, with a slash; MISSING: the same of what is not there. */
enum { NAMES = 1, RESOLVE, PLACED, MISSING, PLACES, KINDS };

/* Where the path at an index leads, by Lua, which follows links: pushes the place; whether anything is there. */
static bool push_resolved(lua_State *L, int path)
{
	bool is_there;

	lua_pushvalue(L, RESOLVE);
	lua_pushvalue(L, path);
	lua_call(L, 1, 2);
	is_there = lua_toboolean(L, -1);
	lua_pop(L, 1);
	pc_check_path(L, lua_gettop(L));
	return is_there;
}

static bool push_directory(lua_State *L, const char *text, size_t size);

/*
 * Pushes the place of the path at an index: where its directory leads, and the last name. `kind` is that of the name itself, NULL
 * when there is nothing; a link is followed by `push_resolved`.
 */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void push_place(lua_State *L, int path, const char **kind)
{
	const char *text = lua_tostring(L, path), *slash = strrchr(text, '/');
	size_t size = slash == text ? 1 : (size_t)(slash - text), prefix_size;
	bool is_there = push_directory(L, text, size);
	const char *prefix = lua_tolstring(L, -1, &prefix_size);
	struct pc_file file;

	/* Most are the path that they came from. */
	if (prefix_size == (size_t)(slash + 1 - text) && memcmp(prefix, text, prefix_size) == 0)
		lua_pushvalue(L, path);
	else
		lua_pushfstring(L, "%s%s", prefix, slash + 1);
	lua_remove(L, -2);
	*kind = is_there && pc_file_facts(lua_tostring(L, -1), false, &file) == 0 ? file.kind : NULL;
}

/* Pushes where a directory leads, with a slash at its end, looked up once; whether it exists. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static bool push_directory(lua_State *L, const char *text, size_t size)
{
	const char *kind, *place;
	bool is_there;
	int path;

	luaL_checkstack(L, 12, "directories inside directories");
	lua_pushlstring(L, text, size);
	path = lua_gettop(L);
	for (int known = PLACED; known <= MISSING; known++) {
		lua_pushvalue(L, path);
		if (lua_rawget(L, known) == LUA_TSTRING) {
			lua_remove(L, path);
			return known == PLACED;
		}
		lua_pop(L, 1);
	}
	if (size == 1) {
		is_there = true;
		lua_pushvalue(L, path);
	} else {
		push_place(L, path, &kind);
		is_there = kind != NULL;
		if (is_there && strcmp(kind, "link") == 0)
			is_there = push_resolved(L, path);
	}
	place = lua_tostring(L, -1);
	lua_pushfstring(L, strcmp(place, "/") ? "%s/" : "%s", place);
	lua_pushvalue(L, path);
	lua_pushvalue(L, -2);
	lua_rawset(L, is_there ? PLACED : MISSING);
	lua_replace(L, path);
	lua_settop(L, path);
	return is_there;
}

/*
 * core.resolve_all(paths, resolve) -> places, kinds: of hundreds of paths in a few directories, where each leads, and the kind of
 * what is there, or false. resolve(path) -> place, is_there: of one that is a link. Absolute paths, each in its one spelling.
 */
static int fs_resolve_all(lua_State *L)
{
	lua_Integer i, count;

	luaL_checktype(L, NAMES, LUA_TTABLE);
	luaL_checktype(L, RESOLVE, LUA_TFUNCTION);
	lua_settop(L, RESOLVE);
	count = luaL_len(L, NAMES);
	lua_newtable(L);
	lua_newtable(L);
	lua_createtable(L, (int)count, 0);
	lua_createtable(L, (int)count, 0);
	for (i = 1; i <= count; i++) {
		struct pc_file file;
		const char *kind;

		lua_rawgeti(L, NAMES, i);
		pc_check_path(L, KINDS + 1);
		push_place(L, KINDS + 1, &kind);
		/* The root is in no directory. */
		if (!lua_tostring(L, KINDS + 1)[1] || (kind && strcmp(kind, "link") == 0)) {
			push_resolved(L, KINDS + 1);
			kind = pc_file_facts(lua_tostring(L, -1), false, &file) == 0 ? file.kind : NULL;
		}
		lua_rawseti(L, PLACES, i);
		if (kind)
			lua_pushstring(L, kind);
		else
			lua_pushboolean(L, false);
		lua_rawseti(L, KINDS, i);
		lua_settop(L, KINDS);
	}
	return 2;
}

/* Identity, times and size. */
#define MARK 5

static void set_mark(uint64_t mark[MARK], const struct pc_file *file)
{
	mark[0] = file->dev;
	mark[1] = file->ino;
	mark[2] = (uint64_t)file->mtime_ns;
	mark[3] = (uint64_t)file->ctime_ns;
	mark[4] = file->size;
}

bool pc_push_mark(lua_State *L, const char *path)
{
	struct pc_file file;
	uint64_t mark[MARK];

	if (pc_file_facts(path, false, &file) < 0)
		return false;
	set_mark(mark, &file);
	lua_pushlstring(L, (const char *)mark, sizeof(mark));
	return true;
}

/* core.mark(path) -> what tells one state of the name itself from another, as bytes: identity, times, size | nil */
static int fs_mark(lua_State *L)
{
	return pc_push_mark(L, pc_check_path(L, 1));
}

/* The text at `index` of a list, which holds it; the stack is as it was, as a buffer wants it. */
static const char *listed_path(lua_State *L, int list, lua_Integer index)
{
	const char *path;

	lua_rawgeti(L, list, index);
	path = pc_check_path(L, -1);
	lua_pop(L, 1);
	return path;
}

/*
 * core.marks(paths) -> the marks of hundreds of names as one text, zeros for what is not there; and the latest change among them,
 * nanoseconds since 1970 (ctime, which nobody can set; inode(7)), 0 for none
 */
static int fs_marks(lua_State *L)
{
	lua_Integer i, count, latest = 0;
	luaL_Buffer text;

	luaL_checktype(L, 1, LUA_TTABLE);
	count = luaL_len(L, 1);
	luaL_checkstack(L, 8, NULL);
	luaL_buffinitsize(L, &text, (size_t)count * MARK * sizeof(uint64_t));
	for (i = 1; i <= count; i++) {
		uint64_t mark[MARK] = { 0 };
		struct pc_file file;

		if (pc_file_facts(listed_path(L, 1, i), false, &file) == 0) {
			set_mark(mark, &file);
			latest = file.ctime_ns > latest ? file.ctime_ns : latest;
		}
		luaL_addlstring(&text, (const char *)mark, sizeof(mark));
	}
	luaL_pushresult(&text);
	lua_pushinteger(L, latest);
	return 2;
}

/* core.kinds(paths) -> a letter for what each name itself is: the first of its kind, "p" for a fifo, "-" for none, "v" for a device */
static int fs_kinds(lua_State *L)
{
	lua_Integer i, count;
	luaL_Buffer text;

	luaL_checktype(L, 1, LUA_TTABLE);
	count = luaL_len(L, 1);
	luaL_checkstack(L, 8, NULL);
	luaL_buffinitsize(L, &text, (size_t)count);
	for (i = 1; i <= count; i++) {
		struct pc_file file = { .kind = "-" };

		if (pc_file_facts(listed_path(L, 1, i), false, &file) < 0)
			file.kind = "-";
		luaL_addchar(&text, !strcmp(file.kind, "fifo") ? 'p' : !strcmp(file.kind, "device") ? 'v' : file.kind[0]);
	}
	luaL_pushresult(&text);
	return 1;
}

/* core.clock_ns() -> what the kernel would give as the time of a change now (CLOCK_REALTIME_COARSE, clock_gettime(2)) */
static int fs_clock_ns(lua_State *L)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	lua_pushinteger(L, (lua_Integer)now.tv_sec * 1000000000 + now.tv_nsec);
	return 1;
}

/* Whether the name is a link. */
static bool add_identity(luaL_Buffer *text, const char *path, bool follow)
{
	struct pc_file file = { .kind = "" };
	uint64_t identity[2] = { 0 };

	if (pc_file_facts(path, follow, &file) == 0) {
		identity[0] = file.dev;
		identity[1] = file.ino;
	}
	luaL_addlstring(text, (const char *)identity, sizeof(identity));
	return !strcmp(file.kind, "link");
}

/* core.identities(paths) -> which object each name is, and each link leads to, as bytes; none is one too */
static int fs_identities(lua_State *L)
{
	luaL_Buffer text;
	lua_Integer i, count;

	luaL_checktype(L, 1, LUA_TTABLE);
	count = luaL_len(L, 1);
	luaL_checkstack(L, 8, NULL);
	luaL_buffinit(L, &text);
	for (i = 1; i <= count; i++) {
		const char *path = listed_path(L, 1, i);

		if (add_identity(&text, path, false))
			add_identity(&text, path, true);
	}
	luaL_pushresult(&text);
	return 1;
}

/* core.real_path(path) -> path | nil, message, errno; a relative one starts at the working directory */
static int fs_real_path(lua_State *L)
{
	size_t size;
	const char *path = pc_check_string(L, 1, &size);
	char resolved[PATH_MAX];
	int rc;

	luaL_argcheck(L, strlen(path) == size, 1, "a NUL byte inside");
	rc = pc_real_path(path, resolved);

	if (rc < 0)
		return pc_push_result(L, rc, path);
	lua_pushstring(L, resolved);
	return 1;
}

/* core.create_file(path, bytes) -> true | nil, message, errno: a new file, never one that is there */
static int fs_create_file(lua_State *L)
{
	const char *path = pc_check_path(L, 1);
	size_t size;
	const char *bytes = pc_check_string(L, 2, &size);

	return pc_push_result(L, pc_create_file(path, bytes, size), path);
}

/* core.read_link(path) -> target | nil, message, errno */
static int fs_read_link(lua_State *L)
{
	const char *path = pc_check_path(L, 1);
	char target[PATH_MAX];
	int rc = pc_read_link(path, target);

	if (rc < 0)
		return pc_push_result(L, rc, path);
	lua_pushstring(L, target);
	return 1;
}

/* Read outside Lua, freed by the collector: pushing the text may throw. */
struct text {
	char *data;
};

static int text_gc(lua_State *L)
{
	struct text *text = lua_touserdata(L, 1);

	free(text->data);
	text->data = NULL;
	return 0;
}

/*
 * core.read_file(path[, limit]) -> text, is_cut | nil, message, errno: a regular file, no link followed at its end, never waited
 * for (EINVAL: a FIFO or the like)
 */
static int fs_read_file(lua_State *L)
{
	const char *path = pc_check_path(L, 1);
	lua_Integer limit = luaL_optinteger(L, 2, 1 << 24);
	struct text *text;
	bool is_cut;
	size_t size;
	int rc;

	luaL_argcheck(L, limit >= 0, 2, "a limit is not negative");
	text = lua_newuserdatauv(L, sizeof(*text), 0);
	text->data = NULL;
	if (luaL_newmetatable(L, "procage.text")) {
		lua_pushcfunction(L, text_gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	rc = pc_read_file(path, (size_t)limit, &text->data, &size, &is_cut);
	if (rc < 0)
		return pc_push_result(L, rc, path);
	lua_pushlstring(L, text->data, size);
	lua_pushboolean(L, is_cut);
	return 2;
}

/* core.read_some(fd) -> bytes, "" at the end | nil, message, errno: what there is, as it comes */
static int fs_read_some(lua_State *L)
{
	int fd = (int)pc_check_range(L, 1, 0, INT_MAX);
	luaL_Buffer buffer;
	int64_t size;
	char *room;

	room = luaL_buffinitsize(L, &buffer, 65536);
	size = pc_read_some(fd, room, 65536);
	if (size < 0)
		return pc_push_result(L, (long)size, "read");
	luaL_pushresultsize(&buffer, (size_t)size);
	return 1;
}

static void push_hex(lua_State *L, const uint8_t *bytes)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * PC_DIGEST_SIZE];

	for (size_t i = 0; i < PC_DIGEST_SIZE; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	lua_pushlstring(L, text, sizeof(text));
}

/* core.digest_file(path, limit) -> sha256, mode, size | nil, message, errno (ELOOP, EINVAL: no regular file; EFBIG) */
static int fs_digest_file(lua_State *L)
{
	const char *path = pc_check_path(L, 1);
	lua_Integer limit = luaL_checkinteger(L, 2);
	struct pc_digest digest;
	int rc;

	luaL_argcheck(L, limit >= 0, 2, "a limit is not negative");
	rc = pc_digest_file(path, (uint64_t)limit, &digest);
	if (rc < 0)
		return pc_push_result(L, rc, path);
	push_hex(L, digest.sha256);
	lua_pushinteger(L, digest.mode);
	lua_pushinteger(L, (lua_Integer)digest.size);
	return 3;
}

/* core.digest(bytes) -> sha256 */
static int fs_digest(lua_State *L)
{
	size_t size;
	const char *data = pc_check_string(L, 1, &size);
	uint8_t sha256[PC_DIGEST_SIZE];

	pc_digest(data, size, sha256);
	push_hex(L, sha256);
	return 1;
}

extern char **environ;

/*
 * core.environment() -> {"NAME=value", ...}: as libc has it now, for a process that may not read its own /proc/self/environ. Another
 * thread that changes variables meanwhile is a mistake of its host's, as with getenv(3).
 */
static int fs_environment(lua_State *L)
{
	lua_Integer i;

	lua_newtable(L);
	for (i = 0; environ && environ[i]; i++) {
		lua_pushstring(L, environ[i]);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/* core.move(from, to) -> true | nil, message, errno: rename that never replaces */
static int fs_move(lua_State *L)
{
	const char *from = pc_check_path(L, 1);

	return pc_push_result(L, pc_move(from, pc_check_path(L, 2)), from);
}

/* core.make_dir(path[, mode = 0700]) -> true | nil, message, errno */
static int fs_make_dir(lua_State *L)
{
	const char *path = pc_check_path(L, 1);
	lua_Integer mode = luaL_optinteger(L, 2, 0700);

	luaL_argcheck(L, mode >= 0 && mode <= 07777, 2, "a mode is 0 to 07777");
	return pc_push_result(L, pc_make_directory(path, (unsigned int)mode), path);
}

#define LOCK "procage.lock"

/* That a private directory is in use; until closed or collected. It may be held for a while, and a host may close numbers. */
struct lock {
	int fd;
	struct pc_file file;
};

static bool lock_is_own(const struct lock *lock)
{
	struct pc_file now;

	return lock->fd >= 0 && pc_descriptor_facts(lock->fd, &now) == 0 && now.dev == lock->file.dev &&
	       now.ino == lock->file.ino;
}

/* lock:is_own() -> boolean: not closed, by whomever */
static int lock_is_held(lua_State *L)
{
	lua_pushboolean(L, lock_is_own(luaL_checkudata(L, 1, LOCK)));
	return 1;
}

/* close, __gc and __close: may run twice. */
static int lock_close(lua_State *L)
{
	struct lock *lock = luaL_checkudata(L, 1, LOCK);
	int fd = lock_is_own(lock) ? lock->fd : -1;

	lock->fd = -1;
	if (fd >= 0)
		close(fd);
	return 0;
}

/*
 * core.private_dir(base) -> path, lock | nil, message, errno: base/procage-XXXXXX with tmp, var and shm in it, all mode 0700.
 * Once the lock is closed, collected, or its process is dead, private_sweep may remove the directory.
 */
static int fs_private_dir(lua_State *L)
{
	const char *base = pc_check_path(L, 1);
	struct lock *lock;
	char path[PATH_MAX];
	int rc, size;

	size = snprintf(path, sizeof(path), "%s/procage-XXXXXX", strcmp(base, "/") ? base : "");
	luaL_argcheck(L, size > 0 && (size_t)size < sizeof(path), 1, "path too long");
	lock = lua_newuserdatauv(L, sizeof(*lock), 0);
	lock->fd = -1;
	luaL_setmetatable(L, LOCK);
	rc = pc_private_directory(path);
	if (rc < 0)
		return pc_push_result(L, rc, base);
	lock->fd = rc;
	rc = pc_descriptor_facts(rc, &lock->file);
	if (rc < 0) {
		close(lock->fd);
		lock->fd = -1;
		pc_remove_tree(path);
		return pc_push_result(L, rc, path);
	}
	lua_pushstring(L, path);
	lua_insert(L, -2);
	return 2;
}

/* core.private_claim(path) -> true | nil, message, errno: it is this process's, whatever it becomes */
static int fs_private_claim(lua_State *L)
{
	const char *path = pc_check_path(L, 1);

	return pc_push_result(L, pc_private_claim(path), path);
}

/* core.private_sweep(base) -> count | nil, message, errno: removes private directories that are nobody's any more */
static int fs_private_sweep(lua_State *L)
{
	const char *base = pc_check_path(L, 1);
	int rc = pc_private_sweep(base);

	if (rc < 0)
		return pc_push_result(L, rc, base);
	lua_pushinteger(L, rc);
	return 1;
}

/* core.open_up(path) -> the mode before, or false when nothing was missing | nil, message, errno: the owner's rwx of a directory */
static int fs_open_up(lua_State *L)
{
	const char *path = pc_check_path(L, 1);
	int was, rc;

	rc = pc_open_up(path, &was);
	if (rc < 0)
		return pc_push_result(L, rc, path);
	if (was < 0)
		lua_pushboolean(L, 0);
	else
		lua_pushinteger(L, was);
	return 1;
}

/* core.put_mode(path, mode) -> true | nil, message, errno: chmod that follows no link */
static int fs_put_mode(lua_State *L)
{
	const char *path = pc_check_path(L, 1);

	return pc_push_result(L, pc_put_mode(path, (unsigned int)pc_check_range(L, 2, 0, 07777)), path);
}

/* core.remove_tree(path) -> true | nil, message, errno (the first; the rest is gone all the same) */
static int fs_remove_tree(lua_State *L)
{
	const char *path = pc_check_path(L, 1);

	return pc_push_result(L, pc_remove_tree(path), path);
}

void pc_open_fs(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "stat", fs_stat },
		{ "lstat", fs_lstat },
		{ "kind", fs_kind },
		{ "kinds", fs_kinds },
		{ "resolve_all", fs_resolve_all },
		{ "mark", fs_mark },
		{ "marks", fs_marks },
		{ "clock_ns", fs_clock_ns },
		{ "identities", fs_identities },
		{ "executable", fs_executable },
		{ "create_file", fs_create_file },
		{ "real_path", fs_real_path },
		{ "read_link", fs_read_link },
		{ "read_file", fs_read_file },
		{ "read_some", fs_read_some },
		{ "digest_file", fs_digest_file },
		{ "digest", fs_digest },
		{ "environment", fs_environment },
		{ "move", fs_move },
		{ "open_up", fs_open_up },
		{ "put_mode", fs_put_mode },
		{ "make_dir", fs_make_dir },
		{ "private_dir", fs_private_dir },
		{ "private_claim", fs_private_claim },
		{ "private_sweep", fs_private_sweep },
		{ "remove_tree", fs_remove_tree },
		{ NULL, NULL },
	};

	static const luaL_Reg lock_metamethods[] = {
		{ "is_own", lock_is_held },
		{ "__gc", lock_close },
		{ "__close", lock_close },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, LOCK);
	luaL_setfuncs(L, lock_metamethods, 0);
	lua_pushcfunction(L, lock_close);
	lua_setfield(L, -2, "close");
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
	luaL_setfuncs(L, functions, 0);
}
