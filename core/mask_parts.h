/* What the files of the mask share: its secrets (mask.c), the lanes that read a text (mask_lanes.c), the stream (mask_stream.c). */
#ifndef PROCAGE_MASK_PARTS_H
#define PROCAGE_MASK_PARTS_H

#include "core/mask.h"
#include "core/mask_automaton.h"

struct pc_secret {
	char *shown;
	size_t size;
};

struct pc_mask {
	uint8_t base64_digits[256], hex_digits[256]; /* of each byte: its digit, or what it is */
	struct pc_automaton plain, base64, hex;
	struct pc_secret *secrets;
	size_t count, room, bytes;
	bool is_built;
};

/* How a text is read: as it is, with %41, with \n and \u0041, as base64, as hexadecimal. */
enum { PC_LANE_RAW, PC_LANE_PERCENT, PC_LANE_ESCAPED, PC_LANE_BASE64, PC_LANE_HEX, PC_LANES };

struct pc_span {
	uint64_t start, end;
	uint64_t longest; /* of the matches in it: it has the name */
	uint32_t secret;
};

struct pc_lane {
	const struct pc_automaton *automaton;
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
	struct pc_lane lanes[PC_LANES];
	struct pc_span *spans; /* sorted, none overlapping another */
	size_t span_count, span_room;
	struct pc_span *found;
	size_t found_count, found_room, found_before; /* those of the lanes before this one */
	char *text;				      /* from `base` on: what has not been shown */
	size_t text_size, text_room;
	uint64_t base, position;
	char *out;
	size_t out_size, out_room;
	bool is_out_of_memory;
};

/* What is no digit, in pc_mask.base64_digits and hex_digits. */
enum { PC_NO_DIGIT, PC_DIGIT_SKIPPED, PC_DIGIT_LINE_END };

/* A form writes %20 or + for a space: one letter here, in the secret and in the text. */
static inline uint8_t pc_mask_plain_of(uint8_t byte)
{
	return byte == ' ' ? '+' : byte;
}

/* The value of a hexadecimal digit, or -1. */
int pc_mask_hex_value(uint8_t byte);

/* Sets up the lanes of a new stream. 0 or -ENOMEM. */
int pc_mask_lanes_init(struct pc_mask_stream *stream);

/* Reads bytes in every lane, and tells the stream what was found in them. */
void pc_mask_lanes_read(struct pc_mask_stream *stream, const uint8_t *data, size_t size);

/* Where the earliest text stands that a later byte could make a secret. */
uint64_t pc_mask_lanes_alive_from(const struct pc_mask_stream *stream);

/* At the end of a text: escapes that are not complete are none; is_cut: a beginning of a secret counts. */
void pc_mask_lanes_finish(struct pc_mask_stream *stream, bool is_cut);

/* For another text. */
void pc_mask_lanes_reset(struct pc_mask_stream *stream);

/* Takes one span into another that it overlaps. */
void pc_mask_join(struct pc_span *span, const struct pc_span *other);

#endif
