/* Lua modules that the program carries, compiled (cmake/bundle.c); none in a build for development. */
#ifndef PROCAGE_CHUNK_H
#define PROCAGE_CHUNK_H

#include <stddef.h>

struct pc_chunk {
	const char *module; /* "procage.cli" */
	const unsigned char *bytes;
	size_t size;
};

/* Ended by a row whose module is NULL. */
extern const struct pc_chunk pc_chunks[];

#endif
