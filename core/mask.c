/* Aho-Corasick over canonical forms of a text; mask.h says what for. */
#include "core/mask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Between two digits of one secret: line breaks, indentation, colons. More of them, and it is not one text any more. */
#define MAX_SKIPPED 64

/*
 * Encoders break long lines. After fewer digits than this it is the end of a line like any other: were it not, the last word of
 * most lines would be kept back until the next one comes.
 */
#define BASE64_LINE 32
#define HEX_LINE    16

/* A pass works on so much at once: what it finds meanwhile is bounded by that. */
#define SLICE 65536

/* ---- Automata ------------------------------------------------------------------------------------------------------------ */

struct pattern {
	uint32_t length;
	uint32_t secret;
	bool before, after; /* base64: the neighbour carries some bits of the secret */
};

struct node {
	uint32_t first, next; /* children; 0: none, for the root is nobody's child */
	uint32_t dense;	      /* the row of a node with many children, from 1 */
	uint32_t fail;
	uint32_t depth;
	uint32_t out; /* the longest pattern that ends here, from 1 */
	uint8_t byte;
};

struct automaton {
	struct node *nodes;
	size_t count, room;
	uint32_t (*rows)[256];
	size_t row_count;
	struct pattern *patterns;
	size_t pattern_count, pattern_room;
	size_t longest;
};

/* Doubles `*list` until it holds `need` of `size` bytes each. */
static int grow(void *list, size_t *room, size_t need, size_t size)
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

static uint32_t child_of(const struct automaton *a, uint32_t at, uint8_t byte)
{
	const struct node *node = &a->nodes[at];
	uint32_t child;

	if (node->dense)
		return a->rows[node->dense - 1][byte];
	for (child = node->first; child; child = a->nodes[child].next)
		if (a->nodes[child].byte == byte)
			return child;
	return 0;
}

static uint32_t step(const struct automaton *a, uint32_t at, uint8_t byte)
{
	for (;;) {
		uint32_t child = child_of(a, at, byte);

		if (child || !at)
			return child;
		at = a->nodes[at].fail;
	}
}

static int add_node(struct automaton *a, uint32_t parent, uint8_t byte, uint32_t *made)
{
	struct node *node;
	int rc = grow(&a->nodes, &a->room, a->count + 1, sizeof(*a->nodes));

	if (rc < 0)
		return rc;
	*made = (uint32_t)a->count++;
	node = &a->nodes[*made];
	*node = (struct node) { .byte = byte };
	if (*made) {
		node->next = a->nodes[parent].first;
		node->depth = a->nodes[parent].depth + 1;
		a->nodes[parent].first = *made;
	}
	return 0;
}

/* The same text of two secrets is the first one's. */
static int add_pattern(struct automaton *a, const uint8_t *text, size_t size, struct pattern pattern)
{
	uint32_t at = 0, child;
	int rc = 0;

	if (a->count == 0)
		rc = add_node(a, 0, 0, &child);
	for (size_t i = 0; rc == 0 && i < size; i++) {
		child = child_of(a, at, text[i]);
		if (!child)
			rc = add_node(a, at, text[i], &child);
		at = child;
	}
	if (rc == 0)
		rc = grow(&a->patterns, &a->pattern_room, a->pattern_count + 1, sizeof(*a->patterns));
	if (rc < 0 || a->nodes[at].out)
		return rc;
	pattern.length = (uint32_t)size;
	a->patterns[a->pattern_count++] = pattern;
	a->nodes[at].out = (uint32_t)a->pattern_count;
	if (size > a->longest)
		a->longest = size;
	return 0;
}

static int make_rows(struct automaton *a)
{
	size_t room = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		uint32_t child, children = 0;

		for (child = a->nodes[i].first; child; child = a->nodes[child].next)
			children++;
		if (children < 4 && i)
			continue;
		if (grow(&a->rows, &room, a->row_count + 1, sizeof(*a->rows)) < 0)
			return -ENOMEM;
		memset(a->rows[a->row_count], 0, sizeof(*a->rows));
		for (child = a->nodes[i].first; child; child = a->nodes[child].next)
			a->rows[a->row_count][a->nodes[child].byte] = child;
		a->nodes[i].dense = (uint32_t)++a->row_count;
	}
	return 0;
}

/* Breadth first: a node's fail is shallower than it. */
static int make_fails(struct automaton *a)
{
	uint32_t *queue = malloc((a->count + 1) * sizeof(*queue));
	size_t head = 0, tail = 0;

	if (!queue)
		return -ENOMEM;
	queue[tail++] = 0;
	while (head < tail) {
		uint32_t at = queue[head++], child;

		for (child = a->nodes[at].first; child; child = a->nodes[child].next) {
			struct node *node = &a->nodes[child];

			node->fail = at ? step(a, a->nodes[at].fail, node->byte) : 0;
			if (!node->out)
				node->out = a->nodes[node->fail].out;
			queue[tail++] = child;
		}
	}
	free(queue);
	return 0;
}

static int build(struct automaton *a)
{
	uint32_t root;
	int rc = a->count ? 0 : add_node(a, 0, 0, &root);

	if (rc == 0)
		rc = make_rows(a);
	return rc == 0 ? make_fails(a) : rc;
}

static void free_automaton(struct automaton *a)
{
	free(a->nodes);
	free(a->rows);
	free(a->patterns);
}

/* ---- Secrets and their spellings ----------------------------------------------------------------------------------------- */

struct secret {
	char *shown;
	size_t size;
};

struct pc_mask {
	uint8_t base64_digits[256], hex_digits[256]; /* of each byte: its digit, or what it is */
	struct automaton plain, base64, hex;
	struct secret *secrets;
	size_t count, room, bytes;
	bool is_built;
};

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char hex_digits[] = "0123456789abcdef";

/* A form writes %20 or + for a space: one letter here, in the secret and in the text. */
static uint8_t plain_of(uint8_t byte)
{
	return byte == ' ' ? '+' : byte;
}

static int add_plain(struct pc_mask *mask, const uint8_t *text, size_t size, uint8_t *room)
{
	for (size_t i = 0; i < size; i++)
		room[i] = plain_of(text[i]);
	return add_pattern(&mask->plain, room, size, (struct pattern) { .secret = (uint32_t)mask->count });
}

static int add_hex(struct pc_mask *mask, const uint8_t *text, size_t size, uint8_t *room)
{
	for (size_t i = 0; i < size; i++) {
		room[2 * i] = (uint8_t)hex_digits[text[i] >> 4];
		room[2 * i + 1] = (uint8_t)hex_digits[text[i] & 15];
	}
	return add_pattern(&mask->hex, room, 2 * size, (struct pattern) { .secret = (uint32_t)mask->count });
}

/* Bit `at` of the text, counted from its first byte's highest. */
static unsigned int bit_of(const uint8_t *text, size_t at)
{
	return text[at / 8] >> (7 - at % 8) & 1U;
}

/*
 * What follows `lead` bytes of other text in the same base64: the digits that the secret alone decides. The digits at its ends
 * may carry bits of its neighbours too.
 */
static int add_base64(struct pc_mask *mask, const uint8_t *text, size_t size, size_t lead, uint8_t *room)
{
	size_t first = (8 * lead + 5) / 6, end = 8 * (lead + size) / 6;
	struct pattern pattern = {
		.secret = (uint32_t)mask->count,
		.before = 8 * lead % 6 != 0,
		.after = 8 * (lead + size) % 6 != 0,
	};

	for (size_t digit = first; digit < end; digit++) {
		unsigned int value = 0;

		for (size_t i = 0; i < 6; i++)
			value = value << 1 | bit_of(text, 6 * digit + i - 8 * lead);
		room[digit - first] = (uint8_t)base64_digits[value];
	}
	return add_pattern(&mask->base64, room, end - first, pattern);
}

static int hex_value(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

/* What is no digit. */
enum { OTHER, SKIPPED, LINE_END };

/* A digit in its one spelling, or what it is. */
static uint8_t base64_digit(uint8_t byte)
{
	if ((byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9'))
		return byte;
	if (byte == '+' || byte == '-')
		return '+';
	if (byte == '/' || byte == '_')
		return '/';
	if (byte == '\n' || byte == '\r')
		return LINE_END;
	return byte == ' ' || byte == '\t' ? SKIPPED : OTHER;
}

static uint8_t hex_digit(uint8_t byte)
{
	int value = hex_value(byte);

	if (value >= 0)
		return (uint8_t)hex_digits[value];
	if (byte == '\n' || byte == '\r')
		return LINE_END;
	return byte && strchr("\t :-,\\xX%", byte) ? SKIPPED : OTHER;
}

struct pc_mask *pc_mask_new(void)
{
	struct pc_mask *mask = calloc(1, sizeof(*mask));

	for (unsigned int byte = 0; mask && byte < 256; byte++) {
		mask->base64_digits[byte] = base64_digit((uint8_t)byte);
		mask->hex_digits[byte] = hex_digit((uint8_t)byte);
	}
	return mask;
}

void pc_mask_free(struct pc_mask *mask)
{
	if (!mask)
		return;
	for (size_t i = 0; i < mask->count; i++)
		free(mask->secrets[i].shown);
	free(mask->secrets);
	free_automaton(&mask->plain);
	free_automaton(&mask->base64);
	free_automaton(&mask->hex);
	free(mask);
}

int pc_mask_add(struct pc_mask *mask, const char *secret, size_t size, const char *shown, size_t shown_size)
{
	const uint8_t *text = (const uint8_t *)secret;
	uint8_t *room;
	char *copy;
	int rc;

	if (size < PC_MASK_MIN_BYTES || mask->is_built)
		return -EINVAL;
	if (mask->bytes + size > PC_MASK_MAX_BYTES)
		return -E2BIG;
	rc = grow(&mask->secrets, &mask->room, mask->count + 1, sizeof(*mask->secrets));
	if (rc < 0)
		return rc;
	room = malloc(2 * size);
	copy = malloc(shown_size + 1);
	if (!room || !copy) {
		free(room);
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, shown, shown_size);
	rc = add_plain(mask, text, size, room);
	if (rc == 0)
		rc = add_hex(mask, text, size, room);
	for (size_t lead = 0; rc == 0 && lead < 3; lead++)
		rc = add_base64(mask, text, size, lead, room);
	free(room);
	/* What was added before it failed names this secret: it stays. */
	mask->secrets[mask->count++] = (struct secret) { .shown = copy, .size = shown_size };
	mask->bytes += size;
	return rc;
}

int pc_mask_build(struct pc_mask *mask)
{
	int rc = build(&mask->plain);

	if (rc == 0)
		rc = build(&mask->base64);
	if (rc == 0)
		rc = build(&mask->hex);
	mask->is_built = rc == 0;
	return rc;
}

size_t pc_mask_longest(const struct pc_mask *mask)
{
	/* %41 and \u0041 are the longest spellings of a byte. */
	return 6 * mask->plain.longest;
}

/* ---- Streams ------------------------------------------------------------------------------------------------------------- */

/* How a text is read: as it is, with %41, with \n and \u0041, as base64, as hexadecimal. */
enum { RAW, PERCENT, ESCAPED, BASE64, HEX, LANES };

struct span {
	uint64_t start, end;
	uint64_t longest; /* of the matches in it: it has the name */
	uint32_t secret;
};

struct lane {
	const struct automaton *automaton;
	uint64_t *starts;  /* of the last characters, a ring */
	uint64_t mask;	   /* its size less one */
	uint64_t count;	   /* characters so far */
	uint64_t run;	   /* those since the last that no secret has */
	bool looks_back;   /* the character before a match may carry bits of it */
	unsigned int line; /* so many digits make a line that may go on in the next */
	uint64_t extends;  /* 1 + the end of a match whose next character belongs to it */
	uint32_t extends_secret;
	uint64_t pending; /* 1 + the start of an escape that is not complete */
	uint32_t node;
	unsigned int skipped;
	uint8_t held[6]; /* its bytes */
	unsigned int held_size;
};

struct pc_mask_stream {
	const struct pc_mask *mask;
	struct lane lanes[LANES];
	struct span *spans; /* sorted, none overlapping another */
	size_t span_count, span_room;
	struct span *found;
	size_t found_count, found_room, found_before; /* those of the lanes before this one */
	char *text;				      /* from `base` on: what has not been shown */
	size_t text_size, text_room;
	uint64_t base, position;
	char *out;
	size_t out_size, out_room;
	bool is_out_of_memory;
};

struct pc_mask_stream *pc_mask_stream_new(const struct pc_mask *mask)
{
	const struct automaton *automata[LANES] = { &mask->plain, &mask->plain, &mask->plain, &mask->base64, &mask->hex };
	struct pc_mask_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->mask = mask;
	for (size_t i = 0; i < LANES; i++) {
		struct lane *lane = &stream->lanes[i];
		size_t size = 4;

		while (size < automata[i]->longest + 2)
			size *= 2;
		lane->automaton = automata[i];
		lane->mask = size - 1;
		lane->looks_back = i == BASE64;
		lane->line = i == BASE64 ? BASE64_LINE : HEX_LINE;
		lane->starts = calloc(size, sizeof(*lane->starts));
		if (!lane->starts) {
			pc_mask_stream_free(stream);
			return NULL;
		}
	}
	return stream;
}

void pc_mask_stream_free(struct pc_mask_stream *stream)
{
	if (!stream)
		return;
	for (size_t i = 0; i < LANES; i++)
		free(stream->lanes[i].starts);
	free(stream->spans);
	free(stream->found);
	free(stream->text);
	free(stream->out);
	free(stream);
}

/* Takes one span into another that it overlaps. */
static void join(struct span *span, const struct span *other)
{
	if (other->longest > span->longest) {
		span->longest = other->longest;
		span->secret = other->secret;
	}
	if (other->start < span->start)
		span->start = other->start;
	if (other->end > span->end)
		span->end = other->end;
}

/* A lane finds ends in their order: what overlaps is the last ones. */
static void found(struct pc_mask_stream *stream, uint64_t start, uint64_t end, uint32_t secret)
{
	struct span span = { .start = start, .end = end, .longest = end - start, .secret = secret };

	while (stream->found_count > stream->found_before && stream->found[stream->found_count - 1].end > start)
		join(&span, &stream->found[--stream->found_count]);
	if (grow(&stream->found, &stream->found_room, stream->found_count + 1, sizeof(*stream->found)) < 0) {
		stream->is_out_of_memory = true;
		return;
	}
	stream->found[stream->found_count++] = span;
}

/* A character of the canonical text, and where it stands in the real one. */
static void accept(struct pc_mask_stream *stream, struct lane *lane, uint8_t byte, uint64_t start, uint64_t end)
{
	uint32_t out;

	lane->starts[lane->count++ & lane->mask] = start;
	lane->run++;
	lane->skipped = 0;
	if (lane->extends) {
		found(stream, lane->extends - 1, end, lane->extends_secret);
		lane->extends = 0;
	}
	lane->node = step(lane->automaton, lane->node, byte);
	out = lane->automaton->nodes[lane->node].out;
	if (out) {
		const struct pattern *pattern = &lane->automaton->patterns[out - 1];
		uint64_t length = pattern->length;

		if (pattern->before && lane->run > length)
			length++;
		found(stream, lane->starts[(lane->count - length) & lane->mask], end, pattern->secret);
		if (pattern->after) {
			lane->extends = end;
			lane->extends_secret = pattern->secret;
		}
	}
}

/* A character that no spelling of a secret has. */
static void reset(struct lane *lane)
{
	lane->node = 0;
	lane->run = 0;
	lane->skipped = 0;
	lane->extends = 0;
}

static void skip(struct lane *lane, bool is_line_end)
{
	if (++lane->skipped > MAX_SKIPPED || (is_line_end && lane->run < lane->line))
		reset(lane);
}

static void read_raw(struct pc_mask_stream *stream, struct lane *lane, const uint8_t *data, size_t size)
{
	const struct automaton *a = lane->automaton;

	for (size_t i = 0; i < size; i++) {
		uint8_t byte = plain_of(data[i]);

		/* Most text begins no secret. */
		if (!lane->node && !a->rows[0][byte])
			continue;
		accept(stream, lane, byte, stream->position + i, stream->position + i + 1);
	}
}

/* An escape that is none is the characters that it has. */
static void give_up_escape(struct pc_mask_stream *stream, struct lane *lane)
{
	uint64_t start = lane->pending - 1;

	for (unsigned int i = 0; i < lane->held_size; i++)
		accept(stream, lane, plain_of(lane->held[i]), start + i, start + i + 1);
	lane->pending = 0;
	lane->held_size = 0;
}

static void hold(struct lane *lane, uint8_t byte, uint64_t at)
{
	if (!lane->held_size)
		lane->pending = at + 1;
	lane->held[lane->held_size++] = byte;
}

static void read_percent(struct pc_mask_stream *stream, struct lane *lane, const uint8_t *data, size_t size)
{
	const struct automaton *a = lane->automaton;

	for (size_t i = 0; i < size; i++) {
		uint64_t at = stream->position + i;
		uint8_t byte = data[i];

		if (lane->held_size && hex_value(byte) < 0)
			give_up_escape(stream, lane);
		if (lane->held_size == 2) {
			uint8_t value = (uint8_t)(hex_value(lane->held[1]) << 4 | hex_value(byte));

			accept(stream, lane, plain_of(value), lane->pending - 1, at + 1);
			lane->pending = 0;
			lane->held_size = 0;
		} else if (lane->held_size || byte == '%') {
			hold(lane, byte, at);
		} else if (lane->node || a->rows[0][plain_of(byte)]) {
			accept(stream, lane, plain_of(byte), at, at + 1);
		}
	}
}

/* The byte that a backslash and this letter stand for, in JSON, in C and in a shell. */
static uint8_t escaped_of(uint8_t letter)
{
	static const char letters[] = "nrtbfv", bytes[] = "\n\r\t\b\f\v";
	const char *found_at = letter ? strchr(letters, letter) : NULL;

	return found_at ? (uint8_t)bytes[found_at - letters] : letter;
}

/* \u0041, with its last digit. */
static void accept_unicode(struct pc_mask_stream *stream, struct lane *lane, uint8_t last, uint64_t end)
{
	uint64_t start = lane->pending - 1;
	unsigned int code = 0;

	for (unsigned int i = 2; i < 5; i++)
		code = code << 4 | (unsigned int)hex_value(lane->held[i]);
	code = code << 4 | (unsigned int)hex_value(last);
	if (code < 0x80) {
		accept(stream, lane, plain_of((uint8_t)code), start, end);
	} else if (code < 0x800) {
		accept(stream, lane, (uint8_t)(0xc0 | code >> 6), start, end);
		accept(stream, lane, (uint8_t)(0x80 | (code & 0x3f)), start, end);
	} else {
		accept(stream, lane, (uint8_t)(0xe0 | code >> 12), start, end);
		accept(stream, lane, (uint8_t)(0x80 | (code >> 6 & 0x3f)), start, end);
		accept(stream, lane, (uint8_t)(0x80 | (code & 0x3f)), start, end);
	}
	lane->pending = 0;
	lane->held_size = 0;
}

static void read_escaped(struct pc_mask_stream *stream, struct lane *lane, const uint8_t *data, size_t size)
{
	const struct automaton *a = lane->automaton;

	for (size_t i = 0; i < size; i++) {
		uint64_t at = stream->position + i;
		uint8_t byte = data[i];

		if (lane->held_size >= 2 && hex_value(byte) < 0)
			give_up_escape(stream, lane);
		if (lane->held_size == 5) {
			accept_unicode(stream, lane, byte, at + 1);
		} else if (lane->held_size == 1 && byte != 'u') {
			accept(stream, lane, plain_of(escaped_of(byte)), lane->pending - 1, at + 1);
			lane->pending = 0;
			lane->held_size = 0;
		} else if (lane->held_size || byte == '\\') {
			hold(lane, byte, at);
		} else if (lane->node || a->rows[0][plain_of(byte)]) {
			accept(stream, lane, plain_of(byte), at, at + 1);
		}
	}
}

static void read_digit(struct pc_mask_stream *stream, struct lane *lane, uint8_t digit, uint64_t start, uint64_t end)
{
	if (digit > LINE_END)
		accept(stream, lane, digit, start, end);
	else if (digit == OTHER)
		reset(lane);
	else if (lane->run)
		skip(lane, digit == LINE_END);
}

/* White space in base64 is the end of a line and the indentation of the next. */
static void read_base64_digit(struct pc_mask_stream *stream, struct lane *lane, uint8_t byte, uint64_t start, uint64_t end)
{
	uint8_t digit = stream->mask->base64_digits[byte];

	read_digit(stream, lane, digit == SKIPPED && !lane->skipped ? OTHER : digit, start, end);
}

/* In an address + and / are %2B and %2F, in JSON / may be \/ and a line break is \n. */
static void read_base64(struct pc_mask_stream *stream, struct lane *lane, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint64_t at = stream->position + i;
		uint8_t byte = data[i];

		if (lane->held_size && lane->held[0] == '\\') {
			uint8_t value = escaped_of(byte);

			read_base64_digit(stream, lane, value, lane->pending - 1, at + 1);
			lane->held_size = 0;
			lane->pending = 0;
		} else if (lane->held_size && hex_value(byte) < 0) {
			reset(lane);
			lane->held_size = 0;
			lane->pending = 0;
			i--; /* read again, as what it is */
		} else if (lane->held_size == 2) {
			uint8_t value = (uint8_t)(hex_value(lane->held[1]) << 4 | hex_value(byte));

			read_base64_digit(stream, lane, value, lane->pending - 1, at + 1);
			lane->held_size = 0;
			lane->pending = 0;
		} else if (lane->held_size || byte == '%' || byte == '\\') {
			hold(lane, byte, at);
		} else {
			read_base64_digit(stream, lane, byte, at, at + 1);
		}
	}
}

/* de ad, de:ad, \xde\xad, and broken lines: what stands between digits says nothing. */
static void read_hex(struct pc_mask_stream *stream, struct lane *lane, const uint8_t *data, size_t size)
{
	const uint8_t *digits = stream->mask->hex_digits;

	for (size_t i = 0; i < size; i++)
		read_digit(stream, lane, digits[data[i]], stream->position + i, stream->position + i + 1);
}

static const struct {
	void (*read)(struct pc_mask_stream *, struct lane *, const uint8_t *, size_t);
} readers[LANES] = {
	[RAW] = { read_raw },	    [PERCENT] = { read_percent }, [ESCAPED] = { read_escaped },
	[BASE64] = { read_base64 }, [HEX] = { read_hex },
};

/* Where the earliest text stands that a later byte could make a secret, in this lane. */
static uint64_t alive_from(const struct lane *lane, uint64_t position)
{
	uint64_t depth = lane->automaton->nodes[lane->node].depth, from = position;

	if (lane->pending)
		from = lane->pending - 1;
	if (lane->extends && lane->extends - 1 < from)
		from = lane->extends - 1;
	if (lane->looks_back && lane->run > depth)
		depth++;
	if (depth) {
		uint64_t start = lane->starts[(lane->count - depth) & lane->mask];
		if (start < from)
			from = start;
	}
	return from;
}

static int by_start(const void *a, const void *b)
{
	const struct span *one = a, *other = b;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	return one->end > other->end ? -1 : one->end < other->end;
}

/* Those of the last slice join those before; what overlaps becomes one, with the name of the longest. */
static int merge(struct pc_mask_stream *stream)
{
	size_t total = stream->span_count + stream->found_count, kept = 0;

	if (!stream->found_count)
		return 0;
	if (grow(&stream->spans, &stream->span_room, total, sizeof(*stream->spans)) < 0)
		return -ENOMEM;
	memcpy(stream->spans + stream->span_count, stream->found, stream->found_count * sizeof(*stream->spans));
	qsort(stream->spans, total, sizeof(*stream->spans), by_start);
	for (size_t i = 0; i < total; i++) {
		struct span next = stream->spans[i];

		if (kept && next.start < stream->spans[kept - 1].end)
			join(&stream->spans[kept - 1], &next);
		else
			stream->spans[kept++] = next;
	}
	stream->span_count = kept;
	stream->found_count = 0;
	stream->found_before = 0;
	return 0;
}

static int show(struct pc_mask_stream *stream, const char *data, size_t size)
{
	if (grow(&stream->out, &stream->out_room, stream->out_size + size, 1) < 0)
		return -ENOMEM;
	if (size)
		memcpy(stream->out + stream->out_size, data, size);
	stream->out_size += size;
	return 0;
}

static int show_text(struct pc_mask_stream *stream, uint64_t from, uint64_t to)
{
	return from < to ? show(stream, stream->text + (from - stream->base), (size_t)(to - from)) : 0;
}

/* Shows everything before `end`, and the spans that end there. What is left of a longer one is dropped: it is never shown. */
static int show_until(struct pc_mask_stream *stream, uint64_t end)
{
	uint64_t at = stream->base;
	size_t done = 0;
	int rc = 0;

	while (rc == 0 && done < stream->span_count && stream->spans[done].start < end) {
		const struct span *span = &stream->spans[done];
		const struct secret *secret = &stream->mask->secrets[span->secret];

		rc = show_text(stream, at, span->start);
		if (span->start > at)
			at = span->start;
		if (span->end > end) {
			at = end;
			break;
		}
		if (rc == 0)
			rc = show(stream, secret->shown, secret->size);
		at = span->end > at ? span->end : at;
		done++;
	}
	if (rc == 0)
		rc = show_text(stream, at, end);
	if (rc < 0)
		return rc;
	stream->span_count -= done;
	if (done)
		memmove(stream->spans, stream->spans + done, stream->span_count * sizeof(*stream->spans));
	if (end > stream->base) {
		stream->text_size -= (size_t)(end - stream->base);
		memmove(stream->text, stream->text + (end - stream->base), stream->text_size);
	}
	stream->base = end;
	return 0;
}

/* The end of what no later byte can make part of a secret. A span whose end may yet move is not shown: `end` is below it. */
static uint64_t settled(const struct pc_mask_stream *stream)
{
	uint64_t end = stream->position;

	for (size_t i = 0; i < LANES; i++) {
		uint64_t from = alive_from(&stream->lanes[i], stream->position);

		if (from < end)
			end = from;
	}
	return end > stream->base ? end : stream->base;
}

static int feed_slice(struct pc_mask_stream *stream, const uint8_t *data, size_t size)
{
	int rc = grow(&stream->text, &stream->text_room, stream->text_size + size, 1);

	if (rc < 0)
		return rc;
	memcpy(stream->text + stream->text_size, data, size);
	stream->text_size += size;
	for (size_t i = 0; i < LANES; i++) {
		stream->found_before = stream->found_count;
		readers[i].read(stream, &stream->lanes[i], data, size);
	}
	stream->position += size;
	if (stream->is_out_of_memory)
		return -ENOMEM;
	rc = merge(stream);
	return rc < 0 ? rc : show_until(stream, settled(stream));
}

int pc_mask_feed(struct pc_mask_stream *stream, const char *data, size_t size, const char **out, size_t *out_size)
{
	stream->out_size = 0;
	for (size_t at = 0; at < size; at += SLICE) {
		size_t slice = size - at < SLICE ? size - at : SLICE;
		int rc = feed_slice(stream, (const uint8_t *)data + at, slice);

		if (rc < 0)
			return rc;
	}
	*out = stream->out;
	*out_size = stream->out_size;
	return 0;
}

/* The secret that a node leads to: any of those that begin as it does. */
static uint32_t some_secret(const struct automaton *a, uint32_t at)
{
	while (!a->nodes[at].out || a->patterns[a->nodes[at].out - 1].length < a->nodes[at].depth)
		at = a->nodes[at].first;
	return a->patterns[a->nodes[at].out - 1].secret;
}

/* The beginning of a secret that a cut leaves. Less than a secret's least length says little of it. */
static void find_beginnings(struct pc_mask_stream *stream)
{
	static const uint64_t least[LANES] = { 8, 8, 8, 11, 16 };

	for (size_t i = 0; i < LANES; i++) {
		struct lane *lane = &stream->lanes[i];
		uint32_t depth = lane->automaton->nodes[lane->node].depth;

		if (depth >= least[i])
			found(stream, lane->starts[(lane->count - depth) & lane->mask], stream->position,
			      some_secret(lane->automaton, lane->node));
		stream->found_before = stream->found_count;
	}
}

int pc_mask_finish(struct pc_mask_stream *stream, int is_cut, const char **out, size_t *out_size)
{
	int rc;

	stream->out_size = 0;
	for (size_t i = 0; i < LANES; i++)
		if (stream->lanes[i].pending && i != BASE64)
			give_up_escape(stream, &stream->lanes[i]);
	if (is_cut)
		find_beginnings(stream);
	rc = stream->is_out_of_memory ? -ENOMEM : merge(stream);
	if (rc == 0)
		rc = show_until(stream, stream->position);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < LANES; i++) {
		reset(&stream->lanes[i]);
		stream->lanes[i].pending = 0;
		stream->lanes[i].held_size = 0;
	}
	*out = stream->out;
	*out_size = stream->out_size;
	return 0;
}
