/* Aho-Corasick: all patterns of a set, found in one pass over a text. */
#ifndef PROCAGE_MASK_AUTOMATON_H
#define PROCAGE_MASK_AUTOMATON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pc_pattern {
	uint32_t length;
	uint32_t secret;
	bool before, after; /* base64: the neighbour carries some bits of the secret */
};

struct pc_node {
	uint32_t first, next; /* children; 0: none, for the root is nobody's child */
	uint32_t dense;	      /* the row of a node with many children, from 1 */
	uint32_t fail;
	uint32_t depth;
	uint32_t out; /* the longest pattern that ends here, from 1 */
	uint8_t byte;
};

struct pc_automaton {
	struct pc_node *nodes;
	size_t count, room;
	uint32_t (*rows)[256];
	size_t row_count;
	struct pc_pattern *patterns;
	size_t pattern_count, pattern_room;
	size_t longest;
};

/* Doubles `*list` until it holds `need` of `size` bytes each. 0 or -ENOMEM. */
int pc_mask_grow(void *list, size_t *room, size_t need, size_t size);

/* Adds a pattern to an automaton that is not built; the same text twice is the first one's. 0 or -ENOMEM. */
int pc_automaton_add(struct pc_automaton *a, const uint8_t *text, size_t size, struct pc_pattern pattern);

/* After the last pattern. 0 or -ENOMEM. */
int pc_automaton_build(struct pc_automaton *a);

void pc_automaton_free(struct pc_automaton *a);

/* The two that each byte of a text passes are here, to be inlined. */
static inline uint32_t pc_automaton_child(const struct pc_automaton *a, uint32_t at, uint8_t byte)
{
	const struct pc_node *node = &a->nodes[at];
	uint32_t child;

	if (node->dense)
		return a->rows[node->dense - 1][byte];
	for (child = node->first; child; child = a->nodes[child].next)
		if (a->nodes[child].byte == byte)
			return child;
	return 0;
}

static inline uint32_t pc_automaton_step(const struct pc_automaton *a, uint32_t at, uint8_t byte)
{
	for (;;) {
		uint32_t child = pc_automaton_child(a, at, byte);

		if (child || !at)
			return child;
		at = a->nodes[at].fail;
	}
}

#endif
