/* One captured stream in bounded memory: its first half kept as it comes, its last half in a ring. */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

void pc_capture_free(struct pc_capture *capture)
{
	free(capture->head);
	free(capture->tail);
	*capture = (struct pc_capture) { 0 };
}

/* Of a piece that is longer than the ring only the end can stay; what it overwrites is dropped. */
static void add_to_tail(struct pc_capture *capture, const char *data, size_t size, size_t half)
{
	size_t at, first, over;

	if (size > half) {
		capture->dropped_bytes += size - half;
		data += size - half;
		size = half;
	}
	at = (capture->tail_start + capture->tail_size) % half;
	first = size < half - at ? size : half - at;
	memcpy(capture->tail + at, data, first);
	memcpy(capture->tail, data + first, size - first);
	over = capture->tail_size + size > half ? capture->tail_size + size - half : 0;
	capture->tail_size += size - over;
	capture->tail_start = (capture->tail_start + over) % half;
	capture->dropped_bytes += over;
}

/* Most commands say little, and a host may have hundreds at once: the head grows as it is needed, and the tail comes after it. */
static bool make_room(struct pc_capture *capture, size_t size, size_t half)
{
	size_t room = capture->head_room ? capture->head_room : 4096;
	char *grown;

	while (room < size && room < half)
		room *= 2;
	if (room > half)
		room = half;
	if (room == capture->head_room)
		return true;
	grown = realloc(capture->head, room);
	if (!grown)
		return false;
	capture->head = grown;
	capture->head_room = room;
	return true;
}

void pc_capture_add(struct pc_capture *capture, size_t limit, const char *data, size_t size)
{
	size_t half = limit / 2 + 1, room = half - capture->head_size;
	size_t first = size < room ? size : room;

	if (!half) /* no limit is that large; the analyzer cannot know */
		return;

	/* Without memory the rest of the output is dropped, and counted: the command is not to blame. */
	if (first && (capture->dropped_bytes || !make_room(capture, capture->head_size + first, half))) {
		capture->dropped_bytes += size;
		return;
	}
	if (first)
		memcpy(capture->head + capture->head_size, data, first);
	capture->head_size += first;
	if (size == first)
		return;
	if (!capture->tail)
		capture->tail = malloc(half);
	if (capture->tail)
		add_to_tail(capture, data + first, size - first, half);
	else
		capture->dropped_bytes += size - first;
}
