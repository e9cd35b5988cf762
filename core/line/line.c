/*
 * require "procage.line": editing a line at a terminal, through libedit. A module of its own, so that nothing but a prompt needs
 * the library, and a prompt does without it where it is not installed.
 *
 * libedit, not readline: its licence binds nobody, and Ctrl-C can be a key like any other, which only drops the line.
 */
#include "core/lua_check.h"

#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <lauxlib.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#define EDITOR "procage.editor"

struct editor {
	EditLine *el; /* NULL: closed */
	History *history;
	const char *prompt;
	lua_State *L; /* while a line is read; the completer is its value 3 */
	bool is_dropped;
};

static struct editor *editor_of(EditLine *el)
{
	struct editor *editor = NULL;

	el_get(el, EL_CLIENTDATA, &editor);
	return editor;
}

static char *prompt_of(EditLine *el)
{
	/* libedit only reads it. */
	return (char *)(uintptr_t)editor_of(el)->prompt;
}

static unsigned char drop_line(EditLine *el, int unused)
{
	(void)unused;
	editor_of(el)->is_dropped = true;
	return CC_NEWLINE;
}

/* As the terminal would have it, were its signals not keys here. libedit puts the terminal right before, and takes it back after. */
static unsigned char stop(EditLine *el, int unused)
{
	(void)el;
	(void)unused;
	raise(SIGTSTP);
	return CC_REDISPLAY;
}

/* Calls the completer with the text before the cursor: what it returns first is put in, second says that it has printed. */
static unsigned char complete(EditLine *el, int unused)
{
	struct editor *editor = editor_of(el);
	lua_State *L = editor->L;
	const LineInfo *line = el_line(el);
	const char *insert;
	unsigned char answer = CC_ERROR;
	bool is_printed;
	int top = lua_gettop(L);

	(void)unused;
	/* An error must not jump through libedit. */
	lua_pushvalue(L, 3);
	lua_pushlstring(L, line->buffer, (size_t)(line->cursor - line->buffer));
	if (lua_pcall(L, 1, 2, 0) != LUA_OK) {
		lua_settop(L, top);
		return CC_ERROR;
	}
	is_printed = lua_toboolean(L, -1);
	insert = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
	if (*insert && el_insertstr(el, insert) == 0)
		answer = CC_REFRESH;
	lua_settop(L, top);
	return is_printed ? CC_REDISPLAY : answer;
}

static int editor_close(lua_State *L)
{
	struct editor *editor = luaL_checkudata(L, 1, EDITOR);
	EditLine *el = editor->el;
	History *history = editor->history;

	editor->el = NULL;
	editor->history = NULL;
	if (el)
		el_end(el);
	if (history)
		history_end(history);
	return 0;
}

/* line.open(entries) -> editor | nil, message: at descriptors 0, 1 and 2; it remembers that many lines */
static int line_open(lua_State *L)
{
	int entries = (int)pc_check_range(L, 1, 1, INT_MAX);
	struct editor *editor = lua_newuserdatauv(L, sizeof(*editor), 0);
	HistEvent event;

	*editor = (struct editor) { 0 };
	luaL_setmetatable(L, EDITOR);
	editor->history = history_init();
	editor->el = editor->history ? el_init("procage-lua", stdin, stdout, stderr) : NULL;
	if (!editor->el) {
		lua_pushnil(L);
		lua_pushliteral(L, "libedit could not be started");
		return 2;
	}
	history(editor->history, &event, H_SETSIZE, entries);
	history(editor->history, &event, H_SETUNIQUE, 1);
	el_set(editor->el, EL_CLIENTDATA, editor);
	el_set(editor->el, EL_PROMPT, prompt_of);
	el_set(editor->el, EL_EDITOR, "emacs");
	el_set(editor->el, EL_HIST, history, editor->history);
	/* The terminal is put right on SIGTERM and SIGHUP, and a new size is taken over. */
	el_set(editor->el, EL_SIGNAL, 1);
	/* By the wide call: the other one copies the names, and loses the copies. */
	el_wset(editor->el, EL_ADDFN, L"procage-complete", L"complete a name", complete);
	el_wset(editor->el, EL_ADDFN, L"procage-drop", L"drop the line", drop_line);
	el_wset(editor->el, EL_ADDFN, L"procage-stop", L"stop the program", stop);
	el_set(editor->el, EL_SETTY, "-d", "-isig", NULL);
	el_set(editor->el, EL_BIND, "^I", "procage-complete", NULL);
	el_set(editor->el, EL_BIND, "^C", "procage-drop", NULL);
	el_set(editor->el, EL_BIND, "^Z", "procage-stop", NULL);
	el_set(editor->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
	el_set(editor->el, EL_BIND, "\\e[1~", "ed-move-to-beg", NULL);
	el_set(editor->el, EL_BIND, "\\e[4~", "ed-move-to-end", NULL);
	el_set(editor->el, EL_BIND, "\\e[3~", "ed-delete-next-char", NULL);
	return 1;
}

static struct editor *check_open(lua_State *L)
{
	struct editor *editor = luaL_checkudata(L, 1, EDITOR);

	luaL_argcheck(L, editor->el, 1, "closed");
	return editor;
}

/* editor:read(prompt, completer) -> line | nil: the end | false: dropped */
static int editor_read(lua_State *L)
{
	struct editor *editor = check_open(L);
	size_t unused;
	const char *text;
	int count = 0;

	editor->prompt = pc_check_string(L, 2, &unused);
	luaL_checktype(L, 3, LUA_TFUNCTION);
	editor->L = L;
	editor->is_dropped = false;
	/* Before the prompt is shown, not after: a Ctrl-C typed between the two would be a signal. */
	el_set(editor->el, EL_PREP_TERM, 1);
	text = el_gets(editor->el, &count);
	editor->L = NULL;
	if (editor->is_dropped) {
		fputs("^C\n", stdout);
		lua_pushboolean(L, false);
		return 1;
	}
	if (!text || count <= 0)
		lua_pushnil(L);
	else
		lua_pushlstring(L, text, (size_t)count - (text[count - 1] == '\n'));
	return 1;
}

/* editor:remember(text) */
static int editor_remember(lua_State *L)
{
	struct editor *editor = check_open(L);
	size_t unused;
	HistEvent event;

	history(editor->history, &event, H_ENTER, pc_check_string(L, 2, &unused));
	return 0;
}

/* editor:size() -> columns */
static int editor_columns(lua_State *L)
{
	struct editor *editor = check_open(L);
	int columns = 0;

	el_resize(editor->el);
	if (el_get(editor->el, EL_GETTC, "co", &columns) < 0 || columns < 20)
		columns = 80;
	lua_pushinteger(L, columns);
	return 1;
}

static int write_private(const char *path, const char *text, size_t size, int how)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC | how, 0600), rc = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	/* Only a file of the user's own: what is typed is nobody else's. */
	if (fstat(fd, &st) < 0)
		rc = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		rc = -EPERM;
	else if (fchmod(fd, 0600) < 0 || write(fd, text, size) != (ssize_t)size)
		rc = errno ? -errno : -EIO;
	close(fd);
	return rc;
}

/* line.append(path, text), line.replace(path, text) -> true | nil, message, errno: a file of mode 600, no link followed */
static int line_append(lua_State *L)
{
	const char *path = pc_check_path(L, 1);
	size_t size;
	const char *text = pc_check_string(L, 2, &size);

	return pc_push_result(L, write_private(path, text, size, O_APPEND), path);
}

static int line_replace(lua_State *L)
{
	const char *path = pc_check_path(L, 1);
	size_t size;
	const char *text = pc_check_string(L, 2, &size);

	return pc_push_result(L, write_private(path, text, size, O_TRUNC), path);
}

__attribute__((visibility("default"))) int luaopen_procage_line(lua_State *L);

int luaopen_procage_line(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "open", line_open },
		{ "append", line_append },
		{ "replace", line_replace },
		{ NULL, NULL },
	};
	static const luaL_Reg methods[] = {
		{ "read", editor_read },
		{ "remember", editor_remember },
		{ "columns", editor_columns },
		{ "close", editor_close },
		{ NULL, NULL },
	};

	luaL_checkversion(L);
	luaL_newmetatable(L, EDITOR);
	luaL_newlib(L, methods);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, editor_close);
	lua_setfield(L, -2, "__gc");
	lua_pushcfunction(L, editor_close);
	lua_setfield(L, -2, "__close");
	lua_pop(L, 1);
	luaL_newlib(L, functions);
	return 1;
}
