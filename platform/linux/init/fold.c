/*
 * Source: Unicode's CaseFolding.txt (C and F), UnicodeData.txt (canonical decompositions), DerivedCoreProperties.txt
 * (Default_Ignorable_Code_Point), as the kernel's fs/unicode uses them: letters that fold to ASCII, and code points that it skips
 * (all kernels but 6.12's first). Of what does not fold to ASCII no name of ours has any.
 */
#include "fold.h"

#include <stddef.h>
#include <stdint.h>

static const struct {
	uint32_t point;
	const char *text;
} letters[] = {
	{ 0xdf, "ss" },	   { 0x17f, "s" },   { 0x37e, ";" },   { 0x1e9e, "ss" }, { 0x1fef, "`" },
	{ 0x212a, "k" },   { 0xfb00, "ff" }, { 0xfb01, "fi" }, { 0xfb02, "fl" }, { 0xfb03, "ffi" },
	{ 0xfb04, "ffl" }, { 0xfb05, "st" }, { 0xfb06, "st" },
};

static const struct {
	uint32_t first, last;
} skipped[] = {
	{ 0xad, 0xad },	      { 0x34f, 0x34f },	    { 0x61c, 0x61c },	{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x202a, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 }, { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

/* The code point that begins at `at`, and its bytes; 0 bytes: none does. */
static uint32_t decode(const char *at, size_t *size)
{
	unsigned char first = (unsigned char)*at;
	size_t more = first >= 0xf0 && first < 0xf8 ? 3 :
		      first >= 0xe0 && first < 0xf0 ? 2 :
		      first >= 0xc2 && first < 0xe0 ? 1 :
						      0;
	uint32_t point = first & (0x3fu >> more);
	size_t i;

	*size = 0;
	for (i = 1; i <= more; i++) {
		if (((unsigned char)at[i] & 0xc0u) != 0x80)
			return 0;
		point = point << 6 | ((unsigned char)at[i] & 0x3fu);
	}
	*size = more ? more + 1 : 0;
	return point;
}

static const char *letter_of(uint32_t point)
{
	size_t i;

	for (i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (letters[i].point == point)
			return letters[i].text;
	return NULL;
}

static bool is_skipped(uint32_t point)
{
	size_t i;

	for (i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
		if (point >= skipped[i].first && point <= skipped[i].last)
			return true;
	return false;
}

int pc_fold_next(struct pc_fold *fold)
{
	const char *text;
	uint32_t point;
	size_t size;
	char c;

	while (!fold->rest || !*fold->rest) {
		c = *fold->at;
		if ((unsigned char)c < 0x80) {
			if (c)
				fold->at++;
			return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
		}
		point = decode(fold->at, &size);
		text = size ? letter_of(point) : NULL;
		if (!text && !(size && is_skipped(point))) {
			fold->at++;
			return (unsigned char)c;
		}
		fold->at += size;
		fold->rest = text;
	}
	return *fold->rest++;
}

const char *pc_fold_after(const char *path, const char *prefix)
{
	struct pc_fold a = { .at = path }, b = { .at = prefix };
	struct pc_fold before = a;
	int wanted;

	while ((wanted = pc_fold_next(&b)) != 0) {
		if (pc_fold_next(&a) != wanted)
			return NULL;
		before = a;
	}
	/* Half of a letter is more of the name, and no slash: where it begins does. */
	if (before.rest && *before.rest)
		return before.rest;
	/* Past what is skipped: a slash or the end may come after it. */
	wanted = pc_fold_next(&a);
	return !wanted || wanted == '/' ? a.at - (wanted == '/') : before.at;
}

bool pc_fold_equal(const char *a, const char *b)
{
	const char *rest = pc_fold_after(a, b);

	return rest && !*rest;
}
