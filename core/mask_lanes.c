/* The lanes: a text read in each way that a program spells a secret; mask.h says more. */
#include "core/mask_parts.h"

#include <errno.h>
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

/* A lane finds ends in their order: what overlaps is the last ones. */
static void found(struct pc_mask_stream *stream, uint64_t start, uint64_t end, uint32_t secret)
{
	struct pc_span span = { .start = start, .end = end, .longest = end - start, .secret = secret };

	while (stream->found_count > stream->found_before && stream->found[stream->found_count - 1].end > start)
		pc_mask_join(&span, &stream->found[--stream->found_count]);
	if (pc_mask_grow(&stream->found, &stream->found_room, stream->found_count + 1, sizeof(*stream->found)) < 0) {
		stream->is_out_of_memory = true;
		return;
	}
	stream->found[stream->found_count++] = span;
}

/* A character of the canonical text, and where it stands in the real one. */
static void accept(struct pc_mask_stream *stream, struct pc_lane *lane, uint8_t byte, uint64_t start, uint64_t end)
{
	uint32_t out;

	lane->starts[lane->count++ & lane->mask] = start;
	lane->run++;
	lane->skipped = 0;
	if (lane->extends) {
		found(stream, lane->extends - 1, end, lane->extends_secret);
		lane->extends = 0;
	}
	lane->node = pc_automaton_step(lane->automaton, lane->node, byte);
	out = lane->automaton->nodes[lane->node].out;
	if (out) {
		const struct pc_pattern *pattern = &lane->automaton->patterns[out - 1];
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
static void reset(struct pc_lane *lane)
{
	lane->node = 0;
	lane->run = 0;
	lane->skipped = 0;
	lane->extends = 0;
}

static void skip(struct pc_lane *lane, bool is_line_end)
{
	if (++lane->skipped > MAX_SKIPPED || (is_line_end && lane->run < lane->line))
		reset(lane);
}

static void read_raw(struct pc_mask_stream *stream, struct pc_lane *lane, const uint8_t *data, size_t size)
{
	const struct pc_automaton *a = lane->automaton;

	for (size_t i = 0; i < size; i++) {
		uint8_t byte = pc_mask_plain_of(data[i]);

		/* Most text begins no secret. */
		if (!lane->node && !a->rows[0][byte])
			continue;
		accept(stream, lane, byte, stream->position + i, stream->position + i + 1);
	}
}

/* An escape that is none is the characters that it has. */
static void give_up_escape(struct pc_mask_stream *stream, struct pc_lane *lane)
{
	uint64_t start = lane->pending - 1;

	for (unsigned int i = 0; i < lane->held_size; i++)
		accept(stream, lane, pc_mask_plain_of(lane->held[i]), start + i, start + i + 1);
	lane->pending = 0;
	lane->held_size = 0;
}

static void hold(struct pc_lane *lane, uint8_t byte, uint64_t at)
{
	if (!lane->held_size)
		lane->pending = at + 1;
	lane->held[lane->held_size++] = byte;
}

static void read_percent(struct pc_mask_stream *stream, struct pc_lane *lane, const uint8_t *data, size_t size)
{
	const struct pc_automaton *a = lane->automaton;

	for (size_t i = 0; i < size; i++) {
		uint64_t at = stream->position + i;
		uint8_t byte = data[i];

		if (lane->held_size && pc_mask_hex_value(byte) < 0)
			give_up_escape(stream, lane);
		if (lane->held_size == 2) {
			uint8_t value = (uint8_t)(pc_mask_hex_value(lane->held[1]) << 4 | pc_mask_hex_value(byte));

			accept(stream, lane, pc_mask_plain_of(value), lane->pending - 1, at + 1);
			lane->pending = 0;
			lane->held_size = 0;
		} else if (lane->held_size || byte == '%') {
			hold(lane, byte, at);
		} else if (lane->node || a->rows[0][pc_mask_plain_of(byte)]) {
			accept(stream, lane, pc_mask_plain_of(byte), at, at + 1);
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
static void accept_unicode(struct pc_mask_stream *stream, struct pc_lane *lane, uint8_t last, uint64_t end)
{
	uint64_t start = lane->pending - 1;
	unsigned int code = 0;

	for (unsigned int i = 2; i < 5; i++)
		code = code << 4 | (unsigned int)pc_mask_hex_value(lane->held[i]);
	code = code << 4 | (unsigned int)pc_mask_hex_value(last);
	if (code < 0x80) {
		accept(stream, lane, pc_mask_plain_of((uint8_t)code), start, end);
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

static void read_escaped(struct pc_mask_stream *stream, struct pc_lane *lane, const uint8_t *data, size_t size)
{
	const struct pc_automaton *a = lane->automaton;

	for (size_t i = 0; i < size; i++) {
		uint64_t at = stream->position + i;
		uint8_t byte = data[i];

		if (lane->held_size >= 2 && pc_mask_hex_value(byte) < 0)
			give_up_escape(stream, lane);
		if (lane->held_size == 5) {
			accept_unicode(stream, lane, byte, at + 1);
		} else if (lane->held_size == 1 && byte != 'u') {
			accept(stream, lane, pc_mask_plain_of(escaped_of(byte)), lane->pending - 1, at + 1);
			lane->pending = 0;
			lane->held_size = 0;
		} else if (lane->held_size || byte == '\\') {
			hold(lane, byte, at);
		} else if (lane->node || a->rows[0][pc_mask_plain_of(byte)]) {
			accept(stream, lane, pc_mask_plain_of(byte), at, at + 1);
		}
	}
}

static void read_digit(struct pc_mask_stream *stream, struct pc_lane *lane, uint8_t digit, uint64_t start, uint64_t end)
{
	if (digit > PC_DIGIT_LINE_END)
		accept(stream, lane, digit, start, end);
	else if (digit == PC_NO_DIGIT)
		reset(lane);
	else if (lane->run)
		skip(lane, digit == PC_DIGIT_LINE_END);
}

/* White space in base64 is the end of a line and the indentation of the next. */
static void read_base64_digit(struct pc_mask_stream *stream, struct pc_lane *lane, uint8_t byte, uint64_t start, uint64_t end)
{
	uint8_t digit = stream->mask->base64_digits[byte];

	read_digit(stream, lane, digit == PC_DIGIT_SKIPPED && !lane->skipped ? PC_NO_DIGIT : digit, start, end);
}

/* In an address + and / are %2B and %2F, in JSON / may be \/ and a line break is \n. */
static void read_base64(struct pc_mask_stream *stream, struct pc_lane *lane, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint64_t at = stream->position + i;
		uint8_t byte = data[i];

		if (lane->held_size && lane->held[0] == '\\') {
			uint8_t value = escaped_of(byte);

			read_base64_digit(stream, lane, value, lane->pending - 1, at + 1);
			lane->held_size = 0;
			lane->pending = 0;
		} else if (lane->held_size && pc_mask_hex_value(byte) < 0) {
			reset(lane);
			lane->held_size = 0;
			lane->pending = 0;
			i--; /* read again, as what it is */
		} else if (lane->held_size == 2) {
			uint8_t value = (uint8_t)(pc_mask_hex_value(lane->held[1]) << 4 | pc_mask_hex_value(byte));

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
static void read_hex(struct pc_mask_stream *stream, struct pc_lane *lane, const uint8_t *data, size_t size)
{
	const uint8_t *digits = stream->mask->hex_digits;

	for (size_t i = 0; i < size; i++)
		read_digit(stream, lane, digits[data[i]], stream->position + i, stream->position + i + 1);
}

static const struct {
	void (*read)(struct pc_mask_stream *, struct pc_lane *, const uint8_t *, size_t);
} readers[PC_LANES] = {
	[PC_LANE_RAW] = { read_raw },	    [PC_LANE_PERCENT] = { read_percent }, [PC_LANE_ESCAPED] = { read_escaped },
	[PC_LANE_BASE64] = { read_base64 }, [PC_LANE_HEX] = { read_hex },
};

/* Where the earliest text stands that a later byte could make a secret, in this lane. */
static uint64_t alive_from(const struct pc_lane *lane, uint64_t position)
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

/* The secret that a node leads to: any of those that begin as it does. */
static uint32_t some_secret(const struct pc_automaton *a, uint32_t at)
{
	while (!a->nodes[at].out || a->patterns[a->nodes[at].out - 1].length < a->nodes[at].depth)
		at = a->nodes[at].first;
	return a->patterns[a->nodes[at].out - 1].secret;
}

/* The beginning of a secret that a cut leaves. Less than a secret's least length says little of it. */
static void find_beginnings(struct pc_mask_stream *stream)
{
	static const uint64_t least[PC_LANES] = { 8, 8, 8, 11, 16 };

	for (size_t i = 0; i < PC_LANES; i++) {
		struct pc_lane *lane = &stream->lanes[i];
		uint32_t depth = lane->automaton->nodes[lane->node].depth;

		if (depth >= least[i])
			found(stream, lane->starts[(lane->count - depth) & lane->mask], stream->position,
			      some_secret(lane->automaton, lane->node));
		stream->found_before = stream->found_count;
	}
}

int pc_mask_lanes_init(struct pc_mask_stream *stream)
{
	const struct pc_mask *mask = stream->mask;
	const struct pc_automaton *automata[PC_LANES] = { &mask->plain, &mask->plain, &mask->plain, &mask->base64, &mask->hex };

	for (size_t i = 0; i < PC_LANES; i++) {
		struct pc_lane *lane = &stream->lanes[i];
		size_t size = 4;

		while (size < automata[i]->longest + 2)
			size *= 2;
		lane->automaton = automata[i];
		lane->mask = size - 1;
		lane->looks_back = i == PC_LANE_BASE64;
		lane->line = i == PC_LANE_BASE64 ? BASE64_LINE : HEX_LINE;
		lane->starts = calloc(size, sizeof(*lane->starts));
		if (!lane->starts)
			return -ENOMEM;
	}
	return 0;
}

void pc_mask_lanes_read(struct pc_mask_stream *stream, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < PC_LANES; i++) {
		stream->found_before = stream->found_count;
		readers[i].read(stream, &stream->lanes[i], data, size);
	}
}

uint64_t pc_mask_lanes_alive_from(const struct pc_mask_stream *stream)
{
	uint64_t earliest = stream->position;

	for (size_t i = 0; i < PC_LANES; i++) {
		uint64_t from = alive_from(&stream->lanes[i], stream->position);

		if (from < earliest)
			earliest = from;
	}
	return earliest;
}

void pc_mask_lanes_finish(struct pc_mask_stream *stream, bool is_cut)
{
	for (size_t i = 0; i < PC_LANES; i++)
		if (stream->lanes[i].pending && i != PC_LANE_BASE64)
			give_up_escape(stream, &stream->lanes[i]);
	if (is_cut)
		find_beginnings(stream);
}

void pc_mask_lanes_reset(struct pc_mask_stream *stream)
{
	for (size_t i = 0; i < PC_LANES; i++) {
		reset(&stream->lanes[i]);
		stream->lanes[i].pending = 0;
		stream->lanes[i].held_size = 0;
	}
}
