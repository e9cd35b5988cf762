/* The secrets of a mask, and the spellings of each that are looked for; mask.h says what for. */
#include "core/mask_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char hex_digits[] = "0123456789abcdef";

static int add_plain(struct pc_mask *mask, const uint8_t *text, size_t size, uint8_t *room)
{
	for (size_t i = 0; i < size; i++)
		room[i] = pc_mask_plain_of(text[i]);
	return pc_automaton_add(&mask->plain, room, size, (struct pc_pattern) { .secret = (uint32_t)mask->count });
}

static int add_hex(struct pc_mask *mask, const uint8_t *text, size_t size, uint8_t *room)
{
	for (size_t i = 0; i < size; i++) {
		room[2 * i] = (uint8_t)hex_digits[text[i] >> 4];
		room[2 * i + 1] = (uint8_t)hex_digits[text[i] & 15];
	}
	return pc_automaton_add(&mask->hex, room, 2 * size, (struct pc_pattern) { .secret = (uint32_t)mask->count });
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
	struct pc_pattern pattern = {
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
	return pc_automaton_add(&mask->base64, room, end - first, pattern);
}

int pc_mask_hex_value(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

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
		return PC_DIGIT_LINE_END;
	return byte == ' ' || byte == '\t' ? PC_DIGIT_SKIPPED : PC_NO_DIGIT;
}

static uint8_t hex_digit(uint8_t byte)
{
	int value = pc_mask_hex_value(byte);

	if (value >= 0)
		return (uint8_t)hex_digits[value];
	if (byte == '\n' || byte == '\r')
		return PC_DIGIT_LINE_END;
	return byte && strchr("\t :-,\\xX%", byte) ? PC_DIGIT_SKIPPED : PC_NO_DIGIT;
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
	pc_automaton_free(&mask->plain);
	pc_automaton_free(&mask->base64);
	pc_automaton_free(&mask->hex);
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
	rc = pc_mask_grow(&mask->secrets, &mask->room, mask->count + 1, sizeof(*mask->secrets));
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
	mask->secrets[mask->count++] = (struct pc_secret) { .shown = copy, .size = shown_size };
	mask->bytes += size;
	return rc;
}

int pc_mask_build(struct pc_mask *mask)
{
	int rc = pc_automaton_build(&mask->plain);

	if (rc == 0)
		rc = pc_automaton_build(&mask->base64);
	if (rc == 0)
		rc = pc_automaton_build(&mask->hex);
	mask->is_built = rc == 0;
	return rc;
}

size_t pc_mask_longest(const struct pc_mask *mask)
{
	/* %41 and \u0041 are the longest spellings of a byte. */
	return 6 * mask->plain.longest;
}
