#include "access_log.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static uint32_t hash(const char *text)
{
	uint32_t value = 2166136261u;

	for (; *text; text++)
		value = (value ^ (unsigned char)*text) * 16777619u;
	return value;
}

static uint32_t *slot_of(const struct pc_access_log *log, const char *path)
{
	size_t at = hash(path) & (log->slot_count - 1);

	while (log->slots[at] && strcmp(log->seen.list[log->slots[at] - 1].path, path) != 0)
		at = (at + 1) & (log->slot_count - 1);
	return &log->slots[at];
}

/* Twice the room, and four slots an entry. */
static bool grow(struct pc_access_log *log)
{
	size_t room = log->room ? log->room * 2 : 64, i;
	struct pc_access *list = realloc(log->seen.list, room * sizeof(*list));
	uint32_t *slots;

	if (!list)
		return false;
	log->seen.list = list;
	slots = calloc(room * 4, sizeof(*slots));
	if (!slots)
		return false;
	free(log->slots);
	log->slots = slots;
	log->slot_count = room * 4;
	log->room = room;
	for (i = 0; i < log->seen.count; i++)
		*slot_of(log, list[i].path) = (uint32_t)i + 1;
	return true;
}

struct pc_access *pc_access_log_entry(struct pc_access_log *log, const char *path)
{
	struct pc_access *entry;
	uint32_t *slot;

	slot = log->slot_count ? slot_of(log, path) : NULL;
	if (slot && *slot)
		return &log->seen.list[*slot - 1];
	if (log->seen.count == log->most || (log->seen.count == log->room && !grow(log))) {
		log->seen.more++;
		return NULL;
	}
	slot = slot_of(log, path);
	entry = &log->seen.list[log->seen.count];
	*entry = (struct pc_access) { .path = strdup(path) };
	if (!entry->path)
		return NULL;
	*slot = (uint32_t)++log->seen.count;
	return entry;
}

void pc_access_log_close(struct pc_access_log *log, struct pc_accesses *accesses)
{
	if (accesses)
		*accesses = log->seen;
	else
		pc_accesses_free(&log->seen);
	free(log->slots);
	*log = (struct pc_access_log) { 0 };
}

void pc_accesses_free(struct pc_accesses *accesses)
{
	size_t i;

	for (i = 0; i < accesses->count; i++)
		free(accesses->list[i].path);
	free(accesses->list);
	*accesses = (struct pc_accesses) { 0 };
}
