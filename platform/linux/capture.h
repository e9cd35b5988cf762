/* Filling a pc_capture; platform.h says what it holds. `limit` is the number of bytes kept, the same in every call. */
#ifndef PROCAGE_LINUX_CAPTURE_H
#define PROCAGE_LINUX_CAPTURE_H

#include "../platform.h"

void pc_capture_add(struct pc_capture *capture, size_t limit, const char *data, size_t size);

#endif
