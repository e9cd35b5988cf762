/* One captured stream in bounded memory: its first half kept as it comes, its last half in a ring. */
#include "capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pc_capture_init(struct pc_capture *capture, size_t limit)
{
	size_t half = limit / 2 + 1;

	*capture = (struct pc_capture){ .head = malloc(half), .tail = malloc(half) };
	if (!capture->head || !capture->tail) {
		pc_capture_free(capture);
		return -ENOMEM;
	}
	return 0;
}

void pc_capture_free(struct pc_capture *capture)
{
	free(capture->head);
	free(capture->tail);
	*capture = (struct pc_capture){ 0 };
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

void pc_capture_add(struct pc_capture *capture, size_t limit, const char *data, size_t size)
{
	size_t half = limit / 2 + 1, room = half - capture->head_size;
	size_t first = size < room ? size : room;

	memcpy(capture->head + capture->head_size, data, first);
	capture->head_size += first;
	add_to_tail(capture, data + first, size - first, half);
}
