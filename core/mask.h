/*
 * Finds secrets in a stream of bytes, in whatever spelling a program prints them, and puts their names in their place.
 *
 * One pass a spelling over the same bytes ("lane"): each takes the text to a canonical form and walks an Aho-Corasick automaton
 * over it, so the time is linear in the text, whatever the secrets and however the text is cut into pieces. Memory is bounded by
 * the longest secret. No system call, no Lua.
 */
#ifndef PROCAGE_MASK_H
#define PROCAGE_MASK_H

#include <stddef.h>

/* Shorter ones would be found everywhere; all of them together take some 200 bytes a byte. */
#define PC_MASK_MIN_BYTES 8
#define PC_MASK_MAX_BYTES 262144U

struct pc_mask;
struct pc_mask_stream;

/* NULL: no memory. */
struct pc_mask *pc_mask_new(void);
void pc_mask_free(struct pc_mask *mask);

/*
 * Adds a secret and the text that stands in its place. Both are copied.
 * 0, or EINVAL (too short, or the mask is built), E2BIG (more than PC_MASK_MAX_BYTES), ENOMEM, negative.
 */
int pc_mask_add(struct pc_mask *mask, const char *secret, size_t size, const char *shown, size_t shown_size);

/* After the last secret, before the first stream. 0 or -ENOMEM. */
int pc_mask_build(struct pc_mask *mask);

/* A stream of bytes of its own; it reads the mask, which must outlive it. NULL: no memory. */
struct pc_mask_stream *pc_mask_stream_new(const struct pc_mask *mask);
void pc_mask_stream_free(struct pc_mask_stream *stream);

/*
 * Takes bytes and gives those that can be shown now: all but what may be the beginning of a secret. *out is the stream's own
 * until the next call. 0 or -ENOMEM, after which the stream is of no more use.
 */
int pc_mask_feed(struct pc_mask_stream *stream, const char *data, size_t size, const char **out, size_t *out_size);

/*
 * The rest, at the end of the text; then the stream begins anew. is_cut: the text was cut off here, so a beginning of a secret
 * of PC_MASK_MIN_BYTES or more goes too.
 */
int pc_mask_finish(struct pc_mask_stream *stream, int is_cut, const char **out, size_t *out_size);

/* How long the longest spelling of a secret is, in bytes, without white space in it. */
size_t pc_mask_longest(const struct pc_mask *mask);

#endif
