#include "core/mask_automaton.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pc_mask_grow(void *list, size_t *room, size_t need, size_t size)
{
	size_t wanted = *room ? *room : 64;
	void *grown, *old;

	if (need <= *room)
		return 0;
	while (wanted < need)
		wanted *= 2;
	memcpy(&old, list, sizeof(old));
	grown = realloc(old, wanted * size);
	if (!grown)
		return -ENOMEM;
	memcpy(list, &grown, sizeof(grown));
	*room = wanted;
	return 0;
}

static int add_node(struct pc_automaton *a, uint32_t parent, uint8_t byte, uint32_t *made)
{
	struct pc_node *node;
	int rc = pc_mask_grow(&a->nodes, &a->room, a->count + 1, sizeof(*a->nodes));

	if (rc < 0)
		return rc;
	*made = (uint32_t)a->count++;
	node = &a->nodes[*made];
	*node = (struct pc_node) { .byte = byte };
	if (*made) {
		node->next = a->nodes[parent].first;
		node->depth = a->nodes[parent].depth + 1;
		a->nodes[parent].first = *made;
	}
	return 0;
}

int pc_automaton_add(struct pc_automaton *a, const uint8_t *text, size_t size, struct pc_pattern pattern)
{
	uint32_t at = 0, child;
	int rc = 0;

	if (a->count == 0)
		rc = add_node(a, 0, 0, &child);
	for (size_t i = 0; rc == 0 && i < size; i++) {
		child = pc_automaton_child(a, at, text[i]);
		if (!child)
			rc = add_node(a, at, text[i], &child);
		at = child;
	}
	if (rc == 0)
		rc = pc_mask_grow(&a->patterns, &a->pattern_room, a->pattern_count + 1, sizeof(*a->patterns));
	if (rc < 0 || a->nodes[at].out)
		return rc;
	pattern.length = (uint32_t)size;
	a->patterns[a->pattern_count++] = pattern;
	a->nodes[at].out = (uint32_t)a->pattern_count;
	if (size > a->longest)
		a->longest = size;
	return 0;
}

static int make_rows(struct pc_automaton *a)
{
	size_t room = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		uint32_t child, children = 0;

		for (child = a->nodes[i].first; child; child = a->nodes[child].next)
			children++;
		if (children < 4 && i)
			continue;
		if (pc_mask_grow(&a->rows, &room, a->row_count + 1, sizeof(*a->rows)) < 0)
			return -ENOMEM;
		memset(a->rows[a->row_count], 0, sizeof(*a->rows));
		for (child = a->nodes[i].first; child; child = a->nodes[child].next)
			a->rows[a->row_count][a->nodes[child].byte] = child;
		a->nodes[i].dense = (uint32_t)++a->row_count;
	}
	return 0;
}

/* Breadth first: a node's fail is shallower than it. */
static int make_fails(struct pc_automaton *a)
{
	uint32_t *queue = malloc((a->count + 1) * sizeof(*queue));
	size_t head = 0, tail = 0;

	if (!queue)
		return -ENOMEM;
	queue[tail++] = 0;
	while (head < tail) {
		uint32_t at = queue[head++], child;

		for (child = a->nodes[at].first; child; child = a->nodes[child].next) {
			struct pc_node *node = &a->nodes[child];

			node->fail = at ? pc_automaton_step(a, a->nodes[at].fail, node->byte) : 0;
			if (!node->out)
				node->out = a->nodes[node->fail].out;
			queue[tail++] = child;
		}
	}
	free(queue);
	return 0;
}

int pc_automaton_build(struct pc_automaton *a)
{
	uint32_t root;
	int rc = a->count ? 0 : add_node(a, 0, 0, &root);

	if (rc == 0)
		rc = make_rows(a);
	return rc == 0 ? make_fails(a) : rc;
}

void pc_automaton_free(struct pc_automaton *a)
{
	free(a->nodes);
	free(a->rows);
	free(a->patterns);
}
