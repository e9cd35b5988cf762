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

static void add_to_tail(struct pc_capture *capture, const char *data, size_t size, size_t half)
{
	size_t i;

	/* Only the last `half` bytes can stay. */
	if (size > half) {
		capture->dropped_bytes += size - half;
		data += size - half;
		size = half;
	}
	for (i = 0; i < size; i++) {
		capture->tail[(capture->tail_start + capture->tail_size) % half] = data[i];
		if (capture->tail_size < half) {
			capture->tail_size++;
		} else {
			capture->tail_start = (capture->tail_start + 1) % half;
			capture->dropped_bytes++;
		}
	}
}

void pc_capture_add(struct pc_capture *capture, size_t limit, const char *data, size_t size)
{
	size_t half = limit / 2 + 1, room = half - capture->head_size;
	size_t first = size < room ? size : room;

	memcpy(capture->head + capture->head_size, data, first);
	capture->head_size += first;
	add_to_tail(capture, data + first, size - first, half);
}
