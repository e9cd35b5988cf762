/* The broker's folding of names, which is lua/procage/fold.lua's in C: fold_spec.lua has the tables' own test. */
#include "platform/linux/init/fold.c" /* NOLINT(bugprone-suspicious-include): it is init's, which no library has */

#include <stdio.h>
#include <string.h>

static unsigned int failures;

static void expect(bool is_true, const char *what)
{
	printf("%s - %s\n", is_true ? "ok" : "not ok", what);
	if (!is_true)
		failures++;
}

static bool folds_to(const char *text, const char *wanted)
{
	struct pc_fold fold = { .at = text };
	char folded[64];
	size_t size = 0;
	int c;

	while ((c = pc_fold_next(&fold)) != 0 && size < sizeof(folded) - 1)
		folded[size++] = (char)c;
	folded[size] = '\0';
	return strcmp(folded, wanted) == 0 && pc_fold_next(&fold) == 0;
}

static bool is_after(const char *path, const char *prefix, const char *wanted)
{
	const char *rest = pc_fold_after(path, prefix);

	return wanted ? rest && strcmp(rest, wanted) == 0 : !rest;
}

int main(void)
{
	expect(folds_to(".VSCode/Tasks.JSON", ".vscode/tasks.json"), "every letter case");
	expect(folds_to(".\u017fSH/Ta\u017f\u212aS", ".ssh/tasks"), "a long s, a Kelvin sign");
	expect(folds_to("Make\ufb01le \u00df\u1e9e\ufb00\ufb02\ufb03\ufb04\ufb05\ufb06", "makefile ssssffflffifflstst"),
	       "ligatures");
	expect(folds_to("\u037e\u1fef", ";`"), "what is ASCII by another number");
	expect(folds_to(".g\u200bi\u00adt\ufeff", ".git"), "what is passed by");
	expect(folds_to("\U000e0001.env\u2064rc", ".envrc"), "what is passed by, at the start");
	expect(folds_to("\u00fcber e\u0301", "\u00fcber e\u0301"), "other letters stay");
	expect(folds_to("\xff\xfe", "\xff\xfe") && folds_to("a\xc5", "a\xc5") && folds_to("\xe2\x84", "\xe2\x84"),
	       "no text stays");
	expect(folds_to("\xc5\u212a\xf8\x88", "\xc5k\xf8\x88"), "a letter behind no text");
	expect(is_after("/ws/.ENVRC", "/WS", "/.ENVRC"), "what is below a root");
	expect(is_after("/ws\u200b/x", "/ws", "/x"), "a root with something passed by at its end");
	expect(is_after("/ws/x\u200b", "/ws/x", ""), "a name with something passed by at its end");
	expect(is_after("/wsx", "/ws", "x") && is_after("/w", "/ws", NULL), "more of a name, and less");
	expect(is_after("/\ufb06", "/s", "t"), "half a letter is not the end of a name");
	expect(is_after("/x", "", "/x"), "nothing before");
	expect(pc_fold_equal("/A/\u017f", "/a/s") && !pc_fold_equal("/a/s/", "/a/s") && !pc_fold_equal("/a", "/a/s"), "equal");
	return failures != 0;
}
