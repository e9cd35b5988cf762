/*
 * Names as a volume that folds letter case compares them, as far as they fold to ASCII: what refuses a name refuses every
 * spelling of it. Everywhere, not only on such volumes: a name that differs from a protected one by this much is nobody's.
 */
#ifndef PROCAGE_LINUX_FOLD_H
#define PROCAGE_LINUX_FOLD_H

#include <stdbool.h>

/* A text on its way to be compared. */
struct pc_fold {
	const char *at;
	const char *rest; /* what is left of a letter that folds to several; empty or NULL: nothing */
};

/* The next byte, folded; 0 at the end. */
int pc_fold_next(struct pc_fold *fold);

/*
 * What of `path` comes after `prefix`, NULL if it begins otherwise. It ends where `prefix` ends: the next byte may be a slash, the
 * end, or more of a name.
 */
const char *pc_fold_after(const char *path, const char *prefix);

bool pc_fold_equal(const char *a, const char *b);

#endif
