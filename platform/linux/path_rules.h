/*
 * A run's Landlock rules by path, to tell what they refuse: a model of the ruleset for what is reported, never for a decision.
 */
#ifndef PROCAGE_LINUX_PATH_RULES_H
#define PROCAGE_LINUX_PATH_RULES_H

#include "../platform.h"

struct pc_path_rules;

/* Of a checked plan; `directory` is the run's own, or NULL. Returns 0 or -ENOMEM. Free with pc_path_rules_free(). */
int pc_path_rules_build(const struct pc_plan *plan, const char *directory, struct pc_path_rules **built);
void pc_path_rules_free(struct pc_path_rules *rules);

/* Those of the rights `wanted` that no rule grants at `path` or above it. Absolute, resolved, as the run sees it. */
uint64_t pc_path_rules_refused(const struct pc_path_rules *rules, const char *path, uint64_t wanted);

/* Whether the plan hides `path` or what it lies in, by Landlock. */
bool pc_path_rules_hide(const struct pc_path_rules *rules, const char *path);

#endif
