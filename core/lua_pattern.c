/*
 * Lua's patterns, with a budget: each thing tried takes a step of the script's. A pattern such as "a*a*a*a*b" tries more than a
 * lifetime's worth on a short text, and no hook fires meanwhile.
 *
 * The matcher is that of Lua 5.4 (lstrlib.c), Copyright (C) 1994-2022 Lua.org, PUC-Rio, under the MIT licence:
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
 * files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
 * modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
 * is furnished to do so, subject to the following conditions: The above copyright notice and this permission notice shall be
 * included in all copies or substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY
 * KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE
 * AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY,
 * WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR
 * OTHER DEALINGS IN THE SOFTWARE.
 */
#include "core/lua_script.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <lauxlib.h>

#define UNFINISHED   (-1)
#define POSITION     (-2)
#define ESCAPE	     '%'
#define SPECIALS     "^$*+?.([%-"
#define MAX_NESTED   200
#define MAX_CAPTURES 32

struct matcher {
	lua_State *L;
	int64_t *steps;
	const char *start, *end; /* of the text */
	const char *pattern_end;
	int nested; /* calls left */
	int level;  /* captures so far */
	struct {
		const char *at;
		ptrdiff_t size;
	} captures[MAX_CAPTURES];
};

static const char *match(struct matcher *m, const char *s, const char *p);

static void spend(struct matcher *m)
{
	if (--*m->steps < 0)
		pc_script_exhausted(m->L);
}

static int closed_capture(struct matcher *m, int digit)
{
	int index = digit - '1';

	if (index < 0 || index >= m->level || m->captures[index].size == UNFINISHED)
		return luaL_error(m->L, "invalid capture index %%%d", index + 1);
	return index;
}

static int open_capture(struct matcher *m)
{
	int level;

	for (level = m->level - 1; level >= 0; level--)
		if (m->captures[level].size == UNFINISHED)
			return level;
	return luaL_error(m->L, "invalid pattern capture");
}

/* For what takes no step a letter: as many as it is long, by sixteen. */
static void spend_length(struct matcher *m, size_t length)
{
	*m->steps -= (int64_t)(length / 16);
	if (*m->steps < 0)
		pc_script_exhausted(m->L);
}

/* Where the single thing at p ends, whose repetition sign comes next. */
static const char *class_end(struct matcher *m, const char *p)
{
	const char *start = p;

	if (*p++ == ESCAPE) {
		if (p == m->pattern_end)
			luaL_error(m->L, "malformed pattern (ends with '%%')");
		return p + 1;
	}
	if (p[-1] != '[')
		return p;
	if (*p == '^')
		p++;
	do {
		if (p == m->pattern_end)
			luaL_error(m->L, "malformed pattern (missing ']')");
		if (*p++ == ESCAPE && p < m->pattern_end)
			p++;
	} while (p == m->pattern_end || *p != ']');
	spend_length(m, (size_t)(p - start));
	return p + 1;
}

static bool in_class(int c, int class)
{
	bool is_in;

	switch (tolower(class)) {
	case 'a':
		is_in = isalpha(c);
		break;
	case 'c':
		is_in = iscntrl(c);
		break;
	case 'd':
		is_in = isdigit(c);
		break;
	case 'g':
		is_in = isgraph(c);
		break;
	case 'l':
		is_in = islower(c);
		break;
	case 'p':
		is_in = ispunct(c);
		break;
	case 's':
		is_in = isspace(c);
		break;
	case 'u':
		is_in = isupper(c);
		break;
	case 'w':
		is_in = isalnum(c);
		break;
	case 'x':
		is_in = isxdigit(c);
		break;
	default:
		return class == c;
	}
	return isupper(class) ? !is_in : is_in;
}

static int byte(const char *p)
{
	return (unsigned char)*p;
}

/* p is at '[', last at its ']'. */
static bool in_set(int c, const char *p, const char *last)
{
	bool sense = true;

	if (p[1] == '^') {
		sense = false;
		p++;
	}
	while (++p < last) {
		if (*p == ESCAPE) {
			p++;
			if (in_class(c, byte(p)))
				return sense;
		} else if (p[1] == '-' && p + 2 < last) {
			p += 2;
			if (byte(p - 2) <= c && c <= byte(p))
				return sense;
		} else if (byte(p) == c) {
			return sense;
		}
	}
	return !sense;
}

static bool single(struct matcher *m, const char *s, const char *p, const char *p_end)
{
	spend(m);
	if (s >= m->end)
		return false;
	switch (*p) {
	case '.':
		return true;
	case ESCAPE:
		return in_class(byte(s), byte(p + 1));
	case '[':
		spend_length(m, (size_t)(p_end - p));
		return in_set(byte(s), p, p_end - 1);
	default:
		return *p == *s;
	}
}

static const char *match_balance(struct matcher *m, const char *s, const char *p)
{
	int depth = 1;

	if (p >= m->pattern_end - 1)
		luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
	if (s >= m->end || *s != *p)
		return NULL;
	while (++s < m->end) {
		spend(m);
		if (*s == p[1]) {
			if (--depth == 0)
				return s + 1;
		} else if (*s == *p) {
			depth++;
		}
	}
	return NULL;
}

/* A pattern calls itself for what comes after each repetition, at most MAX_NESTED deep. NOLINTBEGIN(misc-no-recursion) */
static const char *expand_most(struct matcher *m, const char *s, const char *p, const char *p_end)
{
	ptrdiff_t count = 0;

	while (single(m, s + count, p, p_end))
		count++;
	for (; count >= 0; count--) {
		const char *found = match(m, s + count, p_end + 1);

		if (found)
			return found;
	}
	return NULL;
}

static const char *expand_least(struct matcher *m, const char *s, const char *p, const char *p_end)
{
	for (;;) {
		const char *found = match(m, s, p_end + 1);

		if (found)
			return found;
		if (!single(m, s, p, p_end))
			return NULL;
		s++;
	}
}

static const char *start_capture(struct matcher *m, const char *s, const char *p, ptrdiff_t kind)
{
	const char *found;

	if (m->level >= MAX_CAPTURES)
		luaL_error(m->L, "too many captures");
	m->captures[m->level].at = s;
	m->captures[m->level].size = kind;
	m->level++;
	found = match(m, s, p);
	if (!found)
		m->level--;
	return found;
}

static const char *end_capture(struct matcher *m, const char *s, const char *p)
{
	int level = open_capture(m);
	const char *found;

	m->captures[level].size = s - m->captures[level].at;
	found = match(m, s, p);
	if (!found)
		m->captures[level].size = UNFINISHED;
	return found;
}

static const char *match_capture(struct matcher *m, const char *s, int digit)
{
	int level = closed_capture(m, digit);
	ptrdiff_t size = m->captures[level].size;

	/* Of a position nothing can be matched again; it would be a size below zero. */
	if (size <= 0)
		return size == 0 ? s : NULL;
	if (m->end - s < size)
		return NULL;
	spend_length(m, (size_t)size);
	return memcmp(m->captures[level].at, s, (size_t)size) == 0 ? s + size : NULL;
}

static const char *match_frontier(struct matcher *m, const char *s, const char **p)
{
	const char *set = *p, *set_end;
	int before = s == m->start ? 0 : byte(s - 1), here = s == m->end ? 0 : byte(s);

	if (set >= m->pattern_end || *set != '[')
		luaL_error(m->L, "missing '[' after '%%f' in pattern");
	set_end = class_end(m, set);
	spend_length(m, (size_t)(set_end - set));
	if (in_set(before, set, set_end - 1) || !in_set(here, set, set_end - 1))
		return NULL;
	*p = set_end;
	return s;
}

/* The default: one thing, and its repetition sign. `*again` says to go on at *p. */
static const char *match_item(struct matcher *m, const char *s, const char **p, bool *again)
{
	const char *p_end = class_end(m, *p);
	int sign = p_end < m->pattern_end ? byte(p_end) : 0;

	*again = false;
	if (sign == '*')
		return expand_most(m, s, *p, p_end);
	if (sign == '-')
		return expand_least(m, s, *p, p_end);
	if (sign == '+')
		return single(m, s, *p, p_end) ? expand_most(m, s + 1, *p, p_end) : NULL;
	if (sign == '?') {
		const char *found = single(m, s, *p, p_end) ? match(m, s + 1, p_end + 1) : NULL;

		if (found)
			return found;
		*p = p_end + 1;
		*again = true;
		return s;
	}
	if (!single(m, s, *p, p_end))
		return NULL;
	*p = p_end;
	*again = true;
	return s + 1;
}

static const char *match_pattern(struct matcher *m, const char *s, const char *p)
{
	while (s && p != m->pattern_end) {
		bool again = true;

		spend(m);
		if (*p == '(')
			return p + 1 < m->pattern_end && p[1] == ')' ? start_capture(m, s, p + 2, POSITION) :
								       start_capture(m, s, p + 1, UNFINISHED);
		if (*p == ')')
			return end_capture(m, s, p + 1);
		if (*p == '$' && p + 1 == m->pattern_end)
			return s == m->end ? s : NULL;
		if (*p == ESCAPE && p + 1 < m->pattern_end && p[1] == 'b') {
			s = match_balance(m, s, p + 2);
			p += 4;
		} else if (*p == ESCAPE && p + 1 < m->pattern_end && p[1] == 'f') {
			p += 2;
			s = match_frontier(m, s, &p);
		} else if (*p == ESCAPE && p + 1 < m->pattern_end && isdigit(byte(p + 1))) {
			s = match_capture(m, s, byte(p + 1));
			p += 2;
		} else {
			s = match_item(m, s, &p, &again);
		}
		if (!again)
			return s;
	}
	return s;
}

static const char *match(struct matcher *m, const char *s, const char *p)
{
	const char *found;

	if (m->nested-- == 0)
		luaL_error(m->L, "pattern too complex");
	found = match_pattern(m, s, p);
	m->nested++;
	return found;
}

/* NOLINTEND(misc-no-recursion) */

static void prepare(struct matcher *m, lua_State *L, const char *text, size_t size, const char *pattern, size_t pattern_size)
{
	memset(m, 0, sizeof(*m));
	m->L = L;
	m->steps = pc_script_steps(L);
	m->start = text;
	m->end = text + size;
	m->pattern_end = pattern + pattern_size;
	m->nested = MAX_NESTED;
}

static const char *begin(struct matcher *m, const char *s, const char *p)
{
	/* A pattern of nothing takes no other. */
	spend(m);
	m->level = 0;
	m->nested = MAX_NESTED;
	return match(m, s, p);
}

/*
 * The first place from s on where a match can begin: one that begins with a letter that stands for itself begins there. The end of
 * the text when there is none; a pattern that can match nothing begins anywhere.
 */
static const char *candidate(struct matcher *m, const char *s, const char *p)
{
	const char *found;

	if (p >= m->pattern_end || strchr(SPECIALS ")", *p) || (p + 1 < m->pattern_end && strchr("*?-", p[1])) || s >= m->end)
		return s;
	found = memchr(s, *p, (size_t)(m->end - s));
	if (!found)
		found = m->end;
	spend_length(m, (size_t)(found - s));
	return found;
}

static void push_capture(struct matcher *m, int level, const char *s, const char *e)
{
	if (level >= m->level) {
		if (level != 0)
			luaL_error(m->L, "invalid capture index %%%d", level + 1);
		lua_pushlstring(m->L, s, (size_t)(e - s));
	} else if (m->captures[level].size == POSITION) {
		lua_pushinteger(m->L, m->captures[level].at - m->start + 1);
	} else if (m->captures[level].size == UNFINISHED) {
		luaL_error(m->L, "unfinished capture");
	} else {
		lua_pushlstring(m->L, m->captures[level].at, (size_t)m->captures[level].size);
	}
}

/* All captures; the whole match where there are none and s is given. */
static int push_captures(struct matcher *m, const char *s, const char *e)
{
	int count = m->level == 0 && s ? 1 : m->level, i;

	luaL_checkstack(m->L, count, "too many captures");
	for (i = 0; i < count; i++)
		push_capture(m, i, s, e);
	return count;
}

/* The offset that a position names, from 0; past the end is `size + 1`. */
static size_t offset(lua_Integer position, size_t size)
{
	if (position > 0)
		return (size_t)position - 1;
	if (position == 0 || position < -(lua_Integer)size)
		return 0;
	return size - (size_t)-position;
}

static int find_plain(lua_State *L, const char *text, size_t size, const char *wanted, size_t wanted_size, size_t from)
{
	const char *found = memmem(text + from, size - from, wanted, wanted_size);

	*pc_script_steps(L) -= (int64_t)((size - from) / 16);
	if (!found) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushinteger(L, found - text + 1);
	lua_pushinteger(L, found - text + (lua_Integer)wanted_size);
	return 2;
}

static bool has_specials(lua_State *L, const char *pattern, size_t size)
{
	size_t i;

	*pc_script_steps(L) -= (int64_t)(size / 16);
	for (i = 0; i < size; i++)
		if (pattern[i] && strchr(SPECIALS, pattern[i]))
			return true;
	return false;
}

static int search(lua_State *L, bool is_find)
{
	size_t size, pattern_size, from;
	const char *text = luaL_checklstring(L, 1, &size), *pattern = luaL_checklstring(L, 2, &pattern_size), *s;
	bool is_anchored = *pattern == '^';
	struct matcher m;

	from = offset(luaL_optinteger(L, 3, 1), size);
	if (from > size) {
		lua_pushnil(L);
		return 1;
	}
	if (is_find && (lua_toboolean(L, 4) || !has_specials(L, pattern, pattern_size)))
		return find_plain(L, text, size, pattern, pattern_size, from);
	if (is_anchored) {
		pattern++;
		pattern_size--;
	}
	prepare(&m, L, text, size, pattern, pattern_size);
	for (s = text + from; s <= m.end; s++) {
		const char *e;

		if (!is_anchored)
			s = candidate(&m, s, pattern);
		e = begin(&m, s, pattern);
		if (e && is_find) {
			lua_pushinteger(L, s - text + 1);
			lua_pushinteger(L, e - text);
			return push_captures(&m, NULL, NULL) + 2;
		}
		if (e)
			return push_captures(&m, s, e);
		if (is_anchored)
			break;
	}
	lua_pushnil(L);
	return 1;
}

static int pattern_find(lua_State *L)
{
	return search(L, true);
}

static int pattern_match(lua_State *L)
{
	return search(L, false);
}

/* Upvalues: text, pattern, the offset to go on from, the end of the last match (-1: none). */
static int gmatch_next(lua_State *L)
{
	size_t size, pattern_size;
	const char *text = lua_tolstring(L, lua_upvalueindex(1), &size);
	const char *pattern = lua_tolstring(L, lua_upvalueindex(2), &pattern_size);
	const char *s = text + lua_tointeger(L, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
	struct matcher m;

	prepare(&m, L, text, size, pattern, pattern_size);
	for (; s <= m.end; s++) {
		const char *e;

		s = candidate(&m, s, pattern);
		e = begin(&m, s, pattern);
		if (e && e - text != last) {
			lua_pushinteger(L, e - text);
			lua_copy(L, -1, lua_upvalueindex(3));
			lua_copy(L, -1, lua_upvalueindex(4));
			return push_captures(&m, s, e);
		}
	}
	return 0;
}

static int pattern_gmatch(lua_State *L)
{
	size_t size, from;

	luaL_checklstring(L, 1, &size);
	luaL_checkstring(L, 2);
	from = offset(luaL_optinteger(L, 3, 1), size);
	lua_settop(L, 2);
	lua_pushinteger(L, (lua_Integer)(from > size ? size + 1 : from));
	lua_pushinteger(L, -1);
	lua_pushcclosure(L, gmatch_next, 4);
	return 1;
}

/* Adds what the text at argument 3 says for a match: %0 to %9, %%. */
static void add_text(struct matcher *m, luaL_Buffer *out, const char *s, const char *e)
{
	size_t size, i;
	const char *text = lua_tolstring(m->L, 3, &size);

	for (i = 0; i < size; i++) {
		int c = byte(text + i);

		/* What is put in may be nothing, and cost no memory. */
		spend(m);
		if (c != ESCAPE) {
			luaL_addchar(out, (char)c);
			continue;
		}
		c = ++i < size ? byte(text + i) : 0;
		if (c == ESCAPE) {
			luaL_addchar(out, ESCAPE);
		} else if (c == '0') {
			luaL_addlstring(out, s, (size_t)(e - s));
		} else if (isdigit(c)) {
			push_capture(m, c - '1', s, e);
			luaL_tolstring(m->L, -1, NULL);
			lua_remove(m->L, -2);
			luaL_addvalue(out);
		} else {
			luaL_error(m->L, "invalid use of '%c' in replacement string", ESCAPE);
		}
	}
}

static void add_match(struct matcher *m, luaL_Buffer *out, const char *s, const char *e)
{
	lua_State *L = m->L;
	int count;

	switch (lua_type(L, 3)) {
	case LUA_TFUNCTION:
		lua_pushvalue(L, 3);
		count = push_captures(m, s, e);
		lua_call(L, count, 1);
		break;
	case LUA_TTABLE:
		push_capture(m, 0, s, e);
		lua_gettable(L, 3);
		break;
	default:
		add_text(m, out, s, e);
		return;
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(out, s, (size_t)(e - s));
		return;
	}
	if (!lua_isstring(L, -1))
		luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
	luaL_addvalue(out);
}

static int pattern_gsub(lua_State *L)
{
	size_t size, pattern_size;
	const char *text = luaL_checklstring(L, 1, &size), *pattern = luaL_checklstring(L, 2, &pattern_size), *s = text;
	const char *last = NULL;
	int type = lua_type(L, 3);
	lua_Integer limit = luaL_optinteger(L, 4, (lua_Integer)size + 1), count = 0;
	bool is_anchored = *pattern == '^';
	struct matcher m;
	luaL_Buffer out;

	luaL_argexpected(L, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE, 3,
			 "string/function/table");
	/* A number's text is made once, in its place on the stack. */
	if (type == LUA_TNUMBER)
		lua_tostring(L, 3);
	if (is_anchored) {
		pattern++;
		pattern_size--;
	}
	luaL_buffinit(L, &out);
	prepare(&m, L, text, size, pattern, pattern_size);
	while (count < limit) {
		const char *e = begin(&m, s, pattern);

		if (e && e != last) {
			count++;
			add_match(&m, &out, s, e);
			s = last = e;
		} else if (s < m.end) {
			luaL_addchar(&out, *s++);
		} else {
			break;
		}
		if (is_anchored)
			break;
	}
	luaL_addlstring(&out, s, (size_t)(m.end - s));
	luaL_pushresult(&out);
	lua_pushinteger(L, count);
	return 2;
}

void pc_open_patterns(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "find", pattern_find }, { "match", pattern_match }, { "gmatch", pattern_gmatch }, { "gsub", pattern_gsub },
		{ NULL, NULL },
	};

	luaL_setfuncs(L, functions, 0);
}
