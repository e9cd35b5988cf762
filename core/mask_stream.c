/* A stream: what the lanes have found in it, and what of it may be shown already. */
#include "core/mask_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A pass works on so much at once: what it finds meanwhile is bounded by that. */
#define SLICE 65536

struct pc_mask_stream *pc_mask_stream_new(const struct pc_mask *mask)
{
	struct pc_mask_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->mask = mask;
	if (pc_mask_lanes_init(stream) < 0) {
		pc_mask_stream_free(stream);
		return NULL;
	}
	return stream;
}

void pc_mask_stream_free(struct pc_mask_stream *stream)
{
	if (!stream)
		return;
	for (size_t i = 0; i < PC_LANES; i++)
		free(stream->lanes[i].starts);
	free(stream->spans);
	free(stream->found);
	free(stream->text);
	free(stream->out);
	free(stream);
}

void pc_mask_join(struct pc_span *span, const struct pc_span *other)
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

static int by_start(const void *a, const void *b)
{
	const struct pc_span *one = a, *other = b;

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
	if (pc_mask_grow(&stream->spans, &stream->span_room, total, sizeof(*stream->spans)) < 0)
		return -ENOMEM;
	memcpy(stream->spans + stream->span_count, stream->found, stream->found_count * sizeof(*stream->spans));
	qsort(stream->spans, total, sizeof(*stream->spans), by_start);
	for (size_t i = 0; i < total; i++) {
		struct pc_span next = stream->spans[i];

		if (kept && next.start < stream->spans[kept - 1].end)
			pc_mask_join(&stream->spans[kept - 1], &next);
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
	if (pc_mask_grow(&stream->out, &stream->out_room, stream->out_size + size, 1) < 0)
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
		const struct pc_span *span = &stream->spans[done];
		const struct pc_secret *secret = &stream->mask->secrets[span->secret];

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
	uint64_t end = pc_mask_lanes_alive_from(stream);

	return end > stream->base ? end : stream->base;
}

static int feed_slice(struct pc_mask_stream *stream, const uint8_t *data, size_t size)
{
	int rc = pc_mask_grow(&stream->text, &stream->text_room, stream->text_size + size, 1);

	if (rc < 0)
		return rc;
	memcpy(stream->text + stream->text_size, data, size);
	stream->text_size += size;
	pc_mask_lanes_read(stream, data, size);
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

int pc_mask_finish(struct pc_mask_stream *stream, int is_cut, const char **out, size_t *out_size)
{
	int rc;

	stream->out_size = 0;
	pc_mask_lanes_finish(stream, is_cut != 0);
	rc = stream->is_out_of_memory ? -ENOMEM : merge(stream);
	if (rc == 0)
		rc = show_until(stream, stream->position);
	if (rc < 0)
		return rc;
	pc_mask_lanes_reset(stream);
	*out = stream->out;
	*out_size = stream->out_size;
	return 0;
}
