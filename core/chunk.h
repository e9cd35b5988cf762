/* Lua modules and shipped policies that the program carries, compiled (cmake/bundle.c); none in a build for development. */
#ifndef PROCAGE_CHUNK_H
#define PROCAGE_CHUNK_H

#include <stddef.h>

struct pc_chunk {
	const char *module; /* "procage.cli", "policies.lists" */
	const unsigned char *bytes;
	size_t size;
	/* Of a policy: what it was compiled from. Its bytes have PC_CHUNK_SOURCE as their source, at PC_CHUNK_SOURCE_AT. */
	const unsigned char *text;
	size_t text_size;
};

/* After the header of a binary chunk and the count of upvalues: the length of the name and one more, marked; the name. */
#define PC_CHUNK_SOURCE	   "@"
#define PC_CHUNK_SOURCE_AT 32
#define PC_CHUNK_SOURCE_AS "\x82@"

/* Ended by a row whose module is NULL. */
extern const struct pc_chunk pc_chunks[];

#endif
