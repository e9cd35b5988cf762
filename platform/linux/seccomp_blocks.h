/* Calls that a filter judges by their arguments. */
#ifndef PROCAGE_LINUX_SECCOMP_BLOCKS_H
#define PROCAGE_LINUX_SECCOMP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

struct pc_filter_spec;
struct program;

struct pc_judged_call {
	int number;
	int when; /* seccomp_blocks.c knows: pc_is_judged */
	/* Writes the call's block: what it does once the number is known. It returns on every path. */
	void (*write)(struct program *p, const struct pc_filter_spec *spec);
};

const struct pc_judged_call *pc_judged_calls(size_t *count);

bool pc_is_judged(const struct pc_judged_call *call, const struct pc_filter_spec *spec);

#endif
