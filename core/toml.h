/*
 * TOML 1.0 as flat data: toml++ behind the few functions that C needs of it (toml.cpp). No C++ type, no exception and no
 * Lua value passes here.
 */
#ifndef PROCAGE_TOML_H
#define PROCAGE_TOML_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What the parser may be given. Its destructors recurse once a level of a dotted key, so that a text of many of them would use
 * up the stack: dots outside of strings are counted before it sees the text.
 */
#define PC_TOML_MAX_BYTES ((size_t)256 << 10)
#define PC_TOML_MAX_DOTS  4096
#define PC_TOML_MAX_DEPTH 256

enum pc_toml_kind {
	PC_TOML_TABLE = 1,
	PC_TOML_ARRAY,
	PC_TOML_STRING,
	PC_TOML_INTEGER,
	PC_TOML_FLOAT,
	PC_TOML_BOOLEAN,
	PC_TOML_DATETIME,	/* with an offset */
	PC_TOML_DATETIME_LOCAL, /* without one */
	PC_TOML_DATE_LOCAL,
	PC_TOML_TIME_LOCAL,
};

/* One value, in the order of a walk from the top: a table or array is followed by its `count` children. */
struct pc_toml_item {
	uint32_t kind;		    /* enum pc_toml_kind */
	uint32_t line;		    /* where the key stands, or an array's entry */
	uint32_t count;		    /* children of a table or array */
	uint32_t key, key_size;	    /* the name in its table, in `text`; entries of arrays and the top have none */
	uint32_t value, value_size; /* strings and dates, in `text` */
	int64_t integer;	    /* integers and booleans */
	double number;
};

struct pc_toml {
	struct pc_toml_item *items;
	size_t count;
	char *text;
};

struct pc_toml_error {
	uint32_t line, column; /* 0: about the text as a whole */
	char message[200];
};

/*
 * Parses a text. The document is freed with pc_toml_free(), also when there is none.
 *
 * Returns 0, or -errno: EINVAL with `error` filled in, E2BIG (more than PC_TOML_MAX_BYTES), ENOMEM.
 */
int pc_toml_parse(const char *text, size_t size, struct pc_toml *document, struct pc_toml_error *error);

void pc_toml_free(struct pc_toml *document);

#ifdef __cplusplus
}
#endif

#endif
